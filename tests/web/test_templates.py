"""The structure of the pages, as programs that drive a browser rely on it (contract, section 5)."""

from __future__ import annotations

import itertools
import re
from datetime import UTC, datetime

import pytest

from elicit_flows.domain.status import OPEN, Status
from elicit_flows.lib import text
from gallery.account import USES, connection_page, ended_page, just_ended, payments_page, sessions, uses
from gallery.asking import request_page
from gallery.everywhere import Context
from gallery.outcomes import late_page, payment_outcome_page
from gallery.states import PAGES
from tests.web.samples import ROOT, STATES, Page, render, shown

STATIC = ROOT / "elicit_flows" / "static" / "elicit"
every_page = pytest.mark.parametrize("name", STATES)


@every_page
def test_a_page_names_itself_and_its_status_for_programs(name: str):
    body = shown(name).all("body")[0]
    assert body["data-page"] == PAGES[name][1]
    assert body["data-status"] == PAGES[name][2]().get("status", "")


@every_page
def test_a_page_is_well_formed_with_one_main_and_one_heading(name: str):
    page = shown(name)
    assert not page.open, "every tag that opens closes"
    for tag in ("main", "h1", "title", "header", "footer"):
        assert len(page.all(tag)) == 1, tag
    assert page.all("html")[0] == {"lang": "en", "dir": "ltr"}
    assert "width=device-width" in str(page.all("meta"))
    levels = [int(tag[1]) for tag, _, _ in page.tags if re.fullmatch(r"h[1-6]", tag)]
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels)), levels
    identifiers = [attributes["id"] for _, attributes, _ in page.tags if "id" in attributes]
    assert len(identifiers) == len(set(identifiers))


@every_page
def test_a_page_has_a_title_of_its_own_and_a_way_past_the_header(name: str):
    page = shown(name)
    title = " ".join(data for tag, data in page.words if tag == "title")
    assert title.endswith(" · Elicit Flows")
    assert len(title) > len(" · Elicit Flows")
    first = next(attributes for tag, attributes, _ in page.tags if tag == "a")
    assert first["href"] == "#" + str(page.all("main")[0]["id"])


@every_page
def test_t50_every_form_posts_with_a_token_and_says_what_it_does(name: str):
    page = shown(name)
    actions = {
        "signin",
        "continue",
        "submit",
        "decline",
        "switch",
        "revoke",
        "revoke-all",
        "code",
        "new-code",
        "erase",
        "remove",
        "unsubscribe",
        "keep",
        "signout",
        "signout-everywhere",
        "signout-others",
        "end-session",
        "push",
        "end-push",
        "lower",
        "end",
        "refuse",
        "same",
        "both",
        "replace",
        "back",
        "yes",
        "no",
        "accept",
        "passkey",
        "add",
        "stop-messages",
        "stop-all-messages",
        "choose-messages",
    }
    forms = page.source.split("<form ")[1:]
    assert len(forms) == len(page.all("form"))
    tokens = {"name": "csrfmiddlewaretoken", "value": "t" * 64}
    for attributes, source in zip(page.all("form"), forms, strict=True):
        if attributes.get("role") == "search":  # asks, and changes nothing
            assert (attributes["method"], attributes.get("data-action")) == ("get", None)
            continue
        assert attributes["method"] == "post"
        # The switch of the language answers nothing, so programs that look for answers do not find it.
        assert attributes.get("data-action") in actions or attributes["class"] == "language"
        assert str(attributes["action"]).startswith("/")
        inputs = Page("<form " + source.partition("</form>")[0]).all("input")
        assert [item for item in inputs if tokens.items() <= item.items()], attributes


@every_page
def test_t52_a_page_needs_no_inline_script_or_style(name: str):
    page = shown(name)
    assert not page.all("style")
    assert not [data for tag, data in page.words if tag in {"script", "style"} and data.strip()]
    for tag, attributes, _ in page.tags:
        assert not [key for key in attributes if key == "style" or key.startswith("on")], tag
        assert tag != "script" or str(attributes["src"]).startswith("/static/elicit/")


