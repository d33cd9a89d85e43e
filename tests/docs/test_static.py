"""Blocks that are not run: configuration files are applied, and JSON is compared with the API's schemas."""

from __future__ import annotations

import json
import re
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from jsonschema import Draft202012Validator
from pytest_django import Settings

from elicit_flows import catalogue, kinds
from elicit_flows.api.routes import api
from elicit_flows.models import Connection, IdentityProvider
from elicit_flows.wires import MESSAGES
from tests.brands.files import SVG, png
from tests.docs.page import found, pages_with
from tests.doubles import github
from tests.management.files import Operator
from tests.support import rows

SECRETS = {
    "STRIPE_KEY": "rk_test_of-our-account", "STRIPE_WEBHOOK_SECRET": "whsec_of-our-endpoint",
    "MOLLIE_KEY": "test_of-our-profile", "WEBHOOK_SECRET": "whsec_" + "A" * 43 + "=",
}  # fmt: skip
FILES = {".png": png(), ".svg": SVG.encode(), ".pem": github.pem().encode()}


@pytest.mark.django_db
@pytest.mark.parametrize("page", pages_with("apply"))
def test_apply_takes_every_configuration_of_the_page(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    """One after the other, as an operator would who followed the page."""
    settings.ELICIT_PUBLIC_URL = "https://flows.example.com"
    operator = Operator(tmp_path)
    for block in found(page, "apply"):
        text = block.text
        for name in re.findall(r'"env:(\w+)"', text):
            monkeypatch.setenv(name, SECRETS.get(name, "a-secret-of-the-tests"))
        for path in re.findall(r'"file:([^"]+)"', text):
            name = Path(path).name.upper().replace("-", "_")
            content = FILES.get(Path(path).suffix) or SECRETS.get(name, "a-secret-of-the-tests").encode()
            (tmp_path / name).write_bytes(content)
            text = text.replace(f'"file:{path}"', f'"file:{tmp_path / name}"')
        ran = operator.apply(text)
        assert ran.failed == 0, f"docs/{page}:{block.line}: {ran.said}"


@pytest.mark.parametrize("page", pages_with("entry"))
def test_every_entry_of_the_page_is_an_entry(page: str) -> None:
    for block in found(page, "entry"):
        assert f'name = "{catalogue.read(block.text, "any", "any.toml").name}"' in block.text


@pytest.mark.parametrize("page", pages_with("schema"))
def test_json_is_what_the_api_describes(page: str) -> None:
    root = api.get_openapi_schema()
    for block in found(page, "schema"):
        schema = {"$ref": f"#/components/schemas/{block.argument}", "components": root["components"]}
        Draft202012Validator(schema).validate(json.loads(block.text))


@pytest.mark.parametrize("page", pages_with("question"))
def test_what_is_asked_on_the_page_can_be_asked(page: str) -> None:
    for block in found(page, "question"):
        asked = json.loads(block.text)
        for one in asked["params"]["steps"] if asked["kind"] == "steps" else [asked]:
            kinds.get(one["kind"]).clean(one["params"])


@pytest.mark.parametrize("page", pages_with("wire"))
def test_the_messages_of_the_page_are_those_of_the_service(page: str) -> None:
    asked = {
        "id": "el_7Hq2", "kind": "oauth", "status": "pending", "url": "https://flows.example.com/c/el_7Hq2",
        "message": "To list your files.", "params": {}, "result": None, "error": None, "action": None,
    }  # fmt: skip
    shown = found(page, "wire")
    for block in shown:
        assert json.loads(block.text) == MESSAGES[block.argument](asked, False), block.argument
    assert {block.argument for block in shown} == set(MESSAGES) - {"acp"}, "whose message is MCP's"
    assert MESSAGES["acp"](asked, False) == MESSAGES["mcp-2025-11-25"](asked, False)


@pytest.mark.django_db
@pytest.mark.parametrize("page", pages_with("import"))
def test_tokens_can_be_imported_as_the_page_says(page: str, tmp_path: Path) -> None:
    for block in found(page, "import"):
        one = json.loads(block.text)
        at = IdentityProvider.objects.create(slug="idp", issuer=one["subject"]["iss"], client_id="elicit")
        bot = rows.agent(one["agent"], import_connections=True).row
        bot.identity_providers.set([at])
        rows.provider(slug=one["provider"])
        (tmp_path / "tokens.jsonl").write_text(json.dumps(one))
        call_command("import_tokens", str(tmp_path / "tokens.jsonl"), stdout=StringIO(), stderr=StringIO())
        assert Connection.objects.get(agent=bot).account_label == one["account"]["label"]
