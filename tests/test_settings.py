"""The values of environment variables, and the error message for each wrong one."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from kombu.connection import Connection
from redis.connection import parse_url

from config import env
from tests.support.ports import free_port
from tests.support.process import PROJECT, clean_env


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("", []),
        ("10.0.0.0/8", ["10.0.0.0/8"]),
        (" 192.0.2.7 , 2001:db8::/32,", ["192.0.2.7/32", "2001:db8::/32"]),
        ("0.0.0.0/0,::/0", ["0.0.0.0/0", "::/0"]),
    ],
)
def test_networks_are_read(monkeypatch: pytest.MonkeyPatch, said: str, read: list[str]) -> None:
    monkeypatch.setenv("ELICIT_TRUSTED_PROXIES", said)
    assert env.networks("ELICIT_TRUSTED_PROXIES") == read


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("*", "name the networks"),
        ("10.0.0.0/8,*", "name the networks"),
        ("10.0.0.1/8", "has host bits set"),
        ("proxy.internal", "neither an address nor a network"),
        ("10.0.0.0/33", "neither an address nor a network"),
    ],
)
def test_t127_what_would_believe_everybody_or_nobody_is_refused(
    monkeypatch: pytest.MonkeyPatch, said: str, why: str
) -> None:
    monkeypatch.setenv("ELICIT_TRUSTED_PROXIES", said)
    with pytest.raises(ImproperlyConfigured, match=f"^ELICIT_TRUSTED_PROXIES .*{why}"):
        env.networks("ELICIT_TRUSTED_PROXIES")


@pytest.mark.parametrize(
    ("name", "said", "why"),
    [
        ("ELICIT_ALLOWED_NETWORKS", "0.0.0.0/0", "0.0.0.0/0 has addresses at which no server can be"),
        ("ELICIT_ALLOWED_NETWORKS", "keycloak", "'keycloak' is no network"),
        ("ELICIT_EGRESS_PROXY", "https://svc:canary@proxy:3128", "it must be an address like"),
        ("ELICIT_EGRESS_PROXY", "http://svc:canary#x@proxy:3128", "it must"),
        ("ELICIT_CA_FILE", "/nonexistent.pem", "cannot be read as certificates"),
        ("ELICIT_CA_FILE", str(PROJECT / "manage.py"), "cannot be read as certificates"),
    ],
)
def test_t89_a_wrong_word_about_requests_to_others_stops_the_start(name: str, said: str, why: str) -> None:
    ran = subprocess.run(
        [sys.executable, "manage.py", "check"],
        cwd=PROJECT, env=clean_env({name: said}), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 1
    last = ran.stderr.strip().splitlines()[-1]
    assert f"{name}: " in last
    assert why in last
    assert "canary" not in ran.stderr


@pytest.mark.parametrize(
    "said",
    [
        "https://[::1",
        "https://flows.example.com:99999",
        "https://flows.example.com:0",
        "https://flows.example.com/flows",
        "https://flows.example.com#top",
        "https://flows.example.com?",
        "https://me@flows.example.com",
        "https://flows example.com",
        "https://flows_1.example.com",
        "https://flöws.example.com",
        "flows.example.com",
    ],
)
def test_a_public_address_at_which_no_page_would_work_stops_the_start(
    monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    monkeypatch.setenv("ELICIT_PUBLIC_URL", said)
    with pytest.raises(ImproperlyConfigured, match=r"^ELICIT_PUBLIC_URL is .*: it must be an address like https://"):
        env.origin("ELICIT_PUBLIC_URL", "", allow_http=False)


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("HTTPS://Flows.Example.com/", "https://flows.example.com"),
        ("https://flows.example.com:443", "https://flows.example.com"),
        ("https://flows.example.com:8443", "https://flows.example.com:8443"),
        ("http://[::1]:80", "http://[::1]"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
    ],
)
def test_the_public_address_is_written_as_browsers_name_their_origin(
    monkeypatch: pytest.MonkeyPatch, said: str, read: str
) -> None:
    """Otherwise the origin of no form is trusted, and with HTTPS:// the cookies are not secure."""
    monkeypatch.setenv("ELICIT_PUBLIC_URL", said)
    assert env.origin("ELICIT_PUBLIC_URL", "", allow_http=False) == read


