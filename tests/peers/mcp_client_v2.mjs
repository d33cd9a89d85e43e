// A client on @modelcontextprotocol/client 2: revisions 2025-11-25 and 2026-07-28. See mcp_host.mjs.

import { Client, StreamableHTTPClientTransport, UrlElicitationRequiredError } from "@modelcontextprotocol/client";
import { capabilities, complete, elicit, limits, play, takingTurns, told } from "./mcp_host.mjs";

const mode = told.version === "2025-11-25" ? "legacy" : { pin: told.version };
const client = new Client({ name: `v2 ${told.version}`, version: "1" }, { capabilities, versionNegotiation: { mode } });
if (told.links) client.setRequestHandler("elicitation/create", elicit);
client.setNotificationHandler("notifications/elicitation/complete", complete);

await client.connect(new StreamableHTTPClientTransport(new URL(told.urls[0]), { fetch: takingTurns }));
await play({
  version: client.getNegotiatedProtocolVersion(),
  call: () => client.callTool({ name: told.tool, arguments: told.arguments }, limits),
  Refusal: UrlElicitationRequiredError,
});