@every_page
def test_t52_a_link_leads_to_the_web_or_to_a_page_of_ours(name: str):
    for attributes in shown(name).all("a"):
        href = str(attributes["href"])
        assert href.startswith("#") or text.safe_url(href) == href != "", href


@every_page
def test_development_settings_are_said_on_every_page(name: str):
    sentence = "Development settings: addresses on this machine are allowed"
    assert sentence in shown(name, allow_loopback=True).text()
    assert sentence not in shown(name, allow_loopback=False).text()


@every_page
def test_a_page_turns_around_for_languages_from_right_to_left(name: str):
    template, _, context = PAGES[name]
    assert render(template, context(), "ar").all("html")[0] == {"lang": "ar", "dir": "rtl"}


@every_page
def test_a_page_with_all_it_loads_is_small(name: str):
    page = shown(name)
    style = (STATIC / "style.css").read_bytes()
    scripts = [(STATIC / str(item["src"]).rpartition("/")[2]).read_bytes() for item in page.all("script")]
    assert len(style) <= 14_336
    assert sum(map(len, scripts)) <= 5_500
    assert len(page.source.encode()) + len(style) + sum(map(len, scripts)) <= 30_000
    loaded = [item for item in page.all("link") if not str(item["href"]).startswith("data:")] + page.all("script")
    assert len(loaded) + 1 <= 4


# What each page says


def test_t9_the_sign_in_page_says_nothing_of_the_request():
    page = shown("sign-in")
    for said in ("Drive Bot", "Acme", "acme.example", "files.read", "alice", "list your files"):
        assert said not in page.source
    assert [form["data-action"] for form in page.forms()] == ["signin"]
    assert len(page.buttons()) == 1
    assert {"type": "hidden", "name": "next", "value": "/c/el_1"} in page.all("input")


@pytest.mark.parametrize("name", ["consent, a step", "confirm, a step"])
def test_of_several_steps_the_page_says_which_is_now(name: str):
    page = shown(name)
    [listed] = [item for item in page.all("ol") if "aria-label" in item]
    assert listed["aria-label"] == "Steps"
    assert [item.get("aria-current") for item in page.all("li") if "class" not in item][:3] == [None, "step", None]
    assert "Step 2 of 3" in page.text()
    assert "Acme Drive done Quarterly report now Questions" in " ".join(page.text().split())
    assert not [item for item in shown(name.partition(",")[0]).all("ol") if "aria-label" in item]


def test_the_sign_in_page_offers_each_identity_provider():
    page = shown("sign-in with a choice")
    assert [(button["name"], button["value"]) for button in page.buttons()] == [
        ("provider", "corp"),
        ("provider", "lab"),
    ]
    assert "Continue with Corp" in page.text()


def test_the_consent_page_says_who_asks_for_what_and_what_comes_next():
    page = shown("consent")
    for said in (
        "Drive Bot drive-bot.example Added by the operator of this service",
        "Drive Bot wants to use your",
        "Acme Drive",
        "files.read",
        "profile",
        "acme.example",
        "alice@corp.example",
        "minutes",
    ):
        assert said in page.text(), said
    forms = {form["data-action"]: form["action"] for form in page.forms()}
    assert forms == {"continue": "/c/el_1/continue", "decline": "/c/el_1/decline", "switch": "/switch"}
    assert {"type": "hidden", "name": "press", "value": "press-1"} in page.all("input")


def test_what_a_scope_allows_stands_under_its_group_and_its_technical_name_behind_a_press():
    words = {"files.delete": "Delete your files", "files.write": "Change your files", "files.read": "See your files"}
    page = shown("consent", what={**request_page()["what"], "scopes": [*words, "x.y"], "scope_words": words})
    text = page.text()
    order = ["The agent will be able to", "Delete or administer Delete your files", "Change Change your files",
             "Read See your files", "Other x.y", "Technical names files.delete files.write files.read x.y"]  # fmt: skip
    assert [text.find(one) for one in order] == sorted({text.find(one) for one in order})
    assert -1 not in {text.find(one) for one in order}
    named = [parents for tag, _, parents in page.tags if tag == "code"]
    assert ["details" in parents for parents in named] == [False, True, True, True, True]


