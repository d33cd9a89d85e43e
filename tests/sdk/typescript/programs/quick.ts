// Against a service that says what the test tells it: a lost answer, a wrong call, and two webhooks.
import { Elicit, InvalidRequestError, verifyWebhook } from "elicit-flows";

const say = (word: string, said: unknown): void => console.log(JSON.stringify({ [word]: said }));
const user = ["https://idp.example", "alice"] as const;
const elicit = new Elicit();

const onUrl = (url: string): void => say("link", url);
const outcome = await elicit.oauth(user, "acme", { scopes: ["files.read"], message: "Connect.", onUrl });
say("outcome", outcome.status === "completed" ? outcome.result.connection : outcome.status);

try {
  await elicit.create("payment", user, { amount: 5, currency: "no", description: "A report" }, { message: "Pay." });
} catch (error) {
  if (error instanceof InvalidRequestError) say("refused", [error.name, error.message, error.status, error.requestId]);
}

const { headers, body, secret, untimely } = JSON.parse(process.env["WEBHOOK"] ?? "");
say("event", (await verifyWebhook(headers, body, secret)).type);
const others = [{ ...headers, "webhook-id": "ev_2" }, { ...headers, "webhook-signature": "v1,AAAA" }, {}];
for (const wrong of [...others, ...untimely]) {
  say("forged", await verifyWebhook(wrong, body, secret).catch((error) => error.code));
}
