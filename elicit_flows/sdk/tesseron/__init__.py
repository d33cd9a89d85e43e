"""Questions of a Tesseron app's actions.

    flows = TesseronFlows(user)

    @app.action("list_files")
    async def list_files(given: JsonValue, ctx: ActionContext) -> str:
        account = await flows.on(ctx, given).oauth("acme", scopes=["files.read"])

Tesseron (protocol 1.2) asks by flat forms in the model host and knows no links. A link is given in words there, or
shown by the app itself; what is no secret and fits into such a form is asked in the host.
"""

from elicit_flows.sdk.tesseron.flows import TesseronFlows
from elicit_flows.sdk.tesseron.invocation import Pending
from elicit_flows.sdk.tesseron.questions import ActionQuestions

__all__ = ["ActionQuestions", "Pending", "TesseronFlows"]