def test_an_operators_words_for_a_scope_are_shown_in_the_language_of_the_page():
    words = {
        "files.delete": {"en": "Delete your files", "de": "Deine Dateien löschen"},
        "files.write": {"fr": "Écrire"},
    }
    what = {**request_page()["what"], "scopes": [*words], "scope_words": words}
    assert "Delete or administer Delete your files" in shown("consent", what=what).text()
    template, _, context = PAGES["consent"]
    text = render(template, {**context(), "what": what}, "de").text()
    assert "Löschen oder verwalten Deine Dateien löschen" in text
    assert "Écrire" in text, "the first there is"


def test_t53_the_words_of_the_agent_stand_in_a_quotation_under_its_name():
    page = shown("consent")
    quoted = [data for tag, data in page.words if tag == "blockquote"]
    assert quoted == ["Connect Acme Drive so that I can list your files.", "To find the contract with Globex."]
    assert page.source.count("list your files") == 1
    assert "Drive Bot says" in page.text()
    assert page.all("blockquote")[0]["dir"] == "auto"


def test_t53_a_suspicious_host_comes_with_its_warning():
    what = {**request_page()["what"], "host": "xn--pple-43d.com", "host_warning": text.MIXED}
    assert text.MIXED in shown("consent", what=what).text()
    assert text.MIXED not in shown("consent").text()


def test_t1_the_wrong_person_learns_nothing_of_the_request():
    page = shown("mismatch")
    for said in ("Drive Bot", "Acme", "acme.example", "files.read", "list your files"):
        assert said not in page.source
    assert "This link is for someone else" in page.text()
    assert "alice@corp.example" in page.text()
    assert [form["data-action"] for form in page.forms()] == ["switch"]


def test_every_status_has_words_of_its_own():
    headings = {" ".join(d for tag, d in shown(f"done, {status}").words if tag == "h1") for status in Status}
    assert len(headings) == len(Status)


@pytest.mark.parametrize("status", list(Status))
def test_the_page_of_an_outcome_follows_it_until_it_is_over_and_then_leads_back(status: Status):
    page = shown(f"done, {status}")
    scripts = [src for item in page.all("script") if not (src := str(item["src"])).endswith("/zone.js")]
    refreshes = [parents for _, attributes, parents in page.tags if attributes.get("http-equiv") == "refresh"]
    back = [link for link in page.all("a") if link["href"] == "https://drive-bot.example/done"]
    again = [link for link in page.all("a") if link["href"] == "/c/el_1"]
    assert page.all("main")[0]["aria-live"] == "polite"
    assert scripts == (["/static/elicit/done.js"] if status in OPEN else [])
    assert ["noscript" in parents for parents in refreshes] == ([True] if status in OPEN else [])
    assert len(back) == (0 if status in OPEN else 1)
    assert all(link["rel"] == "noopener noreferrer" for link in back)
    assert len(again) == (1 if status in {Status.PENDING, Status.STARTED} else 0)


def test_the_page_of_a_payment_says_what_became_of_the_money():
    for mode, heading in (("pay", "Paid"), ("save", "Saved"), ("subscribe", "Subscribed")):
        page = shown("payment, completed", asked=payment_outcome_page(mode=mode)["asked"])
        assert [data for tag, data in page.words if tag == "h1"] == [heading]
        assert ("€19.99" in page.text()) == (mode != "save")
        assert "https://pay.example/receipt" in [link["href"] for link in page.all("a")]
    assert "It can take your bank some days" in shown("payment, settling").text()
    for status in ("cancelled", "expired", "declined"):
        assert "If you have paid in the meantime, you get your money back." in shown(f"payment, {status}").text()
    assert "does not accept the grant" in shown("payment, failed").text()


