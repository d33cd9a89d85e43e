"""Local accounts: one invitation, then sign-in with a passkey; no other person, browser or site can use it."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.auth.models import User as Operator
from django.core.management import call_command
from django.test import Client
from django.test.utils import override_settings
from playwright.sync_api import CDPSession

from elicit_flows import people
from elicit_flows.domain.errors import NotFound
from elicit_flows.domain.values import Claim
from elicit_flows.lib import clock
from elicit_flows.models import Elicitation, IdentityProvider, Invitation, Member, Passkey
from elicit_flows.people import local_accounts
from tests.cast import OLGA
from tests.doubles.authenticator import PRESENT, Authenticator
from tests.journey.stage import form_post, session_of
from tests.journey.test_accessibility import PHONE, Reader
from tests.support import rows
from tests.support.browser import User
from tests.support.http_user import HttpUser
from tests.support.rows import Known
from tests.support.serving import Served

NewUser = Callable[..., HttpUser]
Link = Callable[..., str]


@pytest.fixture
def home(served: Served) -> object:
    """Where the service is to browsers: passkeys need a name, and 127.0.0.1 is none."""
    url = served.url.replace("127.0.0.1", "localhost")
    with override_settings(ELICIT_PUBLIC_URL=url):
        IdentityProvider.objects.create(slug="team", sort="accounts", issuer=url)
        yield url


@pytest.fixture
def team(home: str) -> Known:
    known = rows.agent()
    known.row.identity_providers.add(IdentityProvider.objects.get(slug="team"))
    return known


@pytest.fixture
def link(home: str, team: Known, served: Served) -> Link:
    def ask(sub: str, iss: str = "") -> str:
        body = rows.question(kind="confirm", params={}, subject={"iss": iss or home, "sub": sub})
        with team.client(served.url) as api:
            return f"{home}/c/{api.post('/v1/elicitations', json=body).json()['id']}"

    return ask


def options(user: HttpUser) -> str:
    found = re.search(r'data-options="([^"]*)"', user.answer.text)
    assert found, user.text
    return html.unescape(found[1])


def enrolled(user: HttpUser, home: str, name: str = "Alice") -> tuple[Member, Authenticator]:
    """Invited, and through with it."""
    member, device = local_accounts.new(name), Authenticator(home)
    user.open(f"{home}/invitation")
    user.press("accept", invitation=local_accounts.invite(member))
    user.press("passkey", credential=device.create(options(user)))
    assert user.page_name == "passkeys", user.text
    return member, device


def signed_in(user: HttpUser, link: str, device: Authenticator, **changes: bytes) -> HttpUser:
    user.open(link)
    user.press("signin")
    assert user.page_name == "passkey"
    device.count += 1 if device.count else 0
    user.press("passkey", credential=device.get(options(user), **changes))
    return user


def with_a_device(user: User) -> CDPSession:
    """A virtual one, in real Chromium."""
    session = user.context.new_cdp_session(user.page)
    session.send("WebAuthn.enable")
    device = {
        "protocol": "ctap2", "transport": "internal", "hasResidentKey": True, "hasUserVerification": True,
        "isUserVerified": True, "automaticPresenceSimulation": True,
    }  # fmt: skip
    session.send("WebAuthn.addVirtualAuthenticator", {"options": device})
    return session


@pytest.fixture
def alices(link: Link) -> tuple[str, str]:
    """An invitation and a question for her. Before there is a browser: its loop keeps the database from this thread."""
    member = local_accounts.new("Alice Liddell")
    return local_accounts.link(member), link(member.sub)


@pytest.mark.slow
def test_a_person_is_invited_makes_a_passkey_and_signs_in_with_it(
    home: str, alices: tuple[str, str], user: User
) -> None:
    invitation, asked = alices
    with_a_device(user)
    user.open(invitation)
    assert user.url == f"{home}/invitation", "the token is gone from the address"
    user.page.reload()
    for language, title in (("de", "Sie sind eingeladen"), ("en", "You are invited")):
        user.page.get_by_role("combobox").select_option(language)
        user.page.locator("form.language button").click()
        user.page.get_by_role("heading", name=title).wait_for()
    user.press("accept")
    assert "Alice Liddell" in user.text
    user.press("passkey")
    user.wait_for_page("passkeys")
    user.open(f"{home}/account")
    user.press("signout")
    user.open(asked)
    user.press("signin")
    user.press("passkey")
    user.wait_for_page("form")
    assert user.url == asked
    assert "You are signed in as Alice Liddell." in " ".join(user.text.split())
    assert user.complaints == []
    user.open(f"{home}/account/passkeys")
    user.press("add")
    user.page.locator("[data-action=passkey] button").click()
    user.page.locator("#trouble").wait_for()
    assert "did not return a passkey" in user.text, "this device has one already"


@pytest.mark.slow
def test_the_pages_are_accessible(home: str, alices: tuple[str, str], new_user: Callable[..., User]) -> None:
    user = new_user(viewport=PHONE, is_mobile=True, has_touch=True)
    reader = Reader(user)
    with_a_device(user)
    reader.check(alices[0], "invitation")
    user.press("accept")
    reader.look("passkey")
    user.press("passkey")
    user.wait_for_page("passkeys")
    reader.look("passkeys")
    user.press("add")
    user.page.locator("[data-action=passkey] button").click()
    user.page.locator("#trouble").wait_for()
    reader.look("passkey")


def test_without_a_script_the_page_says_what_it_needs(home: str, new_user: Callable[..., User]) -> None:
    plain = new_user(scripts=False)
    plain.open(f"{home}/invitation")
    assert "Passkeys need JavaScript" in plain.text


def test_t1_a_link_for_another_member_shows_them_nothing(new_http_user: NewUser, home: str, link: Link) -> None:
    alice, _ = enrolled(new_http_user(), home)
    _, device = enrolled(new_http_user(), home, "Bob")
    bob, asked = new_http_user(), link(alice.sub)
    signed_in(bob, asked, device)
    assert (bob.url, bob.answer.status_code, bob.page_name) == (asked, 403, "mismatch")
    assert form_post(bob, f"{asked}/submit").status_code == 403
    assert Elicitation.objects.get().status == "pending"


def test_t4_a_passkey_makes_a_new_session(http_user: HttpUser, home: str, link: Link, new_http_user: NewUser) -> None:
    member, device = enrolled(new_http_user(), home)
    http_user.http.cookies.set("sessionid", "a" * 32, domain="localhost.local")
    signed_in(http_user, link(member.sub), device)
    assert http_user.page_name == "form"
    assert session_of(http_user) != "a" * 32


def test_t5_an_answer_for_another_browser_signs_nobody_in(new_http_user: NewUser, home: str, link: Link) -> None:
    member, device = enrolled(new_http_user(), home, "Mallory")
    mallory, victim, asked = new_http_user(), new_http_user(), link(member.sub)
    for user in (mallory, victim):
        user.open(asked)
        user.press("signin")
    answer, state = device.get(options(mallory)), dict(mallory.page.forms["passkey"].fields)["state"]
    victim.press("passkey", credential=answer, state=state)
    assert (victim.answer.status_code, victim.page_name) == (400, "refused")
    victim.open(asked)
    victim.press("signin")
    victim.press("passkey", credential=answer)
    assert (victim.answer.status_code, victim.page_name) == (403, "refused")
    victim.open(f"{home}/account")
    assert victim.page_name == "signin"


def test_t5_an_answer_is_good_once(new_http_user: NewUser, home: str, link: Link) -> None:
    member, device = enrolled(new_http_user(), home)
    user = new_http_user()
    user.open(link(member.sub))
    user.press("signin")
    sent = user.form_request("passkey", credential=device.get(options(user)))
    assert user.send(sent).status_code == 303
    assert user.send(sent).status_code in {400, 403}


OTHERS = ["upper", "blank", "other issuer"]


@pytest.mark.parametrize("other", OTHERS)
def test_t6_a_sub_that_only_looks_alike_is_somebody_else(
    new_http_user: NewUser, http_user: HttpUser, home: str, link: Link, other: str
) -> None:
    member, device = enrolled(new_http_user(), home)
    iss = rows.ISSUER if other == "other issuer" else ""
    sub = {"upper": member.sub.swapcase(), "blank": f"{member.sub} "}.get(other, member.sub)
    signed_in(http_user, link(member.sub), device)
    assert http_user.page_name == "form"
    http_user.open(link(sub, iss))
    assert (http_user.answer.status_code, http_user.page_name) == (403, "mismatch")


def test_t6_two_people_of_one_name_are_two(new_http_user: NewUser, http_user: HttpUser, home: str, link: Link) -> None:
    first, _ = enrolled(new_http_user(), home, "Alice")
    second, device = enrolled(new_http_user(), home, "Alice")
    assert first.sub != second.sub
    signed_in(http_user, link(first.sub), device)
    assert http_user.page_name == "mismatch"


def refused(user: HttpUser, link: str, device: Authenticator, **changes: bytes) -> None:
    signed_in(user, link, device, **changes)
    assert (user.answer.status_code, user.page_name) == (403, "refused")


def test_t2_a_passkey_used_at_another_place_is_refused(new_http_user: NewUser, home: str, link: Link) -> None:
    member, device = enrolled(new_http_user(), home)
    asked, user = link(member.sub), new_http_user()
    for origin, host in (
        (home.replace("localhost", "evil.test"), "localhost"),
        (home, "evil.test"),
        (home + "1", "localhost"),
    ):
        device.origin, device.host = origin, host
        refused(user, asked, device)
    device.origin, device.host, device.flags = home, "localhost", PRESENT
    refused(user, asked, device)  # nobody was asked for a finger or a PIN
    device.flags = 0x04
    refused(user, asked, device)


def test_t6_a_passkey_that_names_another_person_or_is_forged_is_refused(
    new_http_user: NewUser, home: str, link: Link
) -> None:
    member, device = enrolled(new_http_user(), home)
    other, _ = enrolled(new_http_user(), home, "Bob")
    asked, user = link(member.sub), new_http_user()
    refused(user, asked, device, userHandle=other.sub.encode())
    refused(user, asked, device, userHandle=b"")
    refused(user, asked, device, signature=b"x" * 70)
    stranger = Authenticator(home)
    refused(user, asked, stranger)
    stranger.id = device.id  # the id is no secret
    refused(user, asked, stranger)
    for sent in ("", "{}", "[]", "x" * 30_000):
        user.open(asked)
        user.press("signin")
        user.press("passkey", credential=sent)
        assert user.answer.status_code == 403
    assert signed_in(user, asked, device).page_name == "form"


def test_a_copy_of_a_passkey_shows_by_its_counter(new_http_user: NewUser, home: str, link: Link) -> None:
    member, device = enrolled(new_http_user(), home)
    asked, user = link(member.sub), new_http_user()
    device.count = 5
    assert signed_in(user, asked, device).page_name == "form"
    device.count = 4
    refused(new_http_user(), asked, device)
    assert Passkey.objects.get().sign_count == 6


def test_t61_a_member_who_is_switched_off_is_out_at_once(new_http_user: NewUser, home: str, link: Link) -> None:
    member, device = enrolled(new_http_user(), home)
    asked, user = link(member.sub), new_http_user()
    signed_in(user, asked, device)
    Member.objects.update(enabled=False)
    assert form_post(user, f"{asked}/submit").status_code == 403
    user.open(asked)
    assert user.page_name == "signin"
    refused(user, asked, device)


def test_an_invitation_works_once_for_a_day_and_the_newest_only(new_http_user: NewUser, home: str) -> None:
    member, user = local_accounts.new("Alice"), new_http_user()
    old, token = local_accounts.invite(member), local_accounts.invite(member)
    for wrong in ("", "x", old):
        user.open(f"{home}/invitation")
        user.press("accept", invitation=wrong)
        assert (user.answer.status_code, user.page_name) == (404, "refused")
    user.open(f"{home}/invitation")
    user.press("accept", invitation=token)
    other = new_http_user()
    other.open(f"{home}/invitation")
    other.press("accept", invitation=token)
    user.press("passkey", credential=Authenticator(home).create(options(user)))
    assert user.page_name == "passkeys"
    other.press("passkey", credential=Authenticator(home).create(options(other)))
    assert (other.answer.status_code, other.page_name) == (404, "refused")
    assert Passkey.objects.count() == 1
    Invitation.objects.update(used_at=None, expires_at=clock.now() - timedelta(seconds=1))
    with pytest.raises(NotFound):
        local_accounts.invited(token)


def test_a_passkey_is_made_for_this_browsers_challenge_by_a_device_that_asked(
    new_http_user: NewUser, home: str
) -> None:
    member, user = local_accounts.new("Alice"), new_http_user()
    token = local_accounts.invite(member)
    for change in ("origin", "flags", "challenge"):
        device = Authenticator(home)
        user.open(f"{home}/invitation")
        user.press("accept", invitation=token)
        asked = options(user)
        if change == "origin":
            device.origin = "http://evil.test"
        elif change == "flags":
            device.flags = PRESENT
        else:
            asked = asked.replace('"challenge": "', '"challenge": "AA')
        user.press("passkey", credential=device.create(asked))
        assert (user.answer.status_code, user.page_name) == (403, "refused"), change
    assert not Passkey.objects.exists()


def test_a_second_passkey_is_added_and_the_first_removed_after_a_fresh_sign_in(
    http_user: HttpUser, new_http_user: NewUser, home: str, link: Link
) -> None:
    member, first = enrolled(http_user, home)
    assert http_user.actions().count("remove") == 0, "the only one stays"
    second = Authenticator(home)
    http_user.press("add")
    http_user.press("passkey", credential=second.create(options(http_user)))
    assert Passkey.objects.count() == 2
    http_user.press("remove")
    assert Passkey.objects.count() == 1
    assert signed_in(new_http_user(), link(member.sub), second).page_name == "form"
    refused(new_http_user(), link(member.sub), first)


def test_t8_passkeys_are_not_changed_with_an_old_session(
    http_user: HttpUser, home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page offers what is needed: a new sign-in, which leads back to the passkeys."""
    _, device = enrolled(http_user, home)
    http_user.press("add")
    http_user.press("passkey", credential=Authenticator(home).create(options(http_user)))
    http_user.press("add")
    made, real = Authenticator(home).create(options(http_user)), clock.now
    monkeypatch.setattr(clock, "now", lambda: real() + timedelta(minutes=6))
    for change, sent in (("passkey", {"credential": made}), ("add", {}), ("remove", {})):
        http_user.press(change, **sent)
        assert (http_user.answer.status_code, http_user.page_name) == (403, "signin"), change
        assert Passkey.objects.count() == 2
        if change != "remove":
            http_user.open(f"{home}/account/passkeys")
    http_user.press("signin")
    device.count += 1
    http_user.press("passkey", credential=device.get(options(http_user)))
    assert http_user.url == f"{home}/account/passkeys"
    http_user.press("remove")
    assert Passkey.objects.count() == 1


