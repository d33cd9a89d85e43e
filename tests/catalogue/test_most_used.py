"""The most used providers: how each reports that a grant has ended, and which do not name the account."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.utils import translation

from docs.generate import lists
from elicit_flows import catalogue
from elicit_flows.catalogue import Entry
from elicit_flows.catalogue.most_used import FACTS, MOST_USED, answered, facts, undocumented

# How a refresh token of a dead grant is answered stands in the entry, with where that was read, or that there are none.
KNOWN = """
airtable asana atlassian auth0 bitbucket box calendly canva clickup deviantart discord docusign dropbox etsy facebook
fitbit github github-app github-enterprise gitlab gitlab-self-managed google hubspot instagram intercom intuit linear
linkedin mailchimp microsoft microsoft-tenant monday netsuite notion okta patreon pipedrive reddit salesforce
salesforce-domain salesforce-sandbox shopify slack slack-bot snowflake soundcloud spotify square strava stripe-connect
threads tiktok trakt trello twitch webex x x-oauth1 xero yahoo zendesk zoho zoho-au zoho-ca zoho-cn zoho-eu zoho-in
zoho-jp zoho-sa zoom
""".split()  # noqa: SIM905
# What the providers do not document. RFC 6749's own word for a dead grant counts here as everywhere, and a refusal that
# nobody knows ends a grant in time.
UNDOCUMENTED = {
    "figma": {"dead grant"},
    "miro": {"dead grant"},
    "todoist": {"dead grant"},
    "typeform": {"dead grant", "revocation"},
    "workday": {"endpoints checked", "dead grant", "revocation"},
    "wrike": {"dead grant", "revocation"},
}

# Nobody can tell two accounts of a person apart here: our page asks, from the second on.
UNNAMED = """
acton adobe assembla aweber axosoft baidu bitbucket-datacenter buffer campaignmonitor concur constantcontact deputy
dropbox-sign dwolla familysearch formstack foursquare freelancer gusto idme jamendo keap mailru mailup meetup
mixcloud nationbuilder netsuite odnoklassniki producthunt ramp servicem8 servicenow-oauth
snapchat stackexchange startgg supabase ticktick timely unbounce upwork
""".split()  # noqa: SIM905


@pytest.mark.parametrize("slug", KNOWN)
def test_t136_a_much_used_provider_names_its_words_or_has_no_refresh_tokens(slug: str) -> None:
    entry = catalogue.entries()[slug]
    assert bool(entry.dead_grant) != (not entry.refresh_tokens)
    assert all(sign.source_url.startswith("https://") for sign in entry.dead_grant)
    # What RFC 6749 gives another meaning may be our own fault: there the entry goes by the description.
    assert not {word for sign in entry.dead_grant for word in sign.words} & {
        "invalid_request", "invalid_client", "unauthorized_client", "unsupported_grant_type", "invalid_scope",
    }  # fmt: skip


def test_t136_what_was_not_read_is_not_claimed() -> None:
    said = {slug for slug, entry in catalogue.entries().items() if entry.dead_grant or not entry.refresh_tokens}
    assert said == set(KNOWN)


def names_the_account(entry: Entry) -> bool:
    asked = entry.endpoints.userinfo or entry.endpoints.issuer or "openid" in entry.scopes.default
    return bool(asked) or entry.quirks.account_source in ("token", "metadata")


def test_t137_the_providers_that_do_not_say_whose_account_it_is_are_these_and_no_more() -> None:
    oauth = {slug: entry for slug, entry in catalogue.entries().items() if entry.kind == "oauth"}
    unnamed = [slug for slug, entry in oauth.items() if not names_the_account(entry)]
    assert unnamed == sorted(UNNAMED)
    assert len(unnamed) == 41


# How many of the 50 have each fact. A number goes up with the facts that are found, and never down.
AT_LEAST = {
    "endpoints checked": 48, "scopes in words": 49, "account": 49, "dead grant": 43, "revocation": 46,
    "registration": 49, "API hosts": 49,
}  # fmt: skip


def test_of_the_most_used_at_least_so_many_have_each_fact() -> None:
    known = [facts(entry) for slug in MOST_USED if (entry := catalogue.entries().get(slug))]
    assert len(MOST_USED) == len(set(MOST_USED)) == 49, "Intuit is QuickBooks: 50 names of the issue, 49 entries"
    assert {fact: sum(one[fact] for one in known) for fact in FACTS} == AT_LEAST
    assert len(known) == len(MOST_USED)
    assert sum(all(one.values()) for one in known) == 43


def test_each_fact_that_one_of_the_most_used_lacks_was_looked_for_and_is_not_documented() -> None:
    most_used = [catalogue.entries()[slug] for slug in MOST_USED]
    lacking = {entry.slug: {fact for fact, has in facts(entry).items() if not has} for entry in most_used}
    assert {slug: lacks for slug, lacks in lacking.items() if lacks} == UNDOCUMENTED
    assert {entry.slug: undocumented(entry) for entry in most_used if entry.undocumented} == UNDOCUMENTED
    assert answered(most_used) == (
        "43 of the 49 most used providers have every fact. 10 facts of 6 providers are not documented, and 0 were not "
        "found yet."
    )


def test_a_fact_that_is_not_documented_is_not_counted_as_known_nor_as_not_found() -> None:
    figma = catalogue.entries()["figma"]
    assert not facts(figma)["dead grant"]
    assert answered([figma]).endswith("1 facts of 1 providers are not documented, and 0 were not found yet.")
    silent = figma.model_copy(update={"undocumented": ()})
    assert answered([silent]).endswith("0 facts of 0 providers are not documented, and 1 were not found yet.")


@pytest.mark.parametrize("language", [code for code, _ in settings.LANGUAGES if code != "en"])
def test_what_the_scopes_of_the_most_used_allow_is_said_in_every_language(language: str) -> None:
    said = {words for slug in MOST_USED for words in catalogue.entries()[slug].scopes.words.values()}
    assert len(said) > 300
    with translation.override(language):
        assert {words for words in said if translation.pgettext("scope", words) == words} == set()


def test_the_tables_of_the_page_are_the_catalogue() -> None:
    entries = catalogue.entries().values()
    *table, empty, said = lists.most_used().splitlines()
    assert len(table) == len(MOST_USED) + 3
    assert table[-1].split("|")[2].strip() == str(AT_LEAST["endpoints checked"])
    assert sum(line.count("not documented") for line in table) == sum(map(len, UNDOCUMENTED.values()))
    assert (empty, said) == ("", answered([catalogue.entries()[slug] for slug in MOST_USED]))
    last = [cell.strip() for cell in lists.providers_checked().splitlines()[-1].split("|")[1:-1]]
    checked = [sum(one.checked == what for one in entries) for what in ("document", "library", "unverified")]
    assert last == [f"all {len(entries)}", *map(str, checked)]


def test_an_entry_without_a_fact_is_not_counted_for_it() -> None:
    entry = catalogue.entries()["github"]
    assert facts(entry)["registration"]
    assert not facts(entry.model_copy(update={"registration": None}))["registration"]
    assert not facts(entry.model_copy(update={"checked": "unverified"}))["endpoints checked"]
    worded = entry.scopes.model_copy(update={"words": {"repo": "Everything"}})
    assert not facts(entry.model_copy(update={"scopes": worded}))["scopes in words"]
    assert not facts(catalogue.entries()["twilio"].model_copy(update={"find_url": None}))["revocation"]


def test_a_server_of_ones_own_ends_grants_as_github_does() -> None:
    calls = [catalogue.entries()[slug].revoke_call for slug in ("github", "github-enterprise")]
    there, own = [call.model_dump(exclude={"source_url"}) for call in calls if call]
    assert own == {**there, "url": "https://{host}/api/v3/applications/{client_id}/grant"}


@pytest.mark.parametrize(
    ("slug", "host", "grants"), [("instagram", "graph.instagram.com", "ig"), ("threads", "graph.threads.net", "th")]
)
def test_tokens_of_meta_that_live_an_hour_are_exchanged_and_renewed(slug: str, host: str, grants: str) -> None:
    entry = catalogue.entries()[slug]
    assert entry.long_token
    assert entry.renew_token
    assert entry.long_token.params["grant_type"] == f"{grants}_exchange_token"
    assert entry.renew_token.params == {"grant_type": f"{grants}_refresh_token", "access_token": "{access_token}"}
    assert {urlsplit(one.url).netloc for one in (entry.long_token, entry.renew_token)} == {host}
