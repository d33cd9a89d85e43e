"""M7: behind a proxy that ends TLS, the proxy that was shipped took all clients for one."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from elicit_flows.lib import ids
from tests.support.box import Box
from tests.support.left_out import left_out
from tests.support.ports import free_port
from tests.support.process import PROJECT, Process


class Nginx:
    """deploy/nginx.conf as the image of nginx takes it up, in front of what listens at ``target``."""

    def __init__(self, target: str) -> None:
        program = shutil.which("nginx") or left_out("nginx: not on this machine (apt-get install nginx)")
        self.home, self.port = Path(tempfile.mkdtemp(prefix="elicit-nginx-")), free_port()
        self.home.chmod(0o755)
        server = (PROJECT / "deploy" / "nginx.conf").read_text().replace("listen 8000", f"listen 127.0.0.1:{self.port}")
        kept = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        folders = "".join(f"{name}_temp_path {self.home}/{name}; " for name in kept)
        server = re.sub(r"\b(web|waiting):8000", target, server)
        text = f"pid {self.home}/pid; events {{}}\nhttp {{ access_log off; {folders}\n{server}\n}}"
        (self.home / "nginx.conf").write_text(text)
        command = [program, "-p", str(self.home), "-c", str(self.home / "nginx.conf"), "-e", "stderr"]
        self.process = Process([*command, "-g", "daemon off;"], self.home / "log", cwd=self.home)

    def start(self) -> str:
        """Where it answers."""
        url = f"http://127.0.0.1:{self.port}"
        self.process.start()
        self.process.wait_until(lambda: _answers(url), "nginx takes connections")
        return url

    def remove(self) -> None:
        self.process.stop()
        shutil.rmtree(self.home, ignore_errors=True)


def _answers(url: str) -> bool:
    try:
        return httpx2.get(f"{url}/healthz", trust_env=False, timeout=5).status_code == 200
    except httpx2.TransportError:
        return False


@pytest.fixture
def outer(new_box: Callable[..., Box]) -> Iterator[str]:
    """A service as docker-compose.yml sets it, the proxy before it, and before that another, as for TLS."""
    box = new_box(configure=False, settings={"FORWARDED_ALLOW_IPS": "*"})
    inner = Nginx(f"127.0.0.1:{box.ports[0]}")
    outer = Nginx(f"127.0.0.1:{inner.port}")
    try:
        inner.start()
        yield outer.start()
    finally:
        outer.remove()
        inner.remove()


@contextmanager
def guessing(url: str, address: str) -> Iterator[Callable[[], int]]:
    """What somebody at ``address`` gets who guesses a link."""
    with httpx2.Client(transport=httpx2.HTTPTransport(local_address=address), trust_env=False) as client:
        yield lambda: client.get(f"{url}/c/{ids.name('el')}").status_code


def test_t127_behind_two_proxies_each_client_is_counted_for_itself(outer: str) -> None:
    with guessing(outer, "127.0.0.33") as guesser, guessing(outer, "127.0.0.34") as other:
        while guesser() != 429:
            pass
        assert other() == 404
