"""Mollie's webhooks: unsigned, ``id=tr_…`` and nothing else."""

from __future__ import annotations

from urllib.parse import urlencode

from sandbox.doubles.deliveries import Deliveries, Delivery

FORM = {"content-type": "application/x-www-form-urlencoded"}


class Hooks(Deliveries):
    def tell(self, url: str | None, id: str) -> None:
        """Send a webhook about this payment, if it was given an address for them."""
        if url:
            self.send(Delivery(url, id, urlencode({"id": id}).encode(), FORM))
