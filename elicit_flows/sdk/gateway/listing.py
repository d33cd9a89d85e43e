"""What the servers behind the gateway have, put together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from mcp.shared.exceptions import MCPError
from mcp_types import METHOD_NOT_FOUND

from elicit_flows.domain.values import Json
from elicit_flows.sdk.gateway.config import GUARDED, Config, ConfigError
from elicit_flows.sdk.gateway.file_guards import Asked
from elicit_flows.sdk.gateway.names import exposed, fits, plain
from elicit_flows.sdk.gateway.peers import Peers
from elicit_flows.sdk.gateway.server_sign_in import ClientCredentials, own_sign_ins
from elicit_flows.sdk.gateway.upstream import Upstream
from elicit_flows.sdk.gateway.wire import Client

LISTS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
NAMED = ("tools/list", "prompts/list")
ALL = {"roots": {"listChanged": True}, "sampling": {}, "elicitation": {"form": {}, "url": {}}}
SELF = {"name": "elicit-flows", "version": "1"}
URIS = {"resources/list": "uri", "resources/templates/list": "uriTemplate"}
NOT_PASSED_ON = ("tasks", "extensions")  # capabilities whose messages the gateway does not know
AskedOf = Callable[[str, str, str], tuple[Asked, ...]]


@dataclass(slots=True)
class Listing:
    """``found``: by server, its capabilities. ``names``: by server and kind, what it listed at the start.
    ``introductions``: by server, its instructions. ``sign_ins``: by server, the gateway's own, if there is one.
    """

    config: Config
    found: dict[str, Json] = field(default_factory=dict)
    names: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    introductions: dict[str, str] = field(default_factory=dict)
    sign_ins: dict[str, ClientCredentials] = field(default_factory=dict)

    async def survey(self) -> None:
        """Connect to each server once, as a client that can do everything. Raises ConfigError, StartError and
        MCPError.
        """
        self.sign_ins = own_sign_ins(self.config)
        await asyncio.gather(*(self._look(name) for name in self.config.servers))

    async def _look(self, name: str) -> None:
        one = Upstream(name, self.config, Client(SELF, ALL, modern=False), _refuse, _ignore, lambda _: False)
        one.auth = self.sign_ins.get(name)
        await one.start()
        try:
            has = one.capabilities
            self.found[name] = {key: value for key, value in has.items() if key not in NOT_PASSED_ON}
            for method, member in LISTS.items():
                kind = method.split("/", maxsplit=1)[0]
                listed = await one.all(method, member) if kind in has else []
                self.names.setdefault((name, kind), set()).update(
                    str(entry.get(URIS.get(method, "name"))) for entry in listed
                )
            self.introductions[name] = one.instructions
        finally:
            await one.stop()

    def having(self, capability: str) -> list[str]:
        return [name for name in self.config.servers if capability in self.found[name]]

    @property
    def instructions(self) -> str:
        return "\n\n".join(filter(None, (self.introductions[name] for name in self.config.servers)))

    @property
    def capabilities(self) -> Json:
        """What one of the servers can do."""
        merged: Json = {}
        for name in self.config.servers:
            for key, value in self.found[name].items():
                known = merged.get(key)
                merged[key] = {**known, **value} if isinstance(known, dict) and isinstance(value, dict) else value
        return merged

    async def shown(self, peers: Peers, method: str, asked: AskedOf) -> Json:
        """The list that a client gets, and by ``peers.names`` whose its entries are."""
        listed = await self._listed(peers, method)
        member = LISTS[method]
        if method not in NAMED:
            return {member: [one for all_ in listed.values() for one in all_]}
        by_name = {server: {str(one.get("name")): one for one in all_} for server, all_ in listed.items()}
        prefixed = [name for name, section in self.config.servers.items() if section.prefix]
        names = exposed(by_name, prefixed)
        peers.names[method] = names
        entries = []
        for name, (server, own) in names.items():
            entry = {**by_name[server][own], "name": name}
            if method == "tools/list":
                peers.schemas[server, own] = entry
                entry = _told(entry, asked("tools", server, own))
            else:
                entry = _told_prompt(entry, asked("prompts", server, own))
            entries.append(entry)
        return {member: entries}

    async def with_resource(self, peers: Peers, servers: list[str], uri: str) -> list[str]:
        """Those of ``servers`` that list ``uri``, or a template for it; else all."""
        for method, key in URIS.items():
            listed = await self._listed(peers, method)
            for server in servers:
                if any(fits(str(one.get(key)), uri) for one in listed.get(server, [])):
                    return [server]
        return servers

    async def has_resource(self, peers: Peers, server: str, uri: str) -> bool:
        """Whether a server lists ``uri``, or a template for it."""
        for method, key in URIS.items():
            listed = await self._listed(peers, method, [server])
            if any(fits(str(one.get(key)), uri) for one in listed[server]):
                return True
        return False

    async def _listed(self, peers: Peers, method: str, of_: list[str] | None = None) -> dict[str, list[Json]]:
        servers = self.having(method.split("/", maxsplit=1)[0]) if of_ is None else of_

        async def of(server: str) -> list[Json]:
            listed: list[Json] = peers.shown(await (await peers.upstream(server)).all(method, LISTS[method]))
            return listed

        return dict(zip(servers, await asyncio.gather(*(of(server) for server in servers)), strict=True))


def _told(tool: Json, asked: tuple[Asked, ...]) -> Json:
    """A tool as clients see it: without what the gateway puts in, and with what the guards say of it."""
    told = {name: value for name, value in tool.items() if name != "execution"}
    placed = {name for one in asked for name in one.place.argument}
    schema = told.get("inputSchema")
    if placed and isinstance(schema, dict):
        schema = dict(schema)
        if isinstance(schema.get("properties"), dict):
            schema["properties"] = {name: one for name, one in schema["properties"].items() if name not in placed}
        if isinstance(schema.get("required"), list):
            schema["required"] = [name for name in schema["required"] if name not in placed]
        told["inputSchema"] = schema
    if any(one.kind == "confirm" for one in asked):
        told["annotations"] = {"destructiveHint": True, **(told.get("annotations") or {})}
    return told


def _told_prompt(prompt: Json, asked: tuple[Asked, ...]) -> Json:
    placed = {name for one in asked for name in one.place.argument}
    if not placed or not isinstance(prompt.get("arguments"), list):
        return prompt
    return {**prompt, "arguments": [one for one in prompt["arguments"] if one.get("name") not in placed]}


def check_names(config: Config, listing: Listing) -> None:
    """Raises ConfigError for a guard of what its server does not list: it may be misspelled.

    Where the gateway signs in, the file has to say what is asked for everything: what it does not name would run under
    the gateway's name for everybody.
    """
    wrong = []
    for name, section in config.servers.items():
        if section.client_credentials is not None:
            wrong += [
                f'servers.{name}.{kind}."*": Say what is asked for those that the file does not name, or [] for '
                "nothing: they are used with the gateway's own token."
                for kind in GUARDED
                if kind in listing.found[name] and (kind, "*") not in section.guards
            ]
        named = [*section.guards, *(("tools", tool) for tools in section.hidden_until.values() for tool in tools)]
        for kind, guarded in named:
            listed = listing.names[name, kind]
            known = guarded in listed
            if kind == "resources":
                known = any(fits(one, guarded) or plain(one) == plain(guarded) for one in listed)
            if guarded != "*" and not known:
                wrong.append(
                    f"servers.{name}.{kind}.{guarded}: The server lists no such {kind[:-1]}, but "
                    f"{', '.join(sorted(listed)) or 'none'}."
                )
    if wrong:
        raise ConfigError("\n".join(wrong))


async def _refuse(method: str, params: Json) -> Json:
    raise MCPError(METHOD_NOT_FOUND, "Method not found", method)


async def _ignore(method: str, params: Json) -> None:
    pass
