"""Every address of the service."""

from __future__ import annotations

from django.contrib import admin
from django.urls import path

from elicit_flows.api import docs, health, metrics
from elicit_flows.api.routes import api
from elicit_flows.inbound import views as inbound
from elicit_flows.web import (
    account,
    choosing,
    client_document,
    codes,
    connect,
    connections,
    drafts,
    enrolling,
    leaving,
    passkeys,
    paying,
    providers,
    signin,
    vouching,
)

handler400 = "elicit_flows.web.problems.bad_request"
handler403 = "elicit_flows.web.problems.forbidden"
handler404 = "elicit_flows.web.problems.not_found"
handler500 = "elicit_flows.web.problems.server_error"

urlpatterns = [
    path("", account.home),
    path("catalogue", providers.page),
    path("device", codes.enter),
    path("account", account.account),
    path("account/connections/<str:connection_id>", connections.show),
    path("account/connections/<str:connection_id>/revoke", connections.revoke),
    path("account/agents/<slug:slug>/revoke", connections.revoke_all),
    path("account/payments/<str:payment_id>/receipt", account.receipt),
    path("account/export", leaving.export),
    path("account/delete", leaving.delete),
    path("account/deleted", leaving.deleted),
    path("login", signin.begin),
    path("login/<slug:slug>/callback", signin.callback),
    path("login/<slug:slug>/vouch", vouching.vouch),
    path("login/<slug:slug>/vouched", vouching.vouched),
    path("login/<slug:slug>/passkey", passkeys.use),
    path("invitation", enrolling.invitation),
    path("account/passkeys", enrolling.passkeys),
    path("account/passkeys/new", enrolling.new),
    path("account/passkeys/<int:passkey_id>/remove", enrolling.remove),
    path("switch", signin.switch),
    path("logout", signin.end),
    path("logout/everywhere", signin.end_everywhere),
    path("c/<str:elicitation_id>", connect.show),
    path("c/<str:elicitation_id>/continue", connect.proceed),
    path("c/<str:elicitation_id>/submit", connect.submit),
    path("c/<str:elicitation_id>/decline", connect.decline),
    path("c/<str:elicitation_id>/account", choosing.choose),
    path("c/<str:elicitation_id>/draft", drafts.draft),
    path("c/<str:elicitation_id>/done", connect.done),
    path("callback/<slug:context>", connect.callback),
    path("oauth/<slug:slug>/client.json", client_document.show),
    path("payments/<slug:slug>/return", paying.returned),
    path("inbound/<slug:slug>", inbound.receive),
    path("v1/docs", docs.page),
    path("v1/", api.urls),
    path(".well-known/jwks.json", health.jwks),
    path("healthz", health.healthz),
    path("readyz", health.readyz),
    path("metrics", metrics.show),
    path("admin/", admin.site.urls),
]
