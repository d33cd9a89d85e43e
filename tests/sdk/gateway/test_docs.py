"""The files of docs/how-to/guard-any-mcp-server.md are read as the gateway reads them."""

from __future__ import annotations

import re
from pathlib import Path

from elicit_flows.sdk.gateway.config import read
from tests.support.process import PROJECT

PAGE = (PROJECT / "docs/how-to/guard-any-mcp-server.md").read_text()


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```toml {kind}\n(.*?)```", PAGE, re.DOTALL)


def test_the_files_of_the_page_are_read(tmp_path: Path) -> None:
    file = tmp_path / "guard.toml"
    file.write_text("\n".join(blocks("guard")))
    config = read(file)
    assert list(config.servers) == ["files", "notes", "crm", "github", "wiki"]
    [write] = config.servers["files"].guards["tools", "write_file"]
    assert write(path="a.txt", content="x").message == "Write “a.txt”?"
    assert config.servers["notes"].guards["resources", "notes://private/{name}"][0].kind == "confirm"
    assert config.servers["crm"].guards["tools", "send_invoice"][0].place.argument == {"api_key": "key"}
    assert config.servers["github"].guards["tools", "*"][0].place.env == {"GITHUB_TOKEN": ""}
    guarded = '[servers.a]\ncommand = "a"\n[[servers.a.tools."*"]]\nask = "confirm"\nmessage = "?"'
    file.write_text("\n".join(['name = "desk"', *blocks("listen"), guarded]))
    assert list(read(file).by_path) == ["/mcp", "/mcp/partner"]
    assert read(file).user_of("deploy") == ("https://login.example.com", "ops-lead")
