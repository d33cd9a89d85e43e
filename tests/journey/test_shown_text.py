"""T52, T53 in Chromium: text that others wrote is shown as text, and hides nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import Page, Request

from tests.journey.conftest import Doubles
from tests.journey.stage import Stage
from tests.support.browser import User
from tests.support.http_user import HttpUser


def _values(url: str, *names: str) -> list[str]:
    return [part.partition("=")[2] for part in url.partition("?")[2].split("&") if part.partition("=")[0] in names]


PAYLOADS = [
    "<script>alert(1)</script>", "<script src=//evil.example/x></script>", "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)>", "<svg><script>alert(1)</script></svg>", "<svg/onload=alert`1`>", "<body onload=alert(1)>",
    "<iframe src=javascript:alert(1)>", "<iframe srcdoc='<script>alert(1)</script>'>",
    "<object data=javascript:alert(1)>", "<embed src=javascript:alert(1)>", "<a href=javascript:alert(1)>x</a>",
    "<a href='data:text/html,x'>x</a>", "<form action=javascript:alert(1)><button>x</form>",
    "<button formaction=javascript:alert(1)>x</button>", "<input autofocus onfocus=alert(1)>",
    "<select autofocus onfocus=alert(1)>", "<video><source onerror=alert(1)>", "<audio src onerror=alert(1)>",
    "<details open ontoggle=alert(1)>", "<marquee onstart=alert(1)>",
    "<math><maction actiontype=statusline xlink:href=javascript:alert(1)>x",
    "<meta http-equiv=refresh content='0;url=//e'>", "<base href=//evil.example/>",
    "<link rel=stylesheet href=//evil.example/x.css>", "<style>*{background:url(//e)}</style>",
    "<style>@import'//evil.example'</style>", "</blockquote><script>alert(1)</script>",
    "</title><script>alert(1)</script>", "</textarea><script>alert(1)</script>",
    "</noscript><script>alert(1)</script>", "</bdi><img src=x onerror=alert(1)>", '"><script>alert(1)</script>',
    "'><script>alert(1)</script>", '" onmouseover="alert(1)', "' onmouseover='alert(1)",
    '" autofocus onfocus="alert(1)', "`onmouseover=alert(1)", "javascript:alert(1)",
    "data:text/html,<script>alert(1)</script>", "{{7*7}}{{settings.SECRET_KEY}}", "{% debug %}", "${7*7}", "#{7*7}",
    "<%= 7*7 %>", "[x](javascript:alert(1))", "![x](x onerror=alert(1))", "[x]: javascript:alert(1)",
    "<!--<script>alert(1)</script>-->", "--><script>alert(1)</script>", "]]><script>alert(1)</script>",
    "&lt;script&gt;alert(1)&lt;/script&gt;", "&#60;script&#62;alert(1)", "\\x3cscript\\x3e",
    "\\u003cscript\\u003ealert(1)", "<scr<script>ipt>alert(1)</scr</script>ipt>", "<ScRiPt>alert(1)</sCrIpT>",
    "<script\x0c>alert(1)</script>", "<ｓcript>alert(1)</script>", "+ADw-script+AD4-alert(1)+ADw-/script+AD4-",
]  # fmt: skip


@dataclass
class Watch:
    """What must not happen in a page: dialogs, blocked scripts, requests to other places."""

    user: User
    happened: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        page = self.user.page
        page.expose_function("violated", lambda what: self.happened.append(f"CSP: {what}"))
        page.add_init_script(
            "addEventListener('securitypolicyviolation',"
            " (found) => window.violated(`${found.violatedDirective} ${found.blockedURI} ${found.sample}`))"
        )
        page.on("dialog", lambda dialog: (self.happened.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", self._request)

    def _request(self, request: Request) -> None:
        if "127.0.0.1" not in request.url and not request.url.startswith("data:image/svg+xml"):
            self.happened.append(f"request: {request.url}")

    def check(self) -> None:
        page = self.user.page
        page.mouse.move(200, 300)
        links = page.eval_on_selector_all("[href], [src], [action], [formaction]", LINKS)
        assert not [link for link in links if not link.startswith(("http://127.0.0.1", "data:image/svg+xml,%3Csvg"))]
        strange = page.eval_on_selector_all("main *", "all => all.filter(one => one.matches('" + STRANGE + "')).length")
        assert strange == 0
        assert (self.happened, self.user.complaints) == ([], [])


LINKS = """all => all.flatMap(one => [one.href, one.src, one.action, one.formAction])
  .filter(one => typeof one === 'string' && one)"""
STRANGE = "script, style, iframe, object, embed, img, video, audio, base, meta, math, [onerror], [onload], [onfocus]"


@pytest.fixture
def watch(alice: User) -> Iterator[Watch]:
    found = Watch(alice)
    yield found
    assert found.happened == []


def _scope(payload: str) -> str:
    """As much of it as a scope may hold: no space, no quote, no backslash."""
    kept = "".join(sign for sign in payload.replace(" ", "/") if "!" <= sign <= "~" and sign not in '"\\')
    return kept or "x"


def _words(page: Page) -> str:
    return " ".join(page.locator("main").inner_text().split())


def _listed(alice: User, url: str, watch: Watch) -> str:
    """The words of a list, page by page."""
    alice.open(url)
    words = [_words(alice.page)]
    watch.check()
    while (more := alice.page.locator("a[rel=next]")).count():
        more.click()
        words.append(_words(alice.page))
        watch.check()
    return " ".join(words)


def _batches(most: int) -> Iterator[list[str]]:
    """The payloads, as many at a time as ``most`` characters hold. One that is not text spoils its neighbours' too."""
    batch: list[str] = []
    for payload in PAYLOADS:
        if sum(map(len, batch)) + 3 * len(batch) + len(payload) > most:
            yield batch
            batch = []
        batch.append(payload)
    yield batch


