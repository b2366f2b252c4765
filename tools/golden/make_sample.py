#!/usr/bin/env python3
"""Sampling by its definition, in numpy doubles with a sort: writes tests/golden/sample.json.

  pip install numpy
  python3 tools/golden/make_sample.py [--check]

Each case holds logits, parameters, the probability of each token after all filters, and the tokens
drawn at positions 0, 1, ... with the keyed noise. Positions at which two candidates are closer than
f32 can tell, and cases in which a filter's edge is, are not written.
"""
import argparse
import json
import pathlib
import sys

import numpy as np

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden" / "sample.json"
MASK = 0xFFFFFFFF


def philox4x32(counter, key):
    c, k = list(counter), list(key)
    for _ in range(10):
        p, q = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(q >> 32) ^ c[1] ^ k[0], q & MASK, (p >> 32) ^ c[3] ^ k[1], p & MASK]
        k = [(k[0] + 0x9E3779B9) & MASK, (k[1] + 0xBB67AE85) & MASK]
    return c


def gumbel(seed, choice, position, vocab):
    key = (seed & MASK, seed >> 32)
    words = []
    for block in range((vocab + 3) // 4):
        words += philox4x32((block, choice, position & MASK, position >> 32), key)
    u = (np.array(words[:vocab], dtype=np.float64) + 0.5) / 2.0**32
    return -np.log(-np.log1p(-u))


def edited(case):
    l = np.array(case["logits"], dtype=np.float64)
    for token, repeat, add in case["edits"]:
        l[token] = (l[token] / repeat if l[token] > 0 else l[token] * repeat) + add
    if case["forbidden"]:
        l[case["forbidden"]] = -np.inf
    return l


def filtered(case, l):
    """The members of the set, and whether an edge of it is too close to call in f32."""
    order = sorted(range(len(l)), key=lambda t: (-l[t], t))
    p = np.exp(l - l.max())
    p /= p.sum()
    members, before, close = [], 0.0, False
    for rank, t in enumerate(order):
        if rank > 0:
            if l[t] == -np.inf:
                break
            if case["top_k"] > 0 and rank >= case["top_k"]:
                break
            if case["top_p"] < 1:
                close |= abs(before - case["top_p"]) < 1e-5
                if before >= case["top_p"]:
                    break
            if case["min_p"] > 0:
                close |= abs(p[t] / p[order[0]] - case["min_p"]) < 1e-5 * case["min_p"]
                if p[t] < case["min_p"] * p[order[0]]:
                    break
        members.append(t)
        before += p[t]
    return members, close


def solve(case, positions):
    l = edited(case)
    members, close = filtered(case, l)
    if close:
        return None
    raw = np.array(case["logits"], dtype=np.float64)
    case["logprobs"] = list(raw - raw.max() - np.log(np.exp(raw - raw.max()).sum()))
    scaled = np.full(len(l), -np.inf)
    scaled[members] = l[members] / case["temperature"]
    weight = np.exp(scaled - scaled.max())
    case["probabilities"] = list(weight / weight.sum())
    case["positions"], case["tokens"] = [], []
    for i in range(positions):
        position = i + case["first_position"]
        x = scaled + gumbel(case["seed"], case["choice"], position, len(l))
        best, second = np.argsort(-x, kind="stable")[:2]
        if x[best] - x[second] < 1e-4:
            continue
        case["positions"].append(position)
        case["tokens"].append(int(best))
    return case


def cases():
    rng = np.random.default_rng(20)

    def logits(vocab, spread):
        return [float(np.float32(v)) for v in rng.normal(0, spread, vocab)]

    base = dict(edits=[], forbidden=[], temperature=1.0, top_k=0, top_p=1.0, min_p=0.0, seed=42,
                choice=0, first_position=0)
    yield "five", dict(base, logits=[5.0, 4.0, 3.0, 2.0, 1.0], temperature=0.5)
    yield "plain", dict(base, logits=logits(50, 2.0))
    yield "cold", dict(base, logits=logits(50, 2.0), temperature=0.3)
    yield "hot, wide seed", dict(base, logits=logits(90, 3.0), temperature=2.5,
                                 seed=0x123456789ABCDEF0, choice=3, first_position=2**33)
    yield "top_k", dict(base, logits=logits(130, 2.0), temperature=1.5, top_k=7)
    yield "top_p", dict(base, logits=logits(130, 2.0), temperature=1.5, top_p=0.6)
    yield "min_p", dict(base, logits=logits(130, 2.0), temperature=1.5, min_p=0.125)
    yield "all filters", dict(base, logits=logits(200, 2.0), temperature=1.25, top_k=30, top_p=0.9,
                              min_p=0.0625)
    yield "edits", dict(base, logits=logits(60, 2.0), top_p=0.9,
                        edits=[[3, 1.5, 0.0], [17, 1.0, -100.0], [18, 1.25, 0.5], [59, 1.0, 4.0]])
    yield "mask", dict(base, logits=logits(70, 2.0), top_k=10,
                       forbidden=[t for t in range(70) if t % 3 or t > 60])
    ties = logits(64, 1.0)
    for t in range(0, 64, 4):
        ties[t] = 2.0
    yield "ties", dict(base, logits=ties, top_k=5)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    solved = []
    for name, case in cases():
        result = solve(case, 60)
        if result is None:
            sys.exit(f"{name}: an edge of the set is too close to call")
        solved.append(dict(name=name, **result))
    known = [dict(counter=list(c), key=list(k), words=philox4x32(c, k)) for c, k in (
        ((0, 0, 0, 0), (0, 0)), ((MASK,) * 4, (MASK,) * 2),
        ((0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0)))]
    text = json.dumps(dict(philox=known, cases=solved), indent=1) + "\n"
    if check:
        old, new = json.loads(OUT.read_text()), json.loads(text)
        for a, b in zip(old["cases"], new["cases"], strict=True):
            for key in ("logprobs", "probabilities"):  # numpy's exp may differ in the last bit
                np.testing.assert_allclose(a.pop(key), b.pop(key), rtol=1e-12)
        if old != new:
            sys.exit(f"{OUT} differs")
    else:
        OUT.write_text(text)


if __name__ == "__main__":
    main()
