"""``python -m docs.generate``, which is ``make docs``: builds the site, and says where it is."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.exceptions import Abort

ROOT = Path(__file__).resolve().parents[2]


def main(site: str | None = None) -> int:
    """Warnings, such as a link to nowhere, are errors."""
    for name in ("mkdocs", "mkdocs.commands.build"):
        logging.getLogger(name).setLevel(logging.WARNING)
    options = {"site_dir": site} if site else {}
    config = load_config(str(ROOT / "mkdocs.yml"), strict=True, **options)
    try:
        build(config)
    except Abort as aborted:
        print(aborted, file=sys.stderr)
        return 1
    print(f"The documentation is at file://{config['site_dir']}/index.html")
    print(f"With search: python3 -m http.server --bind 127.0.0.1 -d {config['site_dir']}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
