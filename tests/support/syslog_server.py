"""A syslog server over TLS (RFC 5425): ``python -m tests.support.syslog_server PEM KEY FILE PORT``.

It writes what it hears into FILE, and says one line on standard output for each connection. ``--cut`` makes it close
without the end that TLS has.
"""

from __future__ import annotations

import argparse
import contextlib
import socket
import ssl
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("pem", type=Path)
    parser.add_argument("key", type=Path)
    parser.add_argument("file", type=Path)
    parser.add_argument("port", type=int)
    parser.add_argument("--cut", action="store_true")
    said = parser.parse_args()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(said.pem, said.key)
    with socket.create_server(("127.0.0.1", said.port)) as listening, said.file.open("ab", buffering=0) as heard:
        print("listening", flush=True)
        while True:
            plain, _ = listening.accept()
            try:
                with context.wrap_socket(plain, server_side=True) as client:
                    while piece := client.recv(65536):
                        heard.write(piece)
                    if not said.cut:
                        with contextlib.suppress(OSError):
                            client.unwrap()
                print("heard", flush=True)
            except ssl.SSLError as error:
                print(f"refused: {error.reason}", flush=True)


if __name__ == "__main__":
    main()
