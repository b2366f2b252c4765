#!/usr/bin/env python3
"""Every route that /openapi.json lists, whatever it is, under bad input: no 5xx but those that say so, and no crash.

  server_bad_input_test.py BIN_FOLDER
"""
import concurrent.futures
import gzip
import json
import pathlib
import random
import re
import tempfile
import unittest

from scripted_model import Scripted
from server_harness import ROOT, Server, http_request, main, read_all

KEY = {"Authorization": "Bearer right"}
BODIES = [b"", b"{", b"[]", b"null", b"7", b'"x"', b"\x00", b"\xff\xfe", b'{"a":' * 3000 + b"1" + b"}" * 3000, b"[" * 3000,
          b'{"model": 7}', b'{"messages": {}}', b'{"prompt": {}, "input": {}, "messages": 7, "content": [], "tokens": "x"}',
          b'{"model": "\\ud800"}', b'{"filename": "../../x", "conversation_ids": {}}', b"{}" + b" " * 20000]
NAMES = ["..", "../../etc/passwd", "%2e%2e%2fetc%2fpasswd", "a" * 3000, "%00", "%ff", "x y".replace(" ", "%20"), "-1", "0"]


def small_model():
    s = Scripted(tempfile.mkdtemp())
    s.script("hi", ["hel", "lo"])
    return s.write()


class EveryRoute(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.slots = tempfile.mkdtemp()
        cls.server = Server(small_model(), "--api-key", "right", "-c", 512, "--parallel", 2, "--max-body", 1,
                            "--slot-save-path", cls.slots)
        cls.routes = cls.server.routes(KEY)
        assert len(cls.routes) > 15, cls.routes

    @classmethod
    def tearDownClass(cls):
        code, log = cls.server.stop()
        assert code == 0 and '"sound":true' in log, log[-2000:]

    def tearDown(self):  # the next request works
        status, _, a = self.server.call("/v1/chat/completions", {"messages": [{"role": "user", "content": "hi"}],
                                                                 "temperature": 0}, headers=KEY)
        self.assertEqual((status, a["choices"][0]["message"]["content"]), (200, "hello"))

    def refused(self, status, answer, *where):
        """Whatever it says, it is a client's error in the form of errors; or the request was fine."""
        self.assertIn(status // 100, (2, 3, 4), (where, answer))
        if status >= 400:
            self.assertIsInstance(answer, dict, where)
            self.assertTrue("error" in answer, (where, answer))
            self.assertNotIn(str(ROOT), json.dumps(answer))

    def test_without_a_key(self):
        for method, path in self.server.routes(KEY, endless=True):
            path = re.sub(r"{\w+}", "x", path)
            for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "right"}, {"X-Api-Key": "wrong"}):
                status, _, a = self.server.call(path, headers=headers, method=method, raw=b"{}" if method != "GET" else None)
                open_to_all = path in ("/", "/health", "/v1/health") or path.startswith("/web/")
                self.assertEqual(status == 401, not open_to_all, (method, path, status))

    def test_bad_bodies(self):
        for method, path in self.routes:
            if method in ("POST", "PATCH", "PUT"):
                for raw in BODIES:
                    status, _, a = self.server.call(re.sub(r"{\w+}", "0", path), headers=KEY, method=method, raw=raw)
                    self.refused(status, a, method, path, raw[:60])

    def test_too_large(self):
        for method, path in self.routes:
            if method in ("POST", "PATCH", "PUT"):
                path = re.sub(r"{\w+}", "0", path)
                with self.server.connect() as s:
                    s.sendall(f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer right\r\n"
                              "Content-Length: 2000000\r\n\r\n".encode() + b"x" * 1000)
                    self.assertTrue(s.recv(100).startswith(b"HTTP/1.1 413"), path)

    def test_names_in_paths_and_queries(self):
        for method, path in self.routes:
            for name in NAMES:
                if "{" in path:
                    status, _, a = self.server.call(re.sub(r"{\w+}", name, path), headers=KEY, method=method,
                                                    raw=b"{}" if method != "GET" else None)
                    self.refused(status, a, method, path, name)
                for query in (f"?model={name}", f"?conv_id={name}&from={name}", f"?action={name}", "?" + "&" * 50 + "=%"):
                    status, _, a = self.server.call(re.sub(r"{\w+}", "0", path) + query, headers=KEY, method=method,
                                                    raw=b"{}" if method != "GET" else None)
                    self.refused(status, a, method, path, query)
        self.assertEqual(list(pathlib.Path(self.slots).iterdir()), [])

    def test_other_methods(self):
        known = {}
        for method, path in self.routes:
            known.setdefault(path, []).append(method)
        for path, methods in known.items():
            plain = re.sub(r"{\w+}", "x", path)
            for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "BREW"):
                if method not in methods and not (path == "/v1/models/{model}" and method == "GET"):
                    status, headers, _ = self.server.call(plain, headers=KEY, method=method)
                    self.assertIn(status, (404, 405, 400), (method, plain))
                    if status == 405:
                        self.assertTrue(set(methods) <= set(headers["Allow"].split(", ")), (plain, headers["Allow"]))

    def test_all_at_once(self):
        draw = random.Random(1)

        def one(_):
            method, path = draw.choice(self.routes)
            raw = draw.choice(BODIES) if method != "GET" else None
            path = re.sub(r"{\w+}", draw.choice(["0", "x"]), path)
            if draw.random() < 0.2:  # a client who leaves
                with self.server.connect() as s:
                    s.sendall(http_request(path, raw or b"{}", "Authorization: Bearer right\r\n"))
                return
            if path == "/v1/stream":
                return
            status, _, a = self.server.call(path, headers=KEY, method=method, raw=raw)
            self.assertTrue(status < 500 or status in (501, 503), (method, path, status, a))

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(one, range(400)))


