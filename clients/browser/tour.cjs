// A tour through every page of a running server with a headless Chromium, first with script and the
// mouse, then without script and with the keyboard alone.
//
// Environment: BASE (the server's origin), USER_EMAIL and USER_PASSWORD of somebody who administers a
// workspace, FREE_WORKSPACE that they are not in and FREE_TOKEN of somebody who is, AXE (the folder that axe-core is installed in),
// NODES (how many processes the server is); SHOTS to have pictures land there, and
// SECRETS to have all secrets that were issued written to that file, one a line.
"use strict";
const assert = require("node:assert/strict");
const crypto = require("node:crypto");
const fs = require("node:fs");
const http = require("node:http");
const path = require("node:path");
const { Chromium, LOOKS } = require("./chromium.cjs");

const { BASE, USER_EMAIL, USER_PASSWORD, FREE_TOKEN, FREE_WORKSPACE, AXE, SHOTS, NODES } = process.env;
const axe = fs.readFileSync(path.join(AXE, "node_modules/axe-core/axe.min.js"), "utf8");
const OOB = "urn:ietf:wg:oauth:2.0:oob";
const SCOPES = ["tasks:read", "users:read", "openid"];
// All that was issued: none of it may be found in the server's files.
const secrets = new Set([USER_PASSWORD]);
let steps = 0;
let audited = 0;

// The app at the other end: it only notes what it is sent.
function callback() {
  const seen = [];
  const server = http.createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url, "http://app");
    let body = "";
    request.on("data", (data) => { body += data; });
    request.on("end", () => {
      const sent = request.method === "POST" ? new URLSearchParams(body) : searchParams;
      if (pathname === "/callback") seen.push(sent);
      response.setHeader("content-type", "text/html; charset=utf-8");
      response.end("<!doctype html><html lang=en><title>The app</title><main><h1>The app</h1></main></html>");
    });
  });
  return new Promise((done) => server.listen(0, "127.0.0.1", () => {
    done({ url: `http://127.0.0.1:${server.address().port}/callback`, seen, close: () => server.close() });
  }));
}

async function post(where, fields) {
  const response = await fetch(BASE + where, { method: "POST", body: new URLSearchParams(fields) });
  return { status: response.status, body: await response.json() };
}

async function api(token, where = "/users/me") {
  const response = await fetch(`${BASE}/api/1.0${where}`, { headers: { authorization: `Bearer ${token}` } });
  await response.arrayBuffer();
  return response.status;
}

