"""A double of the service for the unit tests of an agent: no clone, no database, no pages, and answers by script.

It has the calls of the API that agents make for a question: create, get and wait, cancel, consume, complete, note,
connections with tokens and secrets, payments by HTTP 402, and the feed. Every other call is answered with 501. The
tests of the plug-in run against it and against the service.
"""

from elicit_flows.sdk.testing.double.service import Double
from elicit_flows.sdk.testing.double.user import DoubleUser

__all__ = ["Double", "DoubleUser"]
