"""The house rules that no other tool checks, read from the syntax tree. See docs/adr/."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MAX_FILE = 400
MAX_FUNCTION = 50
# Where an import inside a function has a reason: Django's apps must be loaded first, or a library takes long to import
# and most services never use it.
LAZY = {
    "config/celery.py", "elicit_flows/admin/apps.py", "elicit_flows/apps.py",
    "elicit_flows/config_file/notifications.py", "elicit_flows/lib/shared_redis.py",
    "elicit_flows/notifications/sending.py", "elicit_flows/web/invitations.py",
    "elicit_flows/web/passkeys.py",
}  # fmt: skip

# Where whatever happens has to be survived, and is logged.
GUARDS = {
    "elicit_flows/jobs/worker.py",
    "elicit_flows/kinds/payment/providers/guard.py",
    "elicit_flows/vault/refresh_job.py",  # one row must not undo the others of its transaction
}

Fault = tuple[str, int, str]


def main() -> int:
    faults = [fault for path in sources() for fault in check(path)]
    for path, line, what in faults:
        print(f"{path}:{line}: {what}")
    return 1 if faults else 0


def sources() -> list[str]:
    """The product's Python files: those git tracks or would, outside tests and migrations."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    found = [path for path in listed.stdout.split() if (ROOT / path).exists()]
    return [path for path in found if "/migrations/" not in path and not path.startswith("tests/")]


def check(path: str) -> Iterator[Fault]:
    text = (ROOT / path).read_text(encoding="utf-8")
    tree = ast.parse(text)
    if len(text.splitlines()) > MAX_FILE:
        yield path, MAX_FILE, f"a file over {MAX_FILE} lines is two things: find the seam"
    for node in ast.walk(tree):
        yield from ((path, line, what) for line, what in check_node(path, node))


def check_node(path: str, node: ast.AST) -> Iterator[tuple[int, str]]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield from check_function(path, node)
    elif isinstance(node, ast.ExceptHandler):
        if path in GUARDS:
            return
        if node.type is None or (isinstance(node.type, ast.Name) and node.type.id in {"Exception", "BaseException"}):
            yield node.lineno, "catch what you expect, not everything"
    elif isinstance(node, ast.Call):
        yield from check_call(path, node)


def check_function(path: str, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[int, str]]:
    length = (node.end_lineno or node.lineno) - node.lineno + 1
    if length > MAX_FUNCTION:
        yield node.lineno, f"{node.name} has {length} lines, over {MAX_FUNCTION}"
    if path not in LAZY:
        for inner in ast.walk(node):
            if isinstance(inner, ast.Import | ast.ImportFrom):
                yield inner.lineno, "an import inside a function hides a cycle"


def check_call(path: str, node: ast.Call) -> Iterator[tuple[int, str]]:
    """Only elicitations/ moves an elicitation; secrets are revealed in few places."""
    name = ast.unparse(node.func)
    keywords = {keyword.arg for keyword in node.keywords}
    on_elicitations = "Elicitation.objects" in name or name.startswith("elicitations.")
    if (
        on_elicitations
        and name.endswith(".update")
        and "status" in keywords
        and not path.startswith("elicit_flows/elicitations/")
    ):
        yield node.lineno, "only elicitations/ writes the status of an elicitation"
    if name in {"compare_and_set", "save", "CompiledUpdate.of"} and path not in COMPILED_WRITERS:
        yield node.lineno, "write rows with the ORM: compiled SQL is for what COMPILED_WRITERS lists"
    if name.endswith(".reveal") and not path.startswith(REVEALERS):
        yield node.lineno, "a secret is revealed where it leaves for its owner, and nowhere else"


# compiled_query's writes take the row and a column's name, so no rule could tell a status that they write.
COMPILED_WRITERS = {
    "elicit_flows/elicitations/transitions.py",
    "elicit_flows/lib/compiled_query.py",
    "elicit_flows/models/leases.py",
    "elicit_flows/vault/connections.py",
    "elicit_flows/vault/refresh.py",
}
REVEALERS = (
    "elicit_flows/vault/",
    "elicit_flows/kinds/oauth/",
    "elicit_flows/kinds/payment/",
    "elicit_flows/kinds/credentials/",
    "elicit_flows/identity/",
    "elicit_flows/config_file/",
    "elicit_flows/events/webhooks.py",
    "elicit_flows/notifications/chat.py",
    "elicit_flows/notifications/push.py",
    "elicit_flows/notifications/webhook.py",
    "elicit_flows/sdk/",
    "sandbox/console.py",
)

if __name__ == "__main__":
    sys.exit(main())
