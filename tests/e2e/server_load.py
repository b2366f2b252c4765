#!/usr/bin/env python3
"""Many clients at once, good and bad: every well-formed request must get exactly its own answer.

  server_load.py BIN_FOLDER [--requests 5000] [--bodies 400] [--clients 256] [--model PATH] [--json]

The answer of each body is made first, alone, on a server without prefix cache: equal bytes are asked of the loaded one,
whatever ran beside it, hit the cache or was preempted. Of the requests 10 % leave at a random point, 5 % are malformed and
5 % too long. Checked too: memory is flat over the last half, no slot stays taken, the engine's books balance.
"""
import argparse
import asyncio
import json
import pathlib
import random
import signal
import statistics
import sys
import time

from server_harness import Server, default_model

WORDS = ("time year people way day man thing woman life child world school state family group country problem hand part "
         "place case week company system question work number night point home water room mother area money story "
         "fact month lot right study book eye job word issue side kind head house").split()
MALFORMED = [b"{", b"[]", b"\xff\xfe", b'{"messages": 3}', b'{"prompt": "x", "temperature": "hot"}', b'{"prompt": [1, "a"]}',
             b'{"prompt": "x", "n": 0}', b'{"prompt": "x \\ud83d"}', b'{"a":' * 5000 + b"1" + b"}" * 5000,
             b'{"prompt": "x", "logit_bias": {"abc": 1}}', b'{"prompt": "x", "stop": 7}', b""]
CONTEXT = 512


def make_bodies(count, seed=7):
    r = random.Random(seed)
    bodies = []
    for i in range(count):
        words = [r.choice(WORDS) for _ in range(r.randint(8, 230))]
        if i % 3 == 0:  # shared beginnings, so that the prefix cache has something to find
            words = WORDS[:min(len(words), 130)] + words[130:] + [r.choice(WORDS)]
        body = {"max_tokens": r.randint(1, 48), "temperature": r.choice([0, 0, 0.8, 1.2]), "seed": r.randrange(1 << 31)}
        if i % 2:
            body["messages"] = [{"role": "user", "content": " ".join(words)}]
        else:
            body |= {"prompt": " ".join(words), "ignore_eos": True}
        if i % 7 == 0:
            body |= {"top_p": 0.9, "top_k": 40, "frequency_penalty": 0.5}
        bodies.append(body)
    return bodies


def path_of(body):
    return "/v1/chat/completions" if "messages" in body else "/v1/completions"


