#!/usr/bin/env python3
"""Several models in one server: loading on demand, a budget, unloading, sleeping, names, and nobody stalled.

  server_models_test.py BIN_FOLDER [--seconds N]   with N, only the load: that long
"""
import concurrent.futures
import json
import pathlib
import random
import sys
import tempfile
import threading
import time
import unittest

from scripted_model import Scripted
from server_harness import Server, WithServer, default_model, http_request, main, read_all

SECONDS = float(sys.argv[sys.argv.index("--seconds") + 1]) if "--seconds" in sys.argv else 0
NAMES = ["alpha", "beta", "owner/gamma"]


def model(folder, name):
    """Each model says its own name; to "long" it goes on for as long as one asks."""
    s = Scripted(folder / name)
    s.script("who", [f"I am {name}", "."])
    last = s.start("long")
    ring = [s.piece(f" {name}{i}") for i in range(8)]
    for a, b in zip([last] + ring, ring + [ring[0]]):
        s.table[a] = {b: 3.0, ring[3]: 2.0, ring[5]: 2.0}  # a draw that depends on the seed
    return s.write()


def folder_of_models():
    folder = pathlib.Path(tempfile.mkdtemp())
    for name in NAMES:
        model(folder, name)
    (folder / ".hidden").mkdir()
    (folder / "not-a-model").mkdir()
    (folder / "broken").mkdir()
    (folder / "broken" / "config.json").write_text("{}")
    return folder


def request(name, text="who", **more):
    return {"model": name, "messages": [{"role": "user", "content": text}], "temperature": 0.5, "ignore_eos": False, **more}


class WithModels(WithServer):
    more = []
    context = 1024

    @classmethod
    def model(cls):
        return None

    @classmethod
    def setUpClass(cls):
        cls.folder = folder_of_models()
        cls.flags = ["--models-dir", cls.folder, "-c", cls.context, "--parallel", 2, *cls.more]
        super().setUpClass()

    def states(self):
        return {m["id"]: m for m in self.server.call("/models")[2]["data"]}

    def loaded(self):
        return {name for name, m in self.states().items() if m["status"]["value"] == "loaded"}

    def wait_for(self, what):
        end = time.time() + 60
        while not what():
            self.assertLess(time.time(), end, self.states())
            time.sleep(0.02)

    def ask(self, name, text="who", **more):
        return self.server.call("/v1/chat/completions", request(name, text, **more))

    def said(self, name, **more):
        status, _, a = self.ask(name, **more)
        self.assertEqual(status, 200, a)
        return a["choices"][0]["message"]["content"]


