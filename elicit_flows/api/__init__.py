"""The HTTP API for agents: each view parses a request, calls one function and renders its result."""

from ninja import Schema

# Views write their answers as they are, so most shapes only describe. Their validators, which take a third of a
# second to build, are built when they are first needed: for the OpenAPI document.
Schema.model_config["defer_build"] = True
