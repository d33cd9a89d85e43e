"""Questions in the actions of a Tesseron app.

    flows = TesseronFlows(user, app="files")

    @app.action("list_files")
    async def list_files(given: JsonValue, ctx: ActionContext) -> str:
        account = await flows.on(ctx, given).oauth("acme", scopes=["files.read"])

Tesseron (protocol 1.2) asks with flat forms in the model host, and has no links. A link is shown as text there, or by
the app itself. A form without secrets that such a prompt can hold is asked in the host.
"""

from elicit_flows.sdk.tesseron.flows import TesseronFlows
from elicit_flows.sdk.tesseron.invocation import Pending
from elicit_flows.sdk.tesseron.questions import ActionQuestions

__all__ = ["ActionQuestions", "Pending", "TesseronFlows"]
