"""The TypeScript client pays what answers 402, at the package's own server and from the operator's wallet."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.docs.page import found
from tests.sdk.typescript.conftest import PROGRAMS, SAME, Program, TypeScript
from tests.support.http_user import HttpUser
from tests.support.process import clean_env, until
from tests.x402.conftest import Buyer, buyer, shop, shops, spare_buyers  # noqa: F401
from tests.x402.shop import PAYEE

BEFORE = """
const user = JSON.parse(process.env["USER_CLAIM"] ?? "") as [string, string];
const url = `${process.env["SHOP"]}/report`;
const sendToUser = (url: string): void => console.log(JSON.stringify({ link: url }));
"""


def surroundings(buyer: Buyer) -> dict[str, str]:  # noqa: F811
    return {
        "ELICIT_URL": buyer.box.url, "ELICIT_API_KEY": buyer.agent.api_key, "SHOP": buyer.shop.url,
        "USER_CLAIM": json.dumps(buyer.user),
    }  # fmt: skip


@pytest.mark.slow
def test_a_402_is_paid_after_a_yes_and_a_no_pays_nothing(
    buyer: Buyer,  # noqa: F811
    http_user: HttpUser,
    start: Callable[..., Program],
) -> None:
    before = len(buyer.shop.chain())
    program = start("x402", surroundings(buyer))
    for number, action in enumerate(("submit", "submit", "decline")):
        buyer.says(http_user, {"url": program.link(number)}, action)
    said = program.end()
    assert said["free"][:2] == [200, None]
    assert said["paid"][:2] == said["posted"][:2] == [200, "completed"]
    assert said["paid"][2]["report"] == "sunny"
    assert said["posted"][2] == {"report": "cloudy", "asked": {"town": "Bern"}}
    assert said["declined"] == [402, "declined", None]
    assert [(one["to"], one["value"]) for one in buyer.shop.chain()[before:]] == [(PAYEE, 10_000), (PAYEE, 20_000)]
    assert said["stream"][0] == "TypeError"
    assert [said[name] for name in ("none", "unread", "list", "latin")] == ["RangeError"] * 4


@pytest.mark.slow
def test_the_program_of_the_page_prints_the_report(
    buyer: Buyer,  # noqa: F811
    http_user: HttpUser,
    typescript: TypeScript,
    tmp_path: Path,
) -> None:
    (block,) = [one for one in found("how-to/x402.md", "x402") if one.language == "ts"]
    folder = typescript.home / "docs-x402"
    folder.mkdir()
    (folder / "page.ts").write_text(BEFORE + block.text)
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "tsconfig.json").write_text((PROGRAMS / "tsconfig.json").read_text())
    assert typescript.compile(folder, SAME) == {}
    command = [str(typescript.node), str(folder / "page.js")]
    program = Program(command, tmp_path / "log", env=clean_env(surroundings(buyer)), cwd=typescript.home)
    program.start()
    try:
        buyer.says(http_user, {"url": program.link()})
        program.wait_for_output("sunny")
        until(lambda: not program.alive, "the program ends")
    finally:
        program.kill9()
