"""deploy/nginx.conf as it is, within what the image of nginx has around it, on one worker."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import httpx2

from tests.support.left_out import left_out
from tests.support.process import PROJECT, Process
from tests.support.services import Service

KINDS = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


class Nginx(Service):
    """Before the one process at ``upstream``, which is web and waiting."""

    def __init__(self, upstream: str, port: int) -> None:
        program = shutil.which("nginx") or left_out("nginx: not on this machine (apt-get install nginx)")
        self.home = Path(tempfile.mkdtemp(prefix="elicit-nginx-"))
        self.home.chmod(0o755)
        self.port = port
        text = (PROJECT / "deploy" / "nginx.conf").read_text()
        for old, new in (("web:8000", upstream), ("waiting:8000", upstream), ("listen 8000", f"listen {port}")):
            assert old in text
            text = text.replace(old, new)
        folders = "".join(f"{kind}_temp_path {self.home}/{kind}; " for kind in KINDS)
        file = self.home / "nginx.conf"
        file.write_text(
            f"worker_processes 1; pid {self.home}/pid; events {{ worker_connections 1024; }}\n"
            f"http {{ access_log off; {folders}\n{text}\n}}"
        )
        command = [program, "-p", str(self.home), "-c", str(file), "-e", "stderr", "-g", "daemon off;"]
        self.process = Process(command, self.home / "log", cwd=self.home)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def wait_ready(self) -> None:
        self.process.wait_until(self._answers, "nginx takes connections")

    def _answers(self) -> bool:
        try:
            httpx2.get(f"{self.url}/livez", trust_env=False, timeout=5)
        except httpx2.TransportError:
            return False
        return True

    def remove(self) -> None:
        self.process.stop()
        shutil.rmtree(self.home, ignore_errors=True)
