"""What a guard in TypeScript asks, of all that its author said."""

from __future__ import annotations

import json

import pytest

from tests.sdk.typescript.source import printed

pytestmark = pytest.mark.limit(120)

SAID = {
    "expiresIn": 60, "returnUrl": "https://a.example/", "return": "button", "locale": "de", "notify": True,
    "reuse": "never", "metadata": {"run": 7},
}  # fmt: skip
PROGRAM = """
const { Guards } = await import("SRC/guards.ts");
class Asked extends Guards {
  guard(make) {
    return make();
  }
}
console.log(JSON.stringify(new Asked().confirm("May I?", SAID).options));
"""


def test_a_guard_asks_with_every_option_that_it_takes() -> None:
    assert printed(PROGRAM.replace("SAID", json.dumps(SAID))) == SAID
