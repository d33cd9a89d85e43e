// Two grants that the library does not have: an identity provider issues an ID-JAG for its own ID or refresh token
// (RFC 8693), and an authorization server takes one for an access token (RFC 7523).
//
// `managed` of an identity provider: {resource: {audience, client_id, scopes?, subjects?}}: what its organisation
// allows to whom; by default to everybody. `trusts` of an authorization server: the issuer whose word it takes.

import { randomUUID } from 'node:crypto';
import { SignJWT, createLocalJWKSet, createRemoteJWKSet, importJWK, jwtVerify } from 'jose';
import { errors } from 'oidc-provider';

const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const ID_JAG = 'urn:ietf:params:oauth:token-type:id-jag';
const TYPE = 'oauth-id-jag+jwt';

async function personOf(provider, config, keys, { subject_token: token, subject_token_type: type }, client) {
  if (type.endsWith(':refresh_token')) {
    const found = await provider.RefreshToken.find(token);
    if (found?.clientId !== client.clientId) throw new errors.InvalidRequest('not a refresh token of this client');
    return found.accountId;
  }
  const known = createLocalJWKSet({ keys: keys.current.map(({ kty, n, e, kid, alg }) => ({ kty, n, e, kid, alg })) });
  const expected = { issuer: config.issuer, audience: client.clientId };
  const { payload } = await jwtVerify(token, known, expected).catch(() => {
    throw new errors.InvalidRequest('not an ID token of this client');
  });
  return payload.sub;
}

export function register(provider, config, keys, getResourceServerInfo) {
  const used = new Set();

  async function exchange(ctx) {
    const { client, params } = ctx.oidc;
    const sub = await personOf(provider, config, keys, params, client);
    const policy = config.managed[params.resource];
    if (params.requested_token_type !== ID_JAG || !policy || policy.audience !== params.audience) {
      throw new errors.InvalidTarget();
    }
    if (policy.subjects && !policy.subjects.includes(sub)) throw new errors.AccessDenied('the organisation says no');
    const asked = (params.scope ?? '').split(' ').filter(Boolean);
    const scope = asked.filter((one) => !policy.scopes || policy.scopes.includes(one)).join(' ');
    const claims = { sub, client_id: policy.client_id, resource: params.resource, scope, ...policy.claims };
    const [key] = keys.current;
    const assertion = await new SignJWT(claims)
      .setProtectedHeader({ alg: key.alg, kid: key.kid, typ: TYPE })
      .setIssuer(config.issuer)
      .setAudience(policy.claims?.aud ?? params.audience)
      .setIssuedAt()
      .setExpirationTime('5m')
      .setJti(randomUUID())
      .sign(await importJWK(key, key.alg));
    ctx.body = { access_token: assertion, issued_token_type: ID_JAG, token_type: 'N_A', scope, expires_in: 300 };
  }

  async function redeem(ctx) {
    const { client, params } = ctx.oidc;
    const theirs = createRemoteJWKSet(new URL(`${config.trusts}/jwks`));
    const expected = { issuer: config.trusts, audience: config.issuer, typ: TYPE };
    const { payload } = await jwtVerify(params.assertion, theirs, expected).catch(() => {
      throw new errors.InvalidGrant('not an assertion for this server');
    });
    const fits = payload.client_id === client.clientId && config.resources.includes(payload.resource);
    if (!fits || params.resource !== payload.resource || used.has(payload.jti)) {
      throw new errors.InvalidGrant('the assertion is for another client or resource, or was used');
    }
    used.add(payload.jti);
    const allowed = (payload.scope ?? '').split(' ');
    const scope = (params.scope ?? '').split(' ').filter((one) => one && allowed.includes(one)).join(' ');
    const grant = new provider.Grant({ clientId: client.clientId, accountId: payload.sub });
    grant.addResourceScope(payload.resource, scope);
    const token = new provider.AccessToken({
      accountId: payload.sub, client, grantId: await grant.save(), gty: 'jwt_bearer', scope,
    });
    token.resourceServer = new provider.ResourceServer(payload.resource, getResourceServerInfo(ctx, payload.resource));
    token.scope = scope;
    const value = await token.save();
    ctx.body = { access_token: value, token_type: 'Bearer', expires_in: token.expiration, scope };
  }

  const shown = ['subject_token', 'subject_token_type', 'requested_token_type', 'audience', 'resource', 'scope'];
  provider.registerGrantType(EXCHANGE, exchange, shown);
  provider.registerGrantType(BEARER, redeem, ['assertion', 'resource', 'scope']);
}
