"""Python imports this at its start where it is on PYTHONPATH: a plug-in of somebody else is there."""

from elicit_flows.kinds.payment import providers

providers.PROVIDERS["moody"] = "tests.payments.moody.Moody"
