"""The examples of the API's reference, in curl and in Python: each is run, and the answer is the one described."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import httpx2
import pytest
from django.conf import settings
from django.db import transaction
from joserfc.jwk import ECKey

from docs.generate import api as reference
from docs.generate.blocks import Block
from elicit_flows import oauth, vault
from elicit_flows.api.openapi import operations
from elicit_flows.api.routes import api
from elicit_flows.domain.values import Claim, Secret
from elicit_flows.identity import jwks
from elicit_flows.lib import clock
from elicit_flows.models import Delivery, IdentityProvider
from elicit_flows.models import Provider as ProviderRow
from elicit_flows.payments import charges
from elicit_flows.sdk import SyncElicit
from tests.docs.page import found
from tests.doubles.policy import loopback_allowed
from tests.doubles.provider import Provider
from tests.doubles.server import json_response
from tests.support import money, rows
from tests.support.process import clean_env
from tests.support.rows import Known
from tests.support.serving import Served

BLOCKS = found("reference/api.md", "api")
SEATS = {"type": "object", "properties": {"seats": {"type": "integer"}}, "required": ["seats"]}


@pytest.fixture
def double() -> Iterator[Provider]:
    oauth.forget()
    jwks.forget()
    with Provider() as provider, loopback_allowed():
        yield provider


@pytest.fixture
def known(served: Served, double: Provider) -> Known:
    """An agent that may do all that the examples do, whose users sign in at the double."""
    rows.provider(double, api_urls=[double.url])
    double.scripted["unknown"] = json_response({"files": []})  # its API
    agent = rows.agent(import_connections=True, webhook_url="http://127.0.0.1:9/hooks")
    op = IdentityProvider.objects.create(slug="op", issuer=double.issuer, client_id="elicit")
    agent.row.identity_providers.set([op])
    return agent


@pytest.fixture
def names(served: Served, known: Known, double: Provider) -> dict[str, str]:
    """One object of each sort, by the name that the examples have for it."""
    alice = Claim(double.issuer, "alice")
    drive = ProviderRow.objects.get(slug="drive")
    held = rows.connection(known, drive, rows.grant(double, account="alice"), alice)
    key = Secret(json.dumps(ECKey.generate_key("P-256").as_dict(private=True)))
    bound = rows.connection(
        known, drive, replace(rows.grant(double, account="bound"), dpop_key=key, token_type="DPoP"), alice
    )
    with transaction.atomic():
        typed = vault.keep_credentials(known.row, alice, None, "Key", {"api_key": Secret("k-1")})
    at = money.account(allow_mandates=True)
    paid, allowed = money.payment(known, at, alice), money.mandate(known, at, alice)
    going = money.subscription(known, at, alice, status="past_due", past_due_since=clock.now())
    money.renewal(going)
    wanted = money.authorization(known, money.wallet(), alice)
    asked = {"amount": 1290, "description": "A ticket to Bern", "item": None, "uses": None, "metadata": {}}
    charge, _ = charges.reserve(allowed, asked, "in the examples", "")
    with SyncElicit(served.url, known.who.api_key) as elicit:
        asked = elicit.create("confirm", alice, {}, message="May I?")
        form = elicit.create("form", alice, {"schema": SEATS, "shared": True}, message="How many?")
        finished = elicit.cancel(elicit.create("confirm", alice, {}, message="May I?", idempotency_key="x"))
    return {
        "iss": alice.iss, "sub": alice.sub, "elicitation": asked.id, "form": form.id, "finished": finished.id,
        "connection": held.pk, "bound": bound.pk, "typed": typed.pk, "payment": paid.pk,
        "mandate": allowed.pk, "charge": charge.pk, "subscription": going.pk,
        "authorization": wanted.pk,
        "entitlement": money.entitlement(paid).pk, "delivery": str(Delivery.objects.all()[0].pk),
        "user_token": double.jwt(aud=settings.ELICIT_PUBLIC_URL),
    }  # fmt: skip


def in_shell(block: Block, url: str, known: Known, names: dict[str, str]) -> None:
    env = {name.upper(): value for name, value in names.items()}
    env |= {"ELICIT_URL": url, "ELICIT_API_KEY": known.who.api_key, "NO_PROXY": "*"}
    script = f'curl() {{ command curl --fail-with-body --silent --show-error "$@"; }}\n{block.text}'
    ran = subprocess.run(
        ["/bin/sh", "-e", "-c", script], env=clean_env(env), capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert not ran.stdout or json.loads(ran.stdout)


def in_python(block: Block, url: str, known: Known, names: dict[str, str]) -> None:
    with SyncElicit(url, known.who.api_key) as elicit, known.client(url) as http:
        scope: dict[str, Any] = {**names, "elicit": elicit, "http": http, "user": (names["iss"], names["sub"])}
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(block.text, f"docs/reference/api.md:{block.line}", "exec"), scope)


@pytest.mark.slow
@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: f"{block.language}-{block.line}")
def test_the_example_works(block: Block, served: Served, known: Known, names: dict[str, str]) -> None:
    run: Callable[..., None] = {"sh": in_shell, "python": in_python}[block.language]
    run(block, served.url, known, names)


def test_every_call_has_an_example_in_either_language() -> None:
    calls = [operation["operationId"] for _, _, operation in operations(api.get_openapi_schema())]
    assert list(reference.examples()) == calls
    assert [block.language for block in BLOCKS] == ["sh", "python"] * len(calls)


def test_the_page_names_every_field_of_the_answer(served: Served) -> None:
    schema = httpx2.get(f"{served.url}/v1/openapi.json", trust_env=False).json()
    page = reference.part()
    for kind in schema["components"]["schemas"]["Elicitation"]["discriminator"]["mapping"].values():
        for name in schema["components"]["schemas"][kind.rpartition("/")[2]]["properties"]:
            assert f"`{name}`" in page
