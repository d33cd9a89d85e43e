// The feed against a service that says what the test tells it: cut, refused, in pieces, and left.
import { Elicit } from "elicit-flows";
import type { Event } from "elicit-flows";

const say = (word: string, said: unknown): void => console.log(JSON.stringify({ [word]: said }));
const elicit = new Elicit();

async function first(count: number, events: AsyncIterable<Event>): Promise<unknown[]> {
  const seen: unknown[] = [];
  for await (const event of events) {
    seen.push([event.id, event.cursor, event.createdAt?.getUTCFullYear()]);
    if (seen.length === count) break;
  }
  return seen;
}

say("streamed", await first(3, elicit.events("c0")));
say("polled", await first(3, elicit.events("c0", { stream: false })));
say("refused", await first(1, elicit.events()).catch((error) => error.name));
const leaving = new AbortController();
const watched = new Elicit({
  fetch: async (...given: Parameters<typeof fetch>) => {
    const response = await fetch(...given);
    setTimeout(() => leaving.abort(), 20); // by then it waits for what comes
    return response;
  },
});
say("aborted", await first(1, watched.events(null, { signal: leaving.signal })).catch((error) => error.name));
say("impatient", await first(1, new Elicit({ retryFor: 0.2 }).events()).catch((error) => [error.name, error.code]));
say("foreign", await first(1, elicit.events()).catch((error) => error.name));

const event = { id: "ev_ü", type: "elicitation.draft", created_at: "2026-11-21T10:00:00Z", data: {} };
const data = JSON.stringify(event, null, 1).replaceAll("\n", "\r\ndata: ");
const sent = new TextEncoder().encode(`: hello\r\n\r\nid: c1\r\ndata: ${data}\r\n\r\n`);
const pieces = new ReadableStream<Uint8Array>({
  start(controller): void {
    for (const one of sent) controller.enqueue(Uint8Array.of(one));
    controller.close();
  },
});
const headers = { "content-type": "text/event-stream" };
say("pieces", await first(1, new Elicit({ fetch: async () => new Response(pieces, { headers }) }).events()));
const page = new Elicit({ fetch: async () => new Response("<p>Welcome</p>") });
say("page", await first(1, page.events()).catch((error) => error.name));
say("end", true);
