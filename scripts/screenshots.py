"""``make screenshots``: write the pictures of the docs anew, of the pages in the gallery."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from wsgiref.simple_server import WSGIRequestHandler, make_server

from django.core.wsgi import get_wsgi_application
from playwright.sync_api import sync_playwright

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "pictures"
# The name of the file, and the address within the gallery.
PICTURES = {"consent.png": "consent"}
SIZE = {"width": 1040, "height": 600}
PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
# The gallery reads no database, and needs no keys that last.
SETTINGS = {
    "DJANGO_SETTINGS_MODULE": "config.settings",
    "ELICIT_ALLOW_LOOPBACK": "1",
    "SECRET_KEY": "only for the pictures, which nobody signs in to",
    "ELICIT_VAULT_KEYS": "k1:" + "A" * 43 + "=",
}


class Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing of each request."""


def main(folder: Path = FOLDER) -> int:
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        print("Chromium is needed (Debian: apt-get install chromium).", file=sys.stderr)
        return 1
    folder.mkdir(parents=True, exist_ok=True)
    with served() as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(viewport=SIZE, color_scheme="light", locale="en-US")  # type: ignore[arg-type]
        for name, address in PICTURES.items():
            page.goto(f"{url}/_gallery/{address}")
            page.screenshot(path=folder / name)
            print(f"wrote {folder / name}")
        browser.close()
    return 0


@contextmanager
def served() -> Iterator[str]:
    """The service in this process, on a port of its own."""
    with tempfile.TemporaryDirectory(prefix="elicit-screenshots-") as home:
        os.environ.update(SETTINGS, DATABASE_URL=f"sqlite:///{home}/empty.sqlite3")
        yield from _serving()


def _serving() -> Iterator[str]:
    with make_server("127.0.0.1", 0, get_wsgi_application(), handler_class=Quiet) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


if __name__ == "__main__":
    sys.exit(main())
