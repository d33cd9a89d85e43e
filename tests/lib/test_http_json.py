"""Strict JSON: one meaning or none."""

from __future__ import annotations

import pytest

from elicit_flows import http


@pytest.mark.parametrize(
    "body",
    [
        b'{"a": 1, "a": 2}',
        b'{"b": {"a": 1, "a": 1}}',
        b'{"a": NaN}',
        b'{"a": Infinity}',
        b'{"a": 1e400}',
        b'{"a": "\xff"}',
        b'\xef\xbb\xbf{"a": 1}',
        b'{"a": "\\ud800"}',
        b'{"\\udfff": 1}',
        b"",
        b"{",
        b"{} {}",
        b"<html>",
        b"[" * 60000,
        b"9" * 5000,
        '{"a": 1}'.encode("utf-16"),
    ],
)
def test_t32_t44_ambiguous_or_broken_json_is_a_value_error(body: bytes) -> None:
    with pytest.raises(ValueError):
        http.Reply(200, {}, body).json()


def test_ordinary_json_is_read() -> None:
    reply = http.Reply(200, {}, '{"a": [1, 2.5, null, "é", "\\u00e9", "\\ud83d\\ude00"]}'.encode())
    assert reply.json() == {"a": [1, 2.5, None, "é", "é", "😀"]}
