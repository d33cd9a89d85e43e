"""T127: the proxy configuration that we ship, deploy/nginx.conf: client addresses, sign-in, many waiting clients."""

from __future__ import annotations

import re
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress

import httpx2
import pytest

from elicit_flows.lib import ids
from elicit_flows.lib.rate_limits import UNKNOWN_LINKS
from tests.cast import ALICE
from tests.journey.stage import Stage
from tests.support.box import Box
from tests.support.fixtures import configure_box
from tests.support.http_user import HttpUser
from tests.support.machine import within
from tests.support.nginx import Nginx
from tests.support.op import Op
from tests.support.ports import free_port
from tests.support.process import until
from tests.support.sink import Sink

pytestmark = pytest.mark.slow

AGENTS = 4  # who wait together: one alone has a share
WAVE = 500


class BehindProxy(Box):
    """Its public address is the proxy's."""

    def __init__(self, port: int) -> None:
        self.public = f"http://127.0.0.1:{port}"
        super().__init__("embedded", settings={"ELICIT_TRUSTED_PROXIES": "127.0.0.1"})

    @property
    def url(self) -> str:
        return self.public


@pytest.fixture(scope="module")
def proxied(
    request: pytest.FixtureRequest, corp_server: Op, drive_server: Op, sink: Sink
) -> Iterator[tuple[Box, Nginx, Nginx]]:
    """A box, the proxy before it, and another before that, as one for TLS would be."""
    box = BehindProxy(free_port())
    target = f"127.0.0.1:{box.ports[0]}"
    inner = Nginx({"web": target, "waiting": target}, port=int(box.public.rpartition(":")[2]))
    outer = Nginx({"web": f"127.0.0.1:{inner.port}", "waiting": f"127.0.0.1:{inner.port}"})
    box.migrate()
    configure_box(box, corp_server, drive_server, sink)
    try:
        box.start()
        yield box, inner.start(), outer.start()
    finally:
        for one in (outer, inner, box):
            one.remove()


@pytest.fixture
def stage(proxied: tuple[Box, Nginx, Nginx], corp: Op, drive: Op) -> Stage:
    box, _, _ = proxied
    return Stage(box, box.fresh_agent(), corp, drive)


@pytest.mark.slow
def test_nginx_takes_the_file_without_a_warning(proxied: tuple[Box, Nginx, Nginx]) -> None:
    assert [one.faults() for one in proxied[1:]] == ["", ""]


def statuses(proxy: Nginx, address: str, forged: Callable[[int], dict[str, str]] = lambda _: {}) -> list[int]:
    """What somebody at ``address`` gets who guesses links, more often than one client may."""
    with httpx2.Client(transport=httpx2.HTTPTransport(local_address=address), trust_env=False) as guesser:
        asked = (
            guesser.get(f"{proxy.url}/c/{ids.name('el')}", headers=forged(n)) for n in range(2 * UNKNOWN_LINKS.most + 1)
        )
        return [answer.status_code for answer in asked]


@pytest.mark.slow
def test_t127_behind_two_proxies_each_client_is_counted_for_itself(proxied: tuple[Box, Nginx, Nginx]) -> None:
    _, inner, outer = proxied
    for proxy, guesser, other in ((inner, "127.0.0.31", "127.0.0.32"), (outer, "127.0.0.33", "127.0.0.34")):
        assert 429 in statuses(proxy, guesser)
        assert statuses(proxy, other)[0] == 404


def test_t127_what_a_client_says_of_itself_does_not_make_it_another(proxied: tuple[Box, Nginx, Nginx]) -> None:
    for number, proxy in enumerate(proxied[1:]):
        answers = statuses(proxy, f"127.0.0.{41 + number}", lambda n: {"x-forwarded-for": f"203.0.113.{n % 250}"})
        assert 429 in answers


def test_t127_who_is_no_proxy_is_not_believed(proxied: tuple[Box, Nginx, Nginx]) -> None:
    """Straight to the service, which believes 127.0.0.1 and nobody else."""
    box, _, _ = proxied
    answers = set()
    with httpx2.Client(transport=httpx2.HTTPTransport(local_address="127.0.0.51"), trust_env=False) as guesser:
        for number in range(2 * UNKNOWN_LINKS.most + 1):
            headers = {"x-forwarded-for": f"203.0.113.{number % 250}"}
            answers.add(guesser.get(f"{box.urls[0]}/c/{ids.name('el')}", headers=headers).status_code)
    assert answers == {404, 429}


