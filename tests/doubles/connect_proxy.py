"""An egress proxy that knows CONNECT and nothing else, as a program of its own.

Arguments are what it knows of names, ``host:port=address:port``; it asks nobody else. It prints its port, and then the
head of every request as one line of JSON. ``--password USER:PASSWORD``: asks for it. ``--says TEXT``: answers only so.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from tests.support.process import PROJECT, clean_env, until


@dataclass
class Proxy:
    port: int
    heard: list[str] = field(default_factory=list)

    def asked(self) -> list[str]:
        """The first line of each request."""
        return [head.partition("\r\n")[0] for head in self.heard]


@contextmanager
def proxying(*known: str, password: str = "", says: str = "") -> Iterator[Proxy]:
    command = [sys.executable, "-m", "tests.doubles.connect_proxy", *known]
    command += ["--password", password] if password else []
    command += ["--says", says] if says else []
    with subprocess.Popen(command, cwd=PROJECT, env=clean_env(), stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout
        proxy = Proxy(int(program.stdout.readline()))
        reader = threading.Thread(target=lambda: proxy.heard.extend(map(json.loads, program.stdout or ())))
        reader.start()
        try:
            yield proxy
        finally:
            program.terminate()
            program.wait()
            reader.join()


def ended(proxy: Proxy, requests: int) -> list[str]:
    """What the proxy was asked, as soon as it has said so many."""
    until(lambda: len(proxy.heard) >= requests, f"the proxy heard {requests} requests")
    return proxy.asked()


def _serve(client: socket.socket, known: dict[str, str], password: str, says: str) -> None:
    with client, suppress(OSError):
        head = b""
        while b"\r\n\r\n" not in head:
            piece = client.recv(4096)
            if not piece:
                return
            head += piece
        sys.stdout.write(json.dumps(head.decode()) + "\n")
        sys.stdout.flush()
        if says:
            client.sendall(says.encode().decode("unicode_escape").encode())
            return
        wanted = b"proxy-authorization: basic " + base64.b64encode(password.encode()).lower()
        if password and wanted not in head.lower():
            client.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
            return
        at = known.get(head.split(b" ")[1].decode())
        if at is None:
            client.sendall(b"HTTP/1.1 502 Bad Gateway\r\n\r\n")
            return
        host, _, port = at.rpartition(":")
        with socket.create_connection((host, int(port)), 10) as server:
            client.sendall(b"HTTP/1.1 200 Connection established\r\nVia: 1.1 test\r\n\r\n")
            back = threading.Thread(target=_copy, args=(server, client))
            back.start()
            _copy(client, server)
            back.join()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while piece := source.recv(65536):
            target.sendall(piece)
        target.shutdown(socket.SHUT_WR)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("known", nargs="*")
    parser.add_argument("--password", default="")
    parser.add_argument("--says", default="")
    given = parser.parse_args()
    known = dict(each.split("=") for each in given.known)
    listener = socket.create_server(("127.0.0.1", 0))
    sys.stdout.write(f"{listener.getsockname()[1]}\n")
    sys.stdout.flush()
    parent = os.getppid()
    while os.getppid() == parent:
        client, _ = listener.accept()
        threading.Thread(target=_serve, args=(client, known, given.password, given.says), daemon=True).start()


if __name__ == "__main__":
    main()
