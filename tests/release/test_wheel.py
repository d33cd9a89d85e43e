"""The package is the SDK and what it imports: no server, typed, with its licence, and a README that an index shows."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import tomllib
import zipfile
from email import message_from_bytes
from pathlib import Path

import grimp
import pytest
from packaging.metadata import Metadata
from packaging.requirements import Requirement
from readme_renderer import markdown
from trove_classifiers import classifiers as known_classifiers

from elicit_flows import __version__
from tests.support.environments import environment
from tests.support.process import PROJECT, clean_env

SDK_README = PROJECT / "elicit_flows/sdk/README.md"
# Of the text at the Apache Software Foundation.
LICENCE = "cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30"
MOST_BYTES = 320_000  # with the gateway, the adapters of ten frameworks and the double of the service
# What the parts that need more than the SDK itself may import; each is an extra, but for pytest.
MORE = {
    "elicit_flows.sdk.acp": {"acp", "pydantic"},
    "elicit_flows.sdk.frameworks.claude_agent_sdk": {"claude_agent_sdk"},
    "elicit_flows.sdk.frameworks.crewai": {"crewai"},
    "elicit_flows.sdk.frameworks.google_adk": {"google"},
    "elicit_flows.sdk.frameworks.langgraph": {"langchain_core", "langgraph"},
    "elicit_flows.sdk.frameworks.llama_index": {"llama_index", "workflows"},
    "elicit_flows.sdk.frameworks.openai_agents": {"agents"},
    "elicit_flows.sdk.frameworks.pydantic_ai": {"pydantic_ai"},
    "elicit_flows.sdk.frameworks.smolagents": {"smolagents"},
    # mcp asks for all of these.
    "elicit_flows.sdk.gateway": {"jwt", "mcp", "mcp_types", "pydantic", "starlette", "uvicorn"},
    "elicit_flows.sdk.mcp": {"anyio", "mcp", "pydantic"},
    "elicit_flows.sdk.tesseron": {"pydantic", "tesseron"},
    "elicit_flows.sdk.testing": {"pytest"},
    "elicit_flows.sdk.typed_forms": {"pydantic"},
}
ROOTS = ("elicit_flows.sdk", "elicit_flows.wires")
SERVER = {"django", "celery", "authlib", "stripe", "cryptography", "config", "ninja", "redis", "psycopg"}


def package_of(module: str) -> list[str]:
    """``a.b.c``: a, a.b and a.b.c, all of which Python imports."""
    parts = module.split(".")
    return [".".join(parts[:end]) for end in range(1, len(parts) + 1)]


@pytest.fixture(scope="module")
def imports() -> dict[str, set[str]]:
    """Every module that the SDK and the wires come to import, with what each imports itself."""
    graph = grimp.build_graph("elicit_flows", include_external_packages=True)
    found: dict[str, set[str]] = {}
    todo = [module for module in graph.modules if module.startswith(ROOTS)]
    while todo:
        for module in package_of(todo.pop()):
            if module.startswith("elicit_flows") and module not in found:
                found[module] = set(graph.find_modules_directly_imported_by(module))
                todo += found[module]
    return found


def test_the_wheel_holds_what_the_sdk_imports_and_nothing_else(wheel: Path, imports: dict[str, set[str]]) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    held = {
        name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in names if name.endswith(".py")
    }
    assert held - set(imports) == set(), "superfluous: take it out of only-include in pyproject.toml"
    assert set(imports) - held == set(), "missing: add it to only-include in pyproject.toml"
    info = f"elicit_flows-{__version__}.dist-info"
    other = {name for name in names if not name.endswith(".py")}
    assert other == {
        "elicit_flows/py.typed", f"{info}/METADATA", f"{info}/RECORD", f"{info}/WHEEL", f"{info}/entry_points.txt",
        f"{info}/licenses/LICENSE",
    }  # fmt: skip


def test_the_wheel_is_small_and_has_the_licence(wheel: Path) -> None:
    assert wheel.stat().st_size < MOST_BYTES
    with zipfile.ZipFile(wheel) as held:
        licence = held.read(f"elicit_flows-{__version__}.dist-info/licenses/LICENSE")
    assert hashlib.sha256(licence).hexdigest() == LICENCE
    assert (PROJECT / "LICENSE").read_bytes() == licence


def test_an_index_takes_the_metadata(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as held:
        raw = held.read(f"elicit_flows-{__version__}.dist-info/METADATA")
    said = Metadata.from_email(raw)  # raises where an index would refuse it
    assert (said.name, said.license_expression, said.license_files) == ("elicit-flows", "Apache-2.0", ["LICENSE"])
    assert said.author == "Elicit Flows contributors"
    assert set(said.classifiers or ()) <= known_classifiers
    assert {str(one.name) for one in said.requires_dist or () if one.marker is None} == {
        "httpx2",
        "idna",
        "standardwebhooks",
    }
    assert set(said.provides_extra or ()) == {
        "acp", "claude-agent-sdk", "crewai", "forms", "google-adk", "langgraph", "llama-index", "mcp", "openai-agents",
        "pydantic-ai", "smolagents", "tesseron",
    }  # fmt: skip
    assert message_from_bytes(raw)["Description-Content-Type"] == "text/markdown"


def test_the_readme_of_the_package_is_rendered_and_leads_nowhere_else() -> None:
    text = SDK_README.read_text(encoding="utf-8")
    html = markdown.render(text)
    assert html
    assert {"table", "h1", "pre"} <= set(re.findall(r"<(\w+)", html))
    assert [
        link for link in re.findall(r'(?:href|src)="([^"]*)"', html) if not link.startswith(("#", "https://"))
    ] == []
    assert markdown.render((PROJECT / "README.md").read_text(encoding="utf-8"))


def test_the_readme_of_the_package_shows_what_the_projects_readme_shows() -> None:
    """tests/test_readme.py runs that one."""
    code = re.compile(r"```python\n.*?```", re.DOTALL)
    ours, projects = (code.findall(file.read_text(encoding="utf-8")) for file in (SDK_README, PROJECT / "README.md"))
    assert ours == projects
    extras = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(re.findall(r"elicit-flows\[([\w-]+)\]", SDK_README.read_text(encoding="utf-8"))) == set(extras)


def test_the_sdk_imports_no_library_that_it_does_not_ask_for(imports: dict[str, set[str]]) -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    asked = {Requirement(line).name for line in project["dependencies"]}
    standard = {*sys.stdlib_module_names, "elicit_flows"}
    for module, imported in imports.items():
        more = next((names for part, names in MORE.items() if module.startswith(part)), set())
        assert {name.partition(".")[0] for name in imported} - standard - asked - more == set(), module


@pytest.mark.slow
def test_the_sdk_runs_on_its_own_requirements_and_loads_no_server(
    installed: Path, imports: dict[str, set[str]]
) -> None:
    modules = sorted(module for module in imports if not module.startswith(tuple(MORE)) or module.endswith(".testing"))
    code = (
        "import importlib, json, sys\n"
        "for name in json.loads(sys.argv[1]): importlib.import_module(name)\n"
        "import elicit_flows\n"
        "print(json.dumps([elicit_flows.__file__, sorted({name.partition('.')[0] for name in sys.modules})]))"
    )
    ran = subprocess.run(
        [environment("sdk"), "-W", "error", "-c", code, json.dumps(modules)],
        cwd=installed, env=clean_env({"PYTHONPATH": str(installed)}), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    file, loaded = json.loads(ran.stdout)
    assert file == str(installed / "elicit_flows/__init__.py")
    assert len(modules) > 50
    assert SERVER & set(loaded) == set()
