"""A manage.py that does what ``make run`` needs of the real one, and writes down what it was asked.

FAKE says how to behave: ``dies`` (serve ends once it was ready), ``refuses`` (apply fails).
"""

from __future__ import annotations

import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

WANTED = ("ELICIT_PUBLIC_URL", "ELICIT_ALLOW_LOOPBACK")


class Ready(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/readyz" else 404)
        self.send_header("Content-Length", "0")
        self.end_headers()
        if os.environ.get("FAKE") == "dies":
            threading.Timer(0.3, os._exit, [7]).start()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


def main() -> int:
    command, *rest = sys.argv[1:]
    environment = " ".join(f"{name}={os.environ.get(name)}" for name in WANTED)
    with Path("asked").open("a") as asked:
        asked.write(f"{os.getpid()} {command} {' '.join(rest)} {environment}\n")
    if command == "serve":
        ThreadingHTTPServer((rest[1], int(rest[3])), Ready).serve_forever()
    if command == "apply" and os.environ.get("FAKE") == "refuses":
        print("agent: name is missing", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
