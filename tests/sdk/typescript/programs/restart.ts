// Calls that do not wait, while the service restarts and a proxy answers in its place.
import { Elicit } from "elicit-flows";

const say = (word: string, said: unknown): void => console.log(JSON.stringify({ [word]: said }));
const user = { iss: "i", sub: "s" };
const elicit = new Elicit();

const impatient = new Elicit({ maxRetries: 0 });
say("impatient", await impatient.agent().catch((error) => error.code));
const refused = [
  elicit.create("confirm", user, {}, { message: "May I?" }), elicit.importConnection(user, "acme", { accessToken: "at" }),
];
say("asked", true);
say("restarted", (await Promise.all(refused)).map((one) => one.id));
const answers = ["x502", "x503", "x500", "provider_broken"].map((id) => elicit.get(id));
say("proxied", (await Promise.allSettled(answers)).map((one) => one.status === "fulfilled" || one.reason.code));
say("end", true);
