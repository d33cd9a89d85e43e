"""T55: the cookies of a service behind https, on the whole way, as people's browsers keep them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import httpx2
import pytest

from tests.cast import DRIVE_BOT
from tests.journey.stage import Stage
from tests.journey.tls import TlsProxy
from tests.support import box_config
from tests.support.box import Box
from tests.support.browser import User
from tests.support.http_user import HttpUser
from tests.support.op import Op


@pytest.fixture(scope="module")
def tls() -> Iterator[TlsProxy]:
    with TlsProxy() as proxy:
        yield proxy


@pytest.fixture(scope="module")
def https_box(new_box: Callable[..., Box], tls: TlsProxy, corp_server: Op, drive_server: Op) -> Box:
    box = new_box(configure=False, start=False, settings={"ELICIT_PUBLIC_URL": tls.url})
    tables = {
        "identity_provider": [box_config.identity_provider(corp_server, tls.url)],
        "provider": [box_config.oauth_provider(drive_server, tls.url)],
    }
    box.add_agents(DRIVE_BOT, beside=tables)
    tls.target = box.ports[0]
    return box.start()


@pytest.fixture
def https_stage(https_box: Box, corp: Op, drive: Op) -> Stage:
    return Stage(https_box, https_box.agent(DRIVE_BOT.slug), corp, drive)


def _check(cookie: str, names: set[str]) -> str:
    """One Set-Cookie header; the cookie's name."""
    pair, *flags = [part.strip() for part in cookie.split(";")]
    name, _, value = pair.partition("=")
    given = {flag.partition("=")[0].lower(): flag.partition("=")[2] for flag in flags}
    assert name in names, cookie
    assert given["path"] == "/", cookie
    assert given["samesite"] == "Lax", cookie
    assert "domain" not in given, cookie
    assert "secure" in given, cookie
    taken_back = value in {"", '""'}
    assert taken_back or "httponly" in given, cookie
    return "" if taken_back else name


@pytest.fixture
def https_user(http_user: HttpUser) -> HttpUser:
    """Trusts the proxy's certificate, as it trusts any."""
    http_user.close()
    http_user.http = httpx2.Client(trust_env=False, verify=False, timeout=40)
    return http_user


def test_t55_every_cookie_on_the_way_is_bound_to_this_host_and_https(
    https_stage: Stage, https_user: HttpUser, tls: TlsProxy
):
    stage, user, seen = https_stage, https_user, list[str]()

    def inspect(answer: httpx2.Response) -> None:
        if str(answer.request.url).startswith(tls.url):
            seen.extend(_check(one, NAMES) for one in answer.headers.get_list("set-cookie"))

    user.http.event_hooks["response"] = [inspect]
    asked = stage.ask(reuse="never")
    assert asked["url"].startswith(f"{tls.url}/c/")
    user.connect(asked["url"], "alice")
    assert (user.page_name, user.page_status) == ("done", "completed")
    user.open(f"{tls.url}/account")
    user.press("signout")
    assert user.answer.headers["strict-transport-security"].startswith("max-age=31536000")
    assert set(filter(None, seen)) == NAMES


NAMES = {"__Host-sessionid", "__Host-csrftoken"}


@pytest.mark.slow
def test_t55_browsers_keep_them_and_bring_them_back_from_the_provider(
    https_stage: Stage, new_user: Callable[..., User], tls: TlsProxy
):
    user = new_user(ignore_https_errors=True)
    asked = https_stage.ask(reuse="never")
    user.connect(asked["url"], "alice")
    user.wait_for_page("done", "completed")
    kept = {one["name"]: one for one in user.context.cookies(tls.url)}
    assert set(kept) >= NAMES
    for name in NAMES:
        assert kept[name]["secure"]
        assert kept[name]["httpOnly"]
        assert kept[name]["sameSite"] == "Lax"
    assert https_stage.status(asked) == "completed"
