/** Check that a webhook came from the service (Standard Webhooks), and read its event. */

import { ElicitError } from "./errors.ts";
import { event } from "./reading.ts";
import type { Event } from "./shapes.ts";

const TOLERANCE_SECONDS = 300;

export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * The event in `body`, the bytes of the request as they arrived.
 *
 * `secret` is the agent's `whsec_…`, or several while one replaces another. Throws ElicitError `bad_signature` if the
 * bytes were not signed with one of them within the last 300 seconds, and TypeError for what is no secret. A retry
 * carries the same event id: remember the ids that you have handled.
 */
export async function verifyWebhook(
  headers: WebhookHeaders, body: Uint8Array | ArrayBuffer | string, secret: string | readonly string[],
): Promise<Event> {
  const keys = await Promise.all((typeof secret === "string" ? [secret] : secret).map(keyOf));
  const id = header(headers, "webhook-id");
  const time = header(headers, "webhook-timestamp");
  const content = typeof body === "string" ? new TextEncoder().encode(body) : new Uint8Array(body);
  const signed = joined(new TextEncoder().encode(`${id}.${time}.`), content);
  if (id && /^\d{1,15}$/.test(time) && Math.abs(Date.now() / 1000 - Number(time)) <= TOLERANCE_SECONDS) {
    for (const signature of signatures(header(headers, "webhook-signature"))) {
      for (const key of keys) {
        // verify compares without telling by its time how much was right
        if (await crypto.subtle.verify("HMAC", key, signature, signed)) return read(content);
      }
    }
  }
  throw unsigned();
}

async function keyOf(secret: string): Promise<CryptoKey> {
  const bytes = typeof secret === "string" ? decoded(secret.trim().replace(/^whsec_/, "")) : null;
  if (bytes === null || bytes.length === 0) {
    throw new TypeError("secret: Give the agent's webhook secret, whsec_ and the rest, or a list of such secrets.");
  }
  return await crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
}

/** The signatures of the version that this client knows: `v1,…`, separated by spaces. */
function signatures(header: string): Uint8Array<ArrayBuffer>[] {
  const known = header.split(" ").filter((one) => one.startsWith("v1,"));
  return known.map((one) => decoded(one.slice(3))).filter((one) => one !== null);
}

function header(headers: WebhookHeaders, name: string): string {
  if (isHeaders(headers)) return headers.get(name) ?? "";
  const found = Object.keys(headers).filter((one) => one.toLowerCase() === name);
  const value = found.length === 1 && found[0] !== undefined ? headers[found[0]] : undefined;
  return typeof value === "string" ? value : "";
}

/** Whether it is what fetch has; some frameworks have a class of their own for it. */
function isHeaders(headers: WebhookHeaders): headers is Headers {
  return "get" in headers && typeof headers.get === "function";
}

function read(content: Uint8Array<ArrayBuffer>): Event {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(content);
  } catch (error) {
    if (error instanceof TypeError) throw unsigned();
    throw error;
  }
  return event(JSON.parse(text));
}

function unsigned(): ElicitError {
  return new ElicitError("bad_signature", "The webhook is not signed with this secret, or is too old");
}

/** The bytes behind base64, or null. */
function decoded(text: string): Uint8Array<ArrayBuffer> | null {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text) || text.replaceAll("=", "").length % 4 === 1) return null;
  // atob refuses padding of a wrong length, and needs none
  return Uint8Array.from(atob(text.replaceAll("=", "")), (one) => one.charCodeAt(0));
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}
