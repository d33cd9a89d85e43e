"""Patterns that other people wrote, matched in linear time (T69).

``re`` backtracks: ``(a+)+$`` on fifty letters would hold a thread for years, and no analysis of a pattern tells all
such cases from the harmless ones. So patterns are read here as ECMA-262 writes them, which is what JSON Schema asks
for (unanchored, in code points), and run as a set of positions that one character moves at once: the work is the
text's length times the pattern's size, both of which are bounded, whatever the pattern is. What only backtracking can
do (backreferences, lookaround) is refused when the pattern is read. See docs/adr/0012.
"""

from elicit_flows.lib.pattern.automaton import Pattern
from elicit_flows.lib.pattern.parsing import MAX_PATTERN, PatternError

__all__ = ["MAX_PATTERN", "Pattern", "PatternError"]
