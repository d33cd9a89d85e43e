"""The units under deploy/systemd, as systemd reads them. None is started, since systemd would have to be the first
process.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from config.celery import app
from elicit_flows.jobs import worker
from tests.docs.page import found
from tests.doubles.certificate import by_an_authority
from tests.support.left_out import left_out
from tests.support.ports import free_port
from tests.support.process import PROJECT
from tests.test_compose import COMPOSE, check_command

UNITS = PROJECT / "deploy" / "systemd"
SERVICES = sorted(path.name for path in UNITS.glob("*.service"))
PYTHON = f"{sys.executable} -m venv"
MOST_EXPOSED = 15  # of 100, by `systemd-analyze security`


@pytest.fixture(scope="module")
def analyze() -> str:
    return shutil.which("systemd-analyze") or left_out("systemd-analyze: not here (Debian: apt-get install systemd)")


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """The units with programs and folders that are on this machine: systemd looks whether they are."""
    for path in UNITS.glob("*.*"):
        text = path.read_text().replace("/opt/elicit-flows/venv/bin/", f"{Path(sys.executable).parent}/")
        (tmp_path / path.name).write_text(text.replace("/opt/elicit-flows/app", str(PROJECT)))
    return tmp_path


def started(name: str) -> str:
    return name.replace("@.", "@8001.")


def test_systemd_takes_every_unit_without_a_word(analyze: str, here: Path) -> None:
    units = [f"./{started(name)}" for name in [*SERVICES, "elicit-flows.target"]]
    ran = subprocess.run(
        [analyze, "verify", "--man=no", *units], cwd=here, capture_output=True, text=True, check=False
    )  # fmt: skip
    assert (ran.returncode, ran.stderr) == (0, "")


def test_a_wrong_unit_is_found(analyze: str, here: Path) -> None:
    unit = here / "elicit-flows-beat.service"
    unit.write_text(unit.read_text().replace("UMask=0077", "UMask=nine").replace("ProtectHome", "ProtectHouse"))
    ran = subprocess.run([analyze, "verify", "--man=no", unit], cwd=here, capture_output=True, text=True, check=False)
    assert "Failed to parse mode value" in ran.stderr
    assert "ProtectHouse" in ran.stderr


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_is_shut_in(analyze: str, here: Path, name: str) -> None:
    asked = [analyze, "security", "--offline=true", f"--threshold={MOST_EXPOSED}", f"./{name}"]
    ran = subprocess.run(asked, cwd=here, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout.splitlines()[-1]


def directive(name: str, key: str) -> list[str]:
    return re.findall(rf"^{key}=(.*)$", (UNITS / name).read_text(), re.MULTILINE)


@pytest.mark.parametrize("name", SERVICES)
def test_every_command_is_a_real_one_and_gets_the_secrets(name: str) -> None:
    program, *arguments = directive(name, "ExecStart")[0].replace("%i", "8001").split()
    check_command([Path(program).name, *arguments])
    loaded = dict(line.split(":") for line in directive(name, "LoadCredential"))
    assert loaded == {secret: f"/etc/elicit-flows/secrets/{secret}" for secret in COMPOSE["secrets"]}
    given = dict(one.split("=") for line in directive(name, "Environment") for one in line.split())
    files = {key: value for key, value in given.items() if key.endswith("_FILE")}
    said = {key: value for key, value in COMPOSE["x-service"]["environment"].items() if key.endswith("_FILE")}
    assert files == {key: value.replace("/run/secrets", "%d") for key, value in said.items()}


def test_the_target_starts_what_there_is_and_every_queue_has_a_worker() -> None:
    wanted = {unit for line in directive("elicit-flows.target", "Wants") for unit in line.split()}
    assert {re.sub(r"@\d+", "@", unit) for unit in wanted} | {"elicit-flows-migrate.service"} == set(SERVICES)
    queues: list[str] = []
    for name in SERVICES:
        command = directive(name, "ExecStart")[0].split()
        if "worker" in command:
            queues += command[command.index("-Q") + 1].split(",")
            assert int(directive(name, "TimeoutStopSec")[0]) > worker.STOP_SECONDS + 5
        if "serve" in command:  # without a broker it has the jobs, too: answers, jobs and counters, one after the other
            assert int(directive(name, "TimeoutStopSec")[0]) > 10 + worker.STOP_SECONDS + 5
    assert sorted(queues) == sorted(queue.name for queue in app.conf.task_queues)


def guide(*words: str) -> str:
    """The block of the guide with these words."""
    [block] = [one.text for one in found("how-to/deploy-systemd.md") if all(word in one.text for word in words)]
    return block


def test_the_guide_turns_the_configuration_of_nginx_into_one_for_these_ports(tmp_path: Path) -> None:
    nginx = shutil.which("nginx") or left_out("nginx: not on this machine (apt-get install nginx)")
    (tmp_path / "deploy").mkdir()
    shutil.copy(PROJECT / "deploy/nginx.conf", tmp_path / "deploy")
    by_an_authority(tmp_path, "localhost")
    subprocess.run(guide("sed"), shell=True, cwd=tmp_path, check=True)
    made = (tmp_path / "nginx.conf").read_text()
    assert made.count("server 127.0.0.1:8001") == made.count("server 127.0.0.1:8002") == 2
    for ours, theirs in {
        "listen 443 ssl backlog": f"listen {free_port()} ssl backlog",
        "pid /run/nginx.pid": f"pid {tmp_path}/nginx.pid",
        "/tmp/nginx": f"{tmp_path}/nginx",
        "/etc/ssl/flows/cert.pem": f"{tmp_path}/server.pem",
        "/etc/ssl/flows/key.pem": f"{tmp_path}/server.key",
    }.items():
        assert ours in made
        made = made.replace(ours, theirs)
    (tmp_path / "nginx.conf").write_text(made)
    ran = subprocess.run(
        [nginx, "-t", "-q", "-p", tmp_path, "-e", "stderr", "-c", tmp_path / "nginx.conf"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (ran.returncode, ran.stderr) == (0, "")


def test_the_links_of_the_guide_lead_to_one_version_after_the_other_and_back(tmp_path: Path) -> None:
    """An environment that was moved would have programs that name a folder which is not there any more."""

    def do(block: str) -> None:
        text = block.replace("/opt/elicit-flows", str(tmp_path)).replace("python3 -m venv", f"{PYTHON} --without-pip")
        subprocess.run(["/bin/sh", "-e", "-c", re.sub(r"\S+/pip install.*", "", text)], check=True)

    def version() -> str:
        """What an installed program says, when it is started by the path that is in the units."""
        ran = subprocess.run([tmp_path / "venv/bin/celery"], capture_output=True, text=True, check=True)
        return str(Path(ran.stdout.strip()).relative_to(tmp_path.resolve()))

    def install(number: str, block: str) -> None:
        (tmp_path / number / "app").mkdir(parents=True)
        do(block)
        program = tmp_path / number / "venv/bin/celery"
        program.write_text(f"#!{program.parent}/python3\nimport sys\nprint(sys.prefix)\n")
        program.chmod(0o755)

    install("1", guide("-m venv /opt/elicit-flows/1"))
    assert (version(), (tmp_path / "app").resolve()) == ("1/venv", (tmp_path / "1/app").resolve())
    with subprocess.Popen(["/bin/cat"], cwd=tmp_path / "app", stdin=subprocess.PIPE) as running:
        install("2", guide("-m venv /opt/elicit-flows/2"))
        do(guide("ln -sfn 2/app"))
        assert Path(f"/proc/{running.pid}/cwd").resolve() == (tmp_path / "1/app").resolve()
    assert (version(), (tmp_path / "app").resolve()) == ("2/venv", (tmp_path / "2/app").resolve())
    do(guide("ln -sfn 2/app").replace(" 2/", " 1/"))
    assert version() == "1/venv"


def test_the_places_of_the_guides_are_those_that_the_units_may_write_to() -> None:
    manage = (UNITS / "elicit-flows-manage").read_text()
    assert "-p StateDirectory=elicit-flows " in manage
    assert (
        "`elicit-flows-manage audit /var/lib/elicit-flows/" in (PROJECT / "docs/how-to/deploy-systemd.md").read_text()
    )
    assert directive("elicit-flows-worker.service", "LogsDirectory") == ["elicit-flows"]
    assert "audit" in directive("elicit-flows-worker.service", "ExecStart")[0].split(" -Q ")[1].split(",")
    assert "| `file:/var/log/elicit-flows/" in (PROJECT / "docs/how-to/audit-log.md").read_text()


def test_the_script_for_commands_hands_over_what_the_units_do(tmp_path: Path) -> None:
    """With a program in the place of systemd-run that prints what it was given."""
    told = tmp_path / "systemd-run"
    told.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    told.chmod(0o755)
    ran = subprocess.run(
        [UNITS / "elicit-flows-manage", "operator", "olga", "--role", "viewer"],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    given = ran.stdout.splitlines()
    unit = next(one.removeprefix("--unit=") for one in given if one.startswith("--unit="))
    web = "elicit-flows-web@.service"
    wanted = {f"LoadCredential={one}" for one in directive(web, "LoadCredential")}
    wanted |= {f"{key}={directive(web, key)[0]}" for key in ("User", "WorkingDirectory", "EnvironmentFile")}
    for line in directive(web, "Environment"):
        wanted |= {one.replace("%d", f"/run/credentials/{unit}.service") for one in line.split() if "_FILE=" in one}
    assert wanted <= set(given)
    check_command(["python", *given[given.index("manage.py") :]])
