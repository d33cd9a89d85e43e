/** The user of a call: from the verified access token, or the one user that the server's author named. */

import { claim } from "../reading.ts";
import type { Claim, User } from "../shapes.ts";
import { NotRun, refused } from "./messages.ts";
import type { AuthInfo, Settings } from "./settings.ts";

/** Throws NotRun for a caller who is not known (MCP, client/elicitation, "Identifying the User"). */
export function userOf(settings: Settings, token: AuthInfo | undefined): Claim {
  if (settings.user) return claim(settings.user);
  if (!token) throw unknown("the caller is not signed in");
  const found = settings.identify ? settings.identify(token) : named(token);
  if (!found) throw unknown("the access token names no user");
  return claim(found);
}

/** Issuer and subject of the token. Null for a program's own, whose subject is the client (RFC 9068, section 2.2). */
function named({ extra = {}, clientId }: AuthInfo): User | null {
  const { iss, sub } = extra;
  if (typeof iss !== "string" || typeof sub !== "string" || !iss || !sub || sub === clientId) return null;
  return { iss, sub };
}

function unknown(why: string): NotRun {
  return new NotRun(refused(`This tool asks its user for something, and ${why}.`, "no_user"));
}
