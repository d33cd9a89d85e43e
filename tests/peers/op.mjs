// An OpenID or OAuth provider for the tests: the certified library does the protocol, only the two pages are ours.
//
// Configuration: JSON in OP_CONFIG (or the first argument); every field has a default, see `defaults`. Prints one line
// {"issuer": "..."} when ready and ends when its standard input ends, so that it never outlives who started it.

import { createServer } from 'node:http';
import { Provider, errors, interactionPolicy } from 'oidc-provider';
import { Control } from './control.mjs';
import { SigningKeys } from './keys.mjs';
import * as managed from './managed.mjs';
import * as pages from './pages.mjs';
import { Store } from './store.mjs';

const defaults = {
  name: 'corp', // names the cookies too: cookies do not tell ports apart
  role: 'identity', // or "oauth": consent asked every time, refresh tokens issued
  host: '127.0.0.1',
  port: 0,
  clients: [],
  accounts: [
    { sub: 'alice', name: 'Alice', email: 'alice@example.com' },
    { sub: 'bob', name: 'Bob', email: 'bob@example.com' },
  ],
  scopes: [], // beside openid
  thin_id_tokens: false, // name and address only at its userinfo endpoint, for the scopes profile and email
  pkce: true, // required of every client
  rotate_refresh_tokens: true,
  revocation: true,
  introspection: true,
  access_token_ttl: 3600, // seconds
  par: false, // pushed authorization requests are offered
  dpop_nonce: false, // every proof needs a nonce of ours
  resources: [], // what access tokens can be asked for
  jwt_access_tokens: false, // such tokens, as JWTs (RFC 9068)
  device_interval: 1, // seconds between two polls of one device code
  registration: false, // clients may register themselves, or name a document that says who they are
  managed: {}, // what its organisation allows, and
  trusts: '', // whose word it takes: managed.mjs
  documents: {}, // address -> what stands there, for such clients
};

const config = { ...defaults, ...JSON.parse(process.env.OP_CONFIG ?? process.argv[2] ?? '{}') };
const asksConsent = config.role === 'oauth';
const store = new Store();
const keys = new SigningKeys();

function policy() {
  const { base, Check, Prompt } = interactionPolicy;
  const prompts = base();
  prompts.add(new Prompt({ name: 'select_account', requestable: true }), 0);
  if (asksConsent) {
    const always = new Check('every_time', 'consent is asked every time', (ctx) => !ctx.oidc.result?.consent);
    prompts.get('consent').checks.add(always);
  }
  return prompts;
}

function findAccount(_, sub) {
  const account = config.accounts.find((one) => one.sub === sub);
  return account && { accountId: sub, claims: () => account };
}

// An identity provider's own applications are not asked about: the grant is there before anybody looks for it.
async function loadExistingGrant(ctx) {
  const { client, session, provider, result } = ctx.oidc;
  const known = result?.consent?.grantId ?? session.grantIdFor(client.clientId);
  if (known) return provider.Grant.find(known);
  if (asksConsent) return undefined;
  const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId });
  grant.addOIDCScope(['openid', ...config.scopes].join(' '));
  await grant.save();
  return grant;
}

function getResourceServerInfo(_, resource) {
  if (!config.resources.includes(resource)) throw new errors.InvalidTarget();
  const accessTokenFormat = config.jwt_access_tokens ? 'jwt' : 'opaque';
  return { scope: config.scopes.join(' '), audience: resource, accessTokenFormat };
}

function setup() {
  return {
    adapter: store.adapter(),
    jwks: keys.private(),
    clients: config.clients,
    findAccount,
    loadExistingGrant,
    scopes: ['openid', 'offline_access', ...config.scopes],
    claims: config.thin_id_tokens
      ? { openid: ['sub'], profile: ['name'], email: ['email', 'email_verified'] }
      : { openid: ['sub', 'name', 'email'] },
    conformIdTokenClaims: true,
    clientDefaults: { grant_types: ['authorization_code', 'refresh_token'] },
    cookies: {
      keys: [keys.cookieSecret],
      names: {
        session: `${config.name}_session`,
        interaction: `${config.name}_interaction`,
        resume: `${config.name}_resume`,
      },
    },
    features: {
      devInteractions: { enabled: false },
      introspection: { enabled: config.introspection, allowedPolicy: (_, client, token) => token.clientId === client.clientId },
      revocation: { enabled: config.revocation, allowedPolicy: (_, client, token) => token.clientId === client.clientId },
      dPoP: { enabled: true, nonceSecret: keys.nonceSecret, requireNonce: () => config.dpop_nonce },
      pushedAuthorizationRequests: { enabled: config.par },
      resourceIndicators: { enabled: true, defaultResource: () => undefined, getResourceServerInfo },
      registration: { enabled: config.registration },
      deviceFlow: {
        enabled: true,
        mask: '****-****',
        userCodeInputSource: (ctx, form) => { ctx.body = pages.enterCode(config.name, form); },
        userCodeConfirmSource: (ctx, form, client, _, code) => { ctx.body = pages.confirmCode(form, client.clientId, code); },
        successSource: (ctx) => { ctx.body = pages.codeEntered(); },
      },
      clientIdMetadataDocument: { enabled: config.registration, ack: 'draft-02', allowFetch: () => true },
      clientCredentials: { enabled: true }, // for clients that are registered with that grant type
      rpInitiatedLogout: { enabled: false },
    },
    interactions: { policy: policy(), url: (_, interaction) => `/interaction/${interaction.uid}` },
    issueRefreshToken: (_, client) => asksConsent && client.grantTypeAllowed('refresh_token'),
    fetch: async (url) => Response.json(config.documents[url] ?? {}, { status: config.documents[url] ? 200 : 404 }),
    expiresWithSession: () => false,
    pkce: { required: () => config.pkce },
    rotateRefreshToken: () => config.rotate_refresh_tokens,
    clientBasedCORS: () => false,
    renderError: (ctx, out) => {
      ctx.type = 'html';
      ctx.body = pages.problem(out.error, out.error_description ?? '');
    },
    ttl: {
      AccessToken: () => config.access_token_ttl,
      AuthorizationCode: 60,
      ClientCredentials: () => config.access_token_ttl,
      Grant: 86400,
      IdToken: 3600,
      Interaction: 3600,
      RefreshToken: 86400,
      Session: 86400,
    },
  };
}

