"""A pytest plug-in for the tests of an agent: ``pytest_plugins = ["elicit_flows.sdk.testing"]`` in its conftest.py.

``Service``, ``Double`` and ``ScriptedUser`` work without pytest, for scripts and other test runners.
"""

from importlib.util import find_spec

from elicit_flows.sdk.testing.double import Double, DoubleUser
from elicit_flows.sdk.testing.service import Service
from elicit_flows.sdk.testing.user import ScriptedUser

__all__ = ["Double", "DoubleUser", "ScriptedUser", "Service"]

if find_spec("pytest"):
    from elicit_flows.sdk.testing.fixtures import elicit_box, elicit_service, elicit_user

    __all__ += ["elicit_box", "elicit_service", "elicit_user"]
