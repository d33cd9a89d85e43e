"""``python -m bench.gateway``: calls that need nothing, to a server alone, behind the gateway, and behind a bare proxy.

The server is ``@modelcontextprotocol/server-everything``, from tests/peers, on stdio or on HTTP; ``mixed`` is a client
on stdio behind the gateway, of the server on HTTP. The three are taken by
turns. The bare proxy passes on bytes and reads none of them: what it loses, another process between two loses in any
case.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from statistics import median
from typing import Any

from mcp import StdioServerParameters
from mcp.client.client import Client

from bench.machine import cpu_seconds
from tests.support.ports import free_port

ROOT = Path(__file__).resolve().parents[1]
SERVER = ROOT / "tests/peers/node_modules/@modelcontextprotocol/server-everything/dist/index.js"
GUARD = ["-m", "elicit_flows.sdk.cli", "guard", "--config"]
ENV = {"ELICIT_API_KEY": "key-of-the-bench", "PYTHONPATH": str(ROOT)}
ALONE, BEHIND, BARE = range(3)
Three = tuple[Any, ...]  # what a client takes for the server alone, the gateway and the bare proxy


async def nothing(progress: float, total: float | None, message: str | None) -> None:
    """The server never says how far it is."""


async def per_second(client: Client, calls: int, at_once: int, *, progress: bool) -> float:
    """Calls in a second, with ``at_once`` of them open. ``progress``: they ask to be told how far the server is."""
    told = nothing if progress else None
    left = iter(range(calls))

    async def caller() -> None:
        for number in left:
            await client.call_tool("echo", {"message": str(number)}, progress_callback=told)

    began = time.perf_counter()
    await asyncio.gather(*(caller() for _ in range(at_once)))
    return calls / (time.perf_counter() - began)


def own_process(mark: str) -> int:
    """The id of the latest process that this one started with ``mark`` in its command."""
    found = []
    for one in Path("/proc").iterdir():
        if one.name.isdigit() and (one / "stat").exists() and mark in (one / "cmdline").read_text():
            parent = (one / "stat").read_text().rpartition(")")[2].split()[1]
            if int(parent) == os.getpid():
                found.append(int(one.name))
    return max(found)


@asynccontextmanager
async def pipes() -> AsyncIterator[Three]:
    command = ["node", str(SERVER)]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "guard.toml")
        file.write_text(f'name = "bench"\n[servers.everything]\ncommand = "node"\nargs = ["{SERVER}"]\n')
        yield (
            StdioServerParameters(command=command[0], args=command[1:]),
            StdioServerParameters(command=sys.executable, args=[*GUARD, str(file)], env=ENV),
            StdioServerParameters(command=sys.executable, args=[str(ROOT / "bench/bare_lines.py"), *command]),
        )


@asynccontextmanager
async def mixed() -> AsyncIterator[Three]:
    """A client on stdio, of a server on HTTP."""
    async with http() as (alone, _, bare):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "guard.toml")
            file.write_text(f'name = "bench"\n[servers.everything]\nurl = "{alone}"\n')
            yield alone, StdioServerParameters(command=sys.executable, args=[*GUARD, str(file)], env=ENV), bare


@asynccontextmanager
async def http() -> AsyncIterator[Three]:
    ports = [free_port() for _ in range(3)]
    async with AsyncExitStack() as ends:
        folder = ends.enter_context(tempfile.TemporaryDirectory())
        file = Path(folder, "guard.toml")
        listen = f'name = "bench"\n[listen]\nport = {ports[BEHIND]}\n'
        file.write_text(f'{listen}[servers.everything]\nurl = "http://127.0.0.1:{ports[ALONE]}/mcp"\n')
        bare = [str(ROOT / "bench/bare_tcp.py"), str(ports[BARE]), str(ports[ALONE])]
        for port, command in zip(
            ports,
            (["node", str(SERVER), "streamableHttp"], [sys.executable, *GUARD, str(file)], [sys.executable, *bare]),
            strict=True,
        ):
            env = {**os.environ, **ENV, "PORT": str(port)}
            quiet = asyncio.subprocess.DEVNULL
            made = await asyncio.create_subprocess_exec(*command, env=env, stdout=quiet, stderr=quiet)
            ends.push_async_callback(made.wait)
            ends.callback(made.terminate)
            while True:
                try:
                    (await asyncio.open_connection("127.0.0.1", port))[1].close()
                    break
                except OSError:
                    await asyncio.sleep(0.1)
        yield tuple(f"http://127.0.0.1:{port}/mcp" for port in ports)


async def measured(transport: str, mode: str, rounds: int, calls: int, at_once: int, *, progress: bool) -> str:
    """The medians of the three, of the rounds' ratios, and the processor time of a call in both proxies."""
    async with (
        TRANSPORTS[transport]() as started,
        Client(started[ALONE], mode="legacy") as alone,
        Client(started[BEHIND], mode=mode) as behind,
        Client(started[BARE], mode="legacy") as bare,
    ):
        sides, found = (alone, behind, bare), []
        proxies = [own_process(mark) for mark in ("elicit_flows.sdk.cli", "bench/bare_")]
        for one in sides:
            await one.list_tools()  # as every client does
            await per_second(one, calls, at_once, progress=progress)  # for warming up
        before = [cpu_seconds(one) for one in proxies]
        for _ in range(rounds):
            found.append([await per_second(one, calls, at_once, progress=progress) for one in sides])
        used = [(cpu_seconds(one) - was) / rounds / calls for one, was in zip(proxies, before, strict=True)]
    speeds = [median(one[side] for one in found) for side in range(3)]
    ratios = [median(one[side] / one[ALONE] for one in found) for side in (BEHIND, BARE)]
    return (
        f"{transport}, {mode}, {at_once} at once{', with progress' if progress else ''}: alone {speeds[ALONE]:.0f}/s, "
        f"behind the gateway {speeds[BEHIND]:.0f}/s, behind a bare proxy {speeds[BARE]:.0f}/s; "
        f"gateway ÷ alone {ratios[0]:.2f}, bare proxy ÷ alone {ratios[1]:.2f}; "
        f"processor time of a call: gateway {used[0] * 1e3:.2f} ms, bare proxy {used[1] * 1e3:.2f} ms"
    )


TRANSPORTS = {"stdio": pipes, "http": http, "mixed": mixed}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--transport", choices=TRANSPORTS, action="append")
    parser.add_argument("--progress", action="store_true", help="calls ask to be told how far the server is")
    told = parser.parse_args()
    for transport in told.transport or TRANSPORTS:
        for mode in ("legacy", "auto"):
            for at_once in (1, 16):
                print(
                    asyncio.run(measured(transport, mode, told.rounds, told.calls, at_once, progress=told.progress)),
                    flush=True,
                )


if __name__ == "__main__":
    main()
