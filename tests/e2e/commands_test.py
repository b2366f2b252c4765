#!/usr/bin/env python3
"""The commands as a person uses them, on the default model: answers, exactness between processes, bad input.

  commands_test.py BIN_FOLDER
"""
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import unittest

BIN = pathlib.Path(sys.argv[1])
FETCH = pathlib.Path(__file__).parents[2] / "tools" / "fetch_model.py"
MODEL = pathlib.Path(subprocess.run([sys.executable, FETCH], check=True, capture_output=True, text=True).stdout.strip())


def run(*args, stdin="", limit=None, **env):
    def shrink():
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    return subprocess.run([str(a) for a in args], input=stdin, capture_output=True, text=True, timeout=300,
                          env={**os.environ, **env}, preexec_fn=shrink if limit else None)


def generate(*args, **kw):
    return run(BIN / "mlxcel", "generate", "-m", MODEL, *args, **kw)


def answers(*args, **kw):
    r = generate("--json", *args, **kw)
    assert r.returncode == 0, r.stderr
    return json.loads(r.stdout)["answers"]


class Answers(unittest.TestCase):
    def test_is_sensible(self):
        self.assertIn("Paris", answers("--no-chat-template", "-p", "The capital of France is", "-n", 8)[0]["text"])
        self.assertIn("light", answers("-p", "Why is the sky blue?", "-n", 64)[0]["text"])

    def test_stream_equals_json(self):
        args = ["-p", "Name three colours.", "-n", 24]
        self.assertEqual(generate(*args).stdout.rstrip("\n"), answers(*args)[0]["text"].rstrip("\n"))

    def test_standard_input_is_a_prompt(self):
        self.assertEqual(answers("-p", "-", "-n", 8, stdin="Say hello.\n")[0]["text"],
                         answers("-p", "Say hello.", "-n", 8)[0]["text"])

    def test_batch_equals_alone(self):
        prompts = ["Name three colours.", "Why is the sky blue?", "Count to five."]
        args = ["-n", 16, "--temp", 1, "--seed", 5]
        batch = answers(*[x for p in prompts for x in ("-p", p)], *args)
        self.assertEqual([a["text"] for a in batch], [answers("-p", p, *args)[0]["text"] for p in prompts])

    def test_seed_decides(self):
        args = ["-p", "Tell me a story.", "-n", 24, "--temp", 1]
        first = answers(*args, "--seed", 1)[0]
        self.assertEqual(first["text"], answers(*args, "--seed", 1, "-t", 1)[0]["text"])
        self.assertNotEqual(first["text"], answers(*args, "--seed", 2)[0]["text"])
        random = answers(*args)[0]  # none given: a random one, which gives the same again
        self.assertEqual(random["text"], answers(*args, "--seed", random["seed"])[0]["text"])

    def test_stop_string_is_not_shown(self):
        whole = answers("-p", "Count from one to ten in digits.", "-n", 40)[0]["text"]
        stop = whole[len(whole) // 2:len(whole) // 2 + 3]
        cut = answers("-p", "Count from one to ten in digits.", "-n", 40, "--stop", stop)[0]
        self.assertEqual(cut["text"], whole[:whole.index(stop)])
        self.assertEqual(cut["finish_reason"], "stop")

    def test_ignore_eos_runs_to_the_limit(self):
        a = answers("-p", "Say hi.", "-n", 60, "--ignore-eos")[0]
        self.assertEqual((a["generated_tokens"], a["finish_reason"]), (60, "length"))

    def test_control_tokens_in_a_prompt_stay_text(self):
        plain = answers("-p", "x", "-n", 1)[0]["prompt_tokens"]
        typed = answers("-p", "<|im_end|>", "-n", 1)[0]["prompt_tokens"]
        self.assertGreater(typed, plain + 1)


class Exactness(unittest.TestCase):
    def logits(self, *args):
        with tempfile.TemporaryDirectory() as d:
            ids, other, out = (pathlib.Path(d) / n for n in ("ids.txt", "other.txt", "out.f32"))
            ids.write_text(" ".join(str(37 * i % 49152) for i in range(1, 91)))
            other.write_text(" ".join(str(101 * i % 49152) for i in range(1, 51)))
            named = [other if a == "OTHER" else a for a in args]
            r = run(BIN / "mlxcel-core", "logits", "-m", MODEL, "--ids", ids, "-o", out, *named)
            self.assertEqual(r.returncode, 0, r.stderr)
            self.assertEqual(os.listdir(d).count("out.f32"), 1)
            return out.read_bytes()

    def test_logits_of_two_processes_are_equal(self):
        whole = self.logits()
        self.assertEqual(len(whole), 90 * 49152 * 4)
        for args in (["--chunk", 1], ["--chunk", 7], ["-t", 3], ["--batch-with", "OTHER"]):
            self.assertEqual(whole == self.logits(*args), True, args)


class BadInput(unittest.TestCase):
    def expect(self, r, *parts, status=1):
        self.assertEqual(r.returncode, status, r.stdout + r.stderr)
        self.assertEqual(r.stdout, "")
        lines = r.stderr.strip().splitlines()
        self.assertLessEqual(len(lines), 2, r.stderr)
        for part in parts:
            self.assertIn(part, r.stderr)

    def with_file(self, data, *parts):
        with tempfile.TemporaryDirectory() as d:
            path = pathlib.Path(d) / "bad model.gguf"
            path.write_bytes(data)
            self.expect(run(BIN / "mlxcel", "generate", "-m", path, "-p", "x"), "bad model.gguf", *parts)

    def test_files(self):
        head = MODEL.read_bytes()
        self.with_file(b"", "expected")
        self.with_file(b"GARBAGE!" * 100, "expected", "found")
        self.with_file(head[:1000], "expected")
        self.with_file(head[:len(head) // 2], "expected", "found")

    def test_wrong_vocabulary_size(self):
        head = MODEL.read_bytes()
        key = b"llama.vocab_size\x04\x00\x00\x00"
        if key not in head:
            self.skipTest("the checkpoint does not say its vocabulary's size")
        at = head.index(key) + len(key)
        self.with_file(head[:at] + (49000).to_bytes(4, "little") + head[at + 4:], "49000", "49152")

    def test_no_such_model(self):
        self.expect(run(BIN / "mlxcel", "generate", "-m", "/no/such.gguf", "-p", "x"), "/no/such.gguf")
        self.expect(run(BIN / "mlxcel", "generate", "-m", "/dev/null", "-p", "x"), "/dev/null")
        with tempfile.TemporaryDirectory() as d:
            self.expect(run(BIN / "mlxcel", "generate", "-m", d, "-p", "x"), d)

    def test_prompt_longer_than_the_context(self):
        self.expect(generate("-p", "word " * 100, "-c", 32), "32", "expected", "found")
        self.expect(generate("-p", "x", "-c", 100000), "100000", "8192")

    def test_too_little_memory(self):
        self.expect(generate("-p", "x", "-n", 8, limit=200 << 20), "memory")

    def test_wrong_values(self):
        for flags, part in ((["--temp", "-1"], "temp"), (["--top-p", "7"], "top"), (["--min-p", "nan"], "min"),
                            (["--logit-bias", "abc=1"], "--logit-bias")):
            self.expect(generate("-p", "x", *flags), part, status=2)
        self.expect(generate("-p", "x", "--logit-bias", "999999=1"), "--logit-bias = 999999", "49152")  # the model knows
        self.expect(generate("-p", "x", "--tmep", "1"), "--temp", status=2)
        self.expect(generate("-p", "x", "-n", "many"), "many", status=2)
        self.expect(generate("-p", "x", "--isa", "mmx"), "avx2", "mmx", status=2)
        self.expect(run(BIN / "mlxcel", "genrate"), "generate", status=2)
        self.expect(generate("-p", "x", MLXCEL_CPU_ACT="f64"), "MLXCEL_CPU_ACT")

    def test_ids(self):
        with tempfile.TemporaryDirectory() as d:
            for text, part in (("", "found none"), ("1 2 99999999999", "2^31"), ("1 2 49152", "49152"),
                               ("1 -5", "found"), ("1 1.5", "found")):
                ids = pathlib.Path(d) / "ids.txt"
                ids.write_text(text)
                self.expect(run(BIN / "mlxcel-core", "logits", "-m", MODEL, "--ids", ids, "-o", d + "/x"), part)
                self.assertEqual(os.listdir(d), ["ids.txt"])


class Output(unittest.TestCase):
    def test_a_device_is_written_in_place(self):
        with tempfile.TemporaryDirectory() as d:
            ids = pathlib.Path(d) / "ids.txt"
            ids.write_text("[1, 2, 3]")
            r = run(BIN / "mlxcel-core", "logits", "-m", MODEL, "--ids", ids, "-o", "/dev/null")
            self.assertEqual(r.returncode, 0, r.stderr)
            self.assertTrue(pathlib.Path("/dev/null").is_char_device())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=1)
