"""A small Hugging Face hub on loopback, with a second host for large files, and faults on request.

  with SmallHub({"owner/name": {"config.json": b"{}", "model.safetensors": b"..."}}) as hub: ... hub.endpoint ...

Files of more than LFS bytes are redirected to the other host, as the real one does. `hub.faults[path]` is a list whose
entries are taken one a request: ("cut", N) ends the connection after N bytes, ("status", N, {headers}), ("other",) sends
other bytes, ("long",) and ("short",) announce another size, ("whole",) ignores the range, ("redirect", URL).
`hub.seen` lists (host, path, authorization, range) of every request.
"""
import hashlib
import http.server
import json
import ssl
import threading
import time
import urllib.parse

LFS = 1000


def sha1(data):
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def facts(path, data):
    if len(data) <= LFS:
        return {"rfilename": path, "size": len(data), "blobId": sha1(data)}
    return {"rfilename": path, "size": len(data), "blobId": "b" * 40,
            "lfs": {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 130}}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, status, headers=None, body=b""):
        self.send_response(status)
        for k, v in (headers or {}).items():
            self.send_header(k, v)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        hub = self.server.hub
        url = urllib.parse.urlsplit(self.path)
        path = urllib.parse.unquote(url.path)
        authorization = self.headers.get("Authorization", "")
        hub.seen.append((self.server.name, path, authorization, self.headers.get("Range", "")))
        if self.server.name == "hub" and hub.token and authorization != f"Bearer {hub.token}":
            return self.answer(401, {"X-Error-Code": "RepoNotFound", "X-Error-Message": "Repository not found"})
        parts = [urllib.parse.unquote(p) for p in url.path.strip("/").split("/")]
        if self.server.name == "cdn":
            return self.file(hub.blobs[parts[-1]], path)
        if parts[:2] == ["api", "models"]:
            return self.listing("/".join(parts[2:4]), parts[5] if len(parts) > 5 else "main", path)
        if len(parts) > 4 and parts[2] == "resolve":
            return self.resolve("/".join(parts[:2]), parts[3], "/".join(parts[4:]))
        self.answer(404)

    def fault(self, path, kinds):
        waiting = self.server.hub.faults.get(path)
        if waiting and waiting[0][0] in kinds:
            return waiting.pop(0)
        return None

    def refuse(self, path):
        """Whether a fault answered instead."""
        f = self.fault(path, ("status", "redirect"))
        if f and f[0] == "status":
            self.answer(f[1], f[2])
        elif f:
            self.answer(302, {"Location": f[1]})
        return f is not None

    def listing(self, repo, revision, path):
        hub = self.server.hub
        if self.refuse("list"):
            return
        if repo not in hub.repos:
            return self.answer(404, {"X-Error-Code": "RepoNotFound"})
        files = hub.files(repo, revision)
        if files is None:
            return self.answer(404, {"X-Error-Code": "RevisionNotFound", "X-Error-Message": "Invalid rev id"})
        siblings = [facts(p, d) for p, d in files.items()]
        if hub.bare:
            siblings = [{"rfilename": s["rfilename"]} for s in siblings]
        body = json.dumps({"_id": "1", "id": repo, "sha": hub.commit(repo, revision), "siblings": siblings}).encode()
        self.answer(200, {"Content-Type": "application/json"}, body)

    def resolve(self, repo, revision, name):
        hub = self.server.hub
        files = hub.files(repo, revision)
        if files is None or name not in files:
            return self.answer(404, {"X-Error-Code": "EntryNotFound"})
        data = files[name]
        if self.refuse(name):
            return
        headers = {"X-Repo-Commit": hub.commit(repo, revision)}
        if len(data) <= LFS:
            return self.file((name, data), name, {**headers, "ETag": f'"{sha1(data)}"'})
        digest = hashlib.sha256(data).hexdigest()
        hub.blobs[digest] = (name, data)
        self.answer(302, {**headers, "X-Linked-Size": str(len(data)), "X-Linked-ETag": f'"{digest}"',
                          "Location": f"http://localhost:{hub.cdn.server_port}/blobs/{digest}"})

    def file(self, blob, path, headers=None):
        hub = self.server.hub
        name, data = blob
        if self.server.name == "cdn" and self.refuse(name):
            return
        first, status = 0, 200
        f = self.fault(name, ("cut", "other", "long", "short", "whole"))
        kind = f[0] if f else ""
        if kind == "other":
            data = bytes(255 - b for b in data)
        size = len(data) + {"long": 10, "short": -10}.get(kind, 0)
        asked = self.headers.get("Range")
        if asked and kind != "whole":
            first = int(asked[len("bytes="):].split("-")[0])
            if first >= len(data):
                return self.answer(416)
            status = 206
        self.send_response(status)
        for k, v in (headers or {}).items():
            self.send_header(k, v)
        if status == 206:
            self.send_header("Content-Range", f"bytes {first}-{len(data) - 1}/{size}")
        self.send_header("Content-Length", str(size - first))
        self.end_headers()
        if self.command == "HEAD":
            return
        end = min(len(data), first + f[1]) if kind == "cut" else len(data)
        try:
            for at in range(first, end, 8192):
                block = data[at:min(end, at + 8192)]
                if hub.speed:
                    time.sleep(len(block) / hub.speed)
                self.wfile.write(block)
            if kind in ("cut", "long"):
                self.close_connection = True
        except OSError:
            self.close_connection = True


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass  # a client that hangs up is what the tests are about


class SmallHub:
    def __init__(self, repos, certificate=None):
        """repos: name -> {path: bytes} of main, or name -> {revision: {path: bytes}}. certificate: (PEM, key) for HTTPS."""
        self.certificate = certificate
        self.repos = {n: r if all(isinstance(v, dict) for v in r.values()) else {"main": r} for n, r in repos.items()}
        self.faults, self.seen, self.blobs = {}, [], {}
        self.token, self.bare, self.speed = "", False, 0

    def commit(self, repo, revision):
        if len(revision) == 40:
            return revision
        return hashlib.sha1(repr((repo, revision, sorted(self.repos[repo][revision].items()))).encode()).hexdigest()

    def files(self, repo, revision):
        for r, files in self.repos.get(repo, {}).items():
            if revision in (r, self.commit(repo, r)):
                return files
        return None

    def __enter__(self):
        self.hub, self.cdn = (Server(("127.0.0.1", 0), Handler) for _ in range(2))
        if self.certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*self.certificate)
            self.hub.socket = context.wrap_socket(self.hub.socket, server_side=True)
        for server, name in ((self.hub, "hub"), (self.cdn, "cdn")):
            server.hub, server.name = self, name
            threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        self.endpoint = f"http{'s' if self.certificate else ''}://127.0.0.1:{self.hub.server_port}"
        return self

    def __exit__(self, *args):
        for server in (self.hub, self.cdn):
            server.shutdown()
            server.server_close()
