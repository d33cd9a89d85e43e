"""Telling people of requests and charges: what the operator set, how they are reached, and each message."""

from __future__ import annotations

from functools import partial

from django.db import models
from django.db.models.functions import Coalesce
from django.utils.translation import gettext_lazy as _

from elicit_flows.domain.values import MAX_ISSUER, MAX_SUBJECT, Claim
from elicit_flows.lib import ids
from elicit_flows.lib.clock import now
from elicit_flows.models.agent import Agent
from elicit_flows.models.elicitation import Elicitation
from elicit_flows.models.mandate import MandateCharge

PER_PERSON, PER_AGENT = 6, 300


class Channel(models.TextChoices):
    EMAIL = "email", _("E-mail")
    CHAT = "chat", _("Chat")  # what apprise sends to
    WEBHOOK = "webhook", _("Webhook")
    PUSH = "push", _("Web push")


class NotificationSettings(models.Model):
    """What the operator offers: at most one row. Without it, nobody is told and nothing is kept for it.

    ``chat`` (a list of apprise URLs), ``webhook_secret`` and ``push_key`` (the private key of VAPID, a JWK) are sealed.
    ``push_hosts``: push services besides those of the usual browsers. ``per_person`` and ``per_agent``: of how many
    requests an hour one person is told, and one agent may have people told.
    """

    only = models.BooleanField(default=True, unique=True, editable=False)
    email = models.BooleanField(_("by e-mail"), default=False)
    chat = models.TextField(blank=True, editable=False)
    webhook_url = models.CharField(_("webhook URL"), max_length=1000, blank=True)
    webhook_secret = models.TextField(blank=True, editable=False)
    push = models.BooleanField(_("by web push"), default=False, db_default=False)
    push_hosts = models.JSONField(_("more push services"), default=list, db_default=[], blank=True)
    push_key = models.TextField(blank=True, editable=False, default="", db_default="")
    per_person = models.PositiveIntegerField(_("requests an hour for one person"), default=PER_PERSON)
    per_agent = models.PositiveIntegerField(_("requests an hour of one agent"), default=PER_AGENT)

    class Meta:
        verbose_name = _("notification settings")
        verbose_name_plural = _("notification settings")

    def __str__(self) -> str:
        return "notifications"

    @property
    def channels(self) -> tuple[Channel, ...]:
        """Those that the operator offers."""
        offered = {
            Channel.EMAIL: self.email,
            Channel.CHAT: self.chat,
            Channel.WEBHOOK: self.webhook_url,
            Channel.PUSH: self.push,
        }
        return tuple(channel for channel, on in offered.items() if on)

    @property
    def on(self) -> bool:
        """Whether people can be told at all."""
        return bool(self.channels)


class Recipient(models.Model):
    """A person in the operator's directory. ``email`` and ``chat`` (a list of apprise URLs) are sealed."""

    slug = models.SlugField(_("slug"), max_length=64, unique=True)
    iss = models.CharField(_("issuer (iss)"), max_length=MAX_ISSUER)
    sub = models.CharField(_("user (sub)"), max_length=MAX_SUBJECT)
    email = models.TextField(blank=True, editable=False)
    chat = models.TextField(blank=True, editable=False)

    class Meta:
        verbose_name = _("recipient")
        verbose_name_plural = _("recipients")
        constraints = [models.UniqueConstraint(fields=["iss", "sub"], name="one_recipient_per_person")]

    def __str__(self) -> str:
        return self.slug


class Contact(models.Model):
    """What the last sign-in of a person said. ``email`` is sealed, and "" if their identity provider verified none.

    ``language`` is that of the page on which they signed in.
    """

    iss = models.CharField(max_length=MAX_ISSUER)
    sub = models.CharField(max_length=MAX_SUBJECT)
    email = models.TextField(blank=True, editable=False)
    language = models.CharField(max_length=35, blank=True)
    seen_at = models.DateTimeField(default=now)

    class Meta:
        verbose_name = _("contact")
        verbose_name_plural = _("contacts")
        constraints = [models.UniqueConstraint(fields=["iss", "sub"], name="one_contact_per_person")]
        indexes = [models.Index(fields=["seen_at"], name="contact_purge")]

    def __str__(self) -> str:
        return str(self.pk)

    @property
    def claim(self) -> Claim:
        return Claim(self.iss, self.sub)


