#!/usr/bin/env python3
"""/v1/responses, /v1/messages, /completion and /infill as the official packages and llama.cpp's clients see them.

  server_api_test.py BIN_FOLDER
"""
import concurrent.futures
import json
import tempfile
import unittest

import anthropic
import openai

from scripted_model import Scripted
from server_harness import Server, WithServer, default_model, http_request, main, read_all
from server_script_test import CALL, TOOLS, model

FUNCTIONS = [{"type": "function", **t["function"]} for t in TOOLS]
CUSTOM = [{"name": t["function"]["name"], "description": t["function"].get("description", ""),
           "input_schema": t["function"].get("parameters", {"type": "object"})} for t in TOOLS]


def without_ids(output):
    return [{k: v for k, v in item.items() if k not in ("id", "call_id")} for item in output]


class Responses(WithServer):
    flags = ["--parallel", 4, "-c", 1024]

    @classmethod
    def model(cls):
        return model()

    def ask(self, text, **more):
        return self.api.responses.create(model="", input=text, temperature=0, **more)

    def both(self, text, **more):
        """The response; its stream must say the same, piece by piece."""
        whole = self.ask(text, **more)
        events = [e.model_dump() for e in self.ask(text, stream=True, **more)]
        self.assertEqual([e["sequence_number"] for e in events], list(range(len(events))))
        self.assertEqual([e["type"] for e in events[:2]], ["response.created", "response.in_progress"])
        self.assertEqual(events[-1]["type"], "response." + whole.status)
        items, open_item = [], None
        for e in events[2:-1]:
            kind = e["type"].removeprefix("response.")
            if kind == "output_item.added":
                self.assertIsNone(open_item)
                open_item = {"item": e["item"], "text": "", "done": None}
                self.assertEqual((e["output_index"], e["item"]["status"]), (len(items), "in_progress"))
            elif kind == "content_part.added":
                self.assertEqual(e["part"]["text"], "")
            elif kind.endswith(".delta"):
                open_item["text"] += e["delta"]
            elif kind == "content_part.done":
                self.assertEqual(e["part"]["text"], open_item["text"])
            elif kind == "output_item.done":
                self.assertEqual(e["item"]["id"], open_item["item"]["id"])
                self.assertEqual(open_item["text"], open_item["done"])
                items.append(e["item"])
                open_item = None
            else:
                self.assertIn(kind, ("output_text.done", "reasoning_text.done", "function_call_arguments.done"))
                open_item["done"] = e.get("text", e.get("arguments"))
            if "item_id" in e:
                self.assertEqual(e["item_id"], open_item["item"]["id"])
        self.assertIsNone(open_item)
        final = events[-1]["response"]
        self.assertEqual(without_ids(items), without_ids(final["output"]))
        self.assertEqual(without_ids(items), without_ids(whole.model_dump()["output"]))
        self.assertEqual(final["usage"]["output_tokens"], whole.usage.output_tokens)
        return whole

    def test_text(self):
        r = self.both("stops", instructions="Be brief.", metadata={"a": "b"})
        self.assertEqual((r.object, r.status, r.output_text, r.metadata), ("response", "completed", "ABCDEFGHIJKL",
                                                                          {"a": "b"}))
        self.assertEqual(r.usage.total_tokens, r.usage.input_tokens + r.usage.output_tokens)
        self.assertEqual((r.instructions, r.temperature, r.parallel_tool_calls), ("Be brief.", 0, True))
        r = self.both("stops", max_output_tokens=2)
        self.assertEqual((r.status, r.incomplete_details.reason, r.output_text), ("incomplete", "max_output_tokens",
                                                                                 "ABCDEF"))
        self.assertEqual(r.output[-1].status, "incomplete")

    def test_reasoning(self):
        r = self.both("think")
        self.assertEqual([i.type for i in r.output], ["reasoning", "message"])
        self.assertEqual((r.output[0].content[0].text, r.output_text), ("plan", "42"))
        self.assertEqual(r.usage.output_tokens_details.reasoning_tokens, 3)

    def test_calls_and_their_results(self):
        r = self.both("call", tools=FUNCTIONS)
        self.assertEqual([i.type for i in r.output], ["message", "function_call"])
        call = r.output[1]
        self.assertEqual((call.name, json.loads(call.arguments)), ("weather", {"city": "Oslo", "days": 3}))
        self.assertEqual([i.name for i in self.both("two", tools=FUNCTIONS).output], ["weather", "time"])
        self.assertEqual([i.name for i in self.both("two", tools=FUNCTIONS, parallel_tool_calls=False).output],
                         ["weather"])
        self.assertEqual(self.ask("call", tools=FUNCTIONS, tool_choice="none").output_text, "".join(CALL))
        # What came out goes back in, by value or by id: the model reads the same.
        more = [{"type": "function_call_output", "call_id": call.call_id, "output": "rain"},
                {"role": "user", "content": [{"type": "input_text", "text": "city"}]}]
        value = self.ask([{"role": "user", "content": "call"}, *[i.model_dump(exclude_none=True) for i in r.output],
                          *more], tools=FUNCTIONS)
        by_id = self.ask(more, previous_response_id=r.id, tools=FUNCTIONS)
        self.assertEqual((value.output_text, by_id.output_text), (" in Oslo", " in Oslo"))
        self.assertEqual(value.usage.input_tokens, by_id.usage.input_tokens)
        messages = [{"role": "user", "content": "call"},
                    {"role": "assistant", "content": "Let me look.", "tool_calls": [
                        {"id": "c", "type": "function", "function": {"name": "weather", "arguments": call.arguments}}]},
                    {"role": "tool", "tool_call_id": "c", "content": "rain"}, {"role": "user", "content": "city"}]
        chat = self.api.chat.completions.create(model="", messages=messages, tools=TOOLS)
        self.assertEqual(chat.usage.prompt_tokens, value.usage.input_tokens)

    def test_what_is_kept(self):
        first = self.ask("city")
        kept = self.api.responses.retrieve(first.id)
        self.assertEqual(kept.model_dump(), first.model_dump())
        second = self.ask("eot", previous_response_id=first.id, instructions="x")
        count = self.api.responses.input_tokens.count(model="", input="eot", previous_response_id=first.id,
                                                      instructions="x")
        self.assertEqual((second.output_text, count.input_tokens), ("first", second.usage.input_tokens))
        plain = self.server.chat("", messages=[
            {"role": "system", "content": "x"}, {"role": "user", "content": "city"},
            {"role": "assistant", "content": " in Oslo"}, {"role": "user", "content": "eot"}], max_tokens=1)
        self.assertEqual(plain[2]["usage"]["prompt_tokens"], second.usage.input_tokens)
        self.api.responses.delete(first.id)
        for call in (lambda: self.api.responses.retrieve(first.id), lambda: self.api.responses.delete(first.id),
                     lambda: self.api.responses.cancel(first.id),
                     lambda: self.ask("eot", previous_response_id=first.id)):
            self.assertRaises(openai.NotFoundError, call)
        self.assertRaises(openai.NotFoundError, self.api.responses.retrieve, self.ask("eot", store=False).id)
        streamed = [e for e in self.ask("eot", stream=True)][-1].response
        self.assertEqual(self.api.responses.retrieve(streamed.id).model_dump(), streamed.model_dump())

    def test_input_items(self):
        call = self.ask("call", tools=FUNCTIONS)
        r = self.ask([{"type": "function_call_output", "call_id": call.output[1].call_id, "output": "rain"},
                      {"role": "user", "content": [{"type": "input_text", "text": "city"}]}],
                     previous_response_id=call.id, instructions="Be brief.")
        items = [i.model_dump() for i in self.api.responses.input_items.list(r.id, order="asc", limit=2)]  # three pages
        self.assertEqual([i["type"] for i in items], ["message", "message", "function_call", "function_call_output", "message"])
        self.assertEqual([i["content"][0]["text"] for i in items if "content" in i and i["content"]],
                         ["call", "Let me look.", "city"])
        self.assertEqual(json.loads(items[2]["arguments"]), {"city": "Oslo", "days": 3})
        self.assertEqual((items[3]["call_id"], items[3]["output"]), (items[2]["call_id"], "rain"))
        last = self.api.responses.input_items.list(r.id, limit=1)
        self.assertEqual(([i.id for i in last.data], last.has_more), ([items[-1]["id"]], True))
        # What is listed is what was read: it may be sent again.
        again = self.ask([{k: v for k, v in i.items() if k not in ("id", "status")} for i in items], instructions="Be brief.")
        self.assertEqual((again.output_text, again.usage.input_tokens), (r.output_text, r.usage.input_tokens))
        for query in ("limit=0", "limit=101", "limit=x", "order=up", "after=none"):
            self.assertEqual(self.server.call(f"/v1/responses/{r.id}/input_items?{query}")[0], 400, query)
        self.assertEqual(self.server.call("/v1/responses/none/input_items")[0], 404)
        self.assertEqual(self.server.call(f"/v1/responses/{r.id}/other")[0], 404)
        self.assertEqual(self.server.call(f"/v1/responses/{r.id}/cancel", method="GET")[0], 405)

    def test_conversations(self):
        c = self.api.conversations.create(items=[{"role": "user", "content": "hello"}], metadata={"k": "v"})
        self.assertEqual(self.api.conversations.retrieve(c.id).metadata, {"k": "v"})
        first = self.ask("city", conversation=c.id)
        second = self.ask("eot", conversation={"id": c.id})
        self.assertEqual(second.conversation.id, c.id)
        self.assertGreater(second.usage.input_tokens, first.usage.input_tokens + 3)
        said = [i.content[0].text for i in self.api.conversations.items.list(c.id, order="asc", limit=1)]
        self.assertEqual(said, ["hello", "city", " in Oslo", "eot", "first"])
        self.assertEqual(self.api.conversations.update(c.id, metadata={"k": "w"}).metadata, {"k": "w"})
        self.assertEqual(self.api.conversations.retrieve(c.id).metadata, {"k": "w"})
        self.assertRaises(openai.BadRequestError, self.ask, "x", conversation=c.id, previous_response_id=first.id)
        self.assertTrue(self.api.conversations.delete(c.id).deleted)
        for call in (lambda: self.api.conversations.retrieve(c.id), lambda: self.ask("x", conversation=c.id),
                     lambda: self.api.conversations.delete(c.id)):
            self.assertRaises(openai.NotFoundError, call)

    def test_background(self):
        r = self.ask("stops", background=True)
        self.assertEqual((r.status, r.output), ("queued", []))
        while (r := self.api.responses.retrieve(r.id)).status in ("queued", "in_progress"):
            pass
        self.assertEqual((r.status, r.output_text), ("completed", "ABCDEFGHIJKL"))
        self.assertEqual(self.api.responses.cancel(r.id).status, "completed")
        self.assertRaises(openai.BadRequestError, self.api.responses.cancel, self.ask("eot").id)
        types = [e.type for e in self.ask("eot", background=True, stream=True)]
        self.assertEqual(types[:3], ["response.created", "response.queued", "response.in_progress"])

    def test_failures(self):
        with self.assertRaises(openai.InternalServerError):
            self.ask("nan")
        last = [e for e in self.ask("nan", stream=True)][-1]
        self.assertEqual((last.type, last.response.status, last.response.error.code), ("response.failed", "failed",
                                                                                       "server_error"))
        self.assertEqual(self.api.responses.retrieve(last.response.id).status, "failed")

    def test_wrong_bodies_are_named(self):
        for more, word in (
                ({"input": 7}, "input"), ({"input": []}, "input"), ({"input": [7]}, "input[0]"), ({}, "input"),
                ({"input": [{"type": "magic"}]}, "input[0].type"), ({"input": [{"role": "king"}]}, "input[0].role"),
                ({"input": [{"role": "user"}]}, "input[0].content"),
                ({"input": [{"role": "user", "content": [{"type": "input_image"}]}]}, "input[0].content[0].type"),
                ({"input": [{"type": "function_call_output", "call_id": 3}]}, "input[0].call_id"),
                ({"input": [{"type": "item_reference", "id": "x"}]}, "input[0].type"),
                ({"input": "x", "tools": [{"type": "web_search"}]}, "tools[0].type"),
                ({"input": "x", "tools": [{"type": "function"}]}, "tools[0].name"),
                ({"input": "x", "tools": FUNCTIONS, "tool_choice": "required"}, "tool_choice"),
                ({"input": "x", "tools": FUNCTIONS, "tool_choice": {"type": "function", "name": "f"}}, "tool_choice"),
                ({"input": "x", "text": {"format": {"type": "json_object"}}}, "text.format"),
                ({"input": "x", "truncation": "auto"}, "truncation"), ({"input": "x", "metadata": {"a": 1}}, "metadata"),
                ({"input": "x", "metadata": {str(i): "" for i in range(17)}}, "metadata"),
                ({"input": "x", "max_output_tokens": "many"}, "max_output_tokens"),
                ({"input": "x", "background": True, "store": False}, "background"),
                ({"input": "x", "include": ["file_search_call.results"]}, "include"),
                ({"input": "x", "conversation": 7}, "conversation"), ({"input": "x", "temperature": -1}, "temperature"),
                ({"input": "long " * 400}, "input")):
            for stream in (False, True):
                status, _, a = self.server.call("/v1/responses", {**more, "stream": stream})
                self.assertEqual(status, 400, more)
                self.assertIn(word, a["error"]["param"] or a["error"]["message"], more)
        self.assertEqual(self.server.call("/v1/responses", {"input": "x", "model": "other"})[0], 404)
        self.assertEqual(self.server.call("/v1/responses", raw=b"[" * 9000)[0], 400)
        self.assertEqual(self.server.call("/v1/responses/input_tokens", {"input": 7})[0], 400)
        for path in ("/v1/responses/", "/v1/responses/x/y", "/v1/responses/..%2f..", "/v1/conversations/x"):
            self.assertEqual(self.server.call(path)[0], 404, path)
        self.assertEqual(self.server.call("/v1/responses", method="PUT")[0], 405)

    def test_a_response_is_deleted_once(self):
        ids = [self.ask("eot").id for _ in range(4)]
        def delete(i):
            return self.server.call("/v1/responses/" + ids[i % 4], method="DELETE")[0]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            self.assertEqual(sorted(pool.map(delete, range(32))), [200] * 4 + [404] * 28)

    def test_what_was_deleted_while_it_ran_stays_so(self):
        events = iter(self.ask("stops", stream=True))
        id = next(events).response.id
        self.assertEqual(self.server.call("/v1/responses/" + id, method="DELETE")[0], 200)
        self.assertEqual([e for e in events][-1].type, "response.completed")
        self.assertEqual(self.server.call("/v1/responses/" + id)[0], 404)


