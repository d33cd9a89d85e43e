"""Payments: the only package that writes payment rows.

checkouts        the provider's payment pages: at most one open page for a payment
settlement       apply what the provider says
refunds          refunds, whoever asked for them
cancellations    ending a subscription, or removing a saved method
disputes         chargebacks
mandates         a person's standing yes to charges: given, lowered, ended
charges          charges under a mandate, reserved against its limits
spend_limits     how much an agent may ask of one person
authorizations   payments by HTTP 402 from the operator's wallets
customers        a person's customer id at the provider
entitlements     what was paid for, and using it
subscriptions    the life of a subscription: its renewals, its state, its end
price_changes    another price of a subscription, once its person has agreed
inbound_webhooks the providers' webhooks, stored before they are answered
reconciliation   what is recorded against the provider's balance transactions
queries          what agents, operators and people may see
"""
