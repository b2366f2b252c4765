#!/usr/bin/env python3
"""What an operator does to a running server: settings, reload on SIGHUP, slots in files; and streams taken up again.

  server_admin_test.py BIN_FOLDER
"""
import os
import pathlib
import signal
import ssl
import subprocess
import tempfile
import time
import unittest

from scripted_model import Scripted
from server_harness import Server, WithServer, default_model, http_request, main

MODEL = default_model()
LONG = " ".join(f"The {n}th house on the street is painted in colour {n * 7 % 31}." for n in range(40))
SAID = [" one", " two", " three", " four", " five", " six"]


def script():
    s = Scripted(tempfile.mkdtemp())
    s.script("count", SAID)
    last = s.start("forever")  # a ring of tokens: without max_tokens it goes on until the context is full
    ring = [s.piece(f"{w}!") for w in "abcdefgh"]
    for a, b in zip([last] + ring, ring + [ring[0]]):
        s.table[a] = {b: 40.0}
    return s.write()


class Settings(WithServer):
    flags = ["--temp", "0", "-n", "5", "--parallel", 2]

    def settings(self):
        return {s["name"]: s for s in self.server.call("/v1/settings")[2]["settings"]}

    def change(self, **values):
        return self.server.call("/v1/settings", values, method="PATCH")

    def tearDown(self):
        names = {name: None for name in self.settings()}
        self.assertEqual(self.change(**names)[0], 200)

    def test_changes_hold_for_the_next_request(self):
        ask = {"prompt": "Once upon a time", "ignore_eos": True}
        def tokens():
            return self.server.call("/v1/completions", ask)[2]["usage"]["completion_tokens"]
        self.assertEqual(tokens(), 5)
        status, _, answer = self.change(max_tokens=9)
        self.assertEqual(status, 200)
        self.assertEqual({s["name"]: s["value"] for s in answer["settings"]}["max_tokens"], 9)
        self.assertEqual(tokens(), 9)
        self.assertEqual(self.server.call("/v1/completions", {**ask, "max_tokens": 2})[2]["usage"]["completion_tokens"], 2)
        self.change(temperature=1.5)
        params = self.server.call("/props")[2]["default_generation_settings"]["params"]
        self.assertEqual(params["temperature"], 1.5)
        self.change(max_tokens=None, temperature=None)
        self.assertEqual(tokens(), 5)
        self.assertEqual(self.settings()["temperature"]["value"], 0)

    def test_all_or_nothing(self):
        before = self.settings()
        for bad in ({"max_tokens": 7, "no_such": 1}, {"max_tokens": 7, "top_p": 2}, {"max_tokens": "7"}, {"top_k": 1.5},
                    {"request_timeout": 0}, {"max_queue_depth": -1}, {"models_memory": 1e300}, {"temperature": [1]},
                    {"x" * 5000: 1}, {"repetition_penalty": 0}):
            status, _, answer = self.change(**bad)
            self.assertEqual(status, 400, bad)
            self.assertTrue(answer["error"]["param"], bad)
        self.assertEqual(self.settings(), before)
        for s in before.values():
            self.assertIn(s["type"], ("number", "integer"))
            self.assertLess(s["minimum"], s["maximum"])

    def test_timeout_and_queue(self):
        self.change(request_timeout=1)
        status, _, a = self.server.call("/v1/completions", {"prompt": "Once", "max_tokens": 100000, "ignore_eos": True})
        self.assertEqual((status, a["error"]["code"]), (504, "timeout"))
        self.change(request_timeout=None, max_queue_depth=0)
        busy = [self.server.connect() for _ in "ab"]
        for s in busy:
            s.sendall(http_request("/v1/completions", {"prompt": "Once", "max_tokens": 8000, "ignore_eos": True,
                                                       "stream": True}))
        self.assertTrue(self.server.until(lambda m: m["mlxcel_requests_in_flight"] == 2))
        self.assertEqual(self.server.chat("Hi")[0], 429)
        for s in busy:
            s.close()
        self.assertTrue(self.server.until(lambda m: m["mlxcel_requests_in_flight"] == 0))


