"""The scripted person in a real browser: Chromium, driven through Playwright."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.support.left_out import left_out
from tests.support.persona import Persona

# The first is the same engine without the windows, which take three quarters of the others' time.
PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Nothing but this machine: a page that wanted a font or a script from elsewhere would show it by failing.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost, EXCLUDE *.localhost",
]
TIMEOUT = 45_000  # milliseconds


class Chromium:
    """A running browser.

    Playwright's loop waits, half run, in the thread that uses it, and is marked there as the running one: asyncio.run
    and Django's ORM then refuse to work. So the mark is there only while somebody uses the browser.
    """

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self._loop = asyncio.get_running_loop()
        asyncio._set_running_loop(None)

    @contextmanager
    def in_use(self) -> Iterator[Browser]:
        asyncio._set_running_loop(self._loop)
        try:
            yield self.browser
        finally:
            asyncio._set_running_loop(None)


@contextmanager
def chromium() -> Iterator[Chromium]:
    """A browser for many windows; leaves the test out where there is none."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        left_out("Chromium: not found (Debian: apt-get install chromium)")
    with sync_playwright() as playwright:
        started = Chromium(playwright.chromium.launch(executable_path=program, args=FLAGS))
        yield started
        with started.in_use():
            started.browser.close()
        asyncio._set_running_loop(started._loop)
    asyncio._set_running_loop(None)


class User(Persona):
    """One person with a browser window of their own: no cookie is shared with another."""

    def __init__(self, browser: Browser, *, scripts: bool = True, **options: object) -> None:
        """``scripts=False`` turns JavaScript off; ``options`` are Playwright's for a context (locale, viewport)."""
        self.context: BrowserContext = browser.new_context(java_script_enabled=scripts, **options)  # type: ignore[arg-type]
        self.context.set_default_timeout(TIMEOUT)
        self.complaints: list[str] = []
        self.page: Page = self.context.new_page()
        self.page.on("console", lambda message: self._complain(message.type, message.text))
        self.page.on("pageerror", lambda error: self._complain("error", str(error)))

    def _complain(self, kind: str, text: str) -> None:
        if kind == "error":
            self.complaints.append(text)

    @property
    def url(self) -> str:
        return self.page.url

    @property
    def page_name(self) -> str:
        return self._of_body("data-page")

    @property
    def page_status(self) -> str:
        return self._of_body("data-status")

    def _of_body(self, attribute: str) -> str:
        return self.page.locator("body").get_attribute(attribute) or ""

    @property
    def text(self) -> str:
        return self.page.locator("body").inner_text()

    def actions(self) -> list[str]:
        found = self.page.locator("[data-action]").all()
        return [action for one in found if (action := one.get_attribute("data-action"))]

    def open(self, url: str) -> Page:
        self.page.goto(url)
        return self.page

    def press(self, action: str, **fields: str) -> Page:
        """Fills in ``fields`` by name and presses the button, as people do: one that is hidden cannot be pressed."""
        form = self.page.locator(f'form[data-action="{action}"], form:has(button[data-action="{action}"])').first
        for name, value in fields.items():
            form.locator(f'[name="{name}"]').fill(value)
        marked = f'button[data-action="{action}"], form[data-action="{action}"] [type="submit"]'
        plain = f'form[data-action="{action}"] button:not([type])'
        with self.page.expect_navigation():
            self.page.locator(f"{marked}, {plain}").first.click()
        return self.page

    def wait_for_page(self, name: str, status: str | None = None) -> Page:
        """Waits until the page says that it is ``name`` (and ``status``), as pages do that update themselves."""
        wanted = f'body[data-page="{name}"]' + (f'[data-status="{status}"]' if status else "")
        self.page.wait_for_selector(wanted, state="attached")
        return self.page

    def screenshot(self, path: Path, *, whole: bool = True) -> Path:
        self.page.screenshot(path=path, full_page=whole)
        return path

    def close(self) -> None:
        self.context.close()
