// What grant, arctic and Auth.js say about providers, as JSON: {library: [[name, authorize, token], ...]}.
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const modules = join(process.env.PEERS ?? dirname(fileURLToPath(import.meta.url)), "node_modules");
const own = createRequire(join(modules, "x.js"));

const grant = Object.entries(own(join(modules, "grant/config/oauth.json")))
  .filter(([, one]) => one.oauth === 2)
  .map(([name, one]) => [name, one.authorize_url, one.access_url]);

// Endpoints stand in its modules as constants, or are put together from what the customer says.
const named = (text, what) =>
  text.match(new RegExp(`${what}(?:Endpoint|EndpointURL)? = ["\`]([^"\`]+)["\`]`))?.[1] ??
  text.match(new RegExp(`${what}Endpoint = joinURIAndPath\\(baseURL, "([^"]+)"\\)`))?.[1]?.replace(/^/, "https://${baseURL}");
const folder = join(modules, "arctic/dist/providers");
const arctic = readdirSync(folder)
  .filter((name) => name.endsWith(".js"))
  .map((name) => [name.slice(0, -3), readFileSync(join(folder, name), "utf8")])
  .map(([name, text]) => [name, named(text, "authorization"), named(text, "token")]);

const address = (said) => (typeof said === "string" ? said : said?.url);
const authjs = [];
const providers = join(modules, "@auth/core/providers");
for (const name of readdirSync(providers).filter((name) => name.endsWith(".js"))) {
  try {
    const { default: provider } = await import(join(providers, name));
    const said = provider({ clientId: "id", clientSecret: "secret", issuer: "https://*", enterprise: {}, accountID: "*" });
    if (said.type === "oauth") authjs.push([name.slice(0, -3), address(said.authorization), address(said.token)]);
  } catch {
    // not of OAuth, or it needs a package that is not there
  }
}

const whole = (said) => said.filter(([, authorize, token]) => authorize && token);
console.log(JSON.stringify({ grant: whole(grant), arctic: whole(arctic), "@auth/core": whole(authjs) }));
