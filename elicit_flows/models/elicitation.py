"""Elicitations: one question to one person. Only ``elicitations.transitions`` writes their status."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from elicit_flows.domain.status import ACTION, TERMINAL, Status
from elicit_flows.domain.values import MAX_ISSUER, MAX_SUBJECT, Claim, Json
from elicit_flows.lib import ids
from elicit_flows.lib.clock import now, rfc3339
from elicit_flows.models.agent import Agent

# Use this to find open elicitations, not the status: SQLite uses a partial index only for queries with exactly the
# condition that the index was made with.
UNFINISHED = models.Q(finished_at=None)
WHOLE = models.Q(parent=None)  # not a step of another elicitation


def kind_choices() -> list[tuple[str, Any]]:
    """A function, so that the words of a new kind make no migration."""
    return Elicitation.Kind.choices


class Elicitation(models.Model):
    class Kind(models.TextChoices):
        """The names of the kinds in the admin."""

        OAUTH = "oauth", pgettext_lazy("kind of request", "Connection")
        PAYMENT = "payment", pgettext_lazy("kind of request", "Payment")
        CREDENTIALS = "credentials", pgettext_lazy("kind of request", "Credentials")
        FORM = "form", pgettext_lazy("kind of request", "Form")
        CONFIRM = "confirm", pgettext_lazy("kind of request", "Confirmation")
        LINK = "link", pgettext_lazy("kind of request", "Link")
        X402 = "x402", pgettext_lazy("kind of request", "Payment by HTTP 402")
        STEPS = "steps", pgettext_lazy("kind of request", "Several steps")

    id = models.CharField(_("ID"), max_length=64, primary_key=True, default=partial(ids.name, "el"))
    agent = models.ForeignKey(Agent, models.CASCADE, verbose_name=_("agent"), db_index=False)  # the list begins with it
    # Set for a step of another elicitation, which is the one that the agent knows. Steps are done in order of place.
    parent = models.ForeignKey("self", models.CASCADE, null=True, related_name="steps", db_index=False)
    place = models.PositiveSmallIntegerField(db_default=0)
    kind = models.CharField(_("kind"), max_length=32, choices=kind_choices)
    status = models.CharField(_("status"), max_length=16, default=Status.PENDING)
    iss = models.CharField(_("issuer (iss)"), max_length=MAX_ISSUER)
    sub = models.CharField(_("user (sub)"), max_length=MAX_SUBJECT)
    message = models.TextField(_("message"))
    params = models.JSONField(_("parameters"), default=dict)
    result = models.JSONField(null=True)
    error = models.JSONField(_("error"), null=True)
    metadata = models.JSONField(default=dict)
    return_url = models.CharField(_("return URL"), max_length=2000, null=True)
    return_mode = models.CharField(max_length=8, default="auto", db_default="auto")  # auto or button
    locale = models.CharField(max_length=35, null=True)  # the language that the agent suggests for its pages
    reused = models.BooleanField(_("reused an earlier answer"), default=False)
    seq = models.PositiveIntegerField(_("number of changes"), default=1)
    idempotency_key = models.CharField(max_length=255, null=True)
    fingerprint = models.CharField(max_length=64, blank=True)
    created_at = models.DateTimeField(_("created at"), default=now)
    expires_at = models.DateTimeField(_("expires at"))
    settling_since = models.DateTimeField(_("processed since"), null=True)
    finished_at = models.DateTimeField(_("finished at"), null=True)
    consumed_at = models.DateTimeField(_("consumed at"), null=True)
    consumed_by = models.CharField(max_length=255, null=True)
    note = models.TextField(default="", db_default="")  # the agent's own, sealed
    trace = models.CharField(max_length=55, blank=True, default="", db_default="", editable=False)  # W3C traceparent

    class Meta:
        verbose_name = _("elicitation")
        verbose_name_plural = _("elicitations")
        permissions = [
            ("see_people", "Can see who the people are and what they were told"),
            ("export_rows", "Can take rows away as a file"),
            ("switch_rows", "Can switch agents, providers and payment accounts off and on"),
            ("end_sessions", "Can end the sessions of people"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["agent", "idempotency_key"], name="one_elicitation_per_idempotency_key"),
        ]
        indexes = [
            # the agent's list, newest first; one index for each filter, as a rare value would need a scan of the list
            models.Index(fields=["agent", "-created_at", "-id"], name="elicitation_list"),
            models.Index(fields=["agent", "status", "-created_at", "-id"], name="elicitation_status", condition=WHOLE),
            models.Index(fields=["agent", "kind", "-created_at", "-id"], name="elicitation_kind", condition=WHOLE),
            models.Index(
                fields=["agent", "kind", "status", "-created_at", "-id"],
                name="elicitation_kind_in",
                condition=WHOLE,
            ),
            models.Index(fields=["agent", "iss", "-created_at", "-id"], name="elicitation_issuer", condition=WHOLE),
            # "what needs me", and the cap on open questions to one person
            models.Index(fields=["iss", "sub", "expires_at", "agent"], name="elicitation_open", condition=UNFINISHED),
            # the sweep: what is open and overdue. Its condition is the sweep's own, so that no plan reads all that is
            # open to find one person's.
            models.Index(
                fields=["expires_at"], name="elicitation_overdue", condition=UNFINISHED & ~models.Q(kind="steps")
            ),
            models.Index(
                fields=["parent", "place"], name="elicitation_steps", condition=models.Q(parent__isnull=False)
            ),
            # operators search for one person, open or over
            models.Index(fields=["sub", "-created_at"], name="elicitation_person"),
            # the sweep: attempts that were abandoned while settling, and steps that nobody will reach
            models.Index(
                fields=["settling_since"],
                name="elicitation_stuck",
                condition=UNFINISHED & models.Q(settling_since__isnull=False),
            ),
            models.Index(
                fields=["parent"],
                name="elicitation_open_steps",
                condition=UNFINISHED & models.Q(parent__isnull=False),
            ),
            # the purge: what is over, oldest first, and the notes of what is
            models.Index(fields=["finished_at"], name="elicitation_purge"),
            models.Index(fields=["finished_at"], name="elicitation_notes", condition=~models.Q(note="")),
        ]

    def __str__(self) -> str:
        return self.id

    @property
    def claim(self) -> Claim:
        return Claim(self.iss, self.sub)

    @property
    def head(self) -> Elicitation:
        """The elicitation that the agent and the link name: this one, or the one that this is a step of."""
        return self.parent or self

    @property
    def over(self) -> bool:
        return self.status in TERMINAL

    @property
    def overdue(self) -> bool:
        """Whether it has expired without an answer. Settling does not expire: it ends by itself."""
        return self.status in (Status.PENDING, Status.STARTED) and self.expires_at <= now()

    @property
    def url(self) -> str:
        return f"{settings.ELICIT_PUBLIC_URL}/c/{self.id}"

    def reference(self) -> Json:
        """Id and state, for an event about a part of it."""
        return {"id": self.id, "object": "elicitation", "status": str(self.status), "seq": self.seq}

    def snapshot(self) -> Json:
        """The elicitation as the API returns it."""
        return {
            "id": self.id,
            "object": "elicitation",
            "kind": self.kind,
            "status": str(self.status),
            "action": ACTION.get(Status(self.status)),
            "url": self.url,
            "message": self.message,
            "subject": {"iss": self.iss, "sub": self.sub},
            "params": self.params,
            "result": self.result,
            "error": self.error,
            "reused": self.reused,
            "seq": self.seq,
            "created_at": rfc3339(self.created_at),
            "expires_at": rfc3339(self.expires_at),
            "finished_at": rfc3339(self.finished_at),
            "consumed_at": rfc3339(self.consumed_at),
            "return_url": self.return_url,
            "return": self.return_mode,
            "locale": self.locale,
            "metadata": self.metadata,
        }


class Attempt(models.Model):
    """One attempt to do what is asked, found by ``state_hash``.

    ``context`` is the plug-in that the user left for; ``stash`` is sealed by the vault. ``poll_at``: when the provider
    is asked next; while it is being asked, when another worker may take over.
    """

    elicitation = models.ForeignKey(Elicitation, models.CASCADE, related_name="attempts")
    state_hash = models.CharField(max_length=64, unique=True)
    browser_hash = models.CharField(max_length=64)
    press_hash = models.CharField(max_length=64, null=True)
    context = models.CharField(max_length=64, blank=True)
    provider = models.ForeignKey("Provider", models.SET_NULL, null=True, related_name="+")
    stash = models.TextField()
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)
    poll_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = _("attempt")
        verbose_name_plural = _("attempts")
        constraints = [
            # two presses of one rendered button are one attempt
            models.UniqueConstraint(fields=["elicitation", "press_hash"], name="one_attempt_per_press"),
        ]
        indexes = [
            models.Index(fields=["expires_at"], name="attempt_purge"),
            models.Index(
                fields=["poll_at"], name="attempt_poll", condition=models.Q(poll_at__isnull=False, used_at=None)
            ),
        ]


class Draft(models.Model):
    """The answer to one question of a form before it is submitted. ``answer`` is None if it was cleared.

    ``seq`` is the number of the last change (``elicitations.form_drafts``), so that a reader who has seen N can ask for
    what is newer. ``by`` is "person" or "agent", and ``page`` the random name of the page on which a person wrote it.
    """

    elicitation = models.ForeignKey(Elicitation, models.CASCADE, related_name="drafts", db_index=False)
    question = models.CharField(max_length=100)
    answer = models.JSONField(null=True)
    seq = models.PositiveIntegerField()
    by = models.CharField(max_length=8)
    page = models.CharField(max_length=32, default="")
    changed_at = models.DateTimeField(default=now)

    class Meta:
        verbose_name = _("draft")
        verbose_name_plural = _("drafts")
        constraints = [models.UniqueConstraint(fields=["elicitation", "question"], name="one_draft_per_question")]

    def __str__(self) -> str:
        return f"{self.question} of {self.elicitation_id}"

    def said(self) -> Json:
        """The draft as the API returns it: the answer's members, ``seq`` and ``by``; if cleared, the latter
        two only.
        """
        return {**(self.answer or {}), "seq": self.seq, "by": self.by}


class UserCode(models.Model):
    """A code to type in place of the link. It names the link and not the person, and opens no more than the
    link does.

    An agent's code is valid as long as the elicitation is open. A person's code, for another device of theirs, has
    ``expires_at`` and is deleted when it is typed.
    """

    class Maker(models.TextChoices):
        AGENT = "agent", _("Agent")
        PERSON = "person", _("Person")

    code = models.CharField(max_length=8, primary_key=True)
    elicitation = models.ForeignKey(Elicitation, models.CASCADE, related_name="user_codes", db_index=False)
    maker = models.CharField(max_length=8, choices=Maker, default=Maker.AGENT)
    expires_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = _("user code")
        verbose_name_plural = _("user codes")
        constraints = [models.UniqueConstraint(fields=["elicitation", "maker"], name="one_user_code_per_maker")]

    def __str__(self) -> str:
        return self.code
