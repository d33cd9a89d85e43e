"""Rules of the keys of ``[[provider]]`` that say what is kept of what the provider says beside the tokens, and where
its API is.
"""

from __future__ import annotations

from typing import Any

from elicit_flows.config_file.values import InvalidValue, Rule, list_of, response_path, text, url
from elicit_flows.domain.values import Json
from elicit_flows.kinds.oauth.connection_metadata import MOST_NAMES, PLACE, faults
from elicit_flows.lib.sentences import sentence

EXAMPLE = '[{ name = "instance_url", type = "url", hosts = ["*.example.com"] }]'
MOST_ADDRESSES = 20
_RULES: dict[str, Rule] = {
    "name": text(40), "from": text(10), "path": response_path, "type": text(10), "hosts": list_of(text(255), most=20),
}  # fmt: skip


def metadata(value: Any) -> list[Json]:
    """``[{ name, from, path, type, hosts }]``."""
    if not isinstance(value, list) or len(value) > MOST_NAMES:
        wrong = sentence("must be a list of at most %(most)s, such as %(example)s", most=MOST_NAMES, example=EXAMPLE)
        raise InvalidValue(wrong)
    found = []
    for number, given in enumerate(value, 1):
        if not isinstance(given, dict) or "name" not in given or given.keys() - _RULES.keys():
            wrong = sentence(
                "number %(number)s must have name and may have from, path, type and hosts, such as %(example)s",
                number=number,
                example=EXAMPLE,
            )
            raise InvalidValue(wrong)
        try:
            found.append({name: _RULES[name](said) for name, said in given.items()})
        except InvalidValue as error:
            raise InvalidValue(sentence("number %(number)s %(problem)s", number=number, problem=str(error))) from None
    if said := next(faults(found), ""):
        raise InvalidValue(said)
    return found


def lookup_url(value: Any) -> str:
    """An address that is called with a token. It may have ``{name}`` of metadata in place of its host, and in its
    path.
    """
    if not isinstance(value, str) or not PLACE.search(value):
        return url(value)
    url(PLACE.sub("x", PLACE.sub("https://x.example", value, count=1) if PLACE.match(value) else value))
    return value


def api_url(value: Any) -> str:
    """An address below which agents' calls are sent with the credential, such as https://api.example.com/v2."""
    address = lookup_url(value)
    if "?" in address:
        raise InvalidValue(sentence("must have no query"))
    return address
