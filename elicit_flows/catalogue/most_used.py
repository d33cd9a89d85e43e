"""The providers that are used most, and which facts an entry has about each."""

from __future__ import annotations

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


def facts(entry: Entry) -> dict[str, bool]:
    """Which of ``FACTS`` the entry has."""
    said = {"endpoints checked": entry.checked != "unverified", "API hosts": bool(entry.api.urls)}
    if entry.kind != "oauth":
        # A person types a key: there are no scopes to ask for, nothing to register, and no grant with words of its own.
        nothing = dict.fromkeys(("scopes in words", "dead grant", "registration"), True)
        return said | nothing | {"account": bool(entry.verify), "revocation": bool(entry.find_url)}
    ends = entry.endpoints
    named = ends.userinfo or ends.issuer or "openid" in entry.scopes.default
    return said | {
        "scopes in words": bool(entry.scopes.words or entry.scopes.source_url) and _sorted(entry),
        "account": bool(named) or entry.quirks.account_source != "userinfo",
        "dead grant": bool(entry.dead_grant) or not entry.refresh_tokens,
        "revocation": bool(ends.revoke or entry.revoke_call or entry.revoke_page or entry.removal),
        "registration": entry.registration is not None,
    }


def _sorted(entry: Entry) -> bool:
    """Whether each scope has a risk. One that only keeps the access alive has none."""
    words = entry.scopes.words.values()
    return all(group_of(one) != "other" or one.startswith("Keep this access") for one in words)
