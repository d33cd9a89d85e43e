"""The providers that are used most, and which facts an entry has about each."""

from __future__ import annotations

from collections.abc import Collection

from elicit_flows.catalogue.entry import Entry
from elicit_flows.catalogue.scope_groups import group_of

# Where a provider has several entries, the usual one. QuickBooks is Intuit, whose realm is metadata.
MOST_USED = """
google github slack microsoft salesforce hubspot notion atlassian linear asana trello dropbox box zoom shopify
stripe-connect intuit xero zendesk intercom airtable figma discord spotify x facebook instagram linkedin reddit gitlab
bitbucket okta auth0 docusign mailchimp typeform calendly clickup monday todoist wrike pipedrive zoho snowflake
servicenow workday twilio webex miro
""".split()  # noqa: SIM905

FACTS = (
    "endpoints checked", "scopes in words", "account", "dead grant", "revocation", "registration", "API hosts",
)  # fmt: skip
# What an entry calls a fact that its provider does not document.
_UNDOCUMENTED = {"endpoints": "endpoints checked", "dead_grant": "dead grant", "revocation": "revocation"}


def facts(entry: Entry) -> dict[str, bool]:
    """Which of ``FACTS`` the entry has."""
    said = {"endpoints checked": entry.facts["endpoints"], "API hosts": bool(entry.api.urls)}
    if entry.kind != "oauth":
        # A person types a key: there are no scopes to ask for, nothing to register, and no grant with words of its own.
        nothing = dict.fromkeys(("scopes in words", "dead grant", "registration"), True)
        return said | nothing | {"account": bool(entry.verify), "revocation": bool(entry.find_url)}
    ends = entry.endpoints
    named = ends.userinfo or ends.issuer or "openid" in entry.scopes.default
    # Each scope has a risk, but for one that only keeps the access alive.
    known = all(group_of(one) != "other" or one.startswith("Keep this access") for one in entry.scopes.words.values())
    return said | {
        "scopes in words": bool(entry.scopes.words or entry.scopes.source_url) and known,
        "account": bool(named) or entry.quirks.account_source != "userinfo",
        "dead grant": entry.facts["dead_grant"],
        "revocation": entry.facts["revocation"],
        "registration": entry.registration is not None,
    }


def undocumented(entry: Entry) -> set[str]:
    """Which of ``FACTS`` the provider does not document, as the entry says with the pages that were read."""
    return {_UNDOCUMENTED[one.fact] for one in entry.undocumented}


def answered(entries: Collection[Entry]) -> str:
    """How many of the entries have every fact, and why the others do not, in words."""
    missing = [(entry, fact) for entry in entries for fact, has in facts(entry).items() if not has]
    nowhere = [entry.slug for entry, fact in missing if fact in undocumented(entry)]
    return (
        f"{len(entries) - len({entry.slug for entry, _ in missing})} of the {len(entries)} most used providers have "
        f"every fact. {len(nowhere)} facts of {len(set(nowhere))} providers are not documented, and "
        f"{len(missing) - len(nowhere)} were not found yet."
    )
