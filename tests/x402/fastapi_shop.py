"""A shop like that of ``shop``, with the package's middleware for FastAPI. It runs in an environment of its own, so it
imports nothing of this project: ``python fastapi_shop.py FACILITATOR PAYEE``.
"""

from __future__ import annotations

import socket
import sys

import uvicorn
from fastapi import FastAPI, Request, Response
from starlette.middleware.base import RequestResponseEndpoint
from x402 import x402ResourceServer
from x402.http import FacilitatorConfig, HTTPFacilitatorClient
from x402.http.middleware.fastapi import payment_middleware
from x402.http.types import PaymentOption, RouteConfig
from x402.mechanisms.evm.exact import ExactEvmServerScheme


def application(facilitator: str, payee: str) -> FastAPI:
    app = FastAPI()
    server = x402ResourceServer(HTTPFacilitatorClient(FacilitatorConfig(url=facilitator)))
    server.register("eip155:*", ExactEvmServerScheme())
    option = PaymentOption(scheme="exact", pay_to=payee, price="$0.01", network="eip155:84532")
    routes = {"POST /report/*": RouteConfig(accepts=option, description="A report of FastAPI's")}
    pays = payment_middleware(routes, server)

    @app.middleware("http")
    async def charge(request: Request, call_next: RequestResponseEndpoint) -> Response:
        return await pays(request, call_next)

    @app.post("/report/{town}")
    async def report(town: str, request: Request) -> dict[str, object]:
        return {"report": "rainy", "town": town, "asked": await request.json()}

    return app


if __name__ == "__main__":
    listening = socket.create_server(("127.0.0.1", 0))
    sys.stdout.write(f"shop at http://127.0.0.1:{listening.getsockname()[1]}\n")
    sys.stdout.flush()
    config = uvicorn.Config(application(*sys.argv[1:]), log_level="warning")
    uvicorn.Server(config).run(sockets=[listening])