def test_the_old_name_stops_the_start() -> None:
    ran = subprocess.run(
        [sys.executable, "manage.py", "check"],
        cwd=PROJECT, env=clean_env({"FORWARDED_ALLOW_IPS": "127.0.0.1"}), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 1
    assert ran.stderr.strip().endswith("FORWARDED_ALLOW_IPS is no longer used: set ELICIT_TRUSTED_PROXIES instead.")


def test_t124_three_agents_that_wait_all_they_may_leave_places_to_others() -> None:
    said = "from django.conf import settings; print(settings.ELICIT_MAX_WAITERS_PER_AGENT)"
    ran = subprocess.run(
        [sys.executable, "-c", said],
        cwd=PROJECT, env=clean_env({"ELICIT_MAX_WAITERS": "100", "DJANGO_SETTINGS_MODULE": "config.settings"}),
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert 0 < 3 * int(ran.stdout) < 100


def test_earlier_keys_are_read_without_what_is_around_their_commas() -> None:
    """With a blank before it a key would verify nothing, and nobody would be told."""
    said = "from django.conf import settings; print(settings.SECRET_KEY_FALLBACKS)"
    env = {"SECRET_KEY_FALLBACKS": "one, two,\nthree,", "DJANGO_SETTINGS_MODULE": "config.settings"}
    ran = subprocess.run(
        [sys.executable, "-c", said], cwd=PROJECT, env=clean_env(env), capture_output=True, text=True, check=True
    )
    assert ran.stdout == "['one', 'two', 'three']\n"


STRANGE = "p/a#s?s@w%41:&+ é"


def test_a_password_by_itself_is_taken_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgres://elicit:other@db:5433/flows")
    read = env.database("DATABASE_URL", "", PROJECT, password=STRANGE)
    assert (read["USER"], read["PASSWORD"], read["HOST"], read["PORT"]) == ("elicit", STRANGE, "db", "5433")
    assert env.database("DATABASE_URL", "", PROJECT)["PASSWORD"] == "other"


@pytest.mark.parametrize("said", ["redis://redis:6379/0", "redis://:other@redis:6379/0"])
def test_redis_gets_the_password_as_it_is(said: str) -> None:
    """By what reads the address: the library of Redis, and kombu for Celery."""
    address = env.with_password(said, STRANGE)
    assert address is not None
    assert parse_url(address)["password"] == STRANGE
    assert Connection(address).password == STRANGE
    assert Connection(address).hostname == "redis"
    assert parse_url(str(env.with_password("redis://me@redis:6379/0", STRANGE)))["username"] == "me"
    assert env.with_password(said, None) == said
    assert env.with_password(None, STRANGE) is None


@pytest.mark.parametrize(
    "said",
    [
        "localhost:6379",
        "redis:6379",
        "redis://",
        "redis://localhost:port/0",
        "redis://localhost:99999/0",
        "redis://:can/ary@localhost:6379/0",
        "redis://localhost:6379/cache",
        "Redis://localhost:6379/0",
        "http://localhost:6379/0",
    ],
)
def test_an_address_of_no_redis_stops_the_start(monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    """Each request that wakes others would end in an error, after it was committed."""
    monkeypatch.setenv("REDIS_URL", said)
    with pytest.raises(ImproperlyConfigured, match=r"^REDIS_URL must be redis://host:port/number") as raised:
        env.redis("REDIS_URL", password=None)
    assert "can/ary" not in str(raised.value)


@pytest.mark.parametrize(
    "said",
    [
        "redis://redis", "redis://redis:6379", "redis://redis:6379/", "redis://[::1]:6379/0", "redis://me:pw@redis/12",
        "rediss://redis:6380/0?ssl_ca_certs=/config/ca.pem", "unix:///run/redis.sock?db=1",
    ],
)  # fmt: skip
def test_an_address_of_a_redis_is_taken_as_it_is(monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    monkeypatch.setenv("REDIS_URL", said)
    assert env.redis("REDIS_URL", password=None) == said
    parse_url(said)


def test_the_check_of_a_redis_certificate_is_spelled_as_its_library_reads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Celery's own spelling, in which the cache would not connect."""
    monkeypatch.setenv("REDIS_URL", "rediss://redis:6380/0?ssl_cert_reqs=CERT_REQUIRED")
    with pytest.raises(ImproperlyConfigured, match=r"^REDIS_URL: ssl_cert_reqs must be required, optional or none\.$"):
        env.redis("REDIS_URL", password=None)
    monkeypatch.setenv("REDIS_URL", "rediss://redis:6380/0?ssl_cert_reqs=none")
    assert env.redis("REDIS_URL", password=None)


@pytest.mark.parametrize(
    "said",
    [
        "localhost:6379", "bogus://localhost", "redis://localhost:port/0", "unix:///run/redis.sock",
        "amqp://rabbit:5672;amqp//rabbit2",
    ],
)  # fmt: skip
def test_an_address_of_no_broker_stops_the_start(monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    monkeypatch.setenv("CELERY_BROKER_URL", said)
    with pytest.raises(ImproperlyConfigured, match=r"^CELERY_BROKER_URL \(or else REDIS_URL\) must be redis://"):
        env.broker("CELERY_BROKER_URL", None)


@pytest.mark.parametrize(
    "said",
    [
        "redis://redis:6379/0", "rediss://redis/0", "redis+socket:///run/redis.sock", "amqps://me:pw@rabbit/flows",
        "pyamqp://a:5672;pyamqp://b:5672", "memory://",
    ],
)  # fmt: skip
def test_an_address_of_a_broker_is_taken_as_it_is(monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    monkeypatch.setenv("CELERY_BROKER_URL", said)
    assert env.broker("CELERY_BROKER_URL", None) == said
    assert Connection(said).get_transport_cls()


def test_a_password_that_breaks_the_address_stops_the_start_with_a_sentence() -> None:
    ran = subprocess.run(
        [sys.executable, "manage.py", "check"],
        cwd=PROJECT, env=clean_env({"DATABASE_URL": "postgres://elicit:se/cret@db:5432/elicit"}),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 1
    assert "DATABASE_URL cannot be read: put a password with characters" in ran.stderr.strip().splitlines()[-1]


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("postgres://db/elicit?ssl=require", 'invalid connection option "ssl"'),
        ("postgres://db/elicit?connect_timeout=soon", "bad value for connect_timeout"),
    ],
)
def test_an_option_that_postgresql_does_not_have_stops_the_start(
    monkeypatch: pytest.MonkeyPatch, said: str, why: str
) -> None:
    monkeypatch.setenv("DATABASE_URL", said)
    with pytest.raises(ImproperlyConfigured, match=f"^DATABASE_URL: {why}"):
        env.database("DATABASE_URL", "", PROJECT)


def test_options_of_postgresql_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    said = "sslmode=verify-full&sslrootcert=/config/ca.pem&connect_timeout=3&options=-c%20search_path%3Dflows"
    monkeypatch.setenv("DATABASE_URL", f"postgres://db/elicit?{said}")
    read = env.database("DATABASE_URL", "", PROJECT)["OPTIONS"]
    assert (read["sslmode"], read["connect_timeout"], read["options"]) == ("verify-full", "3", "-c search_path=flows")


@pytest.mark.parametrize("command", [["migrate", "--no-input"], ["rotate"], ["work"]])
def test_a_database_that_does_not_answer_is_said_in_one_sentence(command: list[str]) -> None:
    ran = subprocess.run(
        [sys.executable, "manage.py", *command],
        cwd=PROJECT, env=clean_env({"DATABASE_URL": f"postgres://elicit@127.0.0.1:{free_port()}/elicit"}),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 1
    assert "DATABASE_URL: the database does not answer (connection failed" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_what_is_deleted_is_overwritten_in_the_file(tmp_path: Path) -> None:
    """By the pragmas that the settings give to Django; without the last one the text is still in the file."""
    options = env.database("DATABASE_URL", f"sqlite:///{tmp_path}/elicit.sqlite3", PROJECT)["OPTIONS"]
    assert isinstance(options, dict)
    found: list[bool] = []
    for pragmas in (options["init_command"], options["init_command"].replace("secure_delete=ON", "secure_delete=OFF")):
        file = tmp_path / f"{len(found)}.sqlite3"
        with closing(sqlite3.connect(file)) as database:
            database.executescript(pragmas + "CREATE TABLE draft (said TEXT);")
            database.execute("INSERT INTO draft VALUES (?)", ["never sent " * 20])
            database.commit()
            database.execute("DELETE FROM draft")
            database.commit()
        found.append(b"never sent" in file.read_bytes())
    assert found == [False, True]


def test_a_secret_is_there_only_once_it_is_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOME_KEY", raising=False)
    path = tmp_path / "var" / "some.key"
    with pytest.raises(UnicodeEncodeError):
        env.kept("SOME_KEY", path, "half a key, then what no disk takes: é")
    assert list(path.parent.iterdir()) == []
    assert env.kept("SOME_KEY", path, "first") == "first"
    assert (env.kept("SOME_KEY", path, "second"), path.stat().st_mode & 0o777) == ("first", 0o600)
    assert list(path.parent.iterdir()) == [path]
    path.write_text("")
    with pytest.raises(ImproperlyConfigured, match=r"SOME_KEY is not set and .*some\.key is empty: delete it"):
        env.kept("SOME_KEY", path, "third")


@pytest.mark.parametrize("name", ["SECRET_KEY", "ELICIT_VAULT_KEYS"])
def test_for_a_secret_file_that_is_empty_no_other_secret_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """What is sealed with one in a container's var/ could not be opened after the container is made anew."""
    (tmp_path / "given").write_text("\n")
    monkeypatch.setenv(f"{name}_FILE", str(tmp_path / "given"))
    with pytest.raises(ImproperlyConfigured, match=f"^{name}_FILE: .*/given is empty"):
        env.kept(name, tmp_path / "made", "another")
    assert not (tmp_path / "made").exists()


def test_a_byte_order_mark_is_no_part_of_a_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "given").write_text("canary\n", encoding="utf-8-sig")
    monkeypatch.setenv("REDIS_PASSWORD_FILE", str(tmp_path / "given"))
    assert env.text("REDIS_PASSWORD") == "canary"


def test_a_secret_file_that_is_no_text_stops_the_start_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As PowerShell writes it with ``>``. The error shows nothing of it."""
    (tmp_path / "given").write_text("canary", encoding="utf-16")
    monkeypatch.setenv("REDIS_PASSWORD_FILE", str(tmp_path / "given"))
    with pytest.raises(ImproperlyConfigured, match=r"^REDIS_PASSWORD_FILE: .*not text in UTF-8") as raised:
        env.text("REDIS_PASSWORD")
    assert raised.value.__cause__ is None


def test_of_several_processes_one_makes_the_secret(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from config import env; "
        "print(env.kept('SOME_KEY', Path(sys.argv[1]), env.new_secret()))"
    )
    starts = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path / "some.key")], cwd=PROJECT, env=clean_env({}),
            stdout=subprocess.PIPE, text=True,
        )
        for _ in range(6)
    ]  # fmt: skip
    said = {start.communicate(timeout=60)[0] for start in starts}
    assert len(said) == 1
    assert len(said.pop().strip()) > 40


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (["manage.py", "serve"], True),
        (["manage.py", "serve", "--traceback"], False),
        (["-m", "celery", "-A", "config", "worker"], True),
        (["-m", "celery", "-A", "config", "beat"], True),
    ],
)
def test_a_wrong_variable_is_said_in_one_sentence(command: list[str], sentence: bool) -> None:
    ran = subprocess.run(
        [sys.executable, *command],
        cwd=PROJECT, env=clean_env({"ELICIT_PUBLIC_URL": "http://flows.example.com"}), capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    said = "ELICIT_PUBLIC_URL is 'http://flows.example.com': only https is safe for a host that others can reach.\n"
    assert (ran.returncode, ran.stdout, ran.stderr.endswith(said)) == (1, "", True)
    assert (ran.stderr == said) == sentence