class Files(unittest.TestCase):
    """The page's files under many clients at once: kept by their hash, small on the wire, the same for everyone."""

    def test_cached_and_compressed_under_load(self):
        server = Server(small_model(), "-c", 512, "--threads-http", 2)
        files = {p.name: p.read_bytes() for p in (ROOT / "src/server/web").iterdir()}
        first = {}
        for name, content in files.items():
            status, headers, _ = server.call(f"/web/{name}", method="HEAD", headers={"Accept-Encoding": "gzip"})
            self.assertEqual((status, headers["Content-Encoding"]), (200, "gzip"), name)
            self.assertLess(int(headers["Content-Length"]), max(len(content), 200), name)
            first[name] = headers["ETag"]

        def client(number):
            draw, sent = random.Random(number), 0
            for _ in range(5):
                asked = [(draw.choice(sorted(files)), draw.choice(("plain", "gzip", "known"))) for _ in range(20)]
                with server.connect() as s:  # pipelined on one connection
                    for i, (name, how) in enumerate(asked):
                        more = {"plain": "", "gzip": "Accept-Encoding: gzip\r\n",
                                "known": f"If-None-Match: {first[name]}\r\n"}[how]
                        end = "Connection: close\r\n" if i == len(asked) - 1 else ""
                        s.sendall(f"GET /web/{name} HTTP/1.1\r\nHost: x\r\n{more}{end}\r\n".encode())
                    data = read_all(s)
                for name, how in asked:
                    head, _, data = data.partition(b"\r\n\r\n")
                    length = int((re.search(rb"Content-Length: (\d+)", head) or [0, 0])[1])
                    body, data = data[:length], data[length:]
                    self.assertIn(first[name].encode(), head)
                    if how == "known":
                        self.assertTrue(head.startswith(b"HTTP/1.1 304"), head)
                    else:
                        self.assertEqual(gzip.decompress(body) if how == "gzip" else body, files[name])
                    sent += 1
            return sent

        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            self.assertEqual(sum(pool.map(client, range(32))), 32 * 100)
        self.assertEqual(server.stop()[0], 0)


if __name__ == "__main__":
    main()
