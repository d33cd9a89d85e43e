"""Where the service of the tests is installed: in a clone, or in an image that docker or podman runs."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import elicit_flows

APP = "/app"  # where the image has it
KEPT = ("PATH", "HOME", "LANG", "TMPDIR", "LD_LIBRARY_PATH")
KILL_SECONDS = 10.0


class Installation(Protocol):
    """``about``: how it is named in an error. ``env``: what the service gets beside its settings."""

    about: str

    @property
    def env(self) -> dict[str, str]: ...

    def command_env(self, env: Mapping[str, str]) -> dict[str, str]:
        """The environment of what ``command`` gives, for a service that gets ``env``."""

    def command(self, name: str, env: Mapping[str, str], home: Path, *arguments: str) -> list[str]:
        """What runs a script or module (``-m``) of it in ``home``, as ``name``."""

    def kill(self, name: str, process: subprocess.Popen[bytes]) -> None: ...


class Clone:
    """ELICIT_CHECKOUT, or the folder of this package. Raises RuntimeError if it is no clone."""

    def __init__(self) -> None:
        found = Path(os.environ.get("ELICIT_CHECKOUT") or Path(elicit_flows.__file__).parents[1]).resolve()
        if not (found / "manage.py").is_file() or not (found / "sandbox").is_dir():
            raise RuntimeError(
                f"{found} is not a clone of Elicit Flows: set ELICIT_CHECKOUT to the folder where you ran "
                "`make install`, or ELICIT_IMAGE to an image"
            )
        self._project, self.about = found, str(found)

    @property
    def env(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in KEPT if name in os.environ}
        return kept | {"PYTHONPATH": str(self._project)}

    def command_env(self, env: Mapping[str, str]) -> dict[str, str]:
        return dict(env)

    def command(self, name: str, env: Mapping[str, str], home: Path, *arguments: str) -> list[str]:
        own = self._project / ".venv/bin/python"  # of ``make install``
        python = str(own) if own.exists() else sys.executable
        return [python, *_within(str(self._project), arguments)]

    def kill(self, name: str, process: subprocess.Popen[bytes]) -> None:
        process.kill()


class Image:
    """ELICIT_IMAGE, built with Dockerfile.testing. Its containers have the network of this machine.

    Raises RuntimeError if there is neither docker nor podman.
    """

    def __init__(self, image: str) -> None:
        programs = [program for name in ("docker", "podman") if (program := shutil.which(name))]
        if not programs:
            raise RuntimeError(f"ELICIT_IMAGE is {image}, but there is neither docker nor podman on the PATH to run it")
        # Where both are, one that has the image: docker's engine may not run here, or the other one built it.
        having = (one for one in programs if _said([one, "image", "inspect", image]).returncode == 0)
        self._program, self._image, self.about = next(having, programs[0]), image, f"the image {image}"
        self._mark = secrets.token_hex(4)
        said = _said([self._program, "--version"]).stdout
        # Podman, whatever it is called, gives a container other numbers of users than the machine's unless root asks.
        self._mapped = ["--userns", "keep-id"] if "podman" in said.lower() and os.getuid() else []

    @property
    def env(self) -> dict[str, str]:
        return {"PYTHONPATH": APP}

    def command_env(self, env: Mapping[str, str]) -> dict[str, str]:
        return {**os.environ, **env}  # DOCKER_HOST, XDG_RUNTIME_DIR and the like say where the containers are

    def command(self, name: str, env: Mapping[str, str], home: Path, *arguments: str) -> list[str]:
        # The values are in the program's own environment, because others can read its arguments.
        passed = [one for variable in env for one in ("--env", variable)]
        user = f"{os.getuid()}:{os.getgid()}"
        container = ["--name", self._container(name), "--network", "host", *self._mapped, "--user", user]
        there = ["--volume", f"{home}:{home}", "--workdir", str(home)]
        inside = ["python", *_within(APP, arguments)]
        return [self._program, "run", "--rm", *container, *there, *passed, self._image, *inside]

    def kill(self, name: str, process: subprocess.Popen[bytes]) -> None:
        done = _said([self._program, "kill", self._container(name)])
        try:
            process.wait(KILL_SECONDS)
        except subprocess.TimeoutExpired:
            raise RuntimeError(f"{self.about}: the {name} could not be killed: {done.stderr}") from None

    def _container(self, name: str) -> str:
        return f"elicit-{self._mark}-{name}"


def installation() -> Installation:
    """What the environment names. Raises RuntimeError."""
    image = os.environ.get("ELICIT_IMAGE")
    return Image(image) if image else Clone()


def _said(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  our own command


def _within(folder: str, arguments: tuple[str, ...]) -> list[str]:
    script, *rest = arguments
    return [f"{folder}/{script}" if script.endswith(".py") else script, *rest]
