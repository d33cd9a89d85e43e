"""The pages of the documentation, their code blocks, and the test that runs each block."""

from __future__ import annotations

import re

from docs.generate import api, pages
from docs.generate.blocks import Block, blocks

# Runners that work on any page, by language.
ANYWHERE: dict[str, set[str]] = {
    # tests/docs/test_box.py: against the service of `make run`
    "python": {"box", "file"},
    "sh": {"box", "make-run", "serve"},
    "text": {"output"},
    # tests/docs/test_static.py: read, and held to what reads them
    "toml": {"apply", "entry"},
    "json": {"schema", "question", "import", "wire"},
}
# Runners of one page alone, by the file that has them.
OWN: dict[tuple[str, str], tuple[str, str]] = {
    ("python", "api"): ("reference/api.md", "tests/docs/test_api.py"),
    ("sh", "api"): ("reference/api.md", "tests/docs/test_api.py"),
    ("sh", "generate"): ("reference/api.md", "tests/api/generated/test_generated.py"),
    ("python", "sdk"): ("how-to/python-sdk.md", "tests/sdk/test_docs.py"),
    ("ts", "sdk"): ("how-to/typescript-sdk.md", "tests/sdk/typescript/test_docs.py"),
    ("ts", "mcp"): ("how-to/mcp-server-typescript.md", "tests/sdk/typescript/mcp/test_docs.py"),
    ("ts", "ai"): ("how-to/ai-sdk.md", "tests/sdk/typescript/frameworks/test_ai_sdk.py"),
    ("ts", "mastra"): ("how-to/mastra.md", "tests/sdk/typescript/frameworks/test_mastra.py"),
    ("sh", "typescript"): ("how-to/typescript-sdk.md", "tests/sdk/typescript/test_docs.py"),
    ("python", "mcp"): ("how-to/mcp-server.md", "tests/sdk/mcp/test_docs.py"),
    ("toml", "guard"): ("how-to/guard-any-mcp-server.md", "tests/sdk/gateway/test_docs.py"),
    ("toml", "listen"): ("how-to/guard-any-mcp-server.md", "tests/sdk/gateway/test_docs.py"),
    ("python", "acp"): ("how-to/acp-agent.md", "tests/sdk/acp/test_docs.py"),
    ("python", "ahp"): ("how-to/ahp-host.md", "tests/sdk/ahp/test_docs.py"),
    ("python", "tesseron"): ("how-to/tesseron-app.md", "tests/sdk/tesseron/test_docs.py"),
    ("python", "claude-agent-sdk"): (
        "how-to/frameworks/claude-agent-sdk.md",
        "tests/sdk/frameworks/test_claude_agent_sdk.py",
    ),
    ("python", "crewai"): ("how-to/frameworks/crewai.md", "tests/sdk/frameworks/test_crewai.py"),
    ("python", "google-adk"): ("how-to/frameworks/google-adk.md", "tests/sdk/frameworks/test_google_adk.py"),
    ("python", "langgraph"): ("how-to/frameworks/langgraph.md", "tests/sdk/frameworks/test_langgraph.py"),
    ("python", "llama-index"): ("how-to/frameworks/llama-index.md", "tests/sdk/frameworks/test_llama_index.py"),
    ("python", "openai-agents"): ("how-to/frameworks/openai-agents.md", "tests/sdk/frameworks/test_openai_agents.py"),
    ("python", "pydantic-ai"): ("how-to/frameworks/pydantic-ai.md", "tests/sdk/frameworks/test_pydantic_ai.py"),
    ("python", "smolagents"): ("how-to/frameworks/smolagents.md", "tests/sdk/frameworks/test_smolagents.py"),
    ("python", "remote"): ("how-to/remote-mcp-servers.md", "tests/journey/test_mcp_servers.py"),
    ("python", "remote-1"): ("how-to/remote-mcp-servers.md", "tests/journey/test_mcp_servers.py"),
    ("python", "shops"): ("how-to/shopify-and-quickbooks.md", "tests/journey/test_shops.py"),
    ("python", "hosts"): ("how-to/mcp-client.md", "tests/sdk/hosts/test_docs.py"),
    ("python", "pytest"): ("how-to/test-your-agent.md", "tests/docs/test_own.py"),
    ("sh", "image"): ("how-to/test-your-agent.md", "tests/sdk/testing/test_plugin.py"),
    ("python", "double"): ("how-to/test-your-agent.md", "tests/sdk/testing/test_double.py"),
    ("python", "site"): ("how-to/own-sign-in.md", "tests/docs/test_own.py"),
    ("python", "webhook"): ("how-to/webhooks.md", "tests/docs/test_own.py"),
    ("python", "x402-double"): ("how-to/x402.md", "tests/x402/test_double.py"),
    ("python", "x402"): ("how-to/x402.md", "tests/x402/test_paying.py"),
    ("ts", "x402"): ("how-to/x402.md", "tests/sdk/typescript/test_x402.py"),
    ("toml", "x402"): ("how-to/x402.md", "tests/x402/test_paying.py"),
    ("csv", "tokens"): ("how-to/import-tokens.md", "tests/oauth/test_import_files.py"),
    ("sh", "tokens"): ("how-to/import-tokens.md", "tests/oauth/test_import_files.py"),
    ("json", "nango"): ("how-to/import-tokens.md", "tests/oauth/test_import_files.py"),
    ("sh", "nango"): ("how-to/import-tokens.md", "tests/oauth/test_import_files.py"),
    ("json", "composio"): ("how-to/import-tokens.md", "tests/oauth/test_import_files.py"),
    ("sh", "composio"): ("how-to/import-tokens.md", "tests/oauth/test_import_files.py"),
    ("sh", "mail"): ("how-to/notifications.md", "tests/notifications/test_docs.py"),
    ("toml", "chat"): ("how-to/notifications.md", "tests/notifications/test_docs.py"),
    ("json", "telling"): ("how-to/notifications.md", "tests/notifications/test_docs.py"),
    ("html", "popup"): ("how-to/popup.md", "tests/journey/test_popup.py"),
    ("sh", "backup"): ("how-to/backup.md", "tests/faults/test_backup.py"),
    ("sh", "compose"): ("how-to/backup.md", "tests/faults/test_backup.py"),
    ("sh", "systemd"): ("how-to/deploy-systemd.md", "tests/test_systemd.py"),
    ("sh", "production"): ("tutorials/production.md", "tests/docs/test_production.py"),
    ("text", "production"): ("tutorials/production.md", "tests/docs/test_production.py"),
}
# Made by tests.house.threats from the names of tests, and the page of those who change the code.
LEFT_OUT = {"explanation/threats.md"}


def all_pages() -> list[str]:
    return [
        page for page in pages.all_pages() if page not in LEFT_OUT and not page.startswith(("adr/", "contributing/"))
    ]


def found(page: str, *runners: str) -> list[Block]:
    """The page's blocks; with ``runners``, those that one of them runs. Of the generated parts one alone has any.

    Those are read where they are written: to make the part takes a second, of every worker that collects the tests.
    """
    text = (pages.DOCS / page).read_text(encoding="utf-8")
    if page == "reference/api.md":
        text += api.EXAMPLES.read_text(encoding="utf-8")
    return [block for block in blocks(text) if not runners or block.runner in runners]


def pages_with(*runners: str) -> list[str]:
    return [page for page in all_pages() if found(page, *runners)]


def same_output(wanted: str, printed: str) -> bool:
    """``…`` in what is wanted stands for anything."""
    pattern = ".*?".join(re.escape(part) for part in wanted.strip().split("…"))
    return re.fullmatch(pattern, printed.strip(), re.DOTALL) is not None
