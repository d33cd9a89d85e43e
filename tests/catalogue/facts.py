"""What django-allauth and social-auth-core say about providers, as JSON: {library: [[name, authorize, token], ...]}.

Run in a process of its own, because both want a Django set up for them. Nobody is asked anything: what they would look
up on the network is left out.
"""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import socket
from collections.abc import Callable, Iterator
from typing import Any

import django
from django.conf import settings

settings.configure(
    INSTALLED_APPS=[
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "django.contrib.sessions",
        "allauth",
        "allauth.account",
        "allauth.socialaccount",
    ],
    MIDDLEWARE=["allauth.account.middleware.AccountMiddleware"],
    SECRET_KEY="for nobody",
)
django.setup()

import allauth.socialaccount.providers  # noqa: E402
import social_core.backends  # noqa: E402
from allauth.socialaccount.providers.oauth2.provider import OAuth2Provider  # noqa: E402
from django.test import RequestFactory  # noqa: E402
from social_core.backends.oauth import BaseOAuth2  # noqa: E402
from social_core.strategy import BaseStrategy  # noqa: E402

Said = tuple[str, str, str]


def told(package: Any, inside: str, read: Callable[[Any], Said]) -> Iterator[Said]:
    """Of every class that ``inside`` a module of the package knows of. What cannot be had is left out."""
    for module in pkgutil.iter_modules(package.__path__):
        try:
            found = vars(importlib.import_module(f"{package.__name__}.{module.name}{inside}"))
        except Exception:  # another package is not installed
            continue
        for one in found.values():
            try:
                yield read(one)
            except Exception:  # no provider, or one that needs settings or the network
                continue


def of_allauth(cls: Any) -> Said:
    assert issubclass(cls, OAuth2Provider)
    adapter = cls.oauth2_adapter_class(RequestFactory().get("/"))
    return cls.id, adapter.authorize_url, adapter.access_token_url


def of_social(cls: Any) -> Said:
    assert inspect.isclass(cls)
    assert issubclass(cls, BaseOAuth2)
    backend = cls(Nothing(None), redirect_uri="")  # type: ignore[arg-type]
    return cls.name, backend.authorization_url(), backend.access_token_url()


class Nothing(BaseStrategy):  # type: ignore[type-arg]
    """Settings that say nothing."""

    def get_setting(self, name: str) -> Any:
        raise KeyError(name)

    def request_data(self, merge: bool = True) -> dict[str, Any]:
        return {}

    def build_absolute_uri(self, path: str | None = None) -> str:
        return "https://example.com"


def _whole(one: Any) -> bool:
    return all(isinstance(url, str) and url for url in one)


def nobody(*args: Any, **kwargs: Any) -> Any:
    raise OSError("nobody is asked")


if __name__ == "__main__":
    socket.socket.connect = nobody  # type: ignore[method-assign]
    socket.getaddrinfo = nobody
    said = {
        "django-allauth": told(allauth.socialaccount.providers, ".provider", of_allauth),
        "social-auth-core": told(social_core.backends, "", of_social),
    }
    facts = {name: sorted({one for one in found if _whole(one)}) for name, found in said.items()}
    print(json.dumps(facts))
