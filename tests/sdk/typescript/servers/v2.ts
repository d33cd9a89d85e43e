// @modelcontextprotocol/server 2.x over streamable HTTP: a server for each request of the newer era, and for each
// session of the older; `stateless`, as the SDK serves the older era by itself.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { IncomingMessage } from "node:http";
import { toNodeHandler } from "@modelcontextprotocol/node";
import {
  McpServer, UrlElicitationRequiredError, WebStandardStreamableHTTPServerTransport, createMcpHandler, isLegacyRequest,
} from "@modelcontextprotocol/server";
import type { McpHandlerRequestOptions } from "@modelcontextprotocol/server";
import type { Known } from "./tools.ts";

export { McpServer, UrlElicitationRequiredError };

export function serve(make: () => McpServer, port: number, known: Known | null, stateless: boolean): void {
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();
  const newer = createMcpHandler(make, { legacy: stateless ? "stateless" : "reject" });
  const transport = async (): Promise<WebStandardStreamableHTTPServerTransport> => {
    const made = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, made),
    });
    await make().connect(made);
    return made;
  };
  const answer = async (request: Request, options?: McpHandlerRequestOptions): Promise<Response> => {
    if (stateless || !(await isLegacyRequest(request))) return await newer.fetch(request, options);
    const session = sessions.get(request.headers.get("mcp-session-id") ?? "");
    return await (session ?? (await transport())).handleRequest(request, options);
  };
  const handler = toNodeHandler({ fetch: answer });
  createServer((request: IncomingMessage & { auth?: NonNullable<ReturnType<Known>> }, response) => {
    const auth = known?.(request.headers.authorization?.replace("Bearer ", "") ?? "");
    if (auth === null) return void response.writeHead(401).end();
    if (auth) request.auth = auth;
    return void handler(request, response);
  }).listen(port, "127.0.0.1");
}
