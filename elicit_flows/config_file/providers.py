"""Rules of ``[[provider]]``: OAuth providers, and providers whose credentials people type."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Set
from typing import Any

from elicit_flows import catalogue, http
from elicit_flows.config_file.values import InvalidValue, browser_url, in_languages, scope, text
from elicit_flows.domain.values import Json, Secret
from elicit_flows.kinds.credentials import client_credentials, fields, verification_rules
from elicit_flows.kinds.oauth import connection_metadata
from elicit_flows.lib.sentences import sentence
from elicit_flows.models import Provider
from elicit_flows.models.provider import SETTINGS
from elicit_flows.oauth import ProviderError
from elicit_flows.oauth.installation import app_key
from elicit_flows.oauth.private_key_jwt import sign

Type = Provider.Sort

MAX_SCOPE_WORDS, MAX_WORDS = 200, 200  # scopes, and characters of each
ADDRESSES = (
    "issuer", "authorize_url", "token_url", "revocation_url", "userinfo_url", "device_authorization_url",
)  # fmt: skip
OAUTH_KEYS = (
    *ADDRESSES, "client_id", "client_secret", "app_key", "token_auth", "scopes", "grant", "pkce", "par", "dpop",
    "resources", "registration", "dead_grant", "metadata", "metadata_url",
    "managed_by",
)  # fmt: skip
CREDENTIALS_KEYS = ("fields", "find_url", "verify")
# Keys of both types: they say where and how tokens are requested and revoked.
TOKEN_KEYS = ("token_url", "token_auth", "scopes", "resources", "revocation_url")


def preset(value: Any) -> str:
    """The slug of an entry of the catalogue."""
    if not isinstance(value, str) or catalogue.find(value) is None:
        raise InvalidValue(sentence("is not in the catalogue; `manage.py providers` lists what is"))
    return value


def variables(value: Any) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
        raise InvalidValue(sentence('must be a table of texts, such as { shop = "our-shop" }'))
    return value


def scope_words(value: Any) -> Json:
    """``{ "files.read" = "Read your files", "x" = { en = "…", de = "…" } }``: what scopes allow, in words."""
    if not isinstance(value, dict) or len(value) > MAX_SCOPE_WORDS:
        raise InvalidValue(sentence('must be a table such as { "files.read" = "Read your files" }'))
    found: Json = {}
    for name, words in value.items():
        try:
            one = scope(name)
            found[one] = in_languages(one, words, MAX_WORDS) if isinstance(words, dict) else text(MAX_WORDS)(words)
        except InvalidValue as error:
            raise InvalidValue(f"{name}: {error}" if isinstance(words, str) else str(error)) from None
    return {name: words for name, words in found.items() if words}


def credential_fields(value: Any) -> list[Json]:
    """``[{ name, label, secret, help, pattern, example }]``."""
    for path, problem in fields.faults(value, fields.OPERATORS):
        place = "".join([f"number {path[0] + 1}", *(f", {key}" for key in path[1:]), ": "]) if path else ""
        raise InvalidValue(f"{place}{problem[:1].lower()}{problem[1:]}".removesuffix("."))
    return [fields.complete(field, fields.OPERATORS) for field in value]


def find_url(value: Any) -> str:
    """The page where people find their credentials. Only browsers go there."""
    address = browser_url(value)
    if len(address) > 1000:
        raise InvalidValue(sentence("must have at most 1000 characters"))
    return address


def verify(value: Any) -> Json:
    """``{ url, headers, basic, accepted, refused }``; empty if credentials are not checked."""
    try:
        return verification_rules.checked_verify(value)
    except verification_rules.InvalidRule as error:
        raise InvalidValue(str(error)) from None


def provider_type(wanted: str, preset: str, given: Collection[str]) -> Type:
    """The preset decides, then ``wanted`` unless it is "", then the keys that are ``given``."""
    entry = catalogue.find(preset) if preset else None
    if entry:
        return Type(entry.sort)
    if wanted:
        return Type(wanted)
    return Type.CREDENTIALS if set(given) & set(CREDENTIALS_KEYS) else Type.OAUTH


def preset_values(values: Json, given: Collection[str]) -> Json:
    """The preset's values for the keys that are not ``given``; under "given", the keys that no longer follow the
    preset. Raises InvalidValue about the variables.
    """
    entry = catalogue.find(values["preset"]) if values["preset"] else None
    if entry is None:
        if values["variables"]:
            raise InvalidValue(sentence("are for a preset that has them; leave them out"))
        return {"given": None}
    try:
        settings = entry.settings(values["variables"])
    except ValueError as error:
        raise InvalidValue(
            sentence("are not what %(preset)s needs: %(why)s", preset=entry.name, why=str(error))
        ) from None
    for name in ADDRESSES:
        address = settings.get(name)
        named = connection_metadata.PLACE.match(address or "")
        if entry.variables and name not in given and address and not named:
            # The operator's variables are part of the address, so it is checked like one that an operator wrote.
            try:
                http.check_url(connection_metadata.PLACE.sub("x", address))  # a place that is left to the person
            except http.Refused as refusal:
                raise InvalidValue(
                    sentence(
                        "lead to %(address)s, which is refused: %(why)s", address=address, why=sentence(str(refusal))
                    )
                ) from None
    followed = {name: value for name, value in settings.items() if name not in given}
    return followed | {"given": [name for name in SETTINGS if name in given]}


def fields_or_default(values: Json) -> list[Json]:
    """The fields that people fill in. With ``token_url`` these are always a client ID and a client secret, so they may
    be left out.
    """
    if not values["fields"] and values["sort"] == Type.CREDENTIALS and values["token_url"]:
        return client_credentials.FIELDS
    fields: list[Json] = values["fields"]
    return fields


def conflicts(values: Json, given: Collection[str], stored: Provider | None) -> Iterator[tuple[str, str]]:
    """What is wrong with the values together, and with changing ``stored`` to them, as (key, message).

    ``given``: the keys that the operator wrote.
    """
    type_ = values["sort"]
    present = stored and ("mcp" if stored.mcp else stored.sort)  # an MCP server was discovered
    if present and present != type_:
        yield "slug", sentence("belongs to a provider for %(type)s; use another slug for this one", type=present)
    entry = catalogue.find(values["preset"]) if values["preset"] else None
    variables = entry.examples.keys() if entry else set()
    yield from _address_conflicts(values, variables)
    if type_ == Type.CREDENTIALS:
        for key in sorted(set(given) & set(OAUTH_KEYS) - set(TOKEN_KEYS)):
            yield key, "is for OAuth providers, and this one is for credentials; leave it out"
        yield from verification_rules.credentials_faults(values)
        yield from client_credentials.faults(values, entry.needs if entry else ())
        return
    for key in sorted(set(given) & set(CREDENTIALS_KEYS)):
        yield key, "is for credentials, and this one is an OAuth provider; leave it out"
    yield from _registration_conflicts(values)
    if values["registration"] == "dynamic" and variables - values["variables"].keys():
        yield "registration", sentence("cannot be dynamic while variables of the preset are left to each person")
    if not values["client_id"] and values["registration"] == "off":
        yield "client_id", sentence("is missing here; add it")
    start = "device_authorization_url" if values["grant"] == "device_code" else "authorize_url"
    if not values["issuer"] and not (values[start] and values["token_url"]):
        yield (
            "issuer",
            sentence(
                "is missing, and so is %(address)s or token_url; give the issuer, or both addresses", address=start
            ),
        )
    if values["par"] == "required" and not values["issuer"]:
        yield "issuer", sentence("is missing; the address for pushed requests is in its metadata")
    yield from _managed_conflicts(values)
    yield from _client_secret_conflicts(values)
    yield from _app_key_conflicts(values, entry)


def _address_conflicts(values: Json, variables: Set[str]) -> Iterator[tuple[str, str]]:
    """What is wrong with the ``{name}`` in addresses that are called with a token."""
    named = [connection_metadata.Named.of(one) for one in values["metadata"]]
    addresses = {name: values[name] for name in ("userinfo_url", "metadata_url")}
    for said in (
        connection_metadata.faults_of_addresses(addresses, named, but=variables),
        connection_metadata.faults_of_api("api_urls", values["api_urls"], named, but=variables),
    ):
        if said:
            yield said.split(" ", 1)[0], said.split(" ", 1)[1]


def _registration_conflicts(values: Json) -> Iterator[tuple[str, str]]:
    """With ``registration`` this service gets its client ID from the provider, not from the operator."""
    how = values["registration"]
    if how != "off" and values["client_id"]:
        yield "client_id", sentence('is not set by the operator with registration = "%(how)s"; leave it out', how=how)
    if how == "dynamic":
        if not values["issuer"]:
            yield "issuer", sentence("is missing; the address for registration is in its metadata")
        if values["client_secret"] is not None:
            yield "client_secret", sentence('comes from the provider with registration = "dynamic"; leave it out')
        if values["token_auth"] == "private_key_jwt":
            yield "token_auth", sentence('cannot be private_key_jwt with registration = "dynamic"; use another')
    if how == "document" and values["token_auth"].startswith("client_secret"):
        yield (
            "token_auth",
            sentence('must be "none" or "private_key_jwt": a document that everybody can read has no secret'),
        )


def _managed_conflicts(values: Json) -> Iterator[tuple[str, str]]:
    """With ``managed_by`` an identity provider vouches for people to the provider's issuer."""
    if values["managed_by"] and not values["issuer"]:
        yield "issuer", sentence("is missing; an identity provider vouches for people to an issuer")
    if values["managed_by"] and values["dpop"] != "off":
        yield "dpop", sentence("must be off with managed_by")


