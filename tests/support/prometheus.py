"""A Prometheus that asks the processes of a box, with the rules of deploy/alerts.yml made quicker; and promtool.

``QUICKER`` is all that is changed in the rules: three minutes without a sign of life become ``LATE`` seconds, and an
alert fires after one second instead of one or two minutes. The names, metrics and labels stay.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx2

from tests.support.left_out import left_out
from tests.support.ports import free_port
from tests.support.process import PROJECT, Process
from tests.support.services import Service

RULES = PROJECT / "deploy" / "alerts.yml"
LATE = 20  # seconds; a process stores every five when it ran a job
QUICKER = {r"> 180\b": f"> {LATE}", r"for: [12]m\b": "for: 1s"}


def program(name: str) -> str:
    return shutil.which(name) or left_out(f"{name}: not on this machine (Debian: apt-get install prometheus)")


def promtool(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program("promtool"), *arguments], capture_output=True, text=True, check=False)


def quicker(rules: str) -> str:
    for old, new in QUICKER.items():
        rules, found = re.subn(old, new, rules)
        assert found, f"deploy/alerts.yml has no {old!r}"
    return rules


class Prometheus(Service):
    """It asks each of ``targets`` ("127.0.0.1:12345") twice a second, and looks at its rules as often."""

    def __init__(self, targets: Sequence[str]) -> None:
        started = program("prometheus")
        self.home = Path(tempfile.mkdtemp(prefix="elicit-prometheus-"))
        self.port = free_port()
        rules, file = self.home / "alerts.yml", self.home / "prometheus.yml"
        rules.write_text(quicker(RULES.read_text()))
        said = {
            "global": {"scrape_interval": "500ms", "scrape_timeout": "500ms", "evaluation_interval": "500ms"},
            "rule_files": [str(rules)],
            "scrape_configs": [{"job_name": "elicit-flows", "static_configs": [{"targets": list(targets)}]}],
        }
        file.write_text(json.dumps(said))  # which is YAML, too
        command = [started, f"--config.file={file}", f"--storage.tsdb.path={self.home}/data"]
        command += [f"--web.listen-address=127.0.0.1:{self.port}", "--log.level=warn"]
        self.process = Process(command, self.home / "log", cwd=self.home)

    def wait_ready(self) -> None:
        self.process.wait_until(self._answers, "Prometheus is ready", timeout=60)

    def _answers(self) -> bool:
        try:
            return self._get("/-/ready").status_code == 200
        except httpx2.TransportError:
            return False

    def _get(self, path: str, **query: str) -> httpx2.Response:
        return httpx2.get(f"http://127.0.0.1:{self.port}{path}", params=query, trust_env=False, timeout=10)

    def query(self, query: str) -> list[dict[str, Any]]:
        answer = self._get("/api/v1/query", query=query).json()
        assert answer["status"] == "success", answer
        found: list[dict[str, Any]] = answer["data"]["result"]
        return found

    def firing(self) -> set[str]:
        """The names of the alerts that fire."""
        alerts = self._get("/api/v1/alerts").json()["data"]["alerts"]
        return {one["labels"]["alertname"] for one in alerts if one["state"] == "firing"}

    def faults(self) -> list[str]:
        """What Prometheus has to say about rules that it cannot evaluate."""
        groups = self._get("/api/v1/rules").json()["data"]["groups"]
        return [
            f"{rule['name']}: {rule['lastError']}" for one in groups for rule in one["rules"] if rule.get("lastError")
        ]

    def remove(self) -> None:
        self.process.stop()
        shutil.rmtree(self.home, ignore_errors=True)
