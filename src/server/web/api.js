// The server, as the page uses it.
import { settings } from "./store.js";

function headers() {
  const key = settings().key;
  return key ? { Authorization: `Bearer ${key}` } : {};
}

async function failure(response) {
  let message = `HTTP ${response.status}`;
  try {
    message = (await response.json()).error.message;
  } catch { /* not ours */ }
  return new Error(response.status === 401 ? `${message}. Settings has a field for the API key.` : message);
}

export async function get(path) {
  const response = await fetch(path, { headers: headers() });
  if (!response.ok) throw await failure(response);
  return response.headers.get("Content-Type").startsWith("application/json") ? response.json() : response.text();
}

// The events of an answer: each `choices[0].delta`, then {timings, finish_reason}.
export async function* chat(body, signal) {
  const response = await fetch("v1/chat/completions", {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers() },
    body: JSON.stringify({ ...body, stream: true, stream_options: { include_usage: true } }),
    signal,
  });
  if (!response.ok) throw await failure(response);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let pending = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    pending += value;
    const lines = pending.split("\n");
    pending = lines.pop();
    for (const line of lines) {
      if (!line.startsWith("data:")) continue;
      const data = line.slice(5).trim();
      if (data === "[DONE]") return;
      const event = JSON.parse(data);
      if (event.error) throw new Error(event.error.message);
      const choice = event.choices?.[0];
      yield { delta: choice?.delta ?? {}, finish: choice?.finish_reason ?? null, timings: event.timings ?? null };
    }
  }
}
