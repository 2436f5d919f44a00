// Signing in with openid-client (npm openid-client 6.8.9): with metadata given in code, and by discovery.
//
// Nothing of the library is patched. Environment: BASE_URL, AUTH_URL, CLIENT_ID and CLIENT_SECRET of an app
// with full permissions, SCOPED_CLIENT_ID and SCOPED_CLIENT_SECRET of one with scopes, both with the redirect
// URL REDIRECT_URI, EMAIL and PASSWORD; the library is looked for in the folder CLIENTS/node.
import assert from 'node:assert/strict';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { Browser } from './browser.mjs';

const { BASE_URL, AUTH_URL, CLIENT_ID, CLIENT_SECRET, SCOPED_CLIENT_ID, SCOPED_CLIENT_SECRET, REDIRECT_URI, EMAIL,
  PASSWORD, CLIENTS } = process.env;
const file = path.resolve(CLIENTS, 'node/node_modules/openid-client/build/index.js');
const client = await import(pathToFileURL(file));
const insecure = { execute: [client.allowInsecureRequests] };

/** Metadata as somebody writes it down who has read where the endpoints are. */
const written = (issuer) => ({
  issuer,
  authorization_endpoint: `${AUTH_URL}/-/oauth_authorize`,
  token_endpoint: `${AUTH_URL}/-/oauth_token`,
  revocation_endpoint: `${AUTH_URL}/-/oauth_revoke`,
  introspection_endpoint: `${AUTH_URL}/-/token_info`,
  userinfo_endpoint: `${BASE_URL}/openid_connect/userinfo`,
});

function byHand(issuer, id, authentication) {
  const config = new client.Configuration(written(issuer), id, {}, authentication);
  client.allowInsecureRequests(config);
  return config;
}

/** The browser's part: the address it is sent back to, and what must be checked there. */
async function ask(config, scope, decision) {
  const verifier = client.randomPKCECodeVerifier();
  const checks = { pkceCodeVerifier: verifier, expectedState: client.randomState() };
  const parameters = {
    redirect_uri: REDIRECT_URI,
    scope,
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state: checks.expectedState,
  };
  if (scope.split(' ').includes('openid')) {
    checks.expectedNonce = client.randomNonce();
    checks.idTokenExpected = true;
    parameters.nonce = checks.expectedNonce;
  }
  const url = client.buildAuthorizationUrl(config, parameters);
  const back = await new Browser(AUTH_URL, EMAIL, PASSWORD).authorize(url, decision);
  return { back, checks };
}

/** A whole sign-in: code, tokens, user info, a refresh, a call, introspection and revocation. */
async function signIn(config, scope) {
  const { back, checks } = await ask(config, scope);
  const tokens = await client.authorizationCodeGrant(config, back, checks);
  const subject = tokens.claims()?.sub ?? tokens.data.gid;
  if (scope.includes('openid') || scope === 'default') {
    const person = await client.fetchUserInfo(config, tokens.access_token, subject);
    assert.equal(person.email, EMAIL);
  }
  const refreshed = await client.refreshTokenGrant(config, tokens.refresh_token);
  for (const token of [tokens.access_token, refreshed.access_token]) {
    const reply = await client.fetchProtectedResource(config, token, new URL(`${BASE_URL}/users/me`), 'GET');
    assert.equal((await reply.json()).data.gid, subject);
  }
  assert.equal((await client.tokenIntrospection(config, refreshed.access_token)).active, true);
  await client.tokenRevocation(config, tokens.refresh_token);
  assert.equal((await client.tokenIntrospection(config, refreshed.access_token)).active, false);
  return tokens;
}

const rejected = (promise) => promise.then(() => assert.fail('it succeeded'), (error) => error);

// Who asks for openid must know the issuer, which is in id_tokens; who does not may guess.
for (const issuer of [AUTH_URL, BASE_URL, 'https://elsewhere.example']) {
  const scope = `users:read tasks:read${issuer === BASE_URL ? ' openid email' : ''}`;
  for (const way of [client.ClientSecretPost, client.ClientSecretBasic]) {
    await signIn(byHand(issuer, CLIENT_ID, way(CLIENT_SECRET)), 'default');
    await signIn(byHand(issuer, SCOPED_CLIENT_ID, way(SCOPED_CLIENT_SECRET)), scope);
  }
  console.log(`ok: metadata in code, with the issuer ${issuer}`);
}

const scopes = 'openid email profile tasks:read users:read';
for (const way of [client.ClientSecretPost, client.ClientSecretBasic]) {
  const secret = way(SCOPED_CLIENT_SECRET);
  const config = await client.discovery(new URL(BASE_URL), SCOPED_CLIENT_ID, {}, secret, insecure);
  client.enableNonRepudiationChecks(config);
  const tokens = await signIn(config, scopes);
  const claims = tokens.claims();
  assert.equal(claims.iss, BASE_URL);
  assert.equal(claims.email, EMAIL);
}
console.log('ok: by discovery, with verified id_tokens');

const post = byHand(AUTH_URL, CLIENT_ID, client.ClientSecretPost('wrong'));
const { back, checks } = await ask(post, 'default');
const error = await rejected(client.authorizationCodeGrant(post, back, checks));
assert.ok(error instanceof client.ResponseBodyError, String(error));
assert.deepEqual([error.error, error.status], ['invalid_client', 401]);
assert.ok(error.error_description);
const basic = byHand(AUTH_URL, CLIENT_ID, client.ClientSecretBasic('wrong'));
const challenged = await rejected(client.authorizationCodeGrant(basic, back, checks));
assert.ok(challenged instanceof client.WWWAuthenticateChallengeError, String(challenged));
assert.equal(challenged.cause[0].scheme, 'basic');
console.log('ok: a wrong secret is invalid_client, and a challenge only to who sent it in the header');

const config = byHand(AUTH_URL, CLIENT_ID, client.ClientSecretPost(CLIENT_SECRET));
const no = await ask(config, 'default', 'deny');
const denied = await rejected(client.authorizationCodeGrant(config, no.back, no.checks));
assert.ok(denied instanceof client.AuthorizationResponseError, String(denied));
assert.equal(denied.error, 'access_denied');
console.log('ok: a no is access_denied');
console.log('all steps passed');