class Keys(WithServer):
    flags = ["--parallel", 2, "-c", 1024, "--api-key", "mine,theirs"]

    @classmethod
    def model(cls):
        return model()

    def test_ids_of_another_key_are_unknown(self):
        mine, theirs = self.server.openai("mine"), self.server.openai("theirs")
        r = mine.responses.create(model="", input="city", temperature=0)
        c = mine.conversations.create()
        for call in (lambda: theirs.responses.retrieve(r.id), lambda: theirs.responses.cancel(r.id),
                     lambda: theirs.responses.delete(r.id), lambda: theirs.conversations.retrieve(c.id),
                     lambda: theirs.conversations.delete(c.id), lambda: theirs.responses.input_items.list(r.id),
                     lambda: theirs.conversations.items.list(c.id),
                     lambda: theirs.conversations.update(c.id, metadata={}),
                     lambda: theirs.responses.create(model="", input="x", previous_response_id=r.id),
                     lambda: theirs.responses.create(model="", input="x", conversation=c.id),
                     lambda: theirs.responses.input_tokens.count(model="", input="x", previous_response_id=r.id)):
            self.assertRaises(openai.NotFoundError, call)
        self.assertEqual(mine.responses.retrieve(r.id).output_text, " in Oslo")
        self.assertEqual(mine.conversations.retrieve(c.id).id, c.id)

    def test_no_key_no_answer(self):
        for path, method in (("/v1/responses", "POST"), ("/v1/responses/x", "GET"), ("/v1/responses/x", "DELETE"),
                             ("/v1/responses/x/cancel", "POST"), ("/v1/responses/input_tokens", "POST"),
                             ("/v1/conversations", "POST"), ("/v1/conversations/x", "GET"), ("/v1/messages", "POST"),
                             ("/v1/messages/count_tokens", "POST"), ("/completion", "POST"), ("/infill", "POST")):
            for headers in ({}, {"X-Api-Key": "wrong"}):
                self.assertEqual(self.server.call(path, method=method, headers=headers)[0], 401, path)
        self.assertRaises(anthropic.AuthenticationError, anthropic.Anthropic(
            base_url=self.server.url, api_key="wrong", max_retries=0).messages.count_tokens, model="", messages=[
                {"role": "user", "content": "x"}])


