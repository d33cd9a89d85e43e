"""Private networks that the operator allows: what is allowed, what is refused all the same."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest

from elicit_flows import http
from elicit_flows.http import client, destinations
from elicit_flows.lib import networks
from tests.doubles.certificate import by_an_authority
from tests.doubles.policy import dialing
from tests.doubles.raw import answering, listening
from tests.doubles.sending import Send
from tests.support.left_out import left_out
from tests.support.process import PROJECT, clean_env

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
WIDE = "10.0.0.0/8, 100.64.0.0/10, 192.0.0.0/16, 168.0.0.0/6, 126.0.0.0/7, [fc00::/7]"
METADATA = """
169.254.169.254 169.254.170.2 100.100.100.200 168.63.129.16 192.0.0.192 127.0.0.1 127.0.0.53 fd00:ec2::254
fd20:ce::254 fd00:42::42 fd00:c1::a9fe:a9fe
"""


def allowing(text: str) -> http.Policy:
    return http.Policy(networks=networks.read(text))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", []),
        ("10.20.0.0/16", ["10.20.0.0/16:443,8443,9443"]),
        ("10.20.0.0/16:443,5443, 10.9.0.7:80", ["10.20.0.0/16:443,5443", "10.9.0.7/32:80"]),
        ("[fd12:3456::/48]:8443,[fd12::1]", ["[fd12:3456::/48]:8443", "[fd12::1/128]:443,8443,9443"]),
        ("169.254.169.254:443", ["169.254.169.254/32:443"]),
    ],
)
def test_networks_with_ports_are_read(text: str, shown: list[str]) -> None:
    assert list(map(str, networks.read(text))) == shown


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("*", "is no network"),
        ("keycloak.internal", "is no network"),
        ("10.20.0.1/16", "has host bits set"),
        ("443", "no address and no network"),
        ("10.0.0.0/8,443", "no address and no network"),
        ("10.0.0.0/8:0", "is no port"),
        ("10.0.0.0/8:443,70000", "is no port"),
        ("fd12::/48", "is no network"),
        ("10.0.0.0/8:443-445", "is no network"),
        ("10.0.0.0/8:" + ",".join(map(str, range(1, 18))), "more than 16 ports"),
        ("0.0.0.0/0", "no server can be"),
        ("[::/0]", "no server can be"),
        ("[64:ff9b::/96]", "no server can be"),
        ("[::ffff:10.0.0.0/104]", "no server can be"),
        ("127.0.0.0/8", "only single addresses"),
        ("169.254.0.0/16", "only single addresses"),
        ("169.254.169.0/24:80", "only single addresses"),
        ("[fe80::/64]", "only single addresses"),
    ],
)
def test_t89_what_would_allow_too_much_is_no_setting(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        networks.read(text)


@pytest.mark.parametrize("address", METADATA.split())
def test_t89_what_is_never_meant_is_refused_inside_a_wide_network_and_allowed_by_its_own_name(address: str) -> None:
    spelled = f"[{address}]" if ":" in address else address
    with dialing(allowing(WIDE)):
        assert not destinations.reachable(ip_address(address), 443, http.policy())
        with pytest.raises(http.Refused):
            http.check_url(f"https://{spelled}/")
    with dialing(allowing(f"{WIDE}, {spelled}:443")):
        http.check_url(f"https://{spelled}/")
        with pytest.raises(http.Refused):
            http.check_url(f"https://{spelled}:8443/")


@pytest.mark.parametrize(
    "url",
    [
        "https://10.21.0.1/",
        "https://10.20.0.1:5443/",
        "https://10.20.0.1:9443/",
        "https://192.168.1.1/",
        "https://[::ffff:10.20.0.1]/",
        "https://[64:ff9b::10.20.0.1]/",
        "https://[fd12:3457::1]/",
        "https://1.1.1.1:8080/",
        "https://provider.example.com:8080/",
        "http://10.20.0.1:8443/",
        "https://0x0a140001/",
        "https://localhost/",
        "https://app.localhost/",
        "https://flows.corp.internal/",
    ],
)
def test_t88_t89_nothing_but_the_named_networks_and_ports_is_allowed(url: str) -> None:
    own = frozenset({"flows.corp.internal"})
    allowed = networks.read("10.20.0.0/16:443,8443, [fd12:3456::/48], 10.30.0.7:5443")
    with dialing(http.Policy(networks=allowed, own_hosts=own)):
        for good in ("https://10.20.3.4/", "https://10.30.0.7:5443/", "https://[fd12:3456::7]:9443/",
                     "https://keycloak.corp.internal:5443/", "https://keycloak/"):  # fmt: skip
            http.check_url(good)
        with pytest.raises(http.Refused):
            http.check_url(url)


@pytest.mark.parametrize("leads_to", ["169.254.169.254", "127.0.0.1", "10.21.0.1", "fe80::1", "10.30.0.7"])
def test_t89_t90_the_addresses_of_a_private_name_are_judged_with_the_port(
    send: Send, monkeypatch: pytest.MonkeyPatch, leads_to: str
) -> None:
    with listening(answering(OK)) as sink, dialing(allowing(f"10.20.0.0/16:{sink.port}, 10.30.0.7:443")):
        monkeypatch.setattr(client, "resolver", lambda host, port: [leads_to])
        with pytest.raises(http.Refused):
            send("GET", f"https://keycloak.corp.internal:{sink.port}/")
        assert sink.connections == 0


INSIDE = """
import json, os, socket, ssl, sys, threading
import django
django.setup()
from elicit_flows import http

