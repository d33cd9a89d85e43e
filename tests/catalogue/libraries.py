"""What maintained libraries say about providers, to compare the catalogue with.

``python -m tests.catalogue.libraries --write`` writes the copy that ``manage.py providers check`` reads.
"""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

from elicit_flows.catalogue import library_copies
from tests.support.op import node

HERE = Path(__file__).resolve().parent


@cache
def facts(node: Path) -> library_copies.Copies:
    """By library, the providers that it knows and their endpoints."""
    python = _printed(sys.executable, str(HERE / "facts.py"))
    peers = _printed(str(node), str(HERE.parent / "peers" / "facts.mjs"))
    return library_copies.read(json.dumps({**python, **peers}))


def text_of(known: library_copies.Copies) -> str:
    """As the copy is written: one provider a line."""
    blocks = (
        f"{json.dumps(name)}: [\n" + ",\n".join(f"  {json.dumps(one)}" for one in sorted(set(said))) + "\n]"
        for name, said in sorted(known.items())
    )
    return "{\n" + ",\n".join(blocks) + "\n}\n"


def _printed(*command: str) -> dict[str, list[list[str]]]:
    ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    found: dict[str, list[list[str]]] = json.loads(ran.stdout)
    return found


if __name__ == "__main__" and "--write" in sys.argv:
    library_copies.COPY.write_text(text_of(facts(node())), encoding="utf-8")
