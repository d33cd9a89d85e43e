"""The parameters of kind credentials."""

from __future__ import annotations

from elicit_flows.domain.errors import Invalid
from elicit_flows.domain.values import Json, is_slug
from elicit_flows.kinds.credentials import fields, sealing
from elicit_flows.kinds.params import fault, unknown

_NAMES = ("fields", "provider", "seal_to")


def clean(params: Json) -> Json:
    """``{fields: [{name, label, secret, help, pattern}], provider, seal_to}``: fields of the agent's own, or the slug
    of a provider that has fields; the other is None. Raises Invalid.
    """
    asked, provider, seal_to = (params.get(name) for name in _NAMES)
    found = unknown(params, _NAMES)
    if seal_to is not None and (unfit := sealing.problem(seal_to)):
        found.append(fault("seal_to", unfit))
    if provider is None:
        found += [fault(["fields", *at], said) for at, said in fields.faults(asked, fields.AGENTS)]
    elif asked is not None:
        found.append(fault("provider", "A provider has its own fields: give either fields or provider."))
    elif not is_slug(provider):
        found.append(fault("provider", "Name the provider by its slug, a non-empty string."))
    if found:
        raise Invalid(found)
    own = None if asked is None else [fields.complete(field, fields.AGENTS) for field in asked]
    return {"fields": own, "provider": provider, "seal_to": seal_to}
