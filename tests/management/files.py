"""Configuration files for ``apply``, and running it in this process."""

from __future__ import annotations

from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from django.core.management import CommandError, call_command

CLIENT_SECRET = "the-secret-of-our-client-at-github"
API_KEY = "the-key-of-drive-bot-0123456789abcdef"
STRIPE_KEY = "sk_test_" + "the-key-of-our-account"
STRIPE_HOOK = "whsec_not base64, and none of our business"
HOOK = "whsec_" + "A" * 43 + "="

WHOLE = f"""\
# everything that the contract names
[[identity_provider]]
slug = "corp"
issuer = "https://idp.example.com"
client_id = "elicit"
client_secret = "env:CORP_SECRET"
scopes = ["openid", "profile"]
max_age = 3600

[[provider]]
slug = "github"
preset = "github"
name = "Our GitHub"
client_id = "our-client"
client_secret = "{CLIENT_SECRET}"
scopes = ["read:user"]

[[provider]]
slug = "drive"
issuer = "https://drive.example.com"
authorize_url = "https://drive.example.com/authorize"
token_url = "https://drive.example.com/token"
revocation_url = "https://drive.example.com/revoke"
userinfo_url = "https://drive.example.com/me"
client_id = "ours"
token_auth = "none"
pkce = "S256"

[[payment_account]]
slug = "main"
provider = "stripe"
secret_key = "env:STRIPE_KEY"
webhook_secrets = ["env:STRIPE_WEBHOOK_SECRET"]
livemode = false

[[agent]]
slug = "drive-bot"
name = "Drive Bot"
api_key = "{API_KEY}"
identity_providers = ["corp"]
providers = ["github", "drive"]
payment_accounts = ["main"]
return_urls = ["https://drive-bot.example.com/done"]
webhook_url = "https://drive-bot.example.com/hooks"
webhook_secret = "{HOOK}"
spend_limits = [{{ currency = "eur", per_payment = 2000, per_day = 5000 }}, {{ currency = "jpy", per_day = 9000 }}]
"""

SMALL = """\
[[identity_provider]]
slug = "corp"
issuer = "https://idp.example.com"
client_id = "elicit"

[[provider]]
slug = "drive"
issuer = "https://drive.example.com"
client_id = "ours"
client_secret = "of-our-client"

[[agent]]
slug = "bot"
identity_providers = ["corp"]
"""


@dataclass(frozen=True)
class Ran:
    """``lines`` is what it did, ``said`` is what it printed to stderr, both by line; ``failed`` as the exit status."""

    lines: list[str]
    said: list[str]
    failed: int


class Operator:
    """Writes files and applies them."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "elicit.toml"

    def apply(self, text: str | bytes, *options: str) -> Ran:
        """Empties what the file leaves out, unless other ``options`` are given."""
        self.file.write_bytes(text if isinstance(text, bytes) else text.encode())
        out, err = StringIO(), StringIO()
        try:
            call_command("apply", str(self.file), *(options or ["--yes"]), stdout=out, stderr=err, no_color=True)
        except CommandError as error:
            return Ran(out.getvalue().splitlines(), [*err.getvalue().splitlines(), str(error)], error.returncode)
        return Ran(out.getvalue().splitlines(), err.getvalue().splitlines(), 0)

    def export(self) -> str:
        out = StringIO()
        call_command("export", stdout=out)
        return out.getvalue()

    def faults(self, text: str | bytes) -> list[str]:
        """``LINE: key: message`` of each, after seeing that the run failed."""
        ran = self.apply(text)
        assert ran.failed == 1, ran
        assert ran.lines == []
        assert ran.said[-1] == "Nothing was changed."
        return [line.removeprefix(f"{self.file}:") for line in ran.said[:-1]]
