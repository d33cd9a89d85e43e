"""A mail server (aiosmtpd) to run by itself: ``python -m tests.doubles.mail_server PORT FOLDER [NAME=VALUE …]``.

It keeps each message in a file of FOLDER, under a number, with the envelope in X-headers. Recipients whose name is
``refused``, ``later`` or ``cut`` get what they are called: 550, 451, or an end of the connection after the message.
``certificate=FILE key=FILE`` offers STARTTLS and takes nothing without it.
"""

from __future__ import annotations

import asyncio
import itertools
import ssl
import sys
from pathlib import Path
from typing import Any

from aiosmtpd.smtp import SMTP, Envelope, Session

ANSWERS = {"refused": "550 5.1.1 No such user", "later": "451 4.7.1 Come again later"}


class Keeper:
    """What the server calls with each recipient and each message."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._numbers = folder, itertools.count(1)

    async def handle_RCPT(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        answer = ANSWERS.get(address.partition("@")[0])
        if answer is None:
            envelope.rcpt_tos.append(address)
        return answer or "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        head = f"X-From: {envelope.mail_from}\r\nX-To: {','.join(envelope.rcpt_tos)}\r\nX-Tls: {bool(session.ssl)}\r\n"
        content = envelope.original_content
        assert content is not None
        path = self._folder / f"{next(self._numbers):04}"
        path.with_suffix(".part").write_bytes(head.encode() + content)
        path.with_suffix(".part").rename(path.with_suffix(".eml"))
        if any(to.startswith("cut@") for to in envelope.rcpt_tos):
            assert server.transport is not None
            server.transport.abort()
        return "250 Kept"


async def serve(port: int, folder: Path, **options: Any) -> None:
    loop, keeper = asyncio.get_running_loop(), Keeper(folder)
    server = await loop.create_server(lambda: SMTP(keeper, hostname="mail.test", **options), "127.0.0.1", port)
    print("listening", flush=True)
    async with server:
        await server.serve_forever()


def main(port: str, folder: str, *more: str) -> None:
    given = dict(one.split("=", 1) for one in more)
    options: dict[str, Any] = {}
    if "certificate" in given:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(given["certificate"], given["key"])
        options = {"tls_context": context, "require_starttls": True}
    asyncio.run(serve(int(port), Path(folder), **options))


if __name__ == "__main__":
    main(*sys.argv[1:])
