#!/usr/bin/env python3
"""`bench serve`: ladders and tables, on our server and on a server whose every answer is known.

  bench_serve_test.py BIN_FOLDER
"""
import csv
import http.server
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

from scripted_model import LIKELY, Scripted
from terminal import Terminal

BIN = pathlib.Path(sys.argv[1])
ENV = {**os.environ, "BENCH_ALLOW_STALE_BINARY": "1", "MLXCEL_HW_LABEL": "h"}
LOAD = ("--requests", "4", "--warmup", "1", "--repeats", "2", "--prompt-tokens", "6", "--output-tokens", "5")


def run(*args, status=0):
    r = subprocess.run([str(a) for a in args], capture_output=True, text=True, timeout=300, env=ENV)
    assert r.returncode == status, f"{args}: exit status {r.returncode}\n{r.stdout}\n{r.stderr}"
    return r


def objects(text):
    """The JSON objects of a text, one after the other."""
    decoder, found = json.JSONDecoder(), []
    while text := text.lstrip():
        one, end = decoder.raw_decode(text)
        found.append(one)
        text = text[end:]
    return found


class KnownServer(http.server.BaseHTTPRequestHandler):
    """Answers with three pieces of text; with the lengths of texts as their embeddings; refuses every fourth prompt of `bad`."""
    protocol_version = "HTTP/1.1"
    seen = []

    def log_message(self, *args):
        pass

    def send(self, text, kind="application/json", status=200):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def do_HEAD(self):
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.seen.append((self.path, body))
        if self.path == "/v1/embeddings":
            texts = body["input"]
            self.send(json.dumps({"data": [{"index": i, "embedding": [len(t)]} for i, t in enumerate(texts)],
                                  "usage": {"prompt_tokens": sum(len(t.split()) for t in texts)}}))
        elif self.path == "/v1/rerank":
            self.send(json.dumps({"results": [{"index": 0, "relevance_score": 1}], "usage": {"prompt_tokens": 9}}))
        elif body.get("model") == "refuses":
            self.send('{"error": {"message": "no"}}', status=500)
        else:
            pieces = [{"choices": [{"text": t}]} for t in ("a", "b", "c")]
            pieces.append({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}})
            self.send("".join(f"data: {json.dumps(p)}\n\n" for p in pieces) + "data: [DONE]\n\n", "text/event-stream")


class Known(unittest.TestCase):
    def setUp(self):
        KnownServer.seen = []
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), KnownServer)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def tearDown(self):
        self.server.shutdown()
        self.server.server_close()

    def test_ladder(self):
        records = objects(run(BIN / "mlxcel", "bench", "serve", "--url", self.url, "--concurrency", "1,2", "--rate", "0,500", *LOAD,
                              "--ttft-limit", "1000", "--json").stdout)
        loads = [(r["results"]["load"]["concurrency"], r["results"]["load"]["rate"]) for r in records]
        self.assertEqual(loads, [(1, 0), (1, 500), (2, 0), (2, 500)])
        self.assertEqual(len(KnownServer.seen), 4 * (1 + 2 * 4))
        for r in records:
            self.assertEqual(r["results"]["output_tokens"], 3)
            self.assertEqual(r["results"]["prompt_tokens"], 7)
            self.assertEqual(r["results"]["failed"], 0)
            metrics = r["metrics"]
            self.assertEqual(len(metrics["throughput_tok_s"]["samples"]), 2)
            self.assertEqual(metrics["goodput_s"]["samples"], metrics["requests_s"]["samples"])
            for tokens, requests in zip(metrics["throughput_tok_s"]["samples"], metrics["requests_s"]["samples"]):
                self.assertAlmostEqual(tokens / requests, 3, delta=1e-9)
        # No answer comes within a nanosecond: throughput, and no goodput.
        strict, = objects(run(BIN / "mlxcel", "bench", "serve", "--url", self.url, *LOAD, "--ttft-limit", "1e-9", "--json").stdout)
        self.assertNotIn("goodput_s", strict["metrics"])
        self.assertIn("requests_s", strict["metrics"])

    def test_embeddings_and_rerank(self):
        r, = objects(run(BIN / "mlxcel", "bench", "serve", "--url", self.url, "--endpoint", "embeddings", "--texts", "3", *LOAD,
                         "--json").stdout)
        self.assertEqual(r["results"]["prompt_tokens"], 3 * 6)
        self.assertEqual(r["results"]["output_tokens"], 0)
        for tokens, requests in zip(r["metrics"]["throughput_tok_s"]["samples"], r["metrics"]["requests_s"]["samples"]):
            self.assertAlmostEqual(tokens / requests, 18, delta=1e-9)
        self.assertEqual(len({body["input"][0] for _, body in KnownServer.seen}), len(KnownServer.seen))  # no prompt twice
        run(BIN / "mlxcel", "bench", "serve", "--url", self.url, "--endpoint", "rerank", *LOAD)
        self.assertEqual(set(KnownServer.seen[-1][1]), {"query", "documents"})
        # This server ranks one document, whatever it is asked.
        wrong = run(BIN / "mlxcel", "bench", "serve", "--url", self.url, "--endpoint", "rerank", "--texts", "2", *LOAD, status=1)
        self.assertIn("expected 2 results, found 1", wrong.stderr)

    def test_refusals(self):
        said = run(BIN / "mlxcel", "bench", "serve", "--url", self.url, "--model-name", "refuses", *LOAD, status=1).stderr
        self.assertIn("no request was answered: HTTP 500", said)
        self.assertIn("--output: expected -m", run(BIN / "mlxcel", "bench", "serve", "--url", self.url, "--output", "x", status=1).stderr)
        self.assertIn("expected -m MODEL", run(BIN / "mlxcel", "bench", "serve", status=1).stderr)
        self.assertIn("--prefix-tokens", run(BIN / "mlxcel", "bench", "serve", "--url", self.url, "--prompt-tokens", "4",
                                             "--prefix-tokens", "5", status=1).stderr)
        self.assertIn("no --start and no --url", run(BIN / "mlxcel", "bench", "serve", "all", "--url", self.url, status=1).stderr)

    def test_interrupt_keeps_whole_repetitions(self):
        with tempfile.TemporaryDirectory() as t:
            terminal = Terminal(str(BIN / "mlxcel"), "bench", "serve", "--url", self.url, "--requests", "2", "--warmup", "0", "--repeats",
                                "100000", "--record", t, env=ENV)
            terminal.wait_for(r"answer [1-9]\d+ of 200000, \d+:\d\d left")
            terminal.type("\x03")
            status, seen = terminal.end()
            self.assertEqual(status, 130, seen)
            written, = pathlib.Path(t).iterdir()
            record = json.loads(written.read_text())
            self.assertTrue(record["results"]["interrupted"])
            self.assertGreaterEqual(len(record["metrics"]["requests_s"]["samples"]), 4)


