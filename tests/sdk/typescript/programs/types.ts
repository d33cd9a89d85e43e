// Read by the type checker alone: a line that ends in "wrong" is one that it must refuse.
import { Elicit, RateLimitedError } from "elicit-flows";
import type { Completed, Elicitation, Outcome, Token } from "elicit-flows";

const user = ["https://idp.example", "alice"] as const;
const onUrl = (url: string): void => console.log(url);
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

export async function called(elicit: Elicit): Promise<string> {
  const outcome = await elicit.oauth(user, "acme", { scopes: ["a"], message: "m", onUrl, timeout: 3, expiresIn: 60 });
  const same: Same<typeof outcome, Outcome<"oauth">> = true;
  const token: Token = await elicit.token(outcome);
  const answered: Elicitation<"form"> = await elicit.create("form", user, { schema: {} }, { message: "m" });
  console.log(same, token, answered.result?.content);
  outcome.result.connection; // wrong
  await elicit.oauth(user, "acme", { message: "m" }); // wrong
  await elicit.oauth(user, "acme", { message: "m", onUrl, expires: "soon" }); // wrong
  await elicit.payment(user, "5.00", "eur", { description: "d", onUrl }); // wrong
  await elicit.answer("el_1", "q", { state: "sent" }); // wrong
  await elicit.create("payments", user, {}, { message: "m" }); // wrong
  await elicit.oauth("alice", "acme", { onUrl }); // wrong
  await elicit.credentials(user, { message: "m", onUrl }); // wrong
  await elicit.token(await elicit.confirm(user, { message: "m", onUrl })); // wrong
  switch (outcome.status) {
    case "completed":
      return outcome.result.account?.label ?? outcome.result.connection;
    case "declined":
    case "cancelled":
    case "expired":
      return outcome.action;
    case "failed":
      return `${outcome.message} (${outcome.code})`;
  }
}

export function narrowed(one: Elicitation, done: Completed, limited: RateLimitedError): number | string | undefined {
  if (one.kind === "payment") return one.result?.amount;
  one.result?.amount; // wrong
  return done.status === "completed" ? limited.retryAfter : limited.requestId;
}
