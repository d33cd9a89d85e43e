"""What the guards of a server are told when they are made."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.sdk.typescript.conftest import TypeScript

pytestmark = [pytest.mark.slow, pytest.mark.limit(120)]

WRONG = {
    '{ holdd: 3 }': ["TypeError", "holdd: There is no such setting."],
    '{ hold: -1 }': ["RangeError", "hold: Give a number of 0 or more, not -1."],
    '{ rounds: 0 }': ["RangeError", "rounds: Give a number of 1 or more, not 0."],
    '{ progressEvery: NaN }': ["RangeError", "progressEvery: Give a number of 0.1 or more, not NaN."],
    '{ askAgainAfter: "60" }': ["RangeError", "askAgainAfter: Give a number of 0 or more, not 60."],
    '{ server: " " }': ["RangeError", 'server: Give the server a name of its own, not " ".'],
    '{ otherwise: "url" }': ["RangeError", "otherwise: Give one of link, refuse, not url."],
    '{ clients: { shy: "form" } }': ["RangeError", "clients: Give one of url, link, refuse, not form."],
    '{ push: false }': [
        "TypeError", "push: To refuse calls, give the SDK's UrlElicitationRequiredError as refusal.",
    ],
}  # fmt: skip
PROGRAM = """
const { McpFlows } = await import("DIST/mcp/index.js");
const server = { registerTool: () => "registered", server: {} };
const said = (make) => {
  try {
    return make() && null;
  } catch (error) {
    return [error.name, error.message];
  }
};
const flows = new McpFlows(server, { hold: 0, server: "crm", push: false, refusal: Error, otherwise: undefined });
const wrong = [GIVEN];
const made = wrong.map((given) => said(() => new McpFlows(server, given)));
const changed = wrong.slice(0, -1).map((given) => said(() => flows.having(given)));
console.log(JSON.stringify([made, changed, flows.registerTool("plain", {}, () => null)]));
"""


def test_a_wrong_setting_is_said_when_the_guards_are_made(typescript: TypeScript) -> None:
    program = PROGRAM.replace("DIST", str(typescript.installed / "dist")).replace("GIVEN", ", ".join(WRONG))
    command = [str(typescript.node), "--input-type=module", "-e", program]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    expected = list(WRONG.values())
    assert json.loads(ran.stdout) == [expected, expected[:-1], "registered"]
