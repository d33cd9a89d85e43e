/**
 * `requestState` sealed for one call: clients carry it, and can neither read nor change it, nor use it elsewhere.
 *
 * The SDK leaves this to the server (MCP 2026-07-28, basic/patterns/mrtr, "Server Requirements").
 */

import { Elicit } from "../client.ts";

const PURPOSE = "elicit-flows/mcp requestState";
const ALGORITHM = "AES-GCM";
const NONCE_BYTES = 12;
const VALID_SECONDS = 600;

/**
 * Where a call is: the elicitations that were asked, by their guards' places; those that the client agreed to open; and
 * how often the client was answered.
 */
export interface State {
  readonly asked: { readonly [place: string]: string };
  readonly agreed: readonly string[];
  readonly round: number;
}

/** `call` is what the state is good for. All processes with the same API key read it. */
export async function sealed(elicit: Elicit, call: string, state: State): Promise<string> {
  const nonce = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
  const said = new TextEncoder().encode(JSON.stringify({ ...state, until: Date.now() + VALID_SECONDS * 1000 }));
  const closed = await crypto.subtle.encrypt(how(nonce, call), await keyOf(elicit), said);
  const bytes = [...nonce, ...new Uint8Array(closed)];
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** The state, or null for one that is not for this call, was changed, or is older than ten minutes. */
export async function opened(elicit: Elicit, call: string, text: unknown): Promise<State | null> {
  if (typeof text !== "string" || !/^[\w-]+$/.test(text)) return null;
  try {
    const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (one) => one.charCodeAt(0));
    const nonce = bytes.slice(0, NONCE_BYTES);
    const said = await crypto.subtle.decrypt(how(nonce, call), await keyOf(elicit), bytes.slice(NONCE_BYTES));
    const { until, ...state } = JSON.parse(new TextDecoder().decode(said));
    return Date.now() < until && "asked" in state ? state : null;
  } catch (refused) {
    // Not base64, too short, or not sealed by this key for this call.
    if (!(refused instanceof DOMException)) throw refused;
    return null;
  }
}

function how(iv: Uint8Array<ArrayBuffer>, call: string): AesGcmParams {
  return { name: ALGORITHM, iv, additionalData: new TextEncoder().encode(call) };
}

async function keyOf(elicit: Elicit): Promise<CryptoKey> {
  return await crypto.subtle.importKey("raw", await Elicit.derived(elicit, PURPOSE), ALGORITHM, false, [
    "encrypt", "decrypt",
  ]);
}
