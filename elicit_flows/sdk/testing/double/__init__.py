"""A double of the service for the unit tests of an agent: no clone, no database, no pages, and answers by script.

``ROUTES`` in service.py has the calls that it has; every other is answered with 501. The tests of the plug-in run
against it and against the service.
"""

from elicit_flows.sdk.testing.double.service import Double
from elicit_flows.sdk.testing.double.user import DoubleUser

__all__ = ["Double", "DoubleUser"]
