"""``python -m sandbox.run``: what ``make run`` starts after the installation. Ctrl-C stops everything."""

from __future__ import annotations

import argparse
import os
import secrets
import socket
import subprocess
import sys
from pathlib import Path

from sandbox.configure import configuration
from sandbox.family import Family, Gone, Stopped
from sandbox.settings import SANDBOX_URL, SERVICE_URL

HOST = "127.0.0.1"
VAR = Path("var")
KEY_FILE = VAR / "demo.key"
MANAGE = [sys.executable, "manage.py"]
READY_SECONDS = 60.0


class Refusal(Exception):
    """It cannot start; the sentence says why."""


def main() -> int:
    args = arguments()
    service, sandbox = f"http://{HOST}:{args.port}", f"http://{HOST}:{args.sandbox_port}"
    environment = child_environment(service)
    try:
        free(args.port, "PORT")
        free(args.sandbox_port, "SANDBOX_PORT")
        prepare(environment, configuration(service, sandbox))
        with Family(environment) as family:
            family.start("the service", [*MANAGE, "serve", "--host", HOST, "--port", str(args.port)])
            family.start("the sandbox", sandbox_command(args.sandbox_port, service))
            family.wait_for([f"{service}/readyz", f"{sandbox}/.well-known/openid-configuration"], READY_SECONDS)
            print(greeting(service, sandbox), flush=True)
            family.wait()
    except (Stopped, KeyboardInterrupt):
        print("\nStopped.", flush=True)
        return 0
    except (Refusal, Gone) as error:
        print(f"\n{error}", file=sys.stderr, flush=True)
        return 1


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m sandbox.run", description=__doc__)
    parser.add_argument("--port", type=int, default=8000, help="the service's (default: %(default)s)")
    parser.add_argument("--sandbox-port", type=int, default=8001, help="the sandbox's (default: %(default)s)")
    return parser.parse_args()


def sandbox_command(port: int, service: str) -> list[str]:
    place = ["--port", str(port), "--service-url", service, "--key-file", str(KEY_FILE)]
    return [sys.executable, "-m", "sandbox", *place]


def child_environment(service: str) -> dict[str, str]:
    """Our environment with loopback allowed. The user's own agent key is removed, because the demo agent has
    its own.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ELICIT_API_KEY")}
    return {**kept, "ELICIT_ALLOW_LOOPBACK": "1", "ELICIT_PUBLIC_URL": service, "PYTHONUNBUFFERED": "1"}


def free(port: int, name: str) -> None:
    try:
        socket.create_server((HOST, port)).close()
    except OSError as error:
        sentence = (
            f"Port {port} cannot be had ({os.strerror(error.errno or 0)}). Choose another: make run {name}={port + 100}"
        )
        raise Refusal(sentence) from error


def prepare(environment: dict[str, str], config: str) -> None:
    """Create the folder var/, the demo agent's key, the database and the configuration. Safe to repeat."""
    VAR.mkdir(mode=0o700, exist_ok=True)
    make_key()
    demo = VAR / "demo.toml"
    demo.write_text(config, encoding="utf-8")
    step("Preparing the database", ["migrate", "--verbosity", "0"], environment)
    step("Configuring the demo", ["apply", "--yes", str(demo)], environment)


def make_key() -> None:
    """Create the demo agent's key once, readable by this user only."""
    try:
        with open(KEY_FILE, "x", encoding="utf-8", opener=private) as file:
            file.write(f"demo_{secrets.token_urlsafe(32)}\n")
    except FileExistsError:
        return


def private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def step(what: str, command: list[str], environment: dict[str, str]) -> None:
    print(f"{what} …", flush=True)
    if subprocess.run([*MANAGE, *command], env=environment, check=False).returncode:
        raise Refusal(f"{what} did not work: the lines above say why.")


def greeting(service: str, sandbox: str) -> str:
    return f"""
  The service   {service}
  The sandbox   {sandbox}

  Open {sandbox} in a browser. It plays an agent: ask alice to connect Acme Drive, open the link,
  sign in, allow, and watch the agent being told. Or ask from a program:

      {quickstart(service, sandbox)}

  Ctrl-C stops both."""


def quickstart(service: str, sandbox: str) -> str:
    """The command that asks at these addresses, without default values."""
    where = "" if service == SERVICE_URL else f"ELICIT_URL={service} "
    whom = "" if sandbox == SANDBOX_URL else f" --user {sandbox} alice --files-url {sandbox}/acme/api/files"
    return f"{where}.venv/bin/python examples/quickstart.py{whom}"


if __name__ == "__main__":
    sys.exit(main())
