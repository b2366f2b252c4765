#!/usr/bin/env python3
"""Breaks one line at a time and sees a test fail: a test that cannot fail is no test.

  python3 tools/mutants.py BUILD_FOLDER [families|evidence] [FILE]...     # needs a clean src/; leaves it as it was
  python3 tools/mutants.py BUILD_FOLDER evidence --seconds 500 --seen FILE   # again and again, until nothing is left

families: a branch of a model, against the golden logits. evidence: a rule, a refusal or a statistic, against the test that
docs/evidence.md names. Each row is a file, the code to replace, and the code that undoes what it does; in evidence also the test
that must fail. FILEs are parts of names: only their rows. A mutant that survives is an error, and so is a row whose code is not there any more.
--seen keeps the rows that were caught, with the digest of their source, and skips them; --seconds ends behind a row, with status 3 if
some are left. Only the one test program of a row is built.
"""
import argparse
import hashlib
import json
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
FAMILIES = [
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

# Files of src/evidence/ and src/cli/; the test is a filter of evidence_test, or a class of an e2e script.
EVIDENCE = [
    # What two tables may not be compared for.
    ("compare.cc", "if (before_.name.kind != after_.name.kind) {", "if (false) {", "Compare.*"),
    ("compare.cc", "if (!o_.reference && before_.name.harness != after_.name.harness) {", "if (false) {", "Compare.*"),
    ("compare.cc", 'if (a.at("hardware") != b.at("hardware"))', "if (false)", "Compare.*"),
    ("compare.cc", "if (gap > o_.max_date_gap_days) {", "if (false) {", "Compare.*"),
    ("compare.cc", "if (!is_baseline(a)) {", "if (false) {", "Compare.*"),
    ("compare.cc", "if ((!known || x != y) && !o_.allow_commit_change) {", "if (known && x != y && !o_.allow_commit_change) {", "Compare.*"),
    ("compare.cc", "if ((!known || x != y) && !o_.allow_commit_change) {", "if (!known && !o_.allow_commit_change) {", "Compare.*"),
    ("compare.cc", 'refuse("no pair of rows can be compared");', "", "Compare.*"),
    ("compare.cc", "if (std::abs(*x - *y) > o_.prompt_tolerance * std::max(*x, *y)) {", "if (false) {", "Compare.*"),
    ("compare.cc", '{"batch", "width", "mode", "rotation", "endpoint", "texts"}', '{"endpoint"}', "Compare.*"),
    ("compare.cc", 'names_.embeds(row.at("model"))) {', "false) {", "Compare.*"),
    ("compare.cc", '} else if (row.status() != "ok") {', "} else if (false) {", "Compare.*"),
    ("compare.cc", "twice.insert(model);", "", "Compare.*"),
    ("compare.cc", '*day_number(row.at("date")) > *day_number(a.at("date"))) {', "false) {", "Compare.Superseded*"),
    ("compare.cc", "t.name.harness != before_.name.harness) {", "false) {", "Compare.Superseded*"),
    ("compare.cc", 'if (known && x == y && x.ends_with("-dirty"))', "if (false)", "Compare.Warns*"),
    ("compare.cc", "p.moved = std::abs(p.ratio - 1) > o_.moved_threshold;", "p.moved = false;", "Compare.KnownNumbers"),
    ("compare.cc", "c_.median_ratio = median(ratios);", "c_.median_ratio = ratios[0];", "Compare.KnownNumbers"),
    ("compare.cc", "std::exp(logs / static_cast<double>(ratios.size()))", "std::exp(logs)", "Compare.KnownNumbers"),
    ("compare.cc", 'if (row.at("concurrency").empty()) return "";', 'return "";', "Compare.Loads*"),
    ("calendar.h", "std::chrono::sys_days{date}.time_since_epoch().count()", "part[0] * 10000 + part[1] * 100 + part[2]", "Calendar.*"),
    ("calendar.h", "if (!date.ok()) return std::nullopt;", "", "Calendar.*"),
    # Tables.
    ("table.cc", "if (!seen.insert(c).second)", "if (seen.insert(c), false)", "Table.*"),
    ("table.cc", "if (!ended || cells.size() != t.columns.size()) {", "if (cells.size() != t.columns.size()) {", "Table.*"),
    ("table.cc", "if (!ended || cells.size() != t.columns.size()) {", "if (!ended) {", "Table.*"),
    ("table.cc", 'if (!day_number(row.at("date"))) {', "if (false) {", "Table.*"),
    ("csv.cc", 'return ms("results.prompt_tokens", "metrics.prefill_tok_s.median")', 'return ms("results.gen_tokens", "metrics.prefill_tok_s.median")', "Csv.*"),
    ("csv.cc", '== "true" ? "ok" : "NOT_PUBLISHABLE"', '== "" ? "NOT_PUBLISHABLE" : "ok"', "Csv.*"),
    # Records.
    ("check_record.cc", "if (sha256_hex(zeroed) != digest)", "if (false)", "Record.*"),
    ("check_record.cc", "if (!file.empty() && !file.ends_with(", "if (false && !file.ends_with(", "Record.*"),
    ("check_record.cc", "if (publishable && (contended || unsteady))", "if (false && (contended || unsteady))", "Record.*"),
    ("check_record.cc", "if (publishable && (contended || unsteady))", "if (publishable && ((contended && false) || unsteady))", "Record.*"),
    ("check_record.cc", 'if (publishable == !r.at("refusals").get_array().empty())', "if (false)", "Record.*"),
    ("check_record.cc", 'if (!equal(m.at("median").to_number<double>(), median(samples)))', "if (false)", "Record.*"),
    ("check_record.cc", 'if (!equal(m.at("spread").to_number<double>(), spread(samples)))', "if (false)", "Record.*"),
    ("check_record.cc", "if (v.is_string() && has_absolute_path(v.get_string()))", "if (false && has_absolute_path(v.get_string()))", "Record.*"),
    ("check_record.cc", "if (digest.size() != 64 || !is_hex(digest))", "if (false && !is_hex(digest))", "Record.*"),
    ("record.cc", "O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC", "O_WRONLY | O_CREAT | O_CLOEXEC", "Record.*"),
    ("record.cc", "if (text.find(name) != std::string::npos)", "if (false)", "Record.*"),
    ("record.cc", "if (m.steady && spread(m.samples) > kMostSpread) {", "if (false) {", "Record.*"),
    ("record.cc", "if (run.contention.fraction() > kMostContended) {", "if (false) {", "Record.*"),
    ("figures.cc", 'if (publishable == nullptr || !publishable->is_bool() || !publishable->get_bool())', "if (publishable == nullptr)", "Figures.*"),
    ("figures.cc", 'if (commit == "unknown" || commit.ends_with("-dirty")) {', 'if (commit == "unknown") {', "Figures.*"),
    ("figures.cc", 'if (old != *made + "\\n")', "if (false)", "Figures.*"),
    ("history.cc", "if (held) continue;", "if (held || true) continue;", "History.*"),
    ("history.cc", "if (time && *time < begin) {", "if (true || (time && *time < begin)) {", "History.*"),
    ("history.cc", "if (time && *time < begin) {", "if (false && time && *time < begin) {", "History.*"),
    ("history.cc", 'return shallow.output.starts_with("true")', "return false", "History.*"),
    # The program and the models of a sweep.
    ("stale.cc", "if (known.status != 0)", "if (false)", "Stale.*"),
    ("stale.cc", "if (!dirty || (!error && edited > built))", "if (!error && edited > built)", "Stale.*"),
    ("stale.cc", "if (!dirty || (!error && edited > built))", "if (!dirty || (false && edited > built))", "Stale.*"),
    ("stale.cc", '"ls-files --others --exclude-standard"', '"ls-files --unmerged"', "Stale.*"),
    ("sweep.cc", "static_cast<double>(m.bytes) * o.memory_factor >", "static_cast<double>(m.bytes) >", "Sweep.*"),
    ("sweep.h", "kMemoryShare = 0.85", "kMemoryShare = 1", "Sweep.*"),
    ("sweep.cc", "if (o.dedup) mark_duplicates(models);", "mark_duplicates(models);", "Sweep.*"),
    ("sweep.cc", "o.last.contains(e.model.name) ? 2 : 1", "o.last.contains(e.model.name) ? 1 : 1", "Sweep.*"),
    ("sweep.cc", 'if (row.at("date") < date) continue;', "if (!date.empty()) continue;", "Sweep.*"),
    ("sweep.cc", "big || after_big ? o.big_cooldown_s", "big || (after_big && false) ? o.big_cooldown_s", "Sweep.*"),
    ("sweep.cc", "if (hooks.interrupted() && !measured_now) {", "if (false) {", "Sweep.*"),
    ("sweep.cc", "if (measured && hooks.interrupted()) {", "if (false) {", "Sweep.*"),
    ("sweep.cc", 'if (row.status.starts_with("FAIL:")) failed +=', "if (false) failed +=", "Sweep.*"),
    ("model_store.cc", "digest.update(buffer.data(), static_cast<size_t>(in.gcount()));", "", "ModelStore.*"),
    ("model_store.cc", "std::vector<std::string> keys = {m.real_path};", "std::vector<std::string> keys = {m.path};", "ModelStore.*"),
    ("model_store.cc", 'return a.string() + "/" < b.string() + "/";', "return a.string() < b.string();", "ModelStore.*"),
    ("model_store.cc", 'if (!fs::exists(p / "config.json", error)) return std::string();', 'if (!fs::exists(p / "config.json", error)) return std::string("x");', "ModelStore.*"),
    ("peer.cc", "if (static_cast<int>(all.size()) != count)", "if (false)", "Peer.*"),
    ("peer.cc", "if (found == nullptr || !found->is_int64() || found->get_int64() != wanted)", "if (false)", "Peer.*"),
    # Statistics.
    ("statistics.cc", "double median(std::vector<double> v) { return quantile(std::move(v), 0.5); }", "double median(std::vector<double> v) { return v[0]; }", "Statistics.*"),
    ("statistics.cc", "(*high - *low) / std::abs(middle)", "(*high - *low) / *high", "Statistics.*"),
    ("statistics.cc", "std::abs(null_middle), chance(noise, 1)", "chance(noise, 1)", "Statistics.*"),
    ("statistics.cc", "constexpr double kCertain = 0.999;", "constexpr double kCertain = 0.5;", "Statistics.*"),
    ("rounds.cc", "order[i] = (round / 2 + i) % all;", "order[i] = i;", "Rounds.*"),
    ("rounds.cc", "if (round % 2 == 1) std::reverse(order.begin(), order.end());", "", "Rounds.*"),
    ("rounds.cc", "if (round < 0 || r.interrupted) continue;", "if (r.interrupted) continue;", "Rounds.*"),
    ("rounds.cc", "if (rounds < kFewestRounds) {", "if (rounds < 1) {", "Rounds.*"),
    ("width_cost.cc", "if (n < 3 || largest <= 2 * smallest) {", "if (n < 2) {", "*Cost*"),
    ("width_cost.cc", "m.a = (y - m.b * x) / n;", "m.a = y / n;", "*Cost*"),
    ("width_cost.cc", "w.residual = w.cost - w.fitted;", "w.residual = 0;", "*Cost*"),
    ("trace_compare.cc", "c.decided_differ += differ && between > gap ? 1 : 0;", "c.decided_differ += differ ? 1 : 0;", "TraceCompare.*"),
    ("trace_compare.cc", '{"ids_sha256", "chunk", "prefill"}', '{"ids_sha256"}', "TraceCompare.*"),
    ("trace_compare.cc", "if (x.position != y.position || x.target != y.target) {", "if (false) {", "TraceCompare.*"),
    ("trace_compare.cc", "if (a.rows.size() != b.rows.size()) {", "if (false) {", "TraceCompare.Refusals"),
    ("trace.cc", "fine &= std::isfinite(value);", "fine &= true;", "TraceText.*"),
    ("tune.cc", "return 1.4826 * median(std::move(deviations));", "return 0;", "Tune.*"),
    ("tune.cc", "if (!v.equal) {", "if (false) {", "Tune.*"),
    ("tune.cc", "kTuneLeast * base);", "0.0);", "Tune.*"),
    ("tune.cc", "const bool ours = e.key.device == device && e.key.version == version;", "const bool ours = e.key.device == device && (e.key.version == version || true);", "Tune.*"),
    ("kernel_bench.cc", "std::clamp<int64_t>((2 * cache_bytes + bytes - 1) / bytes, 1, kMost)", "std::clamp<int64_t>((2 * cache_bytes + bytes - 1) / bytes, 1, kMost + (1 << 20))", "KernelBench.Rotation*"),
    ("kernel_bench.cc", "(2 * cache_bytes + bytes - 1) / bytes", "(cache_bytes + bytes - 1) / bytes", "KernelBench.Rotation*"),
    ("kernel_bench.cc", "if (piped) forward();", "if (piped && false) forward();", "Scenario.*"),
    ("load.cc", "if (options.ttft_limit_s > 0 && o.ttft_s() > options.ttft_limit_s) return false;", "", "Load*"),
    ("load.cc", "return mean <= options.itl_limit_s;", "return mean <= options.itl_limit_s || true;", "Load*"),
    ("load.cc", "if (o.rate > 0) due -= std::log(uniform(random)) / o.rate;", "if (o.rate > 0) due -= 0 * std::log(uniform(random)) / o.rate;", "Load*"),
    ("load.cc", "f.throughput_tok_s = (options.embeds ? f.prompt_tokens : f.output_tokens) / seconds;", "f.throughput_tok_s = f.prompt_tokens / seconds;", "Load*"),
    ("catalog.cc", "names.insert(old->second.begin(), old->second.end());", "", "Catalog.*"),
    ("report.cc", 'if (all.size() < 2) return "";', 'return "";', "Report.*"),
    ("report.cc", 'if (text_at(r.content, "run.publishable") != "true") {', "if (false) {", "Report.*"),
    ("equal.cc", "} else if (first != second) {", "} else if (false) {", "Equal.*"),
    ("equal.cc", "if (blank(first) || blank(arm)) {", "if (false) {", "Equal.*"),
    ("equal.cc", 'if (w.starts_with("--temp")) return true;', "", "Equal.*"),
    ("equal.cc", 'reasoning ? "--show-reasoning " : ""', 'reasoning ? "" : ""', "Equal.*"),
    ("equal.cc", "if (std::filesystem::equivalent(o.baseline.program, o.arm.program, error))", "if (false)", "Equal.*"),
    ("quiet.cc", "const bool stopped = p.state == 'T' || p.state == 't' || p.state == 'Z';", "const bool stopped = false;", "Quiet.*"),
    ("quiet.cc", "for (int i = 0; i < count; i++) resume(all[i]);", "", "Quiet.*"),
    ("quiet.cc", "for (const ProcessEntry& p : paused_) resume({p.id, p.started});", "", "Quiet.*"),
    # Commands.
    ("cli/bench_sweep.cc", 'if (environment("BENCH_ALLOW_STALE_BINARY") == "1") return Ok{};', "return Ok{};", "evidence Sweep.test_stale_program"),
    ("cli/bench_sweep.cc", 'if (row.status.starts_with("FAIL:")) return 1;', 'if (false && row.status.starts_with("FAIL:")) return 1;', "evidence Sweep.test_all"),
    ("cli/bench_sweep.cc", "tell_duplicates(plan);", "if (false) tell_duplicates(plan);", "evidence Sweep.test_all"),
    ("cli/table_file.cc", "if (!replace && ours && name == harness + tail) {", "if (false && !replace && ours && name == harness + tail) {", "evidence Sweep.test_all"),
    ("cli/bench_compare.cc", "return c.pairs.empty() ? 1 : 0;", "return 0;", "evidence Compare"),
    ("kernel_bench.cc", "if (base.path != arm.path) return Ok{};", "if (base.path != arm.path || true) return Ok{};", "Scenario.*"),
    ("cli/evidence.cc", "return problems.empty() ? 0 : 1;", "return 0;", "evidence History"),
    ("cli/trace.cc", "return a.most >= 0 && share > a.most ? 1 : 0;", "return a.most >= 0 && share > a.most && false ? 1 : 0;", "evidence Trace"),
    ("cli/bench_rounds.cc", "return why.empty() ? 0 : kNotPublishable;", "return 0;", "bench Rounds.test_noise_is_refused"),
    ("cli/bench_rounds.cc", "return !interrupted();", "return true;", "bench Rounds.test_interrupt_keeps_what_it_has"),
]


def run(*command):
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def family_rows():
    command = ["tests/golden_test", "--gtest_filter=*ReferenceEqualsTheOracle*"]
    return [(*row, "golden_test", command) for row in FAMILIES]


def evidence_rows():
    rows = []
    for name, code, broken, test in EVIDENCE:
        path = f"src/{name}" if name.startswith("cli/") else f"src/evidence/{name}"
        script, _, part = test.partition(" ")
        if part:
            rows.append((path, code, broken, "mlxcel-core", [sys.executable, ROOT / f"tests/e2e/{script}_test.py", "bin", part]))
        else:
            rows.append((path, code, broken, "evidence_test", ["src/evidence/evidence_test", f"--gtest_filter={test}"]))
    return rows


SETS = {"families": family_rows, "evidence": evidence_rows}


def outcome(build, target, command):
    built = run("cmake", "--build", build, "--target", target)
    if built.returncode != 0:
        return "does not build:\n" + built.stdout[-1000:]
    words = [str(build / w) if i == 0 and not str(w).startswith("/") else str(w) for i, w in enumerate(command)]
    words = [str(build / "bin") if w == "bin" else w for w in words]
    return "caught" if run(*words).returncode != 0 else "SURVIVED"


def judged(build, path, code, broken, target, command):
    whole = path.read_text()
    if " ".join(code.split()) not in " ".join(whole.split()):
        return "is not there"
    if code not in whole:
        return "is broken over lines"
    try:
        path.write_text(whole.replace(code, broken))
        return outcome(build, target, command)
    finally:
        path.write_text(whole)


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("build", type=pathlib.Path)
    p.add_argument("set", nargs="?", choices=sorted(SETS), default="families")
    p.add_argument("files", nargs="*", metavar="FILE")
    p.add_argument("--seen", type=pathlib.Path)
    p.add_argument("--seconds", type=float, default=float("inf"))
    return p.parse_args()


def main():
    a, end, bad, left, targets = arguments(), time.monotonic(), 0, 0, set()
    end += a.seconds
    rows = [r for r in SETS[a.set]() if not a.files or any(part in r[0] for part in a.files)]
    seen = set(a.seen.read_text().splitlines()) if a.seen and a.seen.exists() else set()
    for name, code, broken, target, command in rows:
        path = ROOT / name
        digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        key = json.dumps([digest, name, code, broken, command[-1]])
        if key in seen:
            continue
        if time.monotonic() >= end:
            left += 1
            continue
        targets.add(target)
        result = judged(a.build.absolute(), path, code, broken, target, command)
        bad += result != "caught"
        print(f"{result}: {name}: {code}", flush=True)
        if a.seen and result == "caught":
            with a.seen.open("a") as f:
                f.write(key + "\n")
    if targets:
        run("cmake", "--build", a.build.absolute(), "--target", *targets)
    print(f"{len(rows) - bad - left} passed, {bad} failed" + (f", {left} left" if left else ""))
    sys.exit(1 if bad else 3 if left else 0)


if __name__ == "__main__":
    main()
