/** The service's address and the agent's key: from the options, or else from the environment. */

import { ElicitError } from "./errors.ts";

const DEFAULT_URL = "http://127.0.0.1:8000";
const DEMO_KEY = "var/demo.key";

interface FileSystem {
  existsSync(path: string): boolean;
  readFileSync(path: string, encoding: "utf8"): string;
}
interface Host {
  process?: { env?: Record<string, string | undefined>; getBuiltinModule?(name: "node:fs"): FileSystem | undefined };
}

/** The service's address without a trailing slash. Throws ElicitError `bad_url`. */
export function serviceUrl(given?: string): string {
  const url = (given || setting("ELICIT_URL") || DEFAULT_URL).replace(/\/+$/, "");
  if (!/^https?:\/\//.test(url) || !URL.canParse(url)) {
    throw new ElicitError("bad_url", `ELICIT_URL must begin with http:// or https:// and a host, not ${JSON.stringify(url)}`);
  }
  return url;
}

/** The agent's key. Throws ElicitError `no_api_key`, or `bad_api_key` for one that no header can carry. */
export function apiKey(given?: string): string {
  const key = given || setting("ELICIT_API_KEY") || demoKey();
  if (!key) {
    throw new ElicitError("no_api_key", "Set ELICIT_API_KEY, or start in a folder where `make run` left var/demo.key");
  }
  if (!/^[\x21-\x7e]+$/.test(key)) {
    throw new ElicitError("bad_api_key", "The API key has a character that none has, such as a space or a line end");
  }
  return key;
}

/** The variable `name`, or the contents of the file that `name_FILE` points to. Browsers have neither. */
function setting(name: string): string | undefined {
  const environment = host().env;
  const path = environment?.[`${name}_FILE`];
  if (path) return files()?.readFileSync(path, "utf8").trim();
  return environment?.[name];
}

function demoKey(): string | undefined {
  const found = files();
  return found?.existsSync(DEMO_KEY) ? found.readFileSync(DEMO_KEY, "utf8").trim() : undefined;
}

function files(): FileSystem | undefined {
  return host().getBuiltinModule?.("node:fs"); // not an import, so that bundlers for browsers do not look for it
}

function host(): NonNullable<Host["process"]> {
  return (globalThis as Host).process ?? {};
}
