"""What a page shows of the operator's brand: the installation's, with what the asking agent's own replaces.

It is cached for a second, so that not every page reads it from the database.
"""

from __future__ import annotations

import base64
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.db import Error
from django.utils.translation import get_language_info

from elicit_flows.brands import theme
from elicit_flows.lib.compiled_query import CompiledQuery
from elicit_flows.lib.locales import language_of
from elicit_flows.lib.ttl_cache import TtlCache
from elicit_flows.models import Agent, Brand, Picture, Provider

PICTURES = ("logo", "logo_dark", "icon")
LINKS = ("support_url", "support_email", "privacy_url", "terms_url")
MOST_INLINE = 2048  # bytes
TEXTS = ("signin_intro", "consent_footer", "done")


@dataclass(frozen=True, slots=True)
class PageImage:
    """A picture on a page."""

    address: str
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class PageText:
    """A text of the operator's, and the language that it is in."""

    text: str
    language: str
    right_to_left: bool


@dataclass(frozen=True, slots=True)
class PageBrand:
    """``style_url`` is "" if the pages have our own colours."""

    name: str
    legal_name: str = ""
    logo: PageImage | None = None
    logo_dark: PageImage | None = None
    icon: PageImage | None = None
    style_url: str = ""
    support_url: str = ""
    support_email: str = ""
    privacy_url: str = ""
    terms_url: str = ""
    secured_by: bool = False
    said: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def texts(self) -> dict[str, PageText]:
        """The operator's texts in the language of the page, or else in the service's own, or in the first there is."""
        found = {}
        for name, by_language in self.said.items():
            if language := language_of(by_language):
                found[name] = PageText(by_language[language], language, bool(get_language_info(language)["bidi"]))
        return found


@dataclass(frozen=True, slots=True)
class AgentCard:
    """What the operator has told of an agent, for the page on which it asks. ``pictures``: its own, the provider's."""

    pictures: tuple[PageImage, ...]
    site: str
    description: str


# By the agent's primary key, None for the installation.
_remembered: TtlCache[int | None, PageBrand] = TtlCache(1.0, most=1000)


def of(agent_id: int | None = None) -> PageBrand:
    """The brand on the pages of this agent's requests; without an agent, on all others."""
    found = _remembered.get(agent_id)
    if found is None:
        wanted = Brand.objects.select_related(*PICTURES).defer(*(f"{name}__content" for name in PICTURES))
        try:
            rows = list(wanted.filter(agent=None))
            if agent_id is not None:
                rows = [*wanted.filter(agent_id=agent_id), *rows]
        except Error:  # the page itself says that the service is not available
            return PageBrand(settings.SERVICE_NAME)
        found = made_of(rows)
        _remembered.put(agent_id, found)
    return found


# For each page of a link that leads to a provider.
_WITH_LOGO = CompiledQuery(lambda slug: Provider.objects.select_related("logo").filter(slug=slug), "slug")


def agent_card(agent: Agent, provider: str) -> AgentCard:
    """``provider``: the slug of the one that is to be connected, or ""."""
    row = _WITH_LOGO.first(provider) if provider else None
    found = (inline_image(agent.logo), inline_image(row.logo if row else None))
    return AgentCard(tuple(one for one in found if one), agent.site, agent.description)


def inline_image(picture: Picture | None) -> PageImage | None:
    """A picture on a page that has others: in the page itself if it is small, which spares a request."""
    if picture is None:
        return None
    content = bytes(picture.content)
    if len(content) > MOST_INLINE:
        return _image(picture)
    encoded = base64.b64encode(content).decode()
    return PageImage(f"data:{picture.media_type};base64,{encoded}", picture.width, picture.height)


def logos(providers: Collection[int], agents: Collection[int]) -> tuple[dict[int, PageImage], dict[int, PageImage]]:
    """The pictures of those that have one, by primary key."""
    found = []
    for model, keys in ((Provider, providers), (Agent, agents)):
        rows = model._default_manager.select_related("logo").filter(pk__in=keys).exclude(logo=None)
        found.append({row.pk: image for row in rows if (image := inline_image(row.logo))})
    return found[0], found[1]


def forget() -> None:
    """Clear the cache, after a change in this process."""
    _remembered.clear()


def made_of(rows: list[Brand]) -> PageBrand:
    """``rows``: the agent's own, if there is one, and then the installation's."""

    def first(name: str) -> Any:
        return next((value for row in rows if (value := getattr(row, name))), None)

    # A colour or a logo of the agent's own does not mix with the installation's for the other scheme.
    colour = next((row for row in rows if row.brand or row.brand_dark), Brand())
    logo = next((row for row in rows if row.logo), Brand())
    name = theme.sheet_name(colour.brand, colour.brand_dark, first("radius") or "", first("font") or "")
    texts = {key: rows[-1].texts.get(key, {}) | rows[0].texts.get(key, {}) for key in TEXTS} if rows else {}
    called = first("name")
    return PageBrand(
        name=called or settings.SERVICE_NAME,
        legal_name=first("legal_name") or "",
        logo=_image(logo.logo),
        logo_dark=_image(logo.logo_dark),
        icon=_image(first("icon")),
        style_url=f"/brand/style/{name}/{theme.sheet_digest(name)}.css" if name else "",
        # Where the service has its own name, nothing has to say so again.
        secured_by=bool(called) and not any(row.hide_secured_by for row in rows),
        said={key: said for key, said in texts.items() if said},
        **{link: first(link) or "" for link in LINKS},
    )


def _image(picture: Picture | None) -> PageImage | None:
    return PageImage(picture.address, picture.width, picture.height) if picture else None