class Client:
    """HTTP/1.1 by hand: one connection a request, as rude clients do, or kept."""

    def __init__(self, port):
        self.port = port

    async def post(self, path, data, leave_after=None):
        """(status, body bytes), or None if it left after that many bytes of the answer."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(b"POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" %
                         (path.encode(), len(data)) + data)
            await writer.drain()
            if leave_after is not None:
                if leave_after < 0:
                    await asyncio.sleep(-leave_after)
                else:
                    await reader.read(leave_after + 1)
                writer.transport.abort()
                return None
            answer = await reader.read()
        finally:
            writer.close()
        head, _, rest = answer.partition(b"\r\n\r\n")
        status = int(head.split(b" ")[1])
        if b"chunked" in head.lower():
            body, at = b"", 0
            while (end := rest.find(b"\r\n", at)) >= 0 and (size := int(rest[at:end], 16)):
                body += rest[end + 2:end + 2 + size]
                at = end + 4 + size
            rest = body
        return status, rest


def text_of(answer, stream):
    """What an answer says, with how it ended; and its timings."""
    if not stream:
        a = json.loads(answer)
        c = a["choices"][0]
        return (c["message"]["content"] if "message" in c else c["text"], c["finish_reason"]), a["timings"]
    text, reason, timings = "", None, None
    for line in answer.decode().split("\n\n"):
        if not line.startswith("data: {"):
            continue
        a = json.loads(line[6:])
        assert "error" not in a, a
        timings = a.get("timings", timings)
        for c in a["choices"]:
            text += c["delta"].get("content") or "" if "delta" in c else c["text"]
            reason = c["finish_reason"] or reason
    return (text, reason), timings


async def solo_answers(port, bodies):
    answers = []
    for body in bodies:
        status, answer = await Client(port).post(path_of(body), json.dumps(body).encode())
        assert status == 200, answer
        answers.append(text_of(answer, False)[0])
    return answers


class Load:
    def __init__(self, server, bodies, answers, a):
        self.server, self.bodies, self.answers, self.a = server, bodies, answers, a
        self.random = random.Random(a.seed)
        self.counts = dict.fromkeys(("right", "wrong", "left", "malformed", "too_long", "retried"), 0)
        self.queue_ms, self.ttft_ms, self.memory, self.wrong = [], [], [], []
        self.next = self.done = self.cached = self.tokens = 0

    async def one(self):
        r = self.random
        kind, client = r.random(), Client(self.server.port)
        if kind < 0.05:
            status, _ = await client.post(r.choice(["/v1/completions", "/v1/chat/completions"]), r.choice(MALFORMED))
            assert status == 400, status
            self.counts["malformed"] += 1
            return
        if kind < 0.10:
            body = {"prompt": "word " * (CONTEXT + r.randint(10, 3000)), "stream": r.random() < 0.5}
            status, answer = await client.post("/v1/completions", json.dumps(body).encode())
            assert status == 400 and b"context_length_exceeded" in answer, (status, answer[:200])
            self.counts["too_long"] += 1
            return
        i = r.randrange(len(self.bodies))
        stream = r.random() < 0.7
        data = json.dumps({**self.bodies[i], "stream": stream}).encode()
        leave = None
        if kind < 0.20:  # before anything comes, or in the middle
            leave = r.choice([-r.random() * 2, r.randrange(6000)])
        while True:
            got = await client.post(path_of(self.bodies[i]), data, leave)
            if got is None:
                self.counts["left"] += 1
                return
            if got[0] != 429:
                break
            self.counts["retried"] += 1
            await asyncio.sleep(0.2 + r.random())
        assert got[0] == 200, got
        said, timings = text_of(got[1], stream)
        self.queue_ms.append(timings["queue_ms"])
        self.ttft_ms.append(timings["ttft_ms"])
        self.cached += timings["cache_n"]
        self.tokens += timings["predicted_n"]
        if said == self.answers[i]:
            self.counts["right"] += 1
        else:
            self.counts["wrong"] += 1
            self.wrong.append((i, stream, said, self.answers[i]))

    async def client(self):
        while self.next < self.a.requests:
            self.next += 1
            await self.one()
            self.done += 1

    async def watch(self):
        status = pathlib.Path(f"/proc/{self.server.process.pid}/status")
        while True:
            resident = next(line for line in status.read_text().splitlines() if line.startswith("VmRSS"))
            self.memory.append((self.done, int(resident.split()[1]) / 1024))
            await asyncio.sleep(0.5)

    async def run(self):
        watch = asyncio.create_task(self.watch())
        await asyncio.gather(*(self.client() for _ in range(self.a.clients)))
        watch.cancel()


def check_end(server, load):
    """Everything came back: no request in flight, every page free or kept for later, and the next request works."""
    assert server.until(lambda m: m["mlxcel_requests_in_flight"] == 0), "a slot is stuck"
    stats = server.stats()
    assert stats["mlxcel_requests_failed_total"] == 0, stats
    assert stats["llamacpp:requests_processing"] == stats["llamacpp:requests_deferred"] == 0
    assert stats["mlxcel_kv_pages_free"] + stats["mlxcel_kv_pages_idle"] == stats["mlxcel_kv_pages"], stats
    assert not any(slot["is_processing"] for slot in server.call("/slots")[2])
    assert server.call("/health")[0] == 200
    assert server.call("/v1/completions", {"prompt": "Hi", "max_tokens": 2})[0] == 200
    return stats


def growth(memory, requests):
    """MiB that the second half ends above where it began."""
    late = [m for done, m in memory if done >= requests / 2]
    fifth = max(1, len(late) // 5)
    return statistics.median(late[-fifth:]) - statistics.median(late[:fifth])


def quantiles(values):
    v = sorted(values)
    return {q: round(v[min(len(v) - 1, int(len(v) * q / 100))], 1) for q in (50, 90, 95, 99)}


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("bin")
    ap.add_argument("--requests", type=int, default=5000)
    ap.add_argument("--bodies", type=int, default=400)
    ap.add_argument("--clients", type=int, default=256)
    ap.add_argument("--parallel", type=int, default=64)
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--growth", type=float, default=32, help="MiB that memory may grow over the last half")
    ap.add_argument("--model")
    ap.add_argument("--json", action="store_true", help="the figures on standard output, for mlxcel bench script")
    a = ap.parse_args()
    say = lambda text: print(text, file=sys.stderr, flush=True)
    model = a.model or default_model()
    bodies = make_bodies(a.bodies)
    start = time.time()
    server = Server(model, "--parallel", 1, "-c", CONTEXT, "--no-prompt-cache")
    answers = asyncio.run(solo_answers(server.port, bodies))
    assert server.stop(signal.SIGTERM)[0] == 0
    solo_s = time.time() - start
    say(f"{a.bodies} answers made alone in {solo_s:.0f} s, {len(set(answers))} of them different")
    server = Server(model, "--parallel", a.parallel, "--max-queue-depth", a.clients, "-c", CONTEXT,
                    "--prompt-cache-capacity-bytes", "100M")
    load = Load(server, bodies, answers, a)
    start = time.time()
    asyncio.run(load.run())
    load_s = time.time() - start
    stats = check_end(server, load)
    code, log = server.stop(signal.SIGTERM)
    assert code == 0 and '"sound":true' in log, log[-2000:]
    grown = growth(load.memory, a.requests)
    say(f"{a.requests} requests of {a.clients} clients in {load_s:.0f} s: {load.counts}")
    say(f"memory {load.memory[-1][1]:.0f} MiB, {grown:+.1f} MiB over the last half; "
        f"{load.cached} prompt tokens from the cache; queue {quantiles(load.queue_ms)} ms, "
        f"first token {quantiles(load.ttft_ms)} ms")
    for i, stream, got, expected in load.wrong[:5]:
        say(f"WRONG body {i} stream {stream}:\n  got      {got!r}\n  expected {expected!r}")
    assert load.counts["wrong"] == 0 and load.counts["right"] > 0.7 * a.requests
    assert grown <= a.growth, f"memory grows: {load.memory[::20]}"
    if a.json:
        metric = lambda unit, value: {"unit": unit, "samples": [value]}
        metrics = {"requests_s": metric("1/s", a.requests / load_s), "tokens_s": metric("tok/s", load.tokens / load_s),
                   "memory_growth": metric("MiB", grown), "memory": metric("MiB", load.memory[-1][1])}
        for name, values in (("queue", load.queue_ms), ("ttft", load.ttft_ms)):
            for q, v in quantiles(values).items():
                metrics[f"{name}_ms_p{q}"] = metric("ms", v)
        print(json.dumps({"metrics": metrics, "results": {
            **load.counts, "requests": a.requests, "bodies": a.bodies, "clients": a.clients, "parallel": a.parallel,
            "load_s": load_s, "solo_s": solo_s, "cached_tokens": load.cached, "tokens": load.tokens,
            "preemptions": stats["mlxcel_preemptions_total"]}}))


if __name__ == "__main__":
    main()
