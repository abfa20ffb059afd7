// Sends what stands in a form of /docs, with the API key if there is one, and shows the answer. Nothing is kept.
"use strict";

const key = document.getElementById("key"); // there is none where the server asks for no keys

function shown(status, headers, text) {
  const named = ["Content-Type", "Location", "Retry-After", "Server-Timing"].filter((name) => headers.get(name));
  let body = text;
  try {
    body = JSON.stringify(JSON.parse(text), null, 2);
  } catch { /* no JSON: shown as it is */ }
  return [status, ...named.map((name) => `${name}: ${headers.get(name)}`), "", body].join("\n");
}

async function send(form) {
  const path = form.dataset.path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(form.elements[name].value));
  const area = form.querySelector("textarea");
  const options = { method: form.dataset.method, headers: {} };
  if (key?.value.trim()) options.headers.Authorization = `Bearer ${key.value.trim()}`;
  if (area) {
    const isForm = area.dataset.type === "application/x-www-form-urlencoded";
    options.headers["Content-Type"] = area.dataset.type;
    options.body = isForm ? new URLSearchParams(JSON.parse(area.value)).toString() : area.value;
  }
  const response = await fetch(path, options);
  return shown(response.status, response.headers, await response.text());
}

for (const form of document.querySelectorAll("form.try")) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const output = form.querySelector("output");
    output.textContent = "…";
    try {
      output.textContent = await send(form);
    } catch (error) {
      output.textContent = `Not sent: ${error.message}`;
    }
  });
}
