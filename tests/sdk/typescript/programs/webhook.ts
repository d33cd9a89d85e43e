// A webhook as it arrived, and others that nobody signed so.
import { verifyWebhook } from "elicit-flows";

const say = (word: string, said: unknown): void => console.log(JSON.stringify({ [word]: said }));
const { headers, body: encoded, secret, foreign } = JSON.parse(process.env["WEBHOOK"] ?? "");
const body = Buffer.from(encoded, "base64");
const code = (error: { code?: string; name: string }): string => error.code ?? error.name;

const event = await verifyWebhook(headers, body, secret);
say("genuine", [event.type, event.elicitation]);
say("either", (await verifyWebhook(new Headers(headers), body, [foreign, secret])).id === event.id);
say("text", (await verifyWebhook(headers, body.toString("utf8"), secret)).id === event.id);
const changed = Buffer.from(body);
changed[5] = (changed[5] ?? 0) ^ 1;
const old = { ...headers, "webhook-timestamp": String(Number(headers["webhook-timestamp"]) - 301) };
const forged: Record<string, () => Promise<unknown>> = {
  changed: () => verifyWebhook(headers, changed, secret),
  foreign: () => verifyWebhook(headers, body, foreign),
  old: () => verifyWebhook(old, body, secret),
  id: () => verifyWebhook({ ...headers, "webhook-id": "ev_other" }, body, secret),
  garbage: () => verifyWebhook({ ...headers, "webhook-signature": "v1,å v1,==== v2,AAAA" }, body, secret),
  time: () => verifyWebhook({ ...headers, "webhook-timestamp": "soon" }, body, secret),
  none: () => verifyWebhook({}, body, secret),
  secret: () => verifyWebhook(headers, body, "whsec_"),
};
for (const [why, checked] of Object.entries(forged)) say(why, await checked().then(() => "taken", code));
say("end", true);
