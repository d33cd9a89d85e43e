"""Every code block of the documentation names the test that runs it."""

from __future__ import annotations

import pytest

from tests.docs.page import ANYWHERE, OWN, all_pages, found
from tests.support.process import PROJECT


@pytest.mark.parametrize("page", all_pages())
def test_every_block_names_a_runner_that_there_is(page: str) -> None:
    for block in found(page):
        where = f"docs/{page}:{block.line}"
        if (block.language, block.runner) in OWN:
            assert OWN[block.language, block.runner][0] == page, f"{where}: this runner is for another page"
        else:
            assert block.runner in ANYWHERE.get(block.language, ()), f"{where}: nothing runs it"


@pytest.mark.parametrize("runner", OWN, ids=" ".join)
def test_a_runner_of_one_page_is_in_the_file_that_is_named(runner: tuple[str, str]) -> None:
    page, file = OWN[runner]
    assert found(page, runner[1]), f"docs/{page} has no block for it any more"
    assert f'{page}"' in (PROJECT / file).read_text(), f"{file} does not read docs/{page}"
