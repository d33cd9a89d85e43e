"""The catalogue: settings of providers that many people use. It holds data and their schema, and no behaviour.

Each provider has a file in ``entries/``, or in the operator's own folder (``ELICIT_CATALOGUE``), which takes
precedence.
"""

from elicit_flows.catalogue.entry import Checked, Entry, Kind
from elicit_flows.catalogue.reading import BadCatalogue, check, configure, entries, find, libraries, read
from elicit_flows.catalogue.scope_groups import GROUPS, Group, group_of

__all__ = [
    "GROUPS", "BadCatalogue", "Checked", "Entry", "Group", "Kind", "check", "configure", "entries", "find",
    "group_of", "libraries", "read",
]  # fmt: skip