class Reload(unittest.TestCase):
    def wait_for(self, what):
        end = time.time() + 60
        while not what():
            self.assertLess(time.time(), end)
            time.sleep(0.02)

    def test_keys(self):
        with tempfile.TemporaryDirectory() as folder:
            keys = pathlib.Path(folder) / "keys"
            keys.write_text("old\n")
            server = Server(script(), "--api-key-file", keys, "--parallel", 1)
            def status(key):
                return server.call("/props", headers={"Authorization": f"Bearer {key}"})[0]
            self.assertEqual((status("old"), status("new"), server.call("/props")[0]), (200, 401, 401))
            running = server.stream("/v1/chat/completions", {"messages": [{"role": "user", "content": "forever"}],
                                                             "stream": True, "max_tokens": 300},
                                    {"Authorization": "Bearer old"})
            next(running)
            keys.write_text("new\n")
            server.process.send_signal(signal.SIGHUP)
            self.wait_for(lambda: status("new") == 200)
            self.assertEqual(status("old"), 401)
            self.assertEqual(list(running)[-1][1], "[DONE]")  # what was admitted goes on
            keys.write_text("")  # no keys would open the server to all: the old ones stay
            server.process.send_signal(signal.SIGHUP)
            self.wait_for(lambda: server.log().count('"reloaded"') == 2)
            self.assertEqual((status("new"), server.call("/props")[0]), (200, 401))
            self.assertEqual(server.stop()[0], 0)

    def test_certificates(self):
        with tempfile.TemporaryDirectory() as folder:
            def make(name):
                subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                                "-nodes", "-keyout", f"{folder}/{name}.key", "-out", f"{folder}/{name}.pem", "-days", "2",
                                "-subj", f"/CN={name}"], check=True, capture_output=True)
            def use(key, certificate):
                for name, kind in ((key, "key"), (certificate, "pem")):
                    os.replace(pathlib.Path(folder, f"{name}.{kind}").rename(f"{folder}/next"), f"{folder}/now.{kind}")
            def shown(server):
                return ssl.get_server_certificate(("127.0.0.1", server.port))
            make("one"), make("two"), make("three")
            one, two = (pathlib.Path(folder, f"{n}.pem").read_text() for n in ("one", "two"))
            use("one", "one")
            server = Server(script(), "--ssl-cert-file", f"{folder}/now.pem", "--ssl-key-file", f"{folder}/now.key")
            self.assertEqual(shown(server), one)
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            with context.wrap_socket(server.connect()) as kept:
                use("two", "two")
                server.process.send_signal(signal.SIGHUP)
                self.wait_for(lambda: shown(server) == two)
                kept.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")  # a connection outlives the reload
                self.assertTrue(kept.recv(100).startswith(b"HTTP/1.1 200"))
            os.replace(f"{folder}/three.pem", f"{folder}/now.pem")  # does not fit the key
            server.process.send_signal(signal.SIGHUP)
            self.wait_for(lambda: server.log().count('"reloaded"') == 2)
            self.assertEqual(shown(server), two)
            self.assertEqual(server.stop()[0], 0)


