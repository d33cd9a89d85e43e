// An agent on the types of openapi-typescript: it asks, waits, and prints what became of it.
import type { components, operations, webhooks } from "./api.js";

type Elicitation = components["schemas"]["Elicitation"];
type Create = components["schemas"]["CreateElicitation"];
type Event = components["schemas"]["Event"];
type Completed = webhooks["elicitation.completed"]["post"];
type ListQuery = NonNullable<operations["elicitations_list_all"]["parameters"]["query"]>;

const base = process.env["ELICIT_URL"] ?? "";
const subject = { iss: process.env["ISS"] ?? "", sub: "alice" };

async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const authorization = `Bearer ${process.env["ELICIT_API_KEY"]}`;
    const headers = { authorization, "content-type": "application/json" };
    const sent = body === undefined ? null : JSON.stringify(body);
    const answer = await fetch(base + path, { method, headers, body: sent });
    if (answer.ok) return (await answer.json()) as T;
    const problem = (await answer.json()) as components["schemas"]["Problem"];
    throw new Error(`${problem.code satisfies components["schemas"]["ErrorCode"]}: ${problem.errors?.[0]?.message}`);
}

// The kind says which result it is.
function told(one: Elicitation): string {
    if (one.status !== "completed" || one.result === null) return `${one.kind} ${one.status}`;
    switch (one.kind) {
        case "oauth":
            return `${one.result.connection} ${one.result.account?.label ?? "?"} ${one.params.scopes.join(" ")}`;
        case "payment":
            return `${one.result.payment} ${one.result.amount / 100} ${one.params.mode} ${one.result.livemode}`;
        case "credentials":
            return one.result.connection;
        case "form":
            return Object.entries(one.result.content).map(([name, value]) => `${name}=${String(value)}`).join(" ");
        case "confirm":
            return `${one.result.confirmed satisfies true}`;
        case "link":
            return one.params.url;
        case "x402":
            return `${one.result.authorization} ${one.result.amount} ${one.result.symbol}`;
        case "steps":
            return one.result.steps.map((step) => step.kind).join(" ");
    }
}

// So does the type of an event.
function heard(event: Event): string {
    switch (event.type) {
        case "elicitation.draft":
            return event.data.draft?.question ?? "";
        case "payment.refunded":
            return `${event.data.refund.amount} of ${event.data.payment.amount}`;
        case "connection.revoked":
            return event.data.health;
        case "webhook.disabled":
            return event.data.reason;
        default:
            return event.type;
    }
}

export function delivered(headers: Completed["parameters"]["header"], body: Completed["requestBody"]): string {
    return `${headers?.["webhook-id"]} ${body.content["application/json"].data.id}`;
}

const url = "https://example.com/terms";
const options = [{ id: "a", label: "A" }];
const asks: Create[] = [
    { kind: "oauth", subject, message: "To list your files.", params: { provider: "drive", scopes: ["files.read"] } },
    { kind: "confirm", subject, message: "Really?", params: { danger: true } },
    { kind: "link", subject, message: "Read this.", params: { url, completion: "by_agent" } },
    {
        kind: "form", subject, message: "How many?",
        params: { schema: { properties: { seats: { type: "integer", minimum: 1 } }, required: ["seats"] } },
    },
    {
        kind: "form", subject, message: "Which one?",
        params: { questions: [{ id: "plan", kind: "single-select", message: "?", options }] },
    },
    {
        kind: "steps", subject, message: "Two things.",
        params: { steps: [{ kind: "confirm", params: {} }, { kind: "oauth", params: { provider: "drive" } }] },
    },
];
const said: string[] = [];
for (const ask of asks) said.push(told(await call<Elicitation>("POST", "/v1/elicitations", ask)));
const filter: ListQuery = { kind: "form", limit: 1 };
const query = new URLSearchParams({ kind: filter.kind ?? "", limit: String(filter.limit) });
const page = await call<components["schemas"]["ElicitationList"]>("GET", `/v1/elicitations?${query}`);
const form = page.data[0];
if (form?.kind !== "form" || !("questions" in form.params)) throw new Error("It is the form with questions.");
const answers: components["schemas"]["Complete"] = { answers: { plan: { state: "submitted", value: "a" } } };
said.push(told(await call<Elicitation>("POST", `/v1/elicitations/${form.id}/complete`, answers)));
const events = await call<components["schemas"]["EventList"]>("GET", "/v1/events");
said.push(heard(events.data[events.data.length - 1]!));
console.log(JSON.stringify(said));
