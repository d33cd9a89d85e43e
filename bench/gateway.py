"""``python -m bench.gateway``: calls that need nothing, to a server alone, behind the gateway, and behind a bare proxy.

The server is ``@modelcontextprotocol/server-everything`` on stdio, from tests/peers. The three are taken by turns. The
bare proxy passes on bytes and reads none of them: what it loses, another process between two pipes loses in any case.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from mcp import StdioServerParameters
from mcp.client.client import Client

from bench.machine import cpu_seconds

ROOT = Path(__file__).resolve().parents[1]
SERVER = ROOT / "tests/peers/node_modules/@modelcontextprotocol/server-everything/dist/index.js"
ALONE, BEHIND, BARE = range(3)


async def per_second(client: Client, calls: int, at_once: int) -> float:
    """Calls in a second, with ``at_once`` of them open."""
    left = iter(range(calls))

    async def caller() -> None:
        for number in left:
            await client.call_tool("echo", {"message": str(number)})

    began = time.perf_counter()
    await asyncio.gather(*(caller() for _ in range(at_once)))
    return calls / (time.perf_counter() - began)


def own_process(mark: str) -> int:
    """The id of the process that this one started with ``mark`` in its command."""
    for one in Path("/proc").iterdir():
        if one.name.isdigit() and (one / "stat").exists() and mark in (one / "cmdline").read_text():
            parent = (one / "stat").read_text().rpartition(")")[2].split()[1]
            if int(parent) == os.getpid():
                return int(one.name)
    raise LookupError(mark)


async def measured(mode: str, rounds: int, calls: int, at_once: int) -> str:
    """The medians of the three, of the rounds' ratios, and the processor time of a call in both proxies."""
    command = ["node", str(SERVER)]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "guard.toml")
        file.write_text(f'name = "bench"\n[servers.everything]\ncommand = "node"\nargs = ["{SERVER}"]\n')
        guard = ["-m", "elicit_flows.sdk.cli", "guard", "--config", str(file)]
        env = {"ELICIT_API_KEY": "key-of-the-bench", "PYTHONPATH": str(ROOT)}
        started = (
            (StdioServerParameters(command=command[0], args=command[1:]), "legacy"),
            (StdioServerParameters(command=sys.executable, args=guard, env=env), mode),
            (
                StdioServerParameters(command=sys.executable, args=[str(ROOT / "bench/bare_lines.py"), *command]),
                "legacy",
            ),
        )
        async with (
            Client(started[ALONE][0], mode=started[ALONE][1]) as alone,
            Client(started[BEHIND][0], mode=started[BEHIND][1]) as behind,
            Client(started[BARE][0], mode=started[BARE][1]) as bare,
        ):
            sides, found = (alone, behind, bare), []
            proxies = [own_process(mark) for mark in ("elicit_flows.sdk.cli", "bare_lines.py")]
            for one in sides:
                await per_second(one, calls, at_once)  # for warming up
            before = [cpu_seconds(one) for one in proxies]
            for _ in range(rounds):
                found.append([await per_second(one, calls, at_once) for one in sides])
            used = [(cpu_seconds(one) - was) / rounds / calls for one, was in zip(proxies, before, strict=True)]
    speeds = [median(one[side] for one in found) for side in range(3)]
    ratios = [median(one[side] / one[ALONE] for one in found) for side in (BEHIND, BARE)]
    return (
        f"{mode}, {at_once} at once: alone {speeds[ALONE]:.0f}/s, behind the gateway {speeds[BEHIND]:.0f}/s, "
        f"behind a bare proxy {speeds[BARE]:.0f}/s; gateway ÷ alone {ratios[0]:.2f}, bare proxy ÷ alone "
        f"{ratios[1]:.2f}; "
        f"processor time of a call: gateway {used[0] * 1e3:.2f} ms, bare proxy {used[1] * 1e3:.2f} ms"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--calls", type=int, default=200)
    told = parser.parse_args()
    for mode in ("legacy", "auto"):
        for at_once in (1, 16):
            print(asyncio.run(measured(mode, told.rounds, told.calls, at_once)), flush=True)


if __name__ == "__main__":
    main()