class All(unittest.TestCase):
    def test_a_table_from_a_folder_of_models(self):
        with tempfile.TemporaryDirectory() as t:
            models, out = pathlib.Path(t, "models"), pathlib.Path(t, "out")
            scripted = Scripted(models / "m")
            scripted.table = {byte: {ord("x"): LIKELY} for byte in range(256)}
            scripted.start("a template needs a branch")
            scripted.write()
            shutil.copytree(models / "m", models / "m-again")
            shutil.copytree(models / "m", models / "broken")
            config = json.loads((models / "broken" / "config.json").read_text())
            (models / "broken" / "config.json").write_text(json.dumps({**config, "model_type": "unheard_of"}))
            r = run(BIN / "mlxcel", "bench", "serve", "all", "--models-dir", models, "--output", out, "--concurrency", "1,2", *LOAD,
                    "--server-flags=-t 1 -c 512", "--record", t + "/evidence", status=1)
            self.assertIn("m is m-again under another name", r.stderr)
            table, = out.glob("mlxcel_h_batch_*.csv")
            with open(table, newline="", encoding="utf-8") as f:
                rows = list(csv.DictReader(f))
            self.assertEqual([(r["model"], r["concurrency"]) for r in rows],
                             [("m", ""), ("broken", ""), ("m-again", "1"), ("m-again", "2")])
            self.assertEqual(rows[0]["status"], "SKIP:duplicate_of=m-again")
            self.assertEqual(rows[1]["status"], "FAIL:bench")
            for row in rows[2:]:
                self.assertEqual(row["generated_tokens"], "5")
                self.assertGreater(float(row["throughput_tok_s"]), 0)
            note = table.with_suffix(".md").read_text()
            self.assertIn("unheard_of", note)
            self.assertNotIn(t, note)
            self.assertEqual(len(list(pathlib.Path(t, "evidence").iterdir())), 2)
            # Tables of servers compare load by load.
            text = table.read_text().replace("NOT_PUBLISHABLE", "ok")
            for day, column in (("2026-09-01", text), ("2026-09-02", text)):
                date = rows[2]["date"]
                pathlib.Path(t, f"mlxcel_h_batch_{day}.csv").write_text(column.replace(date, day))
            c = run(BIN / "mlxcel", "bench", "compare", "--before", f"{t}/mlxcel_h_batch_2026-09-01.csv", "--after",
                    f"{t}/mlxcel_h_batch_2026-09-02.csv", "--metric", "throughput_tok_s", "--allow-commit-change")
            self.assertIn("2 pairs, median ratio 1.000", c.stdout)
            self.assertIn("m-again at 2", c.stdout)
            again = run(BIN / "mlxcel", "bench", "serve", "all", "--models-dir", models, "--output", out, status=1)
            self.assertIn("--replace", again.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)
