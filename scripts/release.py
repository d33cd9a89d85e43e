"""``make release``: wheel, source archive, image, list of parts (SBOM) and provenance of one tagged version.

Everything is built from the tagged commit, not from the working folder, with the locked build tools and the commit's
time as SOURCE_DATE_EPOCH: the same commit gives the same wheel and source archive, byte for byte. Nothing is uploaded,
and nothing is signed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from elicit_flows import __version__

ROOT = Path(__file__).resolve().parents[1]
NAME = "elicit-flows"
# A semantic version; pre-releases in Python's spelling, 1.2.3rc1.
VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)((a|b|rc)\d+)?")
RELEASED = re.compile(r"^## (\S+) - (\S+)$", re.MULTILINE)
NO_BUILDER = "urn:x-elicit-flows:builder:own-machine"
BUILD_TYPE = "urn:x-elicit-flows:build:scripts.release:1"


class ReleaseError(Exception):
    """The release cannot be made; the text says why and what to do."""


@dataclass(frozen=True)
class Source:
    """The commit that is released. ``epoch`` is its time, in seconds since 1970."""

    version: str
    commit: str
    epoch: int


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="make release", description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="an empty or new folder (dist/)")
    parser.add_argument("--no-image", action="store_true", help="make no container image, for a machine without docker")
    given = parser.parse_args(arguments)
    try:
        made = release(given.out.resolve(), with_image=not given.no_image)
    except ReleaseError as refused:
        print(refused, file=sys.stderr)
        return 1
    for path in made:
        print(path)
    if given.no_image:
        print("No image was made (--no-image).")
    return 0


def release(out: Path, *, with_image: bool) -> list[Path]:
    """Checks, builds, and returns the files that are now in ``out``. Raises ReleaseError."""
    started = datetime.now(UTC)
    source = read_source()
    faults = [*faults_of_source(source), *faults_of_machine(out, with_image=with_image)]
    if faults:
        raise ReleaseError("\n".join(["No release was made:", *(f"- {fault}" for fault in faults)]))
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / f"{NAME}-{source.version}"
        check_out(source.commit, tree)
        build_package(tree, out, source.epoch)
        write_parts_list(tree, out / f"{NAME}-{source.version}.cdx.json", source)
        if with_image:
            build_image(tree, out / f"{NAME}-{source.version}-image.tar", source)
        locks = [tree / "requirements.txt", tree / "requirements-dev.txt"]
        statement = provenance(source, sorted(out.iterdir()), locks, os.environ, started)
    text = json.dumps(statement, indent=2) + "\n"
    (out / f"{NAME}-{source.version}.provenance.json").write_text(text, encoding="utf-8")
    made = sorted(out.iterdir())
    sums = "".join(f"{sha256(path)}  {path.name}\n" for path in made)
    (out / "SHA256SUMS").write_text(sums, encoding="utf-8")
    return [*made, out / "SHA256SUMS"]


def read_source() -> Source:
    return Source(__version__, git("rev-parse", "HEAD"), int(git("log", "-1", "--format=%ct")))


def faults_of_source(source: Source) -> list[str]:
    """Why this commit is no release: its version, its tag, the changelog, changes that are not committed."""
    faults = []
    if not VERSION.fullmatch(source.version):
        faults.append(f"elicit_flows.__version__ is {source.version!r}: give a version such as 1.2.3 or 1.2.3rc1.")
    tag = f"v{source.version}"
    if tag not in git("tag", "--points-at", "HEAD").split():
        faults.append(f"HEAD has no tag {tag}: `git tag --annotate {tag}`, or check out the tag.")
    if git("status", "--porcelain"):
        faults.append("The working folder has changes that are not committed: `git status`.")
    newest = RELEASED.search((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    if newest is None or newest[1] != source.version:
        faults.append(f"CHANGELOG.md: its first release is not `## {source.version} - YYYY-MM-DD`.")
    elif not is_date(newest[2]):
        faults.append(f"CHANGELOG.md: {newest[2]} is not a date.")
    return faults


def is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def faults_of_machine(out: Path, *, with_image: bool) -> list[str]:
    faults = []
    if out.exists() and any(out.iterdir()):
        faults.append(f"{out} is not empty: move away what is there, or give another folder with --out.")
    if with_image and not docker_answers():
        faults.append("Docker is missing or its daemon does not answer: say --no-image to release without the image.")
    return faults


def docker_answers() -> bool:
    return (
        bool(shutil.which("docker"))
        and subprocess.run(["docker", "info"], capture_output=True, check=False).returncode == 0
    )


def check_out(commit: str, tree: Path) -> None:
    """The files of the commit, and nothing else that lies in the working folder."""
    archive = tree.with_suffix(".tar")
    git("-c", "tar.umask=0022", "archive", "--format=tar", f"--output={archive}", commit)
    tree.mkdir()
    # tarfile has no filter before Python 3.11.4, and warns where it is left out from 3.12 on.
    subprocess.run(["tar", "--extract", "--no-same-owner", f"--file={archive}", f"--directory={tree}"], check=True)


def build_package(tree: Path, out: Path, epoch: int) -> None:
    """The source archive, and the wheel from it, with the build tools that requirements-dev.txt locks."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(tree)]
    run(command, cwd=tree, env=os.environ | {"SOURCE_DATE_EPOCH": str(epoch)})


