"""Checkout Sessions: create, retrieve, expire."""

from __future__ import annotations

from urllib.parse import urlsplit

from sandbox.stripe import application_fees, taxes
from sandbox.stripe.errors import StripeError, invalid, required, unsimulated
from sandbox.stripe.items import build_items, total
from sandbox.stripe.money import check_currency, check_total
from sandbox.stripe.shop import Shop
from sandbox.stripe.store import Thing, new_id

KIND = "checkout.session"
HALF_HOUR, DAY = 1800, 86_400
SLACK = 60  # seconds between the caller's clock and Stripe's
MAX_REFERENCE = 200
MAX_TRIAL = 730  # days
DATA = {"payment": "payment_intent_data", "setup": "setup_intent_data", "subscription": "subscription_data"}
BANKS = {"eur": "sepa_debit", "gbp": "bacs_debit", "usd": "us_bank_account", "aud": "au_becs_debit", "jpy": "konbini"}
NOTHING = [
    *("after_expiration", "billing_address_collection", "branding_settings", "client_secret", "collected_information"),
    *("consent", "consent_collection", "currency_conversion", "customer_account", "customer_details", "discounts"),
    *("integration_identifier", "invoice", "optional_items", "origin_context", "payment_intent", "payment_link"),
    *("payment_method_configuration_details", "permissions", "recovered_from", "return_url", "setup_intent"),
    *("shipping_address_collection", "shipping_cost", "subscription", "wallet_options"),
]


def create(shop: Shop, params: Thing) -> Thing:
    """An open session. Raises StripeError for what Stripe would refuse."""
    mode = check(shop, params)
    items = build_items(shop, params.get("line_items", []), mode)
    currency = items[0]["currency"] if items else params.get("currency")
    amount = total(items)
    if currency:
        check_total(amount, currency)
    data = params.get(DATA[mode], {})
    application_fees.check(shop, data.get("application_fee_amount"), amount, f"{DATA[mode]}[application_fee_amount]")
    application_fees.percent(shop, data.get("application_fee_percent"), f"{DATA[mode]}[application_fee_percent]")
    trial = trial_days(data)
    session = blank(shop, params, mode, currency) | amounts(mode, 0 if trial else amount)
    session |= {"_items": items, "_data": data, "automatic_tax": taxes.asked(shop, params, items)}
    free = mode == "setup" or not amount or trial
    session["payment_status"] = "no_payment_required" if free else "unpaid"
    return shop.put(session)


def trial_days(data: Thing) -> int:
    """Of a subscription, 0 for none."""
    days = int(data.get("trial_period_days", 0))
    if "trial_period_days" in data and not 1 <= days <= MAX_TRIAL:
        sentence = f"The `trial_period_days` must be between 1 and {MAX_TRIAL}."
        raise invalid("subscription_data[trial_period_days]", sentence)
    return days


def amounts(mode: str, amount: int) -> Thing:
    details = {"amount_discount": 0, "amount_shipping": 0, "amount_tax": 0}
    if mode == "setup":
        return {"amount_subtotal": None, "amount_total": None, "total_details": None}
    return {"amount_subtotal": amount, "amount_total": amount, "total_details": details}


def blank(shop: Shop, params: Thing, mode: str, currency: str | None) -> Thing:
    name = new_id("cs_test")
    return dict.fromkeys(NOTHING) | {
        "id": name,
        "object": KIND,
        "adaptive_pricing": {"enabled": False},
        "allow_promotion_codes": params.get("allow_promotion_codes"),
        "allowed_payment_method_types": params.get("allowed_payment_method_types"),
        "automatic_tax": taxes.OFF,
        "cancel_url": params.get("cancel_url"),
        "client_reference_id": params.get("client_reference_id"),
        "created": shop.now,
        "currency": currency,
        "custom_fields": [],
        "custom_text": custom_text(params),
        "customer": params.get("customer"),
        "customer_creation": customer_creation(params, mode),
        "customer_email": params.get("customer_email"),
        "excluded_payment_method_types": params.get("excluded_payment_method_types"),
        "expires_at": params.get("expires_at", shop.now + DAY),
        "invoice_creation": invoice_creation(params, mode),
        "livemode": False,
        "locale": params.get("locale"),
        "metadata": params.get("metadata", {}),
        "mode": mode,
        "payment_method_collection": "always" if mode == "subscription" else "if_required",
        "payment_method_options": {},
        "payment_method_types": methods(params, currency),
        "phone_number_collection": {"enabled": False},
        "redirect_on_completion": None,
        "saved_payment_method_options": None,
        "shipping_options": [],
        "status": "open",
        "submit_type": params.get("submit_type"),
        "success_url": params["success_url"],
        "ui_mode": "hosted_page",
        "url": f"{shop.root}/c/pay/{name}",
    }


