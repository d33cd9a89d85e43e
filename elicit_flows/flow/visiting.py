"""look, resume, submit: the person the link was made for comes and returns, or answers on our page."""

from __future__ import annotations

import hmac
from dataclasses import dataclass, field

from django.db import transaction

from elicit_flows import kinds, vault
from elicit_flows.errors import BadCallback, BadRequest, Over, StartAgain, TooMany, WrongUser
from elicit_flows.flow import windows
from elicit_flows.flow.ending import finish
from elicit_flows.flow.moving import check_agent, config_of, current, find, mine, move, refuse, traced, visit_of
from elicit_flows.lib import clock, ids
from elicit_flows.lib.limits import hit
from elicit_flows.models import Attempt, Elicitation
from elicit_flows.states import OPEN, Status
from elicit_flows.values import Answer, Claim, Json

TRIES = 20  # a minute to answer one page: what is typed may be tried at somebody else's server


@dataclass(frozen=True, slots=True)
class Step:
    """One of several things that are asked for, as a page lists it."""

    title: str
    done: bool
    here: bool


@dataclass(frozen=True, slots=True)
class Change:
    """The account that came and the one that was to be connected again, by their names; "" where there is none, and
    ``meant`` None where no other was meant. ``held`` names what waits for the choice.
    """

    held: str
    came: str
    meant: str | None


@dataclass(frozen=True, slots=True)
class View:
    """What the connect page may show to the right user. ``steps``: the titles of all of them, done or not. ``change``:
    what they have to choose first.
    """

    elicitation: Elicitation
    status: Status
    what: Json = field(default_factory=dict)
    leaves: bool = False  # whether its button leads elsewhere, or the page itself is answered
    shared: windows.Shared | None = None
    steps: tuple[Step, ...] = ()
    change: Change | None = None


def look(elicitation_id: str, claim: Claim) -> View:
    """What is asked and how it stands; of several steps, the current one. Raises NotFound, WrongUser.

    Writes nothing, whoever asks.
    """
    whole = find(elicitation_id)
    if whole.claim != claim:
        raise WrongUser(elicitation=whole.pk)
    row = whole if whole.over else current(whole)
    status = Status.EXPIRED if row.overdue else Status(row.status)
    if status not in OPEN:
        return View(row, status)
    kind = kinds.get(row.kind)
    what = kind.describe(row.params, config_of(row))
    if meant := vault.reconnecting(row):
        what["again"] = meant.account_label
    return View(row, status, what, kind.leaves, windows.shared(row), _steps(row), _change(row))


def _change(row: Elicitation) -> Change | None:
    held = vault.held(row) if row.status == Status.STARTED and row.kind == "oauth" else None
    if held is None:
        return None
    return Change(held.pk, held.account_label, held.connection.account_label if held.connection else None)


def _steps(row: Elicitation) -> tuple[Step, ...]:
    if row.parent is None:
        return ()
    steps = row.parent.steps.order_by("place").select_related("agent")
    return tuple(Step(_title(one), one.status == Status.COMPLETED, one.pk == row.pk) for one in steps)


def _title(row: Elicitation) -> str:
    title: str = kinds.get(row.kind).describe(row.params, config_of(row))["title"]
    return title


def submit(elicitation_id: str, claim: Claim, answer: Answer) -> Elicitation:
    """Take what the right user sent from our own page. Of two that send at once one is taken.

    Raises NotFound, WrongUser, Over, StartAgain, BadRequest, TooMany, and Invalid for what they can put right.
    """
    row = mine(elicitation_id, claim)
    if not hit(f"submit:{row.pk}", TRIES, 60):
        raise TooMany("This was sent too often.", retry_after=60, elicitation=row.pk)
    kind = kinds.get(row.kind)
    if kind.leaves:
        raise BadRequest("This is not answered on our page.", elicitation=row.pk)
    windows.check_asked(row, answer)
    visit = visit_of(row)
    kind.check_answer(visit, answer)
    if _settle(row, answer):
        with traced("submit", row):
            finish(row, kind.resume(visit, answer))
    return row


def _settle(row: Elicitation, answer: Answer) -> bool:
    with transaction.atomic():
        windows.check_unchanged(row, answer)
        move(row, Status.STARTED, only=[Status.PENDING])
        return move(row, Status.SETTLING, only=[Status.STARTED], settling_since=clock.now())


def resume(context: str, answer: Answer, claim: Claim | None, browser: str | None) -> Elicitation:
    """Take the answer that a browser brought to the callback of ``context``.

    Raises BadCallback, WrongUser, Over, StartAgain; an answer that was taken already just returns the elicitation.
    """
    attempt = _attempt(context, answer, claim, browser)
    row = attempt.elicitation
    if attempt.used_at and (row.over or row.status == Status.SETTLING):
        return row
    if row.over or row.overdue:
        raise Over(elicitation=row.pk)
    if attempt.used_at:
        raise StartAgain("This way back was used already. Start again from the link.", elicitation=row.pk)
    if attempt.expires_at <= clock.now():
        raise BadCallback("This took longer than ten minutes. Start again from the link.", elicitation=row.pk)
    check_agent(row)
    visit = visit_of(row, stash=vault.open_stash(attempt.stash, attempt.state_hash)["kind"])
    kind = kinds.get(row.kind)
    kind.check_answer(visit, answer)
    if _claim_attempt(attempt, row):
        with traced("resume", row):
            finish(row, kind.resume(visit, answer))
    return row


def _attempt(context: str, answer: Answer, claim: Claim | None, browser: str | None) -> Attempt:
    """The attempt that this state names, if this browser, this person and this callback are the ones that began it."""
    state = answer.one("state") or ""
    attempt = None
    if 0 < len(state) <= 256:
        found = Attempt.objects.select_related("elicitation__agent")
        attempt = found.filter(state_hash=ids.digest(state), context=context).first()
    if attempt is None or claim is None or browser is None:
        raise BadCallback("This answer was not asked for by this browser. Open the link again.")
    if attempt.elicitation.claim != claim:
        refuse(attempt.elicitation, "callback")
        raise WrongUser(elicitation=attempt.elicitation_id)
    if not hmac.compare_digest(attempt.browser_hash, ids.digest(browser)):
        raise BadCallback("This answer was not asked for by this browser. Open the link again.")
    return attempt


def _claim_attempt(attempt: Attempt, row: Elicitation) -> bool:
    """Use the state, once: of twenty callbacks one goes on."""
    with transaction.atomic():
        used = Attempt.objects.filter(pk=attempt.pk, used_at=None).update(used_at=clock.now())
        if not used:
            return False
        return move(row, Status.SETTLING, only=[Status.STARTED], settling_since=clock.now())
