#!/usr/bin/env python3
"""What /v1/responses keeps, filled past its bounds and used by many at once.

  server_stores_test.py BIN_FOLDER
"""
import concurrent.futures
import random

from server_harness import WithServer, main
from server_script_test import model

MOST_RESPONSES, MOST_CONVERSATIONS = 1024, 256  # as docs/server.md says


class Stores(WithServer):
    flags = ["--parallel", 8, "-c", 1024, "--max-queue-depth", 64]

    @classmethod
    def model(cls):
        return model()

    def ask(self, **more):
        status, _, a = self.server.call("/v1/responses", {"input": "eot", "temperature": 0, **more})
        self.assertEqual(status, 200, a)
        return a["id"]

    def status(self, path, **more):
        return self.server.call(path, **more)[0]

    def test_a_full_store_drops_what_was_used_longest_ago(self):
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            early = [self.ask() for _ in range(8)]
            rest = list(pool.map(lambda _: self.ask(), range(MOST_RESPONSES - 8)))
            self.assertEqual(self.status("/v1/responses/" + early[0]), 200)  # used now
            late = [self.ask() for _ in range(7)]
            found = list(pool.map(lambda i: self.status("/v1/responses/" + i), early + rest + late))
        self.assertEqual(found, [200] + [404] * 7 + [200] * (len(rest) + len(late)))
        ids = [self.server.call("/v1/conversations", {})[2]["id"] for _ in range(MOST_CONVERSATIONS + 1)]
        found = [self.status("/v1/conversations/" + i) for i in ids]
        self.assertEqual(found, [404] + [200] * MOST_CONVERSATIONS)

    def test_many_at_once(self):
        """Creating, reading, cancelling and deleting the same few ids: every answer is one that may be."""
        kept = [self.ask() for _ in range(6)]
        def act(i):
            r = random.Random(i)
            path = "/v1/responses/" + r.choice(kept)
            kind = r.randrange(6)
            if kind == 0:
                kept[r.randrange(6)] = self.ask(background=r.random() < 0.5, stream=False)
                return True
            if kind == 1:
                return self.status(path, method="DELETE") in (200, 404)
            if kind == 2:
                return self.status(path + "/cancel", body={}) in (200, 400, 404)
            if kind == 3:  # 400: it may still run
                status = self.status("/v1/responses", body={"input": "eot", "previous_response_id": path[14:]})
                return status in (200, 400, 404)
            if kind == 4:
                events = self.server.call("/v1/responses", {"input": "eot", "stream": True, "temperature": 0})[2]
                return events.rstrip().splitlines()[-2] == "event: response.completed"
            return self.status(path) in (200, 404)
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            self.assertTrue(all(pool.map(act, range(3000))))
        self.assertTrue(self.server.until(lambda m: m["mlxcel_requests_in_flight"] == 0))
        self.assertEqual(self.server.stats()["mlxcel_requests_failed_total"], 0)


if __name__ == "__main__":
    main()
