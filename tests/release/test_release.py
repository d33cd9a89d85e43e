"""``make release``: what it makes, that it makes the same again, and what it refuses."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from elicit_flows import __version__
from tests.release.conftest import git
from tests.support.process import clean_env

WHEEL = f"elicit_flows-{__version__}-py3-none-any.whl"
SDIST = f"elicit_flows-{__version__}.tar.gz"
PARTS = f"elicit-flows-{__version__}.cdx.json"
PROVENANCE = f"elicit-flows-{__version__}.provenance.json"
IMAGE = f"elicit-flows-{__version__}-image.tar"
# Docker's program: notes what it is asked, and leaves an image where it is asked for one.
DOCKER = """#!/bin/sh
echo "$@" >> "{log}"
case "$1 $2" in "image save") printf image > "$4";; esac
exit {status}
"""


@dataclass
class Made:
    status: int
    said: str
    out: Path

    def json(self, name: str) -> Any:
        return json.loads((self.out / name).read_text(encoding="utf-8"))

    def sha256(self, name: str) -> str:
        return hashlib.sha256((self.out / name).read_bytes()).hexdigest()


def release(clone: Path, out: Path, *options: str, umask: int = 0o022, env: Mapping[str, str] | None = None) -> Made:
    ran = subprocess.run(
        [sys.executable, "-m", "scripts.release", "--out", str(out), *options],
        cwd=clone, env=clean_env({"PYTHONPATH": str(clone), **(env or {})}), umask=umask,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return Made(ran.returncode, ran.stdout + ran.stderr, out)


def docker(place: Path, status: int = 0) -> dict[str, str]:
    """A PATH that begins with a ``docker`` of the test's."""
    place.mkdir()
    program = place / "docker"
    program.write_text(DOCKER.format(log=place / "log", status=status))
    program.chmod(0o755)
    return {"PATH": f"{place}:{os.environ['PATH']}"}


@pytest.fixture(scope="module")
def clone(make_clone: Callable[[], Path]) -> Path:
    return make_clone()


@pytest.fixture(scope="module")
def made(clone: Path, tmp_path_factory: pytest.TempPathFactory) -> Made:
    made = release(clone, tmp_path_factory.mktemp("out"), "--no-image")
    assert made.status == 0, made.said
    return made


@pytest.mark.slow
def test_a_release_is_five_files_and_says_that_the_image_is_missing(made: Made) -> None:
    assert {path.name for path in made.out.iterdir()} == {WHEEL, SDIST, PARTS, PROVENANCE, "SHA256SUMS"}
    assert "No image was made (--no-image)." in made.said
    checked = subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=made.out, check=False)
    assert checked.returncode == 0


@pytest.fixture(scope="module")
def made_elsewhere(make_clone: Callable[[], Path], tmp_path_factory: pytest.TempPathFactory) -> Made:
    """The same commit on another machine: another folder, clock and umask, with Docker, in a workflow on GitHub."""
    clone, place = make_clone(), tmp_path_factory.mktemp("elsewhere")
    (clone / "elicit_flows/sdk/__pycache__").mkdir()
    (clone / "elicit_flows/sdk/__pycache__/left.pyc").write_text("of another run")
    env = docker(place / "bin") | {
        "SOURCE_DATE_EPOCH": "1", "TZ": "Asia/Tokyo", "PYTHONHASHSEED": "7",
        "GITHUB_ACTIONS": "true", "GITHUB_SERVER_URL": "https://git.example.com", "GITHUB_REPOSITORY": "us/flows",
        "GITHUB_WORKFLOW_REF": "us/flows/.github/workflows/release.yml@refs/tags/v1", "GITHUB_RUN_ID": "7",
    }  # fmt: skip
    made = release(clone, place / "out", umask=0o077, env=env)
    assert made.status == 0, made.said
    return made


@pytest.mark.slow
def test_the_same_commit_gives_the_same_bytes(made: Made, made_elsewhere: Made) -> None:
    for name in (WHEEL, SDIST, PARTS):
        assert made.sha256(name) == made_elsewhere.sha256(name), name


@pytest.mark.slow
def test_the_source_archive_has_the_licence_and_what_builds_the_wheel(made: Made) -> None:
    with tarfile.open(made.out / SDIST) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    assert {"LICENSE", "pyproject.toml", "PKG-INFO", "elicit_flows/sdk/README.md", "elicit_flows/py.typed"} <= names
    assert not [name for name in names if name.startswith(("elicit_flows/models", "templates", "tests", "var"))]


@pytest.mark.slow
def test_the_list_of_parts_is_cyclonedx_and_has_every_locked_version(made: Made, clone: Path) -> None:
    text = (made.out / PARTS).read_text(encoding="utf-8")
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    parts = json.loads(text)
    listed = {f"{part['name']}=={part['version']}" for part in parts["components"]}
    lock = (clone / "requirements.txt").read_text(encoding="utf-8").splitlines()
    locked = {line.split(" ")[0] for line in lock if "==" in line and not line.startswith((" ", "#"))}
    assert listed == {re.sub(r"\[.*\]", "", line) for line in locked}
    assert parts["metadata"]["component"]["version"] == __version__
    assert len(parts["dependencies"][0]["dependsOn"]) == len(listed)


