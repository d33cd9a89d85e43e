"""The words that ``secrecy`` looks for, folded as it folds them: lower case, no accents."""

from __future__ import annotations


def _words(line: str) -> frozenset[str]:
    return frozenset(line.split())


def _phrases(lines: str) -> frozenset[tuple[str, ...]]:
    return frozenset(tuple(phrase.split()) for phrase in lines.replace("\n", ",").split(",") if phrase.strip())


# Secrets wherever they stand.
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
# Secrets when they are the thing that is asked for.
AS_ITSELF = _phrases(
    """
    token, secret, secrets, pin, pin code, credential, credentials, login code, geheimnis, jeton, segredo, secreto
    geheim, geheimzahl, пин, токен, секрет
    """
)
# Secrets that are numbers.
NUMBERS = _phrases(
    """
    pin, pin code, pin number, card pin, pincode, geheimzahl, cvv, cvv2, cvc, cvc2, card number, cardnumber, otp
    otp code, one time code, 2fa code, mfa code, two factor code, sms code, verification code, authentication code
    security code, passcode, card verification, credit card, debit card, kartennummer, kreditkartennummer, prufnummer
    numero de carte, numero de tarjeta, numero do cartao, numero di carta, kaartnummer, numer karty, номер карты, пин
    """
)
# After one of these a word is about the secret and not the secret.
ABOUT = _words(
    "length lengths policy policies budget limit limits count counts name names type types hint manager managers "
    "strength expiry expiration rotation reset protection usage price cost costs field fields rule rules format issuer "
    "company brand kind provider scope scopes"
)
# After one of these it is no secret, but something else with that name.
NOT_AFTER = _words(
    "design stop start next first last max min per map drop bowling rolling hair lapel enamel gpio boarding mountain "
    "ski bus train season day night no postal zip area public"
)
PREPOSITIONS = _words(
    "for of from in on at with here below now again fur von zu aus im pour de du des pour para del da do per di van "
    "voor dla od"
)
# In scripts without blanks between words.
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
