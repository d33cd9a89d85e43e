"""Patterns of other people's: what they match is what ECMA-262 says, and they never take their time."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from elicit_flows.lib.pattern import Pattern, PatternError
from tests.support.examples import times

# (pattern, found in, not found in)
MATCHES: list[tuple[str, list[str], list[str]]] = [
    ("b", ["b", "abc"], ["", "a"]),
    ("^b$", ["b"], ["ab", "bc", "b\n"]),
    ("", ["", "a"], []),
    ("a|b|", ["", "c"], []),
    ("^(a|bc)$", ["a", "bc"], ["b", "abc"]),
    ("^(?:ab)+$", ["ab", "abab"], ["", "aba"]),
    ("^(?<year>[0-9]{4})-x$", ["2026-x"], ["226-x"]),
    ("^a*?b??$", ["", "aaab"], ["bb"]),
    ("^a{2}$", ["aa"], ["a", "aaa"]),
    ("^a{2,}$", ["aa", "aaaaa"], ["a"]),
    ("^a{1,3}$", ["a", "aaa"], ["", "aaaa"]),
    ("^a{0}b$", ["b"], ["ab"]),
    ("^(a*)*$", ["", "aaa"], ["b"]),
    ("^.$", ["a", "é", "😀"], ["", "\n", "\r", "\u2028", "ab"]),
    ("^[a-c]$", ["b"], ["d", "-"]),
    ("^[^a-c]$", ["d", "\n", "😀"], ["a"]),
    ("^[-a]$", ["-", "a"], ["b"]),
    ("^[a-]$", ["-", "a"], ["b"]),
    (r"^[\w.-]+$", ["a.b-c_1"], ["a b", "é"]),
    (r"^[^\s]$", ["a"], [" ", "\u00a0", "\ufeff"]),
    ("^[]$", [], ["", "a"]),
    ("^[^]$", ["a", "\n"], [""]),
    (r"^\d$", ["5"], ["x", "٣"]),
    (r"^\D\S\W$", ["ab!"], ["1b!", "a !", "abc"]),
    (r"^\s$", [" ", "\t", "\u2003", "\u2028"], ["a", "\u200b"]),
    (r"\bcat\b", ["a cat.", "cat"], ["concat", "cats"]),
    (r"\Bcat", ["concat"], ["cat", "a cat"]),
    (r"^\B$", [""], ["a"]),
    (r"^\x41\u0042\u{1F600}$", ["AB😀"], ["ab"]),
    (r"^\t\n\v\f\r\0$", ["\t\n\v\f\r\0"], []),
    (r"^\^\$\.\*\+\?\(\)\[\]\{\}\|\/\\\-\@$", ["^$.*+?()[]{}|/\\-@"], []),
    (r"^\p{L}+$", ["Éa字"], ["a1", ""]),
    (r"^\p{Lu}\P{Lu}$", ["Éa", "A1"], ["aA", "AB"]),
    (r"^[\p{L}\d ]+$", ["Ä 1"], ["a-b"]),
    (r"^[^\p{L}]$", ["1", " "], ["é"]),
    (r"^\p{General_Category=Nd}$", ["٣"], ["x"]),
    (r"[\b]", ["\b"], ["b"]),
    ("(^a|b$)c?", ["ax", "xb"], ["xa"]),
    ("a^b|a$b", [], ["ab", "a\nb"]),
]
REFUSED = [
    "(", ")", "a)", "[a", "*", "+a", "a**", "a{2}{3}", "a{", "a{,3}", "a{3,2}", "{", "}", "]", "^*", r"\b+", "\\",
    r"\1", r"\k<n>", r"(?<n>a)\k<n>", "(?=a)", "(?!a)", "(?<=a)", "(?<!a)", "(?i:a)", "(?", "(?<1>a)",
    r"\p{Script=Greek}", r"\p{Xx}", r"\pL", r"\c1", r"\e", r"\é", "[b-a]", r"[a-\d]", r"[\w-z]", "a{401}",
    "(a{30}){30}", "(){9999}", "(" * 21 + ")" * 21, "a" * 301,
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "found", "not_found"), MATCHES, ids=range(len(MATCHES)))
def test_a_pattern_is_found_where_ecma_262_finds_it(pattern: str, found: list[str], not_found: list[str]):
    compiled = Pattern(pattern)
    assert [text for text in found if not compiled.search(text)] == []
    assert [text for text in not_found if compiled.search(text)] == []


@pytest.mark.parametrize("pattern", REFUSED, ids=range(len(REFUSED)))
def test_a_pattern_that_cannot_be_used_says_why(pattern: str):
    with pytest.raises(PatternError, match=r"\.$"):
        Pattern(pattern)


ATOMS = st.sampled_from(["a", "b", "[ab]", "[^a]", ".", r"\d", r"\w", r"\s", r"\b", "^", "$"])
PATTERNS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda two: f"(?:{two[0]}|{two[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "{2,}", "{0}", "*?"])).map(
            lambda two: f"({two[0]}){two[1]}"
        ),
    ),
    max_leaves=8,
)


@given(PATTERNS, st.lists(st.text("ab1 \n", max_size=6), max_size=5))
@times(4)
def test_what_backtracking_finds_is_found(pattern: str, texts: list[str]):
    compiled, other = Pattern(pattern), re.compile(pattern.replace("$", r"\Z"), re.ASCII)
    for text in texts:
        assert compiled.search(text) == bool(other.search(text)), text


@given(st.text("()[]{}|*+?\\^$.-:=!<>a1,pbdDu", max_size=20), st.text(max_size=10))
@times(4)
def test_any_text_is_a_pattern_or_is_none(pattern: str, text: str):
    try:
        compiled = Pattern(pattern)
    except PatternError:
        assume(False)
        return
    compiled.search(text)


BOMBS = [
    "(a+)+$",
    "(a|a)*$",
    "(a|aa)+$",
    "(.*)(.*)(.*)(.*)(.*)x",
    "(a?){90}a{90}b",
    "((a{0,18}){0,18})!",
    "(.|a){1,90}!",
]


@pytest.mark.parametrize("pattern", BOMBS)
def test_t69_the_work_grows_with_the_text_and_no_faster(pattern: str):
    compiled = Pattern(pattern)
    began = time.thread_time()
    compiled.search("a" * 2000 + "\n")
    assert time.thread_time() - began < 0.05
