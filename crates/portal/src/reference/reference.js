// The script of the reference: it searches, and sends requests with a token that stays in the memory of the page.
"use strict";
(() => {
  // Longest part of a reply that is shown, in characters.
  const SHOWN = 200000;
  const main = document.getElementById("main");
  const find = document.getElementById("find");
  const token = document.getElementById("token");

  function make(name, attributes, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  }

  // Shows the entries that have all words of the search.
  function search() {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const entry of main.querySelectorAll("[data-find]")) {
      entry.text ??= `${entry.dataset.words ?? ""} ${entry.id} ${entry.textContent}`.toLowerCase();
      entry.hidden = !words.every((word) => entry.text.includes(word));
      count += entry.hidden ? 0 : 1;
    }
    for (const group of main.querySelectorAll("[data-group]")) {
      group.hidden = !group.querySelector("[data-find]:not([hidden])");
    }
    const found = document.getElementById("found");
    found.textContent = words.length ? `${count} found` : "";
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

  function curl({ method, path, body, file }) {
    const quote = (text) => `'${text.replaceAll("'", "'\\''")}'`;
    const parts = ["curl", "-X", method, quote(main.dataset.server + path), "-H", '"Authorization: Bearer $TOKEN"'];
    if (file) parts.push("-F", quote(`${file[0]}=@${file[1].name}`));
    else if (body !== null) parts.push("-H", quote("Content-Type: application/json"), "-d", quote(body));
    return parts.join(" ");
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

  // Adds the form that sends requests of an operation.
  function equip(operation) {
    const all = inputs(operation);
    const button = make("button", { type: "submit" }, "Send request");
    const state = make("p", { role: "status" });
    const reply = make("pre", { tabindex: "0", role: "region", "aria-label": `Reply of ${operation.id}` });
    const command = make("pre", { tabindex: "0", role: "region", "aria-label": `${operation.id} as curl` });
    const asCurl = make("details", {}, make("summary", {}, "As curl"), command);
    const form = make("form", {}, ...all.map((part) => part.element), button);
    reply.hidden = true;
    const update = () => { command.textContent = curl(request(operation, all)); };
    update();
    form.addEventListener("input", update);
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (!token.value.trim()) {
        state.textContent = "Enter an access token first, at the top of the page.";
        token.focus();
        return;
      }
      button.disabled = true;
      state.textContent = "Sending …";
      try {
        const { response, text, took } = await send(request(operation, all));
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
    operation.append(make("div", { class: "try" }, make("h4", {}, "Try it"), form, state, reply, asCurl));
  }

  if (find) {
    document.getElementById("search").hidden = false;
    find.addEventListener("input", search);
  }
  if (token) {
    document.getElementById("credentials").hidden = false;
    // A page that the browser keeps for going back has no token either.
    addEventListener("pagehide", () => { token.value = ""; });
    for (const operation of main.querySelectorAll(".operation")) {
      operation.addEventListener("toggle", () => equip(operation), { once: true });
    }
  }
  addEventListener("hashchange", reveal);
  // Before that the browser itself goes to the address, and takes the focus away.
  addEventListener("load", reveal);
})();
