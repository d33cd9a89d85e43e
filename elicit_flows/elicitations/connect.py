"""look: what the connect page shows. begin: the right user presses the button and leaves for the provider.

Some kinds must call another server before the user can leave. The steps are then claim, act, record: the attempt is
committed, the server is called, and its answer is stored: the address to send the browser to, or what our page shows if
the browser stays. If a press of the button is interrupted in between, the next one continues there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import cast

from django.db import IntegrityError, transaction
from django.utils.translation import get_language

from elicit_flows import kinds, vault
from elicit_flows.domain.errors import (
    BadRequest,
    ClientUnknown,
    Over,
    ProviderUnavailable,
    StartAgain,
    TooMany,
    WrongUser,
)
from elicit_flows.domain.status import OPEN, Status
from elicit_flows.domain.values import Claim, Json, Leave
from elicit_flows.elicitations import form_drafts, managed, mcp_servers, payment, price_change, variables
from elicit_flows.elicitations.transitions import (
    callback_name,
    config_of,
    current_step,
    find,
    find_for,
    forget_client,
    move,
    provider_failed,
    provider_of,
    redirect_uri,
    traced,
    visit_of,
)
from elicit_flows.kinds.base import RedirectingKind
from elicit_flows.lib import clock, ids, locales
from elicit_flows.lib.compiled_query import CompiledQuery
from elicit_flows.lib.sentences import sentences
from elicit_flows.models import Attempt, Elicitation, Provider

ATTEMPT_LIFE = timedelta(minutes=10)
# How long several presses of one button share a pushed request. Its reference is good once, and at some providers for
# half a minute, but a browser that went back may show the same button much later.
PUSHED_LIFE = timedelta(seconds=10)
MOST_ATTEMPTS = 20  # of one elicitation within ATTEMPT_LIFE: each is a row, and may be a call to the provider


@dataclass(frozen=True, slots=True)
class Step:
    """One step of an elicitation, as the page lists it. ``here``: it is the current one."""

    title: str
    done: bool
    here: bool


@dataclass(frozen=True, slots=True)
class Given:
    """What the form of the connect page says: what was typed of the provider's addresses, the host that the page
    showed, and what stands for all that it showed of a remote MCP server (``seen`` of what the kind describes).
    """

    typed: Mapping[str, str] = field(default_factory=dict)
    host: str = ""
    seen: str = ""


@dataclass(frozen=True, slots=True)
class UnnamedConnection:
    """An earlier connection whose account has no name. ``meant``: it is the one that was to be connected again."""

    id: str
    made: datetime
    meant: bool


@dataclass(frozen=True, slots=True)
class Change:
    """The choice between accounts that the page offers.

    ``came`` and ``meant``: the names of the account that the provider returned and of the one that was to be connected
    again; "" if it has no name; ``meant`` is None if no other was expected. ``held``: the id of the grant that waits.
    ``earlier``: connections that may belong to the returned account, because the provider did not name theirs.
    ``only_one``: there can be one connection, so this one cannot be beside the earlier one.
    """

    held: str
    came: str
    meant: str | None
    earlier: tuple[UnnamedConnection, ...] = ()
    only_one: bool = False


@dataclass(frozen=True, slots=True)
class View:
    """What the connect page may show to the right user. ``steps``: all steps, done or not. ``change``: the choice that
    they have to make first.
    """

    elicitation: Elicitation
    status: Status
    what: Json = field(default_factory=dict)
    leaves: bool = False  # whether the button leads to another site; if not, the page itself has the form
    shared: form_drafts.PageDraft | None = None
    steps: tuple[Step, ...] = ()
    change: Change | None = None


def look(elicitation_id: str, claim: Claim, typed: Mapping[str, str] | None = None) -> View:
    """What is asked, and its status; if it has steps, those of the current step. Raises NotFound, WrongUser.

    ``typed``: what the person has typed of the provider's addresses. Writes nothing.
    """
    whole = find(elicitation_id)
    if whole.claim != claim:
        raise WrongUser(elicitation=whole.pk)
    row = whole if whole.over else current_step(whole)
    status = Status.EXPIRED if row.overdue else Status(row.status)
    if status not in OPEN:
        return View(row, status)
    kind = kinds.get(row.kind)
    provider = provider_of(row)
    values = variables.known(row, provider) if typed is None else typed
    what = kind.describe(row.params, config_of(row, provider and vault.for_person(provider, values)))
    what["variables"] = variables.asked(provider, values)
    what["managed"] = typed is None and managed.offered(row)
    if what["managed"]:
        what["host"] = what["host_warning"] = ""
    if "changes" in row.params:
        what["change"] = price_change.shown(row)
    if meant := vault.connection_to_renew(row):
        what["again"], what["again_since"] = meant.account_label, meant.created_at
    steps = row.parent.steps.order_by("place").select_related("agent") if row.parent else ()
    listed = []
    for one in steps:
        title = kinds.get(one.kind).describe(one.params, config_of(one, provider_of(one)))["title"]
        listed.append(Step(title, one.status == Status.COMPLETED, one == row))
    return View(row, status, what, kind.leaves, form_drafts.page_draft(row), tuple(listed), _change(row))


def _change(row: Elicitation) -> Change | None:
    held = vault.pending_grant(row) if row.status == Status.STARTED and row.kind == "oauth" else None
    if held is None:
        return None
    provider, meant = provider_of(row), held.connection
    both_named = bool(meant and meant.account_id and held.account_id)
    there = vault.live_connections(row.agent, row.claim, provider) if provider and not both_named else []
    rows = vault.possible_accounts(there, held.account_id)
    named = row.params.get("connection")
    earlier = tuple(UnnamedConnection(one.pk, one.created_at, one.pk == named) for one in rows)
    only_one = bool(provider and provider.mcp)
    return Change(held.pk, held.account_label, meant.account_label if meant else None, earlier, only_one)


def begin(elicitation_id: str, claim: Claim, browser: str, press: str | None, given: Given | None = None) -> str | None:
    """Start an attempt. Returns the address to send the browser to, or None if our own page says how to continue: the
    elicitation is settling, a payment is under way, or the person continues on any device.

    ``browser`` is the session's own secret. ``press`` identifies one rendered button, so that pressing it twice is one
    attempt. ``given``: what the form says of the provider's addresses. Raises NotFound, WrongUser, Over, StartAgain,
    BadRequest, TooMany, ProviderUnavailable, Invalid for what was typed, NotShownYet and SignInAgain.
    """
    row = find_for(elicitation_id, claim)
    if row.status == Status.SETTLING:
        return None
    if not kinds.get(row.kind).leaves:
        raise BadRequest("This is answered on its own page.", elicitation=row.pk)
    try:
        with traced("begin", row):
            if "changes" in row.params:
                price_change.change_price(row)
                return None
            if kinds.get(row.kind).takes_money:
                return payment.open_checkout(row)
            if managed.connect_by_button(row, (given or Given()).host):
                return None
            attempt = _pressed(row, browser, press) or _left(row, browser, press, given or Given())
            stash = vault.open_stash(attempt.stash, attempt.state_hash) if attempt else {"url": ""}
            if attempt and (stash.get("hand_over") or _is_used_up(stash)):
                stash = _handed_over(row, attempt, stash)
            return stash["url"] or None
    except ProviderUnavailable as error:
        provider_failed(row, "begin")
        error.elicitation = row.pk  # the kind does not know it; the error page links back to it
        raise


# For each press of a button.
_PRESSED = CompiledQuery(
    lambda row, press, browser: Attempt.objects.filter(elicitation=row, press_hash=press, browser_hash=browser),
    "el",
    "press",
    "browser",
)
_LOCKED = CompiledQuery(lambda pk: Elicitation.objects.select_for_update().filter(pk=pk), "el")


def _pressed(row: Elicitation, browser: str, press: str | None) -> Attempt | None:
    """The attempt of an earlier press of the same button, if it is still valid."""
    if not press:
        return None
    attempt = _PRESSED.first(row.pk, ids.digest(press), ids.digest(browser))
    if attempt is None or attempt.used_at or attempt.expires_at <= clock.now():
        return None
    return attempt


def _left(row: Elicitation, browser: str, press: str | None, given: Given) -> Attempt | None:
    mcp, state = bool(row.params.get("mcp")), ids.token()
    provider = mcp_servers.found(row) if mcp else provider_of(row)
    named: dict[str, str] = {}
    if provider and (mcp or provider.open_variables()):
        if not mcp:
            named = variables.checked(provider, given.typed)
        there = kinds.get(row.kind).describe(row.params, config_of(row, vault.for_person(provider, named)))
        # The page has to show first where that leads now, and which scopes it is for.
        if (there["host"], there["seen"]) != (given.host, given.seen):
            raise variables.NotShownYet
    if provider:
        vault.register_client(provider, redirect_uri(row, provider))
    language = locales.tag(get_language() or "en")
    leave = kinds.get(row.kind).begin(visit_of(row, provider, state, language=language, named=named))
    try:
        with transaction.atomic():
            return _open_attempt(row, browser, press, state, leave, provider)
    except IntegrityError:  # the other press of the same button was quicker
        return _pressed(row, browser, press)


def _open_attempt(
    row: Elicitation, browser: str, press: str | None, state: str, leave: Leave, provider: Provider | None
) -> Attempt:
    """Create an attempt, and end the earlier ones. If the provider has to be called first, the status changes later."""
    now, state_hash = clock.now(), ids.digest(state)
    stash = {"url": leave.url, "kind": leave.stash, "hand_over": leave.hand_over}
    locked = _LOCKED.get(row.pk)
    if locked.over:
        raise Over(elicitation=row.pk)
    _check_number(row, now)
    row.attempts.filter(used_at=None).update(used_at=now)
    attempt = Attempt.objects.create(
        elicitation=row,
        state_hash=state_hash,
        browser_hash=ids.digest(browser),
        press_hash=ids.digest(press) if press else None,
        context=callback_name(row, provider),
        provider=provider,
        stash=vault.seal_stash(stash, state_hash),
        created_at=now,
        expires_at=min(now + ATTEMPT_LIFE, row.expires_at),
    )
    if locked.status == Status.PENDING and not leave.hand_over:
        move(row, Status.STARTED)
    return attempt


def _check_number(row: Elicitation, now: datetime) -> None:
    """Raises TooMany if there were MOST_ATTEMPTS attempts within ATTEMPT_LIFE."""
    recent = row.attempts.filter(created_at__gt=now - ATTEMPT_LIFE).order_by("-created_at")
    times = recent.values_list("created_at", flat=True)[:MOST_ATTEMPTS]
    if len(times) == MOST_ATTEMPTS:
        left = math.ceil((min(times) + ATTEMPT_LIFE - now).total_seconds())
        detail = sentences(
            "This was begun too often within ten minutes. Open your link again in a minute.",
            "This was begun too often within ten minutes. Open your link again in %(count)s minutes.",
            math.ceil(left / 60),
        )
        raise TooMany(detail, retry_after=left, elicitation=row.pk)


def _is_used_up(stash: Json) -> bool:
    """Whether the request was pushed so long ago that it has to be pushed again."""
    return "pushed_at" in stash and datetime.fromisoformat(stash["pushed_at"]) + PUSHED_LIFE <= clock.now()


def _handed_over(row: Elicitation, attempt: Attempt, stash: Json) -> Json:
    """Call the provider and store its answer. If two presses do so at once, the first stored answer counts for both."""
    kind = cast(RedirectingKind, kinds.get(row.kind))
    url: str = stash["request"] if "request" in stash else stash["url"]
    try:
        step = kind.hand_over(visit_of(row, provider_of(row), stash=stash["kind"]), url)
    except ClientUnknown:
        forget_client(row)
        raise
    # What the attempt remembers now, and the columns that change with it.
    made: Json
    fields: Json
    if isinstance(step, str):
        made, fields = {"url": step, "kind": stash["kind"], "request": url, "pushed_at": clock.now().isoformat()}, {}
    elif isinstance(step, Leave):
        made, fields = {"url": step.url, "kind": step.stash}, {}
    else:
        now = clock.now()
        made = {"url": "", "kind": step.stash, "shown": step.shown}
        ends = min(now + timedelta(seconds=step.life), row.expires_at)
        fields = {"expires_at": ends, "poll_at": now + timedelta(seconds=step.seconds)}
    sealed = vault.seal_stash(made, attempt.state_hash)
    with transaction.atomic():
        locked = Elicitation.objects.select_for_update().get(pk=row.pk)
        if locked.over:
            raise Over(elicitation=row.pk)
        unasked = Attempt.objects.filter(pk=attempt.pk, used_at=None, stash=attempt.stash)
        if not unasked.update(stash=sealed, **fields):
            # Use what the other press has stored.
            attempt.refresh_from_db()
            stash = vault.open_stash(attempt.stash, attempt.state_hash)
            if attempt.used_at or stash.get("hand_over"):
                raise StartAgain("The button was already pressed.", elicitation=row.pk)
            return stash
        if locked.status == Status.PENDING:
            move(row, Status.STARTED)
    return made
