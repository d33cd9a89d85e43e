"""What a guard in TypeScript derives from a call: the state that a client carries, and the key of its question."""

from __future__ import annotations

import pytest

from tests.sdk.typescript.source import printed

pytestmark = pytest.mark.limit(120)

SEALING = """
const { Elicit } = await import("SRC/client.ts");
const { opened, sealed } = await import("SRC/mcp/sealing.ts");
const [elicit, other] = ["k-1", "k-2"].map((apiKey) => new Elicit({ apiKey }));
const state = { asked: { 0: "el_1" }, agreed: [], round: 1 };
const text = await sealed(elicit, "call", state);
const tried = [[elicit, "call"], [elicit, "another"], [other, "call"]];
const read = await Promise.all(tried.map(([client, call]) => opened(client, call, text)));
const now = Date.now;
for (const seconds of [590, 610]) {
  Date.now = () => now() + seconds * 1000;
  read.push(await opened(elicit, "call", text));
}
const odd = await Promise.all(["", "AAAA", "å", "====", 7, null].map((one) => opened(elicit, "call", one)));
console.log(JSON.stringify([text.includes("el_1"), [...read, ...odd].map((one) => one?.asked[0] ?? null)]));
"""

KEYS = """
const { keyOf } = await import("SRC/idempotency.ts");
class Named { #name; constructor(name) { this.#name = name; } }
const said = [
  ["a"], [["a"]], ["a", undefined], [new Set(["a"])], [new Set(["b"])], [new Map([["a", 1]])], [{ a: 1 }], [{ a: "1" }],
  [1], [1n], ["1"], [NaN], [null], [new Date(0)], [new Date(1)], [new Uint8Array([1])], [new Uint8Array([2])],
];
const keys = await Promise.all(said.map((one) => keyOf(...one)));
const refused = await Promise.allSettled([new Named("a"), () => 1, Symbol("a")].map((one) => keyOf(one)));
const same = await Promise.all([keyOf({ a: 1, b: 2 }), keyOf({ b: 2, a: 1 })]);
const kinds = refused.map(({ reason }) => reason?.constructor.name);
console.log(JSON.stringify([keys.length - new Set(keys).size, kinds, same[0] === same[1]]));
"""


def test_t157_a_state_is_good_for_one_call_one_key_and_ten_minutes() -> None:
    assert printed(SEALING) == [False, ["el_1", None, None, "el_1", *[None] * 7]]


def test_t158_no_two_arguments_have_one_key() -> None:
    assert printed(KEYS) == [0, ["TypeError"] * 3, True]
