#!/usr/bin/env python3
"""The server as its clients see it, on the default model: the openai package, raw sockets, faults, and load.

  server_test.py BIN_FOLDER
"""
import concurrent.futures
import contextlib
import json
import pathlib
import selectors
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import unittest

import openai

from server_harness import BIN, Server, WithServer, default_model, http_request, main, read_all
from server_script_test import model as scripted_model

MODEL = default_model()


class OpenAi(WithServer):
    flags = ["--parallel", 4, "-a", "small"]

    ask = {"model": "small", "messages": [{"role": "user", "content": "Name three colours."}], "max_tokens": 24}

    def test_models(self):
        self.assertIn("small", [m.id for m in self.api.models.list()])
        self.assertEqual(self.api.models.retrieve("small").id, "small")
        with self.assertRaises(openai.NotFoundError):
            self.api.models.retrieve("../../etc/passwd")

    def test_chat(self):
        a = self.api.chat.completions.create(**self.ask, temperature=0)
        self.assertEqual(a.object, "chat.completion")
        self.assertEqual(a.choices[0].message.role, "assistant")
        self.assertGreater(len(a.choices[0].message.content), 10)
        self.assertEqual(a.usage.total_tokens, a.usage.prompt_tokens + a.usage.completion_tokens)
        self.assertIsNotNone(a.usage.prompt_tokens_details.cached_tokens)
        self.assertIn("mlxcel", a.system_fingerprint)

    def test_answer_is_that_of_the_command(self):
        for more in ([], ["--temp", "0.9", "--seed", "5"]):
            r = subprocess.run([BIN / "mlxcel", "generate", "-m", MODEL, "--json", "-p", "Name three colours.",
                                "-n", "24", *more], capture_output=True, text=True, check=True)
            a = self.api.chat.completions.create(**self.ask, temperature=0.9 if more else 0, seed=5)
            self.assertEqual(a.choices[0].message.content, json.loads(r.stdout)["answers"][0]["text"])

    def test_stream_is_not_stream(self):
        for more in ({"temperature": 0}, {"temperature": 1, "seed": 9}, {"seed": 3, "n": 3},
                     {"seed": 4, "stop": [" and", "\n"]}, {"seed": 4, "logprobs": True, "top_logprobs": 2}):
            whole = self.api.chat.completions.create(**self.ask, **more)
            pieces = {c.index: [] for c in whole.choices}
            reasons, logs, usage = {}, {c.index: [] for c in whole.choices}, None
            for chunk in self.api.chat.completions.create(**self.ask, **more, stream=True,
                                                          stream_options={"include_usage": True}):
                usage = chunk.usage or usage
                for c in chunk.choices:
                    pieces[c.index].append(c.delta.content or "")
                    reasons[c.index] = c.finish_reason or reasons.get(c.index)
                    logs[c.index] += (c.logprobs.content or []) if c.logprobs else []
            for c in whole.choices:
                self.assertEqual("".join(pieces[c.index]), c.message.content, more)
                self.assertEqual(reasons[c.index], c.finish_reason)
                if "logprobs" in more:
                    self.assertEqual([t.model_dump() for t in logs[c.index]],
                                     [t.model_dump() for t in c.logprobs.content])
            self.assertEqual(usage.completion_tokens, whole.usage.completion_tokens)

    def test_seeds(self):
        def ask(seed):
            return self.api.chat.completions.create(**self.ask, temperature=1, seed=seed).choices[0].message.content
        first = ask(42)
        self.assertNotEqual(first, ask(43))
        self.assertEqual(first, ask(42))
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            self.assertEqual(list(pool.map(ask, [42, 1, 2, 42]))[::3], [first, first])
        both = [[c.message.content for c in
                 self.api.chat.completions.create(**self.ask, temperature=1, seed=42, n=2).choices] for _ in "ab"]
        self.assertEqual(both[0], both[1])
        self.assertNotEqual(both[0][0], both[0][1])
        self.assertEqual(both[0][0], first)

    def test_logprobs(self):
        values = []
        for more in ({"temperature": 0}, {"temperature": 0, "frequency_penalty": 0.0, "top_p": 0.5}):
            a = self.api.chat.completions.create(**self.ask, **more, logprobs=True, top_logprobs=3)
            content = a.choices[0].logprobs.content
            self.assertEqual(b"".join(bytes(t.bytes) for t in content).decode(), a.choices[0].message.content)
            for t in content:
                self.assertLessEqual(t.logprob, 0)
                self.assertEqual(len(t.top_logprobs), 3)
                self.assertEqual(t.top_logprobs[0].token, t.token)
                self.assertEqual(t.top_logprobs[0].logprob, t.logprob)
                self.assertGreaterEqual(t.top_logprobs[0].logprob, t.top_logprobs[1].logprob)
            values.append([t.logprob for t in content])
        self.assertEqual(values[0], values[1])
        hot = self.api.chat.completions.create(**{**self.ask, "max_tokens": 1}, temperature=2, top_logprobs=3,
                                               logprobs=True, seed=1)
        cold = self.api.chat.completions.create(**{**self.ask, "max_tokens": 1}, temperature=0, top_logprobs=3,
                                                logprobs=True)
        self.assertEqual(*[[t.model_dump() for t in a.choices[0].logprobs.content[0].top_logprobs]
                           for a in (hot, cold)])

    def test_stop_strings(self):
        whole = self.api.chat.completions.create(**self.ask, temperature=0).choices[0].message.content
        stop = whole[len(whole) // 2:len(whole) // 2 + 3]
        cut = self.api.chat.completions.create(**self.ask, temperature=0, stop=stop).choices[0]
        self.assertEqual((cut.message.content, cut.finish_reason), (whole[:whole.index(stop)], "stop"))

    def test_completions(self):
        def texts(prompt, **more):
            a = self.api.completions.create(model="small", prompt=prompt, max_tokens=6, temperature=0, **more)
            self.assertEqual([c.index for c in a.choices], list(range(len(a.choices))))
            return [c.text for c in a.choices]
        one = texts("The capital of France is")[0]
        self.assertIn("Paris", one)
        ids = self.server.call("/tokenize", {"content": "The capital of France is", "add_special": True})[2]["tokens"]
        self.assertEqual(texts(ids), [one])
        self.assertEqual(texts([ids, ids[:2]])[0], one)
        self.assertEqual(texts(["a", "The capital of France is"], n=2)[2:], [one, one])
        self.assertEqual(texts("The capital of France is", echo=True)[0], "The capital of France is" + one)
        a = self.api.completions.create(model="small", prompt="Hi", max_tokens=4, logprobs=2, temperature=0)
        self.assertEqual(len(a.choices[0].logprobs.tokens), 4)
        self.assertEqual("".join(a.choices[0].logprobs.tokens), a.choices[0].text)
        streamed = "".join(c.choices[0].text for c in self.api.completions.create(
            model="small", prompt="The capital of France is", max_tokens=6, temperature=0, stream=True))
        self.assertEqual(streamed, one)

    def test_errors(self):
        for more, error, word in (
                ({"temperature": -1}, openai.BadRequestError, "temperature"),
                ({"temperature": "hot"}, openai.BadRequestError, "temperature"),
                ({"top_p": 7}, openai.BadRequestError, "top_p"),
                ({"n": 0}, openai.BadRequestError, "n:"),
                ({"stop": ["x" * 5000]}, openai.BadRequestError, "stop"),
                ({"stop": ["x"] * 65}, openai.BadRequestError, "stop"),
                ({"stop": 7}, openai.BadRequestError, "stop"),
                ({"seed": "abc"}, openai.BadRequestError, "seed"),
                ({"tools": [{"type": "function", "function": {"name": "f"}}]}, openai.BadRequestError, "tools"),
                ({"logit_bias": {"999999": 1}}, openai.BadRequestError, "999999"),
                ({"logit_bias": {"abc": 1}}, openai.BadRequestError, "abc"),
                ({"top_logprobs": 21, "logprobs": True}, openai.BadRequestError, "top_logprobs"),
                ({"response_format": {"type": "json_object"}}, openai.BadRequestError, "not supported yet"),
                ({"model": "../../etc/passwd"}, openai.NotFoundError, "model"),
                ({"messages": []}, openai.BadRequestError, "messages"),
                ({"messages": [{"role": "user", "content": [
                    {"type": "text", "text": "What is this?"},
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0K"}}]}]},
                 openai.BadRequestError, "messages[0].content[1].type"),
                ({"extra_body": {"typical_p": 0.5}}, openai.BadRequestError, "typical_p"),
                ({"messages": [{"role": "user", "content": "word " * 9000}]}, openai.BadRequestError, "8192")):
            for stream in (False, True):
                with self.assertRaises(error) as caught:
                    self.api.chat.completions.create(**{**self.ask, **more}, stream=stream)
                self.assertIn(word, str(caught.exception))
        a = self.api.chat.completions.create(**self.ask, extra_body={"no_such_field": 1})
        self.assertTrue(a.choices)

    def test_logit_bias(self):
        first = self.api.completions.create(model="small", prompt=[10], max_tokens=1, temperature=0)
        token = self.server.call("/tokenize", {"content": first.choices[0].text})[2]["tokens"][0]
        other = self.api.completions.create(model="small", prompt=[10], max_tokens=1, temperature=0,
                                            logit_bias={str(token): -100})
        self.assertNotEqual(first.choices[0].text, other.choices[0].text)
        forced = self.api.completions.create(model="small", prompt=[10], max_tokens=3, temperature=0,
                                             logit_bias={"1000": 100})
        word = self.server.call("/detokenize", {"tokens": [1000] * 3})[2]["content"]
        self.assertEqual(forced.choices[0].text, word)


class Routes(WithServer):
    flags = ["--parallel", 2, "--api-key", "right,other"]

    def test_keys_and_cors(self):
        call = self.server.call
        self.assertEqual(call("/health")[0], 200)
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Bearer righ"}):
            self.assertEqual(call("/v1/models", headers=headers)[0], 401)
            self.assertEqual(call("/nowhere", headers=headers)[0], 401)
        for headers in ({"Authorization": "Bearer other"}, {"X-Api-Key": "right"}):
            self.assertEqual(call("/v1/models", headers=headers)[0], 200)

    def test_no_key_no_body(self):
        with self.server.connect() as s:
            s.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n")
            self.assertTrue(s.recv(100).startswith(b"HTTP/1.1 401"))

    def test_pages_of_this_machine_may_ask_and_no_others(self):
        call, key = self.server.call, {"Authorization": "Bearer right"}
        own = f"http://127.0.0.1:{self.server.port}"
        for origin in ("http://localhost:3000", "http://127.0.0.1", "https://[::1]:9", own):
            status, head, _ = call("/v1/chat/completions", method="OPTIONS",
                                   headers={"Origin": origin, "Access-Control-Request-Method": "POST",
                                            "Access-Control-Request-Headers": "authorization,content-type"})
            self.assertEqual((status, head["Access-Control-Allow-Origin"]), (204, origin))
            self.assertIn("POST", head["Access-Control-Allow-Methods"])
            self.assertIn("authorization", head["Access-Control-Allow-Headers"])
            self.assertEqual(call("/v1/models", headers={**key, "Origin": origin})[0], 200)
        # Without asking first, and by a name that was pointed here.
        for headers in ({"Origin": "https://a.example"}, {"Origin": "http://localhost.a.example"}, {"Origin": "null"},
                        {"Origin": f"http://a.example:{self.server.port}", "Host": f"a.example:{self.server.port}"}):
            for method in ("OPTIONS", "POST"):
                status, head, _ = call("/tokenize", raw=b'{"content": "x"}', headers={**key, **headers}, method=method)
                self.assertEqual(status, 403, headers)
                self.assertIsNone(head["Access-Control-Allow-Origin"])

    def test_every_route_answers(self):
        key = {"Authorization": "Bearer right", "X-Request-Id": "mine-1"}
        for method, path in self.server.routes(key):
            status, head, a = self.server.call(path, headers=key, method=method,
                                               body={} if method in ("POST", "PATCH") else None)
            self.assertIn(status, (200, 400, 404), path)
            if status == 404:
                self.assertNotEqual(a["error"]["code"], "unknown_url", path)
            self.assertEqual(head["X-Request-Id"], "mine-1")
        self.assertEqual(self.server.call("/v1/models", headers=key, method="DELETE")[0], 405)
        self.assertEqual(self.server.call("/no", headers=key)[0], 404)
        self.assertEqual(len(self.server.call("/slots?fail_on_no_slot=1", headers=key)[2]), 2)
        self.assertIn("llamacpp:tokens_predicted_total", self.server.call("/metrics", headers=key)[2])

    def test_those_without_an_end_begin(self):
        key = {"Authorization": "Bearer right"}
        endless = set(self.server.routes(key, endless=True)) - set(self.server.routes(key))
        self.assertEqual(endless, {("GET", "/models/sse")})
        events = self.server.stream("/models/sse", None, key)
        first = next(events)[1]
        self.assertEqual((first["event"], first["data"]["status"]), ("model_status", "loaded"))
        events.close()


class Names(WithServer):
    """Paths as others spell them, and those behind a proxy."""
    flags = ["--api-prefix", "/llm", "--no-webui", "--chat-template-kwargs", json.dumps({"city": "Oslo"}), "--reuse-port"]

    @classmethod
    def model(cls):
        return scripted_model()

    def test_paths(self):
        ask = {"messages": [{"role": "user", "content": "city"}], "temperature": 0}
        call = self.server.call
        for path in ("/llm/v1/chat/completions", "/llm/chat/completions"):
            self.assertEqual(call(path, ask)[2]["choices"][0]["message"]["content"], " in Oslo")
        self.assertEqual(call("/llm/v1/responses/input_tokens", {"input": "city"})[2]["input_tokens"],
                         call("/llm/chat/completions/input_tokens", ask)[2]["input_tokens"])
        self.assertIn("content", call("/llm/completions", {"prompt": "x", "n_predict": 1})[2])  # llama.cpp's, not OpenAI's
        for path in ("/v1/chat/completions", "/chat/completions", "/llm", "/llmv1/models", "/llm/", "/llm/web/app.js"):
            self.assertEqual(call(path, ask)[0], 404, path)
        self.assertEqual(call("/llm/v1/health")[0], 200)

    def test_a_cache_that_is_emptied_or_not_asked(self):
        def cached(**more):
            return self.server.call("/llm/v1/completions", {"prompt": "x" * 200, "max_tokens": 1, **more})[2]["usage"][
                "prompt_tokens_details"]["cached_tokens"]
        self.server.call("/llm/v1/cache/reset", {})
        self.assertEqual((cached(), cached() > 0, cached(cache_prompt=False)), (0, True, 0))
        stats = self.server.call("/llm/v1/cache/stats")[2]
        self.assertEqual((stats["lookups"] > stats["hits"] > 0, stats["bytes"]), (True, stats["nodes"] * stats["page_bytes"]))
        self.assertEqual(self.server.call("/llm/v1/cache/reset", {})[2], {"success": True, "nodes_freed": stats["nodes"]})
        self.assertEqual(cached(), 0)

    def test_tokens_and_texts_mixed(self):
        def tokens(content):
            return self.server.call("/llm/tokenize", {"content": content})[2]["tokens"]
        self.assertEqual(tokens(["ab", 7, "c"]), tokens("ab") + [7] + tokens("c"))


class Faults(WithServer):
    flags = ["--parallel", 2, "--max-queue-depth", 2, "-c", 2048]
    running = staticmethod(lambda s: s["mlxcel_requests_in_flight"] > 0)
    idle = staticmethod(lambda s: s["mlxcel_requests_in_flight"] == 0)
    long = {"prompt": "Once", "max_tokens": 2000, "ignore_eos": True}

    def tearDown(self):  # the next request works
        self.assertEqual(self.server.chat("Hi", max_tokens=2)[0], 200)

    def test_bad_bodies(self):
        def status(raw):
            return self.server.call("/v1/chat/completions", raw=raw)
        def content(text):
            return b'{"max_tokens": 2, "messages": [{"role": "user", "content": "' + text + b'"}]}'
        for raw in (b"", b"{", b"[]", b"nope", b'{"a": 1} x', b'{"messages": 3}', b"[" * 10000 + b"]" * 10000,
                    b'{"a":' * 10000 + b"1" + b"}" * 10000, content(b"x \\ud83d"), content(b"\\ude00 y"),
                    content(b"\xb4\xf3"), content(b"\xff")):
            got, _, answer = status(raw)
            self.assertEqual(got, 400, raw[:80])
            self.assertIn("message", answer["error"])
        self.assertIn("byte", status(content(b"x \\ud83d"))[2]["error"]["message"])
        for text in (b"ok \\ud83d\\ude00", b"a \\u0000 b"):
            self.assertEqual(status(content(text))[0], 200)
        self.assertEqual(status(b"\xef\xbb\xbf" + content(b"hi"))[0], 200)
        for prompt in ([1, "a"], [-1], [10**9], [], [[]], 7, None):
            self.assertEqual(self.server.call("/v1/completions", {"prompt": prompt})[0], 400, prompt)

    def test_sizes(self):
        with self.server.connect() as s:
            s.sendall(b"POST /tokenize HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000\r\n\r\n" + b"x" * 1000)
            self.assertTrue(s.recv(100).startswith(b"HTTP/1.1 413"))
        with self.server.connect() as s:
            s.sendall(b"GET /health HTTP/1.1\r\nX: " + b"y" * 100000)
            self.assertTrue(s.recv(100).startswith(b"HTTP/1.1 431"))
        with self.server.connect() as s:
            s.sendall(b"NONSENSE\r\n\r\n")
            self.assertTrue(s.recv(100).startswith(b"HTTP/1.1 400"))
        with self.server.connect() as s:
            s.sendall(b"GET /../../etc/passwd HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            self.assertTrue(read_all(s).startswith(b"HTTP/1.1 404"))

    def test_long_bodies_are_bounded_together(self):
        long = 14 << 20
        head = f"POST /tokenize HTTP/1.1\r\nHost: x\r\nContent-Length: {long + 1000}\r\n\r\n".encode()
        with contextlib.ExitStack() as open_ones, selectors.DefaultSelector() as answered:
            for _ in range(20):  # 280 MiB, of at most 256
                s = open_ones.enter_context(self.server.connect())
                answered.register(s, selectors.EVENT_READ)
                with contextlib.suppress(OSError):
                    s.sendall(head + b"x" * long)
            first = answered.select(60)
            self.assertTrue(first)
            self.assertTrue(first[0][0].fileobj.recv(100).startswith(b"HTTP/1.1 503"))
            self.assertEqual(self.server.call("/tokenize", {"content": "short ones are read"})[0], 200)
        end = time.time() + 60
        while self.server.call("/tokenize", {"content": 0.5, "x": "x" * long})[0] != 400:  # once the others are gone
            self.assertLess(time.time(), end)
            time.sleep(0.1)

    def test_two_lengths_are_refused(self):
        for extra in (b"Transfer-Encoding: chunked\r\n", b"Content-Length: 6\r\n"):
            with self.server.connect() as s:
                s.sendall(b"POST /tokenize HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n" + extra +
                          b"\r\n0\r\n\r\nGET /health HTTP/1.1\r\n\r\n")
                data = read_all(s)
                self.assertTrue(data.startswith(b"HTTP/1.1 400"), data[:200])
                self.assertEqual(data.count(b"HTTP/1.1"), 1)

    def test_slow_head_gets_408(self):
        with self.server.connect() as s:
            s.sendall(b"GET /health HTT")
            start = time.time()
            self.assertTrue(s.recv(100).startswith(b"HTTP/1.1 408"))
            self.assertLess(time.time() - start, 30)

    def test_keep_alive_pipelining_and_chunked_bodies(self):
        with self.server.connect() as s:
            body = b'{"content": "hello"}'
            s.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
                      b"POST /tokenize HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
                      + b"%x\r\n%s\r\n" % (8, body[:8]) + b"%x\r\n%s\r\n0\r\n\r\n" % (len(body) - 8, body[8:]))
            data = read_all(s)
            self.assertEqual(data.count(b"HTTP/1.1 200 OK"), 2)
            self.assertIn(b'"tokens"', data)

    def test_context(self):
        def ask(n, **more):
            return self.server.call("/v1/completions", {"prompt": [5] * n, "ignore_eos": True, **more})
        status, _, a = ask(2047, max_tokens=100)
        self.assertEqual((status, a["usage"]["completion_tokens"], a["choices"][0]["finish_reason"]),
                         (200, 1, "length"))
        status, _, a = ask(2044, max_tokens=100)
        self.assertEqual((a["usage"]["completion_tokens"], a["choices"][0]["finish_reason"]), (4, "length"))
        for stream in (False, True):
            status, _, a = ask(2048, stream=stream)
            self.assertEqual((status, a["error"]["code"]), (400, "context_length_exceeded"))
            self.assertIn("2048", a["error"]["message"])

    def test_disconnects_free_the_engine(self):
        prompt = {"prompt": [7] * 2000, "max_tokens": 40, "ignore_eos": True}
        for body, chunks in (({**self.long, "stream": True}, 2), (self.long, 0), (prompt, 0)):
            s = self.server.connect()
            s.sendall(http_request("/v1/completions", body))
            data = b""
            while data.count(b"data:") < chunks:
                data += s.recv(4096)
            self.assertTrue(self.server.until(self.running))
            s.close()
            start = time.time()
            self.assertTrue(self.server.until(self.idle), body)
            print(f"freed after {time.time() - start:.2f} s", file=sys.stderr)
        # The last one is counted by the step that ends it.
        self.assertTrue(self.server.until(lambda m: m["mlxcel_requests_cancelled_total"] > 2))

    def test_half_close_is_no_cancel(self):
        for more in ({}, {"stream": True}):
            with self.server.connect() as s:
                s.sendall(http_request("/v1/completions", {**self.long, "max_tokens": 60, **more},
                                       "Connection: close\r\n"))
                s.shutdown(socket.SHUT_WR)
                data = read_all(s)
                self.assertIn(b"HTTP/1.1 200 OK", data)
                self.assertIn(b'"length"', data)

    def test_full_queue(self):
        streams = []
        for _ in range(4):
            s = self.server.connect()
            s.sendall(http_request("/v1/completions", {**self.long, "stream": True}))
            streams.append(s)
        self.assertTrue(self.server.until(lambda m: m["mlxcel_requests_in_flight"] == 4))
        status, head, a = self.server.chat("Hi")
        self.assertEqual((status, a["error"]["code"]), (429, "queue_full"))
        self.assertTrue(head["Retry-After"])
        for s in streams:
            s.close()
        self.assertTrue(self.server.until(self.idle))

    def test_deadline(self):
        status, _, a = self.server.call("/v1/completions", {**self.long, "timeout_ms": 300})
        self.assertEqual((status, a["error"]["code"]), (504, "timeout"))


class Waiting(WithServer):
    flags = ["--parallel", 1, "--sse-ping-interval", 1, "--max-connections", 8]

    def silent_stream(self):
        """What a stream got that had to wait for another one."""
        with self.server.connect() as busy:
            busy.sendall(http_request("/v1/completions", {"prompt": "Once", "max_tokens": 8000, "ignore_eos": True,
                                                          "stream": True}))
            busy.recv(100)
            with self.server.connect() as s:
                s.sendall(http_request("/v1/completions", {"prompt": "Hi", "max_tokens": 1, "stream": True},
                                       "Connection: close\r\n"))
                data = s.recv(1000)
                while b"ping" not in data and (more := s.recv(1000)):
                    data += more
                return data

    def test_a_silent_stream_is_pinged_and_idle_connections_give_way(self):
        idle = [self.server.connect() for _ in range(7)]
        for _ in range(10):  # where this process is starved, the busy stream may end before the other begins
            data = self.silent_stream()
            self.assertTrue(data.startswith(b"HTTP/1.1 200"))
            if b"ping" in data:
                break
        self.assertIn(b"ping", data)
        for s in idle:
            s.close()


class Preemption(unittest.TestCase):
    def test_bytes_stay_equal_when_memory_is_short(self):
        r = subprocess.run([BIN / "mlxcel-server", "-m", MODEL, "-c", "512", "--kv-cache-budget", "1"],
                           capture_output=True, text=True, timeout=60)
        self.assertEqual(r.returncode, 1)
        context = int(r.stderr.split("expected at least ")[1].split()[0])
        server = Server(MODEL, "--parallel", 8, "-c", 512, "--kv-cache-budget", context * 2,
                        program=["mlxcel-server"])
        bodies = [{"prompt": f"Story number {i}: once upon a time", "max_tokens": 300, "ignore_eos": True, "seed": i}
                  for i in range(6)]
        def ask(body):
            status, _, a = server.call("/v1/completions", body)
            self.assertEqual(status, 200, a)
            return a["choices"][0]["text"]
        alone = [ask(b) for b in bodies]
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            self.assertEqual(list(pool.map(ask, bodies)), alone)
        self.assertGreater(server.stats()["mlxcel_preemptions_total"], 0)
        self.assertEqual(server.stop()[0], 0)


class Cache(WithServer):
    flags = ["--parallel", 2, "-c", 1024, "--prompt-cache-capacity-bytes", "8M"]

    def test_hits_are_reported_and_equal_to_cold_runs(self):
        def ask(text, **more):
            a = self.server.call("/v1/completions", {"prompt": text, "max_tokens": 12, "temperature": 0.8, "seed": 1,
                                                     **more})[2]
            return a["choices"][0]["text"], a["usage"]["prompt_tokens_details"]["cached_tokens"]
        text = " ".join(f"word{i}" for i in range(80))
        cold, cached = ask(text)
        self.assertEqual(cached, 0)
        warm, cached = ask(text)
        self.assertEqual(warm, cold)
        self.assertGreater(cached, 64)
        before = self.server.call("/v1/cache/stats")[2]
        self.assertEqual(before["cached_tokens"], cached)
        # 8 MiB hold some 350 positions of this model: others push it out.
        for i in range(4):
            ask(" ".join(f"other{i}x{k}" for k in range(120)))
        again, cached = ask(text)
        self.assertEqual((again, cached), (cold, 0))
        stats = self.server.call("/v1/cache/stats")[2]
        self.assertLessEqual(stats["nodes"] * stats["page_bytes"], 8 << 20)


class Log(unittest.TestCase):
    def test_one_line_each_and_no_secrets(self):
        server = Server(MODEL, "--api-key", "sesame-key", "-c", 512)
        key = {"Authorization": "Bearer sesame-key"}
        for more in ({}, {"stream": True}):
            server.call("/v1/chat/completions", {"messages": [{"role": "user", "content": "The sword is xyzzy"}],
                                                 "max_tokens": 8, "ignore_eos": True, **more}, headers=key)
        _, log = server.stop()
        lines = [json.loads(line) for line in log.splitlines()]
        paths = [line for line in lines if line["event"] == "paths"]
        self.assertEqual(len(paths), 1)
        for name in ("sampler", "matmul", "attention"):
            self.assertTrue(paths[0][name])
        done = [line for line in lines if line["event"] == "request_done"]
        self.assertEqual(len(done), 2)
        for line in done:
            self.assertEqual(line["tokens"], 8)
            self.assertGreater(line["prompt_tokens"], line["cached_tokens"])
            self.assertGreater(line["ttft_ms"], 0)
            self.assertGreater(line["decode_tok_s"], 0)
        self.assertNotIn("sesame", log)
        self.assertNotIn("xyzzy", log)


class Transports(unittest.TestCase):
    def test_unix_socket_outlives_a_kill(self):
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/mlxcel.sock"
            models = sorted(p for p in MODEL.parent.iterdir())
            for end in (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM):
                server = Server(MODEL, "--host", path, "-c", 512)
                s = socket.socket(socket.AF_UNIX)
                s.connect(path)
                s.sendall(http_request("/v1/completions", {"prompt": "Once", "max_tokens": 400, "stream": True}))
                self.assertTrue(s.recv(100).startswith(b"HTTP/1.1 200"))
                code, _ = server.stop(end)
                self.assertEqual(code, -9 if end == signal.SIGKILL else 0)
                s.close()
            self.assertEqual(sorted(MODEL.parent.iterdir()), models)  # no half-written file beside the model
            self.assertEqual(list(pathlib.Path(folder).iterdir()), [])

    def test_tls(self):
        with tempfile.TemporaryDirectory() as folder:
            key, certificate = f"{folder}/key.pem", f"{folder}/cert.pem"
            subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out",
                            certificate, "-days", "2", "-subj", "/CN=localhost", "-addext",
                            "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
            server = Server(MODEL, "--ssl-cert-file", certificate, "--ssl-key-file", key, "-c", 512)
            context = ssl.create_default_context(cafile=certificate)
            api = server.openai(http_client=openai.DefaultHttpxClient(verify=context))
            a = api.completions.create(model="", prompt="The capital of France is", max_tokens=6, temperature=0)
            self.assertIn("Paris", a.choices[0].text)
            with socket.create_connection(("127.0.0.1", server.port)) as plain:  # no TLS: dropped, harms nobody
                plain.sendall(b"GET /health HTTP/1.1\r\n\r\n")
                self.assertNotIn(b"200", plain.recv(100))
            self.assertGreater(len(list(api.completions.create(model="", prompt="a", max_tokens=3, stream=True))), 1)
            self.assertEqual(server.stop()[0], 0)


class Schema(WithServer):
    flags = ["--parallel", 4, "-c", 256, "-n", 4, "--max-queue-depth", 256]

    @classmethod
    def model(cls):  # every request counts, not its answer
        return scripted_model()

    def test_no_request_that_the_description_allows_gets_a_5xx(self):
        tool = pathlib.Path(sys.executable).with_name("schemathesis")
        r = subprocess.run([tool, "run", self.server.url + "/openapi.json", "--checks", "not_a_server_error",
                            "--exclude-path", "/models/sse",  # has no end
                            "--hypothesis-max-examples", "20", "--hypothesis-seed", "1", "--request-timeout", "60000",
                            "--hypothesis-deadline", "None",
                            "--hypothesis-suppress-health-check", "all"],
                           capture_output=True, text=True, timeout=600)
        self.assertEqual(r.returncode, 0, r.stdout[-4000:] + r.stderr[-2000:])


class Ending(unittest.TestCase):
    def test_drains(self):
        server = Server(MODEL, "--parallel", 2)
        s = server.connect()
        s.sendall(http_request("/v1/completions", {"prompt": "Once", "max_tokens": 40, "ignore_eos": True,
                                                   "stream": True}))
        s.recv(100)
        code, log = server.stop()
        self.assertEqual(code, 0, log)
        self.assertIn(b"[DONE]", read_all(s))
        self.assertIn('"sound":true', log)

    def test_wrong_command_lines(self):
        for flags in (["--port", "99999"], ["--ssl-cert-file", "/no"], ["--host", "/etc/passwd.sock/x.sock"]):
            r = subprocess.run([BIN / "mlxcel", "serve", "-m", MODEL, *flags], capture_output=True, text=True,
                               timeout=60)
            self.assertIn(r.returncode, (1, 2), flags)


if __name__ == "__main__":
    main()
