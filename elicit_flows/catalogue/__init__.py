"""The catalogue: what is known of providers that many people use. Data, its schema, and nothing that acts.

One file for each in ``entries/``, and in the operator's own folder (``ELICIT_CATALOGUE``), which goes before ours.
"""

from elicit_flows.catalogue.entry import Checked, Entry, Kind
from elicit_flows.catalogue.reading import BadCatalogue, configure, entries, find, libraries, read

__all__ = ["BadCatalogue", "Checked", "Entry", "Kind", "configure", "entries", "find", "libraries", "read"]
