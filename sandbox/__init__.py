"""Doubles for development: who signs people in, what they connect to, and an agent to ask with. Never in production."""
