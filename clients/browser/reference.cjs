// The reference pages of a running server in a headless Chromium: all of them with axe-core, a search and a request
// with the keyboard alone, and the pages without script.
//
// Environment: BASE (the server's origin), TOKEN of a user, AXE (the folder that axe-core is installed in); SHOTS to
// have pictures land there; EVERY_LOOK to have axe-core look at every page of the reference, not at a tenth of them.
"use strict";
const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const { Chromium, LOOKS, LOOK_RULES } = require("./chromium.cjs");

const { EVERY_LOOK, BASE, TOKEN, AXE, SHOTS } = process.env;
const axe = fs.readFileSync(path.join(AXE, "node_modules/axe-core/axe.min.js"), "utf8");
let audited = 0;

async function value(page, expression) {
  const { result, exceptionDetails } = await page.send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
  assert.equal(exceptionDetails, undefined, expression);
  return result.value;
}

async function audit(page, name, look) {
  assert.deepEqual(await page.axe(axe, LOOK_RULES[look], 1), [], `${name} (${look})`);
  const { cssContentSize, cssLayoutViewport } = await page.send("Page.getLayoutMetrics");
  assert.ok(cssContentSize.width <= cssLayoutViewport.clientWidth, `${name} (${look}) is ${cssContentSize.width} wide`);
  assert.deepEqual(page.complaints, [], name);
  audited += 1;
}

async function shoot(page, name, looks = ["light"]) {
  if (!SHOTS) return;
  for (const look of looks) {
    await page.look(LOOKS[look]);
    await page.picture(path.join(SHOTS, look === "light" ? `${name}.png` : `${name}-${look}.png`), 1400);
  }
  await page.look({});
}

// Presses Tab until an element has the focus.
async function tabTo(page, selector) {
  for (let i = 0; i < 400; i++) {
    if (await value(page, `document.activeElement.matches(${JSON.stringify(selector)})`)) return;
    await page.key("Tab");
  }
  throw new Error(`Tab does not lead to ${selector}`);
}

async function write(page, text) {
  await page.send("Input.insertText", { text });
}

// Every page in every look, with all that is folded open, and one operation with its form.
async function everyPage(page) {
  await page.goto(`${BASE}/-/docs`);
  const paths = await value(page, `[...new Set([...document.querySelectorAll("main a")].map((a) => a.pathname))].filter((p) => p.startsWith("/-/docs"))`);
  assert.ok(paths.length > 30, `${paths.length} pages`);
  // All pages have the same frame; axe-core takes a second or two for each.
  const every = EVERY_LOOK ? 1 : 10;
  const some = paths.filter((where, i) => i % every === 0 || where === "/-/docs/attachments");
  for (const where of ["/-/docs", ...some]) {
    await page.goto(BASE + where);
    // One form shows what all are like; axe-core takes long for hundreds of them.
    await value(page, `for (const folded of document.querySelectorAll("details:not(.operation)")) folded.open = true;
      const first = document.querySelector(".operation"); if (first) first.open = true`);
    await page.until("the form", () => value(page, `!document.querySelector(".operation") || !!document.querySelector(".try")`));
    const looks = ["/-/docs", "/-/docs/attachments"].includes(where) ? Object.keys(LOOKS) : ["light"];
    for (const look of looks) {
      await page.look(LOOKS[look]);
      await audit(page, where, look);
    }
    await page.look({});
  }
}

