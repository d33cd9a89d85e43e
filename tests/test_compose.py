"""The files for several machines name only variables, commands, services and sources that exist."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
import yaml
from celery.app.utils import find_app
from celery.bin.celery import celery as celery_command
from django.conf import settings
from django.core.management import CommandError, get_commands, load_command_class
from docker.utils.build import exclude_paths
from jsonschema import Draft7Validator

from config.asgi import MAX_BODY
from config.celery import app
from elicit_flows.jobs import worker
from tests.support import binaries, op
from tests.support.ports import free_port
from tests.support.process import PROJECT, Process, clean_env

TEXT = (PROJECT / "docker-compose.yml").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load(TEXT)
SERVICES: dict[str, Any] = COMPOSE["services"]
IMAGE = COMPOSE["x-service"]["image"]
OURS = [name for name, service in SERVICES.items() if service["image"] == IMAGE]
LASTING = [name for name in SERVICES if name not in ("migrate", "manage")]
EXAMPLE = (PROJECT / "deploy" / "env.example").read_text()
NGINX = (PROJECT / "deploy" / "nginx.conf").read_text()
DOCKERFILE = (PROJECT / "Dockerfile").read_text().replace("\\\n", "")
IGNORED_BY_DOCKER = (PROJECT / ".dockerignore").read_text()
READERS = {
    "text", "flag", "number", "address", "networks", "allowed_networks", "proxy", "authorities", "audit_log", "origin",
    "database", "redis", "broker", "kept", "one_of",
}  # fmt: skip
NEEDED = (
    "LICENSE",
    "manage.py",
    "config",
    "elicit_flows",
    "locale",
    "templates",
    "requirements.txt",
    "requirements-extras.txt",
)
PINNED = r"[\w./-]+:\d[\w.-]*@sha256:[0-9a-f]{64}"


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
    """deploy/env.example, as compose reads it."""
    lines = (line.partition("=") for line in EXAMPLE.splitlines() if line and not line.startswith("#"))
    return {name: value for name, _, value in lines}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What compose needs of one, prepared as the tutorial says."""
    place = tmp_path_factory.mktemp("checkout")
    for name in ("docker-compose.yml", "deploy/env.example", "deploy/nginx.conf", "deploy/secrets.sh"):
        (place / name).parent.mkdir(exist_ok=True)
        shutil.copy(PROJECT / name, place / name)
    shutil.copy(place / "deploy/env.example", place / ".env")
    subprocess.run([place / "deploy/secrets.sh"], check=True, capture_output=True)
    return place


def environment(service: str, checkout: Path) -> dict[str, str]:
    """What the processes of that service get, the paths of secrets as they are outside of the container."""
    values = {**example(), **{name: str(text) for name, text in SERVICES[service]["environment"].items()}}
    secrets = {f"/run/secrets/{name}": str(checkout / said["file"]) for name, said in COMPOSE["secrets"].items()}
    return {name: secrets.get(text, filled(text)) for name, text in values.items()}


def filled(text: str) -> str:
    """``text`` with its ${VARIABLES} put in, as compose does for the two forms in use here."""
    return re.sub(r"\$\{(\w+):[?-]([^}]*)\}", lambda match: example().get(match[1]) or match[2], text)


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
        assert set(service.get("secrets", [])) <= set(COMPOSE["secrets"]), name
        assert set(service["networks"]) <= set(COMPOSE["networks"]), name
        for volume in service.get("volumes", []):
            source = volume["source"] if isinstance(volume, dict) else volume.partition(":")[0]
            ours = source.startswith("./production/") or (PROJECT / source).is_file()
            assert ours if source.startswith(".") else source in COMPOSE["volumes"], volume


@pytest.fixture(scope="module")
def specification() -> Draft7Validator:
    """The schema of the Compose Specification, as the npm package dclint carries it."""
    op.node()
    return Draft7Validator(json.loads((op.PEERS / "node_modules/dclint/schemas/compose.schema.json").read_text()))


