"""Paying for what answers 402 (x402): the user agrees, the operator's wallet pays, and the request is repeated."""

from __future__ import annotations

import base64
import json
import uuid
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Unpack
from urllib.parse import quote

import httpx2

from elicit_flows.domain.values import Json
from elicit_flows.sdk.asking import OnUrl
from elicit_flows.sdk.errors import NotCompleted, UnexpectedAnswerError
from elicit_flows.sdk.outcomes import Completed, Outcome
from elicit_flows.sdk.questions import Options
from elicit_flows.sdk.shapes import User
from elicit_flows.sdk.transport import Transport

AUTHORIZATIONS = "/v1/authorizations"
REQUIRED = "payment-required"
TIMEOUT = 30.0


@dataclass(frozen=True, slots=True)
class Paid:
    """``response`` is the last one that the server gave. ``outcome`` is how the question to the user ended; None if the
    server asked for no payment.
    """

    response: httpx2.Response
    outcome: Outcome | None = None


def challenge_of(response: httpx2.Response) -> Json:
    """What a 402 asks for, for ``Elicit.x402``. Raises ValueError for a response without it, such as of version 1."""
    said = response.headers.get(REQUIRED)
    if response.status_code != httpx2.codes.PAYMENT_REQUIRED or said is None:
        raise ValueError("This response has no PAYMENT-REQUIRED header, which is how x402 version 2 asks for payment.")
    try:
        return {**json.loads(base64.b64decode(said, validate=True))}
    except (TypeError, ValueError) as error:
        raise ValueError("The PAYMENT-REQUIRED header of this response cannot be read.") from error


class Paying(ABC):
    """Calls on payments by HTTP 402. ``authorization`` is the id of one, or the outcome of the question."""

    _transport: Transport

    @abstractmethod
    async def x402(
        self,
        user: User,
        url: str,
        challenge: Json,
        *,
        method: str = "GET",
        account: str | None = None,
        message: str = "",
        on_url: OnUrl,
        timeout: float | None = None,
        **options: Unpack[Options],
    ) -> Outcome:
        """Ask ``user`` whether this may be paid: see ``Elicit.x402``."""

    async def payment_header(self, authorization: str | Outcome, *, idempotency_key: str | None = None) -> Json:
        """Return the header that pays: ``{name, value, url, method, valid_until, …}``. It is given once.

        Send it to that ``url`` by that ``method`` only. Raises ConflictError ``already_consumed`` when it was given
        before, ``conflict`` when it is too late, and NotCompleted for an outcome without an authorization.
        """
        if not isinstance(authorization, str):
            if not isinstance(authorization, Completed):
                raise NotCompleted(authorization)
            authorization = str(authorization.result["authorization"])
        path = f"{AUTHORIZATIONS}/{quote(authorization, safe='')}/sign"
        headers = {"Idempotency-Key": idempotency_key or uuid.uuid4().hex}
        return await self._transport.fetch(dict, "POST", path, headers=headers)

    async def pay_request(
        self,
        user: User,
        method: str,
        url: str,
        /,
        *,
        message: str = "",
        account: str | None = None,
        on_url: OnUrl,
        timeout: float | None = None,
        http_client: httpx2.AsyncClient | None = None,
        **request: Any,
    ) -> Paid:
        """Send a request; if it is answered 402, ask ``user`` whether to pay, and repeat it with the payment.

        It is repeated at most once: if the server then asks for another price, its 402 is returned. Redirects are not
        followed, so that nobody else gets the payment. ``timeout`` is how long to wait for the user, in seconds.
        ``http_client`` is an ``httpx2.AsyncClient`` of your own; ``request`` are arguments of its ``request``, such as
        ``headers`` and ``json``. Raises ValueError for a 402 that is not x402 version 2, and TypeError for a body that
        cannot be sent twice; see also ``x402`` and ``payment_header``.
        """
        if not isinstance(request.get("content") or "", str | bytes):
            raise TypeError("content: Give a text or bytes, which can be sent twice.")
        request |= {"follow_redirects": False}
        client = http_client or httpx2.AsyncClient(timeout=TIMEOUT, trust_env=self._transport.trusts_environment)
        try:
            response = await client.request(method, url, **request)
            if response.status_code != httpx2.codes.PAYMENT_REQUIRED:
                return Paid(response)
            address = str(response.request.url)
            outcome = await self.x402(
                user, address, challenge_of(response), method=method.upper(), account=account, message=message,
                on_url=on_url, timeout=timeout,
            )  # fmt: skip
            if not outcome:
                return Paid(response, outcome)
            header = await self.payment_header(outcome)
            if (header["url"], header["method"]) != (address, method.upper()):
                raise UnexpectedAnswerError("unexpected_answer", "The service gave the payment for another request.")
            headers = httpx2.Headers(request.pop("headers", None))
            headers[header["name"]] = header["value"]
            return Paid(await client.request(method, url, headers=headers, **request), outcome)
        finally:
            if http_client is None:
                await client.aclose()
