"""The package where there is no Node: in Chromium, Deno and Bun, and for a type checker that knows of browsers only."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.sdk.fake import FakeService, Reply
from tests.sdk.typescript.conftest import PROGRAMS, RUNTIMES, Faults, Program, TypeScript, runner
from tests.sdk.typescript.test_client import answers, held, surroundings, webhooks

pytestmark = [pytest.mark.slow, pytest.mark.limit(120)]

ASK = """async ({headers, body, secret, untimely}) => {
    const { Elicit, InvalidRequestError, verifyWebhook } = await import("/dist/index.js");
    const said = [];
    const user = ["https://idp.example", "alice"];
    const elicit = new Elicit({ url: location.origin, apiKey: "key-of-the-tests" });
    const onUrl = (link) => said.push({ link });
    const outcome = await elicit.oauth(user, "acme", { message: "Connect.", onUrl });
    said.push({ outcome: outcome.result.connection });
    const wrong = { amount: 5, currency: "no", description: "A report" };
    const refused = await elicit.create("payment", user, wrong, { message: "Pay." }).catch((error) => error);
    said.push({ refused: [refused.name, refused.message, refused.status, refused.requestId] });
    said.push({ event: (await verifyWebhook(headers, body, secret)).type });
    const others = [{ ...headers, "webhook-id": "ev_2" }, { ...headers, "webhook-signature": "v1,AAAA" }, {}];
    for (const forged of [...others, ...untimely])
        said.push({ forged: await verifyWebhook(forged, body, secret).catch((error) => error.code) });
    return said;
}"""


def test_it_runs_in_a_browser(typescript: TypeScript, service: FakeService, browser: Browser) -> None:
    for file in (typescript.installed / "dist").glob("*.js"):
        service.on("GET", f"/dist/{file.name}", Reply(file.read_text(), headers={"Content-Type": "text/javascript"}))
    service.on("GET", "/page", Reply("<!doctype html><title>An agent</title>", headers={"Content-Type": "text/html"}))
    answers(service)
    page = browser.new_page()
    page.goto(f"{service.url}/page")
    lines = page.evaluate(ASK, webhooks())
    page.close()
    service.asked[:] = [one for one in service.asked if one.path.startswith("/v1/")]
    held(service, lines)


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_it_runs_on(runtime: str, start: Callable[..., Program], service: FakeService, tmp_path: Path) -> None:
    answers(service)
    program = start("quick", surroundings(service) | {"DENO_DIR": str(tmp_path / "deno")}, *runner(runtime))
    program.wait_until(lambda: len(program.lines) == 9, "it has said all")
    held(service, program.lines)


def test_its_types_need_neither_node_nor_its_way_to_find_modules(typescript: TypeScript, faults: Faults) -> None:
    folder = typescript.home / "bundled"
    folder.mkdir()
    (folder / "types.ts").write_text((PROGRAMS / "types.ts").read_text())
    config = json.loads((PROGRAMS / "tsconfig.json").read_text())
    config["compilerOptions"] |= {
        "lib": ["ES2022", "DOM"], "types": [], "module": "ESNext", "moduleResolution": "bundler", "noEmit": True,
    }  # fmt: skip
    (folder / "tsconfig.json").write_text(json.dumps(config))
    assert typescript.compile(folder) == {"types": faults["types"]}
