#!/usr/bin/env python3
"""Breaks one branch of a model family at a time and sees the golden test fail: a test that cannot fail is no test.

  python3 tools/mutants.py BUILD_FOLDER     # needs a clean src/models and src/ops; leaves them as they were

Each row is a file, the code to replace, and the code that undoes what it does. A mutant that survives is an error, and so is
a row whose code is not there any more.
"""
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
MUTANTS = [
    ("src/models/rope.cc", "if (wavelength > original / low) {", "if (wavelength > 1e300) {"),
    ("src/models/rope.cc", "} else if (wavelength >= original / high) {", "} else if (wavelength >= 1e300) {"),
    ("src/models/rope.cc", "for (double& f : r.inv_freq) f /= factor;", "for (double& f : r.inv_freq) f /= 1 + 0 * factor;"),
    ("src/models/rope.cc", "r.inv_freq[i] /= factors[i];", ""),
    ("src/models/rope.cc", "std::sqrt(1 + exact_log(stretch) / exact_log(original))", "std::sqrt(1.0)"),
    ("src/models/rope.cc", "std::clamp((static_cast<double>(i) - first) / (last - first), 0.0, 1.0)", "1.0"),
    ("src/models/rope.cc", ": yarn_magnitude(factor, 1);", ": 1;"),
    ("src/models/gemma.cc", "g == 1 ? c_.window : 0", "0"),
    ("src/models/gemma.cc", "l.at.group == 1 ? c_.window_rope : c_.full_rope", "c_.full_rope"),
    ("src/models/gemma.cc", "attend_[g].softcap = c_.attention_cap;", ""),
    ("src/models/gemma.cc", "c_.logit_cap > 0 ?", "false ?"),
    ("src/models/gemma.cc", "g.attention_scale = inverse_sqrt(scalar);", "g.attention_scale = inverse_sqrt(32);"),
    ("src/models/gemma.cc", "Split::kNone, 0, 1}", "Split::kNone, 0, 0}"),
    ("src/models/llama.cc", "if (l.rope) {", "if (true) {"),
    ("src/models/llama.cc", "has.qkv_bias = bias ||", "has.qkv_bias = false &&"),
    ("src/models/granite.cc", "m_.residual", "1.0f"),
    ("src/models/granite.cc", "1 / m_.logits", "1.0f"),
    ("src/models/granite.cc", ", m_.embedding)", ", 1.0f)"),
    ("src/models/olmo2.cc", "norm(k, l.k_norm)", "k"),
    ("src/models/qwen3.cc", "op.rms_norm(q, l.q_norm, d_.eps)", "q"),
    ("src/models/qwen3.cc", "!named && (i + 1) % step == 0", "true"),
    ("src/models/qwen3.cc", "m.spec.used = static_cast<int>(used);", "m.spec.used = 1;"),
    ("src/backends/ref/ref.cc", "i < (spec.normalize ? spec.used : experts)", "i < experts"),
    ("src/models/phi3.cc", "make_unique<Phi3>(d, std::move(rope)", "make_unique<Phi3>(d, plain_rope(16, 10000)"),
    ("src/ops/weight.h", "return head * head_dim + 2 * (i % half) + i / half;", "return head * head_dim + i + 0 * half;"),
]


def run(*command):
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def outcome(build):
    built = run("cmake", "--build", build, "--target", "golden_test")
    if built.returncode != 0:
        return "does not build:\n" + built.stdout[-1000:]
    tested = run(pathlib.Path(build) / "tests" / "golden_test", "--gtest_filter=*ReferenceEqualsTheOracle*")
    return "caught" if tested.returncode != 0 else "SURVIVED"


def main():
    build, bad = pathlib.Path(sys.argv[1]).absolute(), 0
    for name, code, broken in MUTANTS:
        path = ROOT / name
        whole = path.read_text()
        if " ".join(code.split()) not in " ".join(whole.split()):
            result = "is not there"
        else:
            try:
                path.write_text(whole.replace(code, broken))
                result = outcome(build) if code in whole else "is broken over lines"
            finally:
                path.write_text(whole)
        bad += result != "caught"
        print(f"{result}: {name}: {code}", flush=True)
    run("cmake", "--build", build, "--target", "golden_test")
    print(f"{len(MUTANTS) - bad} passed, {bad} failed")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
