"""What the types must refuse: every line that says so."""

from __future__ import annotations

from client.models.create_link import CreateLink
from client.models.form_elicitation import FormElicitation
from client.models.link_params import LinkParams
from client.models.link_params_completion import LinkParamsCompletion
from client.models.o_auth_elicitation import OAuthElicitation
from client.models.o_auth_params import OAuthParams
from client.models.payment_elicitation import PaymentElicitation
from client.models.subject import Subject

alice = Subject(iss="https://idp.example.com", sub="alice")
OAuthParams(scopes=["files.read"])  # refused
OAuthParams(provider="drive", scopes="files.read")  # refused
page = LinkParams(url="https://example.com/terms", completion=LinkParamsCompletion.BY_AGENT)
LinkParams(url="https://example.com/terms", completion="by_agent")  # refused
CreateLink(kind="oauth", subject=alice, message="Read this.", params=page)  # refused
CreateLink(kind="link", subject=alice, message="Read this.", params=page)


def read(one: OAuthElicitation | PaymentElicitation | FormElicitation) -> list[object]:
    return [
        one.result.connection,  # refused
        one.kind == "oauth" and one.result and one.result.payment,  # refused
        one.kind == "form" and one.result and one.result.content,
    ]
