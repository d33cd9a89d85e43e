// What the types must refuse: every line that says so.
import type { components } from "./api.js";

type Create = components["schemas"]["CreateElicitation"];
type Elicitation = components["schemas"]["Elicitation"];
const subject = { iss: "https://idp.example.com", sub: "alice" };
const message = "To list your files.";

const price = { amount: 5, currency: "eur", description: "A report" };
export const asks: Create[] = [
    { kind: "oauth", subject, message, params: {} }, // refused
    { kind: "oauth", subject, message, params: { provider: "drive", scopes: "files.read" } }, // refused
    { kind: "payment", subject, message, params: { ...price, mode: "gift" } }, // refused
    { kind: "link", subject, message, params: { url: "https://example.com", completion: "sometime" } }, // refused
    { kind: "rating", subject, message, params: {} }, // refused
    { kind: "confirm", subject, message, params: { colour: "red" } }, // refused
    { kind: "confirm", message, params: {} }, // refused
    { kind: "confirm", subject, message, params: {} },
];

export function read(one: Elicitation): unknown[] {
    return [
        one.result.connection, // refused
        one.kind === "oauth" && one.result?.payment, // refused
        one.status === "done", // refused
        one.kind === "form" && one.result?.content,
        one.error?.code === "not_a_code", // refused
    ];
}

export function heard(event: components["schemas"]["Event"]): unknown[] {
    return [
        event.type === "elicitation.finished", // refused
        event.type === "payment.refunded" && event.data.refund.amount,
        event.type === "payment.disputed" && event.data.refund, // refused
    ];
}
