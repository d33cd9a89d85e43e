"""Patterns that other people wrote, matched in linear time (T69).

``re`` backtracks: ``(a+)+$`` on fifty letters would block a thread for years, and no analysis finds all such patterns.
So patterns are parsed here as ECMA-262 defines them, which JSON Schema requires (unanchored, in code points), and run
as a set of positions that each character advances. The work is the text's length times the pattern's size, and both are
limited. What only backtracking can do (backreferences, lookaround) is refused when the pattern is parsed. See
docs/adr/0012.
"""

from elicit_flows.lib.pattern.automaton import Pattern
from elicit_flows.lib.pattern.example import example
from elicit_flows.lib.pattern.parsing import MAX_PATTERN, PatternError

__all__ = ["MAX_PATTERN", "Pattern", "PatternError", "example"]
