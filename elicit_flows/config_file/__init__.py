"""The configuration file of ``manage.py apply``.

``read`` parses a file and collects what is wrong with single values. ``check`` compares the tables with each other and
with the database. ``write`` stores them. Each table has a module with its rules: ``identity_providers``, ``providers``,
``payment_accounts`` and ``agents``. The forms of the admin use the same rules (``schema.TABLES``,
``validation.conflicts``). ``export`` writes the file that says what is stored.
"""

from elicit_flows.config_file.differences import Difference
from elicit_flows.config_file.exporter import export
from elicit_flows.config_file.reader import Entry, Tables, read
from elicit_flows.config_file.validation import check, not_in_file
from elicit_flows.config_file.values import Fault, InvalidFile, InvalidValue
from elicit_flows.config_file.writer import write

__all__ = [
    "Difference",
    "Entry",
    "Fault",
    "InvalidFile",
    "InvalidValue",
    "Tables",
    "check",
    "export",
    "not_in_file",
    "read",
    "write",
]