class Slots(unittest.TestCase):
    def test_equal_bytes_after_a_restart(self):
        ask = {"messages": [{"role": "user", "content": LONG}], "max_tokens": 16, "temperature": 0.8, "seed": 3}
        with tempfile.TemporaryDirectory() as folder:
            flags = ["--slot-save-path", folder, "-c", 2048, "--parallel", 2]
            def act(action, name="one", slot=0):
                return server.call(f"/slots/{slot}?action={action}", {"filename": name})
            server = Server(MODEL, *flags)
            self.assertEqual(act("save")[0], 404)  # nothing was asked yet
            first = server.call("/v1/chat/completions", ask)[2]
            status, _, saved = act("save")
            self.assertEqual(status, 200, saved)
            prompt = first["usage"]["prompt_tokens"]
            self.assertGreaterEqual(saved["n_saved"], prompt // 64 * 64)
            self.assertEqual(saved["n_written"], pathlib.Path(folder, "one").stat().st_size)
            server.stop(signal.SIGKILL)

            server = Server(MODEL, *flags)
            status, _, restored = act("restore", slot=1)
            self.assertEqual((status, restored["n_restored"]), (200, saved["n_saved"]), restored)
            again = server.call("/v1/chat/completions", ask)[2]
            self.assertEqual(again["choices"], first["choices"])
            self.assertEqual(again["usage"]["prompt_tokens_details"]["cached_tokens"], (prompt - 1) // 64 * 64)
            self.assertEqual(act("erase", slot=1)[2]["n_erased"], saved["n_saved"])
            for name in ("../one", "/etc/passwd", "", ".one", "a/b", "x" * 300, "none", "a\0b", "..", 3):
                self.assertIn(act("restore", name)[0], (400, 404), name)
                if name != "none":
                    self.assertEqual(act("save", name)[0], 400, name)
            data = bytearray(pathlib.Path(folder, "one").read_bytes())
            data[len(data) // 2] ^= 1
            pathlib.Path(folder, "bad").write_bytes(data)
            pathlib.Path(folder, "half").write_bytes(data[:len(data) // 3])
            for name in ("bad", "half"):
                status, _, a = act("restore", name)
                self.assertEqual((status, a["error"]["code"]), (400, "corrupt_file"), name)
            for path, status in (("/slots/2?action=save", 404), ("/slots/-1?action=save", 404), ("/slots/0x?action=save", 404),
                                 ("/slots/0?action=eat", 400), ("/slots/0", 400)):
                self.assertEqual(server.call(path, {"filename": "x"})[0], status, path)
            self.assertEqual(sorted(os.listdir(folder)), ["bad", "half", "one"])
            code, log = server.stop()
            self.assertEqual(code, 0, log[-2000:])

            server = Server(script(), *flags)  # another model
            status, _, a = act("restore")
            self.assertEqual(status, 400, a)
            self.assertEqual(server.stop()[0], 0)


class Streams(WithServer):
    flags = ["--parallel", 16, "-c", 4096]

    @classmethod
    def model(cls):
        return script()

    def ask(self, text, conversation, **more):
        return self.server.stream("/v1/chat/completions",
                                  {"messages": [{"role": "user", "content": text}], "stream": True, "temperature": 0, **more},
                                  {"X-Conversation-Id": conversation} if conversation else {})

    def rest(self, conversation, first):
        return list(self.server.stream(f"/v1/stream?conv_id={conversation}&from={first}", None))

    def text(self, events):
        return "".join(e["choices"][0]["delta"].get("content") or "" for _, e in events if e != "[DONE]" and e["choices"])

    def test_a_lost_stream_is_taken_up(self):
        plain = list(self.ask("forever", None, max_tokens=90))
        self.assertEqual([n for n, _ in plain], [None] * len(plain))
        lost = self.ask("forever", "talk-1", max_tokens=90)
        seen = [next(lost) for _ in range(5)]
        lost.close()
        events = seen + self.rest("talk-1", 5)
        self.assertEqual([n for n, _ in events], list(range(len(plain))))
        self.assertEqual(self.text(events), self.text(plain))
        self.assertEqual(events[-1][1], "[DONE]")
        self.assertEqual(self.rest("talk-1", 5), events[5:])  # and again
        tail = self.server.stream("/v1/stream?conv_id=talk-1", None, {"Last-Event-ID": str(len(plain) - 3)})
        self.assertEqual(list(tail), events[-2:])
        found = self.server.call("/v1/streams/lookup", {"conversation_ids": ["talk-1", "none"]})[2]["data"]
        self.assertEqual(found, [{"conversation_id": "talk-1", "status": "finished", "first": 0, "next": len(plain)}])

    def test_two_readers_at_once(self):
        lost = self.ask("forever", "two", max_tokens=90)
        for _ in range(4):
            next(lost)
        a, b = (self.server.stream(f"/v1/stream?conv_id=two&from={n}", None) for n in (0, 3))
        first = [next(a), next(b)]
        lost.close()
        rest = list(a)
        self.assertEqual(self.text(([first[0]] + rest)[3:]), self.text([first[1]] + list(b)))

    def test_the_ring_is_bounded(self):
        events = list(self.ask("forever", "long", max_tokens=250, n=16, logprobs=True, top_logprobs=20))
        self.assertEqual(events[-1][1], "[DONE]")
        state = self.server.call("/v1/streams/lookup", {"conversation_ids": ["long"]})[2]["data"][0]
        self.assertGreater(state["first"], 0)
        status, _, a = self.server.call("/v1/stream?conv_id=long&from=0")
        self.assertEqual((status, a["error"]["code"]), (410, "stream_truncated"))
        self.assertEqual(self.rest("long", state["first"]), events[state["first"]:])

    def test_delete_ends_it_and_a_new_one_takes_its_place(self):
        def idle(m):
            return m["mlxcel_requests_in_flight"] == 0
        def cancelled():
            return self.server.stats()["mlxcel_requests_cancelled_total"]
        for ending in ("delete", "new"):
            before = cancelled()
            lost = self.ask("forever", "gone", max_tokens=3900)
            next(lost)
            lost.close()
            if ending == "delete":
                self.assertEqual(self.server.call("/v1/stream?conv_id=gone", method="DELETE")[0], 200)
                self.assertEqual(self.server.call("/v1/stream?conv_id=gone")[0], 404)
            else:
                self.assertEqual(self.text(self.ask("count", "gone")), "".join(SAID))
            self.assertTrue(self.server.until(idle))
            self.assertIn(cancelled(), (before, before + 1))  # it may have ended by itself

    def test_a_stalled_reader_is_dropped(self):
        before = self.server.stats()["mlxcel_requests_cancelled_total"]
        with self.server.connect() as s:
            s.sendall(http_request("/v1/chat/completions", {
                "messages": [{"role": "user", "content": "forever"}], "stream": True, "n": 16, "logprobs": True,
                "top_logprobs": 20, "ignore_eos": True}))
            self.assertTrue(s.recv(100).startswith(b"HTTP/1.1 200"))
            self.assertTrue(self.server.until(lambda m: m["mlxcel_requests_cancelled_total"] == before + 16, 240))

    def test_what_is_refused(self):
        list(self.ask("count", "kept"))
        for path, status in (("conv_id=none", 404), ("", 404), ("conv_id=kept&from=1000", 400), ("conv_id=kept&from=-1", 400),
                             ("conv_id=kept&from=x", 400), ("conv_id=kept&from=99999999999999999999", 400)):
            self.assertEqual(self.server.call("/v1/stream?" + path)[0], status, path)
        for bad in ("a b", "x" * 200, "../x", "\u00e9"):
            status, _, _ = self.server.call("/tokenize", {"content": "x"}, headers={"X-Conversation-Id": bad})
            self.assertEqual(status, 400, bad)
        for body in ({}, {"conversation_ids": "kept"}, {"conversation_ids": [3]}, {"conversation_ids": ["x"] * 300}):
            self.assertEqual(self.server.call("/v1/streams/lookup", body)[0], 400)


class Keys(unittest.TestCase):
    def test_a_stream_is_its_keys_alone(self):
        server = Server(script(), "--api-key", "a,b")
        def headers(key):
            return {"Authorization": f"Bearer {key}", "X-Conversation-Id": "mine"}
        list(server.stream("/v1/chat/completions", {"messages": [{"role": "user", "content": "count"}], "stream": True},
                           headers("a")))
        self.assertEqual(server.call("/v1/stream", headers=headers("b"))[0], 404)
        self.assertEqual(server.call("/v1/stream", headers=headers("b"), method="DELETE")[0], 404)
        self.assertEqual(server.call("/v1/stream", headers=headers("a"))[0], 200)
        self.assertEqual(server.stop()[0], 0)


if __name__ == "__main__":
    main()
