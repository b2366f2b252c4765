#!/usr/bin/env python3
"""run, list, rm, inspect, tokenize, detokenize and template as a person and a script use them, on the default model.

  chat_test.py BIN_FOLDER
"""
import json
import os
import pathlib
import pty
import re
import subprocess
import sys
import tempfile
import unittest

from terminal import Terminal

PROGRAM = pathlib.Path(sys.argv[1]).resolve() / "mlxcel"
FETCH = pathlib.Path(__file__).parents[2] / "tools" / "fetch_model.py"
MODEL = pathlib.Path(subprocess.run([sys.executable, FETCH], check=True, capture_output=True, text=True).stdout.strip())
NAME = "HuggingFaceTB/SmolLM2-135M-Instruct"
SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"


def mlxcel(*args, stdin="", cwd=None, **env):
    return subprocess.run([str(PROGRAM), *map(str, args)], input=stdin, capture_output=True, text=True, timeout=300,
                          cwd=cwd, env={**os.environ, **env})


class Conversation(Terminal):
    def __init__(self, *args, **env):
        self.home = tempfile.TemporaryDirectory()
        super().__init__(PROGRAM, "run", "-m", MODEL, *args,
                         env={**os.environ, "HOME": self.home.name, "MLXCEL_CACHE_DIR": self.home.name, **env})

    def wait_for(self, pattern, seconds=120):
        seen = super().wait_for(pattern, seconds)
        if seen.endswith((">>> ", "... ")):
            self.ready()
        return seen

    def ask(self, text):
        self.type(text + "\n")
        return self.wait_for(r"\n>>> ")

    def leave(self, how="/bye\n"):
        self.type(how)
        status, _ = self.end()
        self.home.cleanup()
        return status


class Chat(unittest.TestCase):
    def start(self, *args, **env):
        t = Conversation(*args, **env)
        t.wait_for(">>> ")
        return t

    def test_answers_and_remembers(self):
        t = self.start("-n", 24, "-v")
        first = t.ask("Which city is the capital of France? Answer in one word.")
        self.assertIn("Paris", first)
        kept = [int(re.search(r"(\d+) of them kept", a).group(1)) for a in
                (first, t.ask("And of Italy?"), t.ask("And of Spain?"))]
        self.assertEqual(kept[0], 0)
        self.assertGreaterEqual(kept[2], 64)  # the conversation so far is not read again
        self.assertIn("empty", t.ask("/clear"))
        self.assertEqual(t.leave(), 0)

    def test_interrupt_stops_the_answer_and_not_the_program(self):
        t = self.start("-v", "--ignore-eos", "-n", 3000)
        t.type("Tell me a long story.\n")
        t.wait_for("story.\n.{20,}")
        t.type("\x03")
        self.assertLess(int(re.search(r"answer (\d+) tokens", t.wait_for(r"\n>>> ")).group(1)), 2500)
        t.type("half a line\x03")
        t.wait_for("/bye or Ctrl-D leaves")
        t.wait_for(">>> ")
        self.assertIn("/save", t.ask("/?"))
        self.assertEqual(t.leave("\x04"), 0)

    def test_commands(self):
        t = self.start("-n", 4)
        self.assertNotIn("tok/s", t.ask("Hi"))
        t.ask("/set verbose")
        self.assertIn("tok/s", t.ask("Hi"))
        t.ask("/set parameter max_tokens 2")
        self.assertIn("answer 2 tokens", t.ask("Hi"))
        for line, part in (("/set parameter top_p 7", "top"), ("/set parameter nose 1", "temperature, top_p"),
                           ("/set parameter temperature x", "expected a number"), ("/set parameter top_k 2.5", "whole number"),
                           ("/set parameter seed -1", "from 0"), ("/sit", "/? lists"),
                           ("/load /no/such", "/no/such"), ("/set", "max_tokens 2")):
            self.assertIn(part, t.ask(line))
        self.assertEqual(t.leave(), 0)

    def test_triple_quotes_and_saving(self):
        with tempfile.TemporaryDirectory() as d:
            t = self.start("-n", 4, "--system", "Be brief.")
            t.type('"""one\n')
            t.wait_for(r"\.\.\. ")
            t.type("two\n")
            t.wait_for(r"\.\.\. ")
            t.ask('three"""')
            self.assertIn("Saved 2 messages", t.ask(f"/save {d}/chat.json"))
            saved = json.loads(pathlib.Path(d, "chat.json").read_text())
            self.assertEqual(saved["messages"][0], {"role": "user", "content": "one\ntwo\nthree"})
            self.assertEqual((saved["system"], saved["messages"][1]["role"]), ("Be brief.", "assistant"))
            t.ask("/clear")
            self.assertIn("Loaded 2 messages", t.ask(f"/load {d}/chat.json"))
            self.assertEqual(t.leave(), 0)
            pathlib.Path(d, "bad.json").write_text('{"messages": [{"role": 1}]}')
            r = mlxcel("run", "-m", MODEL, stdin=f"/load {d}/bad.json\n")
            self.assertIn("expected a conversation", r.stderr)

    def test_editing_and_history(self):
        t = self.start("-n", 1)
        t.type("/sett\x7f")  # a backspace
        self.assertIn("temperature", t.ask(""))
        t.type("\x1b[A")  # up: the line before
        self.assertIn("temperature", t.ask(""))
        t.leave()

    def test_pipe(self):
        r = mlxcel("run", "-m", MODEL, "-n", 8, stdin="Which city is the capital of France? Answer in one word.\n/set verbose\nAnd of Italy?\n")
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertIn("Paris", r.stdout)
        self.assertNotIn(">>>", r.stdout)
        self.assertNotIn("\x1b", r.stdout + r.stderr)
        self.assertEqual(r.stderr.count("tok/s"), 2)  # prefill and decode of the second answer

    def test_one_shot_equals_generate(self):
        args = ["-m", MODEL, "-p", "Name three colours.", "-n", 12]
        self.assertEqual(mlxcel("run", *args).stdout.rstrip("\n"), mlxcel("generate", *args).stdout.rstrip("\n"))

    def test_too_long(self):
        r = mlxcel("run", "-m", MODEL, "-c", 64, "-n", 4, stdin="word " * 100 + "\nHi\n")
        self.assertEqual(r.returncode, 1)
        self.assertIn("64", r.stderr)
        self.assertTrue(r.stdout.strip())  # the next question is answered


