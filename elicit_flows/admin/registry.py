"""Which pages there are. Imported once, when the models are loaded."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.admin.models import LogEntry

from elicit_flows import vault
from elicit_flows.admin.accounts import PaymentAccountAdmin
from elicit_flows.admin.agents import AgentAdmin
from elicit_flows.admin.audit import EventAdmin, LogEntryAdmin
from elicit_flows.admin.connections import ConnectionAdmin
from elicit_flows.admin.deliveries import DeliveryAdmin
from elicit_flows.admin.elicitations import ElicitationAdmin
from elicit_flows.admin.identities import IdentityProviderAdmin
from elicit_flows.admin.members import MemberAdmin
from elicit_flows.admin.payments import PaymentAdmin
from elicit_flows.admin.providers import ProviderAdmin
from elicit_flows.admin.refunds import RefundAdmin
from elicit_flows.models import (
    Agent,
    Delivery,
    Elicitation,
    Event,
    IdentityProvider,
    Member,
    Payment,
    PaymentAccount,
    Provider,
    Refund,
)

admin.site.register(Agent, AgentAdmin)
admin.site.register(IdentityProvider, IdentityProviderAdmin)
admin.site.register(Member, MemberAdmin)
admin.site.register(Provider, ProviderAdmin)
admin.site.register(PaymentAccount, PaymentAccountAdmin)
admin.site.register(vault.Connection, ConnectionAdmin)
admin.site.register(Elicitation, ElicitationAdmin)
admin.site.register(Payment, PaymentAdmin)
admin.site.register(Refund, RefundAdmin)
admin.site.register(Delivery, DeliveryAdmin)
admin.site.register(Event, EventAdmin)
admin.site.register(LogEntry, LogEntryAdmin)
