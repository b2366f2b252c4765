"""What the tests of the server share: the program on a free port, and plain HTTP."""
import functools
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time
import unittest
import urllib.error
import urllib.request

BIN = pathlib.Path(sys.argv[1])
ROOT = pathlib.Path(__file__).parents[2]


def default_model():
    fetch = [sys.executable, ROOT / "tools" / "fetch_model.py"]
    return pathlib.Path(subprocess.run(fetch, check=True, capture_output=True, text=True).stdout.strip())


class Server:
    """A server on a free port, until `stop`; without `model`, the flags say what it serves. Its log is kept whole."""

    def __init__(self, model, *flags, program=("mlxcel", "serve")):
        # Read by a file: a full pipe would stop the server.
        self.log_path = pathlib.Path(f"/tmp/mlxcel-server-test-{os.getpid()}-{time.monotonic_ns()}.log")
        with open(self.log_path, "w") as log:
            self.process = subprocess.Popen(
                [BIN / program[0], *program[1:], *(["-m", str(model)] if model else []), "--port", "0", "--log-json",
                 *map(str, flags)],
                stderr=log)
        end = time.time() + 300
        while not (line := self.log_line('"listening"')):
            if self.process.poll() is not None or time.time() > end:
                raise RuntimeError(self.log())
            time.sleep(0.02)
        self.url = json.loads(line)["address"]
        self.port = int(self.url.rsplit(":", 1)[1]) if self.url.startswith("http") else 0

    def log(self):
        return self.log_path.read_text()

    def log_line(self, part):
        return next((line for line in self.log().splitlines() if part in line), None)

    def stop(self, kind=signal.SIGTERM):
        self.process.send_signal(kind)
        code = self.process.wait(timeout=120)
        log = self.log()
        self.log_path.unlink()
        return code, log

    def call(self, path, body=None, headers=None, method=None, raw=None):
        """(status, headers, parsed JSON or text)."""
        data = raw if raw is not None else None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, headers=headers or {}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=600) as r:
                status, head, text = r.status, r.headers, r.read()
        except urllib.error.HTTPError as e:
            status, head, text = e.code, e.headers, e.read()
        try:
            return status, head, json.loads(text)
        except ValueError:
            return status, head, text.decode()

    def chat(self, text, **more):
        return self.call("/v1/chat/completions", {"messages": [{"role": "user", "content": text}], **more})

    def stream(self, path, body, headers=None):
        """Yields the events of a stream as (id, data), parsed unless [DONE]; its client leaves when told to close."""
        request = urllib.request.Request(self.url + path, headers=headers or {},
                                         data=None if body is None else json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=600) as r:
            number = None
            for line in r:
                name, _, value = line.decode().rstrip("\n").partition(": ")
                if name == "id":
                    number = int(value)
                elif name == "data":
                    yield number, value if value == "[DONE]" else json.loads(value)

    def openai(self, key="none", **more):
        import openai  # of tests/e2e/requirements.txt, which not every user of this file has
        return openai.OpenAI(base_url=self.url + "/v1", api_key=key, max_retries=0, **more)

    def routes(self, headers=None, endless=False):
        """(METHOD, path) of all that /openapi.json lists; those whose answer has no end only if asked for."""
        paths = self.call("/openapi.json", headers=headers)[2]["paths"]
        return [(method.upper(), path) for path, methods in paths.items() for method, r in methods.items()
                if endless or "text/event-stream" not in r["responses"]["200"].get("content", {})]

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=60)

    def stats(self):
        return {line.split()[0]: float(line.split()[1]) for line in self.call("/metrics")[2].splitlines()
                if line and not line.startswith("#")}

    def until(self, what, seconds=60):
        end = time.time() + seconds
        while time.time() < end:
            if what(self.stats()):
                return True
            time.sleep(0.05)
        return False


def http_request(path, body, head=""):
    data = json.dumps(body).encode() if not isinstance(body, bytes) else body
    return f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(data)}\r\n{head}\r\n".encode() + data


def read_all(s):
    data = b""
    try:
        while piece := s.recv(65536):
            data += piece
    except (ConnectionResetError, TimeoutError):
        pass
    return data


class WithServer(unittest.TestCase):
    """One server for all tests of a class; at the end it must stop soundly."""
    flags = ()

    @classmethod
    def model(cls):
        return default_model()

    @classmethod
    def setUpClass(cls):
        cls.server = Server(cls.model(), *cls.flags)

    @functools.cached_property
    def api(self):
        return self.server.openai()

    @classmethod
    def tearDownClass(cls):
        code, log = cls.server.stop()
        assert code == 0 and '"sound":true' in log, log[-2000:]


def main():
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)