def test_the_operator_invites_and_takes_a_lost_passkey_away(
    new_http_user: NewUser, home: str, link: Link, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("invite", "Alice Liddell")
    said = capsys.readouterr().out
    member = Member.objects.get()
    assert (f"iss: {home}\n" in said, f"sub: {member.sub}\n" in said) == (True, True)
    lost, user, asked = Authenticator(home), new_http_user(), link(member.sub)
    user.open(f"{home}/invitation")
    user.press("accept", invitation=said.strip().rpartition("#")[2])
    user.press("passkey", credential=lost.create(options(user)))
    call_command("invite", member.sub, "--forget")
    token = capsys.readouterr().out.strip().rpartition("#")[2]
    user.open(asked)
    assert user.page_name == "signin", "whoever has the device is out"
    refused(user, asked, lost)
    found = new_http_user()
    found.open(f"{home}/invitation")
    device = Authenticator(home)
    found.press("accept", invitation=token)
    found.press("passkey", credential=device.create(options(found)))
    assert signed_in(new_http_user(), asked, device).page_name == "form"


def test_t64_an_invitation_is_in_no_address_and_is_kept_as_a_hash(http_user: HttpUser, home: str) -> None:
    member = local_accounts.new("Alice")
    invitation = local_accounts.link(member)
    address, _, token = invitation.partition("#")
    assert address == f"{home}/invitation"
    assert len(token) == 43
    assert token not in str(list(Invitation.objects.values()))
    http_user.open(invitation)
    assert token not in http_user.answer.text


def test_an_account_is_told_in_the_export_and_goes_with_its_person(
    http_user: HttpUser, home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    member, _ = enrolled(http_user, home)
    claim = Claim(home, member.sub)
    said = people.export_data(claim)["account"]
    assert (said["name"], len(said["passkeys"])) == ("Alice", 1)
    people.request_erasure(claim)
    http_user.open(f"{home}/account")
    assert http_user.page_name == "signin"
    people.sweep_erasures()
    assert not Member.objects.exists()
    assert not Passkey.objects.exists()
    assert people.export_data(claim)["account"] is None


@override_settings(ELICIT_ADMIN_SECOND_FACTOR=False)
def test_the_admin_shows_an_invitation_once(home: str) -> None:
    host, admin_client = {"host": "localhost"}, Client()
    admin_client.force_login(Operator.objects.create_superuser(OLGA.username))
    admin_client.post("/admin/elicit_flows/member/add/", {"name": "Alice", "enabled": "on"}, headers=host)
    member = Member.objects.get()
    page = f"/admin/elicit_flows/member/{member.pk}/invite/"
    assert "#" not in admin_client.get(page, headers=host).content.decode().partition("<main")[2].partition("/main>")[0]
    shown = admin_client.post(page, headers=host).content.decode()
    token = shown.partition(f"{home}/invitation#")[2][:43]
    assert local_accounts.invited(token).member == member
    assert token not in admin_client.get(page, headers=host).content.decode()
