"""One file a noun."""

from elicit_flows.models.agent import Agent
from elicit_flows.models.attempt import Attempt
from elicit_flows.models.connection import Connection
from elicit_flows.models.customer import Customer
from elicit_flows.models.delivery import Delivery
from elicit_flows.models.draft import Draft
from elicit_flows.models.elicitation import Elicitation
from elicit_flows.models.entitlement import Entitlement, EntitlementUse
from elicit_flows.models.erasure import Erasure
from elicit_flows.models.event import Event, Feed
from elicit_flows.models.held_grant import HeldGrant
from elicit_flows.models.inbound import Inbound
from elicit_flows.models.member import Invitation, Member, Passkey
from elicit_flows.models.operator import Operator
from elicit_flows.models.payment import Checkout, Payment
from elicit_flows.models.payment_account import PaymentAccount
from elicit_flows.models.provider import IdentityProvider, Provider
from elicit_flows.models.receipt_key import ReceiptKey
from elicit_flows.models.refund import Refund
from elicit_flows.models.registration import Registration
from elicit_flows.models.sign_out import SignOut
from elicit_flows.models.spend_limit import SpendLimit
from elicit_flows.models.tally import Tally
from elicit_flows.models.use import Use
from elicit_flows.models.user_code import UserCode
from elicit_flows.models.vault_key import VaultKey
from elicit_flows.models.vouch import Vouch

__all__ = [
    "Agent",
    "Attempt",
    "Checkout",
    "Connection",
    "Customer",
    "Delivery",
    "Draft",
    "Elicitation",
    "Entitlement",
    "EntitlementUse",
    "Erasure",
    "Event",
    "Feed",
    "HeldGrant",
    "IdentityProvider",
    "Inbound",
    "Invitation",
    "Member",
    "Operator",
    "Passkey",
    "Payment",
    "PaymentAccount",
    "Provider",
    "ReceiptKey",
    "Refund",
    "Registration",
    "SignOut",
    "SpendLimit",
    "Tally",
    "Use",
    "UserCode",
    "VaultKey",
    "Vouch",
]