@pytest.mark.slow
def test_the_provenance_names_what_was_made_from_what(made: Made, clone: Path) -> None:
    said = made.json(PROVENANCE)
    assert (said["_type"], said["predicateType"]) == (
        "https://in-toto.io/Statement/v1", "https://slsa.dev/provenance/v1",
    )  # fmt: skip
    assert {one["name"]: one["digest"]["sha256"] for one in said["subject"]} == {
        name: made.sha256(name) for name in (WHEEL, SDIST, PARTS)
    }
    build, details = said["predicate"]["buildDefinition"], said["predicate"]["runDetails"]
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=clone, capture_output=True, text=True, check=True)
    source, *locks = build["resolvedDependencies"]
    assert source == {"name": "source", "digest": {"gitCommit": head.stdout.strip()}}
    assert {one["name"]: one["digest"]["sha256"] for one in locks} == {
        name: hashlib.sha256((clone / name).read_bytes()).hexdigest()
        for name in ("requirements.txt", "requirements-dev.txt")
    }
    assert build["externalParameters"] == {"version": __version__, "tag": f"v{__version__}"}
    assert details["builder"]["id"] == "urn:x-elicit-flows:builder:own-machine"
    assert details["metadata"]["startedOn"] <= details["metadata"]["finishedOn"]


@pytest.mark.slow
def test_with_docker_the_image_is_built_and_the_provenance_names_it(made_elsewhere: Made) -> None:
    info, build, save = (made_elsewhere.out.parent / "bin/log").read_text().splitlines()
    assert info == "info"
    label = f"--label org.opencontainers.image.version={__version__}"
    assert build.startswith(f"build --tag elicit-flows:{__version__} {label}")
    assert save.endswith(f"{IMAGE} elicit-flows:{__version__}")
    said = made_elsewhere.json(PROVENANCE)
    assert {one["name"]: one["digest"]["sha256"] for one in said["subject"]}[IMAGE] == made_elsewhere.sha256(IMAGE)


@pytest.mark.slow
def test_the_provenance_of_a_workflow_names_the_workflow(made_elsewhere: Made) -> None:
    predicate = made_elsewhere.json(PROVENANCE)["predicate"]
    details = predicate["runDetails"]
    assert details["builder"]["id"] == "https://git.example.com/us/flows/.github/workflows/release.yml@refs/tags/v1"
    assert details["metadata"]["invocationId"] == "https://git.example.com/us/flows/actions/runs/7"
    source = predicate["buildDefinition"]["resolvedDependencies"][0]
    assert source["uri"] == f"git+https://git.example.com/us/flows@refs/tags/v{__version__}"


def test_without_docker_there_is_no_release_unless_asked_for_without(clone: Path, tmp_path: Path) -> None:
    made = release(clone, tmp_path / "out", env=docker(tmp_path / "bin", status=1))
    assert made.status == 1
    assert "say --no-image to release without the image" in made.said
    assert not made.out.exists()


@pytest.mark.slow
def test_all_that_keeps_a_commit_from_being_a_release_is_said_at_once(
    make_clone: Callable[[], Path], tmp_path: Path
) -> None:
    clone, out = make_clone(), tmp_path / "out"
    git(clone, "tag", "--delete", f"v{__version__}")
    (clone / "CHANGELOG.md").write_text("# Changelog\n\n## Unreleased\n\n## 0.0.9 - 2026-01-01\n")
    out.mkdir()
    (out / "old.whl").touch()
    made = release(clone, out, "--no-image")
    assert made.status == 1
    for fault in (
        f"HEAD has no tag v{__version__}",
        "not committed",
        "CHANGELOG.md: its first release is not",
        "is not empty",
    ):
        assert fault in made.said
    assert [path.name for path in out.iterdir()] == ["old.whl"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "before", "after", "fault"),
    [
        ("elicit_flows/__init__.py", f'"{__version__}"', '"1.0"', "give a version such as 1.2.3"),
        ("elicit_flows/__init__.py", f'"{__version__}"', '"9.0.0"', "HEAD has no tag v9.0.0"),
        (
            "CHANGELOG.md",
            f"## {__version__} - 2026-11-22",
            f"## {__version__} - 2026-13-22",
            "2026-13-22 is not a date",
        ),
    ],
)
def test_a_wrong_version_or_date_is_no_release(
    make_clone: Callable[[], Path], tmp_path: Path, file: str, before: str, after: str, fault: str
) -> None:
    clone = make_clone()
    text = (clone / file).read_text(encoding="utf-8")
    assert before in text
    (clone / file).write_text(text.replace(before, after), encoding="utf-8")
    made = release(clone, tmp_path / "out", "--no-image")
    assert made.status == 1
    assert fault in made.said
