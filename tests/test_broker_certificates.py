"""A broker by TLS: its certificate is checked before it is sent anything, such as the password."""

from __future__ import annotations

import socket
import ssl
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.doubles.certificate import by_an_authority
from tests.support.process import PROJECT, clean_env

CONNECT = (
    "import django; django.setup(); from config.celery import app; "
    "app.connection_for_write().ensure_connection(max_retries=1, interval_start=0)"
)


def hears(listening: socket.socket, context: ssl.SSLContext, heard: list[bytes]) -> None:
    """Take connections, and the first bytes that come within TLS, until the socket is closed."""
    while True:
        try:
            plain, _ = listening.accept()
        except OSError:
            return
        with plain:
            plain.settimeout(10)
            try:
                with context.wrap_socket(plain, server_side=True) as client:
                    heard.append(client.recv(4096))
            except OSError:
                continue


@pytest.mark.parametrize("scheme", ["rediss", "amqps"])
@pytest.mark.parametrize(
    ("name", "trusted", "told"),
    [("localhost", True, True), ("localhost", False, False), ("other.example.com", True, False)],
    ids=["trusted", "by nobody known", "of another name"],
)
def test_a_broker_is_told_nothing_before_its_certificate_was_checked(
    tmp_path: Path, scheme: str, name: str, trusted: bool, told: bool
) -> None:
    ca = by_an_authority(tmp_path, name)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem", tmp_path / "server.key")
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:
        taking = threading.Thread(target=hears, args=(listening, context, heard), daemon=True)
        taking.start()
        address = f"{scheme}://me:canary@localhost:{listening.getsockname()[1]}/0"
        env = {"CELERY_BROKER_URL": address, "DJANGO_SETTINGS_MODULE": "config.settings"}
        subprocess.run(
            [sys.executable, "-c", CONNECT],
            cwd=PROJECT, env=clean_env(env | ({"SSL_CERT_FILE": str(ca)} if trusted else {})), capture_output=True,
            timeout=60, check=False,
        )  # fmt: skip
        listening.shutdown(socket.SHUT_RDWR)
    taking.join(15)
    assert any(heard) == told, heard
