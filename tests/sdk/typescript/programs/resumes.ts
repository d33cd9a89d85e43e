// What becomes of deliveries to a WebhookApp, which the test has signed.
import { WebhookApp } from "elicit-flows";
import type { WebhookAppOptions } from "elicit-flows";

type Delivery = { headers: Record<string, string>; body: string };
const say = (word: string, said: unknown): void => console.log(JSON.stringify({ [word]: said }));
const { one, two, other, open, secret, foreign } = JSON.parse(process.env["WEBHOOKS"] ?? "") as
  Record<"one" | "two" | "other" | "open", Delivery> & Record<"secret" | "foreign", string>;
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
let resumed: string[] = [];

function app(more: Partial<WebhookAppOptions> = {}): WebhookApp {
  resumed = [];
  return new WebhookApp({ secret, goOn: (id) => resumed.push(id), runOf: ({ metadata }) => String(metadata["run"]), ...more });
}

const deliver = async (to: WebhookApp, { headers, body }: Delivery): Promise<number> =>
  (await to.fetch(new Request("http://127.0.0.1/hooks", { method: "POST", headers, body }))).status;

const plain = app();
const statuses = [await deliver(plain, one), await plain.receive(two.headers, new TextEncoder().encode(two.body))];
say("signed", [...statuses, resumed]);
const strict = app({ secret: foreign });
const refused = [await deliver(strict, one), await deliver(strict, { ...one, body: "x".repeat((1 << 20) + 1) })];
say("refused", [...refused, (await strict.fetch(new Request("http://127.0.0.1/"))).status, resumed]);
say("open", [await deliver(app(), open), resumed]);

async function together(...deliveries: Delivery[]): Promise<number> {
  let now = 0;
  let most = 0;
  const goOn = async (): Promise<void> => {
    most = Math.max(most, ++now);
    await pause(50);
    now -= 1;
  };
  const busy = app({ goOn });
  await Promise.all(deliveries.map((delivery) => deliver(busy, delivery)));
  return most;
}
say("together", [await together(one, two), await together(one, other)]);

let end = (): void => undefined;
const ended = new Promise<void>((resolve) => (end = resolve));
const slow = app({ goOn: async (id) => { resumed.push(id); await ended; }, waitMs: 20 });
const late = [await deliver(slow, one), await deliver(slow, one)];
const calls = [...resumed];
end();
say("slow", [...late, calls, await deliver(slow, one)]);

const errors: unknown[] = [];
let tries = 0;
const failing = app({
  goOn: () => { if (tries++ === 0) throw new Error("The model is away."); },
  onError: (error, run) => errors.push([String(error), run]),
});
say("failing", [await deliver(failing, one), await deliver(failing, one), errors]);

const locked: string[] = [];
say("locked", [await deliver(app({ lock: async (run, work) => { locked.push(run); await work(); } }), one), locked, resumed]);
say("end", true);
