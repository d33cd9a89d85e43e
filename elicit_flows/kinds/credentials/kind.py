"""Keys and passwords: what the agent needs and must not see typed. They go into the vault, and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from elicit_flows.errors import BadCallback, Invalid, ProviderUnavailable
from elicit_flows.kinds.credentials import fields, own_client, params, sealing, verifying
from elicit_flows.kinds.credentials.config import CredentialsProvider, TokenRequest
from elicit_flows.kinds.credentials.verifying import Verdict
from elicit_flows.lib import oauth, text
from elicit_flows.values import Again, Answer, Finish, Grant, Json, Leave, Secret, Visit

SEALED = "sealed"  # the one field of what was handed over sealed to the agent's own key
FOR_TOKENS = "for-tokens"  # sent by a page that promised tokens alone; no field can be called so
_SWITCHED_OFF = "This provider is switched off."
_CHANGED = "What the agent gets was changed meanwhile. Nothing was kept. Open the link again and read the page."


class Credentials:
    """Hand over credentials. The result names a connection; the values are fetched through it, never told.

    ``config`` is the operator's provider where the agent names one, else None.
    """

    context: str | None = "provider"
    takes_money = False
    leaves = False

    def clean(self, given: Json) -> Json:
        return params.clean(given)

    def describe(self, asked: Json, config: CredentialsProvider | None) -> Json:
        """``{title, host, host_warning, provider, fields: [{name, label, secret, help, ...}], find_url, checked_at,
        tokens, scopes, scope_words}``: ``provider`` is the name of the operator's provider or "", ``checked_at`` the
        host that is asked whether they are good, or "". With ``tokens`` the agent gets tokens from there, and never
        what was typed. No fields: the provider is switched off.
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
        """Every field has a value that fits. Raises Invalid, which repeats none, and ProviderUnavailable."""
        asked, config = _fields(visit.params, visit.config), visit.config
        if not asked:
            raise ProviderUnavailable(_SWITCHED_OFF)
        if answer.one(FOR_TOKENS) and not (config and config.token):
            raise ProviderUnavailable(_CHANGED)
        problems = [(field["name"], _problem(field, config, _typed(field, answer))) for field in asked]
        errors: list[dict[str, object]] = [{"loc": [name], "message": problem} for name, problem in problems if problem]
        if errors:
            raise Invalid(errors)

    def resume(self, visit: Visit, answer: Answer) -> Finish | Again:
        """Asks the provider where it says how. At most ten seconds."""
        asked, config = _fields(visit.params, visit.config), visit.config
        if not asked:
            return Again("provider_unavailable", _SWITCHED_OFF)
        if answer.one(FOR_TOKENS) and not (config and config.token):
            return Again("provider_unavailable", _CHANGED)
        named = {field["name"]: Secret(_typed(field, answer)) for field in asked}
        if config and config.token:
            return _with_token(config, config.token, named, visit.params["seal_to"])
        if again := _verified(config, asked, named):
            return again
        key = visit.params["seal_to"]
        return Finish("completed", credentials={SEALED: sealing.seal(named, key)} if key else named)


def _fields(asked: Json, config: CredentialsProvider | None) -> Sequence[Json]:
    """The agent's own, or the provider's; none when that is switched off."""
    return asked["fields"] or (config.fields if config else ())


def _typed(field: Json, answer: Answer) -> str:
    """What comes around a value when it is copied is not part of it."""
    return (answer.one(field["name"]) or "").strip()


def _problem(field: Json, config: CredentialsProvider | None, typed: str) -> str:
    said = fields.problem(field, typed)
    if not said and config and _unfit(config, field["name"], typed):
        return f"{field['label']} has a character that does not belong there, or too many. Copy it again."
    return said


def _unfit(config: CredentialsProvider, name: str, typed: str) -> bool:
    if config.token:
        return own_client.unfit(typed)
    return config.verify is not None and verifying.unfit(config.verify, name, typed)


def _with_token(
    config: CredentialsProvider, request: TokenRequest, named: Mapping[str, Secret], seal_to: Json | None
) -> Finish | Again:
    """The client with its first token: that it is given one is the check."""
    if seal_to:  # the operator made it so while this was open: nothing could be asked for with what is sealed away
        return Finish.failed("provider_changed", "This provider gives tokens now. Ask again without seal_to.")
    grant = _granted(config.name, request, named)
    return grant if isinstance(grant, Again) else Finish("completed", credentials=named, grant=grant)


def _granted(name: str, request: TokenRequest, named: Mapping[str, Secret]) -> Grant | Again:
    try:
        return own_client.ask(request, named)
    except (oauth.ClientRefused, oauth.InvalidGrant) as refused:
        said = f"{name} gives this client no token. Nothing was kept. Check what you typed, and what it may do there."
        if isinstance(refused, oauth.ClientRefused) and refused.code == "invalid_client":
            said = f"{name} does not accept this. Nothing was kept. Check what you typed, and send it again."
        return Again("refused", said, field=own_client.SECRET)
    except oauth.OAuthError:
        said = f"{name} cannot be asked now whether this is right. Nothing was kept. Try again."
        return Again("provider_unavailable", said, field=own_client.ID)


def _verified(config: CredentialsProvider | None, asked: Sequence[Json], named: Mapping[str, Secret]) -> Again | None:
    """Why nothing is kept, said beside the field that is most likely at fault."""
    verdict = verifying.ask(config.verify, named) if config and config.verify else Verdict.ACCEPTED
    if config is None or verdict == Verdict.ACCEPTED:
        return None
    if verdict == Verdict.UNKNOWN:
        said = f"{config.name} cannot be asked now whether this is right. Nothing was kept. Try again."
        return Again("provider_unavailable", said, field=asked[0]["name"])
    secret = next((field for field in asked if field["secret"]), asked[0])
    said = f"{config.name} does not accept this. Nothing was kept. Check what you typed, and send it again."
    return Again("refused", said, field=secret["name"])
