// Calls of a provider's API through the service.
import { Elicit } from "elicit-flows";

const say = (word: string, said: unknown): void => console.log(JSON.stringify({ [word]: said }));
const { OF: of = "", HOST: host = "" } = process.env;
const elicit = new Elicit();
const code = (error: { code?: string; name: string }): string => error.code ?? error.name;

say("got", await (await elicit.request(of, "GET", "/me", { query: { a: 1 }, headers: { Authorization: "mine" } })).json());
say("posted", await (await elicit.request(of, "POST", "/files", { json: { name: "x" }, host })).json());
const body = new ReadableStream({
  start(pieces) {
    for (const piece of ["in ", "pieces"]) pieces.enqueue(new TextEncoder().encode(piece));
    pieces.close();
  },
});
say("streamed", await (await elicit.request(of, "POST", "/files", { body })).json());
const gone = await elicit.request(of, "GET", "/gone");
say("gone", [gone.status, await gone.json()]);
const refused: string[] = [];
for (const [connection, at] of [["cn_none", "/me"], [of, "//evil.example"]] as const) {
  await elicit.request(connection, "GET", at).catch((error) => refused.push(code(error)));
}
say("refused", refused);
const away: string[] = [];
for (const at of ["/../token", "/%2e%2e/secret", "/a/../../../cn_other/proxy/me", "me"]) {
  await elicit.request(of, "POST", at).catch((error) => away.push(code(error)));
}
say("away", away);
