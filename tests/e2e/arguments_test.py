#!/usr/bin/env python3
"""Command lines: wrong ones are answered before anything is loaded; help, completions, manual page and docs agree.

  arguments_test.py BIN_FOLDER
"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from terminal import Terminal

BIN = pathlib.Path(sys.argv[1]).resolve()
ROOT = pathlib.Path(__file__).parents[2]
FETCH = ROOT / "tools" / "fetch_model.py"
MODEL = subprocess.run([sys.executable, FETCH], check=True, capture_output=True, text=True).stdout.strip()
NOWHERE = "/no/such/model.gguf"


def mlxcel(*args, stdin="", **kw):
    return subprocess.run([str(BIN / "mlxcel"), *args], input=stdin, capture_output=True, timeout=300,
                          text=kw.pop("text", True), **kw)


class Wrong(unittest.TestCase):
    """Each names the option, the value and what was expected; the model is not even looked for."""

    def expect(self, args, *parts, status=2):
        r = mlxcel(*args)
        self.assertEqual((r.returncode, r.stdout), (status, ""), r.stderr)
        self.assertLessEqual(len(r.stderr.splitlines()), 2, r.stderr)
        for part in parts:
            self.assertIn(part, r.stderr)
        self.assertNotIn("no such file", r.stderr)

    def generate(self, *args, parts=(), status=2):
        self.expect(["generate", "-m", NOWHERE, "-p", "x", *args], *parts, status=status)

    def test_whole_numbers(self):
        for value in ("-1", "18446744073709551616", "1.5", "x", "", " 1", "0x10", "1e3"):
            self.generate("--seed", value, parts=["--seed", "expected a whole number from 0 to 18446744073709551615",
                                                  f'"{value}"'])
        for value in ("9223372036854775808", "1e30", "ten"):
            self.generate("-n", value, parts=["--max-tokens", "expected a whole number", value])
        self.generate("-n", "-7", parts=["--max-tokens = -7", "expected at least -1", "use -1"])
        self.generate("-t", "0", parts=["--threads = 0", "expected from 1 to 1024; use 1"])
        self.generate("-t", "1025", parts=["--threads = 1025", "expected from 1 to 1024; use 1024"])
        self.generate("-t", "99999999999", parts=["--threads", "99999999999", "1024"])
        self.generate("-c", "1", parts=["--ctx-size = 1", "expected from 2"])
        self.generate("--top-k", "99999999999", parts=["--top-k", "99999999999"])

    def test_numbers(self):
        for value, part in (("-1", "from 0 to 1000"), ("nan", "from 0 to 1000"), ("inf", "from 0 to 1000")):
            self.generate("--temp", value, parts=["--temp = ", part, "use 0"])
        for value in ("warm", "1e999", "1,5", "0.5x", ""):
            self.generate("--temp", value, parts=["--temp", "expected a number", value])
        self.generate("--top-p", "1.01", parts=["--top-p = 1.01", "from 0 to 1", "use 1"])
        self.generate("--repeat-penalty", "0", parts=["--repetition-penalty = 0", "use 1 for none"])
        for value in ("5", "5=", "=1", "x=1", "5=x", "-1=1", "5=1x"):
            self.generate("--logit-bias", value, parts=[f"--logit-bias = {value}", "TOKEN=VALUE"])
        for value in ("5=101", "5=nan", "5=-inf"):
            self.generate("--logit-bias", value, parts=[f"--logit-bias = {value}", "-100 to 100"])

    def test_choices(self):
        self.generate("--isa", "sse2", parts=["--isa", "expected", "sse2"])
        for device in ("gpu", "cuda:", "cuda:x", "cuda:-1"):
            self.generate("--device", device, parts=["--device", "auto, cpu, cuda or cuda:N", device])
        self.generate("--reasoning-format", "some", parts=["--reasoning-format = some", "none, deepseek, auto"])
        self.expect(["list", "--sort", "colour"], "--sort = colour", "name, size, modified")

    def test_texts(self):
        def bad(*args):
            r = mlxcel(*args, text=False, stdin=b"")
            self.assertEqual(r.returncode, 2)
            return r.stderr.decode()
        for args in ([b"-p", b"caf\xe9"], [b"-p", b"x", b"--system", b"caf\xe9"], [b"-p", b"x", b"--stop", b"caf\xe9"]):
            for command in (b"generate", b"run"):
                said = bad(command, b"-m", NOWHERE.encode(), *args)
                self.assertIn(f"{args[-2].decode().replace('-p', '--prompt')}: byte 3: expected UTF-8, found E9", said)
                self.assertIn("iconv", said)
        self.generate("--stop", "", parts=["--stop"])
        self.generate("--stop=", parts=["--stop"])
        self.expect(["generate", "-m", NOWHERE, "-p", "-", "-p", "-"], "--prompt", "once", status=1)

    def test_unknown(self):
        for word, meant in (("--tmep", "--temp"), ("--max-token", "--max-tokens"), ("--ctx_size", "--ctx-size"),
                            ("--n-predict", "-n"), ("--hf-repo", "-m")):
            self.generate(word, "1", parts=[f"{word}: no such option", meant])
        self.generate("--zzzzzzzz", parts=["--zzzzzzzz: no such option"])
        self.expect(["lsit"], "lsit: no such command", "did you mean list?")
        for words in (["help", "lsit"], ["lsit", "--help"], ["lsit", "--version"], ["help", "bench", "decoed"],
                      ["bench", "decoed", "--help"], ["help", "list", "x"]):
            self.expect(words, [w for w in words if w in ("lsit", "decoed", "x")][0] + ": ")
        for word, meant in (("pull", "download"), ("chat", "run"), ("delete", "rm"), ("version", "--version"), ("-V", "--version")):
            self.expect([word], f"{word}: ", f"here it is {meant}")
        self.expect(["generate", "-m", NOWHERE, "hello there"], "hello there", "-p")
        self.expect(["generate", "-m", NOWHERE], "--prompt", "required")
        self.expect(["generate", "-m"], "--model", "expected a value")
        self.expect(["run", "a", "-m", "b"], "--model")

    def test_empty(self):
        """What a script writes with a variable that it did not set."""
        for args in (["generate", "-p", "x", "-m", ""], ["run", "-p", "x", ""], ["inspect", "--model="], ["tokenize", "x", "-m", ""],
                     ["download", "o/n", "--revision", ""], ["download", "o/n", "--local-dir", ""],
                     ["download", "o/n", "--file="], ["serve", "--host", ""], ["verify", "-m", ""]):
            self.expect(args, ' = "": expected a text; leave the option out')
        self.expect(["list", "--sort="], '--sort = "": expected one of name')
        self.expect([""], '"": no such command')
        self.expect(["list", ""], '"": not expected here')
        for value in ("-1", "99999999999", "x"):
            self.expect(["detokenize", "-m", NOWHERE, value], f"ids = {value}: expected from 0 to 2147483647; use ")

    def test_files(self):
        """What an argument names is looked for first of all."""
        with tempfile.TemporaryDirectory() as d:
            for args in (["serve", "--chat-template-file"], ["serve", "--api-key-file"], ["serve", "--ssl-cert-file"],
                         ["template", "--template"], ["synth", "-o", f"{d}/x", "--config"],
                         ["logits", "-m", NOWHERE, "-o", f"{d}/x", "--ids"]):
                for path, part in ((f"{d}/gone", "No such file"), (d, "Is a directory")):
                    self.expect([*args, path], f"{args[-1]} = {path}: expected a file that can be read: {part}")
            self.expect(["perplexity", "-m", NOWHERE, d], f"file = {d}", "Is a directory")
            self.expect(["serve", "--ssl-key-file", __file__], "--ssl-key-file", "--ssl-cert-file")
            empty = pathlib.Path(d) / "keys"
            empty.write_text("\n")
            self.expect(["serve", "-m", NOWHERE, "--api-key-file", str(empty)], "keys: expected keys", status=1)

    def test_bytes(self):
        for value in ("-5", "x", "", "5Q", "1.5G", "99999999999999999999", "9999999T"):
            self.expect(["serve", "-m", NOWHERE, "--kv-cache-budget", value], '--kv-cache-budget = ' + (value or '""') + ':', "for example 512M")

    def test_output(self):
        with tempfile.TemporaryDirectory() as d:
            ids = pathlib.Path(d) / "ids.txt"
            ids.write_text("1 2 3")
            for output, part in ((f"{d}/no/x.f32", "No such file or directory"), (d, "Is a directory")):
                r = mlxcel("logits", "-m", NOWHERE, "--ids", str(ids), "-o", output)
                self.assertEqual(r.returncode, 1)
                self.assertIn(f"--output = {output}: cannot be written: {part}", r.stderr)

    def test_no_model(self):
        with tempfile.TemporaryDirectory() as d:
            for name, parts in ((NOWHERE, [NOWHERE, "no such file"]), (d, [d, "empty directory"]),
                                (f"{d}/x.gguf", ["x.gguf", "no such file"])):
                r = mlxcel("generate", "-m", name, "-p", "x")
                self.assertEqual(r.returncode, 1)
                for part in parts:
                    self.assertIn(part, r.stderr)


class EveryOption(unittest.TestCase):
    """All numbers and all choices of all commands, as their help lists them."""

    @classmethod
    def setUpClass(cls):
        cls.numbers, cls.choices = [], []
        commands = [[c] for c in Help.words("--help")]
        for command in commands:
            commands += [[*command, c] for c in Help.words(*command, "--help")]
            for names, value in re.findall(r"^  (-[^ ]+) ([^\s=]+)", mlxcel(*command, "--help").stdout, re.M):
                option = [n for n in names.split(",") if n.startswith("--")][0]
                if re.fullmatch(r"N|-?[\d.e-]+\.\.[\d.e+]+", value):
                    cls.numbers.append((command, option))
                elif "|" in value:
                    cls.choices.append((command, option, value.split("|")))

    def refused(self, command, option, value, part):
        r = mlxcel(*command, option, value)
        where = (command, option, value, r.stderr)
        self.assertEqual((r.returncode, r.stdout), (2, ""), where)
        first = r.stderr.splitlines()[0]
        self.assertRegex(first, rf"^mlxcel: {option}( = |: )", where)
        self.assertIn(value, first, where)
        self.assertRegex(first, part, where)

    def test_numbers(self):
        self.assertIn((["serve"], "--sse-ping-interval"), self.numbers)
        self.assertIn((["bench", "decode"], "--reps"), self.numbers)
        self.assertGreater(len(self.numbers), 100)
        for command, option in self.numbers:
            # None has minus five or so many in its domain.
            for value in ("-5", "99999999999999999999"):
                self.refused(command, option, value, r"expected .+; (use|for example) ")

    def test_choices(self):
        self.assertIn((["list"], "--sort", ["name", "size", "modified"]), self.choices)
        self.assertIn((["convert"], "--bits", ["2", "3", "4", "5", "6", "8"]), self.choices)
        for command, option, words in self.choices:
            for value in ("-5", words[0] + "x"):
                self.refused(command, option, value, rf"expected one of {', '.join(words)}; for example ")


class Right(unittest.TestCase):
    def test_negative_values_after_a_blank(self):
        r = mlxcel("generate", "-m", MODEL, "-p", "Hi", "-n", "4", "--presence-penalty", "-0.5", "--repeat-last-n", "-1",
                   "--logit-bias", "5=-3", "--json")
        self.assertEqual(r.returncode, 0, r.stderr)

    def test_values_that_look_like_options(self):
        r = mlxcel("generate", "-m", MODEL, "-p", "--help me", "-n", "2", "--json")
        self.assertEqual(json.loads(r.stdout)["answers"][0]["prompt"], "--help me")
        r = mlxcel("generate", "-m", MODEL, "--system=", "-p", "Hi", "-n", "2", "--json")
        self.assertEqual(json.loads(r.stdout)["answers"][0]["prompt"], "Hi")

    def test_largest_numbers(self):
        r = mlxcel("generate", "-m", MODEL, "-p", "Hi", "-n", "9223372036854775807", "--stop", "e", "-c", "256",
                   "--seed", "18446744073709551615", "--json")
        self.assertEqual(json.loads(r.stdout)["answers"][0]["seed"], 2 ** 64 - 1)

    def test_model_paths(self):
        """A name with blanks and letters of other scripts; a link into a folder of blobs, as Hugging Face's cache has it."""
        with tempfile.TemporaryDirectory() as d:
            odd = pathlib.Path(d) / "m \u017d\u65e5\u672c\u3000x"
            odd.mkdir()
            shutil.copy(MODEL, odd / "a b.gguf")
            blob, link = pathlib.Path(d) / "blobs/0123", pathlib.Path(d) / "snap/model.gguf"
            for p in (blob, link):
                p.parent.mkdir()
            blob.symlink_to(MODEL)
            link.symlink_to("../blobs/0123")
            for path in (odd, odd / "a b.gguf", link.parent, link, f"{link.parent}/../snap"):
                r = mlxcel("tokenize", "-m", str(path), "--ids", "Hello world")
                self.assertEqual(r.stdout, "19556 905\n", r.stderr)
            (link.parent / "model.gguf").unlink()
            (link.parent / "model.gguf").symlink_to("../blobs/gone")
            r = mlxcel("tokenize", "-m", str(link.parent), "x")
            self.assertEqual(r.returncode, 1)
            self.assertIn("model.gguf", r.stderr)


