"""The files for more than one machine say only what is there: variables, commands, services, sources."""

from __future__ import annotations

import ast
import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from celery.app.utils import find_app
from celery.bin.celery import celery as celery_command
from django.conf import settings
from django.core.management import CommandError, get_commands, load_command_class

from config.asgi import MAX_BODY
from tests.support.process import PROJECT, clean_env

TEXT = (PROJECT / "docker-compose.yml").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load(TEXT)
SERVICES: dict[str, Any] = COMPOSE["services"]
OURS = [name for name, service in SERVICES.items() if "build" in service]
EXAMPLE = (PROJECT / "deploy" / "env.example").read_text()
NGINX = (PROJECT / "deploy" / "nginx.conf").read_text()
DOCKERFILE = (PROJECT / "Dockerfile").read_text()
READERS = {"text", "flag", "number", "origin", "database", "kept"}
KEYS = {
    "build", "image", "restart", "environment", "depends_on", "command", "ports", "volumes", "ulimits", "healthcheck",
}  # fmt: skip
NEEDED = ("manage.py", "config", "elicit_flows", "templates", "requirements.txt")


def variables_read() -> set[str]:
    """What the settings and ``serve`` read from the environment, by their source."""
    sources = [*(PROJECT / "config").glob("*.py"), PROJECT / "elicit_flows/management/commands/serve.py"]
    return {name for source in sources for name in _read_in(ast.parse(source.read_text()))}


def _read_in(tree: ast.Module) -> Iterator[str]:
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.args:
            of, name = ast.unparse(call.func.value), call.args[0]
            reads = (of == "env" and call.func.attr in READERS) or (of == "os.environ" and call.func.attr == "get")
            if reads and isinstance(name, ast.Constant):
                yield str(name.value)


def example() -> dict[str, str]:
    """deploy/env.example, filled in as it says: what the comment above an empty line prints is its value."""
    found, command = {}, ""
    for line in EXAMPLE.splitlines():
        name, assigned, value = line.partition("=")
        if not line.startswith("#") and assigned:
            optional = f"${{{name}:-" in TEXT
            found[name] = value or (_printed(command) if command else "" if optional else "chosen")
        command = line.removeprefix("# ") if line.startswith("# python3 -c ") else ""
    return found


def _printed(command: str) -> str:
    program, *arguments = shlex.split(command)
    assert program == "python3"
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True).stdout.strip()


def filled(text: str, values: dict[str, str]) -> str:
    """``text`` with its ${VARIABLES} put in, as compose does for the two forms in use here."""
    return re.sub(r"\$\{(\w+)(?::[?-][^}]*)?\}", lambda match: values[match[1]], text)


def environment(service: str) -> dict[str, str]:
    values = example()
    return {name: filled(str(text), values) for name, text in SERVICES[service]["environment"].items()}


def compose() -> list[str] | None:
    """The tool, where there is one that has the subcommand."""
    for command in (["docker", "compose"], ["docker-compose"]):
        if (
            shutil.which(command[0])
            and not subprocess.run([*command, "version"], capture_output=True, check=False).returncode
        ):
            return command
    return None


def test_the_services_of_the_contract_are_there_and_no_others_are_depended_on() -> None:
    assert {"postgres", "redis", "web", "worker", "beat"} <= set(SERVICES)
    for name, service in SERVICES.items():
        assert set(service.get("depends_on", [])) <= set(SERVICES), name
        for volume in service.get("volumes", []):
            source = volume.partition(":")[0]
            assert (PROJECT / source).is_file() if source.startswith(".") else source in COMPOSE["volumes"], volume


def test_the_file_says_only_what_compose_understands(tmp_path: Path) -> None:
    """By the keys in use; and by compose itself where it is installed."""
    assert {key for key in COMPOSE if not key.startswith("x-")} == {"services", "volumes"}
    for name, service in SERVICES.items():
        assert set(service) <= KEYS, name
        assert len({"build", "image"} & set(service)) == 1, name
    tool = compose()
    if tool:
        file = tmp_path / "env"
        file.write_text("".join(f"{name}={value}\n" for name, value in example().items()))
        asked = [*tool, "--env-file", str(file), "-f", "docker-compose.yml", "config", "-q"]
        ran = subprocess.run(asked, cwd=PROJECT, env=clean_env(), capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr


def test_every_image_has_a_tag_that_stays() -> None:
    images = [service["image"] for service in SERVICES.values() if "image" in service]
    images += re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)
    assert len(images) == len(SERVICES) - len(OURS) + 1
    for image in images:
        assert re.fullmatch(r"[\w./-]+:\d[\w.-]*", image), f"{image} may be another one tomorrow"


