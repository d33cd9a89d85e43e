"""The wallet of the double: it pays every HTTP 402 that a wallet of the service could, with a signature of nobody's."""

from __future__ import annotations

import base64
import json
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from elicit_flows.domain.errors import AlreadyConsumed, Invalid
from elicit_flows.domain.values import Json
from elicit_flows.kinds.x402 import params as x402
from elicit_flows.kinds.x402.networks import NETWORKS

SLUG = "wallet"
ADDRESS = f"0x{'d0' * 20}"
SIGNATURE = f"0x{'00' * 65}"  # no facilitator takes it
SIGN_WITHIN, VALID_FOR = timedelta(minutes=10), timedelta(minutes=5)


def cleaned(given: Json) -> Json:
    """The params with the one way to pay that is taken, as the service keeps them. Raises Invalid."""
    asked = x402.clean(given)
    if asked["account"] not in (None, SLUG):
        raise Invalid.at("params.account", f"There is no wallet {asked['account']!r} in the double; use {SLUG!r}.")
    for one in asked["challenge"]["accepts"]:
        known = NETWORKS.get(one["network"])
        if one["scheme"] == "exact" and known and known.asset.lower() == one["asset"].lower():
            return asked | {"account": SLUG, "challenge": asked["challenge"] | {"accepts": [one]}}
    raise Invalid.at("params.challenge", "It is not paid: only USDC on a known network is, by the scheme exact.")


@dataclass
class Agreed:
    """One payment that a user has agreed to: ``body`` is what the API says of it."""

    body: Json
    challenge: Json
    key: str = ""
    header: Json | None = None

    @property
    def result(self) -> Json:
        """That of its question."""
        names = ("livemode", "network", "payee", "amount", "symbol", "sign_by")
        return {"authorization": self.body["id"], **{name: self.body[name] for name in names}}

    def sign(self, key: str) -> Json:
        """The header that pays, once. Raises AlreadyConsumed."""
        if self.header is None:
            now = datetime.now(UTC).replace(microsecond=0)
            accepted = self.challenge["accepts"][0]
            until = now + min(VALID_FOR, timedelta(seconds=accepted["maxTimeoutSeconds"]))
            transfer = {
                "from": ADDRESS, "to": accepted["payTo"], "value": accepted["amount"],
                "validAfter": str(int(now.timestamp())), "validBefore": str(int(until.timestamp())),
                "nonce": f"0x{secrets.token_hex(32)}",
            }  # fmt: skip
            said = {"x402Version": x402.VERSION, "accepted": accepted}
            said["payload"] = {"authorization": transfer, "signature": SIGNATURE}
            if self.challenge["resource"]:
                said["resource"] = self.challenge["resource"]
            self.key = key
            self.body |= {"status": "signed", "signed_at": now.isoformat(), "valid_until": until.isoformat()}
            self.header = {
                "object": "payment_header", "authorization": self.body["id"], "name": "PAYMENT-SIGNATURE",
                "value": base64.b64encode(json.dumps(said).encode()).decode(), "url": self.body["url"],
                "method": self.body["method"], "valid_until": until.isoformat(),
            }  # fmt: skip
        elif key != self.key:
            raise AlreadyConsumed("This payment was signed already: do not pay with it again.")
        return self.header


def agreed(id: str, asked: Json, params: Json) -> Agreed:
    """What a user's yes to the question ``asked`` makes."""
    accepted, now = params["challenge"]["accepts"][0], datetime.now(UTC)
    known = NETWORKS[accepted["network"]]
    body = {
        "id": id, "object": "authorization", "subject": asked["subject"], "account": SLUG, "livemode": False,
        "elicitation": asked["id"], "url": params["url"], "method": params["method"], "network": known.id,
        "asset": known.asset, "symbol": known.symbol, "decimals": known.decimals, "amount": int(accepted["amount"]),
        "payee": accepted["payTo"], "status": "reserved", "created_at": now.isoformat(),
        "sign_by": (now + SIGN_WITHIN).isoformat(), "signed_at": None, "valid_until": None,
    }  # fmt: skip
    return Agreed(body, params["challenge"])
