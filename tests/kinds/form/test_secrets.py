"""T70: a form that asks for a secret is refused. One that only sounds like it is allowed."""

from __future__ import annotations

import pytest

from elicit_flows import kinds
from elicit_flows.domain.errors import Invalid
from elicit_flows.domain.values import Json
from tests.kinds.form.asked import of_schema, one, question
from tests.kinds.form.test_refusals import places

TEXT = {"type": "string"}
OPTIONS = [{"id": "a", "label": "A"}]

SECRETS = """
password; Password; PASSWORDS; New password (min. 8 characters); Your GitHub password:; user_password; userPassword
passwd; db_pwd; passphrase; Passcode; api key; API-Key; apiKey; OPENAI_API_KEY; x_api_key; OpenAI API key
secret; client_secret; clientSecret; Secret key; AWS secret access key; private key; Private key (PEM)
token; accessToken; GitHub token; Personal access token; Bearer token; Token for GitHub; your token, please
PIN; Enter your PIN; PIN code; PIN for the card; CVV; CVC; Card number; Credit card; security code; OTP; One-time code
2FA code; SMS code; verification code; seed phrase; Recovery phrase; credentials; Your credentials; webhook secret
Passwort; Kennwort; Dein Passwort für GitHub; API-Schlüssel; Kreditkartennummer; Geheimzahl; Mot de passe; Clé API
Contraseña; Número de tarjeta; Senha; Chave secreta; Wachtwoord; Hasło
Пароль; Ваш пароль; 密码; 请输入密码; パスワード
비밀번호; pass\u200bword; Ｐａｓｓｗｏｒｄ; pa\u0301ssword
"""
HARMLESS = """
name; E-mail; Token budget; Max tokens; token_limit; Number of tokens; Design token; Password policy
password_length; Password manager; Secret Santa budget; Secret name; secretary; Pin to top; Map pin; opinion; spin
Pinterest page; Shipping; Key; Primary key; keyboard; Public key; key takeaways; Passport country; Passenger
Compass; Code; Postal PIN code; ZIP code; Country code; Promo code; Card holder; Card colour; Credential type
Session; Tokenizer; Author; Authority; Pass/fail; Cluster; Passwortlänge; Geheimnisvoll; Schlüsselwörter
Parola chiave; Mots-clés; Palabras clave; Tarjeta postal; Ключевые слова
"""


LOOKALIKES = """
GitHub pаssword; pаsswоrd; раѕѕword; ΡΑSSWORD; PIN cοde for the card; 𝐩𝐚𝐬𝐬𝐰𝐨𝐫𝐝; 𝓪𝓹𝓲 key; ⓐⓟⓘ ⓚⓔⓨ
ΑPI kеy; p4ssw0rd; passw0rd; pa$$word; p@ssword; P A S S W O R D; p.a.s.s.w.o.r.d; tоken; sеcrеt; ᴘᴀꜱꜱword; Your СVV
рin; рrivate key; ᏢIN
"""
ONE_TIME = """
6 digits from your authenticator app; Six digits shown in your authenticator; The code we sent you; Code from your phone
Enter the code you received; The 6-digit code; 6-digit login code; Code from the SMS; Digits from the text message
Recovery codes; Backup code; CVV of the card; The number code in Authy; Code aus der SMS; Code reçu par SMS
"""
NOT_ONE_TIME = """
Last 4 digits of your phone number; How many digits; Error code from the app; Promo code we sent you; Country code
Which authenticator app do you use?; Source code from the app; Invitation code; Digits after the comma; QR code size
Район; Товар; Сорт; Πόλη; Номер дома; A B C; Area 51; v2 of the API; 100 $; me@home; 3D model
"""


def listed(text: str) -> list[str]:
    return [word.strip() for line in text.strip().splitlines() for word in line.split(";")]


def refused(params: Json) -> bool:
    try:
        kinds.get("form").clean(params)
    except Invalid as error:
        return "Use kind credentials" in str(error.errors[0]["message"])
    return False


@pytest.mark.parametrize("said", listed(SECRETS), ids=range(len(listed(SECRETS))))
def test_t70_what_asks_for_a_secret_is_refused(said: str):
    assert refused(one(TEXT | {"title": said}))
    assert refused(question("text", title=said))
    assert refused({"questions": [{"id": "x", "kind": "text", "message": said}]})
    assert "\u200b" in said or refused(of_schema({said: TEXT}))


