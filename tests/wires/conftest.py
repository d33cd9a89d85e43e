"""The SDK's tests run on other Pythons without tests/conftest.py, and need its settings of Hypothesis."""

from tests.support import examples

__all__ = ["examples"]
