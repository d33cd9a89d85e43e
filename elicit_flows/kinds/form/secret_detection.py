"""Finds forms that ask for secrets, by words in several languages. The words are folded: lower case, no accents."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from elicit_flows.domain.errors import Invalid
from elicit_flows.kinds.form.fields import NUMERIC, Field, Questions, Sort
from elicit_flows.lib import confusables, text


def _words(line: str) -> frozenset[str]:
    return frozenset(line.split())


def _phrases(lines: str) -> frozenset[tuple[str, ...]]:
    return frozenset(tuple(phrase.split()) for phrase in lines.replace("\n", ",").split(",") if phrase.strip())


# These mean a secret wherever they stand.
ANYWHERE = _phrases(
    """
    password, passwords, passwd, pwd, passphrase, passphrases, passcode, passcodes, pass phrase, pass word
    api key, api keys, apikey, apikeys, api secret, api token, access key, access keys, secret key, secret keys
    private key, private keys, privkey, encryption key, signing key, client secret, clientsecret, app secret
    access token, accesstoken, auth token, authtoken, authentication token, authorization token, bearer token
    refresh token, session token, personal access token, bot token, oauth token, webhook secret, shared secret
    session cookie, seed phrase, seed phrases, recovery phrase, secret phrase, mnemonic phrase
    recovery code, recovery codes, backup code, backup codes, one time code, one time password, otp, otp code, totp
    2fa code, mfa code, two factor code, sms code, verification code, authentication code, authenticator code
    digit code, digit codes, login codes, sign in code, signin code
    security code, card verification, cvv, cvv2, cvc, cvc2, card number, cardnumber, credit card, debit card, card pin
    pin number, secret question, security answer
    passwort, passworter, kennwort, kennworter, zugangsdaten, geheimschlussel, zugriffsschlussel, kartennummer
    kreditkartennummer, kreditkarte, prufnummer, sicherheitscode, bestatigungscode, api schlussel, tan nummer
    mot de passe, mots de passe, motdepasse, cle api, cle secrete, cle privee, numero de carte, code secret
    contrasena, contrasenas, clave secreta, clave privada, clave api, numero de tarjeta, codigo de seguridad
    senha, senhas, palavra passe, chave secreta, chave privada, chave api, numero do cartao
    parola d ordine, chiave segreta, chiave privata, chiave api, numero di carta
    wachtwoord, wachtwoorden, geheime sleutel, kaartnummer, pincode
    haslo, hasla, klucz api, klucz prywatny, numer karty
    losenord, adgangskode, passord, salasana, jelszo, heslo, sifre
    пароль, пароли, пароля, ключ api, номер карты
    """
)
# These mean a secret only if they are the thing that is asked for.
AS_ITSELF = _phrases(
    """
    token, secret, secrets, pin, pin code, credential, credentials, login code, geheimnis, jeton, segredo, secreto
    geheim, geheimzahl, пин, токен, секрет
    """
)
# Secrets that consist of digits.
NUMBERS = _phrases(
    """
    pin, pin code, pin number, card pin, pincode, geheimzahl, cvv, cvv2, cvc, cvc2, card number, cardnumber, otp
    otp code, one time code, 2fa code, mfa code, two factor code, sms code, verification code, authentication code
    digit code, login code
    security code, passcode, card verification, credit card, debit card, kartennummer, kreditkartennummer, prufnummer
    numero de carte, numero de tarjeta, numero do cartao, numero di carta, kaartnummer, numer karty, номер карты, пин
    """
)
# If one of these follows, the text is about the secret and does not ask for it.
ABOUT = _words(
    "length lengths policy policies budget limit limits count counts name names type types hint manager managers "
    "strength expiry expiration rotation reset protection usage price cost costs field fields rule rules format issuer "
    "company brand kind provider scope scopes"
)
# If one of these precedes, the word means something else.
NOT_AFTER = _words(
    "design stop start next first last max min per map drop bowling rolling hair lapel enamel gpio boarding mountain "
    "ski bus train season day night no postal zip area public promo promotion discount coupon voucher gift country "
    "http dialling dialing error status source colour color dress order booking tracking reference invitation invite"
)
# Together with where they come from, these are one-time codes.
CODES = _words(
    "code codes kode koden код kod codigo codice digits digit ziffern stellen chiffres digitos cifre cijfers цифр цифры"
)
SENDERS = _words("authenticator authy totp otp 2fa mfa")
SENT = _words("sent received texted mailed emailed messaged gesendet geschickt envoye recu enviado recibido")
DEVICES = _words("sms text texts app phone mail email message whatsapp telegram handy telefono telephone")
FROM = _words("from in on by via aus von auf dans sur depuis par del en da")
# Words with which an option asks the reader to write something.
ASKING = _words(
    "enter type write paste put give provide send submit fill tell insert supply share include need needed required "
    "eingeben angeben schreiben saisir saisissez entrez ingrese introduce escriba inserire digite"
)
PREPOSITIONS = _words(
    "for of from in on at with here below now again fur von zu aus im pour de du des pour para del da do per di van "
    "voor dla od"
)
# For scripts without spaces between words.
UNSPACED = (
    "密码",
    "密碼",
    "口令",
    "私钥",
    "私鑰",
    "助记词",
    "银行卡号",
    "パスワード",
    "暗証番号",
    "秘密鍵",
    "비밀번호",
    "개인키",
)


ADVICE = (
    "This asks for a secret, which a form would show to you. Use kind credentials: the user types it on our page, and "
    "you get a connection. If it is not a secret, use other words."
)

_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_PART = re.compile(r"[.,;:!?()\[\]{}/|\n–—]+|\s-\s")
_WORD = re.compile(r"[^\W_]+")

Words = tuple[str, ...]


def asks(field: Field) -> bool:
    """Whether ``field`` asks for a secret and its type of answer could contain one."""
    if not _carries(field):
        return False
    numbers = field.sort in NUMERIC
    return any(_named(said, numbers=numbers) for said in (field.key, field.label)) or (
        not numbers and speaks(field.help)
    )


def _carries(field: Field) -> bool:
    """Whether the answer could contain a secret: it is text, a number, or a choice with free-form input."""
    return not (field.sort == Sort.BOOLEAN or (field.sort in (Sort.SINGLE, Sort.MANY) and not field.freeform))


def speaks(said: str) -> bool:
    """Whether a longer text contains a word that means a secret wherever it stands."""
    if any(_anywhere(words, ANYWHERE) or _one_time(words) for words in _parts(said)):
        return True
    # Some scripts put no spaces between words.
    folded = unicodedata.normalize("NFKC", text.visible(said)).casefold()
    return any(word in folded for word in UNSPACED)


def tells(questions: Questions) -> bool:
    """Whether an option asks the reader to write a secret into another question. Options may be about secrets."""
    said = [part for field in questions.fields for one in field.options for part in (one.label, one.description)]
    told = any(speaks(part) and any(ASKING & set(words) for words in _parts(part)) for part in said)
    return told and any(map(_carries, questions.fields))


def check_message(questions: Questions, message: str) -> None:
    """Check the agent's message above a form, which is part of the question. Raises Invalid."""
    if speaks(message) and any(map(_carries, questions.fields)):
        raise Invalid.at("message", ADVICE)


