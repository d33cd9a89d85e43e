"""The format of an imported connection, for the API and for ``manage.py import_tokens``."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import AfterValidator, AwareDatetime, Field, StringConstraints, model_validator

from elicit_flows.api.schemas import Strict, Subject
from elicit_flows.domain.values import Claim, Grant, Secret
from elicit_flows.lib import clock

Token = Annotated[str, StringConstraints(pattern=r"^[\x21-\x7e]{1,16384}$")]
Scope = Annotated[str, StringConstraints(pattern=r"^[\x21\x23-\x5b\x5d-\x7e]{1,256}$")]
VariableValue = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Name = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]{1,255}$")]


class ImportedAccount(Strict):
    """As the provider's userinfo or ID token names it. Without it, connecting the account later makes a second
    connection.
    """

    id: Name
    label: Name | None = None


class ImportConnection(Strict):
    """Tokens of an account that was connected elsewhere. Give at least one of the two.

    Without an access token, it is refreshed when it is used for the first time.
    """

    provider: str = Field(max_length=64, examples=["github"])
    subject: Subject
    access_token: Token | None = None
    refresh_token: Token | None = None
    expires_at: Annotated[AwareDatetime, AfterValidator(clock.in_utc)] | None = Field(
        None, strict=False, description="When the access token expires. When left out: not known."
    )
    scopes: list[Scope] = Field(default_factory=list, max_length=500)
    account: ImportedAccount | None = None
    variables: dict[str, VariableValue] = Field(
        default_factory=dict,
        max_length=20,
        description="What the provider's addresses leave to the user, such as the shop; checked by the rule of each.",
    )

    @model_validator(mode="after")
    def _has_a_token(self) -> Self:
        if self.access_token is None and self.refresh_token is None:
            raise ValueError("give an access_token, a refresh_token, or both")
        return self

    def claim(self) -> Claim:
        return Claim(self.subject.iss, self.subject.sub)

    def grant(self) -> Grant:
        known = self.access_token is not None
        return Grant(
            access_token=Secret(self.access_token or ""),
            refresh_token=Secret(self.refresh_token) if self.refresh_token else None,
            token_type="Bearer",
            expires_at=self.expires_at if known else clock.now(),
            scopes=tuple(dict.fromkeys(self.scopes)),
            account_id=self.account.id if self.account else None,
            account_label=self.account.label if self.account else None,
            variables=self.variables,
        )
