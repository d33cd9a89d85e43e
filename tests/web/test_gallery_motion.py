"""Nothing on a page of the gallery moves by itself for who asked their system for less motion."""

from __future__ import annotations

import pytest

from gallery import views
from tests.support.box import Box
from tests.support.browser import User
from tests.web.test_gallery_order import STYLE

# What moves now, and what would: while it is pointed at, or while the page scrolls to it.
MOVES = """() => {
  const moving = document.getAnimations().filter(one => one.playState !== "paused");
  const found = moving.map(one => `runs ${one.animationName}`);
  for (const one of document.querySelectorAll('*')) for (const part of [null, '::before', '::after']) {
    const style = getComputedStyle(one, part);
    const takes = [style.transitionDuration, style.animationName === 'none' ? '0s' : style.animationDuration].join();
    if (/[1-9]/.test(takes) || style.scrollBehavior === 'smooth') found.push(one.outerHTML.slice(0, 90));
  }
  return found;
}"""
# While the service waits for somebody else, a ring turns.
WAITS = {
    "done-started", "done-settling", "payment-started", "payment-settling", "another-price-settling",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.limit(300)
def test_nothing_moves_with_reduced_motion_and_only_the_ring_does_without(embedded_box: Box, user: User) -> None:
    moved, usual = {}, set()
    for address in views.addresses():
        user.page.emulate_media(reduced_motion="reduce")
        user.page.goto(f"{embedded_box.url}/_gallery/{address}")
        if found := user.page.evaluate(MOVES):
            moved[address] = found
        user.page.emulate_media(reduced_motion="no-preference")
        if user.page.evaluate(MOVES):
            usual.add(address)
    assert not moved
    assert usual == WAITS


@pytest.mark.parametrize(
    "style",
    [
        "@keyframes x { to { rotate: 1turn } } .busy { animation: x 1s infinite }",
        "@keyframes x { to { opacity: 0 } } h1::before { content: '!'; animation: x 1s infinite }",
        "button { transition: color .2s }",
        "html { scroll-behavior: smooth }",
    ],
)
def test_what_moves_all_the_same_is_noticed(embedded_box: Box, user: User, style: str) -> None:
    user.page.emulate_media(reduced_motion="reduce")
    user.page.goto(f"{embedded_box.url}/_gallery/done-started")
    assert user.page.evaluate(MOVES) == []
    user.page.evaluate(STYLE, style)
    assert user.page.evaluate(MOVES) != []
