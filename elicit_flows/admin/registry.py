"""Registers every page of the admin, and has their addresses. Imported when the first of them is asked for."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, User

from elicit_flows import models
from elicit_flows.admin.agents import AgentAdmin
from elicit_flows.admin.authorizations import AuthorizationAdmin
from elicit_flows.admin.brands import BrandAdmin
from elicit_flows.admin.connections import ConnectionAdmin
from elicit_flows.admin.elicitations import ElicitationAdmin
from elicit_flows.admin.events import DeliveryAdmin, EventAdmin
from elicit_flows.admin.identity_providers import IdentityProviderAdmin
from elicit_flows.admin.mandates import MandateAdmin
from elicit_flows.admin.members import MemberAdmin
from elicit_flows.admin.notifications import NotificationAdmin
from elicit_flows.admin.operators import LogEntryAdmin, OperatorAdmin, RoleAdmin
from elicit_flows.admin.payment_accounts import PaymentAccountAdmin
from elicit_flows.admin.payments import PaymentAdmin, RefundAdmin
from elicit_flows.admin.providers import ProviderAdmin
from elicit_flows.admin.subscriptions import SubscriptionAdmin

# The pages do not register themselves: the site imports some of them, and a page that registers needs the site.
admin.site.unregister([User, Group])  # the base classes of ours register themselves
admin.site.register(User, OperatorAdmin)
admin.site.register(Group, RoleAdmin)
admin.site.register(models.Agent, AgentAdmin)
admin.site.register(models.Brand, BrandAdmin)
admin.site.register(models.IdentityProvider, IdentityProviderAdmin)
admin.site.register(models.Member, MemberAdmin)
admin.site.register(models.Provider, ProviderAdmin)
admin.site.register(models.PaymentAccount, PaymentAccountAdmin)
admin.site.register(models.Connection, ConnectionAdmin)
admin.site.register(models.Elicitation, ElicitationAdmin)
admin.site.register(models.Payment, PaymentAdmin)
admin.site.register(models.Refund, RefundAdmin)
admin.site.register(models.Subscription, SubscriptionAdmin)
admin.site.register(models.Mandate, MandateAdmin)
admin.site.register(models.Authorization, AuthorizationAdmin)
admin.site.register(models.Delivery, DeliveryAdmin)
admin.site.register(models.Event, EventAdmin)
admin.site.register(models.Notification, NotificationAdmin)
admin.site.register(LogEntry, LogEntryAdmin)

urlpatterns = admin.site.get_urls()