class Ending(unittest.TestCase):
    def end(self, p):
        """The exit status of what would otherwise work for minutes. It may have used some seconds of a processor."""
        _, status, usage = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
        self.assertLess(usage.ru_utime + usage.ru_stime, 60)
        return p.returncode


class Streams(Ending):
    def test_full_disk(self):
        for args in (["--help"], ["--version"], ["arch"], ["generate", "-m", MODEL, "-p", "Hi", "-n", "4"],
                     ["tokenize", "-m", MODEL, "x"]):
            with open("/dev/full", "w") as full:
                r = subprocess.run([str(BIN / "mlxcel"), *args], stdout=full, stderr=subprocess.PIPE, text=True)
            self.assertEqual(r.returncode, 1, args)
            self.assertIn("standard output: cannot be written", r.stderr)

    def test_closed_pipe(self):
        p = subprocess.Popen([str(BIN / "mlxcel"), "generate", "-m", MODEL, "-p", "Tell me a story.", "-n", "8000",
                              "--ignore-eos", "-c", "8192"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        p.stdout.read(10)
        p.stdout.close()
        self.assertEqual(self.end(p), 1)
        self.assertIn(b"standard output: cannot be written", p.stderr.read())
        p.stderr.close()

    def test_closed_streams(self):
        r = subprocess.run(["/bin/sh", "-c", f'"{BIN}/mlxcel" arch >&-'], capture_output=True, text=True)
        self.assertEqual(r.returncode, 1)
        self.assertIn("standard output", r.stderr)
        r = subprocess.run(["/bin/sh", "-c", f'"{BIN}/mlxcel" generate -m "{MODEL}" -p - <&-'], capture_output=True, text=True)
        self.assertEqual(r.returncode, 1, r.stderr)


class Interrupt(Ending):
    def interrupt(self, args, wait=0.0, until=None):
        p = subprocess.Popen([str(BIN / "mlxcel"), *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             stdin=subprocess.PIPE)
        try:
            if until:
                p.stdout.read(until)
            time.sleep(wait)
            p.send_signal(signal.SIGINT)
            status = self.end(p)
            if status == 0 and wait > 0.01:  # it was done before: this process was starved, or the other is quick
                if "-o" in args:
                    pathlib.Path(args[args.index("-o") + 1]).unlink(missing_ok=True)
                return self.interrupt(args, wait / 2, until)
            if status == -signal.SIGINT and 0 < wait < 8:  # it had hardly begun
                return self.interrupt(args, wait * 2.5, until)
            self.assertEqual(status, 130, args)
        finally:
            if p.returncode is None:
                p.kill()
            for stream in (p.stdin, p.stdout, p.stderr):
                stream.close()

    def test_everywhere(self):
        with tempfile.TemporaryDirectory() as d:
            ids = pathlib.Path(d) / "ids.txt"
            ids.write_text(" ".join(str(7 * i % 40000) for i in range(3000)))
            out = pathlib.Path(d) / "out.f32"
            self.interrupt(["logits", "-m", MODEL, "--ids", str(ids), "-o", str(out)], wait=0.4)
            self.assertFalse(out.exists())
        long = "word " * 4000
        self.interrupt(["generate", "-m", MODEL, "-p", long, "-n", "4000", "--ignore-eos"], wait=1)
        self.interrupt(["generate", "-m", MODEL, "-p", "A story.", "-n", "8000", "--ignore-eos"], until=20)
        self.interrupt(["run", "-m", MODEL, "-p", long, "-n", "4000", "--ignore-eos"], wait=1)
        self.interrupt(["verify", "-m", MODEL], until=100)
        self.interrupt(["generate", "-m", MODEL, "-p", "-"], wait=0.5)  # waits for its prompt


class Help(unittest.TestCase):
    @staticmethod
    def words(*args):
        """The commands that this help lists."""
        listed = "".join(mlxcel(*args).stdout.split("ubcommands:")[1:])
        return re.findall(r"^  ([a-z]+)", re.sub(r"Examples?:.*", "", listed, flags=re.S), re.M)

    @classmethod
    def setUpClass(cls):
        cls.commands = cls.words("--help")
        cls.help = {c: mlxcel(c, "--help").stdout for c in cls.commands}

    def flags(self, command):
        return set(re.findall(r"(?<![\w-])(--[a-z][a-z0-9-]*)", re.sub(r"Examples?:.*", "", self.help[command], flags=re.S)))

    def test_every_command_has_examples(self):
        self.assertIn("download", self.commands)
        for c in self.commands:
            self.assertRegex(self.help[c], rf"Examples?:[\s\S]*\bmlxcel {c}\b", c)
            for nested in self.words(c, "--help"):
                self.assertRegex(mlxcel(c, nested, "--help").stdout, rf"Examples?:[\s\S]*\bmlxcel {c} {nested}\b")
            self.assertEqual(mlxcel("help", c).stdout, self.help[c])
        self.assertEqual(mlxcel("help").stdout, mlxcel("--help").stdout)
        self.assertEqual(mlxcel().stdout, mlxcel("--help").stdout)
        self.assertEqual(mlxcel("help", "bench", "decode").stdout, mlxcel("bench", "decode", "--help").stdout)

    def test_version(self):
        said = mlxcel("--version").stdout
        self.assertRegex(said, r"^mlxcel \d+\.\d+\.\d+ \(\w+(-dirty)?\)\nbackends: cpu.*\ninstruction sets here: \w+")
        self.assertIn(mlxcel("generate", "--isa", "help").stdout.split(", ")[0].strip(), said)

    def test_flag_table(self):
        text = (ROOT / "docs/flags.md").read_text()
        rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
        documented = set(re.findall(r"`(--[a-z0-9-]+)`", " ".join(rows)))
        every = ["run", "generate", "download", "list", "rm", "inspect", "tokenize", "detokenize", "template", "arch"]
        there = set().union(*(self.flags(c) for c in every)) - {"--help", "--flag"}
        self.assertEqual(there - documented, set(), "these flags have no row in docs/flags.md")
        self.assertEqual({f for f in documented if not any(f in h for h in self.help.values())}, set(),
                         "docs/flags.md has rows for flags that no command has")

    def test_environment_table(self):
        source = (ROOT / "src/cli/environment.h").read_text()
        table = dict(re.findall(r'\{"([A-Z_]+)", "([^"]*)"\}', source))
        read = set()
        for path in (ROOT / "src").rglob("*.cc"):
            if "_test" in path.name or "_bench" in path.name or "_fuzz" in path.name:
                continue
            read |= set(re.findall(r'(?:getenv|environment|\bon)\("([A-Z_]+)"\)', path.read_text()))
        read -= {"USER", "LOGNAME"}
        self.assertEqual(read, set(table), "src/cli/environment.h lists other variables than the sources read")
        docs = (ROOT / "docs/commands.md").read_text()
        self.assertEqual(re.findall(r"^\| `([A-Z_]+)` \| (.*) \|$", docs, re.M), list(table.items()))
        for status, meaning in re.findall(r'\{"(\d+)",\s*"([^"]*)"', source):
            self.assertIn(f"| {status} | {meaning} |", docs)

    def test_man(self):
        page = mlxcel("man").stdout
        for part in (".SH NAME", ".SS mlxcel bench decode", ".SH EXIT STATUS", "HF_ENDPOINT", r"\-\-max\-tokens"):
            self.assertIn(part, page)
        if shutil.which("groff"):
            r = subprocess.run(["groff", "-man", "-ww", "-Tutf8"], input=page, capture_output=True, text=True)
            self.assertEqual((r.returncode, r.stderr), (0, ""))

    def complete(self, *words):
        script = (f'{mlxcel("completion", "bash").stdout}\nmlxcel() {{ "{BIN}/mlxcel" "$@"; }}\n'
                  'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _mlxcel; printf "%s\\n" "${COMPREPLY[@]}"')
        r = subprocess.run(["bash", "-c", script, "bash", *words], capture_output=True, text=True)
        self.assertEqual(r.stderr, "")
        return r.stdout.split()

    def test_bash_completion(self):
        self.assertEqual(self.complete("mlxcel", "gen"), ["generate"])
        self.assertEqual(set(self.complete("mlxcel", "")) - {"help"}, set(self.commands))
        self.assertEqual(self.complete("mlxcel", "run", "--temp"), ["--temp", "--temperature"])
        self.assertEqual(self.complete("mlxcel", "list", "--sort", "s"), ["size"])
        self.assertIn("decode", self.complete("mlxcel", "bench", "de"))
        self.assertIn("--reps", self.complete("mlxcel", "bench", "decode", "--re"))
        with tempfile.TemporaryDirectory() as d:
            path = pathlib.Path(d) / "o/tiny"
            path.mkdir(parents=True)
            (path / "m.gguf").write_bytes(b"x")
            os.environ["MLXCEL_MODELS_DIR"] = d
            try:
                self.assertEqual(self.complete("mlxcel", "generate", "-m", "o/"), ["o/tiny"])
                self.assertEqual(self.complete("mlxcel", "rm", "o"), ["o/tiny"])
            finally:
                del os.environ["MLXCEL_MODELS_DIR"]

    def test_other_shells(self):
        for shell in ("zsh", "fish"):
            script = mlxcel("completion", shell).stdout
            for c in self.commands:
                self.assertIn(c, script)
            for flag in self.flags("generate"):
                self.assertIn(flag if shell == "zsh" else f"-l {flag[2:]}", script)
            if shutil.which(shell):
                r = subprocess.run([shell, "-n"], input=script, capture_output=True, text=True)
                self.assertEqual((r.returncode, r.stderr), (0, ""))

    def test_no_colour(self):
        for args in (["--help"], ["arch"], ["list"], ["generate", "-m", MODEL, "-p", "Hi", "-n", "2"], ["lsit"],
                     ["rm", "no/such"]):
            r = mlxcel(*args)
            self.assertNotIn("\x1b", r.stdout + r.stderr)

    def test_colour(self):
        env = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
        red = "\x1b[1;31mmlxcel:\x1b[0m "
        for args, status in ((["lsit"], 2), (["rm", "no/such"], 1)):
            for no_color, term, begin in (("", "xterm", red), ("1", "xterm", "mlxcel: "), ("", "dumb", "mlxcel: ")):
                found, seen = Terminal(BIN / "mlxcel", *args, env={**env, "NO_COLOR": no_color}, term=term).end()
                self.assertEqual((found, seen[:len(begin)]), (status, begin), (args, no_color, term))
        args = ["generate", "-m", MODEL, "-p", "Hi", "-n", "2"]
        self.assertRegex(Terminal(BIN / "mlxcel", *args, env=env).end()[1], r"\n\x1b\[2m\[prompt .*\]\x1b\[0m\n")
        self.assertNotRegex(Terminal(BIN / "mlxcel", *args, env={**env, "NO_COLOR": "1"}).end()[1], r"\x1b\[[\d;]*m")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=1)
