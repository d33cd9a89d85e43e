"""Test doubles for development: an identity provider, an OAuth provider, payment providers and an agent. Never in
production.
"""
