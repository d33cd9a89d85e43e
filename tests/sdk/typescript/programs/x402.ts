// Requests that may cost something, one after the other, at a shop that charges by x402.
import * as sdk from "elicit-flows";

const say = (word: string, said: unknown): void => console.log(JSON.stringify({ [word]: said }));
const elicit = new sdk.Elicit();
const [user, shop] = [JSON.parse(process.env["USER_CLAIM"] ?? "") as [string, string], process.env["SHOP"] ?? ""];
const options = { message: "I need the report.", onUrl: (url: string) => say("link", url), timeout: 60 };

async function pays(word: string, method: string, path: string, request: RequestInit = {}): Promise<void> {
  const { response, outcome } = await elicit.payRequest(user, method, `${shop}${path}#top`, { ...options, request });
  say(word, [response.status, outcome && outcome.status, response.ok ? await response.json() : null]);
}

await pays("free", "get", "/free");
await pays("paid", "get", "/report");
const body = JSON.stringify({ town: "Bern" });
await pays("posted", "post", "/report", { body, headers: { "content-type": "application/json", "x-call": "7" } });
await pays("declined", "get", "/report");
const stream = new Blob(["{}"]).stream();
say("stream", await elicit.payRequest(user, "post", `${shop}/report`, { ...options, request: { body: stream } }).catch(
  (error) => [error.name, error.message],
));
for (const [name, said] of Object.entries({ none: null, unread: "%%%", list: btoa("[]"), latin: "/w==" })) {
  const headers = said === null ? {} : { "payment-required": said };
  try {
    say(name, sdk.challengeOf(new Response(null, { status: 402, headers })));
  } catch (error) {
    say(name, (error as Error).name);
  }
}
say("end", true);
