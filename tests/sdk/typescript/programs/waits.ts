// One question; the service is killed and started while the person takes their time, and two readers follow the feed.
import { Elicit } from "elicit-flows";
import type { Event } from "elicit-flows";

const say = (word: string, said: unknown): void => console.log(JSON.stringify({ [word]: said }));
const user = [process.env["ISS"] ?? "", "alice"] as const;
const elicit = new Elicit();

async function follow(id: string, stream: boolean): Promise<string[]> {
  const seen: Event[] = [];
  for await (const event of elicit.events(start, { stream })) {
    if (event.elicitation !== id) continue;
    say("event", [stream, event.type]);
    seen.push(event);
    if (event.type === "elicitation.completed") break;
  }
  return seen.map((event) => event.type);
}

const start = await elicit.newest();
const asked = await elicit.create("confirm", user, {}, { message: "May I?" });
const all = Promise.all([elicit.wait(asked), follow(asked.id, true), follow(asked.id, false)]);
say("link", asked.url);
const [over, streamed, polled] = await all;
say("over", [over.status, streamed, polled]);
say("end", true);
