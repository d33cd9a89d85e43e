"""``python -m sandbox``: the sandbox alone."""

from __future__ import annotations

import argparse
import os
import signal
import socket
import sys
from pathlib import Path

from werkzeug.serving import WSGIRequestHandler, make_server

from sandbox.app import create_app
from sandbox.settings import SERVICE_URL, LiveKey, Settings

BACKLOG = 128


class Quiet(WSGIRequestHandler):
    """Logs errors but no requests, because their addresses contain codes and states."""

    protocol_version = "HTTP/1.1"

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Do nothing."""


def main() -> int:
    args = arguments()
    try:
        listener = socket.create_server((args.host, args.port), backlog=BACKLOG)
    except OSError as error:
        return refuse(f"Cannot listen on {args.host}:{args.port}: {os.strerror(error.errno or 0)}")
    root = f"http://{args.host}:{listener.getsockname()[1]}"
    settings = Settings(root, args.service_url.rstrip("/"), args.key_file, args.token_seconds)
    try:
        settings.api_key()
    except LiveKey as error:
        return refuse(str(error))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    print(f"Sandbox at {root}", flush=True)
    app = create_app(settings)
    make_server(args.host, 0, app, threaded=True, request_handler=Quiet, fd=listener.fileno()).serve_forever()
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m sandbox", description="The development doubles of Elicit Flows.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8001, help="0 picks a free one (default: %(default)s)")
    parser.add_argument("--service-url", default=SERVICE_URL, help="default: %(default)s")
    parser.add_argument("--key-file", type=Path, default=Path("var/demo.key"), help="default: %(default)s")
    parser.add_argument("--token-seconds", type=int, default=120, help="life of Acme's access tokens (%(default)s)")
    return parser.parse_args()


def refuse(sentence: str) -> int:
    print(f"sandbox: {sentence}.", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
