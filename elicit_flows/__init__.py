"""Elicit Flows, a service for URL-mode elicitation: agents ask people for accounts, payments and answers on pages."""

__version__ = "0.1.0"