class Messages(WithServer):
    flags = ["--parallel", 4, "-c", 1024]

    @classmethod
    def model(cls):
        return model()

    def setUp(self):
        self.api = anthropic.Anthropic(base_url=self.server.url, api_key="none", max_retries=0)

    def both(self, messages, **more):
        """The message; its stream must say the same."""
        if isinstance(messages, str):
            messages = [{"role": "user", "content": messages}]
        ask = {"model": "", "max_tokens": 99, "messages": messages, "extra_body": {"temperature": 0}, **more}
        whole = self.api.messages.create(**ask)
        types, indexes = [], []
        with self.api.messages.stream(**ask) as stream:
            for e in stream:
                types.append(e.type)
                if e.type == "content_block_start":
                    indexes.append(e.index)
            final = stream.get_final_message()
        self.assertEqual((types[0], types[-1]), ("message_start", "message_stop"))
        self.assertEqual(indexes, list(range(len(whole.content))))
        strip = [[{k: v for k, v in b.model_dump().items() if k in ("type", "text", "thinking", "name", "input")}
                  for b in m.content] for m in (whole, final)]
        self.assertEqual(*strip)
        self.assertEqual((whole.stop_reason, whole.stop_sequence, whole.usage.output_tokens),
                         (final.stop_reason, final.stop_sequence, final.usage.output_tokens))
        counted = {k: v for k, v in ask.items() if k in ("model", "messages", "system", "tools")}
        read = [m.usage.input_tokens + m.usage.cache_read_input_tokens for m in (whole, final)]
        self.assertEqual(read, [self.api.messages.count_tokens(**counted).input_tokens] * 2)
        self.input_tokens = read[0]
        return whole

    def test_text_and_stops(self):
        m = self.both("stops", system="Be brief.")
        self.assertEqual((m.role, m.content[0].text, m.stop_reason), ("assistant", "ABCDEFGHIJKL", "end_turn"))
        m = self.both("stops", stop_sequences=["zz", "CDE"])
        self.assertEqual((m.content[0].text, m.stop_reason, m.stop_sequence), ("AB", "stop_sequence", "CDE"))
        m = self.both("stops", max_tokens=2)
        self.assertEqual((m.content[0].text, m.stop_reason), ("ABCDEF", "max_tokens"))
        self.assertEqual(self.both([{"role": "user", "content": "x"}, {"role": "user", "content": [
            {"type": "text", "text": "y"}]}], max_tokens=1).stop_reason, "max_tokens")

    def test_thinking(self):
        m = self.both("think", thinking={"type": "adaptive"})
        self.assertEqual([b.type for b in m.content], ["thinking", "text"])
        self.assertEqual((m.content[0].thinking, m.content[1].text), ("plan", "42"))
        again = self.both([{"role": "user", "content": "think"},
                           {"role": "assistant", "content": [b.model_dump() for b in m.content]},
                           {"role": "user", "content": "city"}])
        self.assertEqual(again.content[0].text, " in Oslo")

    def test_tools(self):
        m = self.both("call", tools=CUSTOM)
        self.assertEqual(([b.type for b in m.content], m.stop_reason), (["text", "tool_use"], "tool_use"))
        use = m.content[1]
        self.assertEqual((use.name, use.input), ("weather", {"city": "Oslo", "days": 3}))
        self.assertEqual([b.name for b in self.both("two", tools=CUSTOM).content], ["weather", "time"])
        one = {"type": "auto", "disable_parallel_tool_use": True}
        self.assertEqual([b.name for b in self.both("two", tools=CUSTOM, tool_choice=one).content], ["weather"])
        result = {"type": "tool_result", "tool_use_id": use.id, "content": [{"type": "text", "text": "rain"}]}
        self.both([{"role": "user", "content": "call"}, m.to_param(),
                   {"role": "user", "content": [result, {"type": "text", "text": "city"}]}], tools=CUSTOM)
        tools = [{"type": "function", "function": {"name": t["name"], "description": t["description"],
                                                   "parameters": t["input_schema"]}} for t in CUSTOM]
        chat = self.server.call("/v1/chat/completions", {"tools": tools, "max_tokens": 1, "messages": [
            {"role": "user", "content": "call"},
            {"role": "assistant", "content": "Let me look.", "tool_calls": [{"id": "c", "type": "function", "function": {
                "name": "weather", "arguments": json.dumps(use.input)}}]},
            {"role": "tool", "tool_call_id": "c", "content": "rain"}, {"role": "user", "content": "city"}]})[2]
        self.assertEqual(self.input_tokens, chat["usage"]["prompt_tokens"])

    def test_errors(self):
        user = {"role": "user", "content": "x"}
        for more, word in (
                ({"messages": []}, "messages"), ({"messages": [7]}, "messages[0]"), ({"max_tokens": None}, "max_tokens"),
                ({"messages": [{"role": "king", "content": "x"}]}, "messages[0].role"),
                ({"messages": [{"role": "user", "content": [{"type": "image"}]}]}, "messages[0].content[0].type"),
                ({"messages": [user, {"role": "assistant", "content": "a"}]}, "messages"),
                ({"messages": [{"role": "assistant", "content": [{"type": "tool_use", "id": 3}]}]}, "content[0].id"),
                ({"system": 7}, "system"), ({"stop_sequences": 7}, "stop_sequences"),
                ({"tools": [{"type": "bash_20250124", "name": "bash"}]}, "tools[0].type"),
                ({"tools": [{"input_schema": {}}]}, "tools[0].name"), ({"thinking": {"type": "loud"}}, "thinking.type"),
                ({"tools": CUSTOM, "tool_choice": {"type": "any"}}, "tool_choice"),
                ({"tools": CUSTOM, "tool_choice": {"type": "tool", "name": "f"}}, "tool_choice"),
                ({"tools": CUSTOM, "tool_choice": {"type": "often"}}, "tool_choice.type"),
                ({"output_config": {"format": {"type": "json_schema"}}}, "output_config.format"),
                ({"messages": [{"role": "user", "content": "long " * 400}]}, "context")):
            for stream in (False, True):
                status, _, a = self.server.call("/v1/messages", {"max_tokens": 4, "messages": [user], **more,
                                                                 "stream": stream})
                self.assertEqual((status, a["type"], a["error"]["type"]), (400, "error", "invalid_request_error"), more)
                self.assertIn(word, a["error"]["message"])
        self.assertRaises(anthropic.NotFoundError, self.api.messages.create, model="other", max_tokens=4,
                          messages=[user])
        self.assertRaises(anthropic.BadRequestError, self.api.messages.count_tokens, model="", messages=[])
        self.assertEqual(self.server.call("/v1/messages", raw=b'{"a":' * 9000)[0], 400)
        nan = {"model": "", "max_tokens": 4, "messages": [{"role": "user", "content": "nan"}]}
        self.assertRaises(anthropic.InternalServerError, self.api.messages.create, **nan)
        with self.assertRaises(anthropic.APIStatusError):
            list(self.api.messages.create(**nan, stream=True))


