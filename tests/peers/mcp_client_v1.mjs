// A client on @modelcontextprotocol/sdk 1: revision 2025-11-25. See mcp_host.mjs.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  ElicitRequestSchema,
  ElicitationCompleteNotificationSchema,
  UrlElicitationRequiredError,
} from "@modelcontextprotocol/sdk/types.js";
import { capabilities, complete, elicit, limits, play, told } from "./mcp_host.mjs";

const client = new Client({ name: "v1", version: "1" }, { capabilities });
if (told.links) client.setRequestHandler(ElicitRequestSchema, elicit);
client.setNotificationHandler(ElicitationCompleteNotificationSchema, complete);

const transport = new StreamableHTTPClientTransport(new URL(told.urls[0]));
await client.connect(transport);
const asked = { name: told.tool, arguments: told.arguments };
await play({
  version: transport.protocolVersion,
  call: () => client.callTool(asked, undefined, limits),
  Refusal: UrlElicitationRequiredError,
});
