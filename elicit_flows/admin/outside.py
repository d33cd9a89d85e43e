"""What providers do to us, of the notices on the front page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from elicit_flows import tallies, vault
from elicit_flows.admin.links import list_of, page_of
from elicit_flows.admin.notice import Notice
from elicit_flows.lib import clock
from elicit_flows.models import IdentityProvider, PaymentAccount, Provider

MANY = 5  # failures of a provider in an hour or two: fewer happen


def silent() -> Iterator[Notice]:
    """Those that did not answer."""
    since = clock.now() - timedelta(hours=1)
    failed: Counter[str] = Counter()
    for by_labels in tallies.since("provider_errors", since).values():
        for (slug, _step), one in by_labels.items():
            failed[slug] += one.count
    sorts = (PaymentAccount, IdentityProvider, Provider)  # of two with one slug the last is meant most often
    rows = {row.slug: row for sort in sorts for row in sort._default_manager.filter(slug__in=failed)}
    for slug, count in failed.most_common(20):
        row = rows.get(slug)
        if row is not None and row.enabled:
            said = ngettext("It failed %(count)d time since %(at)s UTC.", "It failed %(count)d times since %(at)s UTC.",
                            count) % {"count": count, "at": f"{since:%H}:00"}  # fmt: skip
            title = _("%(name)s does not answer") % {"name": getattr(row, "name", slug)}
            waiting = _waiting(row) if isinstance(row, Provider) else ()
            yield Notice(title, f"{said} {_MEANWHILE[type(row)]}", (*_links(row), *waiting), grave=count >= MANY)


_MEANWHILE: dict[type[Provider | IdentityProvider | PaymentAccount], Any] = {
    Provider: gettext_lazy(
        "Tokens that still live are given out, people are told to try again, and all goes on by itself when it is "
        "back. If it stays away, switch it off: agents hear at once that they cannot ask for it, and nobody is sent "
        "there."
    ),
    IdentityProvider: gettext_lazy(
        "Its people cannot sign in; whoever is signed in goes on. Links stay good until their time is up."
    ),
    PaymentAccount: gettext_lazy(
        "People are told to try again. What was paid meanwhile is asked for again until the provider answers: no money "
        "is lost, and none taken twice."
    ),
}


def _links(row: Provider | IdentityProvider | PaymentAccount) -> tuple[tuple[str, str], ...]:
    return (
        (_("Its settings"), page_of(row)),
        (_("Switch it off…"), page_of(row, "switch")),
    )


def _waiting(row: Provider) -> tuple[tuple[str, str], ...]:
    rows = list_of(vault.Connection, provider__id__exact=row.pk, refresh="waits")
    return ((_("The connections that wait for it"), rows),)


def switched_off() -> Iterator[Notice]:
    """Whoever did it in the night may not be there in the morning."""
    for row in Provider.objects.filter(enabled=False).order_by("name")[:20]:
        yield Notice(
            _("%(name)s is switched off") % {"name": row.name},
            _("No agent can ask for it, and none of its tokens is given out. The connections stay."),
            ((_("Switch it on…"), page_of(row, "switch")),),
            grave=False,
        )


def _refreshes(outcome: str, within: timedelta) -> Counter[str]:
    """How many refreshes ended so, by the provider's slug."""
    found: Counter[str] = Counter()
    for by_labels in tallies.since("refreshes", clock.now() - within).values():
        for (slug, ended), one in by_labels.items():
            found[slug] += one.count if ended == outcome else 0
    return +found


def refusing() -> Iterator[Notice]:
    """Those that we can mend."""
    refused = _refreshes("refused", timedelta(hours=1))
    for row in Provider.objects.filter(slug__in=refused, enabled=True)[:20]:
        yield Notice(
            _("%(name)s refuses us") % {"name": row.name},
            _("It answers refreshes with an error that is yours to mend, there or here, such as invalid_client: was "
              "its client secret changed? The connections say which error under “Last refresh error”. None is lost."),
            (*_links(row),
             (_("Its connections"), list_of(vault.Connection, provider__id__exact=row.pk))),
        )  # fmt: skip


def ended_grants() -> Iterator[Notice]:
    dead = _refreshes("dead", timedelta(days=1))
    for row in Provider.objects.filter(slug__in=dead)[:20]:
        yield Notice(
            _("%(provider)s ended grants: %(count)d in a day") % {"provider": row.name, "count": dead[row.slug]},
            _("Their agents were told to ask again. Many at once: look whether the client or its secret was changed."),
            ((_("These connections"),
              list_of(vault.Connection, status__exact="reauthorization_required", provider__id__exact=row.pk)),),
            grave=False,
        )  # fmt: skip