class Strict(Scripted):
    """A template that takes a system message only as the first."""

    def template(self):
        return ("{% for m in messages %}{% if m['role'] == 'system' and not loop.first %}"
                "{{ raise_exception('only the first') }}{% endif %}{% endfor %}" + super().template())


class SystemTurns(WithServer):
    flags = ["--parallel", 2, "-c", 1024]

    @classmethod
    def model(cls):
        s = Strict(tempfile.mkdtemp())
        s.script("city", [" in", " Oslo"])
        return s.write()

    def test_a_template_that_wants_one_gets_one(self):
        messages = [{"role": "system", "content": "a"}, {"role": "user", "content": "b"},
                    {"role": "system", "content": "c"}, {"role": "user", "content": "city"}]
        prompt = self.server.call("/apply-template", {"messages": messages})[2]["prompt"]
        self.assertTrue(prompt.startswith("[system]a\n\nc[user]b[user]city"), prompt)
        m = anthropic.Anthropic(base_url=self.server.url, api_key="none").messages.create(
            model="", max_tokens=9, system="a", messages=messages[1:], extra_body={"temperature": 0})
        self.assertEqual(m.content[0].text, " in Oslo")
        r = self.api.responses.create(
            model="", instructions="a", input=messages[1:], temperature=0)
        self.assertEqual(r.output_text, " in Oslo")


