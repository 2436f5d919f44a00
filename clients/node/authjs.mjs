// Signing in with Auth.js (npm @auth/core 0.41.3), its provider configured by hand: no discovery, and an
// issuer that is no more than a guess.
//
// Nothing of the library is patched. Environment: BASE_URL, AUTH_URL, CLIENT_ID and CLIENT_SECRET of an app
// with full permissions whose redirect URL is CALLBACK, EMAIL and PASSWORD; the library is looked for in the
// folder CLIENTS/node.
import assert from 'node:assert/strict';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { Browser } from './browser.mjs';

const { BASE_URL, AUTH_URL, CLIENT_ID, CLIENT_SECRET, CALLBACK, EMAIL, PASSWORD, CLIENTS } = process.env;
const file = path.resolve(CLIENTS, 'node/node_modules/@auth/core/index.js');
const { Auth } = await import(pathToFileURL(file));
const APP = new URL(CALLBACK).origin;

/** An app of Auth.js, and a browser's cookies at it. */
class App {
  constructor(provider) {
    this.cookies = new Map();
    this.config = {
      basePath: '/auth',
      trustHost: true,
      secret: 'a secret of the app and of nobody else',
      callbacks: {
        jwt: ({ token, account }) => {
          if (account) this.account = account;
          return token;
        },
      },
      logger: {
        error: (error) => { this.error = error; },
        warn: () => {},
        debug: (name, details) => { if (name === 'OAuthCallbackError') this.refusal = details; },
      },
      providers: [
        {
          id: 'workgraph',
          name: 'Workgraph',
          type: 'oauth',
          clientId: CLIENT_ID,
          clientSecret: CLIENT_SECRET,
          checks: ['pkce', 'state'],
          authorization: { url: `${AUTH_URL}/-/oauth_authorize`, params: { scope: 'default' } },
          token: `${AUTH_URL}/-/oauth_token`,
          userinfo: `${BASE_URL}/users/me`,
          profile: ({ data }) => ({ id: data.gid, name: data.name, email: data.email }),
          ...provider,
        },
      ],
    };
  }

  async send(url, body) {
    const jar = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const request = new Request(new URL(url, APP), {
      method: body ? 'POST' : 'GET',
      body: body && new URLSearchParams(body),
      headers: { cookie: jar },
    });
    const reply = await Auth(request, this.config);
    for (const line of reply.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line);
      this.cookies.set(name, value);
    }
    return reply;
  }

  /** Signs in, and returns where the browser ends up at the app. */
  async signIn(browser, decision) {
    const { csrfToken } = await (await this.send('/auth/csrf')).json();
    const start = await this.send('/auth/signin/workgraph', { csrfToken, callbackUrl: `${APP}/done` });
    const asks = start.headers.get('location');
    assert.ok(asks.startsWith(`${AUTH_URL}/-/oauth_authorize?`), asks);
    const back = await browser.authorize(asks, decision);
    assert.ok(back.href.startsWith(`${CALLBACK}?`), back.href);
    return (await this.send(back)).headers.get('location');
  }

  async session() {
    return (await this.send('/auth/session')).json();
  }
}

const profile = async (token) => {
  const reply = await fetch(`${BASE_URL}/users/me`, { headers: { authorization: `Bearer ${token}` } });
  assert.equal(reply.status, 200, await reply.clone().text());
  return (await reply.json()).data;
};

for (const method of ['client_secret_basic', 'client_secret_post']) {
  for (const issuer of [undefined, AUTH_URL, 'https://elsewhere.example']) {
    const app = new App({ issuer, client: { token_endpoint_auth_method: method } });
    const browser = new Browser(AUTH_URL, EMAIL, PASSWORD);
    assert.equal(await app.signIn(browser), `${APP}/done`, String(app.error?.cause?.err ?? app.error));
    const { user } = await app.session();
    assert.equal(user.email, EMAIL);
    assert.equal((await profile(app.account.access_token)).gid, app.account.providerAccountId);
    const form = new URLSearchParams({
      grant_type: 'refresh_token',
      refresh_token: app.account.refresh_token,
      client_id: CLIENT_ID,
      client_secret: CLIENT_SECRET,
    });
    const refreshed = await (await fetch(`${AUTH_URL}/-/oauth_token`, { method: 'POST', body: form })).json();
    assert.equal((await profile(refreshed.access_token)).email, EMAIL);
    console.log(`ok: a whole sign-in by ${method} with the issuer ${issuer}`);
  }
}

const denied = new App({});
const page = new URL(await denied.signIn(new Browser(AUTH_URL, EMAIL, PASSWORD), 'deny'));
assert.ok(page.searchParams.get('error'), page.href);
assert.equal(denied.refusal.error, 'access_denied');
assert.equal(await denied.session(), null);
console.log('ok: a no reaches the app as access_denied');

const wrong = new App({ clientSecret: 'wrong', client: { token_endpoint_auth_method: 'client_secret_post' } });
const failed = new URL(await wrong.signIn(new Browser(AUTH_URL, EMAIL, PASSWORD)));
assert.ok(failed.searchParams.get('error'), failed.href);
assert.equal(await wrong.session(), null);
console.log('ok: a wrong secret signs nobody in');
console.log('all steps passed');
