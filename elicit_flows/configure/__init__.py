"""The operator's configuration: what ``manage.py apply`` reads and makes so (contract, section 3).

``read`` takes a file's text and says everything that is wrong with it; ``check`` holds it against itself and against
what is stored; ``write`` makes the rows so. The admin uses the same rules for single values.
"""

from elicit_flows.configure.crossing import check
from elicit_flows.configure.faults import Fault, Wrong, WrongFile
from elicit_flows.configure.reading import Entry, Tables, read
from elicit_flows.configure.writing import write

__all__ = ["Entry", "Fault", "Tables", "Wrong", "WrongFile", "check", "read", "write"]