def test_the_file_is_one_by_the_specification_and_by_compose_where_it_is_installed(
    specification: Draft7Validator, checkout: Path
) -> None:
    assert [error.message for error in specification.iter_errors(COMPOSE)] == []
    wrong = {**COMPOSE, "services": {**SERVICES, "web": {**SERVICES["web"], "stop_grace": "30s"}}}
    assert list(specification.iter_errors(wrong)), "a key that there is not is found"
    tool = compose()
    if tool:
        asked = [*tool, "-f", "docker-compose.yml", "--profile", "manage", "config", "-q"]
        ran = subprocess.run(asked, cwd=checkout, env=clean_env(), capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr


def test_every_image_is_named_by_its_digest_and_ours_is_built_once() -> None:
    images = [service["image"] for name, service in SERVICES.items() if name not in OURS]
    stages = re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)
    assert len(images) == 3
    assert len(set(stages)) == 1
    for image in [*images, *stages]:
        assert re.fullmatch(PINNED, image), f"{image} may be another one tomorrow"
    assert [name for name, service in SERVICES.items() if "build" in service] == ["migrate"]
    assert {SERVICES[name]["pull_policy"] for name in OURS} == {"never"}


@pytest.mark.parametrize("service", OURS)
def test_every_variable_of_the_reference_gets_through_and_those_given_are_read(service: str) -> None:
    assert SERVICES[service]["env_file"] == ".env"
    given = {name.removesuffix("_FILE") for name in SERVICES[service]["environment"]}
    assert given <= variables_read()
    assert {"DATABASE_URL", "REDIS_URL", "SECRET_KEY", "ELICIT_VAULT_KEYS", "ELICIT_PUBLIC_URL"} <= given
    assert set(re.findall(r"(ELICIT_\w+)=", DOCKERFILE)) <= variables_read()


def test_what_stands_in_the_example_is_used_and_everything_else_has_a_default() -> None:
    used = re.findall(r"(?<!\$)\$\{(\w+)(:[?-])", TEXT)
    assert {name for name, how in used if how == ":?"} <= set(example())
    assert set(example()) <= {name for name, _ in used}
    assert not re.search(r"(?<!\$)\$[A-Za-z(]", TEXT), "a form of substitution that is not looked at here"


def test_secrets_are_files_that_the_script_makes_once_and_stand_nowhere(checkout: Path) -> None:
    files = {name: checkout / said["file"] for name, said in COMPOSE["secrets"].items()}
    made = {name: file.read_text() for name, file in files.items()}
    assert min(map(len, made.values())) >= 40
    subprocess.run([checkout / "deploy/secrets.sh"], check=True, capture_output=True)
    assert {name: file.read_text() for name, file in files.items()} == made
    # Nobody else gets in, and the user in the container can read what is mounted.
    assert (checkout / "production").stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in files.values()} == {0o644}
    assert not re.search("PASSWORD|SECRET|KEY", EXAMPLE.replace("Secrets", ""))
    assert not re.findall(r"(?:PASSWORD|KEYS?): \S", TEXT)


def test_where_secrets_cannot_be_made_no_empty_ones_are(tmp_path: Path) -> None:
    script = tmp_path / "checkout" / "deploy" / "secrets.sh"
    script.parent.mkdir(parents=True)
    shutil.copy(PROJECT / "deploy/secrets.sh", script)
    openssl = tmp_path / "openssl"
    openssl.write_text("#!/bin/sh\nexit 1\n")
    openssl.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    ran = subprocess.run(["sh", script], env={"PATH": path}, capture_output=True, check=False)
    assert ran.returncode != 0
    assert list((script.parent.parent / "production" / "secrets").iterdir()) == []