@pytest.mark.parametrize("service", OURS)
def test_every_variable_given_is_one_that_the_service_reads(service: str) -> None:
    given = set(SERVICES[service]["environment"])
    assert given <= variables_read()
    assert {"DATABASE_URL", "REDIS_URL", "SECRET_KEY", "ELICIT_VAULT_KEYS", "ELICIT_PUBLIC_URL"} <= given


def test_every_variable_to_fill_in_stands_in_the_example_and_the_other_way_round() -> None:
    assert set(re.findall(r"\$\{(\w+)", TEXT)) == set(example())
    assert not re.search(r"\$[A-Za-z]", TEXT), "a form of substitution that is not looked at here"


def test_secrets_must_be_given_and_stand_nowhere() -> None:
    for name in ("POSTGRES_PASSWORD", "SECRET_KEY", "ELICIT_VAULT_KEYS"):
        assert re.findall(rf"^{name}=(.*)$", EXAMPLE, re.MULTILINE) == [""]
        uses = re.findall(rf"\$\{{{name}(?=[:}}])[^}}]*\}}", TEXT)
        assert uses
        assert all(":?" in use for use in uses), f"compose must refuse to start without {name}"


def test_the_service_starts_with_the_example_filled_in() -> None:
    ran = subprocess.run(
        [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"],
        cwd=PROJECT, env=clean_env(environment("web")), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr


def check_command(command: list[str]) -> None:
    """Fails unless the command line is one that Django or Celery would take."""
    if command[:2] == ["python", "manage.py"]:
        name, *arguments = command[2:]
        load_command_class(get_commands()[name], name).create_parser("manage.py", name).parse_args(arguments)
        return
    assert command[:3] == ["celery", "-A", "config"]
    assert find_app(command[2]).tasks["elicit_flows.tasks.tick"]
    name, *arguments = command[3:]
    options = {option for parameter in celery_command.commands[name].params for option in parameter.opts}
    assert {part for part in arguments if part.startswith("-")} <= options


@pytest.mark.parametrize("service", OURS)
def test_every_command_is_a_real_one(service: str) -> None:
    check_command(SERVICES[service]["command"])


def test_a_wrong_command_is_found() -> None:
    for wrong in (
        ["python", "manage.py", "serve", "--prot", "1"],
        ["celery", "-A", "config", "beat", "--concurency", "2"],
    ):
        with pytest.raises((CommandError, AssertionError)):
            check_command(wrong)


def test_beat_schedules_what_the_worker_has() -> None:
    assert {entry["task"] for entry in settings.CELERY_BEAT_SCHEDULE.values()} <= set(find_app("config").tasks)


def test_the_image_is_made_of_files_that_exist_and_runs_a_real_command() -> None:
    check_command(json.loads(re.findall(r"^CMD (.*)$", DOCKERFILE, re.MULTILINE)[0]))
    ignored = (PROJECT / ".dockerignore").read_text().split()
    for line in re.findall(r"^COPY (.*)$", DOCKERFILE, re.MULTILINE):
        for source in line.split()[:-1]:
            assert (PROJECT / source).exists(), line
    for name in NEEDED:
        assert (PROJECT / name).exists()
        assert name not in ignored
    assert {".git", "var", ".venv"} <= set(ignored), "what is this machine's own stays out of the image"
    assert re.findall(r"^USER (\S+)$", DOCKERFILE, re.MULTILINE) not in ([], ["root"])


def upstream(wait: str, streams: str) -> str:
    """Where nginx sends a request, by the map in its configuration."""
    lines = re.findall(r'^\s+(default|"\d*") (\w+:\d+);', NGINX, re.MULTILINE)
    targets: dict[str, str] = {key.strip('"'): target for key, target in lines}
    return targets.get(wait + streams, targets["default"])


def test_the_proxy_sends_what_waits_to_the_process_for_waiting_and_names_only_services() -> None:
    assert (upstream("", "0"), upstream("25", "0"), upstream("", "1")) == ("web:8000", "waiting:8000", "waiting:8000")
    for host, port in re.findall(r"\b([a-z]+):(\d+);", NGINX):
        assert port in SERVICES[host]["command"], f"{host} does not listen on {port}"
    published = SERVICES["proxy"]["ports"][0].rpartition(":")[2]
    assert f"listen {published};" in NGINX


def test_the_proxy_is_more_patient_than_the_longest_wait_and_takes_as_much_as_the_service() -> None:
    patience = re.findall(r"proxy_read_timeout (\d+)s;", NGINX)
    assert int(patience[0]) > settings.ELICIT_MAX_WAIT
    size = re.findall(r"client_max_body_size (\d+)m;", NGINX)
    assert int(size[0]) * 1024 * 1024 >= MAX_BODY
    assert "proxy_buffering off;" in NGINX, "a stream must not wait in the proxy"
