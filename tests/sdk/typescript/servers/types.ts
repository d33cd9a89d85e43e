// Read by the type checker alone: a line that ends in "wrong" is one that it must refuse.
import type { Elicit, Outcome } from "elicit-flows";
import { McpFlows } from "elicit-flows/mcp";
import * as z from "zod";
import { McpServer } from "./library.ts";

const server = new McpServer({ name: "types", version: "1" });
const said = (text: string): { content: [{ type: "text"; text: string }] } => ({ content: [{ type: "text", text }] });
const disk = z.object({ disk: z.string() });

export function guarded(elicit: Elicit, say: (outcome: Outcome) => string): void {
  const flows = new McpFlows(server, { elicit, hold: 25, say, clients: { shy: "url" } });
  flows.registerTool("one", { inputSchema: disk }, flows.oauth("acme")(async (account, { disk }) => {
    await elicit.token(account);
    return said(account.result.connection + disk.toUpperCase());
  }));
  flows.registerTool("two", { inputSchema: disk }, flows.form({}, { message: "m" })(flows.payment(5, "eur", {
    description: "d", locale: "de",
  })(async (paid, form, { disk }) => said(`${paid.result.amount} ${form.result.content["a"]} ${disk}`))));
  flows.registerTool("three", {}, flows.confirm("m")(() => said("as it is")));
  flows.registerTool("four", {}, flows.confirm("m")(async (confirmed) => {
    const connection = confirmed.result.connection; // wrong
    return said(connection);
  }));
  flows.registerTool("five", { inputSchema: disk }, flows.confirm("m")(async (_, { size }) => said(size))); // wrong
  flows.registerTool("six", {}, flows.confirm("m")(async () => 6)); // wrong
  flows.registerTool("seven", { inputSchema: z.object({ size: z.number() }) },
    flows.ask((given: { size: number }) => (given.size ? { kind: "confirm", params: {}, message: "m" } : null))(
      async (outcome) => said(outcome?.status ?? "not asked")));
  flows.ask(() => ({ kind: "confirmation", params: {}, message: "m" })); // wrong
  flows.confirm("m", { timeout: 3 }); // wrong
  flows.payment("5.00", "eur", { description: "d" }); // wrong
  flows.having({ holdd: 3 }); // wrong
  new McpFlows(server, { user: "alice" }); // wrong
  new McpFlows({}); // wrong
}
