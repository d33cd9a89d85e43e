"""``python -m bench.gateway``: calls that need nothing, to a server alone and to the same server behind the gateway.

The server is ``@modelcontextprotocol/server-everything`` on stdio, from tests/peers. Both sides are taken by turns.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from mcp import StdioServerParameters
from mcp.client.client import Client

ROOT = Path(__file__).resolve().parents[1]
SERVER = ROOT / "tests/peers/node_modules/@modelcontextprotocol/server-everything/dist/index.js"


async def per_second(client: Client, calls: int, at_once: int) -> float:
    """Calls in a second, with ``at_once`` of them open."""
    left = iter(range(calls))

    async def caller() -> None:
        for number in left:
            await client.call_tool("echo", {"message": str(number)})

    began = time.perf_counter()
    await asyncio.gather(*(caller() for _ in range(at_once)))
    return calls / (time.perf_counter() - began)


async def measured(mode: str, rounds: int, calls: int, at_once: int) -> tuple[float, float, float]:
    """The medians of both sides, and of their ratios."""
    alone = StdioServerParameters(command="node", args=[str(SERVER)])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "guard.toml")
        file.write_text(f'name = "bench"\n[servers.everything]\ncommand = "node"\nargs = ["{SERVER}"]\n')
        arguments = ["-m", "elicit_flows.sdk.cli", "guard", "--config", str(file)]
        env = {"ELICIT_API_KEY": "key-of-the-bench", "PYTHONPATH": str(ROOT)}
        behind = StdioServerParameters(command=sys.executable, args=arguments, env=env)
        async with Client(alone, mode="legacy") as one, Client(behind, mode=mode) as other:
            found = []
            for turn in range(rounds + 1):
                pair = await per_second(one, calls, at_once), await per_second(other, calls, at_once)
                found += [pair] if turn else []  # the first is for warming up
    ratio = median(second / first for first, second in found)
    return median(first for first, _ in found), median(second for _, second in found), ratio


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--calls", type=int, default=500)
    told = parser.parse_args()
    for mode in ("legacy", "auto"):
        for at_once in (1, 16):
            alone, behind, ratio = asyncio.run(measured(mode, told.rounds, told.calls, at_once))
            print(
                f"{mode}, {at_once} at once: alone {alone:.0f}/s, behind the gateway {behind:.0f}/s, ratio {ratio:.2f}"
            )


if __name__ == "__main__":
    main()
