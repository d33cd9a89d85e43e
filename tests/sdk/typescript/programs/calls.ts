// Every call once, against a service that says what the test tells it.
import * as sdk from "elicit-flows";

const say = (word: string, said: unknown): void => console.log(JSON.stringify({ [word]: said }));
const user = { iss: "i", sub: "s" };
const elicit = new sdk.Elicit({ retryFor: 5 });
const token = new sdk.Token("at", "DPoP");

const methods = new Set<string>();
for (let at = sdk.Elicit.prototype; at !== Object.prototype; at = Object.getPrototypeOf(at)) {
  for (const name of Object.getOwnPropertyNames(at)) if (name !== "constructor") methods.add(name);
}
say("methods", [...methods]);
say("exports", Object.keys(sdk));

for await (const one of elicit.elicitations(user, { status: "pending" })) say("listed", one.id);
for await (const one of elicit.payments(user, { status: "paid", elicitation: "el_1" })) say("listed", one["id"]);
say("connection", (await elicit.connection("cn_1")).health);
const until = new Date("2026-11-21T11:00:00Z");
const told = { refreshToken: "rt", expiresAt: until, scopes: ["files.read"], account: { id: "a" } };
say("dropped", await elicit.importConnection(user, "acme", told).catch((error) => error.name));
say("broken", await elicit.importConnection(user, "acme", told).catch((error) => error.name));
say("imported", (await elicit.importConnection(user, "acme", told)).id);
say("proof", await elicit.proof("cn_1", "GET", "https://api.example/", { token, nonce: "n", userToken: "ut" }));
const exchanged = await elicit.token("cn_1", { userToken: "ut" });
say("exchanged", [exchanged.authorization, exchanged.scopes, exchanged.expiresAt !== null]);
say("secret", (await elicit.secret("cn_1", { userToken: "ut" }))["key"]?.reveal());
const draft = await elicit.answer("el_1", "a/b", { state: "draft", value: 3 }, { seq: 2 });
say("draft", [draft.missing, draft.answers["a/b"]?.value]);
say("drafted", (await elicit.draft("el_1", { afterSeq: 2 })).seq);
say("again", (await elicit.askAgain("el_1", { message: "Now." })).id);
say("submitted", (await elicit.complete("el_1", { name: { state: "submitted", value: "Atlas" } })).over);
say("note", [await elicit.addToNote("el_1", { mail: "m-1", old: null }), await elicit.note("el_1")]);
say("refund", (await elicit.refund("pa_1", { idempotencyKey: "refund-1" }))["id"]);
for await (const one of elicit.mandates(user, { status: "active" })) say("listed", one["id"]);
say("mandate", (await elicit.mandateOf("ma/1"))["used"]);
const details = { description: "A ticket", item: "ride", uses: 2, metadata: { order: 7 }, idempotencyKey: "charge-1" };
say("charge", (await elicit.charge("ma/1", 200, details))["status"]);
for await (const one of elicit.charges("ma/1")) say("listed", one["id"]);
say("ended", (await elicit.endMandate("ma/1"))["status"]);
for await (const one of elicit.subscriptions(user, { status: "past_due" })) say("listed", one["id"]);
say("subscription", (await elicit.subscriptionOf("su/1"))["status"]);
say("cancelled", [
  (await elicit.cancelSubscription("su/1"))["ends_at"], (await elicit.cancelSubscription("su/1", { now: true }))["status"],
]);
for await (const one of elicit.renewals("su/1")) say("listed", one["id"]);
const header = await elicit.paymentHeader("xa/1", { idempotencyKey: "sign-1" });
say("header", [header.name, header.method, header.validUntil?.toISOString()]);
say("limited", await elicit.agent().catch((error) => [error.name, error.retryAfter]));
say("foreign", await elicit.get("../connections").catch((error) => [error.name, error.code]));
say("elsewhere", await elicit.get("el_2").catch((error) => error.code));
say("after", (await elicit.get("el_3")).seq);
const failed = await elicit.confirm(user, { message: "May I?", onUrl: () => say("shown", true) });
say("failed", failed.status === "failed" && [failed.action, failed.code, failed.message]);
const unpaid = await elicit.payment(user, 500, "usd", { description: "A report", onUrl: () => undefined });
say("unpaid", await elicit.refund(unpaid).catch((error) => [error.name, error.outcome.status]));
const limits = { per_charge: 2000, total: 10000, until: "2027-01-01T00:00:00Z" };
const allowing = { description: "Tickets", account: "shop", onUrl: () => undefined };
const allowed = await elicit.mandate(user, "eur", limits, allowing);
say("charged", (await elicit.charge(allowed, 300, { description: "Another" }))["id"]);
const subscribed = await elicit.payment(user, 500, "eur", { description: "A paper", onUrl: () => undefined });
say("subscribed", (await elicit.subscriptionOf(subscribed))["id"]);
const repriced = await elicit.priceChange(user, "su_2", 700, "eur", { onUrl: () => undefined });
say("repriced", repriced.status === "completed" && repriced.result.price);
say("unsubscribed", await elicit.subscriptionOf(unpaid).catch((error) => error.name));
const refused = await elicit.x402(user, "https://shop.example/a", { x402Version: 2 }, {
  method: "POST", account: "wallet", onUrl: () => undefined,
});
say("unsigned", await elicit.paymentHeader(refused).catch((error) => error.name));
say("uncharged", await elicit.charge(unpaid, 1, { description: "None" }).catch((error) => error.name));
for (const [why, make] of Object.entries({
  open: async () => sdk.outcomeOf(await elicit.get("el_3")),
  url: async () => new sdk.Elicit({ url: "ftp://127.0.0.1" }),
  apiKey: async () => new sdk.Elicit({ apiKey: "two words" }),
  user: async () => await elicit.create("confirm", ["alice", ""], {}, { message: "May I?" }),
})) {
  say(why, await make().then(() => "taken", (error) => error.code ?? error.name));
}
const changed = elicit.withOptions({ retryFor: 60, maxRetries: 1 });
say("silent", (await changed.wait(await elicit.get("el_3"), { timeout: 0.2 })).over);
say("mute", await elicit.wait("el_4", { timeout: 0.2 }).catch((error) => error.name));
say("end", true);
