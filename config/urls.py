"""Every address of the service."""

from __future__ import annotations

from django.conf import settings
from django.urls import URLResolver, include, path
from django.urls.resolvers import RoutePattern

from elicit_flows.api import docs, health, metrics
from elicit_flows.api import payment_webhooks as inbound
from elicit_flows.api.routes import api
from elicit_flows.web import (
    account,
    account_choice,
    account_mandates,
    account_payments,
    brand,
    client_document,
    connect,
    connections,
    form_drafts,
    invitations,
    languages,
    login_assertions,
    notifications,
    other_device,
    passkeys,
    payment_return,
    privacy,
    providers,
    signin,
    user_codes,
)

handler400 = "elicit_flows.web.error_pages.bad_request"
handler403 = "elicit_flows.web.error_pages.forbidden"
handler404 = "elicit_flows.web.error_pages.not_found"
handler500 = "elicit_flows.web.error_pages.server_error"


class LateURLs(URLResolver):
    """Everything below ``route``: the ``urlpatterns`` of ``module``, whose names are in ``namespace``. The module is
    imported when the first of its addresses is asked for, or linked to.
    """

    def __init__(self, route: str, module: str, namespace: str) -> None:
        super().__init__(RoutePattern(route), module, app_name=namespace, namespace=namespace)

    def _populate(self) -> None:
        """Nothing. Django calls this for each resolver when any address is looked up by its name, and would import the
        module then. Names of a namespace are looked up in a resolver of their own, which Django makes of the patterns.
        """


# For the private network. With ELICIT_METRICS_ADDRESS they have a port of their own, see api/metrics_server.py.
INSIDE = (
    []
    if settings.ELICIT_METRICS_ADDRESS
    else [path("metrics", metrics.show), path("incidents", metrics.show_incidents)]
)
# For developers. It is named by a string, so that the service does not import what its image lacks.
GALLERY = [path("", include("gallery.urls"))] if settings.ELICIT_GALLERY else []
urlpatterns = [
    # First, because these are called most often and Django tries the patterns in order.
    path("v1/docs", docs.page),
    path("v1/", api.urls),
    path("brand/picture/<slug:digest>", brand.picture),
    path("brand/style/<slug:name>/<slug:digest>.css", brand.style),
    path("", account.home),
    path("catalogue", providers.page),
    path("code", user_codes.enter),
    path("device", user_codes.enter),
    path("account", account.held),
    path("account/ended", account.ended),
    path("account/requests", account.requests),
    path("account/payments", account_payments.payments),
    path("account/activity", account.activity),
    path("account/security", account.security),
    path("account/notifications", notifications.choose),
    path("account/notifications/push", notifications.subscribe),
    path("account/notifications/push/<int:number>/end", notifications.end_push),
    path("unsubscribe/<str:token>", notifications.unsubscribe),
    path("account/sessions/others/end", account.end_other_sessions),
    path("account/sessions/<int:number>/end", account.end_session),
    path("account/connections/<str:connection_id>", connections.show),
    path("account/connections/<str:connection_id>/revoke", connections.revoke),
    path("account/agents/<slug:slug>/revoke", connections.revoke_all),
    path("account/providers/<slug:slug>/revoke", connections.revoke_provider),
    path("account/payments/mandates/<str:mandate_id>", account_mandates.show),
    path("account/payments/mandates/<str:mandate_id>/lower", account_mandates.lower),
    path("account/payments/mandates/<str:mandate_id>/end", account_mandates.end),
    path("account/payments/mandates/<str:mandate_id>/charges/<str:charge_id>/refuse", account_mandates.refuse),
    path("account/payments/subscriptions/<str:subscription_id>", account_payments.subscription),
    path("account/payments/subscriptions/<str:subscription_id>/keep", account_payments.keep),
    path("account/payments/<str:payment_id>/receipt", account_payments.receipt),
    path("account/payments/<str:payment_id>/cancel", account_payments.cancel),
    path("account/payments/<str:payment_id>/replace", account_payments.replace_method),
    path("account/export", privacy.export),
    path("account/delete", privacy.delete),
    path("account/deleted", privacy.deleted),
    path("login", signin.begin),
    path("login/<slug:slug>/callback", signin.callback),
    path("login/<slug:slug>/vouch", login_assertions.vouch),
    path("login/<slug:slug>/vouched", login_assertions.vouched),
    path("login/<slug:slug>/passkey", passkeys.use),
    path("invitation", invitations.invitation),
    path("account/passkeys", invitations.passkeys),
    path("account/passkeys/new", invitations.new),
    path("account/passkeys/<int:passkey_id>/remove", invitations.remove),
    path("switch", signin.switch),
    path("language", languages.switch),
    path("logout", signin.end),
    path("logout/everywhere", signin.end_everywhere),
    path("c/<str:elicitation_id>", connect.show),
    path("c/<str:elicitation_id>/continue", connect.proceed),
    path("c/<str:elicitation_id>/submit", connect.submit),
    path("c/<str:elicitation_id>/decline", connect.decline),
    path("c/<str:elicitation_id>/account", account_choice.choose),
    path("c/<str:elicitation_id>/draft", form_drafts.draft),
    path("c/<str:elicitation_id>/other-device", other_device.show),
    path("c/<str:elicitation_id>/other-device/code", other_device.make_code),
    path("c/<str:elicitation_id>/done", connect.done),
    path("callback/<slug:context>", connect.callback),
    path("oauth/<slug:slug>/client.json", client_document.show),
    path("payments/<slug:slug>/return", payment_return.returned),
    path("inbound/<slug:slug>", inbound.receive),
    path(".well-known/jwks.json", health.jwks),
    path("livez", health.livez),
    path("healthz", health.livez),
    path("readyz", health.readyz),
    *INSIDE,
    LateURLs("admin/", "elicit_flows.admin.registry", "admin"),
    *GALLERY,
]