@pytest.mark.parametrize("interval", ["day", "week", "month", "year"])
def test_a_subscription_says_that_it_is_one_what_is_paid_when_and_how_to_end_it(interval: str):
    page = shown(f"subscribe, {interval}")
    assert "".join(data for tag, data in page.words if tag == "h1") == f"Subscribe for €9.90 a {interval}?"
    for said in (
        "until you cancel", "Today €9.90", "Next €9.90 on December 22, 2026, if you pay today",
        f"€9.90 every {interval}",
        "You can cancel at any time in Your account", "nothing more is charged",
    ):  # fmt: skip
        assert said in page.text(), said


def test_a_payment_says_no_more_than_that_it_is_one():
    text = shown("payment").text()
    assert "Pay €9.90?" in text
    assert not [word for word in ("Subscribe", "cancel", "every", "came back") if word in text]


def test_who_is_asked_to_save_a_payment_method_is_told_who_can_charge_it_and_how_to_take_it_back():
    text = shown("save").text()
    for said in (
        "Save a payment method for Drive Bot ?", "Nothing is charged today.",
        "Drive Bot cannot charge it through this service.", "You can remove it at any time in Your account",
    ):  # fmt: skip
        assert said in text, said
    assert "€" not in text


def test_who_comes_back_without_paying_is_told_so():
    page = shown("payment, nothing paid")
    assert "You came back without paying. Nothing was charged." in page.text()
    saved = shown("save", came_back=True).text()
    assert "You came back without saving a payment method. Nothing was charged." in saved


def test_the_account_page_offers_to_end_what_goes_on_and_says_how_far_that_is():
    page = shown("payments")
    offered = [form.get("data-action") for form in page.forms() if "/account/payments/" in str(form["action"])]
    assert sorted(map(str, offered)) == ["keep", "remove", *["unsubscribe"] * 3]
    for said in (
        "Next charge December 22, 2026", "State Cancelled Date", "Ends December 22, 2026",
        "Nothing more is charged. You can use it until it ends.",
        "The payment provider has not confirmed that yet; it is told again until it does.",
        "Payment method removed, nothing was charged through this service",
        "State The last charge was refused Date", "You can use it until December 25, 2026, and longer once it is paid.",
    ):  # fmt: skip
        assert said in page.text(), said


def test_who_has_taken_something_back_is_told_what_and_how_to_have_it_again():
    for name, words in (
        (
            "account, disconnected",
            "Acme Drive disconnected. Drive Bot gets no more access to your account alice@acme.example there.",
        ),
        ("account, all of an agent", "Everything that Drive Bot could use is disconnected."),
        ("account, all at a provider", "Everything at Acme Drive is disconnected."),
        ("payments, one cancelled", "Cancelled: The daily . Nothing more is charged."),
        ("payments, one removed", "Removed: An old card ."),
    ):
        page = shown(name)
        assert words in page.text()
        assert "a new link" in page.text()
        (said,) = [one for one in page.all("div") if one.get("role") == "status"]
        assert (said["tabindex"], "autofocus" in said) == ("-1", True), "who reads by ear hears it first"
    typed = render("account/connections.html", just_ended(typed=True)).text()
    assert "Drive Bot may have kept what you typed" in typed
    own = render("account/connections.html", just_ended(own_client=True)).text()
    assert "until you end your client at Acme Drive" in own


def test_a_secret_that_was_typed_is_never_in_a_page_again():
    page = shown("credentials, refused")
    assert "typed-secret" not in page.source
    fields = {field["name"]: field for field in page.all("input") if field.get("id")}
    assert fields["key"]["type"] == "password"
    assert (fields["key"]["aria-describedby"], fields["key"]["aria-invalid"]) == ("f-key-help f-key-fault", "true")
    assert (fields["team"]["type"], fields["team"]["value"]) == ("text", "blue")
    assert "aria-describedby" not in fields["team"]


@pytest.mark.parametrize("name", ["unsubscribe", "unsubscribe, an agent that is gone"])
def test_the_page_to_stop_messages_has_one_main_button(name: str):
    assert sum(one.get("class") == "primary" for one in shown(name).buttons()) == 1