def _shown(payload: str) -> str:
    return payload.replace("\x0c", " ")


@pytest.mark.slow
def test_t52_what_agents_write_stays_text(stage: Stage, alice: User, watch: Watch):
    for batch in _batches(300):
        scopes = list(map(_scope, batch))
        asked = stage.ask(message="\n".join(batch), scopes=scopes, reuse="never")
        alice.open(asked["url"])
        assert alice.page_name == "consent"
        words = _words(alice.page)
        assert [said for said in [*scopes, *map(_shown, batch)] if said not in words] == []
        watch.check()
    # All messages in one list, which has other places for them.
    words = _listed(alice, f"{stage.box.url}/account/requests", watch)
    assert [payload for payload in PAYLOADS if _shown(payload) not in words] == []


@pytest.mark.slow
def test_t52_what_providers_write_stays_text(
    stage: Stage, alice: User, watch: Watch, doubles: Doubles, new_http_user: Callable[..., HttpUser]
):
    program = new_http_user()
    for batch in _batches(195):
        asked = stage.ask(provider="bad", reuse="never")
        base, _, sent = stage.answer(program, asked).partition("?")
        state = _values(f"?{sent}", "state")[0]
        said = {"error": "invalid_scope", "error_description": " | ".join(batch)}
        program.http.get(base, params={"state": state, "iss": doubles.bad.url, **said})
        assert stage.status(asked) == "failed"
        alice.open(asked["url"])
        assert (alice.page_name, alice.page_status) == ("done", "failed")
        words = _words(alice.page)
        assert [payload for payload in batch if _shown(payload) not in words] == []
        watch.check()


@pytest.mark.slow
def test_t52_names_of_accounts_stay_text(
    stage: Stage, alice: User, watch: Watch, doubles: Doubles, new_http_user: Callable[..., HttpUser]
):
    program = new_http_user()
    for number, payload in enumerate(PAYLOADS[1::15]):
        doubles.bad.user = {"sub": f"account-{number}", "name": payload}
        program.connect(stage.ask(provider="bad", reuse="never")["url"], "alice")
        assert program.page_status == "completed"
    words = _listed(alice, f"{stage.box.url}/account", watch)
    assert [payload for payload in PAYLOADS[1::15] if payload not in words] == []


def test_t53_what_pretends_to_be_something_else_is_shown_as_it_is(stage: Stage, user: User):
    asked = stage.ask(message="Connect \u202egpj.evird\u202c\u200b to a\u0430pple\u2066\u2069", provider="lookalike")
    user.open(asked["url"])
    user.carry_on("signin", "alice")
    words = _words(user.page)
    assert not set(words) & set("\u202e\u202c\u200b\u2066\u2069")
    assert "says Connect gpj.evird" in words
    assert "xn--pple-43d.example" in words
    assert user.page.locator(".warning").count() == 1
    assert user.page.locator("button", has_text="Continue to xn--pple-43d.example").count() == 1
