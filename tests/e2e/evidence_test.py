#!/usr/bin/env python3
"""The commands around records and tables from outside: sweeps, comparisons, traces, catalogs, a quiet machine.

  evidence_test.py BIN_FOLDER
"""
import csv
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from terminal import Terminal

BIN = pathlib.Path(sys.argv[1])
CORE = BIN / "mlxcel-core"
# The tests run programs of a tree that may have changes.
ENV = {**os.environ, "BENCH_ALLOW_STALE_BINARY": "1", "MLXCEL_HW_LABEL": "h",
       "MLXCEL_BENCH_LLC_BYTES": "2000000"}  # the read bandwidth is measured quickly
QUICK = ("--prompt-tokens", "16", "--gen-tokens", "8", "--reps", "2", "-t", "1")


def run(*args, status=0, cwd=None, **env):
    r = subprocess.run([str(a) for a in args], capture_output=True, text=True, timeout=300, cwd=cwd, env={**ENV, **env})
    statuses = status if isinstance(status, tuple) else (status,)
    assert r.returncode in statuses, f"{args}: exit status {r.returncode}\n{r.stdout}\n{r.stderr}"
    return r


def synth(folder, *flags):
    run(CORE, "synth", "--preset", "tiny", "-o", folder, *flags)


def rows(path):
    with open(path, newline="", encoding="utf-8") as f:
        return {r["model"]: r for r in csv.DictReader(f)}