class Native(WithServer):
    flags = ["--parallel", 2, "-c", 1024]

    @classmethod
    def model(cls):
        s = Scripted(tempfile.mkdtemp())
        s.script("stops", ["ABC", "DEF", "G", "HI", "J\nKL"])
        for mark in ("prefix", "suffix", "middle", "pad"):
            s.control(f"<|fim_{mark}|>")
        s.table[s.control("<|fim_middle|>")] = {s.piece("gap"): 40.0}
        s.table[s.spellings.index("gap")] = {s.control("<|fim_pad|>"): 40.0}
        return s.write()

    def both(self, path, **body):
        body = {"temperature": 0, **body}
        status, _, whole = self.server.call(path, body)
        self.assertEqual(status, 200, whole)
        _, _, text = self.server.call(path, {**body, "stream": True})
        events = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]
        self.assertEqual([e["stop"] for e in events], [False] * (len(events) - 1) + [True])
        self.assertEqual("".join(e["content"] for e in events), whole["content"])
        self.assertEqual(sum((e["tokens"] for e in events), []), whole["tokens"])
        self.assertEqual(sum((e.get("completion_probabilities", []) for e in events), []),
                         whole.get("completion_probabilities", []))
        for field in ("stop_type", "stopping_word", "tokens_predicted", "tokens_evaluated", "prompt", "has_new_line"):
            self.assertEqual(events[-1][field], whole[field], field)
        return whole

    def test_completion(self):
        a = self.both("/completion", prompt="<|s:stops|>", return_tokens=True)
        self.assertEqual((a["content"], a["stop_type"], a["has_new_line"]), ("ABCDEFGHIJ\nKL", "eos", True))
        self.assertEqual((len(a["tokens"]), a["tokens_predicted"], a["tokens_evaluated"]), (5, 6, 1))
        self.assertEqual(a["generation_settings"]["temperature"], 0)
        self.assertEqual(a["timings"]["predicted_n"], 6)
        a = self.both("/completion", prompt="<|s:stops|>", stop=["x", "FG"])
        self.assertEqual((a["content"], a["stop_type"], a["stopping_word"]), ("ABCDE", "word", "FG"))
        a = self.both("/completion", prompt="<|s:stops|>", n_predict=2, n_probs=2)
        self.assertEqual((a["content"], a["stop_type"]), ("ABCDEF", "limit"))
        self.assertEqual([t["token"] for t in a["completion_probabilities"]], ["ABC", "DEF"])
        self.assertEqual(len(a["completion_probabilities"][0]["top_logprobs"]), 2)
        token = self.server.call("/tokenize", {"content": "<|s:stops|>"})[2]["tokens"][0]
        for prompt in ([token], ["ab", token], ["ab<|s:stops|>"]):
            self.assertEqual(self.both("/completion", prompt=prompt, n_predict=1)["content"], "ABC")
        a = self.server.call("/completion", {"prompt": "<|s:stops|>", "n_predict": 1, "temperature": 0,
                                             "response_fields": ["content", "generation_settings/n_predict", "no"]})[2]
        self.assertEqual(a, {"content": "ABC", "n_predict": 1})

    def test_infill(self):
        a = self.both("/infill", input_prefix="a <|fim_suffix|>", input_suffix="b", prompt="c")
        self.assertEqual((a["content"], a["stop_type"]), ("gap", "eos"))
        self.assertEqual(a["prompt"], "<|fim_prefix|>a <|fim_suffix|>c<|fim_suffix|>b<|fim_middle|>")
        marks = self.server.call("/tokenize", {"content": "<|fim_suffix|>"})[2]["count"]
        self.assertEqual((marks, a["tokens_evaluated"]), (1, 3 + len("a <|fim_suffix|>") + 2))
        a = self.both("/infill", input_prefix="", input_suffix="", input_extra=[{"filename": "f", "text": "t"}])
        self.assertIn("t", a["prompt"])

    def test_suffix(self):
        a = self.server.call("/v1/completions", {"prompt": "a", "suffix": "b", "temperature": 0})[2]
        self.assertEqual((a["choices"][0]["text"], a["usage"]["prompt_tokens"]), ("gap", 5))
        a = self.server.call("/v1/completions", {"prompt": "a", "suffix": "b", "echo": True, "temperature": 0})[2]
        self.assertEqual(a["choices"][0]["text"], "agap")
        self.assertEqual(self.server.call("/v1/completions", {"prompt": [1], "suffix": "b"})[0], 400)

    def test_errors(self):
        for path, body, word in (
                ("/completion", {}, "prompt"), ("/completion", {"prompt": {}}, "prompt"),
                ("/completion", {"prompt": [[1]]}, "prompt"), ("/completion", {"prompt": []}, "prompt"),
                ("/completion", {"prompt": [10**9]}, "prompt"), ("/completion", {"prompt": "x", "mirostat": 2}, "mirostat"),
                ("/completion", {"prompt": "x", "grammar": "root ::= x"}, "grammar"),
                ("/completion", {"prompt": "x", "n_probs": -1}, "n_probs"),
                ("/completion", {"prompt": "x", "response_fields": [1]}, "response_fields"),
                ("/completion", {"prompt": "x", "post_sampling_probs": True}, "post_sampling_probs"),
                ("/completion", {"prompt": "x" * 2000}, "context"),
                ("/infill", {"input_prefix": "x"}, "input_suffix"), ("/infill", {"input_suffix": "x"}, "input_prefix"),
                ("/infill", {"input_prefix": "x", "input_suffix": "y", "input_extra": [1]}, "input_extra[0]")):
            status, _, a = self.server.call(path, body)
            self.assertEqual(status, 400, body)
            self.assertIn(word, a["error"]["message"])