class Many(WithModels):
    more = ["--models-max", 2, "-a", "first=alpha", "-a", "third=owner/gamma", "--api-key", "k"]

    def setUp(self):
        call = Server.call
        self.server.call = lambda path, body=None, headers=None, method=None, raw=None: call(
            self.server, path, body, {"Authorization": "Bearer k", **(headers or {})}, method, raw)

    def test_names(self):
        listed = [m["id"] for m in self.server.call("/v1/models")[2]["data"]]
        self.assertEqual(set(listed), {*NAMES, "broken", "first", "third"})
        self.assertEqual(self.said("first"), "I am alpha.")
        self.assertEqual(self.said("third"), "I am owner/gamma.")
        a = self.ask("beta")[2]
        self.assertEqual(a["model"], "beta")
        for bad in ("", None, "../alpha", "/etc/passwd", "alpha/../beta", ".hidden", "not-a-model", "x" * 5000, "Alpha"):
            status, _, a = self.ask(bad)
            self.assertEqual((status, a["error"]["param"] if status == 400 else "model"), (400 if not bad else 404, "model"), bad)
        self.assertEqual(self.ask(7)[0], 400)
        self.assertEqual(self.server.call("/v1/models/owner%2Fgamma")[2]["id"], "owner/gamma")
        self.assertEqual(self.server.call("/v1/models/..%2Falpha")[0], 404)

    def test_least_recently_used_goes(self):
        for name in ("alpha", "beta", "alpha", "owner/gamma"):
            self.said(name)
            self.assertLessEqual(len(self.loaded()), 2)
        self.assertEqual(self.loaded(), {"alpha", "owner/gamma"})

    def test_orders(self):
        def order(what, name):
            return self.server.call(f"/models/{what}", {"model": name})[0]
        if "beta" not in self.loaded():
            self.assertEqual(self.server.call("/models/load", {"model": "beta"})[2], {"success": True})
        self.wait_for(lambda: "beta" in self.loaded())
        self.assertEqual(order("load", "beta"), 400)
        self.assertEqual(order("unload", "beta"), 200)
        self.wait_for(lambda: self.states()["beta"]["status"]["value"] == "unloaded")
        self.assertEqual(self.states()["beta"]["bytes"], 0)
        self.assertEqual(order("unload", "beta"), 400)
        for what in ("load", "unload"):
            for body, status in (({"model": "../x"}, 404), ({"model": 3}, 400), ({}, 400)):
                self.assertEqual(self.server.call(f"/models/{what}", body)[0], status, (what, body))
        self.assertEqual(self.server.call("/props?model=beta")[2]["error"]["code"], "model_not_loaded")
        self.said("beta")
        self.assertEqual(self.server.call("/props?model=beta")[2]["model_alias"], "beta")
        self.assertIn('model="beta"', self.server.call("/metrics")[2])

    def test_changes_are_told(self):
        self.said("alpha")
        events = self.server.stream("/models/sse", None, {"Authorization": "Bearer k"})
        first = [next(events)[1] for _ in self.states()]
        self.assertEqual({e["model"] for e in first}, set(self.states()))
        self.assertEqual({(e["event"], e["data"]["status"]) for e in first if e["model"] == "alpha"},
                         {("model_status", "loaded")})
        self.server.call("/models/unload", {"model": "alpha"})
        self.wait_for(lambda: self.states()["alpha"]["status"]["value"] == "unloaded")
        self.said("alpha")
        self.ask("broken")
        seen, failed = [], False
        while not failed:
            e = next(events)[1]
            failed = e["data"].get("failed", False)
            if e["model"] == "alpha" and e["event"] == "status_change":
                seen.append(e["data"]["status"])
        self.assertEqual(seen, ["unloading", "unloaded", "loading", "loaded"])
        events.close()

    def test_what_cannot_be_loaded(self):
        for _ in "ab":  # and is tried again
            status, _, a = self.ask("broken")
            self.assertEqual((status, a["error"]["code"]), (500, "model_load_failed"))
        self.assertTrue(self.states()["broken"]["status"]["failed"])
        self.said("alpha")

    def test_new_and_gone_models(self):
        model(self.folder, "late")
        self.assertEqual(self.ask("late")[0], 404)
        self.server.call("/models?reload=1")
        self.assertEqual(self.said("late"), "I am late.")
        self.assertEqual(self.server.call("/models/unload", {"model": "late"})[0], 200)
        self.wait_for(lambda: self.states()["late"]["status"]["value"] == "unloaded")
        for f in (self.folder / "late").iterdir():
            f.unlink()
        (self.folder / "late").rmdir()
        self.server.call("/models?reload=1")
        self.assertEqual(self.ask("late")[0], 404)

    def test_unloading_waits_for_streams(self):
        key = {"Authorization": "Bearer k"}
        stream = self.server.stream("/v1/chat/completions", request("alpha", "long", max_tokens=300, stream=True), key)
        text = [next(stream)]
        self.assertEqual(self.server.call("/models/unload", {"model": "alpha"})[0], 200)
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            after = pool.submit(self.said, "alpha")  # waits until it is loaded again
            text += list(stream)
            self.assertEqual(text[-1][1], "[DONE]")
            self.assertEqual(after.result(), "I am alpha.")


class Sleep(WithModels):
    more = ["--sleep-idle-seconds", 1]

    def test_a_model_sleeps_and_wakes(self):
        for _ in "ab":
            self.assertEqual(self.said("beta"), "I am beta.")
            self.wait_for(lambda: self.states()["beta"]["status"]["value"] == "sleeping")
            self.server.call("/metrics")  # looking wakes nobody
            self.assertEqual(self.loaded(), set())
        self.assertEqual(self.server.call("/v1/settings", {"sleep_idle_seconds": -1}, method="PATCH")[0], 200)


class Ordered(WithModels):
    more = ["--no-models-autoload"]

    def test_models_are_loaded_by_order_alone(self):
        status, _, a = self.ask("beta")
        self.assertEqual((status, a["error"]["code"]), (400, "model_not_loaded"))
        self.server.call("/models/load", {"model": "beta"})
        self.assertEqual(self.said("beta"), "I am beta.")  # waits, if it must
        self.assertEqual(self.ask("alpha")[0], 400)


class One(WithServer):
    flags = ["--sleep-idle-seconds", 1, "-a", "small"]

    @classmethod
    def model(cls):
        return model(pathlib.Path(tempfile.mkdtemp()), "single")

    def test_the_only_model_sleeps_and_wakes(self):
        def ask():
            return self.server.call("/v1/chat/completions", request("small"))[2]["choices"][0]["message"]["content"]
        self.assertEqual(ask(), "I am single.")
        end = time.time() + 60
        while self.server.call("/models")[2]["data"][0]["status"]["value"] != "sleeping":
            self.assertLess(time.time(), end)
            time.sleep(0.05)
        self.assertEqual(ask(), "I am single.")


