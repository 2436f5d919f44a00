// Drives a headless Chromium by its DevTools protocol over a pipe: no library, no open port.
"use strict";
const { spawn, spawnSync } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { shrink } = require("./png.cjs");

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

function find() {
  const named = process.env.CHROMIUM ? [process.env.CHROMIUM] : NAMES;
  const found = named.find((name) => spawnSync(name, ["--version"]).status === 0);
  if (!found) throw new Error(`none of ${named.join(", ")} runs`);
  return found;
}

class Chromium {
  constructor() {
    this.profile = fs.mkdtempSync(path.join(os.tmpdir(), "workgraph-chromium-"));
    const flags = [
      "--headless=new", "--remote-debugging-pipe", `--user-data-dir=${this.profile}`,
      "--no-first-run", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
      "--disable-background-networking", "--disable-component-update", "--disable-sync",
      "--disable-extensions", "--disable-features=Translate,OptimizationHints,MediaRouter",
      "--password-store=basic", "--force-color-profile=srgb", "--font-render-hinting=none",
      // Nothing but this machine can be reached, whatever a page asks for.
      "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
      "--no-proxy-server",
    ];
    // As root, as in containers, Chromium has no sandbox. It sees our own pages only.
    if (process.getuid && process.getuid() === 0) flags.push("--no-sandbox");
    this.process = spawn(find(), flags, { stdio: ["ignore", "ignore", "pipe", "pipe", "pipe"] });
    this.said = "";
    this.process.stderr.on("data", (data) => { this.said = (this.said + data).slice(-4000); });
    this.out = this.process.stdio[3];
    this.next = 1;
    this.waiting = new Map();
    this.listeners = new Set();
    let rest = "";
    this.process.stdio[4].setEncoding("utf8");
    this.process.stdio[4].on("data", (data) => {
      const parts = (rest + data).split("\0");
      rest = parts.pop();
      for (const part of parts) this.take(JSON.parse(part));
    });
    this.process.on("exit", () => {
      for (const { no } of this.waiting.values()) no(new Error(`Chromium ended: ${this.said}`));
    });
  }

  take(message) {
    if (message.id) {
      const { yes, no } = this.waiting.get(message.id);
      this.waiting.delete(message.id);
      if (message.error) no(new Error(JSON.stringify(message.error)));
      else yes(message.result);
    } else {
      for (const listener of [...this.listeners]) listener(message);
    }
  }

  send(method, params = {}, sessionId = undefined) {
    const id = this.next++;
    return new Promise((yes, no) => {
      const late = setTimeout(() => no(new Error(`${method} took too long`)), 60000);
      const done = (then) => (value) => { clearTimeout(late); then(value); };
      this.waiting.set(id, { yes: done(yes), no: done(no) });
      this.out.write(JSON.stringify({ id, method, params, sessionId }) + "\0");
    });
  }

  // A page in a browser of its own: no cookies, no cache. `options`: script, dark, width, height.
  async page(options = {}) {
    const { browserContextId } = await this.send("Target.createBrowserContext");
    const { targetId } = await this.send("Target.createTarget", { url: "about:blank", browserContextId });
    const { sessionId } = await this.send("Target.attachToTarget", { targetId, flatten: true });
    const page = new Page(this, sessionId, options);
    await page.begin();
    return page;
  }

