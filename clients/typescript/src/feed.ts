/** The agent's events in order, without end: as a stream (server-sent events) or by long-polling. */

import { ElicitError, UnexpectedAnswerError, UnreachableError, problem } from "./errors.ts";
import { event, list, object, word } from "./reading.ts";
import type { Event } from "./shapes.ts";
import { Limit, RetryLimit, parsed } from "./transport.ts";
import type { Query, Transport } from "./transport.ts";

export const EVENTS = "/v1/events";
const POLL_SECONDS = 25;
const SILENCE_SECONDS = 45; // the service sends a comment every 15 s; after three missed ones the connection is dead

/** Events from one connection. When it breaks, it is opened again after the last event seen (Last-Event-ID). */
export async function* stream(
  transport: Transport, after: string | null, signal?: AbortSignal,
): AsyncGenerator<Event, void> {
  const retries = new RetryLimit(transport.retryFor);
  let cursor = after;
  let seen = false;
  for (;;) {
    let broken: ElicitError = new UnreachableError("unreachable", `The service at ${transport.url} closed the stream`);
    try {
      for await (const message of connection(transport, cursor, seen, signal)) {
        retries.reset();
        if (message === null) continue;
        cursor = message.id || cursor;
        seen ||= message.id !== "";
        const read = (answer: unknown): Event => event(answer, cursor);
        yield transport.understood(read, parsed(message.data), 200);
      }
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      if (!(error instanceof ElicitError)) broken = transport.unreachable(error);
      else if (error instanceof UnexpectedAnswerError || refused(error)) throw error;
      else broken = error;
    }
    await retries.pauseAfter(broken, signal);
  }
}

/** Events page by page. The last event of a page carries the page's cursor, the others carry the cursor before it. */
export async function* poll(
  transport: Transport, after: string | null, signal?: AbortSignal,
): AsyncGenerator<Event, void> {
  let cursor = after;
  for (;;) {
    const query: Query = { wait: POLL_SECONDS, after: cursor };
    const before = cursor;
    const read = (answer: unknown): { events: Event[]; next: string } => {
      const data = list(object(answer)["data"]);
      const next = word(object(answer), "cursor");
      return { events: data.map((one, at) => event(one, at === data.length - 1 ? next : before)), next };
    };
    const request = { query, retryFor: transport.retryFor, hold: POLL_SECONDS, signal };
    const page = await transport.call(read, "GET", EVENTS, request);
    cursor = page.next;
    yield* page.events;
  }
}

interface Message {
  id: string;
  data: string;
}

/** The messages of one connection, and null as soon as it is open. It is closed when the loop over it is left. */
async function* connection(
  transport: Transport, cursor: string | null, resumed: boolean, signal: AbortSignal | undefined,
): AsyncGenerator<Message | null, void> {
  const headers: Record<string, string> = { Accept: "text/event-stream" };
  if (resumed && cursor) headers["Last-Event-ID"] = cursor;
  const query: Query = resumed ? {} : { after: cursor };
  const limit = new Limit(transport.timeout, signal);
  try {
    const response = await transport.send(transport.prepare("GET", EVENTS, { query, headers }), limit.signal);
    if (!response.ok) throw problem(response.status, parsed(await response.text()), response.headers);
    if (!response.headers.get("content-type")?.startsWith("text/event-stream")) {
      const said = `The answer from ${transport.url} is no stream of events`;
      throw new UnexpectedAnswerError("unexpected_answer", said, { status: response.status });
    }
    limit.again(SILENCE_SECONDS);
    yield null;
    let message: Message = { id: "", data: "" };
    for await (const line of lines(response, limit)) {
      if (line !== "") {
        message = told(message, line);
        continue;
      }
      if (message.data) yield message;
      message = { id: "", data: "" };
    }
  } finally {
    limit.abort();
  }
}

/** The lines of the body as they arrive. Every piece of it shows that the connection is alive. */
async function* lines(response: Response, limit: Limit): AsyncGenerator<string, void> {
  if (!response.body) return;
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    limit.again(SILENCE_SECONDS);
    rest += decoder.decode(value, { stream: true });
    const found = rest.split(/\r\n|\n|\r(?!$)/); // the end of a piece may be between \r and \n
    rest = found.pop() ?? "";
    yield* found;
  }
}

/** The message with one more line of it. */
function told(message: Message, line: string): Message {
  const [, name, value = ""] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
  if (name === "id") return { ...message, id: value };
  if (name === "data") return { ...message, data: message.data ? `${message.data}\n${value}` : value };
  return message; // a comment, or a field that says nothing here
}

function refused(error: ElicitError): boolean {
  return error.status !== undefined && error.status < 500 && error.status !== 429;
}
