"""What only the person knows of a provider's addresses (their shop, site or tenant): proposed by agents, asked of the
person on our page, and checked by the rules of the catalogue's entry.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from elicit_flows import vault
from elicit_flows.domain.errors import Invalid
from elicit_flows.domain.values import Json
from elicit_flows.lib import text
from elicit_flows.lib.sentences import sentence
from elicit_flows.models import Elicitation, Provider

FIELD = "variable."  # the names of the fields on our page begin with it


@dataclass(frozen=True, slots=True)
class AskedVariable:
    """A field of the connect page."""

    name: str
    label: str
    help: str
    example: str
    value: str


class NotShownYet(Exception):
    """The page has to show the host that these values lead to before the person goes there."""


def check_proposed(
    provider: Provider, proposed: Mapping[str, str], at: tuple[str, ...] = ("params", "variables")
) -> None:
    """Raises Invalid, with places below ``at``, if an agent proposes what the person may not choose."""
    rules = {one.name: one for one in provider.open_variables()}
    errors: list[Json] = []
    for name, value in proposed.items():
        if name not in rules:
            what = f"Provider {provider.slug!r} leaves no {name!r} to the person; leave it out."
        elif not rules[name].fits(value):
            what = (
                f"This is no {rules[name].label}: it must match {rules[name].pattern}, such as {rules[name].example}."
            )
        elif not leads_somewhere(provider, {name: value}):
            what = "It leads to another host than the provider's."
        else:
            continue
        errors.append({"loc": [*at, name], "message": what})
    if errors:
        raise Invalid(errors)


def check_imported(provider: Provider, named: Mapping[str, str]) -> None:
    """Raises Invalid unless ``named`` has a fitting value for each variable that is left to the person, and no other.

    The tokens of an imported connection are sent to the hosts that these values lead to.
    """
    check_proposed(provider, named, at=("variables",))
    if missing := next((one for one in provider.open_variables() if one.name not in named), None):
        raise Invalid([{"loc": ["variables", missing.name], "message": f"Give this: {missing.needed}."}])


def leads_somewhere(provider: Provider, named: Mapping[str, str]) -> bool:
    """Whether these values, with examples for the others, make addresses at the provider's hosts."""
    examples = {one.name: one.example for one in provider.open_variables()}
    resolved = vault.for_person(provider, {**examples, **named})
    return "{" not in "".join(vault.hosts_of(resolved).values())


def known(row: Elicitation, provider: Provider | None) -> dict[str, str]:
    """The values to begin with: what the agent proposes, or else what the connection has that is to be renewed."""
    if provider is None or not provider.open_variables():
        return {}
    meant = vault.connection_to_renew(row)
    return {**(meant.variables if meant else {}), **row.params.get("variables", {})}


def asked(provider: Provider | None, values: Mapping[str, str]) -> list[AskedVariable]:
    """The fields of the page, filled with ``values``."""
    return [
        AskedVariable(one.name, one.label, one.help, one.example, values.get(one.name, ""))
        for one in (provider.open_variables() if provider else ())
    ]


def from_form(fields: Mapping[str, str]) -> dict[str, str]:
    """What the person typed, without what copying adds."""
    return {name.removeprefix(FIELD): text.bare(value) for name, value in fields.items() if name.startswith(FIELD)}


def checked(provider: Provider, typed: Mapping[str, str]) -> dict[str, str]:
    """The values for all fields of the page. Raises Invalid, with a message beside each field."""
    faults = {}
    for one in provider.open_variables():
        value = typed.get(one.name, "")
        if not value:
            faults[FIELD + one.name] = sentence("Fill this in.")
        elif len(value) > 200 or not one.fits(value) or not leads_somewhere(provider, {one.name: value}):
            faults[FIELD + one.name] = sentence(
                "This does not look right. Write it like this: %(example)s", example=one.example
            )
    if faults:
        raise Invalid.beside(faults)
    return {one.name: typed[one.name] for one in provider.open_variables()}
