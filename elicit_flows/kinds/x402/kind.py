"""Kind x402: a yes to one payment from the operator's wallet. The ledger reserves it, and the agent has it signed."""

from __future__ import annotations

from typing import Any

from elicit_flows.domain.errors import BadCallback, Invalid
from elicit_flows.domain.values import Answer, Finish, Json, Leave, Visit
from elicit_flows.kinds.link import kind as link
from elicit_flows.kinds.params import fault
from elicit_flows.kinds.x402 import params
from elicit_flows.kinds.x402.wallet import asset_of
from elicit_flows.lib import text


class X402:
    """Ask whether an HTTP 402 may be paid. ``payments.authorizations`` writes the result."""

    context: str | None = None
    takes_money = False  # no provider's page, and no checkout: the wallet is the operator's
    leaves = False

    def clean(self, given: Json) -> Json:
        """See ``params.clean``. Raises Invalid."""
        asked = params.clean(given)
        problem = link.problem(asked["url"])
        if problem:
            raise Invalid([fault("url", problem)])
        return asked

    def describe(self, asked: Json, config: Any) -> Json:
        """``{title, host, host_warning, url, method, description, payee, amount, symbol, decimals, network, test}``.

        It shows the first way to pay, which is the only one in an elicitation. ``host`` is the ASCII host of the
        resource, ``description`` its server's words, ``amount`` is in the token's smallest unit. ``symbol`` is "" for
        a token that is not known here; such a request is refused before anybody sees it.
        """
        accepted, host = asked["challenge"]["accepts"][0], text.ascii_host(asked["url"])
        known = asset_of(accepted)
        return {
            "title": host,
            "host": host,
            "host_warning": text.host_warning(asked["url"]),
            "url": asked["url"],
            "method": asked["method"],
            "description": asked["challenge"]["resource"].get("description", ""),
            "payee": accepted["payTo"],
            "amount": int(accepted["amount"]),
            "symbol": known.symbol if known else "",
            "decimals": known.decimals if known else 0,
            "network": known.name if known else accepted["network"],
            "test": known.test if known else False,
        }

    def begin(self, visit: Visit) -> Leave:
        raise BadCallback("This is answered on its own page.")

    def check_answer(self, visit: Visit, answer: Answer) -> None:
        """Raises BadCallback for what the page never sends."""
        if answer.one("pay") != "yes":
            raise BadCallback("This is neither a yes nor a no.")

    def resume(self, visit: Visit, answer: Answer) -> Finish:
        return Finish("completed")