class Queue(WithModels):
    """One place, taken by the stream of a model that is slow enough to end only when its client leaves."""
    more = ["--models-max", 1, "--max-queue-depth", 1]
    context = 4096

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        (cls.folder / "slow.gguf").symlink_to(default_model())
        cls.server.call("/models?reload=1")

    def test_waiting_is_bounded_and_those_who_leave_are_forgotten(self):
        holder = self.server.stream("/v1/chat/completions", request("slow", "Hi", max_tokens=4000, ignore_eos=True,
                                                                    stream=True))
        next(holder)
        sockets = []
        for _ in range(3):  # parallel + queue depth
            s = self.server.connect()
            s.sendall(http_request("/v1/chat/completions", request("beta"), "Connection: close\r\n"))
            sockets.append(s)
        self.wait_for(lambda: self.states()["beta"]["waiting"] == 3)
        status, _, a = self.ask("beta")
        self.assertEqual((status, a["error"]["code"]), (429, "queue_full"))
        self.wait_for(lambda: self.states()["slow"]["status"]["value"] == "unloading")
        sockets.pop().close()
        next(holder)  # still answering
        holder.close()
        for s in sockets:
            with s:
                self.assertIn(b"I am beta.", read_all(s))


class Load(unittest.TestCase):
    """Three models, room for two, and clients who want any of them: every answer is that of a server with it alone."""

    def test_answers_are_those_of_solo_runs(self):
        folder = folder_of_models()
        cases = [request(name, "long", max_tokens=n, seed=seed, temperature=1.0)
                 for name in NAMES for n, seed in ((5, 1), (40, 2), (120, 3))]
        expected = {}
        for name in NAMES:
            solo = Server(folder / name, "-c", 1024)
            for i, case in enumerate(cases):
                if case["model"] == name:
                    status, _, a = solo.call("/v1/chat/completions", {**case, "model": ""})
                    self.assertEqual(status, 200, a)
                    expected[i] = a["choices"]
            self.assertEqual(solo.stop()[0], 0)
        self.assertEqual(len({json.dumps(e) for e in expected.values()}), len(cases))

        one = next(m for m in self.sizes(folder).values() if m)
        server = Server(None, "--models-dir", folder, "-c", 1024, "--parallel", 2, "--models-max", 0,
                        "--models-memory", 2 * one + one // 2, "--max-queue-depth", 64)
        end, wrong, done, most = time.time() + (SECONDS or 3), [], [0], [0]

        def client(number):
            draw = random.Random(number)
            while time.time() < end:
                i = draw.randrange(len(cases))
                stream = draw.random() < 0.5
                try:
                    if stream:
                        events = [e for _, e in server.stream("/v1/chat/completions", {**cases[i], "stream": True})]
                        text = "".join(e["choices"][0]["delta"].get("content") or "" for e in events[:-1])
                        right = events[-1] == "[DONE]" and text == expected[i][0]["message"]["content"]
                    else:
                        status, _, a = server.call("/v1/chat/completions", cases[i])
                        right = status == 200 and a["choices"] == expected[i]
                    if not right:
                        wrong.append((i, a if not stream else text))
                except Exception as e:  # noqa: a client that cannot ask is a wrong answer
                    wrong.append((i, repr(e)))
                done[0] += 1

        def watch():
            while time.time() < end:
                now = [m for m in server.call("/models")[2]["data"] if m["bytes"]]
                most[0] = max(most[0], sum(m["bytes"] for m in now))
                time.sleep(0.05)

        threads = [threading.Thread(target=client, args=(n,)) for n in range(6)] + [threading.Thread(target=watch)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        loads = server.log().count('"model_loaded"')
        code, log = server.stop()
        print(f"{done[0]} answers, {len(wrong)} wrong, {loads} loads, at most {most[0]} bytes", file=sys.stderr)
        self.assertEqual(wrong, [])
        self.assertEqual((code, '"sound":true' in log), (0, True), log[-2000:])
        self.assertGreater(done[0], 0)
        self.assertLessEqual(most[0], 2 * one + one // 2)

    def sizes(self, folder):
        server = Server(None, "--models-dir", folder, "-c", 1024, "--parallel", 2, "--models-max", 1)
        server.call("/v1/chat/completions", request("alpha"))
        found = {m["id"]: m["bytes"] for m in server.call("/models")[2]["data"]}
        server.stop()
        return found


class NobodyStalls(unittest.TestCase):
    def test_a_stream_goes_on_while_other_models_load(self):
        folder = folder_of_models()
        for name in ("slow", "same"):
            (folder / f"{name}.gguf").symlink_to(default_model())
        server = Server(None, "--models-dir", folder, "-c", 4096, "--parallel", 2)
        stream = server.stream("/v1/chat/completions", request("slow", "Hi", max_tokens=4000, ignore_eos=True, stream=True))
        next(stream)
        for name in ("alpha", "same"):
            self.assertEqual(server.call("/v1/chat/completions", request(name, "Hi" if name == "same" else "who",
                                                                         max_tokens=2))[0], 200)
            self.assertNotEqual(next(stream)[1], "[DONE]")
        stream.close()
        log = [json.loads(line)["event"] for line in server.log().splitlines()]
        self.assertEqual([e for e in log if e.startswith("model_")], ["model_loading", "model_loaded"] * 3)
        self.assertEqual(server.stop()[0], 0)


if __name__ == "__main__":
    if SECONDS:
        for case in (Many, Sleep, Ordered, One, Queue, NobodyStalls):
            del globals()[case.__name__]
        sys.argv = sys.argv[:sys.argv.index("--seconds")]
    main()