class Sweep(unittest.TestCase):
    def test_all(self):
        with tempfile.TemporaryDirectory() as t:
            t = pathlib.Path(t)
            models = t / "models"
            synth(models / "a")
            synth(models / "b", "--seed", "2")
            shutil.copytree(models / "a", models / "a-again")
            os.symlink(models / "a", models / "link")
            shutil.copytree(models / "a", models / "broken")
            config = json.loads((models / "broken" / "config.json").read_text())
            (models / "broken" / "config.json").write_text(json.dumps({**config, "model_type": "unheard_of"}))
            r = run(CORE, "bench", "decode", "all", "--models-dir", models, "--output", t / "out", "--record", t / "evidence",
                    *QUICK, status=1)  # one model failed
            self.assertIn("a is a-again under another name: measured once", r.stderr)
            self.assertIn("model 3 of 3", r.stderr)
            table, = (t / "out").glob("cpu_h_*.csv")
            found = rows(table)
            self.assertEqual(len(found), 5)  # a row for each folder
            self.assertEqual(found["a"]["status"], "SKIP:duplicate_of=a-again")
            self.assertEqual(found["link"]["status"], "SKIP:duplicate_of=a-again")
            self.assertEqual(found["broken"]["status"], "FAIL:bench")
            for model in ("a-again", "b"):
                self.assertIn(found[model]["status"], ("ok", "NOT_PUBLISHABLE"))
                self.assertGreater(float(found[model]["decode_tok_s"]), 0)
                self.assertEqual(found[model]["prompt_tokens"], "16")
            note = table.with_suffix(".md").read_text()
            self.assertIn("- broken: exit status 1: ", note)
            self.assertIn("unheard_of", note)
            self.assertNotIn(str(t), note + table.read_text())
            self.assertEqual(len(list((t / "evidence").iterdir())), 2)
            run(CORE, "evidence", "check", "--root", t)
            # A table of today is not written over; the model that failed comes last now.
            again = ("bench", "decode", "all", "--models-dir", models, "--output", t / "out", "--no-dedup", *QUICK)
            self.assertIn("--replace", run(CORE, *again, status=1).stderr)
            r = run(CORE, *again, "--replace", status=1)
            self.assertNotIn("another name", r.stderr)
            self.assertEqual(list(rows(table))[-1], "broken")
            self.assertNotIn("SKIP", table.read_text())

    def test_one_and_refusals(self):
        with tempfile.TemporaryDirectory() as t:
            synth(t + "/m")
            run(CORE, "bench", "decode", t + "/m", "--output", t + "/out", *QUICK)
            table, = pathlib.Path(t, "out").glob("cpu_h_*_single_m.csv")
            self.assertEqual(list(rows(table)), ["m"])
            r = run(CORE, "bench", "decode", "all", "--models-dir", t, "--output", t + "/oom", *QUICK,
                    BENCH_MEM_OVERHEAD_FACTOR="999")
            self.assertIn("m ", r.stdout)
            self.assertIn("--vlm", run(CORE, "bench", "decode", "all", "--vlm", status=1).stderr)
            self.assertIn("not both", run(CORE, "bench", "decode", t + "/m", "-m", t + "/m", status=1).stderr)
            self.assertIn("above 0", run(CORE, "bench", "decode", "all", "--models-dir", t, status=1,
                                         BENCH_MEM_OVERHEAD_FACTOR="-1").stderr)
            os.mkdir(t + "/empty")
            self.assertIn("found none", run(CORE, "bench", "decode", "all", "--models-dir", t + "/empty", status=1).stderr)

    def test_oom_estimate(self):
        with tempfile.TemporaryDirectory() as t:
            # A file of 1 TB that takes no space: it must not be opened at all.
            os.mkdir(t + "/huge")
            pathlib.Path(t, "huge", "config.json").write_text("{}")
            with open(t + "/huge/model.safetensors", "wb") as f:
                f.truncate(1 << 40)
            run(CORE, "bench", "decode", "all", "--models-dir", t, "--output", t + "/out", *QUICK)
            table, = pathlib.Path(t, "out").glob("cpu_h_*.csv")
            self.assertEqual(rows(table)["huge"]["status"], "SKIP:oom_estimate")

    def test_interrupt_keeps_what_it_has(self):
        with tempfile.TemporaryDirectory() as t:
            for i in range(1, 7):
                synth(f"{t}/models/m{i}", "--seed", str(i))
            p = subprocess.Popen([CORE, "bench", "decode", "all", "--models-dir", t + "/models", "--output", t + "/out",
                                  "--cooldown", "1", *QUICK], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENV)
            p.stdout.readline()  # the first row
            p.send_signal(signal.SIGINT)
            p.communicate(timeout=120)
            self.assertEqual(p.returncode, 130)
            table, = pathlib.Path(t, "out").glob("cpu_h_*.csv")
            self.assertIn("m1", rows(table))
            self.assertLess(len(rows(table)), 6)
            self.assertIn("interrupted before:", table.with_suffix(".md").read_text())

    def test_stale_program(self):
        with tempfile.TemporaryDirectory() as t:
            synth(t + "/m")
            checkout = pathlib.Path(t) / "checkout"
            (checkout / "src" / "evidence").mkdir(parents=True)
            (checkout / "src" / "evidence" / "a.cc").write_text("")
            shutil.copy(CORE, checkout / "mlxcel-core")
            subprocess.run("git init -q && git add src && git -c user.name=x -c user.email=x@y commit -qm x", shell=True,
                           check=True, cwd=checkout)
            command = (checkout / "mlxcel-core", "bench", "decode", t + "/m", "--output", t + "/out", *QUICK)
            self.assertIn("stale", run(*command, status=1, BENCH_ALLOW_STALE_BINARY="0").stderr)
            self.assertFalse(pathlib.Path(t, "out").exists())
            run(*command)