def custom_text(params: Thing) -> Thing:
    names = ("after_submit", "shipping_address", "submit", "terms_of_service_acceptance")
    return {**dict.fromkeys(names), **params.get("custom_text", {})}


def invoice_creation(params: Thing, mode: str) -> Thing:
    """Raises StripeError for a mode that makes its invoices by itself, or none."""
    asked = params.get("invoice_creation", {"enabled": False})
    if asked["enabled"] and mode != "payment":
        raise invalid("invoice_creation", "You can only enable invoice creation when `mode` is set to `payment`.")
    names = ("account_tax_ids", "custom_fields", "description", "footer", "issuer", "metadata", "rendering_options")
    return {"enabled": asked["enabled"], "invoice_data": dict.fromkeys(names) | asked.get("invoice_data", {})}


def customer_creation(params: Thing, mode: str) -> str | None:
    if mode == "subscription" or params.get("customer"):
        return None
    return str(params.get("customer_creation", "always" if mode == "setup" else "if_required"))


def methods(params: Thing, currency: str | None) -> list[str]:
    """Cards, and one method that takes days, which cannot be held until it is captured."""
    held = params.get("payment_intent_data", {}).get("capture_method") == "manual"
    offered = ["card"] if held else ["card", BANKS.get(currency or "", "sepa_debit")]
    allowed = params.get("allowed_payment_method_types", offered)
    return [one for one in offered if one in allowed and one not in params.get("excluded_payment_method_types", [])]


def check(shop: Shop, params: Thing) -> str:
    """The mode, if the parameters are compatible."""
    mode = params.get("mode")
    if mode is None:
        raise required("mode")
    if params.get("ui_mode", "hosted_page") != "hosted_page":
        raise unsimulated("ui_mode other than hosted_page")
    check_urls(params)
    check_expiry(params.get("expires_at"), shop.now)
    check_mode(params, mode)
    if len(params.get("client_reference_id", "")) > MAX_REFERENCE:
        raise invalid("client_reference_id", f"Invalid string: must be at most {MAX_REFERENCE} characters")
    if "customer" in params:
        shop.get("customer", params["customer"], "customer", 400)
    if "currency" in params:
        check_currency(params["currency"], "currency")
    if not methods(params, params.get("currency")):
        raise invalid("allowed_payment_method_types", "No payment method is left, among those of the sandbox.")
    return str(mode)


def check_urls(params: Thing) -> None:
    if "success_url" not in params:
        raise required("success_url")
    for name in ("success_url", "cancel_url"):
        url = urlsplit(params.get(name, "https://example.com"))
        if url.scheme not in {"http", "https"} or not url.netloc:
            raise invalid(name, "Not a valid URL", "url_invalid")


def check_expiry(expires_at: int | None, now: int) -> None:
    """Check that it is between 30 minutes and 24 hours from now."""
    if expires_at is not None and expires_at < now + HALF_HOUR - SLACK:
        raise invalid("expires_at", "The `expires_at` timestamp must be at least 30 minutes from creation.")
    if expires_at is not None and expires_at > now + DAY + SLACK:
        raise invalid("expires_at", "The `expires_at` timestamp must be less than 24 hours from creation.")


def check_mode(params: Thing, mode: str) -> None:
    for other, name in DATA.items():
        if other != mode and name in params:
            raise invalid(name, f"You can not pass `{name}` in `{mode}` mode.")
    if mode == "setup" and params.get("line_items"):
        raise invalid("line_items", "You can not pass `line_items` in `setup` mode.")
    if mode == "setup" and "currency" not in params and "allowed_payment_method_types" not in params:
        raise required("currency")
    if mode != "setup" and not params.get("line_items"):
        raise required("line_items")
    if mode == "subscription" and "customer_creation" in params:
        raise invalid("customer_creation", "`customer_creation` can only be used in `payment` and `setup` mode.")
    if "customer_update" in params and "customer" not in params:
        raise invalid("customer_update", "`customer_update` can only be used with `customer`.")
    if "customer" in params and params.keys() & {"customer_email", "customer_creation"}:
        raise invalid("customer", "You may only specify one of these parameters: customer, customer_email.")


def expire(shop: Shop, session: Thing) -> Thing:
    """Expire it; refused if it is not open."""
    if session["status"] != "open":
        sentence = f'Only Checkout Sessions with a status in ["open"] can be expired. This one is {session["status"]}.'
        raise StripeError(400, sentence, kept=True)
    session |= {"status": "expired", "url": None}
    shop.emit("checkout.session.expired", session)
    return session


def expire_due(shop: Shop) -> None:
    """Expire sessions whose time is up."""
    for session in shop.all(KIND):
        if session["status"] == "open" and session["expires_at"] <= shop.now:
            expire(shop, session)
