"""Links: they are opaque, cannot be guessed, and opening one changes nothing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from datetime import timedelta

import httpx2
import pytest
from django.test import Client

from elicit_flows.elicitations import creation
from elicit_flows.lib import clock, ids
from elicit_flows.models import Agent, Elicitation, IdentityProvider, Provider
from elicit_flows.web import paging
from tests.cast import ALICE
from tests.journey.stage import Stage
from tests.support.http_user import HttpUser

SCANNERS = [
    "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)",
    "Slackbot 1.0 (+https://api.slack.com/robots)",
    "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)",
    "Twitterbot/1.0",
    "LinkedInBot/1.0 (compatible; Mozilla/5.0; Apache-HttpClient +http://www.linkedin.com)",
    "Discordbot/2.0; +https://discordapp.com",
    "TelegramBot (like TwitterBot)",
    "WhatsApp/2.23.20.0",
    "SkypeUriPreview Preview/0.5",
    "Microsoft Office/16.0 (Microsoft Outlook 16.0; Pro)",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) SafeLinks",
    "Mozilla/5.0 BarracudaCentral",
    "Mozilla/5.0 (compatible; Proofpoint URL Defense)",
    "Mozilla/5.0 (compatible; Mimecast)",
    "Googlebot/2.1 (+http://www.google.com/bot.html)",
    "bingbot/2.0",
    "Applebot/0.1",
    "Iframely/1.3.1 (+https://iframely.com/docs/about)",
    "curl/8.5.0",
    "",
]
PREFETCH = [{}, {"sec-purpose": "prefetch"}, {"sec-purpose": "prefetch;prerender"}, {"purpose": "prefetch"}]


def test_t9_the_link_is_an_opaque_id_and_nothing_else(stage: Stage):
    asked = stage.ask(message="Personal words of Alice", metadata={"call": "t-17"})
    assert re.fullmatch(re.escape(stage.box.url) + r"/c/el_[\w-]{32}", asked["url"])
    assert all(re.fullmatch(r"el_[\w-]{32}", ids.name("el")) for _ in range(10_000))


def test_t9_a_link_alone_tells_nobody_anything(stage: Stage, http_user: HttpUser):
    asked = stage.ask(message="Personal words of Alice", scopes=["files.write"])
    http_user.open(asked["url"])
    assert (http_user.page_name, http_user.actions()) == ("signin", ["signin"])
    shown = http_user.answer.text.replace(asked["id"], "").lower()
    for said in ("alice", "words", "drive", "files", stage.agent.slug, stage.corp.issuer, "corp"):
        assert said not in shown, said
    for path in ("done", "continue", "decline", "other-device"):
        http_user.open(f"{asked['url']}/{path}")
        assert "words" not in http_user.answer.text


def test_t9_whoever_has_the_link_but_not_the_person_can_do_nothing(stage: Stage, http_user: HttpUser):
    asked = stage.ask()
    http_user.open(asked["url"])
    token = dict(http_user.page.forms["signin"].fields)["csrfmiddlewaretoken"]
    for button in ("continue", "decline"):
        headers = {"origin": stage.box.url, "sec-fetch-site": "same-origin"}
        body = {"csrfmiddlewaretoken": token}
        request = http_user.http.build_request("POST", f"{asked['url']}/{button}", data=body, headers=headers)
        assert http_user.send(request).status_code == 403
    assert stage.status(asked) == "pending"


def test_t10_ids_are_chance_in_every_bit():
    count = 100_000
    made = [ids.name("el").removeprefix("el_") for _ in range(count)]
    assert len(set(made)) == count
    assert all(len(one) == 32 for one in made)
    for place in range(32):
        seen = Counter(one[place] for one in made)
        expected = count / 64
        chi_squared = sum((found - expected) ** 2 / expected for found in (seen[sign] for sign in ALPHABET))
        # 63 degrees of freedom: 160 is exceeded once in 10^10.
        assert chi_squared < 160, (place, chi_squared)


ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def _from(address: str) -> httpx2.Client:
    """A client whose requests come from that address of this machine: limits count by address."""
    return httpx2.Client(transport=httpx2.HTTPTransport(local_address=address), trust_env=False)


@pytest.mark.slow
def test_t10_guessing_links_finds_nothing_and_is_stopped(stage: Stage):
    with _from("127.0.0.10") as guesser:
        answers = [guesser.get(f"{stage.box.url}/c/{ids.name('el')}") for _ in range(220)]
    statuses = [answer.status_code for answer in answers]
    assert set(statuses) == {404, 429}
    assert statuses[0] == 404
    # The switch of the language has a token and the address of this page.
    switch = re.compile('<form method="post" action="/language".*?</form>', re.DOTALL)
    assert len({switch.sub("", answer.text) for answer in answers if answer.status_code == 404}) == 1
    assert all(int(answer.headers["retry-after"]) > 0 for answer in answers if answer.status_code == 429)


@pytest.mark.slow
def test_t10_whoever_guessed_too_often_still_opens_a_link_that_exists(stage: Stage):
    asked = stage.ask()
    with _from("127.0.0.11") as guesser:
        while guesser.get(f"{stage.box.url}/c/{ids.name('el')}").status_code != 429:
            pass
        assert guesser.get(asked["url"]).status_code == 200


@pytest.mark.slow
def test_t60_a_forged_forwarding_header_does_not_reset_the_limit(stage: Stage):
    with _from("127.0.0.12") as guesser:
        statuses = []
        for number in range(220):
            forged = f"203.0.113.{number}"
            headers = {"x-forwarded-for": forged, "forwarded": f"for={forged}", "x-real-ip": forged}
            statuses.append(guesser.get(f"{stage.box.url}/c/{ids.name('el')}", headers=headers).status_code)
    assert 429 in statuses


def test_t60_a_forged_forwarding_header_does_not_change_the_addresses_in_answers(stage: Stage, http_user: HttpUser):
    forged = {"x-forwarded-proto": "https", "x-forwarded-host": "evil.example", "x-forwarded-for": "203.0.113.1"}
    user = HttpUser(headers=forged)
    asked = stage.ask()
    assert stage.agent.get(f"/v1/elicitations/{asked['id']}", headers=forged).json()["url"] == asked["url"]
    stage.complete(user, asked)
    assert not any("evil.example" in answer.text + str(answer.headers) for answer in user.trail)
    user.close()


def _scan(client: httpx2.Client, url: str, agent: str, headers: dict[str, str]) -> set[int]:
    sent = {"user-agent": agent, **headers}
    return {client.request(method, url, headers=sent).status_code for method in ("GET", "HEAD", "OPTIONS")}


@pytest.mark.slow
def test_t11_scanners_and_prefetchers_change_nothing(each_stage: Stage, new_http_user: Callable[..., HttpUser]):
    stage, owner = each_stage, new_http_user()
    asked = stage.ask()
    owner.connect(asked["url"], "alice", decide="nothing")
    asked = stage.ask(reuse="never")
    before, calls = stage.snapshot(asked["id"]), stage.drive.counts()
    paths = ["/done", "/continue", "/decline", "/submit", "/other-device", "/other-device/code"]
    with httpx2.Client(trust_env=False) as stranger:
        for number, scanner in enumerate(SCANNERS):
            for client in (stranger, owner.http):
                for path in ("", paths[number % len(paths)]):
                    headers = PREFETCH[number // len(paths) % len(PREFETCH)]
                    assert _scan(client, asked["url"] + path, scanner, headers) <= {200, 405}
    assert stage.snapshot(asked["id"]) == before
    assert stage.events(asked) == ["created"]
    assert stage.drive.counts() == calls
    stage.complete(owner, asked)


@pytest.mark.django_db
def test_t12_one_agent_cannot_flood_one_person(client: Client, monkeypatch: pytest.MonkeyPatch):
    corp = IdentityProvider.objects.create(slug="corp", issuer="https://idp.example.com", client_id="x")
    Provider.objects.create(slug="drive", name="Drive", client_id="x")
    agent = Agent.objects.create(slug="bot", name="Bot", key_hash=ids.digest("k" * 40), key_hint="k")
    agent.identity_providers.add(corp)
    now = clock.now()
    Elicitation.objects.bulk_create(
        Elicitation(
            agent=agent, kind="oauth", iss=corp.issuer, sub=ALICE.sub, message=f"Question {number}",
            params={"provider": "drive", "scopes": []}, created_at=now, expires_at=now + timedelta(hours=1),
        )
        for number in range(creation.OPEN_PER_PERSON)
    )  # fmt: skip

    def ask(sub: str) -> object:
        body = {
            "kind": "oauth",
            "subject": {"iss": corp.issuer, "sub": sub},
            "message": "x",
            "params": {"provider": "drive"},
        }
        return client.post(
            "/v1/elicitations", body, "application/json", headers={"authorization": "Bearer " + "k" * 40}
        )

    refused = ask(ALICE.sub)
    assert refused.status_code == 429
    assert int(refused["Retry-After"]) > 0
    assert ask("bob").status_code == 201
    Elicitation.objects.filter(sub=ALICE.sub).first().delete()
    assert ask(ALICE.sub).status_code == 201
    session = client.session
    session["person"] = {"iss": corp.issuer, "sub": ALICE.sub, "label": "Alice", "auth_time": 0, "browser": "b"}
    session.save()
    assert client.get("/account/requests").content.count(b"Look at the request") == paging.SIZE


@pytest.mark.django_db
def test_t12_all_agents_together_cannot_flood_one_person_either(client: Client, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(creation, "OPEN_OF_ALL", 4)
    corp = IdentityProvider.objects.create(slug="corp", issuer="https://idp.example.com", client_id="x")
    for letter in "yz":
        agent = Agent.objects.create(slug=letter, name=letter, key_hash=ids.digest(letter * 40), key_hint=letter)
        agent.identity_providers.add(corp)

    def ask(letter: str, sub: str = ALICE.sub) -> int:
        body = {"kind": "confirm", "subject": {"iss": corp.issuer, "sub": sub}, "message": "x", "params": {}}
        headers = {"authorization": "Bearer " + letter * 40}
        return int(client.post("/v1/elicitations", body, "application/json", headers=headers).status_code)

    assert [ask(letter) for letter in "yzyz"] == [201] * 4
    assert [ask(letter) for letter in "yz"] == [429, 429]
    assert ask("y", "bob") == 201
    Elicitation.objects.filter(sub=ALICE.sub).update(expires_at=clock.now())
    assert ask("z") == 201
