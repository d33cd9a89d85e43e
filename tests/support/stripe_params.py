"""The parameters that the installed Stripe SDK knows for a call, as the tree that the sandbox keeps of them.

A leaf is ``string``, ``integer``, ``boolean``, ``number``, ``map`` or ``=one|two`` for an enumeration; an array is a
list of one; a hash is an object, in which the name ``""`` says what may stand in its place.

``python -m tests.support.stripe_params`` writes the sandbox's file anew after the SDK was moved to another version.
"""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

from tests.support.stripe_types import ANYTHING, Scope, arguments, fields, find_class

FILE = Path(__file__).parents[2] / "sandbox" / "stripe" / "parameters.json"
LEAVES = {"str": "string", "int": "integer", "bool": "boolean", "float": "number", "Decimal": "number"}
# Call of the sandbox -> the SDK's class of parameters, under stripe.params.
CALLS = {
    "POST /v1/checkout/sessions": ("checkout._session_create_params", "SessionCreateParams"),
    "GET /v1/checkout/sessions": ("checkout._session_list_params", "SessionListParams"),
    "GET /v1/checkout/sessions/:id": ("checkout._session_retrieve_params", "SessionRetrieveParams"),
    "POST /v1/checkout/sessions/:id/expire": ("checkout._session_expire_params", "SessionExpireParams"),
    "GET /v1/checkout/sessions/:id/line_items": (
        "checkout._session_list_line_items_params", "SessionListLineItemsParams",
    ),
    "GET /v1/payment_intents/:id": ("_payment_intent_retrieve_params", "PaymentIntentRetrieveParams"),
    "POST /v1/payment_intents": ("_payment_intent_create_params", "PaymentIntentCreateParams"),
    "POST /v1/payment_intents/:id/cancel": ("_payment_intent_cancel_params", "PaymentIntentCancelParams"),
    "POST /v1/payment_intents/:id/capture": ("_payment_intent_capture_params", "PaymentIntentCaptureParams"),
    "GET /v1/payment_intents": ("_payment_intent_list_params", "PaymentIntentListParams"),
    "GET /v1/charges/:id": ("_charge_retrieve_params", "ChargeRetrieveParams"),
    "GET /v1/charges": ("_charge_list_params", "ChargeListParams"),
    "GET /v1/setup_intents/:id": ("_setup_intent_retrieve_params", "SetupIntentRetrieveParams"),
    "GET /v1/payment_methods/:id": ("_payment_method_retrieve_params", "PaymentMethodRetrieveParams"),
    "POST /v1/payment_methods/:id/detach": ("_payment_method_detach_params", "PaymentMethodDetachParams"),
    "GET /v1/subscriptions/:id": ("_subscription_retrieve_params", "SubscriptionRetrieveParams"),
    "GET /v1/subscriptions": ("_subscription_list_params", "SubscriptionListParams"),
    "POST /v1/subscriptions/:id": ("_subscription_update_params", "SubscriptionUpdateParams"),
    "DELETE /v1/subscriptions/:id": ("_subscription_cancel_params", "SubscriptionCancelParams"),
    "GET /v1/invoices/:id": ("_invoice_retrieve_params", "InvoiceRetrieveParams"),
    "GET /v1/invoices": ("_invoice_list_params", "InvoiceListParams"),
    "GET /v1/invoice_payments": ("_invoice_payment_list_params", "InvoicePaymentListParams"),
    "POST /v1/customers": ("_customer_create_params", "CustomerCreateParams"),
    "GET /v1/customers/:id": ("_customer_retrieve_params", "CustomerRetrieveParams"),
    "POST /v1/refunds": ("_refund_create_params", "RefundCreateParams"),
    "GET /v1/refunds": ("_refund_list_params", "RefundListParams"),
    "GET /v1/refunds/:id": ("_refund_retrieve_params", "RefundRetrieveParams"),
    "GET /v1/disputes": ("_dispute_list_params", "DisputeListParams"),
    "GET /v1/disputes/:id": ("_dispute_retrieve_params", "DisputeRetrieveParams"),
    "GET /v1/balance_transactions": ("_balance_transaction_list_params", "BalanceTransactionListParams"),
    "GET /v1/balance_transactions/:id": (
        "_balance_transaction_retrieve_params", "BalanceTransactionRetrieveParams",
    ),
    "GET /v1/events": ("_event_list_params", "EventListParams"),
    "GET /v1/events/:id": ("_event_retrieve_params", "EventRetrieveParams"),
}  # fmt: skip


def known() -> dict[str, Any]:
    """Every call of the sandbox with the SDK's parameters for it."""
    return {call: tree(*find_class(f"stripe.params.{module}", name)) for call, (module, name) in CALLS.items()}


def tree(node: ast.ClassDef, scope: Scope) -> dict[str, Any]:
    return {name: shape(annotation, scope) for name, annotation in fields(node).items()}


def shape(annotation: ast.expr, scope: Scope) -> Any:
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return shape(ast.parse(annotation.value, mode="eval").body, scope)
    if isinstance(annotation, ast.BinOp):
        return either([annotation.left, annotation.right], scope)
    if isinstance(annotation, ast.Subscript):
        return generic(ast.unparse(annotation.value), arguments(annotation), scope)
    name = ast.unparse(annotation)
    if name in LEAVES:
        return LEAVES[name]
    return "any" if name in ANYTHING else tree(*scope.find(name))


def generic(name: str, inner: list[ast.expr], scope: Scope) -> Any:
    match name:
        case "NotRequired" | "Required" | "Optional":
            return shape(inner[0], scope)
        case "Literal":
            return "=" + "|".join(str(ast.literal_eval(one)) for one in inner)
        case "Union":
            return either(inner, scope)
        case "List":
            return [shape(inner[0], scope)]
        case "Dict" | "UntypedStripeObject":
            return "map"
    raise LookupError(f"an annotation that this reader does not know: {name}")


def either(inner: list[ast.expr], scope: Scope) -> Any:
    """The one that says most: ``''`` only unsets, an enumeration beats a string and has a boolean's values
    beside its own, a hash may have a scalar beside it.
    """
    shapes = [shape(one, scope) for one in inner]
    said = [one for one in shapes if one != "="] or shapes
    hashes = [one for one in said if isinstance(one, dict)]
    plain = sorted((one for one in said if isinstance(one, str)), key=lambda one: not one.startswith("="))
    lists = [one for one in said if isinstance(one, list)]
    if "boolean" in plain and plain[0].startswith("="):
        plain[0] += "|true|false"
    if hashes:
        return {**hashes[0], "": plain[0]} if plain else hashes[0]
    return lists[0] if lists else plain[0]


def text() -> str:
    """The file: a line for each parameter of the first level."""
    calls = []
    for call, parameters in known().items():
        lines = [f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in parameters.items()]
        calls.append(f"{json.dumps(call)}: {{\n" + ",\n".join(lines) + "\n}")
    return "{\n" + ",\n".join(calls) + "\n}\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