class Long(unittest.TestCase):
    """What takes long says how long, and Ctrl-C ends it with what it has."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.t = cls.folder.name
        synth(cls.t + "/models/m")
        rng = random.Random(1)
        pathlib.Path(cls.t, "ids.txt").write_text(" ".join(str(rng.randrange(500)) for _ in range(60000)))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def interrupted(self, *args, progress, done=r"\d+"):
        """What the command printed that was interrupted when so much was done."""
        terminal = Terminal(str(CORE), *args, env=ENV)
        seen = terminal.wait_for(progress + f" {done} of " + r"\d+, \d+:\d\d left")
        terminal.type("\x03")
        status, rest = terminal.end()
        self.assertEqual(status, 130, seen + rest)
        return seen + rest

    def record(self, folder):
        written, = pathlib.Path(self.t, folder).iterdir()
        return json.loads(written.read_text())

    def test_decode(self):
        self.interrupted("bench", "decode", "-m", self.t + "/models/m", "--prompt-tokens", "16", "--gen-tokens", "8", "--reps",
                         "100000", "-t", "1", "--record", self.t + "/decode", progress="repetition", done=r"(?:[3-9]|\d\d+)")
        record = self.record("decode")
        self.assertTrue(record["results"]["interrupted"])
        self.assertLess(len(record["metrics"]["decode_tok_s"]["samples"]), 100000)

    def test_kernel(self):
        out = self.interrupted("bench", "kernel", "rms_norm", "--samples", "3", "--record", self.t + "/kernel", progress="case")
        self.assertIn("rotation=1", out)
        self.assertTrue(self.record("kernel")["results"]["interrupted"])

    def test_scenario(self):
        self.interrupted("bench", "kernel", "fused_norm_rope", "--samples", "3", "--record", self.t + "/scenario", progress="case")
        self.assertLess(len(self.record("scenario")["results"]["cases"]), 18)

    def test_cost(self):
        self.interrupted("bench", "cost", "-m", self.t + "/models/m", "--widths", "2,4,8", "--rounds", "10000", "--prompt-tokens", "16",
                         "--gen-tokens", "8", "-t", "1", progress="run")

    def test_perplexity(self):
        self.interrupted("perplexity", "-m", self.t + "/models/m", self.t + "/ids.txt", "-w", "8", "-t", "1", "--record", self.t + "/ppl",
                         progress="window")
        record = self.record("ppl")
        self.assertTrue(record["results"]["interrupted"])
        self.assertLess(record["results"]["windows"], 60000 // 8)

    def test_trace(self):
        trace = pathlib.Path(self.t, "trace.tsv")
        self.interrupted("trace", self.t + "/models/m", self.t + "/ids.txt", "4", "400", "4", "0", "-t", "1", "-o", trace, progress="row")
        self.assertIn("The logits are equal", run(CORE, "trace", "compare", trace, trace).stdout)
        rows = sum(line[0] != "#" for line in trace.read_text().splitlines())
        self.assertEqual(rows % 4, 0)
        self.assertTrue(0 < rows < 1600, rows)

    def test_tune(self):
        self.interrupted("tune", "-m", self.t + "/models/m", "--samples", "5", "-o", self.t + "/tune.json", progress="shape")
        self.assertGreater(len(json.loads(pathlib.Path(self.t, "tune.json").read_text())["entries"]), 0)

    def test_equal(self):
        program = f"{self.t}/slow"
        pathlib.Path(program).write_text("#!/bin/sh\necho a\n")
        os.chmod(program, 0o755)
        terminal = Terminal(str(CORE), "bench", "equal", "--baseline", program, "--arm-flags=-x", "-m", "m", "-p", "p", env=ENV)
        terminal.wait_for(r"run 2 of 3, \d+:\d\d left")
        self.assertIn("EQUAL", terminal.end()[1])


class Compare(unittest.TestCase):
    HEADER = "model,prompt_tokens,generated_tokens,decode_tok_s,date,hardware,mlxcel_commit\n"

    def test_from_sweep_to_plot(self):
        with tempfile.TemporaryDirectory() as t:
            for day, speed in (("2026-09-06", 100), ("2026-09-09", 120)):
                pathlib.Path(t, f"cpu_h_{day}.csv").write_text(self.HEADER + f"old,512,128,{speed},{day},h,0123abcd\n")
            pathlib.Path(t, "cpu_h_2026-09-08.csv").write_text(self.HEADER + "old,512,128,119,2026-09-08,h,0123abcd\n")
            pathlib.Path(t, "names.tsv").write_text("name\taliases\nnew\told\n")
            command = (CORE, "bench", "compare", "--before", t + "/cpu_h_2026-09-06.csv", "--after", t + "/cpu_h_2026-09-09.csv",
                       "--catalog", t + "/names.tsv")
            r = run(*command, "--svg", t + "/x.svg")
            self.assertIn("1 pairs, median ratio 1.200", r.stdout)
            self.assertIn("superseded by cpu_h_2026-09-08.csv", r.stdout)
            self.assertIn("<svg", pathlib.Path(t, "x.svg").read_text())
            result = json.loads(run(*command, "--json").stdout)
            self.assertEqual(result["pairs"][0]["model"], "new")
            self.assertTrue(result["pairs"][0]["moved"])
            self.assertFalse(json.loads(run(*command, "--json", "--moved-threshold", "0.3").stdout)["pairs"][0]["moved"])
            self.assertIn("refused: no pair", run(*command, "--metric", "prefill_tok_s", status=1).stdout)
            path = pathlib.Path(t, "cpu_h_2026-09-09.csv")
            path.write_text(path.read_text()[:-1])
            self.assertIn("cut off", run(*command, status=1).stderr)


class Trace(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.t = self.folder.name
        synth(self.t + "/m")
        rng = random.Random(1)
        pathlib.Path(self.t, "ids.txt").write_text(" ".join(str(rng.randrange(500)) for _ in range(150)))

    def tearDown(self):
        self.folder.cleanup()

    def trace(self, name, *numbers, **env):
        run(CORE, "trace", self.t + "/m", self.t + "/ids.txt", *numbers, "-o", f"{self.t}/{name}", **env)
        return f"{self.t}/{name}"

    def test_equal_whatever_the_width(self):
        """A row is a row: the rows of every width and context are those of one forward over all."""
        def body(name, *numbers):
            return [line for line in pathlib.Path(self.trace(name, *numbers)).read_text().splitlines() if line[0] != "#"]
        whole = body("whole", "100", "1", "4", "0")
        self.assertEqual(len(whole), 100)
        self.assertEqual(body("one", "1", "100", "4", "0"), whole)
        self.assertEqual(body("five", "5", "7", "4", "65"), whole[65:])
        # Against perplexity, which has arithmetic of its own.
        ids = pathlib.Path(self.t, "ids.txt").read_text().split()[:101]
        pathlib.Path(self.t, "some.txt").write_text(" ".join(ids))
        nll = json.loads(run(CORE, "perplexity", "-m", self.t + "/m", self.t + "/some.txt", "--json").stdout)["mean_nll"]
        self.assertAlmostEqual(sum(float(line.split("\t")[3]) for line in whole) / 100, nll, delta=1e-9)

    def test_compare(self):
        a, b = self.trace("a", "4", "20", "8", "16"), self.trace("b", "4", "20", "8", "16", MLXCEL_CPU_ACT="f32")
        r = run(CORE, "trace", "compare", a, b)
        self.assertIn("positions 80", r.stdout)
        self.assertIn("MLXCEL_CPU_ACT=f32", r.stdout)
        self.assertIn("The logits are equal", run(CORE, "trace", "compare", a, a, "--most", "0").stdout)
        wide = self.trace("wide", "8", "10", "8", "16")
        self.assertIn("chunk", run(CORE, "trace", "compare", a, wide, status=1).stderr)
        swapped = pathlib.Path(self.t, "swapped")  # the second candidate in the place of the first, everywhere
        lines = [line.split("\t") for line in pathlib.Path(a).read_text().splitlines()]
        swapped.write_text("\n".join("\t".join(p if p[0][0] == "#" else p[:4] + [p[5], p[4]] + p[6:]) for p in lines) + "\n")
        self.assertIn("candidate 2: 80", run(CORE, "trace", "compare", a, swapped, "--gap", "0", "--most", "0.5", status=1).stdout)
        self.assertIn("at least", run(CORE, "trace", self.t + "/m", self.t + "/ids.txt", "200", status=1).stderr)


class Catalog(unittest.TestCase):
    def test_catalog_and_report(self):
        with tempfile.TemporaryDirectory() as t:
            synth(t + "/models/m")
            shutil.copytree(t + "/models/m", t + "/models/m-alias")
            synth(t + "/models/short", "--seed", "3")
            weights = pathlib.Path(t, "models", "short", "model.safetensors")
            weights.write_bytes(weights.read_bytes()[:-1000])
            run(CORE, "bench", "decode", "-m", t + "/models/m", *QUICK, "--record", t + "/evidence", status=(0, 2))
            r = run(CORE, "catalog", t + "/models", "--output", t + "/docs", "--records", t + "/evidence", status=1)
            self.assertIn("2 checkpoints, 1 that cannot be opened", r.stdout)
            with open(t + "/docs/model-catalog.tsv", encoding="utf-8") as f:
                found = {row["name"]: row for row in csv.DictReader(f, delimiter="\t")}
            self.assertEqual(found["m-alias"]["aliases"], "m")
            self.assertIn("affine 4 bits", found["m-alias"]["precision"])
            self.assertIn("ok", found["m-alias"]["shards"])
            self.assertNotIn("ok,", found["short"]["shards"])
            self.assertTrue(found["m-alias"]["records"].startswith("decode_h_"))
            self.assertNotIn(t, pathlib.Path(t, "docs", "model-catalog.md").read_text())
            run(CORE, "evidence", "report", "--root", t)
            page = pathlib.Path(t, "docs", "results", "h.md").read_text()
            self.assertIn("decode_h_", page)


class History(unittest.TestCase):
    def test_a_record_must_name_a_commit_of_its_checkout(self):
        with tempfile.TemporaryDirectory() as t:
            synth(t + "/m")
            git = "git -c user.name=x -c user.email=x@y commit -q --allow-empty -m x"
            subprocess.run(f"git init -q && {git}", shell=True, check=True, cwd=t)
            run(CORE, "bench", "decode", "-m", t + "/m", *QUICK, "--record", t + "/evidence")
            r = run(CORE, "evidence", "check", "--root", t, status=1)
            self.assertIn("expected a commit of this history", r.stdout)
            shutil.rmtree(t + "/.git")
            self.assertIn("note: this is no git checkout", run(CORE, "evidence", "check", "--root", t).stdout)


class Cost(unittest.TestCase):
    def test_fits_and_refuses(self):
        with tempfile.TemporaryDirectory() as t:
            synth(t + "/m")
            r = run(CORE, "bench", "cost", "-m", t + "/m", "--widths", "2,3,8", "--rounds", "3", "--prompt-tokens", "16",
                    "--gen-tokens", "8", "-t", "1", "--json")
            result = json.loads(r.stdout)["results"]
            self.assertEqual([w["width"] for w in result["widths"]], [2, 3, 8])
            for w in result["widths"]:
                self.assertAlmostEqual(w["cost"] - w["residual"], result["a"] + result["b"] * w["width"], delta=1e-9)
            self.assertIn("lever", run(CORE, "bench", "cost", "-m", t + "/m", "--widths", "3,4,5,6", status=1).stderr)


class Scenarios(unittest.TestCase):
    def test_each_runs_and_its_arms_agree(self):
        with tempfile.TemporaryDirectory() as t:
            for name, shape in (("fused_norm_rope", "4 x 2048"), ("page_gather", "depth 1024"), ("qmm_gemv", "2048 x 2048"),
                                ("gumbel_sampling", "32000"), ("rejection_sampling", "32000")):
                for mode in ((), ("--cold-l2",)):
                    r = run(CORE, "bench", "kernel", name, "--shape", shape, "--samples", "3", "--csv", "--record", t, *mode,
                            MLXCEL_BENCH_LLC_BYTES="2000000")
                    lines = r.stdout.splitlines()
                    self.assertTrue(lines[0].startswith("# base: "), lines[0])
                    header = next(i for i, line in enumerate(lines) if line.startswith("shape,"))
                    for row in csv.DictReader(lines[header:]):
                        self.assertEqual(row["mode"], "cold" if mode else "warm")
                        self.assertIn(row["outputs"], ("equal",) if name != "qmm_gemv" else ("not comparable",))
                        self.assertGreater(float(row["iso_x"]), 0)
                        self.assertGreater(float(row["pipe_x"]), 0)
            self.assertEqual(len(list(pathlib.Path(t).iterdir())), 10)


class Tune(unittest.TestCase):
    def test_remembers(self):
        with tempfile.TemporaryDirectory() as t:
            model = t + "/m"
            synth(model)
            r = run(CORE, "tune", "-m", model, "--samples", "5", "-o", t + "/tune.json")
            entries = json.loads(pathlib.Path(t, "tune.json").read_text())["entries"]
            self.assertEqual(len(entries), len(r.stdout.splitlines()))
            self.assertGreater(len(entries), 0)
            self.assertNotIn("gives other bits", r.stdout)
            run(CORE, "tune", "-m", model, "--samples", "5", "-o", t + "/tune.json")
            self.assertEqual(len(json.loads(pathlib.Path(t, "tune.json").read_text())["entries"]), len(entries))
            pathlib.Path(t, "tune.json").write_text("{")
            self.assertIn("tune.json", run(CORE, "tune", "-m", model, "-o", t + "/tune.json", status=1).stderr)


class Quiet(unittest.TestCase):
    def test_pauses_and_resumes(self):
        with tempfile.TemporaryDirectory() as t:
            name = f"mlxq{os.getpid()}"
            shutil.copy("/bin/sleep", f"{t}/{name}")
            sleeper = subprocess.Popen([f"{t}/{name}", "60"])

            def state():
                return pathlib.Path(f"/proc/{sleeper.pid}/stat").read_text().rsplit(")", 1)[1].split()[0]

            def until(wanted):  # a signal takes a moment
                for _ in range(6000):
                    if state() == wanted:
                        break
                    time.sleep(0.01)
                self.assertEqual(state(), wanted)

            try:
                # The machine may be busy, so the command may not run; whatever happens, the sleeper goes on.
                r = run(CORE, "bench", "quiet", "--wait", "4", "--", "sh", "-c", "exit 7", status=(2, 7), INDEXER_EXTRA_NAMES=name)
                self.assertIn(f"paused {name}", r.stderr)
                until("S")
                p = subprocess.Popen([CORE, "bench", "quiet", "--wait", "60", "--pause", name, "--", "sleep", "30"],
                                     stderr=subprocess.PIPE, text=True, env=ENV)
                self.assertIn("paused", p.stderr.readline())
                until("T")
                p.kill()
                p.wait()
                until("S")
            finally:
                sleeper.kill()
                sleeper.wait()


class Peer(unittest.TestCase):
    def test_a_peer_is_a_row(self):
        """With a script in the place of the peer: what it is told, and what becomes of its answer."""
        with tempfile.TemporaryDirectory() as t:
            synth(t + "/models/m")
            os.mkdir(t + "/scripts")
            pathlib.Path(t, "scripts", "mlx_peer.py").write_text("""
