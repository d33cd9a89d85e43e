"""Sealing everything anew, again and again, while something else is measured."""

from __future__ import annotations

import time

from django.conf import settings

from elicit_flows import vault


def reseal(seconds: float) -> int:
    """Rotate for ``seconds``, each time under another of the ring's keys; how many texts were sealed anew."""
    end, sealed = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        newest, _, older = settings.ELICIT_VAULT_KEYS.partition(",")
        settings.ELICIT_VAULT_KEYS = f"{older},{newest}"
        for batch in vault.rotate():
            sealed += batch.sealed
            if time.monotonic() > end:
                break
    return sealed
