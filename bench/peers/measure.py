"""What the peer scripts share: timing in turns, medians, the machine's facts, and the record they print."""
import json
import os
import platform
import statistics
import sys
import time


def median_seconds(run, reps, before=None):
    """Median time of run() after one unmeasured round; before() prepares each round and is not timed."""
    times, begin = [], time.perf_counter()
    for done in range(reps + 1):
        if before:
            before()
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
        show_progress(done + 1, reps + 1, time.perf_counter() - begin)
    return statistics.median(times[1:]), times[1:]


def show_progress(done, total, seconds):
    """On a terminal alone, in one line that goes when all is done."""
    if sys.stderr.isatty():
        left = int(seconds / done * (total - done))
        print(f"\r\033[Kround {done} of {total}, {left // 60}:{left % 60:02d} left" if done < total else "\r\033[K", end="",
              file=sys.stderr, flush=True)


def machine():
    """CPU, cores that this process may use, kernel: enough to tell two machines apart."""
    cpu = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as f:
            cpu = next((line.split(":", 1)[1].strip() for line in f if line.startswith("model name")), cpu)
    except OSError:
        pass
    return {"cpu": cpu, "cores": len(os.sched_getaffinity(0)), "system": f"{platform.system()} {platform.release()}"}


def rates(tokens, seconds, all_seconds):
    """Tokens per second: the median, and each round so that a reader sees the spread."""
    return {"tok_s": round(tokens / seconds, 2), "rounds": [round(tokens / s, 2) for s in all_seconds]}


def print_record(**fields):
    """Also under the names that mlxcel's records use, so that a peer is an arm of `mlxcel bench rounds`."""
    fields["results"] = {f"{name}_tok_s": fields[name]["tok_s"] for name in ("prefill", "decode") if name in fields}
    print(json.dumps({**fields, "machine": machine(), "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}))