async function invite(user) {
  const response = await fetch(`${BASE}/api/1.0/workspaces/${FREE_WORKSPACE}/addUser`, {
    method: "POST",
    headers: { authorization: `Bearer ${FREE_TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify({ data: { user } }),
  });
  assert.equal(response.status, 200, await response.text());
}

class Tour {
  constructor(page, app, scripted) {
    Object.assign(this, { page, app, scripted });
  }

  step(name) {
    steps += 1;
    if (process.env.VERBOSE) console.log(`${this.scripted ? "script" : "bare"}: ${name}`);
  }

  // What holds for the page that is shown: it has its headers, it complains of nothing, axe-core finds
  // nothing in it. A picture lands under this name.
  async audit(name, looks = []) {
    const { page } = this;
    assert.deepEqual(page.complaints, [], name);
    for (const document of page.documents.splice(0)) {
      const { headers, url } = document;
      if (!url.startsWith(BASE)) continue;
      const header = (wanted) => Object.entries(headers).find(([n]) => n.toLowerCase() === wanted)?.[1] ?? "";
      assert.equal(header("referrer-policy"), "no-referrer", url);
      assert.match(header("cache-control"), /no-store/, url);
      if (header("location")) assert.equal(document.status, 303, url);
      if (!header("content-type").startsWith("text/html")) continue;
      assert.equal(header("x-frame-options"), "DENY", url);
      const policy = header("content-security-policy");
      assert.ok(policy.includes("default-src 'none'") && policy.includes("frame-ancestors 'none'"), `${url}: ${policy}`);
      assert.ok(!/unsafe|script-src/.test(policy), `${url}: ${policy}`);
    }
    if (!this.scripted) return;
    assert.deepEqual(await page.axe(axe), [], name);
    audited += 1;
    if (!SHOTS) return;
    await page.picture(path.join(SHOTS, `${name}.png`), 1400);
    for (const look of looks) {
      await page.look(LOOKS[look]);
      await page.picture(path.join(SHOTS, `${name}-${look}.png`), 1400);
    }
    await page.look({});
  }

  async open(where) {
    await this.page.goto(where.startsWith("http") ? where : BASE + where);
  }

  async says(pattern, selector = "main") {
    assert.match(await this.page.text(selector), pattern, await this.page.url());
  }

  async at(where) {
    const url = new URL(await this.page.url());
    assert.equal(url.origin + url.pathname, BASE + where);
  }

  async signIn() {
    const { page } = this;
    this.step("a page of the console leads to signing in");
    await this.open("/-/connected_apps");
    await this.says(/Sign in/);
    await this.audit("sign-in", ["dark", "phone"]);
    this.step("a wrong password is told at the field");
    await page.type("#email", USER_EMAIL);
    await page.type("#password", "not the password");
    await page.go("main button");
    await this.says(/Please check what you entered/);
    await this.audit("sign-in-again");
    this.step("the right one leads back to where one was going");
    const before = (await this.cookies()).map((cookie) => cookie.value);
    await page.type("#email", USER_EMAIL);
    await page.type("#password", USER_PASSWORD);
    await page.go("main button");
    await this.at("/-/connected_apps");
    await this.says(/Connected apps/);
    const session = (await this.cookies()).filter((cookie) => !before.includes(cookie.value));
    assert.ok(session.length > 0, "signing in gave no new cookie");
    for (const cookie of session) secrets.add(cookie.value);
    for (const cookie of session) assert.ok(cookie.httpOnly && cookie.sameSite === "Lax" && cookie.path === "/", JSON.stringify({ ...cookie, value: "" }));
    await this.audit("connected-apps-none");
  }

  async cookies() {
    return (await this.page.send("Network.getCookies", { urls: [BASE] })).cookies;
  }

  // Registers an app; returns its id and secret.
  async register(name, redirect, scopes, shot) {
    const { page } = this;
    await this.open("/-/console/apps/new");
    if (shot) {
      this.step("an app without a fitting redirect URL comes back marked");
      await page.type("#name", name);
      await page.type("#redirects", "http://planner.example/callback");
      await page.go("main form button[type=submit]");
      await this.says(/must start with https/);
      assert.equal(await page.attribute("#redirects", "aria-invalid"), "true");
      assert.equal(await page.attribute("#name", "value"), name);
      await this.audit("app-new-again");
      await this.open("/-/console/apps/new");
    }
    await page.type("#name", name);
    await page.type("#redirects", redirect);
    for (const scope of scopes) await page.press(`input[type=checkbox][value="${scope}"]`);
    if (!(await page.find("#distribution input[checked]"))) await page.press("#distribution input[type=checkbox]");
    if (shot) await this.audit("app-new", ["phone"]);
    await page.go("main form button[type=submit]");
    return this.secret(shot);
  }

  // The secret that is shown now, and never again.
  async secret(shot) {
    const { page } = this;
    const secret = await page.text("#secret");
    secrets.add(secret);
    if (shot) await this.audit(shot);
    const id = (await page.find("main dd")) ? await page.text("main dd") : null;
    await page.reload();
    const after = await page.html("main");
    assert.ok(!after.includes(secret), "a secret was shown twice");
    await this.says(/shown already/);
    return { id, secret };
  }

  authorizeUrl(client, redirect, scopes) {
    const verifier = crypto.randomBytes(32).toString("base64url");
    const state = crypto.randomBytes(12).toString("base64url");
    const query = new URLSearchParams({
      client_id: client, redirect_uri: redirect, response_type: "code", state, scope: scopes.join(" "),
      code_challenge: crypto.createHash("sha256").update(verifier).digest("base64url"), code_challenge_method: "S256",
    });
    return { url: `/-/oauth_authorize?${query}`, state, verifier };
  }

  async authorize(name, client) {
    const { page, app } = this;
    const asked = SCOPES.filter((scope) => scope !== "users:read");
    this.step("denying goes back with access_denied");
    const denied = this.authorizeUrl(client.id, app.url, asked);
    await this.open(denied.url);
    await this.says(new RegExp(`${name} asks for access`));
    await this.says(/See tasks/);
    await this.says(/127\.0\.0\.1/);
    await this.audit("consent", ["dark", "phone"]);
    await page.go('button[value="deny"]');
    assert.equal(app.seen.at(-1).get("error"), "access_denied");
    assert.equal(app.seen.at(-1).get("state"), denied.state);
    this.step("allowing goes back with a code that buys tokens");
    const first = await this.allow(client, asked);
    assert.equal(await api(first.access_token), 403, "users:read was not asked for");
    this.step("asking for more shows what is new");
    const more = this.authorizeUrl(client.id, app.url, SCOPES);
    await this.open(more.url);
    await this.says(/New: it will also be able to See the people/);
    await this.audit("consent-more");
    this.step("somebody else can sign in for the app's request");
    await page.go("main p a");
    await this.says(/Sign in to go on to Planner/);
    this.step("an answer that the app wants posted is one button away");
    const posted = this.authorizeUrl(client.id, app.url, SCOPES);
    await this.open(`${posted.url}&response_mode=form_post`);
    await page.go('button[value="allow"]');
    await this.says(/One more step/);
    await this.audit("form-post");
    await page.go("main button");
    assert.equal(app.seen.at(-1).get("state"), posted.state);
    assert.match(app.seen.at(-1).get("code"), /^wgc_/);
    secrets.add(app.seen.at(-1).get("code"));
    return this.allow(client, SCOPES);
  }

  async allow(client, scopes) {
    const { page, app } = this;
    const { url, state, verifier } = this.authorizeUrl(client.id, app.url, scopes);
    await this.open(url);
    await page.go('button[value="allow"]');
    const answer = app.seen.at(-1);
    assert.equal(answer.get("state"), state);
    const { status, body } = await post("/-/oauth_token", {
      grant_type: "authorization_code", client_id: client.id, client_secret: client.secret,
      redirect_uri: app.url, code: answer.get("code"), code_verifier: verifier,
    });
    assert.equal(status, 200, JSON.stringify(body));
    for (const secret of [answer.get("code"), body.access_token, body.refresh_token]) secrets.add(secret);
    return body;
  }

  async outOfBand(client) {
    const { page } = this;
    this.step("a native app's code is shown, and not in the title");
    const { url, verifier } = this.authorizeUrl(client.id, OOB, ["tasks:read"]);
    await this.open(url);
    await this.says(/shown a code/);
    await page.go('button[value="allow"]');
    const code = await page.text("#code");
    secrets.add(code);
    assert.ok(!(await page.text("title")).includes(code));
    assert.ok(!(await page.url()).includes(code));
    await this.audit("code", ["dark"]);
    const { status } = await post("/-/oauth_token", {
      grant_type: "authorization_code", client_id: client.id, client_secret: client.secret,
      redirect_uri: OOB, code, code_verifier: verifier,
    });
    assert.equal(status, 200);
  }

  async reset(client, tokens) {
    const { page } = this;
    this.step("a secret is reset: the old one is dead, people stay connected");
    await this.open(`/-/console/apps/${client.id}`);
    await this.audit("app");
    await page.go('form[action$="/secret"] button');
    const { secret } = await this.secret("client-secret");
    assert.notEqual(secret, client.secret);
    const refresh = (client_secret) => post("/-/oauth_token", {
      grant_type: "refresh_token", client_id: client.id, client_secret, refresh_token: tokens.refresh_token,
    });
    assert.equal((await refresh(client.secret)).status, 401);
    const fresh = await refresh(secret);
    assert.equal(fresh.status, 200, JSON.stringify(fresh.body));
    secrets.add(fresh.body.access_token);
    return { ...client, secret };
  }

  async change(client) {
    const { page } = this;
    this.step("an app is renamed, switched off and on");
    await this.open(`/-/console/apps/${client.id}`);
    await page.type("#name", "Planner Two");
    await page.go(`form[action$="/${client.id}"] > button[type=submit]`);
    await this.says(/Your changes are saved/);
    await this.says(/Planner Two/, "h1");
    await page.go('form[action$="/state"] button');
    await this.says(/The app is switched off/);
    await this.audit("app-off");
    await page.go('form[action$="/state"] button');
    await this.says(/The app is switched on/);
    await this.open("/-/console/apps");
    await this.says(/Planner Two/);
    await this.audit("apps");
  }

  async installed(client, tokens) {
    const { page } = this;
    this.step("an admin switches an app off in the workspace, and on");
    await this.open("/-/console/workspace_apps");
    await this.audit("workspace-apps");
    const form = `form[action^="/-/console/workspace_apps/"][action$="/${client.id}"]`;
    const action = await page.attribute(form, "action");
    const there = `/users?workspace=${action.split("/")[4]}`;
    assert.equal(await api(tokens.access_token, there), 200);
    await page.go(`${form} button`);
    await this.says(/The app is switched off/);
    assert.equal(await api(tokens.access_token, there), 401);
    await page.go(`${form} button`);
    await this.says(/The app is switched on/);
    assert.equal(await api(tokens.access_token, there), 200);
  }

  async invited() {
    const { page, scripted } = this;
    this.step("an invitation to another workspace is declined, and the next one accepted");
    await invite(USER_EMAIL);
    await this.open("/-/connected_apps");
    await this.says(/You are invited to these workspaces/);
    await this.audit("invitation", ["dark", "phone"]);
    await page.go(`form[action$="/${scripted ? "decline" : "accept"}"] button`);
    await this.says(scripted ? /You declined the invitation/ : /You belong to the workspace now/);
    await this.audit("invitation-after");
  }

  async disconnect(tokens) {
    const { page } = this;
    this.step("a connected app is disconnected and has no access from then on");
    assert.equal(await api(tokens.access_token), 200);
    await this.open("/-/connected_apps");
    await this.says(/Planner/);
    await this.audit("connected-apps", ["dark", "phone"]);
    await page.press('summary[aria-label="Disconnect Planner Two"]');
    await page.go('button[aria-label="Yes, disconnect Planner Two"]');
    await this.says(/The app is disconnected/);
    assert.equal(await api(tokens.access_token), 401);
    await this.audit("connected-apps-after");
  }

  async token() {
    const { page } = this;
    this.step("a token is made, used, and revoked");
    await this.open("/-/console/tokens");
    await page.type("#description", "Nightly export");
    await page.go('form[action="/-/console/tokens"] button');
    const { secret } = await this.secret("token");
    assert.equal(await api(secret), 200);
    await this.open("/-/console/tokens");
    await this.says(/Nightly export/);
    await this.audit("tokens", ["dark", "phone"]);
    await page.press('summary[aria-label="Revoke Nightly export"]');
    await page.go('button[aria-label="Yes, revoke Nightly export"]');
    await this.says(/The token is revoked/);
    assert.equal(await api(secret), 401);
  }

  async requests() {
    const { page } = this;
    this.step("the requests of one's tokens are searched, and shown as curl");
    await this.open("/-/console/requests");
    await this.says(/GET getUser/);
    await this.audit("requests", ["dark", "phone"]);
    await page.type("#operation", "no such operation");
    await page.go('form[role="search"] button');
    await this.says(/No requests match/);
    await this.open("/-/console/requests?owner=tokens&operation=users");
    await page.go(".list a");
    await this.says(/As curl .* curl -X GET/);
    await this.says(/Bearer \$TOKEN/);
    await this.says(/They were not recorded/);
    await this.audit("request", ["dark"]);
    await this.open("/-/console/requests?owner=tokens");
    await page.go('form[action$="/recording"] button');
    await this.says(/Bodies are recorded for an hour/);
    await page.go('form[action$="/recording"] button');
    await this.says(/Bodies are no longer recorded/);
  }

  async service() {
    const { page } = this;
    this.step("a service account is made, its token used and revoked");
    await this.open("/-/console/service_accounts");
    const name = this.scripted ? "Import" : "Bare import";
    await page.type("#name", name);
    await page.go('form[action="/-/console/service_accounts"] button');
    const { secret } = await this.secret("service-token");
    assert.equal(await api(secret), 200);
    await this.open("/-/console/service_accounts");
    await this.audit("service-accounts");
    await page.press(`summary[aria-label="Revoke ${name}"]`);
    await page.go(`button[aria-label="Yes, revoke ${name}"]`);
    await this.says(/The token is revoked/);
    assert.equal(await api(secret), 401);
  }

  async account() {
    const { page } = this;
    this.step("a password is changed by the one before, and back");
    await this.open("/-/console/account");
    await this.says(/This browser/);
    await this.audit("account", ["dark", "phone"]);
    const other = `${USER_PASSWORD}, for a moment`;
    secrets.add(other);
    const change = async (current, now) => {
      await page.type("#current", current);
      await page.type("#new", now);
      await page.type("#again", now);
      await page.go('form[action$="/password"] button');
    };
    await change("not the password", other);
    await this.says(/This is not your password/);
    await this.audit("account-again");
    for (const [current, now] of [[USER_PASSWORD, other], [other, USER_PASSWORD]]) {
      await change(current, now);
      await this.says(/Your password is changed/);
    }
    this.step("all access is revoked with one button");
    await page.press('summary[aria-label="Revoke all access"]');
    await page.go('form[action$="/revoke"] button');
    await this.says(/All access is revoked/);
    await this.open("/-/connected_apps");
    await this.says(/No app has access/);
  }

  async errors() {
    this.step("what is not there, and what cannot be sent anywhere");
    await this.open("/-/console/apps/1");
    await this.says(/Not found/);
    await this.audit("not-found");
    await this.open("/-/oauth_authorize?client_id=1&redirect_uri=https%3A%2F%2Fevil.example%2F");
    assert.match(await this.page.text("body"), /client_id/);
    await this.open("/-/console/apps");
  }

  async signOut() {
    const { page } = this;
    this.step("signing out ends the session");
    await this.open("/-/sign_out");
    await this.audit("sign-out");
    await page.go("main form button");
    await this.says(/Sign in/);
    await this.open("/-/console/tokens");
    await this.says(/Sign in/);
  }

  async whole() {
    await this.signIn();
    this.step("apps are registered and their secrets shown once");
    let client = await this.register("Planner", this.app.url, SCOPES, "app-secret");
    const native = await this.register("Terminal", OOB, ["tasks:read"], null);
    const tokens = await this.authorize("Planner", client);
    await this.outOfBand(native);
    client = await this.reset(client, tokens);
    await this.change(client);
    await this.installed(client, tokens);
    await this.disconnect(tokens);
    await this.invited();
    await this.token();
    // Each of several nodes shows the requests that it answered itself.
    if (!(NODES > 1)) await this.requests();
    await this.service();
    await this.account();
    await this.errors();
    await this.signOut();
  }
}

async function main() {
  if (SHOTS) fs.mkdirSync(SHOTS, { recursive: true });
  const browser = new Chromium();
  const app = await callback();
  try {
    for (const script of [true, false]) {
      const page = await browser.page({ script });
      await new Tour(page, app, script).whole();
    }
  } finally {
    app.close();
    await browser.close();
  }
  if (process.env.SECRETS) fs.writeFileSync(process.env.SECRETS, [...secrets].join("\n"));
  console.log(`${steps} steps passed, ${audited} looks at pages without a finding`);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
