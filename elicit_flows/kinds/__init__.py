"""The kinds by name. A new kind is a folder, two templates, a line here, its name in ``Elicitation.Kind``, its shapes
for OpenAPI in ``api.kind_shapes`` and a subclass of the contract test.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import cast

from elicit_flows.kinds.base import Kind

REGISTRY = {
    "oauth": "elicit_flows.kinds.oauth.OAuth",
    "payment": "elicit_flows.kinds.payment.kind.Payment",
    "credentials": "elicit_flows.kinds.credentials.Credentials",
    "form": "elicit_flows.kinds.form.kind.Form",
    "confirm": "elicit_flows.kinds.confirm.kind.Confirm",
    "link": "elicit_flows.kinds.link.Link",
    "x402": "elicit_flows.kinds.x402.kind.X402",
}


@cache
def get(name: str) -> Kind:
    """The kind of that name, imported on first use. Raises KeyError for a name that is not registered."""
    module, _, attribute = REGISTRY[name].rpartition(".")
    return cast(Kind, getattr(import_module(module), attribute)())
