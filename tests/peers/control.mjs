// What a test may ask of the provider from outside: counts, faults, new keys, new clients, a clean slate.
//
//   GET  /_control/counts      calls by endpoint, and by grant type as "token.<grant_type>"
//   GET  /_control/issued      every code and token there ever was, and whether it still works
//   POST /_control/accounts    {sub, name, email?}
//   POST /_control/age         {seconds}: sign-ins look that much older
//   POST /_control/clients     client metadata as in RFC 7591
//   POST /_control/documents   {address: document}: what clients of such an address say about themselves
//   POST /_control/faults      {endpoint: {status?, times?, delay_ms?, drop?}}: before the library sees the call
//   GET  /_control/registered  the clients that registered themselves, or were added
//   POST /_control/reset       counts and faults forgotten, settings as at the start, everybody signed out
//   POST /_control/rotate      {keep_old?, same_kid?}: new signing keys
//   POST /_control/settings    any of those that are changeable, below

import { setTimeout as sleep } from 'node:timers/promises';

const endpoints = {
  '/auth': 'authorization',
  '/token': 'token',
  '/me': 'userinfo',
  '/jwks': 'jwks',
  '/request': 'par',
  '/device/auth': 'device',
  '/reg': 'registration',
  '/token/revocation': 'revocation',
  '/token/introspection': 'introspection',
  '/.well-known/openid-configuration': 'discovery',
  '/.well-known/oauth-authorization-server': 'discovery',
  '/api/whoami': 'whoami',
};
const credentials = {
  authorization_code: 'AuthorizationCode',
  access_token: 'AccessToken',
  refresh_token: 'RefreshToken',
  client_credentials: 'ClientCredentials',
};
const changeable = ['access_token_ttl', 'rotate_refresh_tokens', 'pkce', 'dpop_nonce', 'resources', 'jwt_access_tokens', 'managed', 'trusts'];

export class Control {
  counts = {};
  faults = {};
  issued = new Map(); // value -> {kind, sub, scope, aud, jkt}

  constructor({ config, store, keys, rebuild }) {
    Object.assign(this, { config, store, keys, rebuild });
    this.atStart = Object.fromEntries(changeable.map((name) => [name, config[name]]));
  }

  count(name) {
    this.counts[name] = (this.counts[name] ?? 0) + 1;
  }

  listen(provider) {
    const byGrant = (ctx) => this.count(`token.${ctx.oidc.params?.grant_type ?? 'unknown'}`);
    provider.on('grant.success', byGrant);
    provider.on('grant.error', byGrant);
    provider.on('server_error', (_, error) => process.stderr.write(`${error.stack}\n`));
    for (const kind of Object.keys(credentials)) {
      provider.on(`${kind}.saved`, ({ jti, accountId, scope, aud, jkt }) =>
        this.issued.set(jti, { kind, sub: accountId, scope, aud, jkt }),
      );
    }
  }

  // Counts the call and plays the fault asked for, if any. True when the call is answered (or cut off) by that.
  async disturb(pathname, response) {
    const name = endpoints[pathname] ?? (pathname.startsWith('/auth/') ? 'resume' : 'page');
    this.count(name);
    const fault = this.faults[name];
    if (!fault || fault.times === 0) return false;
    if (fault.times) fault.times -= 1;
    if (fault.delay_ms) await sleep(fault.delay_ms);
    if (fault.drop) response.destroy();
    else if (fault.status) response.writeHead(fault.status, { 'content-type': 'text/plain' }).end('out of order\n');
    return Boolean(fault.drop || fault.status);
  }

  listIssued() {
    return [...this.issued].map(([value, about]) => {
      const kept = this.store.get(`${credentials[about.kind]}:${value}`);
      return { value, ...about, active: Boolean(kept && !kept.consumed) };
    });
  }

  reset() {
    this.counts = {};
    this.faults = {};
    Object.assign(this.config, this.atStart);
    this.store.remove((model) => model === 'Session' || model === 'Interaction');
  }

  calls = {
    counts: () => this.counts,
    issued: () => this.listIssued(),
    accounts: (account) => {
      this.config.accounts.push(account);
    },
    age: ({ seconds }) => this.store.age(seconds),
    clients: (client) => {
      this.store.entries.set(`Client:${client.client_id}`, { payload: client, until: Infinity });
    },
    documents: (documents) => Object.assign(this.config.documents, documents),
    faults: (faults) => Object.assign(this.faults, faults),
    registered: () => this.store.all('Client'),
    reset: () => this.reset(),
    rotate: (how) => {
      const kids = this.keys.rotate(how);
      this.rebuild();
      return kids;
    },
    settings: (values) => {
      for (const name of changeable) if (name in values) this.config[name] = values[name];
    },
  };

  answer(pathname, response, body) {
    const call = this.calls[pathname.slice('/_control/'.length)];
    const result = call?.(body ? JSON.parse(body) : {}) ?? {};
    response.writeHead(call ? 200 : 404, { 'content-type': 'application/json' }).end(JSON.stringify(result));
  }
}