class Reasoning(unittest.TestCase):
    """The default model with a template that opens a think block: all that it writes is reasoning."""
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.model = pathlib.Path(cls.folder.name) / "thinker.gguf"
        data = MODEL.read_bytes()
        old = b"'<|im_start|>assistant\n'"
        assert data.count(old) == 1, data.count(old)
        cls.model.write_bytes(data.replace(old, b"'<think>\n'".ljust(len(old))))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_hidden_and_shown(self):
        args = ["-m", self.model, "-p", "Say hello.", "-n", 6]

        def said(r):  # without the line of figures
            return r.stdout, [line for line in r.stderr.splitlines() if not line.startswith("[prompt ")]

        for command in ("generate", "run"):
            hidden = mlxcel(command, *args)
            self.assertEqual(hidden.stdout.strip(), "", command)
            self.assertIn("[All 6 generated tokens went to the reasoning channel; --show-reasoning", hidden.stderr)
            shown = mlxcel(command, *args, "--show-reasoning")
            self.assertTrue(shown.stdout.strip())
            self.assertNotIn("channel", shown.stderr)
            for apart in ("deepseek", "auto"):
                again = mlxcel(command, *args, "--reasoning-format", apart)
                self.assertEqual(said(again), said(hidden), (command, apart))
            self.assertEqual(mlxcel(command, *args, "--reasoning-format", "none").stdout.strip(), shown.stdout.strip())

    def test_json(self):
        a = json.loads(mlxcel("generate", "-m", self.model, "-p", "Hi", "-n", 6, "--json").stdout)["answers"][0]
        self.assertEqual(a["text"], "")
        self.assertTrue(a["reasoning"])


