"""What a screen reader says of each page of the gallery, in its order, is what the page shows, in its order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import cycle

import pytest

from gallery import views
from tests.support.box import Box
from tests.support.browser import User
from tests.web.gallery_axe import DESKTOP, PHONE

# So tall that nothing is scrolled: what is sticky stands at its place. The second is for the few pages that need it, as
# all of a window is painted.
HEIGHTS = (1800, 9000)
SCROLLED = "document.documentElement.scrollHeight > document.documentElement.clientHeight"
# A screen reader follows the document. Of what stands in one element, the later may stand below the earlier, or beside
# it on the side where lines end, and nowhere else. What an element takes up is the texts and controls inside of it.
MOVED = r"""() => {
  const seen = one => getComputedStyle(one).display === 'contents' || getComputedStyle(one).clipPath !== 'inset(50%)'
    && one.checkVisibility({visibilityProperty: true, opacityProperty: true});
  const found = [], said = 'img, svg, input, select, textarea, canvas, video, iframe';
  const join = boxes => boxes.length && {
    top: Math.min(...boxes.map(one => one.top)), bottom: Math.max(...boxes.map(one => one.bottom)),
    left: Math.min(...boxes.map(one => one.left)), right: Math.max(...boxes.map(one => one.right)),
  };
  const room = node => {
    if (node.nodeType === Node.TEXT_NODE) {
      const range = document.createRange();
      range.selectNodeContents(node);
      return node.data.trim() && join([...range.getClientRects()]);
    }
    if (node.nodeType !== Node.ELEMENT_NODE || !seen(node)) return 0;
    if (node.matches(said)) return node.type !== 'hidden' && node.getBoundingClientRect();
    const inside = [...node.childNodes].map(child => [child, room(child)]).filter(([, box]) => box);
    const rightToLeft = getComputedStyle(node).direction === 'rtl';
    inside.forEach(([later, there], at) => inside.slice(0, at).forEach(([earlier, here]) => {
      const beside = rightToLeft ? there.right <= here.left + 1 : there.left >= here.right - 1;
      const before = rightToLeft ? there.left >= here.right - 1 : there.right <= here.left + 1;
      const above = there.bottom <= here.top + 1, below = there.top >= here.bottom - 1;
      if (above && !beside || before && !below) found.push(`${words(later)} stands before ${words(earlier)}`);
    }));
    return join(inside.map(([, box]) => box));
  };
  const words = node => (node.outerHTML ?? node.data).trim().slice(0, 90);
  room(document.body);
  return found;
}"""
# What changes the order of speech or of the tab key against the document's.
REORDERED = "[aria-owns], [aria-flowto], [tabindex]:not([tabindex='0'], [tabindex='-1'])"
HEARD = r"""async (reordered) => {
  const found = [], shown = (what, from = document) => [...from.querySelectorAll(what)].filter(one =>
    (one.checkVisibility({visibilityProperty: true}) || getComputedStyle(one).display === 'contents')
    && one.type !== 'hidden');
  const wrong = (why, one) => found.push(`${why}: ${one.outerHTML.slice(0, 120)}`);
  const follows = (one, other) => one.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING;
  // By then autofocus has done its work.
  await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
  shown(reordered).forEach(one => wrong('changes the order', one));

  const parts = shown('body > *').map(one => one.localName);
  const whole = document.body.dataset.page ? 'a,header,main,footer' : 'main';  // an e-mail has no name for programs
  if (`${parts}` !== whole) found.push(`the page is ${parts}`);
  shown('nav').filter(one => !one.ariaLabel && !one.hasAttribute('aria-labelledby'))
    .forEach(one => wrong('a landmark without a name', one));

  let level = 0;
  for (const one of shown('h1, h2, h3, h4, h5, h6')) {
    if (+one.localName[1] > level + 1) wrong(`a level is skipped after ${level}`, one);
    level = +one.localName[1];
  }
  const side = one => getComputedStyle(one).direction;
  shown('main :is(h1, h2, h3, h4, label, legend, dd, .help, .fault, [id$=-help]):not(.address)')
    .filter(one => side(one) !== side(document.body) && !one.closest('main [lang], main[lang]'))
    .forEach(one => wrong('begins on the other side', one));
  const [title, ...more] = shown('h1');
  if (!title) return [...found, 'there is no title'];
  if (more.length) wrong('a second title', more[0]);
  shown('main :is(button, a.button, form)').filter(one => !follows(title, one))
    .forEach(one => wrong('an action before the question', one));
  for (const form of shown('form')) {
    const buttons = shown('button:not([type=button])', form), fields = shown('input, select, textarea', form);
    fields.filter(one => buttons.length && !follows(one, buttons[0]))
      .forEach(one => wrong('a field after the button that sends it', one));
  }
  for (const request of shown('.request')) {
    const order = shown('.ask, .act, .then, .go, .no, .aside', request).map(one => one.classList[0]);
    const usual = ['ask', 'act', 'then', 'go', 'no', 'aside'].filter(one => order.includes(one));
    if (`${order}` !== `${usual}`) found.push(`a request is ${order}`);
  }

  // What has just happened is the first thing after the title, and takes the focus, so it is what is heard first.
  for (const one of shown('main :is([role=status], [role=alert])').filter(one => one.innerText.trim())) {
    if (document.activeElement !== one) wrong('a message without the focus', one);
    const above = shown('main :is(h1, p, dl, ul, form, button)').filter(other =>
      follows(title, other) && follows(other, one) && !other.contains(one));
    // Or it stands with the buttons, and is about where they lead.
    if (above.length && !one.closest('.act')) wrong('a late message', one);
  }

  const named = one => (one.getAttribute('aria-describedby') ?? '').split(/\s+/).filter(Boolean);
  for (const one of shown('input, select, textarea, fieldset')) {
    const label = one.localName === 'fieldset' ? one.querySelector('legend')
      : one.labels?.[0] ?? document.getElementById(one.getAttribute('aria-labelledby'));
    if (!label?.innerText.trim() && !one.ariaLabel) wrong('a field without a label', one);
    named(one).filter(id => !document.getElementById(id)).forEach(id => wrong(`described by no ${id}`, one));
  }
  for (const fault of shown('.fault')) {
    const about = shown('[aria-describedby]').filter(one => named(one).includes(fault.id));
    if (!about.length) wrong('a fault of no field', fault);
    for (const one of about.filter(one => one.localName !== 'fieldset')) {
      if (one.ariaInvalid !== 'true') wrong('not marked as wrong', one);
      if (!follows(fault, one)) wrong('a late fault', one);
    }
  }
  return found;
}"""


def faults(user: User, widths: Sequence[int] = (PHONE, DESKTOP)) -> Iterator[str]:
    user.page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    yield from user.page.evaluate(HEARD, REORDERED)
    for width in widths:
        for height in HEIGHTS:
            user.page.set_viewport_size({"width": width, "height": height})
            if not user.page.evaluate(SCROLLED):
                break
        else:
            yield f"is higher than {HEIGHTS[-1]}"
        yield from (f"{one} at {width}" for one in user.page.evaluate(MOVED))


@pytest.mark.slow
@pytest.mark.limit(300)
@pytest.mark.parametrize("language", ["en", "ar"])
def test_each_page_is_heard_in_the_order_in_which_it_is_seen(embedded_box: Box, user: User, language: str) -> None:
    """Each page is seen on a phone in one of the languages, and on a desktop in the other."""
    found = {}
    widths = cycle((PHONE, DESKTOP) if language == "en" else (DESKTOP, PHONE))
    for address, width in zip(views.addresses(), widths, strict=False):
        user.page.goto(f"{embedded_box.url}/_gallery/{address}?lang={language}")
        if wrong := list(faults(user, [width])):
            found[address] = wrong
    assert not found, "\n".join(f"{at}: {one}" for at, all_ in found.items() for one in all_)


STYLE = """style => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(style);
  document.adoptedStyleSheets = [sheet];
}"""


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "ar"])
@pytest.mark.parametrize(
    ("address", "style", "moved"),
    [
        ("consent", ".no { order: -1 }", '<form method="post" action="/c/el_1/decline"'),
        ("consent", ".request { display: flex; flex-flow: column-reverse }", '<div class="act">'),
        ("form", ".aside { order: -1 }", '<div class="aside">'),
        ("payments", "dl > div { display: flex; flex-flow: row-reverse }", "<dd>"),
        (
            "security",
            "main { display: flex; flex-flow: column wrap } .aside, h1 ~ * { order: -1 }",
            "stands before <h1",
        ),
        ("done-completed", "main { display: grid } .actions { grid-row: 1 }", '<p class="actions">'),
    ],
)
def test_what_a_style_sheet_moves_is_noticed(
    embedded_box: Box, user: User, address: str, style: str, moved: str, language: str
) -> None:
    user.page.goto(f"{embedded_box.url}/_gallery/{address}?lang={language}")
    assert list(faults(user)) == []
    user.page.evaluate(STYLE, style)
    found = [one for one in faults(user) if " stands before " in one]
    for width in (PHONE, DESKTOP):
        assert any(moved in one and one.endswith(f" at {width}") for one in found), found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("address", "change", "said"),
    [
        ("consent", "document.querySelector('h1').remove()", "a level is skipped after 0"),
        (
            "consent",
            "document.querySelector('main').before(document.querySelector('footer'))",
            "the page is a,header,f",
        ),
        ("consent", "document.querySelector('.go').after(document.querySelector('.then'))", "a request is ask,act,go,"),
        (
            "consent",
            "document.querySelector('.ask').before(document.querySelector('.go'))",
            "an action before the ques",
        ),
        ("consent", "document.querySelector('.no button').tabIndex = 1", "changes the order: <button"),
        ("form", "document.querySelector('form').prepend(document.querySelector('.go'))", "a field after the button"),
        ("form", "document.querySelector('.field label').remove()", "a field without a label"),
        ("form-refused", "document.querySelector('[role=alert]').blur()", "a message without the focus"),
        (
            "form-refused",
            "document.querySelector('.ask').append(document.querySelector('[role=alert]'))",
            "a late mess",
        ),
        ("form-refused", "document.querySelector('.fault').id = 'x'", "a fault of no field"),
        (
            "form-refused",
            "document.querySelector('[aria-invalid]').removeAttribute('aria-invalid')",
            "not marked as wro",
        ),
        ("account", "document.querySelector('main nav').removeAttribute('aria-label')", "a landmark without a name"),
        ("account", "document.querySelector('h2').dir = 'rtl'", "begins on the other side"),
    ],
)
def test_what_is_heard_in_another_order_is_noticed(
    embedded_box: Box, user: User, address: str, change: str, said: str
) -> None:
    user.page.goto(f"{embedded_box.url}/_gallery/{address}")
    assert list(faults(user)) == []
    user.page.evaluate(f"() => {{ {change} }}")
    assert any(one.startswith(said) for one in faults(user)), list(faults(user))
