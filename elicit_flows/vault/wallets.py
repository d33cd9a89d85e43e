"""Signs payments from the operator's wallets (EIP-3009). The key is opened here, and leaves in no other form.

``eth-account`` is in requirements-extras.txt: only services with wallets need it.
"""

from __future__ import annotations

from datetime import datetime
from importlib import import_module
from typing import Any

from elicit_flows.domain.errors import Unavailable
from elicit_flows.domain.values import Json, Secret
from elicit_flows.kinds.x402.networks import NETWORKS
from elicit_flows.models import Authorization, PaymentAccount
from elicit_flows.vault.payment_accounts import account

NEEDED = "Wallets need the package eth-account, which requirements-extras.txt has."
# The order and the names are part of what is signed (EIP-3009, "transferWithAuthorization").
_FIELDS = [
    {"name": "from", "type": "address"},
    {"name": "to", "type": "address"},
    {"name": "value", "type": "uint256"},
    {"name": "validAfter", "type": "uint256"},
    {"name": "validBefore", "type": "uint256"},
    {"name": "nonce", "type": "bytes32"},
]


def wallet_address(key: Secret) -> str:
    """The address of the wallet with this private key; "" if it is no such key. Raises Unavailable."""
    eth = _eth_account()
    try:
        return str(eth.from_key(key.reveal()).address)
    except (ValueError, TypeError):
        return ""


def signed_transfer(row: Authorization, payer: PaymentAccount, after: datetime, until: datetime) -> Json:
    """``{signature, authorization}`` of the scheme ``exact``, paid by the wallet ``payer`` and valid from ``after``
    until ``until``. Raises Unavailable if the wallet's key cannot be opened, or is another wallet's.
    """
    known, wallet = NETWORKS[row.network], account(payer)
    eth = _eth_account()
    transfer = {
        "from": wallet.client_id,
        "to": row.payee,
        "value": row.amount,
        "validAfter": int(after.timestamp()),
        "validBefore": int(until.timestamp()),
        "nonce": row.nonce,
    }
    if wallet_address(wallet.secret_key).lower() != wallet.client_id.lower():
        raise Unavailable("The wallet's key is not that of its address.")
    domain = {
        "name": known.token, "version": known.version, "chainId": known.chain_id, "verifyingContract": known.asset,
    }  # fmt: skip
    message = transfer | {"nonce": bytes.fromhex(row.nonce.removeprefix("0x"))}
    done = eth.sign_typed_data(wallet.secret_key.reveal(), domain, {"TransferWithAuthorization": _FIELDS}, message)
    shown = {name: str(value) for name, value in transfer.items()}
    return {"signature": f"0x{bytes(done.signature).hex()}", "authorization": shown}


def _eth_account() -> Any:
    try:
        return import_module("eth_account").Account
    except ModuleNotFoundError:
        raise Unavailable(NEEDED) from None