def _app_key_conflicts(values: Json, entry: catalogue.Entry | None) -> Iterator[tuple[str, str]]:
    key: Secret | None = values["app_key"]
    if key is None:
        return
    if entry is None or entry.installation is None:
        yield "app_key", sentence("is for a preset whose apps people install, such as github-app; leave it out")
    try:
        app_key(key.reveal())
    except ProviderError:
        yield "app_key", sentence("must be a private RSA key, PEM or JWK")


def _client_secret_conflicts(values: Json) -> Iterator[tuple[str, str]]:
    secret: Secret | None = values["client_secret"]
    shared = values["token_auth"].startswith("client_secret")
    if values["token_auth"] == "none" or values["registration"] == "dynamic":
        return
    if shared and values["registration"] == "document":
        return  # _registration_conflicts names token_auth already
    if secret is None:
        missing = 'is missing, and token_auth is %(method)s; add it, or set token_auth = "none"'
        yield "client_secret", sentence(missing, method=values["token_auth"])
    elif not shared and not values["issuer"]:
        yield "issuer", sentence("is missing; private_key_jwt needs it as the audience of each request")
    elif not shared:
        # The client secret is a private key (RFC 7523): try whether it can sign.
        try:
            sign("client", secret.reveal(), "https://issuer.example.com")
        except ProviderError:
            yield "client_secret", sentence("must be a private RSA or EC key, PEM or JWK, for private_key_jwt")