def test_the_summary_of_what_is_wrong_names_the_field():
    assert "Nothing was saved yet API key : Fill this in." in shown("credentials, refused").text()


def test_what_is_wrong_leads_to_its_field_and_stands_before_it():
    for name in ("consent with a field, refused", "confirm, refused", "credentials, refused", "form, refused"):
        page = shown(name)
        wrong = [str(one["id"]) for one in page.all("input") if one.get("aria-invalid") and one.get("id")]
        links = [str(one["href"]) for one in page.all("a")]
        assert wrong, name
        for field in wrong:
            assert f"#{field}" in links, name
            assert page.source.index(f'id="{field}-fault"') < page.source.index(f'id="{field}"'), name


def test_the_page_for_a_providers_key_says_where_to_find_it_and_where_it_is_tried():
    page = shown("credentials of a provider")
    (link,) = [link for link in page.all("a") if link.get("target")]
    assert (link["href"], link["target"]) == ("https://keys.acme.example/new", "_blank")
    assert set((link["rel"] or "").split()) == {"noopener", "noreferrer"}
    assert "Where to find it: keys.acme.example (opens in a new tab)" in page.text()
    assert "It is first checked with api.acme.example , and saved only if it works there." in page.text()
    assert "For example: AC…" in page.text()
    (field,) = [field for field in page.all("input") if field.get("id")]
    assert field["aria-describedby"] == "f-sid-help"
    off = shown("credentials of a provider that is off")
    assert "The operator has switched Acme off for now" in off.text()
    assert [field for field in off.all("input") if field.get("id")] == []
    assert not [one for one in off.buttons() if one.get("class") == "primary"], "nothing to save"
    assert [one["data-action"] for one in off.forms()][:2] == ["submit", "decline"]


BUTTON = re.compile(r'<(?:a|button)\b[^>]*class="(?:button )?(primary|danger|button|)"|<button(?![^>]*class=)[^>]*>')


def test_what_a_page_is_for_is_its_first_button():
    """In the order of the source, which is that of the keys and, as no style turns it round, of the eye."""
    style = (ROOT / "elicit_flows" / "static" / "elicit" / "style.css").read_text()
    assert not re.search(r"(?:row|column)-reverse|[{; ]order:", style)
    late, several = {}, 0
    for name, (template, *_) in PAGES.items():
        main = shown(name).source.partition("<main")[2].partition("</main>")[0]
        found = [one[1] or "button" for one in BUTTON.finditer(main)]
        if template.startswith("connect/") and "primary" in found:
            several += len(found) > 1
            if found[0] != "primary":
                late[name] = found
    assert not late
    assert several > 20


def test_what_was_answered_before_leads_back_first_and_to_the_connection_then():
    source = shown("answered before").source
    assert source.index("Go back to") < source.index("See the connection, and disconnect it")


@pytest.mark.parametrize("status", ["completed", "declined"])
@pytest.mark.parametrize("yes_or_no", [True, False])
def test_an_answer_of_another_day_has_its_date(status: str, yes_or_no: bool):
    said = "said no" if status == "declined" else "answered Yes" if yes_or_no else "answered this"
    at = datetime(2026, 11, 28, 14, 5, tzinfo=UTC)
    page = {**late_page(status), "yes_or_no": yes_or_no}
    texts = [render("connect/done.html", {**page, **more}).text() for more in ({}, {"finished_at": at})]
    assert f"You already {said} at " in texts[0]
    assert f"You already {said} at " not in texts[1]
    assert f"You already {said} November 28, 2026, 2:05" in " ".join(texts[1].split())


def test_a_failure_says_why_and_a_success_does_not():
    assert "does not accept the grant" in shown("done, failed").text()
    assert "does not accept the grant" not in shown("done, completed").text()


