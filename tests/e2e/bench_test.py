#!/usr/bin/env python3
"""The measuring commands from outside: do their numbers agree with what a watch says, and do they refuse what they should?

  bench_test.py BIN_FOLDER [CLASS[.TEST]]...      # without a name all but Watch, which a busy machine may fail
"""
import json
import math
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest

BIN = pathlib.Path(sys.argv[1])
ROOT = pathlib.Path(__file__).parents[2]
MODEL = pathlib.Path(subprocess.run([sys.executable, ROOT / "tools" / "fetch_model.py"], check=True, capture_output=True,
                                    text=True).stdout.strip())
CORE = BIN / "mlxcel-core"


def run(*args, status=0, **env):
    r = subprocess.run([str(a) for a in args], capture_output=True, text=True, timeout=600, env={**os.environ, **env})
    assert r.returncode == status, f"{args}: exit status {r.returncode}\n{r.stdout}\n{r.stderr}"
    return r


def cpu_seconds(*args):
    """Processor time of a whole process: what others do on the machine hardly shows in it."""
    before = os.times()
    subprocess.run([str(a) for a in args], check=True, capture_output=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


class Watch(unittest.TestCase):
    def test_agrees_with_a_watch(self):
        """Time of `generate -n 256` minus that of `-n 128` is the time of 128 tokens: within 5 %.

        Of each command the least of several runs, which what else happens on the machine disturbs least; more runs while it is
        disturbed so much that the two disagree."""
        with tempfile.TemporaryDirectory() as t:
            ids = pathlib.Path(t) / "ids.txt"
            rng = random.Random(1)
            ids.write_text(" ".join(str(rng.randrange(1000, 40000)) for _ in range(64)))

            def generate(n):
                return cpu_seconds(CORE, "generate", "-m", MODEL, "-t", "1", "--ids", ids, "-n", n)

            def bench():  # the same positions: behind 64 + 128
                r = run(CORE, "bench", "decode", "-m", MODEL, "-t", "1", "--prompt-tokens", "192", "--gen-tokens", "128",
                        "--reps", "1", "--json")
                return json.loads(r.stdout)["results"]["cpu_s_per_token"]

            least = [math.inf] * 3
            for runs in range(1, 13):
                least = [min(a, b) for a, b in zip(least, (generate("128"), generate("256"), bench()))]
                ratio = least[2] / ((least[1] - least[0]) / 128)
                if runs >= 4 and abs(ratio - 1) < 0.05:
                    break
            self.assertAlmostEqual(ratio, 1, delta=0.05, msg=str(least))


class Decode(unittest.TestCase):
    def test_record_says_what_it_should(self):
        with tempfile.TemporaryDirectory() as t:
            r = run(BIN / "mlxcel", "bench", "decode", "-m", MODEL, "--prompt-tokens", "40", "--gen-tokens", "16", "--reps", "2",
                    "--json", "--record", t + "/evidence")
            record = json.loads(r.stdout)
            self.assertEqual(len(record["metrics"]["decode_tok_s"]["samples"]), 2)
            results = record["results"]
            self.assertAlmostEqual(results["weight_bytes_per_step"] / MODEL.stat().st_size, 1, delta=0.1)
            limit = results["decode_tok_s"] * results["bytes_per_token"] / results["step_read_bytes_s"]
            self.assertAlmostEqual(results["decode_limit_fraction"], limit, delta=1e-6)
            self.assertGreater(results["peak_memory_bytes"], MODEL.stat().st_size / 2)
            self.assertNotIn(str(MODEL.parent), r.stdout)
            run(CORE, "evidence", "check", "--root", t)
            written, = pathlib.Path(t, "evidence").iterdir()
            written.write_text(written.read_text().replace('"gen_tokens": 16', '"gen_tokens": 17'))
            self.assertIn("edited", run(CORE, "evidence", "check", "--root", t, status=1).stdout)

    def test_batch_and_width(self):
        for flags in (["--batch", "3"], ["--width", "4", "--passes", "2"]):
            r = run(CORE, "bench", "decode", "-m", MODEL, "--prompt-tokens", "70", "--gen-tokens", "16", "--reps", "1",
                    "--json", *flags)
            record = json.loads(r.stdout)
            results = record["results"]
            passes = results["pass_decode_tok_s"]
            self.assertEqual(len(passes), results["passes"])
            self.assertAlmostEqual(record["metrics"]["decode_tok_s"]["median"], sum(passes) / len(passes), delta=1e-6)
            self.assertGreater(results["decode_tok_s"], 0)
            rows = int(flags[1])
            self.assertAlmostEqual(results["bytes_per_token"] / (results["weight_bytes_per_step"] / rows), 1, delta=0.2)
        self.assertIn("--width", run(CORE, "bench", "decode", "-m", MODEL, "--batch", "2", "--width", "2", status=1).stderr)


class Verify(unittest.TestCase):
    def test_record(self):
        with tempfile.TemporaryDirectory() as t:
            run(CORE, "synth", "--preset", "tiny", "-o", t + "/model")
            r = run(CORE, "verify", "-m", t + "/model", "--deep-tokens", "0", "--combinations", "2", "--json",
                    "--record", t + "/evidence")
            run(CORE, "evidence", "check", "--root", t)
            written, = pathlib.Path(t, "evidence").iterdir()
            record = json.loads(written.read_text())
            self.assertEqual(record["metrics"]["differing_bytes"]["median"], 0)
            cells = json.loads(r.stdout)["cells"]
            self.assertEqual(record["metrics"]["compared_bytes"]["median"], sum(c["bytes"] for c in cells))
            self.assertEqual(record["results"]["cells"], cells)


class Perplexity(unittest.TestCase):
    def test_equals_that_of_raw_logits(self):
        """Against `logits` and double arithmetic here."""
        import array
        with tempfile.TemporaryDirectory() as t:
            ids = [random.Random(2).randrange(40000) for _ in range(24)]
            path = pathlib.Path(t) / "ids.txt"
            path.write_text(" ".join(map(str, ids)))
            run(CORE, "logits", "-m", MODEL, "--ids", path, "-o", t + "/logits.f32")
            logits = array.array("f")
            logits.frombytes(pathlib.Path(t, "logits.f32").read_bytes())
            vocab = len(logits) // len(ids)
            total = 0
            for i in range(len(ids) - 1):
                row = logits[i * vocab:(i + 1) * vocab]
                top = max(row)
                total += math.log(math.fsum(math.exp(x - top) for x in row)) + top - row[ids[i + 1]]
            r = run(CORE, "perplexity", "-m", MODEL, path, "--json")
            result = json.loads(r.stdout)
            self.assertEqual(result["scored_positions"], len(ids) - 1)
            self.assertAlmostEqual(result["mean_nll"], total / (len(ids) - 1), delta=1e-9)
            for chunk in ("1", "7"):
                same = run(CORE, "perplexity", "-m", MODEL, path, "--json", "--chunk", chunk)
                self.assertEqual(json.loads(same.stdout)["mean_nll"], result["mean_nll"])

    def test_text(self):
        with tempfile.TemporaryDirectory() as t:
            path = pathlib.Path(t) / "text.txt"
            path.write_text("The quick brown fox jumps over the lazy dog. " * 4)
            result = json.loads(run(BIN / "mlxcel", "perplexity", "-m", MODEL, path, "--json").stdout)
            self.assertLess(result["perplexity"], 20)  # random ids: tens of thousands


class Rounds(unittest.TestCase):
    def arms(self, *flags, status):
        return run(CORE, "bench", "rounds", "--rounds", "3", "--metric", "value", *flags, status=status)

    def test_exit_status_says_publishable(self):
        # Contention is the machine's own, so a publishable run cannot be forced: both statuses are right for these.
        r = subprocess.run([CORE, "bench", "rounds", "--rounds", "3", "--metric", "value", "--json", "--arm", "a=echo '{\"value\": 10}'",
                            "--arm", "b=echo '{\"value\": 11}'"], capture_output=True, text=True)
        record = json.loads(r.stdout)
        self.assertEqual(r.returncode, 0 if record["run"]["publishable"] else 2)
        comparison, = record["results"]["comparisons"]
        self.assertAlmostEqual(comparison["ratio"], 1.1, delta=1e-12)
        self.assertTrue(comparison["resolved"])

    def test_noise_is_refused(self):
        noisy = "a=echo \"{\\\"value\\\": $(shuf -i 100-999 -n 1)}\""
        r = self.arms("--arm", noisy, "--arm", "b=echo '{\"value\": 100}'", status=2)
        self.assertIn("not publishable", r.stdout)

    def test_bad_arms(self):
        self.assertIn("NAME=COMMAND", self.arms("--arm", "x", "--arm", "y", status=1).stderr)
        self.assertIn("exit status 0", self.arms("--arm", "a=false", "--arm", "b=true", status=1).stderr)
        self.assertIn("JSON", self.arms("--arm", "a=echo x", "--arm", "b=echo y", status=1).stderr)

    def test_interrupt_keeps_what_it_has(self):
        with tempfile.TemporaryDirectory() as t:
            runs = pathlib.Path(t, "runs")
            runs.touch()
            arm = f"echo >>'{runs}'; echo '{{\"value\": 1}}'"
            p = subprocess.Popen([CORE, "bench", "rounds", "--rounds", "100000", "--metric", "value", "--record", t + "/evidence",
                                  "--arm", "a=" + arm, "--arm", "b=" + arm], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            while runs.stat().st_size < 31:  # the warm-up and nine rounds of three are done
                time.sleep(0.01)
            p.send_signal(signal.SIGINT)
            p.communicate(timeout=300)
            self.assertEqual(p.returncode, 130)
            record = json.loads(next(pathlib.Path(t, "evidence").iterdir()).read_text())
            self.assertTrue(record["results"]["interrupted"])
            self.assertGreaterEqual(record["results"]["rounds"], 9)
            self.assertLess(record["results"]["rounds"], 100000)


class Synth(unittest.TestCase):
    def test_is_a_checkpoint_with_finite_logits(self):
        with tempfile.TemporaryDirectory() as t:
            for bits in ("4", "8", "16"):
                folder = pathlib.Path(t) / bits
                run(CORE, "synth", "--preset", "tiny", "--bits", bits, "-o", folder)
                ids = pathlib.Path(t) / "ids.txt"
                ids.write_text("1 2 3 4 5 6 7 8 9")
                result = json.loads(run(CORE, "perplexity", "-m", folder, ids, "--json").stdout)
                # 512 tokens that nothing was learned about.
                self.assertTrue(50 < result["perplexity"] < 50000, result["perplexity"])
            again = pathlib.Path(t) / "again"
            run(CORE, "synth", "--preset", "tiny", "-o", again)
            self.assertEqual((again / "model.safetensors").read_bytes(),
                             (pathlib.Path(t) / "4" / "model.safetensors").read_bytes())
            run(CORE, "synth", "--preset", "tiny", "--seed", "2", "-o", again)
            self.assertNotEqual((again / "model.safetensors").read_bytes(),
                                (pathlib.Path(t) / "4" / "model.safetensors").read_bytes())

    def test_bad_input(self):
        with tempfile.TemporaryDirectory() as t:
            self.assertIn("tiny", run(CORE, "synth", "--preset", "huge", "-o", t, status=2).stderr)
            self.assertIn("--bits", run(CORE, "synth", "--preset", "tiny", "--bits", "7", "-o", t, status=2).stderr)


class Equal(unittest.TestCase):
    def test_flag_sets(self):
        base = [CORE, "bench", "equal", "--baseline", BIN / "mlxcel", "-m", MODEL, "-p", "Name three colours.", "-n", "12"]
        self.assertIn("EQUAL", run(*base, "--arm-flags=-t 1").stdout)
        self.assertIn("DIFFERS", run(*base, "--arm-flags=--repetition-penalty 1.9", status=1).stdout)
        self.assertIn("INCONCLUSIVE", run(*base, status=2).stdout)


class Kernel(unittest.TestCase):
    def test_names_the_path_before_any_number(self):
        r = run(CORE, "bench", "kernel", "rms_norm", "--samples", "3", "--cold-l2", "--csv", MLXCEL_BENCH_LLC_BYTES="1000000")
        lines = r.stdout.splitlines()
        self.assertTrue(lines[0].startswith("# dispatch path: rms_norm/"), lines[0])
        self.assertIn("memory mode=cold, last-level cache 1000000 bytes", r.stdout)
        self.assertTrue(lines[-1].endswith(f",cold,{math.ceil(2 * 1000000 / (8 * 8192))}"), lines[-1])

    def test_every_folder_runs(self):
        names = run(CORE, "bench", "kernel", "x", status=1).stderr
        for folder in sorted((ROOT / "src" / "kernels").iterdir()):
            # quant: formats, matmul multiplies each of them; cuda: what GPU kernels share
            if folder.is_dir() and folder.name not in ("quant", "cuda"):
                self.assertIn(folder.name, names)


if __name__ == "__main__":
    quick = [n for n, c in list(globals().items()) if isinstance(c, type) and issubclass(c, unittest.TestCase) and c is not Watch]
    unittest.main(argv=sys.argv[:1] + (sys.argv[2:] or quick), verbosity=2)