let provider;
let callback;

function build() {
  provider = new Provider(config.issuer, setup());
  control.listen(provider);
  managed.register(provider, config, keys, getResourceServerInfo);
  provider.use(async (ctx, next) => {
    await next();
    if (ctx.oidc?.route === 'device_authorization' && ctx.body?.device_code) ctx.body.interval = config.device_interval;
  });
  callback = provider.callback();
}

async function body(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

async function showInteraction(request, response) {
  const { uid, prompt, params, session } = await provider.interactionDetails(request, response);
  const client = (await provider.Client.find(params.client_id)).clientName ?? params.client_id;
  const html =
    prompt.name === 'consent'
      ? pages.consent(config.name, uid, { client, account: session.accountId, scopes: params.scope?.split(' ') ?? [] })
      : pages.login(config.name, uid, config.accounts);
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' }).end(html);
}

// Another account was chosen: the former one is signed out here, where the library would show a page that needs scripts.
async function forgetOtherAccount(interaction, login) {
  if (!interaction.session || interaction.session.accountId === login) return;
  await (await provider.Session.findByUid(interaction.session.uid))?.destroy();
  delete interaction.session;
  await interaction.save(interaction.exp - Math.floor(Date.now() / 1000));
}

async function finishInteraction(request, response) {
  const interaction = await provider.interactionDetails(request, response);
  const { params, session } = interaction;
  const form = new URLSearchParams(await body(request));
  const finish = (result, options) => provider.interactionFinished(request, response, result, options);
  if (form.has('login')) {
    await forgetOtherAccount(interaction, form.get('login'));
    return finish({ login: { accountId: form.get('login') }, select_account: {} }, { mergeWithLastSubmission: false });
  }
  if (form.get('consent') !== 'allow') {
    return finish({ error: 'access_denied', error_description: 'The person said no' }, { mergeWithLastSubmission: false });
  }
  const grant = new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
  grant.addOIDCScope(params.scope ?? '');
  for (const resource of [params.resource ?? []].flat()) grant.addResourceScope(resource, params.scope);
  return finish({ consent: { grantId: await grant.save() } });
}

// A resource of its own: what an access token is good for.
async function whoami(request, response) {
  const value = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1];
  const token = value && (await provider.AccessToken.find(value));
  const { sub, name } = config.accounts.find((one) => one.sub === token?.accountId) ?? {};
  const status = sub ? 200 : 401;
  const answer = sub ? { sub, name, scope: token.scope } : { error: 'invalid_token' };
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
}

async function route(request, response) {
  const { pathname } = new URL(request.url, config.issuer);
  if (pathname.startsWith('/_control/')) return control.answer(pathname, response, await body(request));
  if (await control.disturb(pathname, response)) return undefined;
  if (pathname === '/api/whoami') return whoami(request, response);
  if (!pathname.startsWith('/interaction/')) return callback(request, response);
  return request.method === 'POST' ? finishInteraction(request, response) : showInteraction(request, response);
}

const control = new Control({ config, store, keys, rebuild: build });
const server = createServer((request, response) => {
  route(request, response).catch((error) => {
    const html = pages.problem(error.name, error.error_description ?? error.message);
    if (response.headersSent) response.destroy();
    else response.writeHead(error.status ?? 500, { 'content-type': 'text/html; charset=utf-8' }).end(html);
  });
});
server.listen(config.port, config.host, () => {
  config.issuer ??= `http://${config.host}:${server.address().port}`;
  build();
  process.stdout.write(`${JSON.stringify({ issuer: config.issuer })}\n`);
});
process.stdin.on('end', () => process.exit(0)).resume();
