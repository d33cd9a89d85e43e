"""The proxy configuration that we ship, deploy/nginx.conf, in front of a box. Only addresses and folders differ."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import httpx2

from tests.support.left_out import left_out
from tests.support.ports import free_port
from tests.support.process import PROJECT, Process
from tests.support.services import Service

SHIPPED = (PROJECT / "deploy" / "nginx.conf").read_text()


class Nginx(Service):
    """``upstreams`` says where the services of docker-compose.yml are: ``{"web": "127.0.0.1:12345", …}``.

    ``changes`` are further replacements in the text, each of which has to be there.
    """

    def __init__(
        self, upstreams: Mapping[str, str], *, port: int | None = None, changes: Mapping[str, str] | None = None
    ):
        program = shutil.which("nginx") or left_out("nginx: not on this machine (apt-get install nginx)")
        self.home = Path(tempfile.mkdtemp(prefix="elicit-nginx-"))
        self.home.chmod(0o755)
        self.port = port or free_port()
        # Debian's nginx is older than the image's and does not look names up again ("resolve").
        said = {f"{name}:8000 resolve": address for name, address in upstreams.items()}
        said |= {"listen 8000": f"listen 127.0.0.1:{self.port}", "/tmp/nginx": f"{self.home}/nginx", **(changes or {})}
        text = SHIPPED
        for old, new in said.items():
            assert old in text, f"deploy/nginx.conf has no {old!r}"
            text = text.replace(old, new)
        self.file = self.home / "nginx.conf"
        self.file.write_text(text)
        self.command = [program, "-p", str(self.home), "-c", str(self.file), "-e", "stderr"]
        self.process = Process([*self.command, "-g", "daemon off;"], self.home / "log", cwd=self.home)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def faults(self) -> str:
        """What nginx has to say about its configuration; "" when it takes it without a warning."""
        ran = subprocess.run([*self.command, "-t", "-q"], capture_output=True, text=True, check=False)
        return ran.stderr if ran.returncode or re.search(r"\[(warn|emerg)\]", ran.stderr) else ""

    def wait_ready(self) -> None:
        self.process.wait_until(self._answers, "nginx takes connections")

    def _answers(self) -> bool:
        try:
            httpx2.get(f"{self.url}/metrics", trust_env=False, timeout=5)
        except httpx2.TransportError:
            return False
        return True

    def remove(self) -> None:
        self.process.stop()
        shutil.rmtree(self.home, ignore_errors=True)