  async close() {
    await this.send("Browser.close").catch(() => {});
    await new Promise((done) => this.process.exitCode === null ? this.process.once("exit", done) : done());
    fs.rmSync(this.profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

class Page {
  constructor(browser, session, options) {
    Object.assign(this, { browser, session, options, complaints: [], documents: [] });
    browser.listeners.add((message) => message.sessionId === session && this.hear(message));
    this.loads = 0;
    this.looked = 0;
  }

  send(method, params) {
    return this.browser.send(method, params, this.session);
  }

  async begin() {
    for (const domain of ["Page", "DOM", "Network", "Log", "Runtime"]) await this.send(`${domain}.enable`);
    if (this.options.script === false) await this.send("Emulation.setScriptExecutionDisabled", { value: true });
    await this.look(this.options);
  }

  // Light or dark, and how wide.
  async look({ dark = false, width = 1000, height = 640 }) {
    const value = dark ? "dark" : "light";
    await this.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value }, { name: "prefers-reduced-motion", value: "reduce" }] });
    await this.send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: width < 600 });
  }

  hear({ method, params }) {
    if (method === "Page.loadEventFired") this.loads += 1;
    if (method === "Log.entryAdded" && params.entry.level === "error" && !this.tolerated(params.entry)) {
      this.complaints.push(`${params.entry.text} (${params.entry.url || ""})`);
    }
    if (method === "Runtime.exceptionThrown") this.complaints.push(params.exceptionDetails.text);
    if (method === "Network.requestWillBeSent") {
      const to = new URL(params.request.url);
      if (params.type === "Document" && params.redirectResponse) this.documents.push(params.redirectResponse);
      if (!["127.0.0.1", "localhost", ""].includes(to.hostname)) this.complaints.push(`went to ${to.href}`);
    }
    if (method === "Network.responseReceived" && params.type === "Document") this.documents.push(params.response);
  }

  // A page with an error status is logged as an error; tests that expect one say so.
  tolerated(entry) {
    return entry.source === "network" && /status of 4\d\d/.test(entry.text);
  }

  async until(what, condition) {
    for (let i = 0; i < 6000; i++) {
      const value = await condition();
      if (value) return value;
      await new Promise((done) => setTimeout(done, 10));
    }
    throw new Error(`waited in vain for ${what} at ${await this.url()}`);
  }

  async goto(url) {
    const before = this.loads;
    const { errorText } = await this.send("Page.navigate", { url });
    if (errorText) throw new Error(`${url}: ${errorText}`);
    await this.until(`the load of ${url}`, () => this.loads > before);
  }

  async reload() {
    const before = this.loads;
    await this.send("Page.reload");
    await this.until("the reload", () => this.loads > before);
  }

  async url() {
    const { frameTree } = await this.send("Page.getFrameTree");
    return frameTree.frame.url;
  }

  // The node that a selector finds; none if there is none.
  async find(selector) {
    const { root } = await this.send("DOM.getDocument", { depth: 0 });
    const { nodeId } = await this.send("DOM.querySelector", { nodeId: root.nodeId, selector });
    return nodeId || null;
  }

  async need(selector) {
    const node = await this.find(selector);
    if (!node) throw new Error(`there is no ${selector} at ${await this.url()}: ${(await this.html()).replace(/<style.*?<\/style>/s, "").slice(0, 3000)}`);
    return node;
  }

  async html(selector = "html") {
    const { outerHTML } = await this.send("DOM.getOuterHTML", { nodeId: await this.need(selector) });
    return outerHTML;
  }

  // The text of an element, its references resolved.
  async text(selector = "main") {
    const names = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'", nbsp: " " };
    const html = (await this.html(selector)).replace(/<(style|script)\b.*?<\/\1>/gs, "");
    return html.replace(/<[^>]*>/g, " ").replace(/&(\w+|#39);/g, (all, name) => names[name] ?? all).replace(/\s+/g, " ").trim();
  }

  async attribute(selector, name) {
    const { attributes } = await this.send("DOM.getAttributes", { nodeId: await this.need(selector) });
    const at = attributes.findIndex((value, i) => i % 2 === 0 && value === name);
    return at < 0 ? null : attributes[at + 1];
  }

  async key(key, text = undefined) {
    const codes = { Enter: 13, " ": 32, Tab: 9 };
    const event = { key, code: key === " " ? "Space" : key, windowsVirtualKeyCode: codes[key], text };
    await this.send("Input.dispatchKeyEvent", { type: text ? "keyDown" : "rawKeyDown", ...event });
    await this.send("Input.dispatchKeyEvent", { type: "keyUp", ...event, text: undefined });
  }

  // Types into a field in place of what is in it.
  async type(selector, text) {
    await this.send("DOM.focus", { nodeId: await this.need(selector) });
    await this.send("Input.dispatchKeyEvent", { type: "rawKeyDown", key: "a", code: "KeyA", windowsVirtualKeyCode: 65, modifiers: 2, commands: ["selectAll"] });
    await this.send("Input.dispatchKeyEvent", { type: "keyUp", key: "a", code: "KeyA", windowsVirtualKeyCode: 65, modifiers: 2 });
    await this.send("Input.insertText", { text });
  }

  // Presses a button, link or box: with the keyboard where there is no script, else with the mouse.
  async press(selector) {
    const nodeId = await this.need(selector);
    if (this.options.script === false) {
      await this.send("DOM.focus", { nodeId });
      const box = /^\[?input/.test(selector) || selector.includes("[type=");
      if (box) await this.key(" ", " ");
      else await this.key("Enter", "\r");
      return;
    }
    await this.send("DOM.scrollIntoViewIfNeeded", { nodeId });
    const { model } = await this.send("DOM.getBoxModel", { nodeId });
    const [x1, y1, x2, , , y3] = model.content;
    const at = { x: (x1 + x2) / 2, y: (y1 + y3) / 2, button: "left", clickCount: 1 };
    await this.send("Input.dispatchMouseEvent", { type: "mousePressed", ...at });
    await this.send("Input.dispatchMouseEvent", { type: "mouseReleased", ...at });
  }

  // Presses what leads to another page, and waits for that.
  async go(selector) {
    const before = this.loads;
    await this.press(selector);
    await this.until(`the page after ${selector}`, () => this.loads > before);
  }

  // What axe-core has against the page, as lines. Needs script. With `rules` it looks for these alone. It takes a second for a
  // page, so it is asked only every so many times; with EVERY_LOOK in the environment each time.
  async axe(source, rules = undefined, every = 4) {
    if (!process.env.EVERY_LOOK && this.looked++ % every !== 0) return [];
    await this.send("Runtime.evaluate", { expression: `if (!window.axe) { ${source} }` });
    const options = JSON.stringify({ resultTypes: ["violations"], ...(rules && { runOnly: rules }) });
    const expression = `axe.run(document, ${options})` + ".then(r => JSON.stringify(r.violations.map(v => v.id + ': ' + v.help + ' ' + v.nodes.map(n => n.target.join(' ') + ' ' + n.failureSummary).join(' | '))))";
    const { result, exceptionDetails } = await this.send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
    if (exceptionDetails) throw new Error(JSON.stringify(exceptionDetails));
    return JSON.parse(result.value);
  }

  // A picture of the whole page, at most `most` pixels high.
  async picture(file, most = 1500) {
    const { cssContentSize: size } = await this.send("Page.getLayoutMetrics");
    const clip = { x: 0, y: 0, width: size.width, height: Math.min(size.height, most), scale: 1 };
    const { data } = await this.send("Page.captureScreenshot", { format: "png", clip, captureBeyondViewport: true });
    fs.writeFileSync(file, shrink(Buffer.from(data, "base64")));
  }
}

// How a page can be looked at.
const LOOKS = { light: {}, dark: { dark: true }, phone: { width: 390 } };

// What axe-core has to look at again in another look than the first: what depends on colours and on sizes.
const LOOK_RULES = {
  light: undefined,
  dark: ["color-contrast", "link-in-text-block"],
  phone: ["color-contrast", "scrollable-region-focusable", "target-size"],
};

module.exports = { Chromium, LOOKS, LOOK_RULES };
