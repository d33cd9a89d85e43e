"""Keys and passwords, which the agent needs but must not see being typed. They are stored only in the vault."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from elicit_flows import oauth
from elicit_flows.domain.errors import BadCallback, Invalid, ProviderUnavailable
from elicit_flows.domain.values import Again, Answer, Finish, Grant, Json, Leave, Secret, Visit
from elicit_flows.kinds.credentials import client_credentials, fields, params, sealing, verification
from elicit_flows.kinds.credentials.config import CredentialsProvider, TokenRequest
from elicit_flows.kinds.credentials.verification import Verdict
from elicit_flows.lib import text
from elicit_flows.lib.sentences import Sentence, sentence

SEALED = "sealed"  # the only field of credentials that are encrypted to the agent's own key
FOR_TOKENS = "for-tokens"  # sent by a page that promised only tokens; the hyphen keeps it apart from field names
_SWITCHED_OFF = sentence("This provider is switched off.")
_CHANGED = sentence(
    "What the agent gets has changed since you opened this page. Nothing was saved. Open the link again."
)


class Credentials:
    """Ask for credentials. The result names a connection, through which the agent fetches the values.

    ``config`` is the operator's provider if the agent names one, or else None.
    """

    context: str | None = "provider"
    takes_money = False
    leaves = False

    def clean(self, given: Json) -> Json:
        return params.clean(given)

    def describe(self, asked: Json, config: CredentialsProvider | None) -> Json:
        """``{title, host, host_warning, provider, fields: [{name, label, secret, help, ...}], find_url, checked_at,
        tokens, scopes, scope_words}``.

        ``provider`` is the name of the operator's provider, or "". ``checked_at`` is the host that is asked whether the
        credentials are valid, or "". With ``tokens``, the agent gets tokens from there, and never what was typed.
        Without fields, the provider is switched off.
        """
        shown = list(_fields(asked, config))
        name = config.name if config else asked.get("provider") or ""
        token = config.token if config else None
        asked_there = token or (config.verify if config else None)
        return {
            "title": name or ", ".join(field["label"] for field in shown),
            "host": "",
            "host_warning": "",
            "provider": name,
            "fields": shown,
            "find_url": config.find_url if config else "",
            "checked_at": text.ascii_host(asked_there.url) if asked_there else "",
            "tokens": token is not None,
            "scopes": list(token.scopes) if token else [],
            "scope_words": token.scope_words if token else {},
        }

    def begin(self, visit: Visit) -> Leave:
        raise BadCallback("This is answered on its own page.")

    def check_answer(self, visit: Visit, answer: Answer) -> None:
        """Check that every field has a valid value. Raises Invalid, which repeats no value, and ProviderUnavailable."""
        asked, config = _fields(visit.params, visit.config), visit.config
        if not asked:
            raise ProviderUnavailable(_SWITCHED_OFF)
        if answer.one(FOR_TOKENS) and not (config and config.token):
            raise ProviderUnavailable(_CHANGED)
        typed = {field["name"]: _typed(field, answer) for field in asked}
        problems = [(field["name"], _problem(field, config, typed)) for field in asked]
        errors: list[dict[str, object]] = [{"loc": [name], "message": problem} for name, problem in problems if problem]
        if errors:
            raise Invalid(errors)

    def resume(self, visit: Visit, answer: Answer) -> Finish | Again:
        """Store the credentials, after asking the provider if it has a check. Takes at most ten seconds."""
        asked, config = _fields(visit.params, visit.config), visit.config
        if not asked:
            return Again("provider_unavailable", _SWITCHED_OFF)
        if answer.one(FOR_TOKENS) and not (config and config.token):
            return Again("provider_unavailable", _CHANGED)
        named = {field["name"]: Secret(_typed(field, answer)) for field in asked}
        if config and config.token:
            # Store the client with its first token. Getting one is the check.
            # Configured while this was open: the service could not use credentials that only the agent can read.
            if visit.params["seal_to"]:
                return Finish.failed("provider_changed", "This provider issues tokens now. Ask again without seal_to.")
            grant = _granted(config, config.token, named)
            return grant if isinstance(grant, Again) else Finish("completed", credentials=named, grant=grant)
        if again := _verified(config, asked, named):
            return again
        key = visit.params["seal_to"]
        return Finish("completed", credentials={SEALED: sealing.seal(named, key)} if key else named)


def _fields(asked: Json, config: CredentialsProvider | None) -> Sequence[Json]:
    """The agent's own fields, or the provider's; none if that is switched off."""
    return asked["fields"] or (config.fields if config else ())


def _typed(field: Json, answer: Answer) -> str:
    """The value without what copying adds."""
    return text.bare(answer.one(field["name"]) or "")


def _problem(field: Json, config: CredentialsProvider | None, typed: Mapping[str, str]) -> str:
    name = field["name"]
    said = fields.problem(field, typed[name])
    if said or not config:
        return said
    if config.token:
        unfit = client_credentials.unfit(config.token, typed, name)
    else:
        unfit = config.verify is not None and verification.unfit(config.verify, name, typed[name])
    return sentence("This has too many characters, or one that is not allowed. Copy it again.") if unfit else ""


def _not_accepted(name: str) -> Sentence:
    return sentence(
        "%(name)s does not accept this. Nothing was saved. Check what you typed, and send it again.", name=name
    )


def _not_available(name: str) -> Sentence:
    return sentence("%(name)s is not available to check this. Nothing was saved. Try again.", name=name)


def _granted(config: CredentialsProvider, request: TokenRequest, named: Mapping[str, Secret]) -> Grant | Again:
    name, first = config.name, next(iter(named))
    secret = next((field["name"] for field in config.fields if field["secret"]), first)
    try:
        return client_credentials.ask(request, named)
    except (oauth.ClientRefused, oauth.InvalidGrant) as refused:
        said = sentence(
            "%(name)s issues no token to this client. Nothing was saved. Check what you typed and its permissions.",
            name=name,
        )
        if isinstance(refused, oauth.ClientRefused) and refused.code == "invalid_client":
            said = _not_accepted(name)
        return Again("refused", said, field=secret)
    except oauth.OAuthError:
        return Again("provider_unavailable", _not_available(name), field=first)


def _verified(config: CredentialsProvider | None, asked: Sequence[Json], named: Mapping[str, Secret]) -> Again | None:
    """Why nothing is stored, shown beside the field that is most likely wrong; None if the credentials are valid."""
    verdict = verification.ask(config.verify, named) if config and config.verify else Verdict.ACCEPTED
    if config is None or verdict == Verdict.ACCEPTED:
        return None
    if verdict == Verdict.UNKNOWN:
        said = _not_available(config.name)
        return Again("provider_unavailable", said, field=asked[0]["name"])
    secret = next((field for field in asked if field["secret"]), asked[0])
    said = _not_accepted(config.name)
    return Again("refused", said, field=secret["name"])
