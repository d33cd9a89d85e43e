"""People, as operators find them. An address never names a person: it names a row that is theirs."""

from __future__ import annotations

from django.conf import settings
from django.urls import reverse

from elicit_flows.domain.values import Claim
from elicit_flows.models import Authorization, Connection, Elicitation, Mandate, Member, Payment, Subscription
from elicit_flows.people import local_accounts

MAX_FOUND = 20
_MEMBER = "member-"
Searched = Elicitation | Connection | Payment
Row = Searched | Subscription | Mandate | Authorization
# People are searched for by these rows alone, which have an index for it.
_SEARCHED: dict[str, type[Searched]] = {"el_": Elicitation, "cn_": Connection, "pa_": Payment}
_ROWS: dict[str, type[Row]] = {**_SEARCHED, "su_": Subscription, "ma_": Mandate, "xa_": Authorization}


def url_of(reference: str) -> str:
    return reverse("admin:person", args=[reference])


def row_of(reference: str) -> Row | Member | None:
    """The row that the reference names."""
    model = _ROWS.get(reference[:3])
    if model is not None:
        return model._default_manager.filter(pk=reference).only("pk", "iss", "sub").first()
    number = reference.removeprefix(_MEMBER)
    known = reference != number and number.isdecimal() and len(number) < 10
    return Member.objects.filter(pk=int(number)).first() if known else None


def claim_of(row: Row | Member) -> Claim:
    """Whose row it is."""
    return Claim(settings.ELICIT_PUBLIC_URL, row.sub) if isinstance(row, Member) else Claim(row.iss, row.sub)


def reference_to(claim: Claim) -> str | None:
    """The name of a row of this person, for an address; None if there is none."""
    for model in _SEARCHED.values():
        rows = model._default_manager.filter(iss=claim.iss, sub=claim.sub)
        found = rows.order_by("-created_at").values_list("pk", flat=True).first()
        if found:
            return str(found)
    member = local_accounts.of(claim)
    return f"{_MEMBER}{member.pk}" if member else None


def find(wanted: str) -> list[Claim]:
    """By the exact ``sub``, by ``iss`` and ``sub`` with a space between them, or by the name of an account that they
    connected, which often is an e-mail address.
    """
    iss, space, sub = wanted.partition(" ")  # an issuer has no spaces, and a sub may have some
    who = {"iss": iss, "sub": sub.lstrip()} if space and iss.startswith("http") else {"sub": wanted}
    if not wanted:
        return []
    claims: list[Claim] = []
    places: list[tuple[type[Searched], dict[str, str]]] = [(model, who) for model in _SEARCHED.values()]
    for model, columns in [*places, (Connection, {"account_label": wanted})]:
        found = model._default_manager.filter(**columns).order_by("iss", "sub").values_list("iss", "sub").distinct()
        claims += [Claim(iss, sub) for iss, sub in found[:MAX_FOUND]]
    own = settings.ELICIT_PUBLIC_URL
    if who.get("iss", own) == own and Member.objects.filter(sub=who["sub"]).exists():
        claims.append(Claim(own, who["sub"]))
    return list(dict.fromkeys(claims))[:MAX_FOUND]
