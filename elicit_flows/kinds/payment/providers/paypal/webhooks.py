"""PayPal's webhooks, verified by their signature. They only say which order to look at.

PayPal signs ``transmission id|time|webhook id|CRC32 of the body`` with RSA and SHA-256, and prefers that receivers
verify it themselves (developer.paypal.com/api/rest/webhooks/rest). A header names the address of the certificate. Only
PayPal's own addresses for certificates are believed: the certificate is PayPal's because it comes from there by TLS.
"""

from __future__ import annotations

import base64
import binascii
import re
import time
import zlib
from collections import deque
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.x509.oid import NameOID

from elicit_flows import http
from elicit_flows.http import strict_json
from elicit_flows.kinds.payment.providers.base import BadNotice, Busy
from elicit_flows.kinds.payment.providers.parts import Thing, several, text, within
from elicit_flows.kinds.payment.providers.paypal.reading import link
from elicit_flows.kinds.payment.values import Account, Notice
from elicit_flows.lib import clock

HOSTS = {
    True: ("https://api.paypal.com", "https://api-m.paypal.com"),
    False: ("https://api.sandbox.paypal.com", "https://api-m.sandbox.paypal.com"),
}
OWNER = ".paypal.com"  # the end of the name in a certificate
OLDEST, NEWEST = timedelta(days=4), timedelta(minutes=5)  # PayPal sends for three days
MAX_CERTIFICATE = 64 * 1024
CERTIFICATE_SECONDS = 5.0
MAX_HEADER = 2000
MOST_A_MINUTE = 30  # certificates that this process fetches
_PATH = r"/v1/notifications/certs/[A-Za-z0-9_-]{1,200}"
_CAPTURE = re.compile(r"/v2/payments/captures/([A-Z0-9]{1,36})")
_REF = re.compile(r"[A-Z0-9]{1,36}")
_fetched: deque[float] = deque(maxlen=MOST_A_MINUTE)


def receive(account: Account, headers: Mapping[str, str], body: bytes) -> list[Notice]:
    """The notices of one event. Raises BadNotice, and Busy if the certificate cannot be had now."""
    _verify(account, headers, body)
    try:
        event: Any = strict_json.loads(body)
    except ValueError:
        raise BadNotice("The body is not JSON.") from None
    name = text(event.get("id")) if isinstance(event, dict) else ""
    if not 0 < len(name) <= 200:
        raise BadNotice("The body is not an event.")
    kind = text(event.get("event_type"))[:100]
    about = _about(kind, within(event, "resource"))
    # The webhook's id is of one mode, and the signature is over it.
    return [
        Notice(name if number == 0 else f"{name}#{number}", kind, ref, payment_ref, account.livemode)
        for number, (ref, payment_ref) in enumerate(about)
    ]


def _about(kind: str, resource: Thing) -> list[tuple[str | None, str | None]]:
    """The orders and captures that the event is about, each as (order, capture); empty for what is not about us."""
    if kind.startswith("CHECKOUT.ORDER."):
        found = [(text(resource.get("id")), "")]
    elif kind.startswith("CUSTOMER.DISPUTE."):
        found = [("", text(one.get("seller_transaction_id"))) for one in several(resource, "disputed_transactions")]
    elif kind.startswith(("PAYMENT.CAPTURE.REFUNDED", "PAYMENT.CAPTURE.REVERSED", "PAYMENT.REFUND.")):
        of = _CAPTURE.search(link(resource, "up"))  # the resource is a refund
        found = [("", of[1] if of else "")]
    elif kind.startswith("PAYMENT.CAPTURE."):
        order = text(within(resource, "supplementary_data", "related_ids").get("order_id"))
        found = [(order, text(resource.get("id")))]
    else:
        found = []
    proper = [(_ref(order), _ref(capture)) for order, capture in found]
    return [one for one in proper if any(one)]


def _ref(given: str) -> str | None:
    return given if _REF.fullmatch(given) else None


def _verify(account: Account, headers: Mapping[str, str], body: bytes) -> None:
    names = ("auth-algo", "cert-url", "transmission-id", "transmission-sig", "transmission-time")
    algorithm, url, transmission, signature, sent = (headers.get(f"paypal-{name}", "") for name in names)
    if max(map(len, (algorithm, url, transmission, signature, sent))) > MAX_HEADER or algorithm != "SHA256withRSA":
        raise BadNotice("The signature's headers are not PayPal's.")
    _check_sent(sent)
    bases = [account.api_base] if account.api_base else HOSTS[account.livemode]
    if not any(re.fullmatch(re.escape(base) + _PATH, url) for base in bases):
        raise BadNotice("The certificate is not at PayPal's address.")
    try:
        signed = base64.b64decode(signature, validate=True)
    except binascii.Error:
        raise BadNotice("The signature is not base64.") from None
    certificate = _certificate(url)
    if not certificate.not_valid_before_utc <= datetime.now(UTC) <= certificate.not_valid_after_utc:
        raise BadNotice("The certificate is not valid now.")
    key = certificate.public_key()
    if not isinstance(key, RSAPublicKey):
        raise BadNotice("The certificate has no RSA key.")
    for webhook in account.webhook_secrets:
        said = f"{transmission}|{sent}|{webhook.reveal()}|{zlib.crc32(body)}".encode()
        try:
            key.verify(signed, said, PKCS1v15(), SHA256())
        except InvalidSignature:
            continue
        return
    raise BadNotice("The signature is not one of this account's.")


def _check_sent(given: str) -> None:
    try:
        moment = datetime.fromisoformat(given)
    except ValueError:
        raise BadNotice("The time is not one.") from None
    if moment.tzinfo is None or not -NEWEST <= clock.now() - moment <= OLDEST:
        raise BadNotice("The webhook is not of now.")


@lru_cache(maxsize=16)
def _certificate(url: str) -> x509.Certificate:
    """Fetched once; the address must have been checked. Raises BadNotice and Busy, which are not kept."""
    now = time.monotonic()
    if len(_fetched) == MOST_A_MINUTE and now - _fetched[0] < 60:  # anybody may name an address
        raise Busy("Too many certificates were asked for.")
    _fetched.append(now)
    try:
        reply = http.send("GET", url, deadline=CERTIFICATE_SECONDS, limit=MAX_CERTIFICATE)
    except http.Refused as refusal:
        raise BadNotice(f"The certificate's address is refused: {refusal}") from None
    except http.Unreachable:
        raise Busy("The certificate cannot be had now.") from None
    if reply.status != 200:
        if reply.status == 429 or reply.status >= 500:
            raise Busy("The certificate cannot be had now.")
        raise BadNotice("There is no such certificate.")
    try:
        certificate = x509.load_pem_x509_certificate(reply.body)
    except ValueError:
        raise BadNotice("There is no certificate at its address.") from None
    owners = [str(one.value) for one in certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    if not any(one.lower().endswith(OWNER) for one in owners):
        raise BadNotice("The certificate is not PayPal's.")
    return certificate
