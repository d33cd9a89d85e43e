"""A small site to test the scripted people. It remembers the requests that it gets."""

from __future__ import annotations

import html
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.support.ports import free_port

FORM = """<!doctype html><title>A form</title>{meta}<body data-page="form" data-status="pending"><p>Fill in
<form method="post" action="{action}" data-action="submit">
  <input type="hidden" name="token" value="t-1"><input name="name">
  <select name="kind"><option value="a">A<option value="b" selected>B</select>
  <input type="checkbox" name="tick" value="yes" checked><input type="checkbox" name="other">
  <textarea name="note">
a\r\nb</textarea>
  <button name="go" value="1">Send</button>
</form>
<form method="post" action="{action}"><button name="go" value="0" data-action="decline">No</button></form>"""
ROUND = """<body data-page="round"><form method="get" action="/round" data-action="again"><button>On</button></form>"""


@dataclass(frozen=True)
class Request:
    path: str
    headers: dict[str, str]
    body: str

    @property
    def icon(self) -> bool:
        return self.path == "/favicon.ico"


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        site, parts = self.server.site, urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        body = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
        headers = {name.lower(): value for name, value in self.headers.items()}
        site.remember(Request(parts.path, headers, body))
        if parts.path == "/away":
            self._answer("", int(query.get("status", "302")), location=query["to"])
        elif parts.path == "/form":
            action = html.escape(query.get("action", "/send"))
            meta = f'<meta name="referrer" content="{query["meta"]}">' if "meta" in query else ""
            self._answer(FORM.format(action=action, meta=meta), referrer_policy=query.get("policy", ""))
        elif parts.path == "/meet":
            site.meet(int(query["people"]))
            self._answer("met")
        elif parts.path == "/cookie":
            self._answer("<body>", set_cookie="seen=1; HttpOnly; SameSite=Lax; Path=/")
        else:
            self._answer(site.pages.get(parts.path, '<body data-page="done">'))

    do_POST = do_GET

    def _answer(self, text: str, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            if value:
                self.send_header(name.replace("_", "-"), value)
        self.send_header("content-type", "text/html; charset=utf-8")
        self.send_header("content-length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: Any) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
    site: Site


class Site:
    """/form, /send, /away?to=, /cookie, /round, /meet?people= (answers when all are there), and ``pages``."""

    def __init__(self) -> None:
        self.pages = {"/round": ROUND, "/json": '{"ok": true}'}
        self._requests: list[Request] = []
        self._lock = threading.Lock()
        self._meeting: threading.Barrier | None = None
        self._server = _Server(("127.0.0.1", free_port()), _Handler)
        self._server.site = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self._server.server_port}{path}"

    def remember(self, request: Request) -> None:
        with self._lock:
            self._requests.append(request)

    def meet(self, people: int) -> None:
        with self._lock:
            self._meeting = self._meeting or threading.Barrier(people)
        self._meeting.wait(10)

    def requests(self, path: str | None = None) -> list[Request]:
        with self._lock:
            return [one for one in self._requests if path in {None, one.path}]

    def last(self, path: str) -> Request:
        return self.requests(path)[-1]

    def forget(self) -> None:
        with self._lock:
            self._requests.clear()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
