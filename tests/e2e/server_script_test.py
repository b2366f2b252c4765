#!/usr/bin/env python3
"""The server on a model whose every answer is written down: tools, reasoning, stops, ends, log probabilities.

  server_script_test.py BIN_FOLDER

Rows P01, P03, P05, P07, P09, L01, L05, L07, S01, S03 and S05 of the cases that went wrong elsewhere, over HTTP.
"""
import json
import math
import tempfile

from scripted_model import Scripted
from server_harness import WithServer, main

CALL = ["Let me look.", "\n<tool", "_call>\n{\"na", "me\": \"weather\", \"argum", "ents\": {\"city\": \"Os",
        "lo\", \"days\": 3", "}}\n</tool_", "call>"]
TWO = ["<tool_call>{\"name\": \"weather\", \"arguments\": {\"city\": \"A\"}}</tool_call>",
       "\n<tool_call>{\"name\": \"time\"", ", \"arguments\": {}}", "</tool_call>\n"]
XML = ["<tool_call>\n<function=f>\n<parameter=n>\n10\n</parameter>\n<parameter=x>3.5</parameter>",
       "<parameter=ok>True</parameter><parameter=o>{\"k\":1}</parameter>",
       "<parameter=s>\nif a<b: p(\"&amp;\")\n</parameter><parameter=d>2026-01-15</parameter>",
       "<parameter=nothing>null</parameter><parameter=word>null</parameter></function>\n</tool_call>\n"]


def model():
    s = Scripted(tempfile.mkdtemp(), end_ids=("<|end|>", "<|eot|>", "<|return|>"))
    s.script("call", CALL)
    s.script("two", TWO)
    s.script("xml", XML)
    s.script("think", ["pl", "an</th", "ink>4", "2"], after="<think>\n")
    s.script("broken", ["<tool_call>{\"name\": \"weat"], end=None)
    s.script("emoji", [b"a", b"\xf0\x9f", b"\x8c\x8d", b"b"])
    s.script("stops", ["ABC", "DEF", "G", "HI", "JKL"])
    s.script("tail", ["xyz", "DEFGHI!"])
    s.script("eot", ["first"], end="<|eot|>")
    s.script("return", ["second"], end="<|return|>")
    s.script("city", [" in", " Oslo"])
    s.logits("five", [5, 4, 3, 2, 1])
    s.nan.add(s.start("nan"))
    return s.write()


