"""Elicit Flows: the browser half of an agent's question."""

__version__ = "0.1.0"
