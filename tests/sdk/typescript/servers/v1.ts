// @modelcontextprotocol/sdk 1.x over streamable HTTP: a server for each session.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { IncomingMessage } from "node:http";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { UrlElicitationRequiredError } from "@modelcontextprotocol/sdk/types.js";
import type { Known } from "./tools.ts";

export { McpServer, UrlElicitationRequiredError };

export function serve(make: () => McpServer, port: number, known: Known | null, _: boolean): void {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const transport = async (): Promise<StreamableHTTPServerTransport> => {
    const made = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, made),
    });
    await make().connect(made as Parameters<McpServer["connect"]>[0]);
    return made;
  };
  createServer(async (request: IncomingMessage & { auth?: NonNullable<ReturnType<Known>> }, response) => {
    const token = request.headers.authorization?.replace("Bearer ", "") ?? "";
    const auth = known?.(token);
    if (auth === null) return void response.writeHead(401).end();
    if (auth) request.auth = auth;
    const session = sessions.get(String(request.headers["mcp-session-id"]));
    await (session ?? (await transport())).handleRequest(request, response);
  }).listen(port, "127.0.0.1");
}
