"""How long and how much to measure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Plan:
    """``seconds`` is one measurement of one side in one round."""

    rounds: int = 5
    seconds: float = 2.0
    waiters: int = 10_000
    admitted: int = 19_000
    history: int = 1_000_000
    deliveries: int = 3_000
    refreshes: int = 1_000
    sqlite: bool = True
    quick: bool = False

    @classmethod
    def short(cls, rounds: int) -> Plan:
        return cls(
            rounds,
            seconds=0.4,
            waiters=1_000,
            admitted=2_000,
            history=100_000,
            deliveries=500,
            refreshes=200,
            sqlite=False,
            quick=True,
        )