class PushSubscription(models.Model):
    """A browser in which a person wants to be told (the Push API's subscription).

    ``address`` is sealed: ``{endpoint, p256dh, auth}``, and whoever has it can show this person messages. ``name``: a
    digest of the endpoint, since one browser is one row, whoever is signed in there. ``browser`` and ``system``: as
    their names are shown in the list of sessions.
    """

    iss = models.CharField(max_length=MAX_ISSUER)
    sub = models.CharField(max_length=MAX_SUBJECT)
    name = models.CharField(max_length=64, unique=True)
    address = models.TextField(editable=False)
    browser = models.CharField(max_length=20, blank=True)
    system = models.CharField(max_length=20, blank=True)
    created_at = models.DateTimeField(default=now)

    class Meta:
        verbose_name = _("push subscription")
        verbose_name_plural = _("push subscriptions")
        indexes = [
            models.Index(fields=["iss", "sub"], name="push_of_person"),
            models.Index(fields=["created_at"], name="push_purge"),
        ]

    def __str__(self) -> str:
        return str(self.pk)


class OptOut(models.Model):
    """A person who does not want to be told of an agent's requests; ``agent`` None: of nobody's.

    ``person`` is a digest of their claim, which fits into the link of a message (``people.contacts``).
    """

    person = models.CharField(max_length=64)
    agent = models.ForeignKey(Agent, models.CASCADE, null=True)
    created_at = models.DateTimeField(default=now)

    class Meta:
        verbose_name = _("opt-out")
        verbose_name_plural = _("opt-outs")
        constraints = [models.UniqueConstraint("person", Coalesce("agent", 0), name="one_opt_out_each")]

    def __str__(self) -> str:
        return str(self.pk)


class Notification(models.Model):
    """One message by one channel, about one elicitation or about one charge under a mandate.

    ``next_at``: when it is due or, while a worker has it, when another one may take over; None when it is over.
    ``began_at`` is set before it is sent, and stays if it may have been: so it is never sent twice, and it counts
    toward the limits. ``outcome`` is "" until it is over.
    """

    class Outcome(models.TextChoices):
        SENT = "sent", _("Sent")
        OVER = "over", _("No longer needed")
        OFF = "off", _("Switched off")
        NO_ADDRESS = "no_address", _("No address")
        OPTED_OUT = "opted_out", _("Unsubscribed")
        LIMITED = "limited", _("Too many")
        REFUSED = "refused", _("Refused")  # for good, by the receiver
        FAILED = "failed", _("Failed")  # given up after the last try
        UNKNOWN = "unknown", _("Unknown")  # the connection broke off: it may have been sent

    id = models.CharField(_("ID"), max_length=64, primary_key=True, default=partial(ids.name, "nt"))
    elicitation = models.ForeignKey(
        Elicitation, models.CASCADE, related_name="notifications", db_index=False, null=True
    )
    charge = models.ForeignKey(
        MandateCharge, models.CASCADE, verbose_name=_("charge"), related_name="notifications", db_index=False, null=True
    )
    agent = models.ForeignKey(Agent, models.CASCADE, db_index=False)
    channel = models.CharField(_("channel"), max_length=16, choices=Channel)
    created_at = models.DateTimeField(_("created at"), default=now)
    next_at = models.DateTimeField(null=True, default=now)
    tries = models.PositiveIntegerField(_("tries"), default=0)
    began_at = models.DateTimeField(null=True)
    outcome = models.CharField(_("outcome"), max_length=16, choices=Outcome, blank=True)
    done_at = models.DateTimeField(_("done at"), null=True)

    class Meta:
        verbose_name = _("notification")
        verbose_name_plural = _("notifications")
        constraints = [
            models.UniqueConstraint(fields=["elicitation", "channel"], name="one_notification_per_channel"),
            models.UniqueConstraint(fields=["charge", "channel"], name="one_notification_per_charge"),
            models.CheckConstraint(
                condition=models.Q(elicitation__isnull=False, charge__isnull=True)
                | models.Q(elicitation__isnull=True, charge__isnull=False),
                name="about_one_thing",
            ),
        ]
        indexes = [
            models.Index(
                fields=["channel", "next_at"],
                name="notification_due",
                condition=models.Q(next_at__isnull=False),
            ),
            models.Index(fields=["agent", "began_at"], name="notification_count"),
            # Those about charges, which are kept for longer than they are.
            models.Index(
                fields=["created_at"], name="notification_purge", condition=models.Q(elicitation__isnull=True)
            ),
        ]

    def __str__(self) -> str:
        return self.id

    @property
    def claim(self) -> Claim:
        """The person's."""
        about = self.charge.mandate if self.charge else self.elicitation
        return about.claim  # type: ignore[union-attr]  # about_one_thing says it is there