def test_the_page_after_a_no_says_it_in_the_words_of_the_button():
    pages = ("consent", "credentials", "confirm", "form", "link", "payment", "x402")
    buttons = {name: shown(name).text() for name in pages}
    words = {"Don't allow", "Decline"}
    assert {name: {one for one in words if one in text} for name, text in buttons.items()} == {
        "consent": {"Don't allow"}, "credentials": {"Don't allow"}, "confirm": set(), "form": {"Decline"},
        "link": {"Decline"}, "payment": {"Decline"}, "x402": {"Decline"},
    }  # fmt: skip
    for name, said in {
        "done, declined": "You didn't allow this", "done, said no": "You said no",
        "done, a form declined": "You declined",
    }.items():  # fmt: skip
        assert said in shown(name).text()


def test_the_script_knows_the_statuses_that_are_not_the_end():
    listed = re.search(r"OPEN = (\[.*?\])", (STATIC / "done.js").read_text())
    assert listed is not None
    assert set(re.findall(r'"(\w+)"', listed[1])) == {str(status) for status in OPEN}


def test_a_live_connection_ends_with_a_second_press_that_says_what_stops_and_no_script():
    page = shown("account")
    revokes = [
        (a["action"], parents) for tag, a, parents in page.tags if tag == "form" and a.get("data-action") == "revoke"
    ]
    assert [action for action, _ in revokes] == [f"/account/connections/cn_{n}/revoke" for n in (1, 2, 5, 4)]
    assert [parents[-1] for _, parents in revokes] == ["details"] * 4
    [said] = set(re.findall(r"Disconnect : Drive Bot, Acme Drive alice@acme.example (.*?) : Drive Bot", page.text()))
    assert said == (
        "Drive Bot loses its access at once, and what it does for you at Acme Drive stops working. "
        "This cannot be undone here. To connect it again, ask Drive Bot to do something that needs it: "
        "you get a new link. Yes, disconnect Acme Drive"
    )
    assert [str(one["src"]) for one in page.all("script")] == ["/static/elicit/zone.js"]


def test_the_account_page_shows_who_may_use_what_by_provider_account_and_agent():
    page = shown("account")
    for said in (
        "Signed in as alice",
        "2 agents with access 3 of your accounts in use 1 request waiting",
        "Acme Drive alice@acme.example Drive Bot : Acme Drive alice@acme.example Disconnect",
        "Yes, disconnect Acme Drive : Drive Bot alice@acme.example Used 2 hours ago What it can do",
        "files.read",
        "Yes, disconnect Acme Drive : Other Bot alice@acme.example Not used yet, connected 3 days ago Must be",
        "Acme Drive ended the access",
        "Not used for 90 days The account that you connected on",
        "Yes, disconnect Acme's keys : Key Bot Used 2 hours ago It can read what you typed",
    ):
        assert said in page.text(), said
    assert page.text().count("Not used for 90 days") == 1
    assert "Nothing yet" in shown("account, empty").text()


def test_the_tabs_say_which_one_is_open_and_lead_to_the_others():
    places = {"requests": "/requests", "account": "", "past": "", "payments": "/payments", "activity": "/activity"}
    for name, place in {**places, "security": "/security"}.items():
        links = [one for one in shown(name).all("a") if one.get("aria-current") == "page"]
        assert [one["href"] for one in links] == [f"/account{place}"]
    leads = {one["href"] for one in shown("security").all("a")}
    assert {f"/account{place}" for place in places.values()} <= leads


def test_a_long_list_can_be_searched_and_leads_on_and_back():
    page = shown("account, found")
    assert [one["href"] for one in page.all("a") if one.get("class") == "button"] == [
        "/account?q=drive&after=1-cn_1", "/account?q=drive",
    ]  # fmt: skip
    (field,) = [one for one in page.all("input") if one.get("type") == "search"]
    assert (field["name"], field["value"]) == ("q", "drive")
    assert "Nothing was found." in shown("account, nothing found").text()
    assert not [one for one in shown("account").all("input") if one.get("type") == "search"], "a short one"


def test_what_waits_stands_with_its_agents_words_and_the_way_to_it():
    page = shown("requests")
    assert "Drive Bot says Connect Acme Drive. Expires in 15 minutes. Look at the request : Drive Bot" in page.text()
    assert "/c/el_1" in [link["href"] for link in page.all("a")]
    assert "No agent is waiting for you." in shown("requests, none").text()
    assert "No request waiting" in shown("requests, none").text()


