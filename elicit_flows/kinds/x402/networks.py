"""The networks that wallets pay on, and the one token that is paid with on each: Circle's USDC.

A token is known by its network and contract address alone, so what a challenge says of its name or decimals decides
nothing. The addresses, names and versions (EIP-712 domain) are those of the package ``x402`` (``default_assets``); a
test compares them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Network:
    """``id`` is its CAIP-2 name. ``asset`` is the token's contract, ``token`` and ``version`` its EIP-712 domain."""

    id: str
    name: str
    asset: str
    token: str = "USD Coin"
    version: str = "2"
    symbol: str = "USDC"
    decimals: int = 6
    test: bool = False

    @property
    def chain_id(self) -> int:
        return int(self.id.partition(":")[2])

    @property
    def described(self) -> dict[str, str | int]:
        """What a challenge may say of the token, in ``extra``."""
        return {"name": self.token, "version": self.version, "decimals": self.decimals}


NETWORKS = {
    one.id: one
    for one in (
        Network("eip155:8453", "Base", "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"),
        Network("eip155:1", "Ethereum", "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"),
        Network("eip155:137", "Polygon", "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359"),
        Network("eip155:42161", "Arbitrum One", "0xaf88d065e77c8cC2239327C5EDb3A432268e5831"),
        Network("eip155:43114", "Avalanche", "0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E"),
        Network("eip155:84532", "Base Sepolia", "0x036CbD53842c5426634e7929541eC2318f3dCF7e", "USDC", test=True),
        Network("eip155:421614", "Arbitrum Sepolia", "0x75faf114eafb1BDbe2F0316DF893fd58CE46AA4d", test=True),
    )
}
