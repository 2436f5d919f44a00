// Buttons and forms of the page of a stand-in: each sends a control request, and the page is loaded again.
"use strict";
const base = location.pathname.replace(/\/-\/stand-in$/, "/-/");
const message = document.getElementById("message");

async function send(method, path, body) {
  message.textContent = "";
  const reply = await fetch(base + path, {
    method,
    headers: { "content-type": "application/json" },
    body: method === "DELETE" ? undefined : body,
  });
  if (reply.ok) return location.reload();
  const said = await reply.json().catch(() => ({}));
  message.textContent = said.errors ? said.errors.map((one) => one.message).join(" ") : `The stand-in answered ${reply.status}.`;
}

document.addEventListener("click", (event) => {
  const { method, path, body } = event.target.dataset;
  if (path) send(method, path, body);
});

document.addEventListener("submit", (event) => {
  event.preventDefault();
  const { target, whole } = event.target.dataset;
  const field = event.target.elements[0];
  send("POST", target, whole ? field.value : JSON.stringify({ [field.name]: field.value }));
});
