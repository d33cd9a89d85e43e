"""Every page of the admin through axe, with a row of everything on it: in both colours, on a phone and on a desk."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from django.conf import settings as configured
from django.contrib.auth.models import User as Operator
from django.test import Client
from pytest_django import Settings

from elicit_flows.models import Brand, Cancellation, Channel, Member, Notification, PaymentAccount, SpendLimit
from tests.admin.rows import ALICE, Rows, make, payment
from tests.cast import program
from tests.support import money
from tests.support.browser import User
from tests.support.rows import Known
from tests.support.serving import Served, hang_up
from tests.web.gallery_axe import PHONE, bring_axe, faults, looks

START = ("/admin/", "/admin/providers/add/?preset=github", "/admin/search/")
LINK = re.compile(r'href="(/admin/[^"#]*)')
# The same page for another row, day or filter is not another page.
NAMES = re.compile(r"(?<=/)(?:\d+|[a-z]{2}_[\w-]{8,}|member-\d+)(?=/|$)")
LANGUAGES = ("en", "de", "fr", "es")
NO_PAGES = ("/logout/", "/jsi18n/", ".csv", "/export")


def fill() -> tuple[Rows, str]:
    """More than one of what a list shows in several ways, too; and the session of an operator who may see all of it."""
    rows = make()
    owner = Known(rows.agent, program(rows.agent.slug))
    PaymentAccount.objects.filter(pk=rows.account.pk).update(allow_mandates=True)
    going = money.subscription(owner, rows.account, ALICE, status="past_due")
    money.renewal(going)
    Cancellation.objects.create(payment=going.payment, asked_at=going.created_at, try_at=going.created_at)
    money.charge(money.mandate(owner, rows.account, ALICE))
    money.authorization(owner, money.wallet(), ALICE)
    for status in ("mismatch", "closed"):
        payment(rows.agent, rows.account, status=status, problem="The amount is 499, asked was 1250.")
    made: dict[str, Any] = {"elicitation": rows.elicitation, "agent": rows.agent}
    Notification.objects.create(**made, channel=Channel.PUSH, outcome=Notification.Outcome.REFUSED)
    SpendLimit.objects.create(agent=rows.agent, currency="eur", per_payment=5000)
    Brand.objects.create(name="Acme")
    Member.objects.create(name="Ben")
    browser = Client()
    browser.force_login(Operator.objects.create_superuser("olga", password="olga"))
    return rows, browser.cookies["sessionid"].value


@pytest.mark.slow
@pytest.mark.limit(400)
@pytest.mark.parametrize("language", ["en", "fr", "es"])
def test_every_page_with_rows_is_accessible(served: Served, user: User, settings: Settings, language: str) -> None:
    walk(served, user, settings, language)


def walk(served: Served, user: User, settings: Settings, language: str) -> None:
    """Follows every link from the front page. What axe sees of a page in which language says ``looks`` in
    tests/web/gallery_axe.py.
    """
    settings.ELICIT_ADMIN_SECOND_FACTOR = False
    # Playwright's loop runs in this thread, where Django allows no queries.
    with ThreadPoolExecutor(1) as pool:
        rows, session = pool.submit(fill).result()
        hang_up(pool)
    for name, value in (("sessionid", session), (configured.LANGUAGE_COOKIE_NAME, language)):
        cookie: Any = {"name": name, "value": value, "url": served.url}
        user.context.add_cookies([cookie])
    bring_axe(user)
    waiting = [*START, f"/admin/person/{rows.payment.pk}/", f"/admin/request/{rows.elicitation.pk}/"]
    seen: set[str] = set()
    found: dict[str, list[str]] = {}
    while waiting:
        address = waiting.pop(0)
        if not is_new(address, seen):
            continue
        answer = user.page.goto(served.url + address, wait_until="domcontentloaded")
        assert answer
        if answer.status != 200 or "html" not in answer.headers["content-type"]:
            found[address] = [f"answered {answer.status}"]
            continue
        assert user.page.get_attribute("html", "lang") == language
        user.page.evaluate(WIDEST_IDS)
        waiting += [link.replace("&amp;", "&") for link in LINK.findall(user.page.content())]
        said = faults(user, looks(len(seen), LANGUAGES.index(language)))
        if wrong := [*said, *in_forced_colours(user), *in_pieces(user)]:
            found[address] = wrong
    assert len(seen) > 60
    assert found == {}, "\n".join(f"{at}: {one}" for at, all_ in found.items() for one in all_)


# A box or a line tells what can be pressed from text, and what was chosen from the others, where the operator's system
# leaves only its own colours.
UNMARKED = """() => [...document.querySelectorAll(
    'button, input:is([type=submit], [type=button], [type=reset]), a.button, .object-tools a, [aria-current], .selected'
)].filter(one => {
  const style = getComputedStyle(one);
  const sides = ['Top', 'Bottom', 'Left', 'Right'].map(side => parseFloat(style[`border${side}Width`]));
  return one.checkVisibility() && !sides.some(Boolean) && !style.textDecorationLine.includes('underline')
    && !(one.matches('[aria-current], .selected') && style.fontWeight >= 600);
}).map(one => one.outerHTML.slice(0, 160))"""


def in_forced_colours(user: User) -> Iterator[str]:
    user.page.emulate_media(forced_colors="active")
    yield from (f"not told from text in forced colours: {one}" for one in user.page.evaluate(UNMARKED))
    user.page.emulate_media(forced_colors="none")


# Words that stand on more than one line, though each fits on one, even on a phone.
PIECES = r"""() => {
  const found = [], range = document.createRange();
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const {data, parentElement} = texts.currentNode;
    if (!parentElement.checkVisibility() || parentElement.closest('script, style, option, textarea')) continue;
    for (const word of data.matchAll(/(?<![\w-])\p{L}{4,25}(?![\w-])/gu)) {
      range.setStart(texts.currentNode, word.index);
      range.setEnd(texts.currentNode, word.index + word[0].length);
      if (new Set([...range.getClientRects()].map(line => Math.round(line.top))).size > 1) found.push(word[0]);
    }
  }
  return found;
}"""


def in_pieces(user: User) -> Iterator[str]:
    user.page.set_viewport_size({"width": PHONE, "height": 900})
    yield from (f"broken on a phone: {word}" for word in user.page.evaluate(PIECES))


# IDs are random, so some are wider than others: each is shown as wide as one can be.
WIDEST_IDS = r"""() => {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const wide = (id, kind) => `${kind}_${'W'.repeat(id.length - 3)}`;
  while (texts.nextNode()) texts.currentNode.data = texts.currentNode.data.replace(/\b([a-z]{2})_[\w-]{20,}/g, wide);
}"""


def is_new(address: str, seen: set[str]) -> bool:
    """Whether no page of this kind was looked at. One with filters is the list that it is made of."""
    path = urlsplit(unquote(address)).path
    if any(part in path for part in NO_PAGES):
        return False
    kind = NAMES.sub("*", path.replace("_5F", "_"))
    if kind in seen:
        return False
    seen.add(kind)
    return True