TOOLS = [{"type": "function", "function": {"name": "weather", "description": "a<b & 'c'", "parameters": {
             "type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}}},
         {"type": "function", "function": {"name": "time"}},
         {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {
             "n": {"type": "integer"}, "x": {"type": "number"}, "ok": {"type": "boolean"},
             "o": {"anyOf": [{"type": "object"}, {"type": "null"}]}, "s": {"type": "string"}, "d": {"type": "integer"},
             "nothing": {"anyOf": [{"type": "object"}, {"type": "null"}]}, "word": {"type": "string"}}}}}]


class Scripts(WithServer):
    flags = ["--parallel", 4, "-c", 1024]

    @classmethod
    def model(cls):
        return model()

    def both(self, name, **more):
        """The message and finish reason of an answer; its stream must say the same."""
        ask = {"model": "", "messages": [{"role": "user", "content": name}], "temperature": 0, **more}
        whole = self.api.chat.completions.create(**ask)
        m = whole.choices[0].message
        content = reasoning = ""
        calls, reason, usage = {}, None, None
        for chunk in self.api.chat.completions.create(**ask, stream=True, stream_options={"include_usage": True}):
            usage = chunk.usage or usage
            for c in chunk.choices:
                reason = c.finish_reason or reason
                content += c.delta.content or ""
                reasoning += getattr(c.delta, "reasoning_content", None) or ""
                for t in c.delta.tool_calls or []:
                    call = calls.setdefault(t.index, ["", ""])
                    self.assertEqual(bool(t.id), bool(t.function.name))
                    call[0] += t.function.name or ""
                    call[1] += t.function.arguments or ""
        self.assertEqual(content, m.content or "")
        self.assertEqual(reasoning, getattr(m, "reasoning_content", None) or "")
        self.assertEqual([calls[i] for i in sorted(calls)],
                         [[t.function.name, t.function.arguments] for t in m.tool_calls or []])
        self.assertEqual(reason, whole.choices[0].finish_reason)
        self.assertEqual(usage.completion_tokens, whole.usage.completion_tokens)
        self.usage = whole.usage
        return m, reason

    def test_one_call(self):
        m, reason = self.both("call", tools=TOOLS)
        self.assertEqual((m.content, reason), ("Let me look.", "tool_calls"))
        self.assertEqual(m.tool_calls[0].function.name, "weather")
        self.assertEqual(json.loads(m.tool_calls[0].function.arguments), {"city": "Oslo", "days": 3})

    def test_two_calls_and_no_content(self):
        m, _ = self.both("two", tools=TOOLS, tool_choice="auto")
        self.assertIsNone(m.content)
        self.assertEqual([c.function.name for c in m.tool_calls], ["weather", "time"])
        self.assertEqual(len({c.id for c in m.tool_calls}), 2)
        m, reason = self.both("two", tools=TOOLS, parallel_tool_calls=False)
        self.assertEqual(([c.function.name for c in m.tool_calls], reason), (["weather"], "tool_calls"))

    def test_calls_are_text_where_none_are_wanted(self):
        for more in ({}, {"tools": TOOLS, "tool_choice": "none"}):
            m, reason = self.both("call", **more)
            self.assertEqual((m.content, m.tool_calls, reason), ("".join(CALL), None, "stop"))

    def test_half_a_call_is_content(self):
        m, reason = self.both("broken", tools=TOOLS, max_tokens=1)
        self.assertEqual((m.content, m.tool_calls, reason), ("<tool_call>{\"name\": \"weat", None, "length"))

    def test_the_servers_own_message_comes_back(self):
        m, _ = self.both("call", tools=TOOLS)
        messages = [{"role": "user", "content": "call"}, m.model_dump(exclude_unset=True),
                    {"role": "tool", "tool_call_id": m.tool_calls[0].id, "content": "rain"},
                    {"role": "user", "content": "city"}]
        a = self.api.chat.completions.create(model="", messages=messages, tools=TOOLS, temperature=0)
        self.assertEqual(a.choices[0].message.content, " in Oslo")
        prompt = self.server.call("/apply-template", {"messages": messages})[2]["prompt"]
        self.assertIn("(weather: Oslo)", prompt)
        for content in ({"content": None}, {"content": ""}, {}):
            messages[1].pop("content", None)
            self.assertEqual(prompt.replace("Let me look.", ""),
                             self.server.call("/apply-template",
                                              {"messages": [messages[0], {**messages[1], **content}, *messages[2:]]})
                             [2]["prompt"])

    def test_bad_tools_are_named(self):
        for more, word in (({"tools": [{"type": "function"}]}, "tools[0].function"),
                           ({"tools": [{"type": "magic"}]}, "tools[0].type"),
                           ({"tools": [TOOLS[0], {"type": "function", "function": {"name": ""}}]}, "tools[1].function"),
                           ({"tools": 7}, "tools"),
                           ({"tools": TOOLS, "tool_choice": "sometimes"}, "tool_choice"),
                           ({"tools": TOOLS, "tool_choice": "required"}, "not"),
                           ({"tools": TOOLS, "parallel_tool_calls": 3}, "parallel_tool_calls")):
            status, _, a = self.server.chat("call", **more)
            self.assertEqual(status, 400, more)
            self.assertIn(word, a["error"]["message"])

    def test_reasoning(self):
        m, _ = self.both("think")
        self.assertEqual((m.reasoning_content, m.content), ("plan", "42"))
        self.assertEqual(self.usage.completion_tokens_details.reasoning_tokens, 3)
        m, _ = self.both("think", extra_body={"reasoning_format": "none"})
        self.assertEqual(m.content, "plan</think>42")

    def test_split_characters(self):
        m, _ = self.both("emoji")
        self.assertEqual(m.content, "a\U0001F30Db")

    def test_stop_strings_over_tokens(self):
        for stop, text, tokens in ((["DEFGHIJ"], "ABC", 5), (["zz", "CDE"], "AB", 2), (["HIJ", "GH"], "ABCDEF", 4),
                                   (["nothing"], "ABCDEFGHIJKL", 6)):
            m, reason = self.both("stops", stop=stop)
            self.assertEqual((m.content, reason, self.usage.completion_tokens), (text, "stop", tokens), stop)
        self.assertEqual(self.both("tail", stop=["DEFGHI!!"])[0].content, "xyzDEFGHI!")

    def test_every_end_id_ends(self):
        self.assertEqual(self.both("eot")[0].content, "first")
        self.assertEqual(self.both("return")[0].content, "second")
        a = self.api.chat.completions.create(model="", messages=[{"role": "user", "content": "eot"}], temperature=0,
                                             max_tokens=9, extra_body={"ignore_eos": True})
        self.assertEqual((a.usage.completion_tokens, a.choices[0].finish_reason), (9, "length"))

    def test_logprobs_are_the_models_own(self):
        want = [x - math.log(sum(math.exp(v) for v in (5, 4, 3, 2, 1))) for x in (5, 4, 3, 2, 1)]
        self.assertAlmostEqual(want[0], -0.451914, 6)
        for more in ({"temperature": 0}, {"temperature": 1, "seed": 3}, {"temperature": 2, "seed": 4},
                     {"temperature": 1, "extra_body": {"top_k": 1}}, {"temperature": 1e-4}, {"temperature": 1e-8},
                     {"temperature": 0, "extra_body": {"repetition_penalty": 1.5}},
                     {"temperature": 0, "logit_bias": {"3": 100}}):
            a = self.api.chat.completions.create(model="", messages=[{"role": "user", "content": "five"}],
                                                 max_tokens=1, logprobs=True, top_logprobs=5, **more)
            t = a.choices[0].logprobs.content[0]
            for got, expected in zip(t.top_logprobs, want):
                self.assertAlmostEqual(got.logprob, expected, 5, more)
            token = 3 if "logit_bias" in more else 0 if more["temperature"] < 1e-3 or "extra_body" in more else None
            if token is not None:
                self.assertEqual((t.bytes, round(t.logprob, 4)), ([token], round(want[token], 4)), more)

    def test_bias(self):
        def ask(**more):
            a = self.api.chat.completions.create(model="", messages=[{"role": "user", "content": "five"}],
                                                 temperature=0, max_tokens=1, **more)
            return a.choices[0].message.content.encode()
        self.assertEqual((ask(), ask(logit_bias={"0": -100}), ask(logit_bias={"3": 100})), (b"\0", b"\1", b"\3"))
        a = self.api.chat.completions.create(model="", messages=[{"role": "user", "content": "eot"}], temperature=0,
                                             max_tokens=5, logit_bias={str(self.end_id()): -100})
        self.assertEqual(a.choices[0].finish_reason, "length")

    def end_id(self):
        return self.server.call("/tokenize", {"content": "<|eot|>"})[2]["tokens"][0]

    def test_defaults_are_those_of_generation_config(self):
        params = self.server.call("/props")[2]["default_generation_settings"]["params"]
        self.assertEqual((params["temperature"], params["top_k"], params["top_p"]), (0.25, 7, 1))

    def test_a_nan_fails_alone(self):
        status, _, a = self.server.chat("nan")
        self.assertEqual((status, a["error"]["code"]), (500, "engine_error"))
        self.assertEqual(self.both("eot")[0].content, "first")

    def test_echo_with_logprobs(self):
        start = self.server.call("/tokenize", {"content": "<|s:stops|>"})[2]["tokens"]
        a = self.api.completions.create(model="", prompt=start, max_tokens=5, temperature=0, logprobs=2)
        ids = start + self.server.call("/tokenize", {"content": "DEF"})[2]["tokens"]
        e = self.api.completions.create(model="", prompt=ids, max_tokens=0, echo=True, logprobs=2, temperature=0)
        lp = e.choices[0].logprobs
        self.assertEqual(len(lp.tokens), len(ids))
        self.assertIsNone(lp.token_logprobs[0])
        self.assertEqual(lp.text_offset, [sum(len(t) for t in lp.tokens[:i]) for i in range(len(lp.tokens))])
        self.assertEqual("".join(a.choices[0].logprobs.tokens), "ABCDEFGHIJKL")
        self.assertEqual(e.usage.completion_tokens, 0)


class Qwen(Scripts):
    """The XML calls of Qwen3-Coder: argument types follow the schema."""
    flags = ["--parallel", 4, "-c", 1024, "--tool-parser", "qwen3_coder"]

    def test_types_follow_the_schema(self):
        m, _ = self.both("xml", tools=TOOLS)
        self.assertEqual(json.loads(m.tool_calls[0].function.arguments),
                         {"n": 10, "x": 3.5, "ok": True, "o": {"k": 1}, "s": "if a<b: p(\"&amp;\")", "d": "2026-01-15",
                          "nothing": None, "word": "null"})

    test_one_call = test_two_calls_and_no_content = test_half_a_call_is_content = None
    test_the_servers_own_message_comes_back = None


class Marks(Scripts):
    """A vocabulary that has the closing mark as a token: only that one closes."""

    @classmethod
    def model(cls):
        s = Scripted(tempfile.mkdtemp())
        s.script("token", ["interface <", "interface> ok `</thin", "k>` x", ("control", "</think>"), "done"],
                 after="<think>")
        s.script("plain", [("control", "<|fim|>"), "alpha"])
        return s.write()

    def test_only_the_token_closes(self):
        m, _ = self.both("token")
        self.assertEqual((m.reasoning_content, m.content), ("interface <interface> ok `</think>` x", "done"))

    def test_other_control_tokens_are_not_shown(self):
        self.assertEqual(self.both("plain")[0].content, "alpha")


class Harmony(Scripts):
    """gpt-oss's channels: reasoning and an answer, a call whose recipient stands before the channel, a header that is wrong."""
    flags = ["--parallel", 4, "-c", 1024, "--tool-parser", "harmony"]

    @classmethod
    def model(cls):
        s = Scripted(tempfile.mkdtemp(), end_ids=("<|return|>", "<|call|>"))
        s.script("final", ["<|chan", "nel|>analysis<|mes", "sage|>hm<|e", "nd|><|start|>assistant<|channel|>fi",
                           "nal<|message|>fo", "ur"], end="<|return|>")
        s.script("recipient", ["<|channel|>analysis<|message|>h", "m<|end|><|start|>assist",
                               "ant to=functions.time<|channel|>comm", "entary <|constrain|>json<|message|>{\"c\"",
                               ":1}"], end="<|call|>")
        s.script("odd", ["<|channel|>comment", "ary??<|message|>x"], end="<|return|>")
        s.script("between", ["<|channel|>analysis<|message|>y<|end|>", " stray ", "<|start|>assistant<|channel|>final<|message|>z"],
                 end="<|return|>")
        return s.write()

    def test_channels(self):
        m, reason = self.both("final")
        self.assertEqual((m.reasoning_content, m.content, reason), ("hm", "four", "stop"))
        m, reason = self.both("recipient", tools=TOOLS)
        self.assertEqual((m.reasoning_content, m.content, reason), ("hm", None, "tool_calls"))
        self.assertEqual((m.tool_calls[0].function.name, json.loads(m.tool_calls[0].function.arguments)), ("time", {"c": 1}))
        for name in ("odd", "between"):
            m, reason = self.both(name)
            self.assertNotIn("<|", f"{getattr(m, 'reasoning_content', '')}{m.content}")


for name in [n for n in vars(Scripts) if n.startswith("test_")]:
    setattr(Marks, name, None)
    setattr(Harmony, name, None)


class Raw(WithServer):
    flags = ["--parallel", 2, "-c", 1024, "--reasoning-format", "none", "--temp", "0", "-n", "2"]

    @classmethod
    def model(cls):
        return model()

    def test_flags_are_the_defaults_of_requests(self):
        status, _, a = self.server.chat("think")
        self.assertEqual((a["choices"][0]["message"]["content"], a["choices"][0]["finish_reason"]),
                         ("plan</th", "length"))
        self.assertEqual(self.server.call("/props")[2]["default_generation_settings"]["params"]["temperature"], 0)


if __name__ == "__main__":
    main()
