// The script of the reference: it searches, and sends requests with a token that stays in this tab.
"use strict";
(() => {
  // Longest part of a reply that is shown, in characters.
  const SHOWN = 200000;
  // Most results of a search that are listed.
  const RESULTS = 12;
  // Under this name the tab keeps the token over the pages.
  const KEPT = "workgraph-token";
  const main = document.getElementById("main");
  // The document may name the API by a path alone.
  const server = new URL(main.dataset.server, location.href).href;
  const find = document.getElementById("find");
  const token = document.getElementById("token");

  function make(name, attributes, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  }

  // How well an entry fits the words of a search: 0 if one is missing, more where it names the entry itself.
  function fit(entry, words) {
    const heading = entry.querySelector("code, h3")?.textContent ?? "";
    const title = entry.querySelector(".title")?.textContent ?? "";
    const link = entry.querySelector("a")?.getAttribute("href") ?? "";
    const name = (entry.id || link.split("#")[1] || "").toLowerCase();
    const head = `${entry.dataset.method ?? entry.querySelector(".method")?.textContent ?? ""} ${heading}`.toLowerCase();
    entry.text ??= `${entry.dataset.words ?? ""} ${entry.id} ${entry.textContent}`.toLowerCase();
    let score = words.join(" ") === head || words.join("") === name ? 1000 : 0;
    for (const word of words) {
      if (!entry.text.includes(word)) return 0;
      if (name.startsWith(word)) score += 60;
      else if (name.includes(word)) score += 40;
      if (head.split(/[\s/{}]+/).includes(word)) score += 50;
      else if (head.includes(word)) score += 20;
      if (title.toLowerCase().includes(word)) score += 10;
      score += 1;
    }
    // Of two that fit as well, the one that says it in fewer words.
    return score + 1 / (1 + heading.length + title.length);
  }

  // Lists the entries that have all words of the search, the best first.
  function search() {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    const entries = words.length ? [...main.querySelectorAll("[data-find]")] : [];
    const ranked = entries.map((entry) => ({ entry, score: fit(entry, words) })).filter(({ score }) => score > 0);
    ranked.sort((one, other) => other.score - one.score);
    const found = document.getElementById("found");
    const results = document.getElementById("results");
    const more = ranked.length > RESULTS ? `; these are the best ${RESULTS}` : "";
    found.textContent = words.length ? `${ranked.length} found${more}` : "";
    results.replaceChildren(...ranked.slice(0, RESULTS).map(({ entry }) => {
      const address = entry.id ? `#${entry.id}` : entry.querySelector("a").getAttribute("href");
      const parts = [entry.querySelector(".method"), entry.querySelector("code") ?? entry.querySelector("h3")];
      const shown = parts.filter(Boolean).map((part) => part.textContent).join(" ");
      const title = entry.querySelector(".title")?.textContent ?? "";
      return make("li", {}, make("a", { href: address }, shown), " ", make("span", { class: "title" }, title));
    }));
    results.hidden = ranked.length === 0;
  }

  // Opens what the address names.
  function reveal() {
    const name = decodeURIComponent(location.hash.slice(1));
    const target = name && document.getElementById(name);
    const folded = target && target.closest("details");
    if (!folded) return;
    folded.open = true;
    target.scrollIntoView();
    if (target === folded) folded.querySelector("summary").focus();
  }

  function field(operation, name, hint, input) {
    const id = `${operation.id}.${name}`;
    input.id = id;
    const label = make("label", { for: id }, name);
    const parts = [label];
    if (hint) {
      const note = make("p", { class: "hint", id: `${id}.hint` }, hint);
      input.setAttribute("aria-describedby", note.id);
      parts.push(note);
    }
    return make("div", { class: "field" }, ...parts, input);
  }

  // The body with the fields that must be there.
  function skeleton(operation) {
    const example = operation.querySelector('[data-example="request"]');
    if (example) return example.textContent;
    const data = {};
    for (const part of operation.querySelectorAll('[data-in="body"][data-media="application/json"][data-required]')) {
      const empty = { array: [], object: {}, integer: 0, boolean: false };
      data[part.textContent] = empty[part.dataset.kind] ?? "";
    }
    return JSON.stringify({ data }, null, 2);
  }

  // The parts of the form that sends requests of an operation.
  function inputs(operation) {
    const all = [];
    for (const part of operation.querySelectorAll('[data-in="path"], [data-in="query"]')) {
      const input = make("input", { type: "text", autocomplete: "off", spellcheck: "false" });
      if ("required" in part.dataset) input.required = true;
      const place = part.dataset.in;
      const hint = input.required ? `In the ${place}, required` : `In the ${place}`;
      all.push({ name: part.textContent, place, input, element: field(operation, part.textContent, hint, input) });
    }
    if (operation.querySelector('[data-media="application/json"]')) {
      const input = make("textarea", { rows: "6", spellcheck: "false" });
      input.value = skeleton(operation);
      all.push({ name: "body", place: "body", input, element: field(operation, "Body", "JSON", input) });
    }
    for (const part of operation.querySelectorAll('[data-kind="file"]')) {
      const input = make("input", { type: "file" });
      const hint = "With a file, the fields of the body are sent as a form";
      all.push({ name: part.textContent, place: "file", input, element: field(operation, part.textContent, hint, input) });
    }
    return all;
  }

  // Method, path and content of the request that the form describes.
  function request(operation, all) {
    let path = operation.dataset.path;
    const query = new URLSearchParams();
    let body = null;
    let file = null;
    for (const { name, place, input } of all) {
      if (place === "path") path = path.replace(`{${name}}`, encodeURIComponent(input.value));
      else if (place === "query" && input.value !== "") query.append(name, input.value);
      else if (place === "body") body = input.value;
      else if (place === "file" && input.files.length) file = [name, input.files[0]];
    }
    const suffix = query.size ? `?${query}` : "";
    return { method: operation.dataset.method, path: path + suffix, body, file };
  }

  // The request as a command or a program, by language.
  const samples = {
    curl({ method, path, body, file }) {
      const quote = (text) => `'${text.replaceAll("'", "'\\''")}'`;
      const parts = ["curl", "-X", method, quote(server + path), "-H", '"Authorization: Bearer $TOKEN"'];
      if (file) parts.push("-F", quote(`${file[0]}=@${file[1].name}`));
      else if (body !== null) parts.push("-H", quote("Content-Type: application/json"), "-d", quote(body));
      return parts.join(" ");
    },
    Python({ method, path, body, file }) {
      const lines = ["import os, requests", "", "response = requests.request("];
      lines.push(`    ${JSON.stringify(method)}, ${JSON.stringify(server + path)},`);
      lines.push('    headers={"Authorization": f"Bearer {os.environ[\'TOKEN\']}"' + (body !== null && !file ? ', "Content-Type": "application/json"},' : "},"));
      if (file) lines.push(`    files={${JSON.stringify(file[0])}: open(${JSON.stringify(file[1].name)}, "rb")},`);
      else if (body !== null) lines.push(`    data=${JSON.stringify(body)}.encode(),`);
      lines.push(")", "response.raise_for_status()", "print(response.json())");
      return lines.join("\n");
    },
    Node({ method, path, body, file }) {
      const lines = [];
      if (file) lines.push('import { openAsBlob } from "node:fs";', "const form = new FormData();", `form.append(${JSON.stringify(file[0])}, await openAsBlob(${JSON.stringify(file[1].name)}), ${JSON.stringify(file[1].name)});`);
      lines.push(`const response = await fetch(${JSON.stringify(server + path)}, {`, `  method: ${JSON.stringify(method)},`);
      const json = body !== null && !file ? ', "Content-Type": "application/json"' : "";
      lines.push(`  headers: { Authorization: \`Bearer \${process.env.TOKEN}\`${json} },`);
      if (file) lines.push("  body: form,");
      else if (body !== null) lines.push(`  body: ${JSON.stringify(body)},`);
      lines.push("});", "console.log(response.status, await response.json());");
      return lines.join("\n");
    },
  };

  // Tabs with the request in each language. The second result shows a request in them.
  function tabs(operation) {
    const names = Object.keys(samples);
    const panel = make("pre", { tabindex: "0", role: "tabpanel", id: `${operation.id}.sample` });
    const list = make("div", { class: "tabs", role: "tablist", "aria-label": `${operation.id} as a program` });
    let chosen = names[0];
    let shown = null;
    const draw = () => {
      for (const button of list.children) {
        const isChosen = button.textContent === chosen;
        button.setAttribute("aria-selected", String(isChosen));
        button.tabIndex = isChosen ? 0 : -1;
        if (isChosen) panel.setAttribute("aria-labelledby", button.id);
      }
      if (shown) panel.textContent = samples[chosen](shown);
    };
    for (const name of names) {
      const button = make("button", { type: "button", role: "tab", id: `${operation.id}.${name}-tab`, "aria-controls": panel.id }, name);
      button.addEventListener("click", () => { chosen = name; draw(); });
      list.append(button);
    }
    list.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      chosen = names[(names.indexOf(chosen) + step + names.length) % names.length];
      draw();
      list.querySelector('[aria-selected="true"]').focus();
    });
    const show = (described) => { shown = described; draw(); };
    return [[list, panel], show];
  }

  // Gets a token for the session of this browser; an empty text without a session.
  async function sessionToken() {
    const response = await fetch(main.dataset.session, { method: "POST", credentials: "same-origin", cache: "no-store", redirect: "error" });
    return response.ok ? (await response.json()).token : "";
  }

  async function send({ method, path, body, file }) {
    // The header asks for the cost and what is left.
    const headers = { Authorization: `Bearer ${token.value.trim()}`, "Workgraph-Explain": "limits" };
    let content;
    if (file) {
      content = new FormData();
      const fields = JSON.parse(body || "{}").data ?? {};
      for (const [name, value] of Object.entries(fields)) content.append(name, value);
      content.append(file[0], file[1]);
    } else if (body !== null) {
      headers["Content-Type"] = "application/json";
      content = body;
    }
    const begun = performance.now();
    const response = await fetch(main.dataset.api + path, {
      method, headers, body: content,
      credentials: "omit", cache: "no-store", redirect: "error", referrerPolicy: "no-referrer",
    });
    const text = await response.text();
    return { response, text, took: Math.round(performance.now() - begun) };
  }

  function pretty(text) {
    try {
      return JSON.stringify(JSON.parse(text), null, 2);
    } catch {
      return text;
    }
  }

  // Keeps a token for the pages of this tab.
  function keep(text) {
    token.value = text;
    if (text) sessionStorage.setItem(KEPT, text);
    else sessionStorage.removeItem(KEPT);
  }

  // Adds the form that sends requests of an operation.
  function equip(operation) {
    const all = inputs(operation);
    const button = make("button", { type: "submit" }, "Send request");
    const state = make("p", { role: "status" });
    const reply = make("pre", { tabindex: "0", role: "region", "aria-label": `Reply of ${operation.id}` });
    const [sample, show] = tabs(operation);
    const form = make("form", {}, ...all.map((part) => part.element), button);
    reply.hidden = true;
    const update = () => { show(request(operation, all)); };
    update();
    form.addEventListener("input", update);
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      button.disabled = true;
      state.textContent = "Sending …";
      try {
        if (!token.value.trim()) keep(await sessionToken());
        if (!token.value.trim()) {
          state.textContent = "Sign in, or enter an access token at the top of the page.";
          token.focus();
          button.disabled = false;
          return;
        }
        const { response, text, took } = await send(request(operation, all));
        // One that has expired is not tried again: the next request gets another.
        if (response.status === 401) keep("");
        const cost = response.headers.get("Workgraph-Cost");
        const wait = response.headers.get("Retry-After");
        const id = response.headers.get("X-Request-Id");
        const facts = [`Status ${response.status}`, `${took} ms`];
        if (cost) facts.push(`cost ${cost}`);
        if (wait) facts.push(`try again after ${wait} s`);
        if (id) facts.push(`request ${id}`);
        state.textContent = facts.join(" · ");
        const shown = pretty(text);
        reply.textContent = shown.length > SHOWN ? `${shown.slice(0, SHOWN)}\n… ${shown.length - SHOWN} more characters` : shown;
        reply.hidden = shown === "";
      } catch (error) {
        state.textContent = `Not sent: ${error.message}`;
        reply.hidden = true;
      }
      button.disabled = false;
    });
    operation.append(make("div", { class: "try" }, make("h4", {}, "Try it"), form, state, reply, ...sample));
  }

  if (find) {
    document.getElementById("search").hidden = false;
    find.addEventListener("input", search);
  }
  if (token) {
    document.getElementById("credentials").hidden = false;
    keep(sessionStorage.getItem(KEPT) ?? "");
    token.addEventListener("input", () => { sessionStorage.setItem(KEPT, token.value.trim()); });
    for (const operation of main.querySelectorAll(".operation")) {
      operation.addEventListener("toggle", () => equip(operation), { once: true });
    }
  }
  addEventListener("hashchange", reveal);
  // Before that the browser itself goes to the address, and takes the focus away.
  addEventListener("load", reveal);
})();
