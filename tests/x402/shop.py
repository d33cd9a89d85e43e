"""A server that charges by x402, with the package's own middleware and facilitator client: ``/report`` and others.

``PRICES`` has the pages by path, with prices in USD. ``/_price`` changes what ``/report`` costs from now on.
"""

from __future__ import annotations

import sys
from typing import Any

from flask import Flask, redirect, request
from werkzeug.serving import make_server
from werkzeug.wrappers import Response
from x402 import x402ResourceServerSync
from x402.http import FacilitatorConfig, HTTPFacilitatorClientSync
from x402.http.middleware.flask import payment_middleware
from x402.http.types import PaymentOption, RouteConfig
from x402.mechanisms.evm.exact import ExactEvmServerScheme

PAYEE = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"
OTHER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
NETWORK = "eip155:84532"


def application(facilitator: str) -> Flask:
    app = Flask(__name__)
    server = x402ResourceServerSync(HTTPFacilitatorClientSync(FacilitatorConfig(url=facilitator)))
    server.register("eip155:*", ExactEvmServerScheme())
    price = {"report": "$0.01"}

    def option(cost: Any, payee: str = PAYEE, network: str = NETWORK) -> PaymentOption:
        return PaymentOption(scheme="exact", pay_to=payee, price=cost, network=network)

    routes = {
        "GET /report": RouteConfig(accepts=option(lambda _: price["report"]), description="A weather report"),
        "POST /report": RouteConfig(accepts=option("$0.02"), description="An own report"),
        "GET /dear": RouteConfig(accepts=option("$7.5"), description="A dear report"),
        "GET /other": RouteConfig(accepts=option("$0.01", OTHER), description="For another payee"),
        "GET /mainnet": RouteConfig(accepts=option("$0.01", network="eip155:8453"), description="For real money"),
    }
    payment_middleware(app, routes, server)

    @app.get("/report")
    @app.get("/dear")
    @app.get("/other")
    @app.get("/mainnet")
    def report() -> dict[str, str]:
        return {"report": "sunny", "path": request.path}

    @app.post("/report")
    def own() -> dict[str, Any]:
        return {"report": "cloudy", "asked": request.get_json()}

    @app.get("/free")
    def free() -> dict[str, str]:
        return {"report": "none"}

    @app.get("/moved")
    def moved() -> Response:
        return redirect(request.args["to"], 307)

    @app.post("/_price")
    def change() -> dict[str, str]:
        price["report"] = request.get_json()["price"]
        return price

    return app


if __name__ == "__main__":
    web = make_server("127.0.0.1", 0, application(sys.argv[1]), threaded=True)
    sys.stdout.write(f"shop at http://127.0.0.1:{web.server_port}\n")
    sys.stdout.flush()
    web.serve_forever()
