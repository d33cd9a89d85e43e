"""People whom this service signs in itself (passkeys), single-use assertions, sign-outs and erasures."""

from __future__ import annotations

from functools import partial

from django.contrib.sessions.models import Session
from django.db import models
from django.utils.translation import gettext_lazy as _

from elicit_flows.domain.values import MAX_ISSUER, MAX_SUBJECT, Claim, Json
from elicit_flows.lib import clock, ids
from elicit_flows.lib.clock import now, rfc3339
from elicit_flows.models.provider import IdentityProvider


class Member(models.Model):
    """A local account. ``sub`` is random and never changes; the name is for people."""

    sub = models.CharField(_("user (sub)"), max_length=64, unique=True, default=partial(ids.name, "us"), editable=False)
    name = models.CharField(_("name"), max_length=100)
    enabled = models.BooleanField(_("enabled"), default=True)
    created_at = models.DateTimeField(_("created at"), default=clock.now, editable=False)

    class Meta:
        verbose_name = _("person")
        verbose_name_plural = _("people")

    def __str__(self) -> str:
        return self.name


class Passkey(models.Model):
    """Its id (base64url) and public key (COSE, base64url) are not secret; the private key never leaves its device."""

    member = models.ForeignKey(Member, models.CASCADE, related_name="passkeys")
    credential_id = models.CharField(max_length=1400)
    credential_hash = models.CharField(max_length=64, unique=True)
    public_key = models.TextField()
    sign_count = models.BigIntegerField(default=0)
    backed_up = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=clock.now)
    last_used_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = _("passkey")
        verbose_name_plural = _("passkeys")

    def __str__(self) -> str:
        return f"{self.member_id}/{self.pk}"


class Invitation(models.Model):
    """Lets one person add one passkey. The token is in a link, and stored as a hash."""

    member = models.ForeignKey(Member, models.CASCADE, related_name="invitations")
    token_hash = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(default=clock.now)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = _("invitation")
        verbose_name_plural = _("invitations")

    def __str__(self) -> str:
        return str(self.pk)


class SignOut(models.Model):
    """Only sessions with this ``epoch`` are valid. The row is kept until every earlier session has expired."""

    iss = models.CharField(max_length=MAX_ISSUER)
    sub = models.CharField(max_length=MAX_SUBJECT)
    epoch = models.CharField(max_length=64)
    at = models.DateTimeField(default=now)

    class Meta:
        verbose_name = _("sign-out")
        verbose_name_plural = _("sign-outs")
        constraints = [models.UniqueConstraint(fields=["iss", "sub"], name="one_sign_out_per_person")]
        indexes = [models.Index(fields=["at"], name="sign_out_purge")]

    def __str__(self) -> str:
        return self.epoch


class SignedIn(models.Model):
    """A session in which a person is signed in, so that they can see and end it. It is deleted with the session.

    ``browser`` and ``system`` are roughly what was signed in with, such as Firefox and Windows, or "". ``used_at`` is
    exact to the hour.
    """

    session = models.OneToOneField(Session, models.CASCADE, related_name="signed_in")
    iss = models.CharField(max_length=MAX_ISSUER)
    sub = models.CharField(max_length=MAX_SUBJECT)
    browser = models.CharField(max_length=20, blank=True)
    system = models.CharField(max_length=20, blank=True)
    began_at = models.DateTimeField(default=now)
    used_at = models.DateTimeField(default=now)

    class Meta:
        verbose_name = _("session")
        verbose_name_plural = _("sessions")
        indexes = [models.Index(fields=["iss", "sub", "-used_at"], name="sessions_of_person")]

    def __str__(self) -> str:
        return str(self.pk)

    def said(self) -> Json:
        """The session in a person's data export."""
        times = {"began_at": rfc3339(self.began_at), "used_at": rfc3339(self.used_at)}
        return {"browser": self.browser, "system": self.system, **times}


class LoginAssertion(models.Model):
    """A single-use sign-in assertion of a site, stored until its browser redeems it.

    ``assertion_hash`` is the hash of the assertion's own id, so that it is used once. ``code_hash`` is that of the code
    for the browser which brought the assertion. ``state_hash`` is that of the sign-in to which it belongs, which must
    have been started in the same browser. ``elicitation`` is "" if it names none.
    """

    identity_provider = models.ForeignKey(IdentityProvider, models.CASCADE)
    assertion_hash = models.CharField(max_length=64)
    code_hash = models.CharField(max_length=64, unique=True)
    state_hash = models.CharField(max_length=64, unique=True)
    elicitation = models.CharField(max_length=64, blank=True)
    sub = models.CharField(max_length=MAX_SUBJECT)
    label = models.CharField(max_length=255, blank=True)
    auth_time = models.BigIntegerField(null=True)
    created_at = models.DateTimeField(default=clock.now)
    used_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = _("sign-in assertion")
        verbose_name_plural = _("sign-in assertions")
        constraints = [
            models.UniqueConstraint(fields=["identity_provider", "assertion_hash"], name="one_login_per_assertion"),
        ]
        indexes = [models.Index(fields=["created_at"], name="login_assertion_age")]

    def __str__(self) -> str:
        return str(self.pk)


class IdentityAssertion(models.Model):
    """What an identity provider issued when a person signed in here, to be shown to it again (``vault.managed``).

    ``id_token`` and ``refresh_token`` are sealed. The ID token can be used until ``id_token_until``, and nothing after
    ``expires_at``.
    """

    identity_provider = models.ForeignKey(IdentityProvider, models.CASCADE)
    iss = models.CharField(max_length=MAX_ISSUER)
    sub = models.CharField(max_length=MAX_SUBJECT)
    id_token = models.TextField(editable=False)
    refresh_token = models.TextField(blank=True, editable=False)
    id_token_until = models.DateTimeField()
    created_at = models.DateTimeField(default=clock.now)
    expires_at = models.DateTimeField()

    class Meta:
        verbose_name = _("proof of sign-in")
        verbose_name_plural = _("proofs of sign-in")
        constraints = [models.UniqueConstraint(fields=["iss", "sub"], name="one_identity_assertion_per_person")]
        indexes = [models.Index(fields=["expires_at"], name="identity_assertion_purge")]

    def __str__(self) -> str:
        return str(self.pk)

    def said(self) -> Json:
        """What a person's data export says of it."""
        times = {"created_at": rfc3339(self.created_at), "expires_at": rfc3339(self.expires_at)}
        return {"identity_provider": self.identity_provider.slug, **times}


class Erasure(models.Model):
    """A request to erase a person's data.

    ``iss`` and ``sub`` are emptied when it is done. Rows that are kept then have ``id`` in place of the person.
    """

    id = models.CharField(max_length=64, primary_key=True, default=partial(ids.name, "er"))
    iss = models.CharField(max_length=MAX_ISSUER, blank=True)
    sub = models.CharField(max_length=MAX_SUBJECT, blank=True)
    asked_at = models.DateTimeField(default=now)
    next_at = models.DateTimeField(null=True, default=now)
    done_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = _("erasure")
        verbose_name_plural = _("erasures")
        constraints = [
            models.UniqueConstraint(
                fields=["iss", "sub"], condition=models.Q(done_at__isnull=True), name="one_open_erasure_per_person"
            ),
        ]
        indexes = [models.Index(fields=["next_at"], name="erasure_due", condition=models.Q(next_at__isnull=False))]

    def __str__(self) -> str:
        return self.id

    @property
    def claim(self) -> Claim:
        return Claim(self.iss, self.sub)