def test_a_call_of_an_api_may_have_a_larger_body_than_other_requests(proxied: tuple[Box, Nginx, Nginx]) -> None:
    """The service says how large. Nothing of it is kept in the proxy, whose folder for bodies is small."""
    box, inner, outer = proxied
    agent = box.fresh_agent()
    headers = {"authorization": f"Bearer {agent.api_key}"}
    for proxy in (inner, outer):
        with httpx2.Client(base_url=proxy.url, headers=headers, trust_env=False, timeout=30) as client:
            call = client.post(f"/v1/connections/{ids.name('cn')}/proxy/files", content=bytes(3_000_000))
            assert (call.status_code, call.json()["code"]) == (404, "not_found")
            assert client.post("/v1/elicitations", content=bytes(3_000_000)).status_code == 413


def test_a_flow_goes_to_its_end_on_a_port_of_its_own(stage: Stage, http_user: HttpUser) -> None:
    asked = stage.ask()
    assert asked["url"].startswith(stage.box.url)
    stage.complete(http_user, asked)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:1"])
def test_forms_are_taken_whatever_host_the_proxy_passes_on(
    proxied: tuple[Box, Nginx, Nginx], http_user: HttpUser, host: str
) -> None:
    """nginx's $host has no port, and a proxy may name the server as it knows it."""
    box, inner, _ = proxied
    target = f"127.0.0.1:{box.ports[0]}"
    careless = Nginx({"web": target, "waiting": target}, port=inner.port, changes={"Host $http_host": f"Host {host}"})
    inner.stop()
    try:
        careless.start()
        stage = Stage(box, box.fresh_agent(), None, None)  # type: ignore[arg-type]  not looked at
        asked = stage.agent.post(
            "/v1/elicitations",
            json={
                "kind": "confirm", "message": "May I?", "params": {},
                "subject": ALICE.subject(box.tables["identity_provider"][0]["issuer"]),
            },
        ).json()  # fmt: skip
        http_user.connect(asked["url"], "alice")
        http_user.press("decline")
        assert http_user.page_status == "declined"
    finally:
        careless.remove()
        inner.start()


def test_t34_what_providers_send_back_stands_in_no_log_of_the_proxy() -> None:
    """While nothing runs behind the proxy, it logs a line about every request except these."""
    nobody = f"127.0.0.1:{free_port()}"
    proxy = Nginx({"web": nobody, "waiting": nobody})
    try:
        proxy.start()
        for path in ("/login/corp/callback", "/callback/drive", "/payments/main/return", "/account"):
            assert httpx2.get(f"{proxy.url}{path}?code=canary-{path[1:3]}", trust_env=False).status_code == 502
        said = until(proxy.process.output, "nginx says what it met")
        assert set(re.findall(r"canary-\w+", said)) == {"canary-ac"}
    finally:
        proxy.remove()


@pytest.mark.slow
@pytest.mark.limit(240)
# nginx as it comes holds 512 a worker. Ten thousand is what the shipped proxy is for.
@pytest.mark.parametrize("number", [1500, 10_000])
def test_more_agents_wait_through_it_than_nginx_holds_by_itself(
    stage: Stage, proxied: tuple[Box, Nginx, Nginx], number: int
) -> None:
    box, inner, _ = proxied
    stages = [stage, *(Stage(box, box.fresh_agent(), stage.corp, stage.drive) for _ in range(AGENTS - 1))]
    asked = [one.ask()["id"] for one in stages]
    heads = [
        f"GET /v1/elicitations/{pk}?wait=60 HTTP/1.1\r\nHost: {inner.url[7:]}\r\n"
        f"Authorization: Bearer {one.agent.api_key}\r\nConnection: close\r\n\r\n"
        for pk, one in zip(asked, stages, strict=True)
    ]

    def waiters() -> int:
        page = httpx2.get(f"{box.urls[0]}/metrics", trust_env=False, timeout=30).text
        found = re.search(r"^elicit_waiters (\d+)", page, re.M)
        return int(found[1]) if found else 0

    with ExitStack() as stack:
        waiting: list[socket.socket] = []
        # Not all in one moment: nginx answers 504 to what the service has not accepted after some seconds.
        for some in range(WAVE, number + 1, WAVE):
            while len(waiting) < some:
                waiting.append(stack.enter_context(socket.create_connection(("127.0.0.1", inner.port))))
                waiting[-1].sendall(heads[len(waiting) % AGENTS].encode())
            until(lambda: waiters() == len(waiting), f"{some} of them wait", timeout=20, every=0.05)
        for pk, each in zip(asked, stages, strict=True):
            each.agent.post(f"/v1/elicitations/{pk}/cancel")
        assert {one.recv(12) for one in waiting} == {b"HTTP/1.1 200"}


