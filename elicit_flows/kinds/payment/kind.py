"""The kind as far as it needs nobody: what may be asked, and what the person is shown. The line does the paying."""

from __future__ import annotations

from elicit_flows.kinds.payment import params, providers
from elicit_flows.kinds.payment.values import Account
from elicit_flows.lib import text
from elicit_flows.values import Json

_SHOWN = ("amount", "currency", "description", "mode", "interval", "item", "uses")


class Payment:
    """Pay once, keep a payment method, or subscribe, at a payment provider's own page."""

    context: str | None = "account"
    takes_money = True
    leaves = True

    def clean(self, given: Json) -> Json:
        """``{amount, currency, description, account, mode, interval, item, uses}``. Raises Invalid."""
        return params.clean(given)

    def describe(self, asked: Json, config: Account | None) -> Json:
        """``{title, host, host_warning, livemode, amount, currency, description, mode, interval, item, uses}``.

        ``title`` is what is paid for, ``amount`` is in minor units (see ``lib.money.show``), ``host`` the ASCII host
        that comes next, "" when the account is switched off; ``livemode`` False means that no real money moves.
        """
        url = (config.api_base or providers.get(config.provider).host) if config else ""
        return {name: asked[name] for name in _SHOWN} | {
            "title": asked["description"],
            "host": text.ascii_host(url),
            "host_warning": text.host_warning(url),
            "livemode": config.livemode if config else False,
        }