@pytest.mark.slow
def test_the_service_starts_with_the_example_filled_in(checkout: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"],
        cwd=PROJECT, env=clean_env(environment("web", checkout)), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("name", SERVICES)
def test_every_container_has_as_little_as_it_needs(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert set(service["logging"]["options"]) == {"max-size", "max-file"}
    assert {"mem_limit", "cpus", "restart", "tmpfs"} <= set(service)
    assert "cap_add" not in service or name == "postgres"
    assert ("outside" in service["networks"]) is (name not in ("postgres", "redis"))


@pytest.mark.parametrize("name", LASTING)
def test_every_container_that_stays_says_how_it_is(name: str) -> None:
    check = SERVICES[name].get("healthcheck")
    if name in ("web", "waiting"):
        check = {"test": json.loads(re.findall(r"HEALTHCHECK .*?CMD (\[.*\])$", DOCKERFILE, re.MULTILINE)[0])}
    assert "disable" not in check
    if name in OURS:
        module = check["test"][-1]
        assert check["test"][-3:-1] == ["python", "-m"]
        assert importlib.util.find_spec(module), module
    if name == "postgres":
        assert check["test"][:4] == ["CMD", "pg_isready", "-h", "127.0.0.1"], "its first server has no TCP"
    assert SERVICES[name]["restart"] == "unless-stopped"


@pytest.mark.slow
@pytest.mark.parametrize("password", ["plain", 'p"a\\ss w#%$'])
def test_redis_takes_whatever_password_stands_in_the_file(tmp_path: Path, password: str) -> None:
    """The command of docker-compose.yml, in another folder and on another port."""
    (tmp_path / "redis_password").write_text(password)
    command, port = SERVICES["redis"]["command"][2].replace("$$", "$"), free_port()
    command = command.replace("/run/secrets", str(tmp_path)).replace("/tmp/redis.conf", str(tmp_path / "redis.conf"))
    command = command.replace("--dir /tmp", f"--dir {tmp_path} --bind 127.0.0.1 --port {port}")
    command = command.replace("redis-server", str(binaries.machine_redis() or binaries.wheel_redis()))
    server = Process(["sh", "-c", command], tmp_path / "log")
    server.start()

    def answer(given: str | None) -> str:
        with redis.Redis(port=port, password=given) as client:
            try:
                return str(client.ping())
            except redis.RedisError as error:
                return type(error).__name__

    try:
        server.wait_until(lambda: answer(password) == "True", "it answers who knows the password")
        assert answer(None) == "AuthenticationError"
    finally:
        server.stop()


def tasks(application: str) -> set[str]:
    """Those that a worker of the application has, once it has started."""
    found = find_app(application)
    found.loader.import_default_modules()
    return set(found.tasks)


def check_command(command: list[str]) -> None:
    """Fails unless the command line is one that Django or Celery would take."""
    if command[:2] == ["python", "manage.py"]:
        name, *arguments = command[2:]
        if name == "help":
            return
        load_command_class(get_commands()[name], name).create_parser("manage.py", name).parse_args(arguments)
        return
    assert command[:3] == ["celery", "-A", "config"]
    assert "elicit_flows.jobs.tasks.expire" in tasks(command[2])
    name, *arguments = command[3:]
    options = {option for parameter in celery_command.commands[name].params for option in parameter.opts}
    assert {part.partition("=")[0] for part in arguments if part.startswith("-")} <= options


@pytest.mark.parametrize("service", OURS)
def test_every_command_is_a_real_one(service: str) -> None:
    check_command([*SERVICES[service].get("entrypoint", []), *SERVICES[service]["command"]])


def test_a_wrong_command_is_found() -> None:
    for wrong in (
        ["python", "manage.py", "serve", "--prot", "1"],
        ["celery", "-A", "config", "beat", "--concurency", "2"],
    ):
        with pytest.raises((CommandError, AssertionError)):
            check_command(wrong)


def test_beat_schedules_what_the_worker_has() -> None:
    assert {entry["task"] for entry in settings.CELERY_BEAT_SCHEDULE.values()} <= tasks("config")


def queues(service: str) -> set[str]:
    """Those that a worker of compose takes from."""
    command = SERVICES[service]["command"]
    return set(command[command.index("-Q") + 1].split(","))


def test_t129_the_workers_take_from_every_queue_and_deliveries_are_apart() -> None:
    workers = [name for name in OURS if "worker" in SERVICES[name]["command"]]
    of_each = [queues(name) for name in workers]
    every = {queue.name for queue in app.conf.task_queues}
    assert set().union(*of_each) == every
    assert sum(map(len, of_each)) == len(every), "no queue has two of them"
    assert {"deliver"} in of_each
    assert {route["queue"] for route in settings.CELERY_TASK_ROUTES.values()} == every
    for name in workers:
        assert int(SERVICES[name]["stop_grace_period"].removesuffix("s")) > worker.STOP_SECONDS + 5, name


def test_the_folder_for_what_is_written_belongs_to_the_images_user() -> None:
    """COPY gives the owner to what is within a folder, and not to a folder that is there already: beat's volume, whose
    owner is this folder's, could not be written to.
    """
    user = re.search(r"^USER (\S+)$", DOCKERFILE, re.MULTILINE)
    owned = re.search(r"^COPY --from=build --chown=(\S+) (\S+) /app$", DOCKERFILE, re.MULTILINE)
    assert user
    assert owned
    assert owned[1] == user[1]
    assert f"mkdir -m 700 {owned[2]}/var" in DOCKERFILE
    assert COMPOSE["services"]["beat"]["volumes"] == ["schedule:/app/var"]


def test_the_image_is_made_of_files_that_exist_and_runs_a_real_command() -> None:
    check_command(json.loads(re.findall(r"^CMD (.*)$", DOCKERFILE, re.MULTILINE)[0]))
    for line in re.findall(r"^COPY (?!--from=)(.*)$", DOCKERFILE, re.MULTILINE):
        for source in line.split()[:-1]:
            assert (PROJECT / source).exists(), line
    user = re.findall(r"^USER (\d+):\d+$", DOCKERFILE, re.MULTILINE)
    assert int(user[0]) > 0
    last = DOCKERFILE.rpartition("\nFROM ")[2]
    assert not re.findall(r"^(?:RUN|COPY (?!--from=build))", last, re.MULTILINE), (
        "what is built stays in the first stage"
    )


def test_the_images_user_has_a_name() -> None:
    """Celery takes a user without an entry for root."""
    numbers = re.findall(r"^USER (\d+):(\d+)$", DOCKERFILE, re.MULTILINE)
    made = re.search(r"groupadd --gid (\d+) elicit .*useradd --uid (\d+) --gid elicit ", DOCKERFILE)
    assert made
    assert numbers == [(made[2], made[1])]
    assert re.search(r"^COPY --from=build /etc/passwd /etc/group /etc/$", DOCKERFILE, re.MULTILINE)


# What people leave in a checkout, as the reviews found it and as guides tell them to.
SECRETS = (
    ".env", ".env.production", "prod.env", "elicit.toml", "demo.toml", "config/local.toml", "config/.env",
    "var/vault.keys", "var/elicit.sqlite3", "secrets/stripe", "tls.key", "server.pem", "deploy/.env",
    "production/secrets/vault_keys", "production/config/elicit.toml",
    "elicit_flows/.env", "templates/.env.old", ".git/config", ".netrc", "backup.sql", "certs/ca.key",
)  # fmt: skip


def test_t133_a_build_copies_what_the_service_needs_and_no_secret(tmp_path: Path) -> None:
    """As Docker reads .dockerignore, in a checkout with secrets in it."""
    tracked = subprocess.run(["git", "ls-files"], cwd=PROJECT, capture_output=True, text=True, check=True)
    for name in [*tracked.stdout.split(), *SECRETS]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("secret" if name in SECRETS else "")
    patterns = [line for line in IGNORED_BY_DOCKER.splitlines() if line and not line.startswith("#")]
    copied = {name for name in exclude_paths(str(tmp_path), patterns) if (tmp_path / name).is_file()}
    assert not copied & set(SECRETS)
    # The last two go along always: the build itself reads them.
    top = {name.partition("/")[0] for name in copied} - {"Dockerfile", ".dockerignore"}
    assert top == set(NEEDED)
    shipped = ("manage.py", "requirements.txt", "requirements-extras.txt", "elicit_flows/", "templates/")
    wanted = {name for name in tracked.stdout.split() if name.startswith(shipped) or re.match(r"config/\w+\.py$", name)}
    assert wanted <= copied


@pytest.mark.parametrize(
    "name", [name for name in SECRETS if not name.startswith((".git/", ".netrc", "secrets/", "backup"))]
)
def test_t133_git_does_not_see_a_secret_in_the_checkout(name: str) -> None:
    asked = ["git", "check-ignore", "--quiet", "--no-index", name]
    assert subprocess.run(asked, cwd=PROJECT, check=False).returncode == 0


def test_t133_git_sees_everything_that_is_not_secret() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--ignored", "--exclude-standard"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert listed.stdout == ""


def upstream(wait: str, streams: str) -> str:
    """Where nginx sends a request, by the map in its configuration."""
    lines = re.findall(r'^\s+(default|"\d*") (web|waiting);', NGINX, re.MULTILINE)
    targets: dict[str, str] = {key.strip('"'): target for key, target in lines}
    return targets.get(wait + streams, targets["default"])


def test_the_proxy_sends_what_waits_to_the_process_for_waiting_and_names_only_services() -> None:
    assert (upstream("", "0"), upstream("25", "0"), upstream("", "1")) == ("web", "waiting", "waiting")
    for host, port in re.findall(r"\b([a-z]+):(\d+) resolve", NGINX):
        assert port in SERVICES[host]["command"], f"{host} does not listen on {port}"
    published = SERVICES["proxy"]["ports"][0].rpartition(":")[2]
    assert f"listen {published} " in NGINX


def test_the_proxy_is_more_patient_than_the_longest_wait_and_takes_as_much_as_the_service() -> None:
    read_timeout = re.findall(r"proxy_read_timeout (\d+)s;", NGINX)
    assert int(read_timeout[0]) > settings.ELICIT_MAX_WAIT
    size = re.findall(r"client_max_body_size (\d+)m;", NGINX)
    assert int(size[0]) * 1024 * 1024 >= MAX_BODY
    assert "proxy_buffering off;" in NGINX, "a stream must not wait in the proxy"
