"""The certified OpenID provider (npm ``oidc-provider``) as identity provider or as OAuth provider."""

from __future__ import annotations

import fcntl
import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import httpx2

from tests.support import binaries
from tests.support.left_out import left_out
from tests.support.ports import free_port
from tests.support.process import PROJECT, Process

PEERS = PROJECT / "tests" / "peers"


def node(also: str = "") -> Path:
    """Node with the peers installed beside it; leaves the test out where neither can be had.

    ``also``: a folder in tests/peers with packages of its own, to install too.
    """
    lock = PEERS / "package-lock.json"
    with lock.open() as held:
        # Workers of one run must not install over each other.
        fcntl.flock(held, fcntl.LOCK_EX)
        for folder in [".", also] if also else ["."]:
            if shutil.which("npm"):
                ran = subprocess.run([PEERS / "install.sh", folder], capture_output=True, text=True, check=False)
                if ran.returncode:
                    left_out(f"OpenID provider: npm ci in tests/peers/{folder} failed: {ran.stderr.strip()[-300:]}")
    found = binaries.node(PEERS)
    if found is None or not (PEERS / also / "node_modules").exists():
        left_out("OpenID provider: npm is missing (Debian: apt-get install npm)")
    return found


class Op:
    """One provider process. ``settings`` are the fields of ``defaults`` in tests/peers/op.mjs.

    ``control`` reaches the test's side door; the methods name what it offers.
    """

    def __init__(self, program: Path, **settings: Any) -> None:
        self.port = free_port()
        self.settings = {"port": self.port, **settings}
        self.issuer = f"http://127.0.0.1:{self.port}"
        self._added: list[tuple[str, dict[str, Any]]] = []
        self._home = Path(tempfile.mkdtemp(prefix="elicit-op-"))
        env = {"OP_CONFIG": json.dumps(self.settings), "NODE_ENV": "production"}
        self.process = Process([str(program), "op.mjs"], self._home / "log", env=env, cwd=PEERS)
        self.http = httpx2.Client(base_url=self.issuer, trust_env=False, timeout=30)

    def start(self) -> Op:
        self.process.start()
        self.process.wait_until(self._answers, "the OpenID provider answers")
        return self

    def _answers(self) -> bool:
        try:
            return bool(self.http.get("/_control/counts").is_success)
        except httpx2.TransportError:
            return False

    def stop(self) -> None:
        self.process.stop()

    def kill9(self) -> None:
        self.process.kill9()

    def restart(self) -> None:
        """Comes back on the same port with the same clients and accounts, but new keys and no memory of sessions."""
        self.process.stop()
        self.start()
        for call, arguments in self._added:
            self.control(call, **arguments)

    def pause(self) -> None:
        self.process.pause()

    def resume(self) -> None:
        self.process.resume()

    def remove(self) -> None:
        self.process.stop()
        self.http.close()
        shutil.rmtree(self._home, ignore_errors=True)

    def control(self, call: str, **arguments: Any) -> Any:
        answer = self.http.post(f"/_control/{call}", json=arguments)
        answer.raise_for_status()
        return answer.json()

    def add_client(self, client_id: str, *redirect_uris: str, secret: str | None = None, **metadata: Any) -> None:
        """Registers a client; without ``secret`` a public one. ``metadata`` as in RFC 7591."""
        method = "client_secret_basic" if secret else "none"
        client: dict[str, Any] = {
            "client_id": client_id,
            "redirect_uris": redirect_uris,
            "token_endpoint_auth_method": method,
        }
        if secret:
            client["client_secret"] = secret
        self._add("clients", {**client, **metadata})

    def add_account(self, sub: str, name: str = "", email: str = "") -> None:
        self._add("accounts", {"sub": sub, "name": name or sub.title(), "email": email or f"{sub}@example.com"})

    def _add(self, call: str, arguments: dict[str, Any]) -> None:
        self.control(call, **arguments)
        self._added.append((call, arguments))

    def counts(self) -> dict[str, int]:
        """Calls since the last reset: authorization, token, token.refresh_token, userinfo, jwks, revocation, …"""
        return dict(self.control("counts"))

    def issued(self, kind: str | None = None) -> list[dict[str, Any]]:
        """Every code and token: {value, kind, sub, scope, aud, jkt, active}, ``kind`` such as refresh_token."""
        return [one for one in self.control("issued") if kind in {None, one["kind"]}]

    def fault(self, endpoint: str, **fault: Any) -> None:
        """Makes ``endpoint`` fail: status, drop, delay_ms; ``times`` absent means until the next reset."""
        self.control("faults", **{endpoint: fault})

    def rotate_keys(self, *, keep_old: bool = False, same_kid: bool = False) -> list[str]:
        return list(self.control("rotate", keep_old=keep_old, same_kid=same_kid))

    def age_sign_ins(self, seconds: int) -> None:
        self.control("age", seconds=seconds)

    def change(self, **settings: Any) -> None:
        """access_token_ttl (seconds), rotate_refresh_tokens, pkce, dpop_nonce; lasts until the next reset."""
        self.control("settings", **settings)

    def reset(self) -> None:
        """Counts and faults forgotten, settings as at the start, everybody signed out; tokens stay."""
        self.control("reset")