@pytest.mark.parametrize("said", listed(HARMLESS), ids=range(len(listed(HARMLESS))))
def test_what_only_sounds_like_a_secret_is_asked(said: str):
    assert not refused(one(TEXT | {"title": said}))
    assert not refused(of_schema({said: TEXT}))
    assert not refused(one(TEXT | {"description": said}))


def test_t70_the_advice_stands_at_the_question():
    assert places(of_schema({"a": TEXT, "api_key": TEXT})) == [["params", "schema", "properties", "api_key"]]
    assert places({"questions": [{"id": "a", "kind": "text", "message": "Password"}]}) == [["params", "questions", 0]]
    assert places(one(TEXT | {"format": "password"})) == [["params", "schema", "properties", "x", "format"]]
    assert places(of_schema({"a": TEXT}, description="Give me your password.")) == [["params", "schema", "description"]]
    assert places(of_schema({"a": TEXT}, title="Password")) == [["params", "schema", "title"]]


def test_t70_a_help_text_counts_where_it_speaks_of_a_secret_that_is_always_one():
    assert refused(one(TEXT | {"description": "Paste the API key from your settings."}))
    assert refused(question("text", title="Access", message="Your password for the wiki."))
    assert not refused(one(TEXT | {"description": "How many items to return per token."}))


@pytest.mark.parametrize("said", ["PIN", "Card number", "CVV", "cvc", "Security code", "2FA code"])
def test_t70_numbers_can_be_secrets_too(said: str):
    assert refused(one({"type": "integer", "title": said}))
    assert refused(question("number", title=said))


@pytest.mark.parametrize("said", ["Max token", "Shortest password", "API keys per user", "Secret", "Number of pins"])
def test_a_number_of_secrets_is_none(said: str):
    assert not refused(one({"type": "integer", "title": said}))


def test_yes_or_no_and_choosing_are_never_secrets_unless_one_may_write():
    assert not refused(one({"type": "boolean", "title": "Reset the password"}))
    assert not refused(one(TEXT | {"enum": ["a"], "title": "Password"}))
    assert not refused(one({"type": "array", "items": TEXT | {"enum": ["a"]}, "title": "API keys"}))
    assert not refused(question("single-select", title="Password", options=OPTIONS))
    assert refused(question("single-select", title="Password", options=OPTIONS, allowFreeformInput=True))
    assert refused(question("multi-select", title="Password", options=OPTIONS, allowFreeformInput=True))


@pytest.mark.parametrize("said", listed(LOOKALIKES), ids=range(len(listed(LOOKALIKES))))
def test_t144_letters_that_look_like_others_disguise_no_secret(said: str) -> None:
    assert refused(one(TEXT | {"title": said}))
    assert refused({"questions": [{"id": "x", "kind": "text", "message": said}]})


@pytest.mark.parametrize("said", listed(ONE_TIME), ids=range(len(listed(ONE_TIME))))
def test_t144_codes_that_are_good_once_are_secrets_however_they_are_called(said: str) -> None:
    assert refused(one(TEXT | {"title": said}))
    assert refused(one({"type": "integer", "title": said})) or "ecovery" in said or "ackup" in said


@pytest.mark.parametrize("said", listed(NOT_ONE_TIME), ids=range(len(listed(NOT_ONE_TIME))))
def test_codes_and_digits_of_other_sorts_are_asked(said: str) -> None:
    assert not refused(one(TEXT | {"title": said}))
    assert not refused(one(TEXT | {"description": said}))


def test_t144_options_tell_nobody_to_write_a_secret() -> None:
    other = {"id": "y", "kind": "text", "message": "And?"}
    for said, wrong in (
        ("Write your password below", True), ("Enter the 6 digits from your authenticator app", True),
        ("Password reset", False), ("Password and SSO", False), ("Write a letter", False),
    ):  # fmt: skip
        chosen = {"id": "x", "kind": "single-select", "message": "?", "options": [{"id": "a", "label": said}]}
        assert refused({"questions": [chosen, other]}) is wrong, said
        assert not refused({"questions": [chosen]}), "there is nowhere to write one"
