"""What MkDocs calls while it builds (mkdocs.yml names this file)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docs.generate import blocks, llms, pages


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    if page.file.src_uri.startswith("adr/"):
        page.meta["search"] = {"boost": 0.3}  # a guide about the same thing comes first
    return blocks.without_runners(pages.expanded(markdown, page.file.src_uri))


def on_post_build(config: Any, **_: Any) -> None:
    llms.write(Path(config["site_dir"]), config["nav"], config["site_description"])