import argparse, json, pathlib
ap = argparse.ArgumentParser()
for flag in ("--model", "--ids"): ap.add_argument(flag)
for flag in ("--prompt", "--generate", "--reps"): ap.add_argument(flag, type=int)
for flag in ("--batches", "--blocks"): ap.add_argument(flag, nargs="*")
a = ap.parse_args()
assert len(pathlib.Path(a.ids).read_bytes()) == 4 * (a.prompt + 1)
print(json.dumps({"prompt": a.prompt, "generate": a.generate, "reps": a.reps, "baseline_version": "mlx-lm-9.9",
                  "prefill": {"rounds": [100] * a.reps}, "decode": {"rounds": [50] * a.reps}}))
""")
            run(CORE, "bench", "peer", "mlx-lm", "all", "--models-dir", t + "/models", "--output", t + "/out", "--scripts",
                t + "/scripts", "--python", sys.executable, *QUICK)
            table, = pathlib.Path(t, "out").glob("pylm_h_*.csv")
            row = rows(table)["m"]
            self.assertEqual(row["baseline_version"], "mlx-lm-9.9")
            self.assertEqual(float(row["decode_tok_s"]), 50)
            self.assertIn("one of", run(CORE, "bench", "peer", "x", "-m", t + "/models/m", status=1).stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)