def test_what_all_agents_did_stands_in_one_line_of_time():
    text = shown("activity").text()
    assert "November 20, 2026 10:30 AM UTC You connected it Acme Drive · alice@acme.example · Drive Bot" in text
    assert "10:19 AM–10:30 AM UTC Drive Bot fetched an access token at least 2 times" in text


def test_the_page_of_security_has_the_sign_in_the_passkeys_and_the_data():
    page = shown("security")
    for said in (
        "in this browser. You are signed out in 11 hours.",
        "See, add and remove passkeys",
        "Download my data",
    ):
        assert said in page.text(), said
    assert [one["data-action"] for one in page.forms()] == [
        "signout", "end-session", "end-session", "end-session", "signout-others", "signout-everywhere",
    ]  # fmt: skip
    bare = shown("security", began=None, passkeys_url="", sessions=sessions()[1:2]).text()
    assert "in this browser" not in bare
    assert "everywhere else" not in bare
    assert "passkeys" not in bare


def test_all_at_one_provider_ends_at_once_where_that_is_more_than_one():
    forms = [form["action"] for form in shown("account").forms() if form["data-action"] == "revoke-all"]
    assert forms == ["/account/providers/acme/revoke"]


def test_all_that_one_agent_may_use_ends_at_once_where_that_is_more_than_one():
    for held, there in ((2, ["/account/agents/drive-bot/revoke"]), (1, [])):
        page = shown("connection", of_agent=held)
        assert [form["action"] for form in page.forms() if form["data-action"] == "revoke-all"] == there


def test_a_client_of_ones_own_is_told_apart_from_what_agents_read():
    asked = shown("a client of one's own").text()
    assert "It is first checked with api.acme.example , and saved only if an access token comes back." in asked
    assert "The tokens are for: meters.read" in asked
    text = shown("connection, one's own client").text()
    assert "as the client that you typed, whose secret it never reads" in text
    assert "may work until it runs out, or until you end your client at Acme Drive" in text


def test_the_page_of_a_connection_says_in_words_who_did_what():
    text = shown("connection", days=[uses(*USES)]).text()
    for said in (
        "Your account alice@acme.example , for the agent Drive Bot .",
        "November 20, 2026 10:30 AM UTC You connected it",
        "10:30 AM UTC Drive Bot fetched an access token 10:19 AM–10:30 AM UTC",
        "Drive Bot fetched an access token at least 2 times",
        "Drive Bot read what you typed",
        "The access was renewed at Acme Drive , 2 times",
        "Drive Bot said that Acme Drive refused the access",
        "You disconnected it",
        "Drive Bot ended the connection itself",
        "Whoever runs this service disconnected it",
        "It was ended",
        "knows and this service does not see",
    ):
        assert said in text, said
    assert "Nothing is recorded" in shown("connection, ended").text()


@pytest.mark.parametrize(
    ("health", "said"), [("failing", "Acme Drive does not answer, and is asked again"), ("expired", "Has run out")]
)
def test_the_page_of_a_connection_says_when_it_does_not_work(health: str, said: str):
    assert said in render("account/connection.html", connection_page(health=health)).text()


@pytest.mark.parametrize(
    ("upstream", "said"),
    [
        ("none", "Ended on"),
        ("pending", "Acme Drive will be told as soon as it can be reached"),
        ("done", "Acme Drive was told"),
        ("failed", "Acme Drive could not be told: end it there, too"),
    ],
)
def test_of_a_connection_that_ended_the_page_says_whether_the_provider_knows(upstream: str, said: str):
    page = render("account/connection.html", ended_page(upstream))
    assert said in page.text()
    assert not page.forms()


def test_where_the_provider_cannot_be_told_the_pages_say_where_people_end_it_themselves():
    for state in ("connection, ended untold", "account, disconnected untold"):
        page = shown(state)
        assert "This service cannot tell Acme Drive : end the access in your account there, too." in page.text()
        assert "Where to end it: drive.example" in page.text()
        assert "https://drive.example/account/apps" in {link["href"] for link in page.all("a")}
        assert "will be told" not in page.text()
    assert "Where to end it" not in render("account/connection.html", ended_page("done")).text()


