"""The ledger: the only writer of money rows.

checkouts     the pages where a payment may be paid: one at a time
truth         apply: what the provider says, made so here
refunds       money back, whoever sent it
disputes      a payer who takes the money back through their bank
limits        how much an agent may ask of one person
customers     who somebody is at the provider
entitlements  what was paid for, and using it up
subscriptions how long it lasts where it is paid by the month
inbound       the providers' webhooks, kept before they are answered
"""