class DefaultModel(WithServer):
    flags = ["--parallel", 2, "--max-queue-depth", 8]

    def test_the_three_protocols_and_the_plain_one_agree(self):
        ask = {"messages": [{"role": "user", "content": "Name three colours."}], "max_tokens": 24, "temperature": 0}
        chat = self.server.call("/v1/chat/completions", ask)[2]["choices"][0]["message"]["content"]
        r = self.api.responses.create(
            model="", input="Name three colours.", max_output_tokens=24, temperature=0)
        m = anthropic.Anthropic(base_url=self.server.url, api_key="none").messages.create(
            model="", max_tokens=24, messages=ask["messages"], extra_body={"temperature": 0})
        prompt = self.server.call("/apply-template", ask)[2]["prompt"]
        native = self.server.call("/completion", {"prompt": prompt, "n_predict": 24, "temperature": 0})[2]["content"]
        self.assertEqual([r.output_text, m.content[0].text, native], [chat] * 3)
        status, _, a = self.server.call("/infill", {"input_prefix": "a", "input_suffix": "b"})
        self.assertEqual((status, a["error"]["code"]), (400, "not_supported"))

    def test_what_runs_in_the_background_is_cancelled(self):
        api = self.api
        long = {"model": "", "input": "Tell me a story.", "max_output_tokens": 8000, "extra_body": {"ignore_eos": True}}
        r = api.responses.create(**long, background=True)
        self.assertRaises(openai.BadRequestError, api.responses.create, model="", input="x",
                          previous_response_id=r.id)
        self.assertEqual(api.responses.cancel(r.id).status, "cancelled")
        self.assertEqual(api.responses.retrieve(r.id).status, "cancelled")
        r = api.responses.create(**long, background=True)
        api.responses.delete(r.id)
        # A client that leaves ends its response, unless it is in the background.
        with self.server.connect() as s:
            s.sendall(http_request("/v1/responses", {"input": "x", "ignore_eos": True, "stream": True}))
            data = b""
            while b'"resp_' not in data:
                data += s.recv(4096)
        self.assertTrue(self.server.until(lambda m: m["mlxcel_requests_in_flight"] == 0))
        id = data[data.index(b'"resp_') + 1:].split(b'"')[0].decode()
        self.assertEqual(api.responses.retrieve(id).status, "cancelled")
        with self.server.connect() as s:
            s.sendall(http_request("/v1/responses", {"input": "x", "max_output_tokens": 8, "ignore_eos": True,
                                                     "background": True, "stream": True}))
            data = b""
            while b'"resp_' not in data:
                data += s.recv(4096)
        id = data[data.index(b'"resp_') + 1:].split(b'"')[0].decode()
        while (status := api.responses.retrieve(id).status) in ("queued", "in_progress"):
            pass
        self.assertEqual(status, "incomplete")


if __name__ == "__main__":
    main()
