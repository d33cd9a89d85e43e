"""The commands and examples of the README, run in a copy of the project."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

import httpx2
import pytest

from tests.support.newcomer import Newcomer, newcomer_in
from tests.support.process import PROJECT

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def newcomer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Newcomer]:
    with newcomer_in(tmp_path_factory.mktemp("clone")) as found:
        yield found


def test_the_readmes_python_asks_waits_and_gets_a_token(newcomer: Newcomer) -> None:
    readme = (newcomer.place / "README.md").read_text(encoding="utf-8")
    found = re.search(r"```python\n(.*?)```", readme, re.DOTALL)
    assert found
    assert len([line for line in found.group(1).splitlines() if line.strip()]) <= 12
    code = found.group(1).replace("http://127.0.0.1:8001", newcomer.sandbox)
    assert "Token(token_type='Bearer'" in newcomer.run(sys.executable, "-c", code)


def test_the_quickstart_lists_the_files(newcomer: Newcomer) -> None:
    files = f"{newcomer.sandbox}/acme/api/files"
    printed = newcomer.run(
        sys.executable, "examples/quickstart.py", "--user", newcomer.sandbox, "alice", "--files-url", files
    )
    assert "Travel plan.pdf" in printed


def test_curl_does_the_same(newcomer: Newcomer) -> None:
    printed = newcomer.run("bash", "examples/plain_http.sh", "--user", newcomer.sandbox, "bob", visit_as="bob")
    assert '"name"' in printed


def test_the_front_page_of_the_sandbox_plays_the_agent(newcomer: Newcomer) -> None:
    assert 'data-action="ask"' in httpx2.get(newcomer.sandbox, trust_env=False).text


def test_the_links_of_the_readme_lead_somewhere(newcomer: Newcomer) -> None:
    readme = (PROJECT / "README.md").read_text(encoding="utf-8")
    targets = [target for target in re.findall(r"\]\(([^)#]+)", readme) if "://" not in target]
    assert targets
    assert [target for target in targets if not (PROJECT / target).exists()] == []