context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1], sys.argv[2])
REPLY = b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\nConnection: close\\r\\n\\r\\nok"
came = []

def serve(listener, at):
    while True:
        connection, _ = listener.accept()
        came.append(at)
        try:
            with context.wrap_socket(connection, server_side=True) as tls:
                tls.recv(65536)
                tls.sendall(REPLY)
        except OSError:
            pass

ADDRESSES = ("10.20.0.7", "10.21.0.7", "169.254.169.254", "127.0.0.1")
for at in [(each, port) for each in ADDRESSES for port in (8443, 9443)]:
    threading.Thread(target=serve, args=(socket.create_server(at), at), daemon=True).start()

said = {}
for url in sys.argv[3:]:
    try:
        said[url] = http.send("GET", url, deadline=10).status
    except (http.Refused, http.Unreachable) as error:
        said[url] = type(error).__name__
print(json.dumps({"said": said, "came": came, "trusted": len(http.client.pool.tls.get_ca_certs())}))
"""


def in_a_private_network(folder: Path, urls: list[str], **environment: str) -> dict[str, Any]:
    """Runs the service's client where 10.20.0.7 and others are servers, with names of their own."""
    if not shutil.which("unshare") or not shutil.which("ip"):
        left_out("unshare and ip: not on this machine (apt-get install util-linux iproute2)")
    by_an_authority(folder, "keycloak.corp.internal")
    hosts = folder / "hosts"
    hosts.write_text(
        "10.20.0.7 keycloak.corp.internal other.corp.internal\n"
        "169.254.169.254 metadata.google.internal\n"
        "127.0.0.1 own.corp\n"
    )
    addresses = " && ".join(f"ip addr add {each}/32 dev lo" for each in ("10.20.0.7", "10.21.0.7", "169.254.169.254"))
    set_up = f'ip link set lo up && {addresses} && mount --bind {hosts} /etc/hosts && exec "$@"'
    program = [sys.executable, "-c", INSIDE, f"{folder}/server.pem", f"{folder}/server.key"]
    fixed = {"DJANGO_SETTINGS_MODULE": "config.settings", "DATABASE_URL": f"sqlite:///{folder}/x.sqlite3"}
    ran = subprocess.run(
        ["unshare", "--map-root-user", "--net", "--mount", "sh", "-c", set_up, "sh", *program, *urls],
        cwd=PROJECT, env=clean_env(fixed | environment), capture_output=True, text=True, check=False,
    )  # fmt: skip
    if "unshare" in ran.stderr and "Operation not permitted" in ran.stderr:
        left_out("network namespaces: not allowed to this user (sysctl kernel.unprivileged_userns_clone=1)")
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)  # type: ignore[no-any-return]


INNER = [
    "https://keycloak.corp.internal:8443/",
    "https://10.20.0.7:9443/",
    "https://10.21.0.7:8443/",
    "https://169.254.169.254:8443/",
    "https://metadata.google.internal:8443/",
    "https://own.corp:8443/",
]


@pytest.mark.slow
def test_t89_in_a_real_private_network_only_what_is_allowed_is_called(tmp_path: Path) -> None:
    """Configured by environment variables only, with a certificate of a private authority."""
    heard = in_a_private_network(
        tmp_path, INNER,
        ELICIT_ALLOWED_NETWORKS="10.20.0.0/16:8443, 168.0.0.0/6:8443, 126.0.0.0/7:8443",
        ELICIT_CA_FILE=f"{tmp_path}/ca.pem",
    )  # fmt: skip
    assert heard["said"] == {INNER[0]: 200} | dict.fromkeys(INNER[1:], "Refused")
    assert heard["came"] == [["10.20.0.7", 8443]]


@pytest.mark.slow
def test_t89_without_the_setting_nothing_there_is_called(tmp_path: Path) -> None:
    heard = in_a_private_network(tmp_path, INNER)
    assert heard["said"] == dict.fromkeys(INNER, "Refused")
    assert heard["came"] == []


@pytest.mark.slow
def test_a_private_authority_is_believed_besides_the_systems_and_its_certificates_are_verified(tmp_path: Path) -> None:
    urls, allowed = [INNER[0], "https://other.corp.internal:8443/"], {"ELICIT_ALLOWED_NETWORKS": "10.20.0.0/16:8443"}
    without = in_a_private_network(tmp_path, urls, **allowed)
    assert without["said"] == dict.fromkeys(urls, "Unreachable")
    beside = in_a_private_network(tmp_path, urls, **allowed, ELICIT_CA_FILE=f"{tmp_path}/ca.pem")
    assert beside["said"] == {urls[0]: 200, urls[1]: "Unreachable"}, "the certificate must name the host, too"
    assert beside["trusted"] == without["trusted"] + 1
