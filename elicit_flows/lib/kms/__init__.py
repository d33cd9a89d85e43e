"""Vault keys that are wrapped by a key management service: only the service can unwrap them.

A plug-in is a module with two functions. ``new(name, options)`` makes the service create 32 bytes and wrap them under
its key ``name``. ``unwrap(wrapped, options)`` makes it unwrap them, once, when a process starts.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Protocol, cast

from elicit_flows.lib.kms.errors import KmsError

Options = Mapping[str, str | None]

# Imported when used, so that the library of one plug-in need not be installed for the others.
PLUGINS = {
    "aws-kms": "elicit_flows.lib.kms.aws",
    "vault": "elicit_flows.lib.kms.transit",
}

__all__ = ["PLUGINS", "KmsError", "Options", "new", "unwrap"]


class Plugin(Protocol):
    def new(self, name: str, options: Options) -> str: ...

    def unwrap(self, wrapped: str, options: Options) -> bytes: ...


def new(service: str, name: str, options: Options) -> str:
    """A new wrapped key: the part of an entry after ``id:service:``. Raises KmsError."""
    return _plugin(service).new(name, options)


def unwrap(service: str, wrapped: str, options: Options) -> bytes:
    """The key's bytes. Raises KmsError."""
    return _plugin(service).unwrap(wrapped, options)


def _plugin(service: str) -> Plugin:
    if service not in PLUGINS:
        raise KmsError(f"there is no key management service {service!r}; use {' or '.join(PLUGINS)}")
    try:
        return cast(Plugin, import_module(PLUGINS[service]))
    except ModuleNotFoundError as error:
        raise KmsError(f"{service} needs the package {error.name}, which is not installed") from None