class Text(unittest.TestCase):
    def lines(self, command, *args, stdin):
        r = mlxcel(command, *args, "--jsonl", stdin=stdin)
        self.assertEqual(r.returncode, 0, r.stderr)
        return [json.loads(line) for line in r.stdout.splitlines()]

    def test_tokenize(self):
        r = mlxcel("tokenize", "-m", MODEL, "Hello world<|im_end|>")
        self.assertEqual(r.stdout.split(), ["19556", '"Hello"', "905", '"', 'world"', "2", '"<|im_end|>"'])
        self.assertEqual(mlxcel("tokenize", "-m", MODEL, "--ids", stdin="Hello world\n").stdout, "19556 905\n")

    def test_tokenize_lines(self):
        found = self.lines("tokenize", "-m", MODEL, stdin='"Hello world"\n""\n"<|im_end|>"\n7\n{"\n"Hello world"\n')
        self.assertEqual([found[0], found[1], found[2], found[5]], [[19556, 905], [], [2], [19556, 905]])
        self.assertIn("expected a JSON string", found[3]["error"])
        self.assertIn("expected a JSON value", found[4]["error"])
        self.assertGreater(len(self.lines("tokenize", "-m", MODEL, "--no-special-parsing", stdin='"<|im_end|>"\n')[0]), 3)

    def test_detokenize(self):
        self.assertEqual(mlxcel("detokenize", "-m", MODEL, 19556, 905).stdout, "Hello world\n")
        found = self.lines("detokenize", "-m", MODEL, stdin='[19556, 905, 2]\n[]\n[99999999]\n["x"]\n3\n')
        self.assertEqual(found[:2], ["Hello world<|im_end|>", ""])
        for bad in found[2:]:
            self.assertIn("expected", bad["error"])
        self.assertEqual(self.lines("detokenize", "-m", MODEL, "--skip-special", stdin="[19556, 905, 2]\n"), ["Hello world"])

    def test_template(self):
        expected = f"<|im_start|>system\n{SYSTEM}<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
        asked = {"messages": [{"role": "user", "content": "Hi"}], "add_generation_prompt": True}
        self.assertEqual(mlxcel("template", "-m", MODEL, stdin=json.dumps(asked)).stdout,
                         expected + "<|im_start|>assistant\n")
        plain = {**asked, "add_generation_prompt": False}
        self.assertEqual(self.lines("template", "-m", MODEL, stdin=json.dumps(plain) + "\n"), [expected])

    def test_template_file(self):
        with tempfile.TemporaryDirectory() as d:
            path = pathlib.Path(d, "t.jinja")
            path.write_text("{{ bos_token }}{% for m in messages %}[{{ m.content }}{{ mood }}]{% endfor %}"
                            "{% if bad %}\n{{ raise_exception('no ' ~ bad) }}{% endif %}")
            base = {"messages": [{"role": "user", "content": "Hi"}]}
            stdin = "".join(json.dumps({**base, **more}) + "\n" for more in ({}, {"mood": "!"}, {"bad": "way"})) + "[\n"
            found = self.lines("template", "--template", path, "--bos-token", "<s>", stdin=stdin)
            self.assertEqual(found[:2], ["<s>[Hi]", "<s>[Hi!]"])
            self.assertIn("no way", found[2]["error"])
            self.assertIn("error", found[3])


