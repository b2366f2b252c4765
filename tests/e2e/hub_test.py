#!/usr/bin/env python3
"""mlxcel download, and run and generate by name, against a small hub on loopback that misbehaves on request.

  hub_test.py BIN_FOLDER
"""
import hashlib
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from small_hub import SmallHub, sha1
from terminal import Terminal

PROGRAM = pathlib.Path(sys.argv[1]).resolve() / "mlxcel"
FETCH = pathlib.Path(__file__).parents[2] / "tools" / "fetch_model.py"


def noise(size, seed):
    return random.Random(seed).randbytes(size)


FILES = {
    "config.json": b'{"model_type": "llama"}',
    "tokenizer.json": noise(5000, 1),
    "model.safetensors.index.json": json.dumps({"weight_map": {
        "a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}).encode(),
    "model-00001-of-00002.safetensors": noise(300_000, 2),
    "model-00002-of-00002.safetensors": noise(200_001, 3),
    "README.md": b"# no", "pytorch_model.bin": noise(9000, 4), "onnx/model.onnx": noise(9000, 5),
}
WANTED = [f for f in FILES if "/" not in f and not f.endswith((".md", ".bin"))]
FIRST, SECOND = (f"model-0000{i}-of-00002.safetensors" for i in (1, 2))


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)
        self.hub = self.enterContext(SmallHub({"o/n": FILES}))
        self.env = {**os.environ, "HF_ENDPOINT": self.hub.endpoint, "HF_HOME": str(self.root / "hf"),
                    "MLXCEL_MODELS_DIR": str(self.root / "store"), "MLXCEL_CACHE_DIR": str(self.root / "cache")}
        for name in ("HF_TOKEN", "HF_HUB_CACHE", "HF_HUB_OFFLINE", "MLXCEL_DEFAULT_ORG"):
            self.env.pop(name, None)

    def tearDown(self):
        self.folder.cleanup()

    def enterContext(self, manager):
        value = manager.__enter__()
        self.addCleanup(manager.__exit__, None, None, None)
        return value

    def mlxcel(self, *args, limit=None, **env):
        def shrink():
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        return subprocess.run([str(PROGRAM), *map(str, args)], capture_output=True, text=True, timeout=300,
                              cwd=self.root, env={**self.env, **env}, preexec_fn=shrink if limit else None)

    def start(self, *args, **env):
        return subprocess.Popen([str(PROGRAM), *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, cwd=self.root, env={**self.env, **env})

    def model(self, name="o/n"):
        return self.root / "store" / name

    def expect_whole(self, path=None, files=None):
        path, files = path or self.model(), files or {f: FILES[f] for f in WANTED}
        self.assertEqual(sorted(p.name for p in path.iterdir() if p.name[0] != "."), sorted(files))
        for name, data in files.items():
            self.assertEqual((path / name).read_bytes() == data, True, name)
        self.assertEqual([p.name for p in path.parent.iterdir() if p.name.startswith(".")], [])

    def expect(self, r, *parts, status=1):
        self.assertEqual(r.returncode, status, r.stdout + r.stderr)
        for part in parts:
            self.assertIn(part, r.stderr)

    def download(self, *args, **kw):
        r = self.mlxcel("download", "o/n", *args, **kw)
        self.assertEqual(r.returncode, 0, r.stderr)
        return r

    def requests(self, name):
        return [s for s in self.hub.seen if s[1].endswith("/" + name)]


class Good(Case):
    def test_only_what_is_needed(self):
        r = self.download()
        self.assertEqual(r.stdout.strip(), str(self.model()))
        self.expect_whole()
        self.assertNotIn("\x1b", r.stderr)
        self.assertIn("505 kB in 5 files", r.stderr)
        for name in ("README.md", "pytorch_model.bin", "model.onnx"):
            self.assertEqual(self.requests(name), [])
        self.assertEqual(self.mlxcel("list", "-q").stdout, "o/n\n")

    def test_again_asks_for_the_list_alone(self):
        self.download()
        before = len(self.hub.seen)
        found = json.loads(self.download("--json").stdout)
        self.assertEqual((found["was_there"], found["received_bytes"], found["repo_id"]), (True, 0, "o/n"))
        self.assertEqual(len(found["commit"]), 40)
        self.assertLessEqual(len(self.hub.seen) - before, 2)  # the list, and the index that it needs
        self.expect_whole()

    def test_quiet(self):
        r = self.download("-q")
        self.assertEqual((r.stdout.strip(), r.stderr), (str(self.model()), ""))

    def test_sizes_and_hashes_from_headers(self):
        self.hub.bare = True
        self.hub.faults[SECOND] = [("cut", 70_000)]
        self.download()
        self.expect_whole()
        self.hub.faults["tokenizer.json"] = [("other",), ("other",)]
        self.assertEqual(self.mlxcel("download", "o/n", "--local-dir", "here").returncode, 1)

    def test_revisions_and_updates(self):
        new = {**FILES, "config.json": b'{"model_type": "qwen3"}', SECOND: noise(200_001, 9)}
        self.hub.repos["o/n"]["v2"] = self.hub.repos["o/n"]["refs/pr/1"] = new
        self.download()
        (self.model() / "notes.txt").write_text("mine")
        self.hub.seen.clear()
        self.download("--revision", "v2")
        self.expect_whole(files={**{f: new[f] for f in WANTED}, "notes.txt": b"mine"})
        self.assertEqual(self.requests(FIRST), [])  # equal in both
        self.expect(self.mlxcel("download", "o/n", "--revision", "v3"), "--revision: v3", "o/n")
        self.download("--revision", "refs/pr/1", "--local-dir", "pr")
        self.download("--revision", self.hub.commit("o/n", "main"), "--local-dir", self.root / "x" / "y")
        self.expect_whole(self.root / "x" / "y")

    def test_cache_of_other_tools(self):
        for name in (FIRST, "config.json"):
            data = FILES[name]
            digest = sha1(data) if name == "config.json" else hashlib.sha256(data).hexdigest()
            blob = self.root / "hf/hub/models--o--n/blobs" / digest
            blob.parent.mkdir(parents=True, exist_ok=True)
            blob.write_bytes(data)
        self.download()
        self.expect_whole()
        self.assertEqual((self.requests(FIRST), self.requests("config.json")), ([], []))
        shutil.rmtree(self.model())
        said = self.download("-v").stderr
        self.assertIn(f"{FIRST}: from {self.root}/hf/hub/", said)
        self.assertIn(f"{SECOND}: from {self.hub.endpoint}", said)
        self.assertEqual(self.mlxcel("download", "o/n", "-v", "-q").returncode, 2)

    def test_damaged_cache_is_not_believed(self):
        blob = self.root / "hf/hub/models--o--n/blobs" / hashlib.sha256(FILES[FIRST]).hexdigest()
        blob.parent.mkdir(parents=True)
        blob.write_bytes(bytes(len(FILES[FIRST])))
        self.download()
        self.expect_whole()

    def test_gguf(self):
        files = {f"m-{q}.gguf": noise(3000 + i, i) for i, q in enumerate(("Q4_0", "Q8_0", "Q4_K_M"))}
        self.hub.repos["o/g"] = {"main": files}
        self.hub.repos["mlx-community/one"] = {"main": {"only one.gguf": files["m-Q8_0.gguf"]}}
        self.assertEqual(self.mlxcel("download", "o/g").returncode, 0)
        self.expect_whole(self.model("o/g"), {"m-Q4_K_M.gguf": files["m-Q4_K_M.gguf"]})
        self.assertEqual(self.mlxcel("download", "o/g", "--file", "q8_0", "--local-dir", "q8").returncode, 0)
        self.expect_whole(self.root / "q8", {"m-Q8_0.gguf": files["m-Q8_0.gguf"]})
        self.expect(self.mlxcel("download", "o/g", "--file", "Q"), "--file", "m-Q4_0", "m-Q8_0  3.0 kB")
        self.assertEqual(self.mlxcel("download", "one").returncode, 0)
        self.expect_whole(self.model("mlx-community/one"), {"only one.gguf": files["m-Q8_0.gguf"]})


class Faults(Case):
    def test_cuts_go_on_where_they_were(self):
        self.hub.faults[FIRST] = [("cut", 100_000), ("cut", 50_000), ("cut", 0)]
        self.download()
        self.expect_whole()
        ranges = [s[3] for s in self.requests(FIRST) if s[0] == "hub"]
        self.assertEqual(ranges[:2], ["", "bytes=100000-"])

    def test_server_without_ranges(self):
        self.hub.faults[FIRST] = [("cut", 100_000), ("whole",)]
        self.download()
        self.expect_whole()

    def test_busy_hub(self):
        self.hub.faults["list"] = [("status", 503, {})]
        self.hub.faults[FIRST] = [("status", 429, {"Retry-After": "1"}), ("status", 500, {}), ("status", 502, {})]
        start = time.time()
        r = self.download()
        self.assertGreaterEqual(time.time() - start, 1)
        self.assertIn("429; again in 1 s", r.stderr)
        self.expect_whole()

    def test_hub_that_stays_busy(self):
        self.hub.faults["config.json"] = [("status", 429, {"Retry-After": "3600"})]
        self.expect(self.mlxcel("download", "o/n"), "3600 seconds", "goes on")
        self.assertFalse(self.model().exists())

    def test_wrong_bytes(self):
        self.hub.faults[FIRST] = [("other",)]
        self.assertIn("checksum", self.download().stderr)
        self.expect_whole()
        self.hub.faults[FIRST] = [("other",), ("other",)]
        self.expect(self.mlxcel("download", "o/n", "--local-dir", "x"), FIRST, "expected the checksum")
        self.assertFalse((self.root / "x").exists())

    def test_wrong_sizes(self):
        for kind in ("long", "short"):
            self.hub.faults[SECOND] = [(kind,)]
            self.expect(self.mlxcel("download", "o/n"), SECOND, "expected 200001 bytes")
            self.assertFalse(self.model().exists())
        self.download()
        self.expect_whole()

    def test_full_disk(self):
        r = self.mlxcel("download", "o/n", limit=250_000)
        self.expect(r, FIRST, "cannot be written", "make room")
        self.assertFalse(self.model().exists())
        part = self.root / "store/o/.n.part" / (FIRST + ".part")
        self.assertGreater(part.stat().st_size, 100_000)
        self.hub.seen.clear()
        self.download()
        self.expect_whole()
        self.assertRegex([s[3] for s in self.requests(FIRST)][0], "bytes=[1-9]")

    def test_no_room(self):
        big = self.hub.repos["o/n"]["main"]
        self.hub.repos["o/n"]["main"] = {**big, "config.json": b"{}"}
        import small_hub
        real = small_hub.facts

        def claim(path, data):
            return {**real(path, data), **({"size": 10 ** 16} if path == FIRST else {})}
        small_hub.facts = claim
        try:
            self.expect(self.mlxcel("download", "o/n"), "expected room for 10000 TB")
            self.assertEqual(self.mlxcel("list").stdout, "")
        finally:
            small_hub.facts = real

    @unittest.skipIf(os.geteuid() == 0, "root may write anywhere")
    def test_store_that_cannot_be_written(self):
        (self.root / "store").mkdir(mode=0o500)
        self.expect(self.mlxcel("download", "o/n"), "store", "cannot be written", "MLXCEL_MODELS_DIR")

    def test_store_that_is_a_file(self):
        (self.root / "store").write_text("x")
        self.expect(self.mlxcel("download", "o/n"), "store", "cannot be written", "MLXCEL_MODELS_DIR")

    def test_what_is_there_stays(self):
        self.model().mkdir(parents=True)
        (self.model() / "model.gguf").write_bytes(b"mine")
        self.expect(self.mlxcel("download", "o/n"), str(self.model()), "--local-dir")
        self.assertEqual((self.model() / "model.gguf").read_bytes(), b"mine")

    def test_no_network(self):
        r = self.mlxcel("download", "o/n", HF_ENDPOINT="http://127.0.0.1:1")
        self.expect(r, "127.0.0.1:1", "cannot be reached", "--offline")
        self.assertNotIn("again in", r.stderr)
        self.expect(self.mlxcel("download", "o/n", HF_ENDPOINT="nonsense"), "HF_ENDPOINT = nonsense", "https://HOST")
        for value in ("0", "-3", "soon", "1.5"):
            self.expect(self.mlxcel("download", "o/n", HF_HUB_DOWNLOAD_TIMEOUT=value),
                        f"HF_HUB_DOWNLOAD_TIMEOUT = {value}: expected whole seconds, at least 1; unset it for 30")
        self.assertEqual(self.hub.seen, [])
        self.assertEqual(self.mlxcel("list", "-q").stdout, "")

    def test_not_a_hub(self):
        self.hub.repos["o/n"] = {"main": FILES}
        self.hub.faults["list"] = [("redirect", f"{self.hub.endpoint}/o/n/resolve/main/config.json")]
        self.expect(self.mlxcel("download", "o/n"), "expected a list of files")

    def test_names(self):
        for name, part in (("o/none", "not on"), ("a/b/c", "OWNER/NAME"), ("../x", "OWNER/NAME"), ("", "OWNER/NAME"),
                           ("https://huggingface.co/o/n", "did you mean o/n?")):
            self.expect(self.mlxcel("download", name), part)
        self.hub.repos["o/pickle"] = {"main": {"pytorch_model.bin": b"x"}}
        self.expect(self.mlxcel("download", "o/pickle"), "expected safetensors or GGUF")
        self.hub.repos["o/evil"] = {"main": {"../../evil.safetensors": b"x", "x/../../evil.gguf": b"y"}}
        self.mlxcel("download", "o/evil")
        self.assertEqual(list(self.root.rglob("evil.safetensors")), [])


class Tokens(Case):
    def test_token_goes_to_the_hub_alone(self):
        self.hub.token = "hf_secret"
        self.expect(self.mlxcel("download", "o/n"), "not on", "private", "HF_TOKEN")
        self.download(HF_TOKEN="hf_secret")
        self.expect_whole()
        told = {(s[0], s[2]) for s in self.hub.seen if s[2] or s[0] == "cdn"}
        self.assertEqual(told, {("hub", "Bearer hf_secret"), ("cdn", "")})

    def test_token_of_a_login(self):
        self.hub.token = "hf_stored"
        (self.root / "hf").mkdir()
        (self.root / "hf/token").write_text("hf_stored\n")
        self.download()

    def test_token_does_not_travel_in_the_clear(self):
        r = self.mlxcel("download", "o/n", HF_TOKEN="hf_secret", HF_ENDPOINT="http://hub.example")
        self.expect(r, "HF_ENDPOINT = http://hub.example", "https")
        self.assertNotIn("hf_secret", r.stderr)


class Encrypted(Case):
    def test_certificates_and_redirects(self):
        pem, key = self.root / "c.pem", self.root / "k.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-keyout", key, "-out", pem, "-days", "2", "-subj", "/CN=127.0.0.1",
                        "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
        small = {"config.json": b"{}", "model.safetensors": noise(900, 1)}
        hub = self.enterContext(SmallHub({"o/n": FILES, "o/small": small}, certificate=(pem, key)))
        env = {"HF_ENDPOINT": hub.endpoint, "SSL_CERT_FILE": str(pem), "HF_TOKEN": "hf_secret"}
        self.assertEqual(self.mlxcel("download", "o/small", **env).returncode, 0)
        self.expect_whole(self.model("o/small"), small)
        self.assertEqual({s[2] for s in hub.seen}, {"Bearer hf_secret"})
        # The other host of this hub has no certificate.
        self.expect(self.mlxcel("download", "o/n", **env), "expected a redirect to https")
        r = self.mlxcel("download", "o/small", "--local-dir", "x", **{**env, "SSL_CERT_FILE": ""})
        self.expect(r, "certificate")


class Interruptions(Case):
    def slow(self):
        self.hub.speed = 100_000  # bytes a second: some five seconds together
        p = self.start("download", "o/n")
        part = self.root / "store/o/.n.part"
        end = time.time() + 30
        while sum(f.stat().st_size for f in part.glob("model-*")) < 60_000 and time.time() < end:
            time.sleep(0.02)
        return p, part

    def go_on(self):
        self.hub.speed = 0
        self.hub.seen.clear()
        self.download()
        self.expect_whole()
        self.assertTrue(any(s[3] for s in self.hub.seen))

    def test_interrupt(self):
        p, part = self.slow()
        p.send_signal(signal.SIGINT)
        out, err = p.communicate(timeout=20)
        self.assertEqual(p.returncode, 130, err)
        self.assertIn("what came is kept", err)
        self.assertFalse(self.model().exists())
        self.assertIn("partial", self.mlxcel("list").stdout)
        self.assertEqual(self.mlxcel("list", "-q").stdout, "")
        self.go_on()

    def test_killed(self):
        p, part = self.slow()
        p.kill()
        p.communicate(timeout=20)
        self.assertFalse(self.model().exists())
        self.go_on()

    def test_changed_meanwhile(self):
        p, part = self.slow()
        p.kill()
        p.communicate(timeout=20)
        new = {**FILES, FIRST: noise(300_000, 77)}
        self.hub.repos["o/n"]["main"] = new
        self.hub.speed = 0
        self.download()
        self.expect_whole(files={f: new[f] for f in WANTED})

    def test_two_at_once(self):
        self.hub.speed = 300_000
        both = [self.start("download", "o/n") for _ in range(2)]
        ends = [p.communicate(timeout=60) for p in both]
        self.assertEqual([p.returncode for p in both], [0, 0], ends)
        self.assertTrue(any("another process" in e[1] for e in ends))
        self.assertEqual(len([s for s in self.requests(FIRST) if s[0] == "hub"]), 1)
        self.expect_whole()

    def test_rm_of_a_part(self):
        p, part = self.slow()
        self.expect(self.mlxcel("rm", "-y", "o/n"), "another process")
        p.kill()
        p.communicate(timeout=20)
        self.assertEqual(self.mlxcel("rm", "-y", "o/n").returncode, 0)
        self.assertEqual(list((self.root / "store").iterdir()), [])


class Use(Case):
    """run and generate fetch what is missing."""

    def setUp(self):
        super().setUp()
        model = subprocess.run([sys.executable, FETCH], check=True, capture_output=True, text=True).stdout.strip()
        self.hub.repos["mlx-community/small"] = {"main": {"small.gguf": pathlib.Path(model).read_bytes()}}

    def test_generate(self):
        r = self.mlxcel("generate", "-m", "small", "-p", "Which city is the capital of France? Answer in one word.", "-n", 8)
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertIn("Paris", r.stdout)
        self.hub.seen.clear()
        r = self.mlxcel("run", "small", "-p", "Which city is the capital of France? Answer in one word.", "-n", 8)
        self.assertIn("Paris", r.stdout)
        self.assertEqual(self.hub.seen, [])

    def test_offline(self):
        for args, env in ((["--offline"], {}), ([], {"HF_HUB_OFFLINE": "1"})):
            for command in ("run", "generate"):
                r = self.mlxcel(command, "-m", "small", "-p", "x", *args, **env)
                self.expect(r, "mlxcel download mlx-community/small")
        self.assertEqual(self.hub.seen, [])

    def test_nothing_is_fetched_for_a_wrong_argument(self):
        for args in (["--temp", "-1"], ["--top-p", "2"], ["--seed", "-1"], ["-n", "-7"], ["--logit-bias", "x"]):
            r = self.mlxcel("generate", "-m", "small", "-p", "x", *args)
            self.assertEqual(r.returncode, 2)
            self.assertIn(args[0].strip("-").replace("-", "_")[:4], r.stderr.replace("-", "_"))
        self.mlxcel("tokenize", "-m", "small", "x")
        self.assertEqual(self.hub.seen, [])


class NewUser(Case):
    """In a terminal: chats with the default model, inspects it; downloads another, stops, goes on, removes it."""

    def terminal(self, *args):
        return Terminal(PROGRAM, *args, cwd=self.root, env=self.env)

    def say(self, *args):
        status, seen = self.terminal(*args).end()
        self.assertEqual(status, 0, seen)
        return seen

    def setUp(self):
        super().setUp()
        self.weights = subprocess.run([sys.executable, FETCH], check=True, capture_output=True, text=True).stdout.strip()
        default = self.model("HuggingFaceTB/SmolLM2-135M-Instruct")
        default.mkdir(parents=True)
        (default / "model.gguf").symlink_to(self.weights)

    def chat(self, t):
        t.wait_for(">>> ")
        t.ready()
        t.type("Which city is the capital of France? Answer in one word.\n")
        self.assertIn("Paris", t.wait_for(r"\n>>> "))
        t.ready()
        t.type("/bye\n")

    def test_readme(self):
        """Every line of "Using it" in README.md, typed into a shell: with shorter answers, and a download that is cut."""
        text = (pathlib.Path(__file__).parents[2] / "README.md").read_text()
        block = text.split("## Using it\n")[1].split("\n## ")[0]
        lines = [line.split("  #")[0].strip() for line in block.splitlines() if line.startswith("    ")]
        self.hub.repos["Qwen/Qwen3-0.6B"] = {"main": {"weights.gguf": pathlib.Path(self.weights).read_bytes()}}
        t = Terminal("/bin/bash", "--norc", "-i", cwd=self.root, env={**self.env, "PS1": "shell> "})
        t.wait_for("shell> ")
        typed = []
        for line in lines:
            command = re.sub(r"\s", " ", line)
            if command.startswith("export PATH="):
                command = f"export PATH='{PROGRAM.parent}':$PATH"
            elif "mlxcel generate" in command:
                command += " -n 6"
            if command.startswith("mlxcel download"):
                self.hub.speed = 5_000_000
                t.type(command + "\n")
                t.wait_for(r"\[#*\.*\] [1-9]\d? %, ")
                t.type("\x03")
                t.wait_for("same command goes on.*shell> ")
                self.hub.speed = 0
            t.type(command + "; echo status=$?.\n")
            if command.startswith("mlxcel run"):
                self.chat(t)
            if command.startswith("mlxcel verify"):  # it takes a while; other tests see its end
                t.wait_for(r"axis +value")
                t.type("\x03")
            status = 130 if "verify" in command else 0
            self.assertIn(f"status={status}.", t.wait_for(r"status=\d+\."), command)
            t.wait_for("shell> ")
            typed += re.findall(r"mlxcel (\w+)", command)
        self.assertLessEqual({"run", "download", "list", "inspect", "generate", "logits", "verify"}, set(typed))
        self.assertTrue(any(s[3] for s in self.hub.seen), "the download did not go on where it was")
        t.type("mlxcel rm Qwen/Qwen3-0.6B; echo status=$?.\n")
        t.wait_for(r"\[y/N\] ")
        t.type("y\n")
        self.assertIn("status=0.", t.wait_for(r"status=\d+\."))
        self.assertFalse(self.model("Qwen/Qwen3-0.6B").exists())
        t.wait_for("shell> ")
        t.type("exit\n")
        t.end()

    def test_first_hour(self):
        t = self.terminal("run", "-n", 16)
        self.chat(t)
        self.assertEqual(t.end()[0], 0)
        seen = self.say("inspect")
        for part in ("SmolLM2", "llama", "It fits."):
            self.assertIn(part, seen)

        self.hub.speed = 100_000
        t = self.terminal("download", "o/n")
        seen = t.wait_for(r"\[#+\.*\] [1-9]\d? %, \d+ kB of 505 kB, [\d.]+ kB/s, \d+ s left")
        t.type("\x03")
        status, seen = t.end()
        self.assertEqual(status, 130, seen)
        self.assertIn("same command goes on", seen)
        self.assertRegex(self.say("list"), r"o/n .*\(partial\)")
        self.hub.speed = 0
        seen = self.say("download", "o/n")
        self.assertRegex(seen, r"505 kB in 5 files, \d+ kB are here")
        self.assertIn("complete", seen)
        self.expect_whole()
        self.assertNotIn("partial", self.say("list"))

        t = self.terminal("rm", "o/n")
        self.assertIn("505 kB", t.wait_for(r"\[y/N\] "))
        t.type("y\n")
        status, seen = t.end()
        self.assertEqual(status, 0)
        self.assertIn("Deleted o/n", seen)
        self.assertFalse(self.model().parent.exists())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=1)
