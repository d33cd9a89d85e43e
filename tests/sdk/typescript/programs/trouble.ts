// What the service refuses, and what does not answer.
import { AuthenticationError, ConflictError, Elicit, ElicitError, InvalidRequestError } from "elicit-flows";
import { NotFoundError, StillWaiting, UnreachableError } from "elicit-flows";

const say = (word: string, said: unknown): void => console.log(JSON.stringify({ [word]: said }));
const user = [process.env["ISS"] ?? "", "alice"] as const;
const elicit = new Elicit();

type Kind = new (...given: never[]) => ElicitError;

async function refused(word: string, kind: Kind, call: Promise<unknown>): Promise<void> {
  try {
    say(word, await call);
  } catch (error) {
    if (!(error instanceof kind)) throw error;
    const { name, message, status, code, requestId: request } = error;
    say(word, { name, message, status, code, request });
  }
}

await refused("key", AuthenticationError, new Elicit({ apiKey: "a-key-that-nobody-has" }).agent());
const wrong = { amount: 5.5, currency: "eur", description: "A report" };
await refused("invalid", InvalidRequestError, elicit.create("payment", user, wrong, { message: "Pay." }));
await refused("missing", NotFoundError, elicit.get("el_nobody"));
await refused("nowhere", UnreachableError, new Elicit({ url: "http://127.0.0.1:9", retryFor: 0.3 }).agent());

const asked = await elicit.create("confirm", user, {}, { message: "May I?" });
say("waited", (await elicit.wait(asked, { timeout: 0.2 })).over);
const options = { message: "May I?", onUrl: () => undefined, timeout: 0.2 };
await refused("still", StillWaiting, elicit.confirm(user, options));
await refused("open", ConflictError, elicit.consume(asked));
say("aborted", await elicit.wait(asked.id, { signal: AbortSignal.timeout(300) }).catch((error) => error.name));
say("cancelled", (await elicit.cancel(asked)).action);
say("consumed", (await elicit.consume(asked.id, { key: "run-1" })).consumedAt instanceof Date);
say("twice", (await elicit.consume(asked.id, { key: "run-1" })).consumedAt instanceof Date);
await refused("another", ConflictError, elicit.consume(asked));
say("end", true);
