"""The project's own files (README, links, hooks, workflow) name only what exists."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.support.process import PROJECT, clean_env

PAGES = [
    "README.md", "CONTRIBUTING.md", "CODE_OF_CONDUCT.md", "SECURITY.md", "CHANGELOG.md", "docs/stability.md",
    "docs/contributing/where-is.md",
    "docs/contributing/gallery.md", "docs/contributing/tests.md", "docs/contributing/releases.md",
    ".github/pull_request_template.md",
]  # fmt: skip
WHERE_IS = PROJECT / "docs/contributing/where-is.md"
TOP = {path.name for path in PROJECT.iterdir() if path.is_dir() and not path.name.startswith(".")} - {
    "dist",
    "var",
    "build",
}


def fault_of(page: str, text: str) -> list[str]:
    """Links and paths of the project that lead nowhere."""
    links = [link.partition("#")[0] for link in re.findall(r"\]\(([^)]+)\)", text) if "://" not in link]
    lost = [link for link in links if link and not (PROJECT / page).parent.joinpath(link).exists()]
    paths = [code for code in re.findall(r"`([\w./-]+)`", text) if code.partition("/")[0] in TOP and "/" in code]
    return lost + [path for path in paths if not (PROJECT / path).exists()]


@pytest.mark.parametrize("page", PAGES)
def test_every_link_and_path_of_a_page_leads_somewhere(page: str) -> None:
    assert fault_of(page, (PROJECT / page).read_text(encoding="utf-8")) == []


def test_a_lost_link_and_a_lost_path_are_noticed() -> None:
    text = "[a](docs/none.md) [b](README.md#x) `elicit_flows/none.py` `config/settings.py` `text/plain`"
    assert fault_of("README.md", text) == ["docs/none.md", "elicit_flows/none.py"]


def test_thirty_questions_of_a_stranger_are_each_answered_by_a_file() -> None:
    rows = re.findall(
        r"^\| (Where .+?\?|How .+?\?|What .+?\?|Who .+?\?) \| (.+) \|$", WHERE_IS.read_text("utf-8"), re.MULTILINE
    )
    assert len({question for question, _ in rows}) >= 30
    for question, answer in rows:
        named = re.match(r"`([^`]+)`", answer)
        assert named, question
        assert (PROJECT / named[1]).exists(), f"{question} {named[1]}"


def test_the_workflow_runs_what_every_machine_runs_and_pins_what_it_uses() -> None:
    workflow = yaml.safe_load((PROJECT / ".github/workflows/check.yml").read_text())
    assert workflow["permissions"] == {"contents": "read"}
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    assert [step["run"] for step in steps if "run" in step][-1] == ".ci/run"
    used = [step["uses"] for step in steps if "uses" in step]
    assert used
    assert all(re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40}", one) for one in used)
    stated = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', (PROJECT / "pyproject.toml").read_text())
    (versions,) = [step["with"]["python-version"].split() for step in steps if "setup-python" in step.get("uses", "")]
    assert sorted(versions) == stated


@pytest.mark.parametrize("name", ["bug", "idea"])
def test_an_issue_template_is_a_form_that_asks(name: str) -> None:
    form = yaml.safe_load((PROJECT / f".github/ISSUE_TEMPLATE/{name}.yml").read_text())
    assert {"name", "description", "body"} <= set(form)
    asked = [part for part in form["body"] if part["type"] != "markdown"]
    assert len({part["id"] for part in asked}) == len(asked)
    assert all(part["attributes"]["label"] for part in asked)
    assert [part["id"] for part in asked if part.get("validations", {}).get("required")]


def test_the_hooks_mend_and_refuse_what_is_committed(tmp_path: Path) -> None:
    for name in (".pre-commit-config.yaml", "pyproject.toml"):
        shutil.copyfile(PROJECT / name, tmp_path / name)
    (tmp_path / ".venv").symlink_to(Path(sys.prefix))
    (tmp_path / "ugly.py").write_text("x = {  'a':1 }\n")
    (tmp_path / ".gitignore").write_text(".venv\n")
    for command in (["git", "init", "--quiet"], ["git", "add", "--all"]):
        subprocess.run(command, cwd=tmp_path, env=clean_env(), check=True)
    env = clean_env({"PRE_COMMIT_HOME": str(tmp_path / "hooks"), "SKIP": "layers,rules"})
    ran = subprocess.run(
        [sys.executable, "-m", "pre_commit", "run", "--all-files"],
        cwd=tmp_path, env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "ruff format" in ran.stdout
    assert (tmp_path / "ugly.py").read_text() == 'x = {"a": 1}\n'


def test_each_hook_calls_a_program_that_the_set_up_installs() -> None:
    config = yaml.safe_load((PROJECT / ".pre-commit-config.yaml").read_text())
    for hook in config["repos"][0]["hooks"]:
        program = hook["entry"].split()[0]
        assert program == "make" or (Path(sys.prefix).parent / program).exists(), program
