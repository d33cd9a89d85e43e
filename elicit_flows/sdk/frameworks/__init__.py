"""Guards for the tools of agent frameworks: one module for each, which imports it.

    flows = LangGraphFlows(user_of, app="files")

    @tool
    @flows.confirm("Really delete?")
    async def wipe(folder: str) -> str: ...

A guard asks and does not wait. The run ends there, kept by the framework, and the person gets a link. When they have
answered, any process resumes the run: it learns of the answer from a webhook, see ``WebhookApp``, or from the feed,
see ``Answer``. The guard then looks at the service itself, whatever the resumed run was told, and runs the tool once
for a yes. A no is text for the model.
"""

from elicit_flows.sdk.frameworks.answers import Answer
from elicit_flows.sdk.frameworks.flows import FrameworkFlows
from elicit_flows.sdk.frameworks.webhook_app import WebhookApp

__all__ = ["Answer", "FrameworkFlows", "WebhookApp"]