class Store(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)
        for name in (NAME, "someone/copy"):
            path = self.root / "models" / name
            path.mkdir(parents=True)
            (path / "model.gguf").symlink_to(MODEL)
        self.env = {"MLXCEL_CACHE_DIR": str(self.root), "HF_ENDPOINT": "http://127.0.0.1:1"}  # a hub that nobody can reach

    def tearDown(self):
        self.folder.cleanup()

    def test_names(self):
        for args in (["-m", NAME], ["-m", "SmolLM2-135M-Instruct"], [], ["-m", "copy"]):
            r = mlxcel("tokenize", *args, "--ids", "Hello world", **self.env)
            self.assertEqual((r.stdout, r.returncode), ("19556 905\n", 0), (args, r.stderr))
        r = mlxcel("generate", "-m", "coppy", "-p", "x", **self.env)
        self.assertEqual(r.returncode, 1)
        for part in ("./models/coppy", "mlx-community/coppy", "did you mean someone/copy?", "cannot be reached"):
            self.assertIn(part, r.stderr)
        with tempfile.TemporaryDirectory() as empty:
            r = mlxcel("run", "-p", "x", **{**self.env, "MLXCEL_CACHE_DIR": empty})
            self.assertEqual(r.returncode, 1)
            self.assertIn(NAME, r.stderr)

    def test_list(self):
        found = json.loads(mlxcel("list", "--json", **self.env).stdout)
        self.assertEqual([(m["repo_id"], m["size_bytes"]) for m in found],
                         [(NAME, MODEL.stat().st_size), ("someone/copy", MODEL.stat().st_size)])
        self.assertEqual(mlxcel("ls", "-q", **self.env).stdout.split(), [NAME, "someone/copy"])
        self.assertIn("98 MB", mlxcel("list", "-v", **self.env).stdout)
        self.assertEqual(mlxcel("list", "--sort", "colour", **self.env).returncode, 2)

    def test_rm(self):
        r = mlxcel("rm", "someone/copy", **self.env)
        self.assertEqual(r.returncode, 1)
        self.assertIn("-y", r.stderr)
        self.assertEqual(mlxcel("rm", "-y", "../models", **self.env).returncode, 1)
        self.assertEqual(len(mlxcel("ls", "-q", **self.env).stdout.split()), 2)
        r = mlxcel("rm", "-y", "-q", "copy", **self.env)
        self.assertEqual((r.returncode, r.stdout, r.stderr), (0, "", ""))
        self.assertEqual(mlxcel("ls", "-q", **self.env).stdout.split(), [NAME])
        self.assertTrue(MODEL.exists())

    def test_rm_asks(self):
        for answer, status, left in ((b"n\n", 1, 2), (b"y\n", 0, 1)):
            pid, fd = pty.fork()
            if pid == 0:
                os.execve(PROGRAM, [str(PROGRAM), "rm", "copy"], {**os.environ, **self.env})
            os.read(fd, 4096)
            os.write(fd, answer)
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), status)
            os.close(fd)
            self.assertEqual(len(mlxcel("ls", "-q", **self.env).stdout.split()), left)

    def test_inspect(self):
        one = json.loads(mlxcel("inspect", "-m", MODEL, "-c", 2048, "--json", "-v").stdout)
        two = json.loads(mlxcel("inspect", "-m", MODEL, "-c", 4096, "--batch", 3, "--json").stdout)
        # 30 layers, 3 key and value heads of 64: at 2 or 4 bytes a number.
        self.assertIn(one["kv_bytes_total"], [2048 * 30 * 2 * 3 * 64 * size for size in (2, 4)])
        self.assertEqual(two["kv_bytes_total"], 6 * one["kv_bytes_total"])
        self.assertLess(abs(one["weights_bytes"] / one["file_bytes"] - 1), 0.1)
        self.assertEqual(one["total_bytes"], one["weights_bytes"] + one["kv_bytes_total"] + one["activation_bytes"])
        self.assertEqual((one["layers"], one["dim"], one["vocab"]), (30, 576, 49152))
        self.assertEqual({t["name"]: t["shape"] for t in one["tensors"]}["output_norm.weight"], [576])
        self.assertNotIn("tensors", two)
        self.assertIn("It fits", mlxcel("inspect", "-m", MODEL).stdout)

    def test_estimate(self):
        for command in ("generate", "run"):
            r = mlxcel(command, "-m", MODEL, "-p", "x", "--estimate-memory")
            self.assertEqual(r.returncode, 0, r.stderr)
            self.assertIn("weights", r.stdout)


class Help(unittest.TestCase):
    def test_every_command_has_examples(self):
        listed = re.findall(r"^  (\w+)", mlxcel("--help").stdout.split("ubcommands:")[1], re.M)
        self.assertIn("run", listed)
        for command in ("run", "list", "rm", "inspect", "tokenize", "detokenize", "template", "generate"):
            r = mlxcel(command, "--help")
            self.assertEqual(r.returncode, 0)
            self.assertIn(f"mlxcel {command}", r.stdout[r.stdout.index("Example"):], command)
            self.assertEqual(mlxcel(command, "--no-such-flag").returncode, 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=1)
