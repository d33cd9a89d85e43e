"""The stored configuration, as a file with which ``apply`` changes nothing.

No secret is written. If a file must name a secret, it names an environment variable for it. The API key and the webhook
secret of an agent are left out, because an agent keeps them if a file leaves them out.
"""

from __future__ import annotations

from typing import Any

from elicit_flows import catalogue, vault
from elicit_flows.config_file.brands import RULES, as_data
from elicit_flows.config_file.providers import provider_type
from elicit_flows.config_file.schema import SINGLE, TABLES
from elicit_flows.config_file.toml import inline
from elicit_flows.domain.values import Json
from elicit_flows.models import (
    Agent,
    Brand,
    IdentityProvider,
    NotificationSettings,
    PaymentAccount,
    Picture,
    Provider,
    Recipient,
)
from elicit_flows.models.provider import SETTINGS

_HEAD = """\
# The configuration of Elicit Flows. `manage.py apply` takes this file back and changes nothing.
"""
_SECRETS = """\
#
# It holds no secret. Set these variables to the secrets before you apply it, or write file:PATH in their place:
#
"""


def export() -> str:
    """The whole file."""
    rows: list[tuple[str, Any]] = [("brand", row) for row in Brand.objects.filter(agent=None)]
    rows += [("notifications", row) for row in NotificationSettings.objects.all()]
    for name, model in (
        ("identity_provider", IdentityProvider), ("provider", Provider), ("payment_account", PaymentAccount),
        ("agent", Agent), ("recipient", Recipient),
    ):  # fmt: skip
        # Remote MCP servers are discovered, not configured.
        found: Any = Provider.objects.filter(mcp="") if model is Provider else model._default_manager
        rows += [(name, row) for row in found.order_by("slug")]
    variables: list[str] = []
    tables = [_Table(name, row, variables) for name, row in rows]
    asked = _SECRETS + "".join(f"#   {variable}\n" for variable in variables) if variables else ""
    return "\n".join([_HEAD + asked, *(table.text() for table in tables)])


class _Table:
    """One row as a table. It adds the names of the environment variables that it needs to ``variables``."""

    def __init__(self, name: str, row: Any, variables: list[str]) -> None:
        self.name, self.row, self.variables = name, row, variables
        self.comments: list[str] = []
        read = {
            "identity_provider": lambda: self._differing() | self._client_secret(),
            "provider": self._provider,
            "payment_account": self._payment_account,
            "agent": self._agent,
            "brand": self._differing,
            "notifications": self._notifications,
            "recipient": self._recipient,
        }
        self.values = read[name]()
        if name not in {*SINGLE, "recipient"} and not row.enabled:
            self.comments.append("It is switched off, which is done in the admin. apply leaves it so.")

    def text(self) -> str:
        order = [key for key in TABLES[self.name] if key in self.values]
        head = f"[{self.name}]" if self.name in SINGLE else f"[[{self.name}]]"
        lines = [head, *(f"# {comment}" for comment in self.comments)]
        return "\n".join([*lines, *(f"{key} = {inline(self.values[key])}" for key in order), ""])

    def _payment_account(self) -> Json:
        values = self._differing() | {"secret_key": self._secret("secret_key")}
        held = vault.account(self.row).webhook_secrets
        if held:
            values["webhook_secrets"] = [self._secret(f"webhook_secret_{number}") for number in range(1, len(held) + 1)]
        return values

    def _provider(self) -> Json:
        row, values = self.row, self._differing()
        if catalogue.find(row.preset) and row.given is not None:
            # Values from the preset are left out. The operator's own are written, even if they are defaults.
            values = {key: value for key, value in values.items() if key not in SETTINGS}
            values |= {key: getattr(row, key) for key in SETTINGS if key in row.given}
        if row.name == row.slug:
            values.pop("name", None)
        values |= self._client_secret() | ({"app_key": self._secret("app_key")} if row.app_key else {})
        values.pop("sort", None)
        if not row.preset and provider_type("", "", values) != row.sort:
            values["sort"] = row.sort
        for key in [key for key, value in values.items() if value == "" or (value is None and key in SETTINGS)]:
            del values[key]
            self.comments.append(f"{key} was emptied in the admin, against the preset, which a file cannot say.")
        return values

    def _agent(self) -> Json:
        row, values = self.row, self._differing()
        if row.name == row.slug:
            values.pop("name", None)
        for key in ("identity_providers", "providers", "payment_accounts"):
            if slugs := sorted(getattr(row, key).values_list("slug", flat=True)):
                values[key] = slugs
        if row.all_providers:
            values.pop("providers", None)
        else:
            values.setdefault("providers", [])
        limits = row.spend_limits.order_by("currency").values("currency", "per_payment", "per_day")
        if limits:
            values["spend_limits"] = list(limits)
        own = Brand.objects.filter(agent=row).first()
        if own:
            defaults = {name: default for name, (_, default) in RULES.items()}
            values["brand"] = _differing(own, defaults)
        self.comments.append(f"api_key is left out: the agent keeps its key, which begins with {row.key_hint}.")
        if row.webhook_secret:
            self.comments.append("webhook_secret is left out: the agent keeps it.")
        return values

    def _notifications(self) -> Json:
        if self.row.webhook_secret:
            self.comments.append("webhook_secret is left out: it stays as it is.")
        return self._differing() | self._chat("notifications")

    def _recipient(self) -> Json:
        mine = {"email": vault.contacts.open_email(self.row)} if self.row.email else {}
        return self._differing() | mine | self._chat(f"recipient_{self.row.slug}")

    def _chat(self, whose: str) -> Json:
        """The apprise URLs, each in a variable, because they hold secrets."""
        count = len(vault.contacts.open_chat(self.row))
        return {"chat": [self._variable(f"{whose}_chat_{number}") for number in range(1, count + 1)]} if count else {}

    def _differing(self) -> Json:
        """The columns with the name of a key, if their value is not the default of that key."""
        columns = {field.name for field in self.row._meta.concrete_fields}
        secret = {"client_secret", "app_key", "secret_key", "webhook_secrets", "webhook_secret", "chat"}
        secret |= {"email"} if isinstance(self.row, Recipient) else set()
        keys = TABLES[self.name].items()
        return _differing(self.row, {name: key.default for name, key in keys if name in columns - secret})

    def _client_secret(self) -> Json:
        return {"client_secret": self._secret("client_secret")} if self.row.client_secret else {}

    def _secret(self, key: str) -> str:
        return self._variable(f"{self.name}_{self.row.slug}_{key}")

    def _variable(self, named: str) -> str:
        name = named.upper().replace("-", "_")
        if name in self.variables:  # slugs that differ in case, or in - and _
            name += f"_OF_{self.row.pk}"
        self.variables.append(name)
        return f"env:{name}"


def _differing(row: Any, defaults: Json) -> Json:
    """The values of these columns that are not the default. A picture is written as it is."""
    values = {name: getattr(row, name) for name in defaults}
    return {
        name: as_data(value) if isinstance(value, Picture) else value
        for name, value in values.items()
        if value != defaults[name]
    }
