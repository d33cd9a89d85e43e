/** `WebhookApp`: the service tells it of an answer, and the run that waits for it goes on before the delivery is over. */

import { ElicitError } from "./errors.ts";
import { elicitation } from "./reading.ts";
import type { Elicitation } from "./shapes.ts";
import { LONGEST_TIMER } from "./transport.ts";
import { verifyWebhook } from "./webhooks.ts";
import type { WebhookHeaders } from "./webhooks.ts";

const WAIT_MS = 10_000; // the service gives a delivery 15 s
const MOST_BYTES = 1 << 20; // an event is smaller

export interface WebhookAppOptions {
  /** The agent's `whsec_…`, or several while one replaces another. */
  readonly secret: string | readonly string[];
  /** Resumes the run that waits for this elicitation. It may be called more than once for one. */
  readonly goOn: (elicitation: string) => unknown;
  /** The run of an elicitation. Those of one run are dealt with one after the other; the default is by their user. */
  readonly runOf?: (elicitation: Elicitation) => string;
  /** For an app with several processes: does `work` while no other process does the same for this run. */
  readonly lock?: (run: string, work: () => Promise<void>) => Promise<void>;
  /** After how many milliseconds a delivery is answered 503, for a run that takes longer. */
  readonly waitMs?: number;
  /** Is told why `goOn` failed. The default is `console.error`. */
  readonly onError?: (error: unknown, run: string) => unknown;
}

/**
 * The app for the address to which the service sends an agent's webhooks.
 *
 * `fetch` is a handler as Bun, Deno, Hono and Next.js take it; `receive` is for other servers. A delivery is answered
 * when `goOn` has ended, so the service tries again if this process dies, or if `goOn` throws.
 */
export class WebhookApp {
  readonly #options: WebhookAppOptions;
  readonly #underWay = new Map<string, Promise<boolean>>();
  readonly #last = new Map<string, Promise<void>>();

  constructor(options: WebhookAppOptions) {
    this.#options = options;
  }

  readonly fetch = async (request: Request): Promise<Response> => {
    if (request.method !== "POST") return new Response(null, { status: 405 });
    const body = await bodyOf(request);
    return new Response(null, { status: body ? await this.receive(request.headers, body) : 413 });
  };

  /** Deals with a delivery; the status to answer with. `body`: the bytes of the request as they arrived. */
  async receive(headers: WebhookHeaders, body: Uint8Array | ArrayBuffer): Promise<number> {
    if (body.byteLength > MOST_BYTES) return 413;
    let event;
    try {
      event = await verifyWebhook(headers, body, this.#options.secret);
    } catch (error) {
      if (error instanceof ElicitError) return 400;
      throw error;
    }
    if (!event.type.startsWith("elicitation.")) return 204;
    const seen = elicitation(event.data);
    if (!seen.over) return 204;
    const call = this.#underWay.get(seen.id) ?? this.#begin(seen);
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<null>((resolve) => {
      timer = setTimeout(() => resolve(null), Math.min(this.#options.waitMs ?? WAIT_MS, LONGEST_TIMER));
    });
    const well = await Promise.race([call, late]);
    clearTimeout(timer);
    if (well === null) return 503;
    return well ? 204 : 500;
  }

  #begin(seen: Elicitation): Promise<boolean> {
    const call = this.#dealtWith(seen).finally(() => this.#underWay.delete(seen.id));
    this.#underWay.set(seen.id, call);
    return call;
  }

  /** Whether it went well. */
  async #dealtWith(seen: Elicitation): Promise<boolean> {
    const { goOn, runOf, lock, onError = console.error } = this.#options;
    const run = runOf?.(seen) ?? `${seen.subject.iss} ${seen.subject.sub}`;
    const work = async (): Promise<void> => {
      await goOn(seen.id);
    };
    try {
      await this.#after(run, lock ? () => lock(run, work) : work);
    } catch (error) {
      onError(error, run);
      return false;
    }
    return true;
  }

  /** Does `work` when what this process does for the run already has ended. */
  async #after(run: string, work: () => Promise<void>): Promise<void> {
    const mine = (this.#last.get(run) ?? Promise.resolve()).then(work);
    const ended = mine.catch(() => undefined);
    this.#last.set(run, ended);
    try {
      await mine;
    } finally {
      if (this.#last.get(run) === ended) this.#last.delete(run);
    }
  }
}

/** The request's body, null if it is too long: then the rest of it is not read. */
async function bodyOf(request: Request): Promise<ArrayBuffer | null> {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  const reader = request.body?.getReader();
  for (let size = 0; reader; ) {
    const { value, done } = await reader.read();
    if (done) break;
    size += value.byteLength;
    if (size > MOST_BYTES) {
      await reader.cancel();
      return null;
    }
    pieces.push(value);
  }
  return await new Blob(pieces).arrayBuffer();
}