@pytest.mark.slow
def test_a_burst_that_a_process_accepts_after_some_seconds_is_answered() -> None:
    """Its backlog is full, so TCP tries again, and the proxy has to wait long enough for that."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as busy:
        address = f"127.0.0.1:{busy.getsockname()[1]}"
        proxy = Nginx({"web": address, "waiting": address})
        try:
            proxy.start()
            with ExitStack() as stack:
                asking = [
                    stack.enter_context(socket.create_connection(("127.0.0.1", proxy.port), timeout=within(30)))
                    for _ in range(300)
                ]
                for one in asking:
                    one.sendall(b"GET /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                time.sleep(3.5)  # with a timeout of two seconds most get 504 by now
                answered = threading.Event()
                process = threading.Thread(target=answer_all, args=(busy, answered))
                process.start()
                stack.callback(process.join)
                stack.callback(answered.set)
                assert {one.recv(12) for one in asking} == {b"HTTP/1.1 200"}
        finally:
            proxy.remove()


def answer_all(busy: socket.socket, answered: threading.Event) -> None:
    """Accepts whoever asks and answers, until all are answered."""
    busy.settimeout(0.2)
    while not answered.is_set():
        with suppress(OSError):  # nobody asks at the moment, or nginx has given that one up
            client, _ = busy.accept()
            with client:
                client.recv(65536)
                client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")


class Resetting:
    """Resets the first connection of each method once the request has arrived, and answers the others."""

    def __init__(self) -> None:
        self.came: list[str] = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self) -> None:
        with suppress(OSError):  # closed
            while True:
                connection, _ = self.listener.accept()
                method = connection.recv(65536).partition(b" ")[0].decode()
                self.came.append(method)
                if self.came.count(method) == 1:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                else:
                    connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
                connection.close()

    def close(self) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join()


@pytest.mark.parametrize("path", ["/v1/agent", "/callback/acme"])
def test_what_only_reads_is_passed_on_again_and_nothing_else_is_sent_twice(path: str) -> None:
    there = Resetting()
    nginx = Nginx({"web": f"127.0.0.1:{free_port()}", "waiting": there.address})  # the first process is away
    try:
        nginx.start()
        assert httpx2.get(nginx.url + path, trust_env=False).status_code == 200
        assert httpx2.post(nginx.url + path, content=b"x", trust_env=False).status_code == 502
        assert there.came == ["GET", "GET", "POST"]
    finally:
        nginx.remove()
        there.close()


def test_metrics_are_for_the_network_inside(proxied: tuple[Box, Nginx, Nginx]) -> None:
    box, inner, _ = proxied
    for path in ("/metrics", "/incidents"):
        assert httpx2.get(inner.url + path, trust_env=False).status_code == 404
        assert httpx2.get(box.urls[0] + path, trust_env=False).status_code == 200
    for path in ("/livez", "/readyz"):
        assert httpx2.get(inner.url + path, trust_env=False).status_code == 200


def test_who_asks_a_process_by_its_own_address_is_answered_what_is_for_the_network_inside(
    proxied: tuple[Box, Nginx, Nginx],
) -> None:
    """Prometheus asks web:8000, and Kubernetes the address of a pod. For a page that stays a wrong Host."""
    box, _, _ = proxied
    paths = ("/metrics", "/incidents", "/livez", "/readyz", "/account")
    for host in ("web:8000", "10.1.2.3:8000", "[fd00::7]:8000"):
        with httpx2.Client(base_url=box.urls[0], headers={"host": host}, trust_env=False) as client:
            statuses = [client.get(path).status_code for path in paths]
        assert statuses == [200, 200, 200, 200, 400]