def test_everything_is_deleted_with_a_second_press_on_a_page_that_says_what_stays():
    page = shown("delete")
    assert [form["action"] for form in page.forms()] == ["/account/delete"]
    assert page.text().count("Delete everything about me") == 3, "title, heading and button"
    for said in ("1 connection.", "2 requests", "(3 payments)", "The paper ( Shop Bot ): paid until"):
        assert said in page.text(), said
    assert "Your subscriptions end at once" not in shown("delete", subscriptions=[]).text()
    assert "on their way from your bank" not in shown("delete", running=[]).text()
    assert "is being deleted" in shown("account, being deleted").text()


def test_the_account_page_shows_payments_as_their_reader_writes_money():
    page = shown("payments")
    text = page.text()
    for said in (
        "A report Amount €1,234.50 Asked by Shop Bot State Paid Date",
        "State Paid €617.00 given back Disputed Date",
        "All of it Amount €1,234.50 Asked by Shop Bot State Given back Date",
        "State On its way from your bank Date",
        "A card Asked by Shop Bot State Payment method saved, nothing was charged Date",
        "The paper Amount ¥123,450 Asked by Shop Bot State Subscribed Date",
        "Order number PO-2026-17 Purpose For the office in Berlin The paper, by post 2 × €4.00 €8.00",
        "Sending €1.33 Tax €0.57 Amount €9.90",
        "State The amount did not match. We are checking it. A test, no real money Date",
        "Open the receipt : A report",
    ):
        assert said in text, said
    receipts = [link for link in page.all("a") if link["href"] == "https://pay.example/receipt"]
    assert len(receipts) == 9
    assert {link["rel"] for link in receipts} == {"noopener noreferrer"}
    assert "Nothing yet." in shown("payments, none").text()


def test_amounts_are_in_the_habits_of_the_readers_language():
    german = render("account/payments.html", payments_page(), "de").text()
    assert "1.234,50 €" in german
    assert "123.450 ¥" in german


@pytest.mark.parametrize(
    ("back", "words"),
    [
        ({"back_url": "/"}, "Go to the front page"),
        ({"back_url": "/c/el_1"}, "Go back and try again"),
        ({"back_url": ""}, ""),
    ],
)
def test_a_refusal_says_why_and_leads_somewhere(back: Context, words: str):
    page = shown("refused", **{"back_label": "", **back})
    assert "Too many requests" in page.text()
    assert "There were too many requests for unknown links from your network." in page.text()
    assert "Error 429" in page.text()
    assert [link["href"] for link in page.all("a") if link.get("class") == "button"] == (
        [back["back_url"]] if words else []
    )
    assert words in page.text()


def test_the_docs_are_english_and_from_left_to_right_on_a_page_in_arabic():
    template, _, context = PAGES["docs"]
    main = render(template, context(), "ar").all("main")[0]
    assert (main["lang"], main["dir"]) == ("en", "ltr")


def test_the_docs_page_leads_to_every_call():
    page = shown("docs")
    anchors = {link["href"] for link in page.all("a")}
    assert {"#create", "#again"} <= anchors
    assert {"create", "again"} <= {section["id"] for section in page.all("section")}
    assert [attributes["id"] for attributes in page.all("div") if "id" in attributes] == ["error-invalid"]
    for said in ("POST /v1/elicitations", "required", "header", "201", "Made.", "Makes an elicitation."):
        assert said in page.text(), said


@pytest.mark.parametrize("language", ["ja", "zh-hans"])
def test_no_space_follows_a_full_width_full_stop(language: str) -> None:
    for name, (template, _, make) in PAGES.items():
        for paragraph in re.findall(r"<p\b.*?</p>", render(template, make(), language).source, re.DOTALL):
            said = re.sub(r"<[^>]+>", "", paragraph)
            assert not re.search(r"[。！？]\s+\S", said), (name, said)