def write_parts_list(tree: Path, file: Path, source: Source) -> None:
    """CycloneDX, of the service as requirements.txt locks it for every platform."""
    made = [sys.executable, "-m", "cyclonedx_py", "requirements", "--output-reproducible", "--spec-version", "1.6"]
    made += ["--output-file", str(file), str(tree / "requirements.txt")]
    run(made, cwd=tree, env=os.environ | {"SOURCE_DATE_EPOCH": str(source.epoch)})
    parts: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    parts["metadata"]["component"] = {
        "type": "application", "bom-ref": NAME, "name": NAME, "version": source.version,
        "licenses": [{"license": {"id": "Apache-2.0"}}],
    }  # fmt: skip
    parts["dependencies"] = [
        {"ref": NAME, "dependsOn": sorted(part["bom-ref"] for part in parts["components"])},
        *parts.get("dependencies", []),
    ]
    file.write_text(json.dumps(parts, indent=2) + "\n", encoding="utf-8")


def build_image(tree: Path, file: Path, source: Source) -> None:
    """For ``docker load``. Unlike the wheel, its bytes differ from one build to the next."""
    labels = {"version": source.version, "revision": source.commit, "licenses": "Apache-2.0"}
    command = ["docker", "build", "--tag", f"{NAME}:{source.version}"]
    for name, value in labels.items():
        command += ["--label", f"org.opencontainers.image.{name}={value}"]
    run([*command, str(tree)], cwd=tree)
    run(["docker", "image", "save", "--output", str(file), f"{NAME}:{source.version}"], cwd=tree)


def provenance(
    source: Source, made: Sequence[Path], locks: Sequence[Path], env: Mapping[str, str], started: datetime
) -> dict[str, Any]:
    """An in-toto statement (v1) with SLSA's provenance (v1): what was made, by whom, from what.

    It is not signed. Whoever publishes signs it, so that others can tell who says this.
    """
    on_github = env.get("GITHUB_ACTIONS") == "true"
    server, repository = env.get("GITHUB_SERVER_URL", ""), env.get("GITHUB_REPOSITORY", "")
    commit: dict[str, Any] = {"name": "source", "digest": {"gitCommit": source.commit}}
    if on_github:
        commit["uri"] = f"git+{server}/{repository}@refs/tags/v{source.version}"
    builder = f"{server}/{env.get('GITHUB_WORKFLOW_REF', repository)}" if on_github else NO_BUILDER
    run_id = f"{server}/{repository}/actions/runs/{env.get('GITHUB_RUN_ID', '')}" if on_github else uuid.uuid4().urn
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": path.name, "digest": {"sha256": sha256(path)}} for path in made],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD_TYPE,
                "externalParameters": {"version": source.version, "tag": f"v{source.version}"},
                "internalParameters": {"SOURCE_DATE_EPOCH": source.epoch, "python": sys.version.split()[0]},
                "resolvedDependencies": [
                    commit, *({"name": lock.name, "digest": {"sha256": sha256(lock)}} for lock in locks),
                ],
            },
            "runDetails": {
                "builder": {"id": builder},
                "metadata": {
                    "invocationId": run_id, "startedOn": timestamp(started), "finishedOn": timestamp(datetime.now(UTC)),
                },
            },
        },
    }  # fmt: skip


def timestamp(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def git(*arguments: str) -> str:
    return run(["git", *arguments], cwd=ROOT).strip()


def run(command: Sequence[str], *, cwd: Path, env: Mapping[str, str] | None = None) -> str:
    """What the command prints. Raises ReleaseError with its errors when it fails."""
    ran = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise ReleaseError(f"{' '.join(command)} failed:\n{ran.stdout}{ran.stderr}")
    return ran.stdout


if __name__ == "__main__":
    sys.exit(main())
