"""The Flask application: the OpenID provider, Acme Drive, the doubles of payment providers, and the console."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from urllib.parse import urlsplit

from flask import Blueprint, Flask, Response, abort, g, render_template, request
from werkzeug.exceptions import HTTPException, SecurityError

from sandbox.acme import AcmeDrive
from sandbox.console import Console
from sandbox.keys import AcmeKeys
from sandbox.mollie import api as mollie_api
from sandbox.mollie import configured as mollie
from sandbox.mollie import control as mollie_control
from sandbox.mollie import page as mollie_page
from sandbox.openid import OpenIDProvider
from sandbox.paypal import api as paypal_api
from sandbox.paypal import configured as paypal
from sandbox.paypal import control as paypal_control
from sandbox.paypal import page as paypal_page
from sandbox.settings import Settings
from sandbox.stripe.api import Api
from sandbox.stripe.configured import configured
from sandbox.stripe.control import Control
from sandbox.stripe.page import PayPage


def create_app(settings: Settings) -> Flask:
    app = Flask(__name__)
    app.config.update(
        SECRET_KEY=secrets.token_hex(),
        SESSION_COOKIE_NAME="sandbox_session",
        SESSION_COOKIE_SAMESITE="Lax",
        MAX_CONTENT_LENGTH=64 * 1024,
        TRUSTED_HOSTS=["127.0.0.1", "localhost", "[::1]", str(urlsplit(settings.root).hostname)],
    )
    for part in (OpenIDProvider, AcmeDrive, AcmeKeys, Console):
        app.register_blueprint(part(settings).blueprint())
    for blueprint in [*stripe_blueprints(settings), *mollie_blueprints(settings), *paypal_blueprints(settings)]:
        app.register_blueprint(blueprint)
    app.before_request(refuse_foreign_forms)
    app.after_request(headers_for(settings))
    app.register_error_handler(HTTPException, problem)
    return app


def stripe_blueprints(settings: Settings) -> list[Blueprint]:
    double = configured(settings)
    return [Api(double).blueprint(), PayPage(double).blueprint(), Control(double).blueprint()]


def mollie_blueprints(settings: Settings) -> list[Blueprint]:
    double = mollie.configured(settings)
    parts = (mollie_api.Api(double), mollie_page.PayPage(double), mollie_control.Control(double))
    return [part.blueprint() for part in parts]


def paypal_blueprints(settings: Settings) -> list[Blueprint]:
    double = paypal.configured(settings)
    parts = (paypal_api.Api(double), paypal_page.PayPage(double), paypal_control.Control(double))
    return [part.blueprint() for part in parts]


def refuse_foreign_forms() -> None:
    """Refuse forms that were sent from pages of another site. Programs without a browser send no Origin."""
    origin = request.headers.get("Origin")
    if request.method == "POST" and origin and urlsplit(origin).netloc != request.host:
        abort(403, "This form was sent from another site.")


def headers_for(settings: Settings) -> Callable[[Response], Response]:
    """The headers of a page. Forms may lead to the service, because signing in, allowing and paying end with a redirect
    there.

    A page whose forms lead elsewhere sets ``g.form_targets`` to those origins.
    """
    service = urlsplit(settings.service_url)
    targets = f"'self' {service.scheme}://{service.netloc}"
    policy = "; ".join(
        [
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "img-src 'self'",
            "connect-src 'self'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
        ]
    )

    def set_headers(response: Response) -> Response:
        allowed = " ".join([targets, *g.get("form_targets", [])])
        response.headers["Content-Security-Policy"] = f"form-action {allowed}; {policy}"
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Referrer-Policy"] = "same-origin"
        response.headers.setdefault("Cache-Control", "no-store")
        return response

    return set_headers


def problem(error: HTTPException) -> tuple[str, int] | Response | HTTPException:
    """The page for our own errors. Authlib's JSON answers are not changed, and a foreign Host gets no page."""
    if error.response is not None or error.code is None or isinstance(error, SecurityError):
        return error
    return render_template("problem.html", title=error.name, detail=error.description), error.code
