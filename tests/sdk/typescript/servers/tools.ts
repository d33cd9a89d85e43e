// A server for the tests, on whichever major `library.ts` is of: what tests/sdk/mcp/tools.py is in Python. Its tools
// write a line for each time they really run, and TOOLS says how it is: see there.
import { appendFileSync } from "node:fs";
import { Elicit } from "elicit-flows";
import type { Completed } from "elicit-flows";
import { McpFlows } from "elicit-flows/mcp";
import type { Given, Question } from "elicit-flows/mcp";
import * as z from "zod";
import { McpServer, UrlElicitationRequiredError, serve } from "./library.ts";

const told = JSON.parse(process.env["TOOLS"] ?? "{}");
const ISSUER = told.issuer ?? "https://issuer.test";
const PLAN = { type: "object", properties: { plan: { type: "string", enum: ["free", "pro"] } }, required: ["plan"] };

function ran(what: string): string {
  appendFileSync(told.ran, `${what}\n`);
  return `done: ${what}`;
}

const said = (text: string): { content: [{ type: "text"; text: string }] } => ({ content: [{ type: "text", text }] });

export type Known = (token: string) => {
  token: string; clientId: string; scopes: string[]; resource: URL; extra: Record<string, unknown>;
} | null;
const known: Known = (token) => {
  if (!(token in (told.people ?? {}))) return null;
  const [clientId, sub] = told.people[token];
  const resource = new URL(`http://127.0.0.1:${told.port}/mcp`);
  return { token, clientId, scopes: [], resource, extra: { iss: ISSUER, sub, owner: "bob" } };
};

const camel = (name: string): string => name.replace(/_(.)/g, (_, letter) => letter.toUpperCase());
const settings: Given = {
  ...Object.fromEntries(Object.entries(told.settings ?? {}).map(([name, value]) => [camel(name), value])),
  ...(told.user ? { user: told.user } : {}),
  ...("retry_for" in told ? { elicit: new Elicit({ retryFor: told.retry_for }) } : {}),
  ...(told.owners ? { identify: ({ extra }) => [ISSUER, String(extra?.["owner"])] } : {}),
  refusal: UrlElicitationRequiredError,
};

function unlessSmall({ size }: { size: number }): Question | null {
  if (size < 10) return null;
  return { kind: "confirm", params: {}, message: `Delete ${size} files?`, options: { expiresIn: 60 } };
}

const disk = z.object({ disk: z.string().default("a") });

function make(): McpServer {
  const server = new McpServer({ name: told.name === undefined ? "tools" : (told.name ?? ""), version: "1" });
  const flows = new McpFlows(server, settings);
  flows.registerTool("wipe", { inputSchema: disk },
    flows.confirm("Wipe it?")(async (_, { disk }) => said(ran(`wiped ${disk}`))));
  flows.registerTool("burn", { inputSchema: disk },
    flows.confirm("Burn it?")(async (_, { disk }) => said(ran(`burnt ${disk}`))));
  flows.registerTool("count", { outputSchema: z.object({ result: z.number() }) },
    flows.form(PLAN, { message: "Which?" })((chosen) => {
      ran("counted");
      const result = String(chosen.result.content["plan"]).length;
      return { ...said(`${result}`), structuredContent: { result } };
    }));
  const outputSchema = z.object({ pages: z.number() });
  for (const name of ["as_model", "as_dict", "as_content"]) {
    flows.registerTool(name, { outputSchema },
      flows.confirm(`${name}?`)(async () => ({ ...said(ran(name)), structuredContent: { pages: 1 } })));
  }
  flows.registerTool("as_it_comes", {}, flows.confirm("As it comes?")(async () => said(ran("untyped"))));
  flows.registerTool("thrice", { inputSchema: disk },
    flows.confirm("One?")(flows.confirm("Two?")(flows.confirm("Three?")(
      async (_three, _two, _one, { disk }) => said(ran(`thrice ${disk}`))))));
  flows.registerTool("both", { inputSchema: z.object({ name: z.string().default("") }) },
    flows.form(PLAN, { message: "Which?" })(flows.confirm("Really?")(
      async (confirmed, chosen) => said(ran(`${chosen.elicitation.kind} ${confirmed.elicitation.kind}`)))));
  const atOnce = flows.having({ together: true });
  flows.registerTool("sells", { inputSchema: z.object({ house: z.string() }) },
    atOnce.confirm("Sell it?")(atOnce.form(PLAN, { message: "Which plan?" })(async (chosen, confirmed, { house }) =>
      said(ran(`sold ${house} ${confirmed.elicitation.message} ${chosen.result.content["plan"]}`)))));
  flows.registerTool("delete", { inputSchema: z.object({ size: z.number() }) },
    flows.ask(unlessSmall)(async (_, { size }) => said(ran(`deleted ${size}`))));
  const after = (done: Completed): string => ran(`hooked ${done.elicitation.kind}`);
  const hooking = flows.having({ after, say: () => "declined: as told" });
  flows.registerTool("hooked", {}, hooking.confirm("Hook?")(async () => said(ran("after the hook"))));
  flows.registerTool("slow", { inputSchema: z.object({ seconds: z.number() }) },
    flows.confirm("Take long?")(async (_, { seconds }) => {
      ran("slow began");
      await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
      return said(ran("slow ended"));
    }));
  flows.registerTool("looks_up", {}, flows.confirm("Look it up?")(async () => {
    return said((await new Elicit({ url: "http://127.0.0.1:9", apiKey: "key", retryFor: 0 }).get("el_1")).id);
  }));
  flows.registerTool("raises", {}, flows.confirm("Raise?")(() => {
    const asked = { mode: "url" as const, message: "m", url: "https://elsewhere.test/x", elicitationId: "own" };
    throw new UrlElicitationRequiredError([asked]);
  }));
  flows.registerTool("files", {}, flows.oauth("acme")(async () => said(ran("listed"))));
  flows.registerTool("token", {}, flows.oauth("acme", { scopes: ["files.read"] })(async (account) => {
    return said(`done: ${(await new Elicit().token(account)).tokenType}`);
  }));
  const names = z.object({ names: z.array(z.string()).transform((names) => new Set(names)) });
  flows.registerTool("named", { inputSchema: names },
    flows.confirm("All of them?")(async (_, { names }) => said(ran(`named ${[...names]}`))));
  class Hidden {
    readonly #name: string;
    constructor(name: string) {
      this.#name = name;
    }
    get name(): string {
      return this.#name;
    }
  }
  const hidden = z.object({ name: z.string().transform((name) => new Hidden(name)) });
  flows.registerTool("hidden", { inputSchema: hidden },
    flows.confirm("This one?")(async (_, { name }) => said(ran(`hidden ${name.name}`))));
  server.registerTool("unnamed", {}, flows.confirm("Whose?")(async () => said(ran("unnamed"))));
  flows.registerTool("plain", {}, async () => said(ran("plain")));
  return server;
}

serve(make, told.port, told.people ? known : null, told.stateless === true);
