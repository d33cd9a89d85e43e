// One question of each kind, and what the answers are used for.
import { Elicit, NotCompleted } from "elicit-flows";
import type { Outcome } from "elicit-flows";

const say = (word: string, said: unknown): void => console.log(JSON.stringify({ [word]: said }));
const onUrl = (url: string): void => say("link", url);
const iss = process.env["ISS"] ?? "";
const user = { iss, sub: "alice" };
const elicit = new Elicit();

async function files(authorization: string): Promise<string[]> {
  const answer = await fetch(`${iss}/acme/api/files`, { headers: { Authorization: authorization } });
  const body = (await answer.json()) as { files: { name: string }[] };
  return body.files.map((one) => one.name);
}

const connected = await elicit.oauth(user, "acme", { scopes: ["files.read"], message: "To list your files.", onUrl });
if (connected.status !== "completed") throw new NotCompleted(connected);
const token = await elicit.token(connected, { minTtl: 30 });
say("files", await files(token.authorization));
say("ath", [await token.ath(), token.accessToken]);
console.log(token, JSON.stringify(token), elicit, JSON.stringify(elicit));
const again = await elicit.oauth(user, "acme", { scopes: ["files.read"], onUrl });
say("again", again.status === "completed" && again.reused);
const [connection] = await elicit.connections(user, { provider: "acme" });
say("connection", connection?.id === connected.result.connection && connection.status);
say("reported", (await elicit.report(connected)).status);

const fields = [{ name: "api_key", label: "API key" }];
const key = await elicit.credentials(user, { fields, message: "Your key.", onUrl });
if (key.status === "completed") {
  const { api_key: secret } = await elicit.secret(key);
  console.log(secret, `${secret}`, JSON.stringify(secret));
  say("secret", secret?.reveal());
}

const terms = { item: "typescript-report", uses: 1 };
const asking = { description: "A report", terms, onUrl, idempotencyKey: "typescript-report-1" };
const paid = await elicit.payment(user, 500, "usd", asking);
say("paid", paid.status === "completed" && [paid.result.amount, paid.result.status, paid.result.livemode]);
say("refund", (await elicit.refund(paid, { amount: 200 }))["amount"]);

const properties = { name: { type: "string", title: "Name" }, seats: { type: "integer" } };
const schema = { type: "object", properties, required: ["name"] };
const form = await elicit.form(user, schema, { message: "For the project.", onUrl });
say("form", form.status === "completed" && form.result.content);

const words = { detail: "12 files", danger: true, confirmLabel: "Delete", declineLabel: "Keep them" };
const sure = await elicit.confirm(user, { message: "Delete?", words, onUrl });
say("confirm", sure.status === "completed" && sure.result.confirmed);

const steps = [{ kind: "confirm", params: {} }, { kind: "confirm", params: { detail: "The last." } }] as const;
const stepped = await elicit.steps(user, steps, { message: "Two things.", onUrl });
say("steps", stepped.status === "completed" && stepped.result.steps.map((one) => one.kind));

const reading = { url: `${iss}/terms`, completion: "by_agent" } as const;
const asked = await elicit.create("link", user, reading, { message: "Read.", return: "button" });
say("return", asked.return);
say("code", (await elicit.userCode(asked)).code.length > 0);
say("completed", (await elicit.complete(asked)).status);

const no: Outcome = await elicit.confirm(user, { message: "May I?", onUrl });
say("no", [no.status, no.action]);
const late = await elicit.confirm(user, { message: "May I?", onUrl: () => undefined, expiresIn: 1 });
say("late", [late.status, late.action]);

await elicit.revoke(connected);
say("revoked", await elicit.token(connected).catch((error) => [error.name, error.code]));
say("end", true);
