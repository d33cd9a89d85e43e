"""A facilitator in its own process, as x402's servers ask one: it checks signatures, and has a chain in memory.

Its requests and answers are the package's own types, and so is what it hashes. What a chain would refuse it refuses:
a wrong signature, another payee or amount, a time that is over, and a nonce that was used.
"""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

from eth_account import Account
from eth_account.messages import encode_typed_data
from flask import Flask, request
from werkzeug.serving import make_server
from x402.mechanisms.evm.eip712 import build_typed_data_for_signing
from x402.mechanisms.evm.exact.eip3009_utils import parse_eip3009_authorization
from x402.mechanisms.evm.types import ExactEIP3009Payload
from x402.mechanisms.evm.utils import get_evm_chain_id
from x402.schemas import (
    PaymentPayload,
    PaymentRequirements,
    SettleResponse,
    SupportedKind,
    SupportedResponse,
    VerifyResponse,
)

app = Flask(__name__)
lock = threading.Lock()
used: dict[str, dict[str, Any]] = {}
NETWORKS = ("eip155:84532", "eip155:8453")


def problem(payload: PaymentPayload, wanted: PaymentRequirements) -> tuple[str, ExactEIP3009Payload]:
    """Why it is not paid with this; "" if it is."""
    paid = ExactEIP3009Payload.from_dict(payload.payload)
    said, now = paid.authorization, int(time.time())
    parse_eip3009_authorization(said)  # raises for what is none
    domain, types, primary, message = build_typed_data_for_signing(
        said, get_evm_chain_id(str(wanted.network)), wanted.asset, wanted.extra["name"], wanted.extra["version"]
    )
    shapes = {name: [{"name": one["name"], "type": one["type"]} for one in fields] for name, fields in types.items()}
    plain = {
        "name": domain.name, "version": domain.version, "chainId": domain.chain_id,
        "verifyingContract": domain.verifying_contract,
    }  # fmt: skip
    shapes.pop("EIP712Domain", None)
    signed = encode_typed_data(plain, {primary: shapes[primary]}, message)
    signer = Account.recover_message(signed, signature=paid.signature)
    if payload.accepted != wanted or payload.accepted.scheme != "exact":
        return "invalid_payment_requirements", paid
    if signer.lower() != said.from_address.lower():
        return "invalid_exact_evm_payload_signature", paid
    if said.to.lower() != wanted.pay_to.lower():
        return "invalid_exact_evm_payload_recipient_mismatch", paid
    if said.value != wanted.amount:
        return "invalid_exact_evm_payload_authorization_value", paid
    if not int(said.valid_after) <= now < int(said.valid_before):
        return "invalid_exact_evm_payload_authorization_valid_before", paid
    if said.nonce in used:
        return "nonce_already_used", paid
    return "", paid


def asked() -> tuple[PaymentPayload, PaymentRequirements]:
    body = request.get_json()
    return (
        PaymentPayload.model_validate(body["paymentPayload"]),
        PaymentRequirements.model_validate(body["paymentRequirements"]),
    )


def said(answer: Any) -> dict[str, Any]:
    return dict(answer.model_dump(by_alias=True, exclude_none=True))


@app.get("/supported")
def supported() -> dict[str, Any]:
    kinds = [SupportedKind(x402_version=2, scheme="exact", network=network) for network in NETWORKS]
    return said(SupportedResponse(kinds=kinds, extensions=[], signers={}))


@app.post("/verify")
def verify() -> dict[str, Any]:
    wrong, paid = problem(*asked())
    payer = paid.authorization.from_address
    return said(VerifyResponse(is_valid=not wrong, invalid_reason=wrong or None, payer=payer))


@app.post("/settle")
def settle() -> dict[str, Any]:
    payload, wanted = asked()
    with lock:
        wrong, paid = problem(payload, wanted)
        one = paid.authorization
        if not wrong:
            used[one.nonce] = {"from": one.from_address, "to": one.to, "value": int(one.value)}
    return said(
        SettleResponse(
            success=not wrong,
            error_reason=wrong or None,
            payer=one.from_address,
            transaction=one.nonce,
            network=str(wanted.network),
        )
    )


@app.get("/chain")
def chain() -> list[dict[str, Any]]:
    """What was transferred, in order."""
    return list(used.values())


if __name__ == "__main__":
    server = make_server("127.0.0.1", 0, app, threaded=True)
    sys.stdout.write(f"facilitator at http://127.0.0.1:{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()
