"""Which way to pay of a challenge a wallet of the operator's takes, and why not. Values in, values out."""

from __future__ import annotations

import re
from dataclasses import dataclass

from elicit_flows.domain.values import Json
from elicit_flows.kinds.x402.networks import NETWORKS, Network
from elicit_flows.lib.sentences import sentence

PROVIDER = "x402"  # of a payment account that is a wallet
SCHEME = "exact"
TRANSFER = "eip3009"  # how the scheme moves the token; Permit2 would need an allowance on the chain
# Why it is not paid though the person said yes. Their page shows it.
NO_LONGER = sentence("The operator of this service no longer allows this payment.")
TOO_MUCH = sentence("This is more than the operator of this service allows at present.")
ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")


@dataclass(frozen=True, slots=True)
class Wallet:
    """What the operator set. Amounts are in the token's smallest unit; no ``payees``: anybody may be paid."""

    slug: str
    address: str
    network: str
    max_per_payment: int
    max_per_day: int
    payees: tuple[str, ...]


def asset_of(accepted: Json) -> Network | None:
    """The network whose token this is, by its contract address; None for every other token."""
    known = NETWORKS.get(accepted["network"])
    return known if known and known.asset.lower() == accepted["asset"].lower() else None


def refusal(wallet: Wallet, accepted: Json) -> str:
    """Why the wallet does not pay this; "" if it does. The limits on the amount are another matter."""
    extra, known = accepted.get("extra") or {}, NETWORKS[wallet.network]
    payee = accepted["payTo"].lower()
    if accepted["scheme"] != SCHEME or extra.get("assetTransferMethod", TRANSFER) != TRANSFER:
        why = f"the scheme {accepted['scheme']} is not known here; only {SCHEME} by EIP-3009 is"
    elif accepted["network"] != wallet.network:
        why = f"the network {accepted['network']} is not offered; {wallet.network} ({known.name}) is"
    elif asset_of(accepted) is None:
        why = f"the token {accepted['asset']} is not {known.symbol} on {known.name}"
    elif any(extra.get(name, right) != right for name, right in known.described.items()):
        why = f"it describes {known.symbol} on {known.name} wrongly"
    elif not ADDRESS.fullmatch(payee) or int(payee, 16) == 0 or payee == wallet.address.lower():
        why = f"the payee {accepted['payTo']} is not an address that can be paid"
    elif wallet.payees and payee not in {one.lower() for one in wallet.payees}:
        why = f"the payee {accepted['payTo']} is not one that the operator allows"
    else:
        why = ""
    return why