// From the search to a reply, with the keyboard alone.
async function keyboard(page) {
  await page.goto(`${BASE}/-/docs`);
  await shoot(page, "reference", ["light", "dark", "phone"]);
  await tabTo(page, "#find");
  await write(page, "current user users:read get me");
  await page.until("no finds", async () => /^0 found/.test(await page.text("#found")));
  await page.type("#find", "GET /users/{user_gid}");
  await page.until("the finds", async () => /^[1-9]\d* found/.test(await page.text("#found")));
  const shown = await value(page, `[...document.querySelectorAll("#results a")].map((e) => e.textContent)`);
  assert.equal(shown[0], "GET /users/{user_gid}", shown.join("; "));
  await tabTo(page, 'a[href="/-/docs/users#getUser"]');
  const before = page.loads;
  await page.key("Enter", "\r");
  await page.until("the page of users", () => page.loads > before);
  // The operation of the address is open and has the focus.
  await page.until("the operation", () => value(page, `document.activeElement.matches("#getUser > summary") && document.getElementById("getUser").open`));
  await page.until("the form", () => page.find("#getUser .try"));
  await tabTo(page, "#getUser input");
  await write(page, "me");
  await tabTo(page, "#getUser button");
  await page.key("Enter", "\r");
  // Without a token the field for it has the focus.
  await page.until("the token field", () => value(page, `document.activeElement.id === "token"`));
  await write(page, TOKEN);
  await tabTo(page, "#getUser button");
  await page.key("Enter", "\r");
  await page.until("the reply", async () => /Status 200/.test(await page.text('#getUser [role="status"]')));
  assert.match(await page.text('#getUser [role="status"]'), /cost \d+ · request /);
  const reply = JSON.parse(await value(page, `document.querySelector("#getUser .try pre").textContent`));
  assert.equal(reply.data.resource_type, "user");
  const curl = await value(page, `document.querySelector("#getUser [role=tabpanel]").textContent`);
  assert.equal(curl, `curl -X GET '${BASE}/api/1.0/users/me' -H "Authorization: Bearer $TOKEN"`);
  await shoot(page, "reference-operation", ["light", "dark", "phone"]);
  await audit(page, "a reply", "light");
  const stored = await value(page, `JSON.stringify([localStorage.length, sessionStorage.length, document.cookie, location.href.includes(${JSON.stringify(TOKEN)}), document.documentElement.outerHTML.includes(${JSON.stringify(TOKEN)})])`);
  assert.equal(stored, '[0,1,"",false,false]');
}

// A body with the fields that must be there, an error that is shown, and a page that still has the token of its tab.
async function bodies(page) {
  await page.goto(`${BASE}/-/docs/tags#createTag`);
  await page.until("the form", () => page.find("#createTag textarea"));
  await page.type("#token", TOKEN);
  const workspace = await (await fetch(`${BASE}/api/1.0/users/me`, { headers: { authorization: `Bearer ${TOKEN}` } })).json();
  const body = JSON.stringify({ data: { name: "it's <b>new</b>", workspace: workspace.data.workspaces[0].gid } });
  await page.type("#createTag textarea", body);
  await page.press("#createTag .try button");
  await page.until("the tag", async () => /Status 201/.test(await page.text('#createTag [role="status"]')));
  const curl = await value(page, `document.querySelector("#createTag [role=tabpanel]").textContent`);
  assert.ok(curl.includes(`"it'\\''s <b>new</b>"`), curl);
  await page.type("#createTag textarea", "{");
  await page.press("#createTag .try button");
  await page.until("the error", async () => /Status 400/.test(await page.text('#createTag [role="status"]')));
  assert.match(await page.text("#createTag .try pre"), /errors/);
  await page.goto(`${BASE}/-/docs/users`);
  await page.send("Runtime.evaluate", { expression: "history.back()" });
  await page.until("the page before", () => page.find("#createTag"));
  assert.equal(await value(page, `document.getElementById("token").value`), TOKEN);
}

// Without script all is there to read, and nothing that would not work.
async function bare(page) {
  await page.goto(`${BASE}/-/docs`);
  assert.notEqual(await page.attribute("#search", "hidden"), null);
  await page.go('a[href="/-/docs/tasks#createTask"]');
  assert.notEqual(await page.attribute("#credentials", "hidden"), null);
  await page.press("#createTask summary");
  await page.until("the operation", async () => (await page.attribute("#createTask", "open")) !== null);
  assert.match(await page.text("#createTask"), /tasks:write .*Body .*assignee .*Reply .*Errors/);
  assert.equal(await page.find(".try"), null);
  assert.deepEqual(page.complaints, []);
}

async function main() {
  if (SHOTS) fs.mkdirSync(SHOTS, { recursive: true });
  const browser = new Chromium();
  try {
    const page = await browser.page();
    await keyboard(page);
    await bodies(page);
    await everyPage(page);
    await bare(await browser.page({ script: false }));
  } finally {
    await browser.close();
  }
  console.log(`4 steps passed, ${audited} looks at pages without a finding`);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
