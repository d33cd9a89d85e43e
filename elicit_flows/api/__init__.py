"""The HTTP API for agents: each view parses a request, calls one function and renders its result."""
