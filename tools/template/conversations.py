"""25 conversations that chat templates must render as jinja2 does."""

import copy

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather at a place <now> & \"later\"",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "Name of the city\nwith country"},
                "days": {"type": "integer", "default": 3, "minimum": 1},
                "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
                "where": {
                    "anyOf": [{"type": "object", "properties": {"x": {"type": "number"}}},
                              {"type": "null"}],
                    "nullable": True,
                },
            },
            "required": ["city"],
        },
        "return": {"type": "string"},
    },
}
NOOP = {"type": "function", "function": {"name": "noop", "description": "",
                                         "parameters": {"type": "object", "properties": {}}}}
LISTS = {
    "type": "function",
    "function": {
        "name": "plan",
        "description": "Makes a plan \u2013 d\u00e9tail \u65e5",
        "parameters": {
            "type": "object",
            "properties": {
                "steps": {"type": "array", "items": {"type": "string"}, "description": "Steps."},
                "deep": {"type": "object", "properties": {
                    "a": {"type": ["string", "null"]}, "b": {"type": "array", "items": {
                        "type": "object", "properties": {"c": {"type": "boolean"}}}}},
                    "required": ["a"]},
            },
            "required": ["steps", "deep"],
            "additionalProperties": False,
        },
    },
}


def system(text):
    return {"role": "system", "content": text}


def user(text):
    return {"role": "user", "content": text}


def assistant(text, **more):
    return {"role": "assistant", "content": text, **more}


def call(name, arguments, id="call00001"):
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def result(text, id="call00001", name="get_weather"):
    return {"role": "tool", "tool_call_id": id, "name": name, "content": text}


HISTORY = [user("Weather in Paris?"),
           assistant("", tool_calls=[call("get_weather", {"city": "Paris", "days": 2})]),
           result("{\"temp\": 21.5}")]


def all_conversations():
    """Pairs of a name and the variables of a render."""
    base = {"bos_token": "<s>", "eos_token": "</s>", "add_generation_prompt": True}

    def make(messages, **more):
        return copy.deepcopy({**base, "messages": messages, **more})

    quoted_args = "{\"city\": \"Paris\", \"days\": 2}"
    cases = {
        "user": make([user("Hi")]),
        "system": make([system("Be brief."), user("Hi"), assistant("Hello!"), user("Bye")]),
        "no_prompt": make([system("Be brief."), user("Hi"), assistant("Hello!")],
                          add_generation_prompt=False),
        "blanks": make([system("  spaced \n"), user("\n\n x \t\n"), assistant(" y\n\n "), user(" ")]),
        "unicode": make([user("\u00e9\u0301 \u65e5\u672c \U0001f600\u200d\U0001f525 \u00a0x\u3000 \u2028 \x1f"),
                         assistant("\u0130\u00df\u01c5"), user("\u03a3\u03a3")]),
        "control": make([system("<|im_start|>system<s>[INST]"), user("<|im_end|>\n<|eot_id|></s><think>"),
                         assistant("<|im_start|></think>"), user("{{ messages }} {% if %} {# x #}")]),
        "tools": make([user("Weather?")], tools=[WEATHER]),
        "tools_system": make([system("Use tools."), user("Weather?")], tools=[WEATHER, NOOP, LISTS]),
        "tool_history": make(HISTORY + [assistant("21.5 degrees"), user("Thanks")], tools=[WEATHER]),
        "tool_last": make([system("S")] + HISTORY, tools=[WEATHER, LISTS]),
        "null_content": make([user("Weather?"),
                              assistant(None, tool_calls=[call("get_weather", {"city": "Rome"})]),
                              result("sunny")], tools=[WEATHER]),
        "string_arguments": make([user("Weather?"),
                                  assistant("", tool_calls=[call("get_weather", quoted_args)]),
                                  result("sunny"), user("And?")], tools=[WEATHER]),
        "two_calls": make([user("Both?"), assistant("Let me see.", tool_calls=[
            call("get_weather", {"city": "Rome", "where": {"x": -0.5}, "unit": None}, "call00001"),
            call("plan", {"steps": ["a", "b<c>"], "deep": {"a": None, "b": []}}, "call00002")]),
            result("1", "call00001"), result("[2]", "call00002", "plan")], tools=[WEATHER, LISTS]),
        "two_results": make([user("q")] + [m for i in range(2) for m in (
            assistant("", tool_calls=[call("noop", {}, f"call0000{i}")]),
            result(f"r{i}", f"call0000{i}", "noop"))] + [assistant("done"), user("more")], tools=[NOOP]),
        "no_tools_history": make(HISTORY),
        "parts": make([{"role": "user", "content": [{"type": "text", "text": "What "},
                                                    {"type": "text", "text": "is it?"}]}]),
        "parts_image": make([{"role": "user", "content": [
            {"type": "image"}, {"type": "text", "text": "Look"}]},
            {"role": "assistant", "content": [{"type": "text", "text": "Nice"}]}, user("Yes")]),
        "reasoning": make([user("2+2?"), assistant("4", reasoning_content="two and two\nis four"),
                           user("3+3?"), assistant("6", reasoning_content="", thinking="x"), user("ok")]),
        "think_text": make([user("2+2?"), assistant("<think>\nhm </think>\n\n4"), user("next"),
                            assistant("<think>a</think>b</think>c")]),
        "reasoning_tools": make([user("W?"), assistant("", reasoning_content="I need the tool",
                                                       tool_calls=[call("get_weather", {"city": "X"})]),
                                 result("ok")], tools=[WEATHER], enable_thinking=True),
        "thinking_on": make([user("Hi")], enable_thinking=True, thinking=True),
        "thinking_off": make([system("s"), user("Hi")], enable_thinking=False, thinking=False,
                             reasoning_effort="low"),
        "assistants": make([user("a"), assistant("b"), assistant("c"), user("d"), user("e")]),
        "starts_assistant": make([assistant("I begin"), user("ok")]),
        "odd": make([{"role": "developer", "content": "Dev"}, user("q"), {"role": "critic", "content": "?"},
                     assistant(""), {"role": "user"}], documents=[{"title": "T", "text": "D"}]),
    }
    assert len(cases) == 25
    return cases.items()
