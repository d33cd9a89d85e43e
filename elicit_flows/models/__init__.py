"""The database tables, one file for each area."""

from elicit_flows.models.agent import Agent, SpendLimit
from elicit_flows.models.authorization import Authorization
from elicit_flows.models.brand import Brand
from elicit_flows.models.connection import Connection, ConnectionCall, ConnectionUse, PendingGrant
from elicit_flows.models.counters import Health, Tally
from elicit_flows.models.elicitation import Attempt, Draft, Elicitation, UserCode
from elicit_flows.models.entitlement import Entitlement, EntitlementUse
from elicit_flows.models.event import AuditPosition, Delivery, Event, Feed
from elicit_flows.models.keys import ReceiptKey, VaultKey
from elicit_flows.models.mandate import Mandate, MandateCharge
from elicit_flows.models.notification import (
    Channel,
    Contact,
    Notification,
    NotificationSettings,
    OptOut,
    PushSubscription,
    Recipient,
)
from elicit_flows.models.operator import Operator
from elicit_flows.models.payment import Cancellation, Checkout, Payment, Refund
from elicit_flows.models.payment_account import Customer, Inbound, PaymentAccount
from elicit_flows.models.person import (
    Erasure,
    IdentityAssertion,
    Invitation,
    LoginAssertion,
    Member,
    Passkey,
    SignedIn,
    SignOut,
)
from elicit_flows.models.picture import Picture
from elicit_flows.models.provider import IdentityProvider, Provider, Registration
from elicit_flows.models.subscription import PriceChange, Renewal, Subscription

__all__ = [
    "Agent",
    "Attempt",
    "AuditPosition",
    "Authorization",
    "Brand",
    "Cancellation",
    "Channel",
    "Checkout",
    "Connection",
    "ConnectionCall",
    "ConnectionUse",
    "Contact",
    "Customer",
    "Delivery",
    "Draft",
    "Elicitation",
    "Entitlement",
    "EntitlementUse",
    "Erasure",
    "Event",
    "Feed",
    "Health",
    "IdentityAssertion",
    "IdentityProvider",
    "Inbound",
    "Invitation",
    "LoginAssertion",
    "Mandate",
    "MandateCharge",
    "Member",
    "Notification",
    "NotificationSettings",
    "Operator",
    "OptOut",
    "Passkey",
    "Payment",
    "PaymentAccount",
    "PendingGrant",
    "Picture",
    "PriceChange",
    "Provider",
    "PushSubscription",
    "ReceiptKey",
    "Recipient",
    "Refund",
    "Registration",
    "Renewal",
    "SignOut",
    "SignedIn",
    "SpendLimit",
    "Subscription",
    "Tally",
    "UserCode",
    "VaultKey",
]