def _named(said: str, *, numbers: bool) -> bool:
    """Whether a key or label names a secret; with ``numbers``, a secret that consists of digits."""
    if numbers:
        return any(
            _anywhere(words, NUMBERS) or _as_itself(words, NUMBERS) or _one_time(words) for words in _parts(said)
        )
    return speaks(said) or any(_as_itself(words, AS_ITSELF) for words in _parts(said))


def _anywhere(words: Words, secrets: frozenset[Words]) -> bool:
    return any((words[end] if end < len(words) else "") not in ABOUT for _, end in _found(words, secrets - AS_ITSELF))


def _as_itself(words: Words, secrets: frozenset[Words]) -> bool:
    return any(
        (end == len(words) or words[end] in PREPOSITIONS) and (start == 0 or words[start - 1] not in NOT_AFTER)
        for start, end in _found(words, secrets & AS_ITSELF)
    )


def _one_time(words: Words) -> bool:
    """A one-time code, known by where it comes from: "6 digits from your authenticator app", "the code we sent"."""
    # The source of a code is named within the six words after it.
    asked = [
        place for place, word in enumerate(words) if word in CODES and (not place or words[place - 1] not in NOT_AFTER)
    ]
    if asked and SENDERS & set(words):
        return True
    after = [set(words[place + 1 : place + 7]) for place in asked]
    return any(there & SENT or (there & DEVICES and there & FROM) for there in after)


def _found(words: Words, secrets: frozenset[Words]) -> Iterator[tuple[int, int]]:
    for start in range(len(words)):
        for length in (1, 2, 3):
            if words[start : start + length] in secrets and start + length <= len(words):
                yield start, start + length


def _parts(said: str) -> Iterator[Words]:
    """The words of each part of a text, folded: no case, no accents; ``apiKey`` and ``api_key`` are two words.

    A part with look-alike letters, or with spaces between its letters, is returned twice: as written, and as it looks.
    """
    shown = text.visible(said)
    for part in dict.fromkeys([*_PART.split(shown), *_PART.split(confusables.joined(shown))]):
        spaced = _CAMEL.sub(" ", part)
        written = tuple(_WORD.findall(confusables.folded(spaced)))
        yield written
        looks = tuple(_WORD.findall(confusables.skeleton(spaced)))
        if looks != written:
            yield looks
