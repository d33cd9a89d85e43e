"""H3: what people leave in a checkout is copied into the image and offered to git."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from docker.utils import exclude_paths

from tests.support.process import PROJECT

SECRETS = (".env.production", "prod.env", "demo.toml", "tls.key", "backup.sql", "secrets/stripe")


def test_t133_a_build_copies_what_the_service_needs_and_no_secret(tmp_path: Path) -> None:
    """The image is ``COPY . .``, so what .dockerignore leaves is in it."""
    for name in SECRETS:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("secret")
    lines = (PROJECT / ".dockerignore").read_text().splitlines()
    copied = exclude_paths(str(tmp_path), [line for line in lines if line and not line.startswith("#")])
    assert not copied & set(SECRETS)


@pytest.mark.parametrize("name", [".env.production", "prod.env", "tls.key"])
def test_t133_git_does_not_see_a_secret_in_the_checkout(name: str) -> None:
    asked = ["git", "check-ignore", "--quiet", "--no-index", name]
    assert subprocess.run(asked, cwd=PROJECT, check=False).returncode == 0
