// The chat: conversations in this browser, answers streamed from the server.
import { chat, get } from "./api.js";
import { startDashboard, stopDashboard } from "./dashboard.js";
import { markdown } from "./markdown.js";
import { model, ofModel, onModelChange, refreshModels, stateOf, stateText } from "./models.js";
import { chats, saveChats, saveSettings, settings } from "./store.js";

const $ = (id) => document.getElementById(id);
const all = chats();
let current = all[0] ?? newChat();
const unfolded = new WeakMap();  // message -> whether its reasoning shows, once a person chose
let running = null;  // AbortController of the answer that streams

function newChat() {
  const made = { id: `${Date.now()}-${Math.floor(Math.random() * 1e6)}`, title: "", messages: [] };
  all.unshift(made);
  return made;
}

function save() {
  saveChats(all.filter((c) => c.messages.length > 0));
}

function say(text, bad = false) {
  $("status").textContent = text;
  $("status").classList.toggle("error", bad);
}

function button(text, act) {
  const b = document.createElement("button");
  b.type = "button";
  b.textContent = text;
  b.addEventListener("click", act);
  return b;
}

// ---- the list of conversations

function showChats() {
  $("chats").replaceChildren(...all.filter((c) => c.messages.length > 0 || c === current).map((c) => {
    const li = document.createElement("li"), title = c.title || "New conversation";
    const open = button(title, () => select(c)), remove = button("\u00d7", () => removeChat(c));
    open.className = "open";
    if (c === current) open.setAttribute("aria-current", "true");
    remove.className = "delete";
    remove.setAttribute("aria-label", `Delete "${title}"`);
    li.append(open, remove);
    return li;
  }));
}

function select(c) {
  running?.abort();
  current = c;
  $("side").classList.remove("open");
  $("toggle-side").setAttribute("aria-expanded", "false");
  show("chat");
  showChats();
  showMessages();
  $("prompt").focus();
}

function removeChat(c) {
  if (!confirm(`Delete "${c.title || "New conversation"}"?`)) return;
  all.splice(all.indexOf(c), 1);
  save();
  if (c === current) select(all[0] ?? newChat());
  else showChats();
}

// ---- messages

function reasoningNode(message, open) {
  const details = document.createElement("details"), summary = document.createElement("summary");
  details.className = "reasoning";
  details.open = open;
  summary.textContent = "Reasoning";
  summary.addEventListener("click", () => unfolded.set(message, !details.open));
  details.append(summary, ...markdown(message.reasoning));
  return details;
}

// `live`: its answer still streams.
function fill(node, message, index, live) {
  const who = document.createElement("p"), text = document.createElement("div"), tools = document.createElement("div");
  who.className = "who";
  who.textContent = message.role === "user" ? "You" : "Model";
  text.className = "text";
  if (message.role === "user") text.textContent = message.content;
  else text.append(...markdown(message.content));
  tools.className = "tools";
  node.replaceChildren(who);
  if (message.reasoning) node.append(reasoningNode(message, unfolded.get(message) ?? (live && !message.content)));
  node.append(text);
  if (message.error) {
    const p = document.createElement("p");
    p.className = "error";
    p.textContent = message.error;
    node.append(p);
  }
  if (live) return;
  tools.append(button("Copy", () => navigator.clipboard.writeText(message.content)));
  if (message.role === "user") tools.append(button("Edit", () => edit(index)));
  else tools.append(button("Regenerate", () => regenerate(index)));
  if (message.facts) {
    const facts = document.createElement("span");
    facts.className = "facts";
    facts.textContent = message.facts;
    tools.append(facts);
  }
  node.append(tools);
}

function messageNode(message, index, live = false) {
  const node = document.createElement("article");
  node.className = `message ${message.role}`;
  node.setAttribute("aria-label", message.role === "user" ? "You" : "Model");
  fill(node, message, index, live);
  return node;
}

function showMessages() {
  const nodes = current.messages.map((m, i) => messageNode(m, i));
  if (nodes.length === 0) {
    const p = document.createElement("p");
    p.className = "welcome";
    p.textContent = "Ask something. Conversations stay in this browser.";
    nodes.push(p);
  }
  $("messages").replaceChildren(...nodes);
  $("messages").scrollTop = $("messages").scrollHeight;
}

function edit(index) {
  if (running) return;
  $("prompt").value = current.messages[index].content;
  current.messages.splice(index);
  save();
  showMessages();
  $("prompt").focus();
  grow();
}

function regenerate(index) {
  if (running) return;
  current.messages.splice(index);
  answer();
}

// ---- an answer

function requestBody() {
  const { system, key, ...parameters } = settings();
  const body = { messages: [] };
  if (model()) body.model = model();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== "" && value !== null && Number.isFinite(Number(value))) body[name] = Number(value);
  }
  if (system) body.messages.push({ role: "system", content: system });
  for (const m of current.messages) body.messages.push({ role: m.role, content: m.content });
  return body;
}

function factsOf(timings, finish) {
  if (!timings) return finish === "length" ? "cut at the longest answer" : "";
  const parts = [`${timings.predicted_n} tokens`, `${timings.predicted_per_second.toFixed(1)} tokens a second`,
    `first after ${(timings.ttft_ms / 1000).toFixed(2)} s`];
  if (timings.cache_n > 0) parts.push(`${timings.cache_n} prompt tokens from the cache`);
  if (finish === "length") parts.push("cut at the longest answer");
  return parts.join(", ");
}

async function answer() {
  const talk = current, message = { role: "assistant", content: "" }, body = requestBody();
  talk.messages.push(message);
  showMessages();
  const index = talk.messages.length - 1, log = $("messages"), node = log.lastElementChild;
  running = new AbortController();
  $("send").hidden = true;
  $("stop").hidden = false;
  say("Waiting for the first token");
  const loading = model() ? setInterval(() => tellLoading(body.model), 500) : 0;
  let drawn = true;
  const draw = (live) => {
    const below = log.scrollHeight - log.scrollTop - log.clientHeight < 60;
    if (talk === current) fill(node, message, index, live);
    if (below) log.scrollTop = log.scrollHeight;
    drawn = true;
  };
  let finish = null, timings = null;
  try {
    for await (const event of chat(body, running.signal)) {
      message.content += event.delta.content ?? "";
      if (event.delta.reasoning_content) message.reasoning = (message.reasoning ?? "") + event.delta.reasoning_content;
      finish = event.finish ?? finish;
      timings = event.timings ?? timings;
      clearInterval(loading);
      if (drawn) {
        drawn = false;
        requestAnimationFrame(() => draw(true));
        say("Answering");
      }
    }
    say("Done");
  } catch (error) {
    if (error.name === "AbortError") {
      say("Stopped");
    } else {
      message.error = error.message;
      say(error.message, true);
    }
  }
  clearInterval(loading);
  if (model()) showModel();
  message.facts = factsOf(timings, finish);
  running = null;
  $("send").hidden = false;
  $("stop").hidden = true;
  requestAnimationFrame(() => draw(false));
  save();
}

function send() {
  const text = $("prompt").value.trim();
  if (!text || running) return;
  $("prompt").value = "";
  grow();
  current.messages.push({ role: "user", content: text });
  if (!current.title) current.title = text.slice(0, 60);
  save();
  showChats();
  answer();
}

function grow() {
  const box = $("prompt");
  box.style.height = "auto";
  box.style.height = `${box.scrollHeight + 2}px`;
}

// ---- views and settings

function show(view) {
  $("chat-view").hidden = view !== "chat";
  $("dashboard-view").hidden = view !== "dashboard";
  for (const name of ["chat", "dashboard"]) {
    if (name === view) $(`show-${name}`).setAttribute("aria-current", "page");
    else $(`show-${name}`).removeAttribute("aria-current");
  }
  if (view === "dashboard") startDashboard((text) => say(text, true));
  else stopDashboard();
}

function openSettings() {
  const form = $("settings").querySelector("form"), values = settings();
  for (const field of form.elements) if (field.name) field.value = values[field.name] ?? "";
  $("settings").returnValue = "cancel";
  $("settings").showModal();
}

function closeSettings() {
  if ($("settings").returnValue !== "save") return;
  const values = {};
  for (const field of $("settings").querySelector("form").elements) if (field.name && field.value !== "") values[field.name] = field.value;
  saveSettings(values);
  say("");
  showModel();
}

async function tellLoading(name) {
  try {
    await refreshModels();
    if (running && stateOf(name).value === "loading") say(`The model is ${stateText(stateOf(name))}`);
  } catch { /* the answer itself says what is wrong */ }
}

async function showModel() {
  try {
    await refreshModels();
    if (model() && stateOf(model()).value !== "loaded") {
      $("model-name").textContent = stateText(stateOf(model()));
      return;
    }
    const props = await get(ofModel("props")), context = `${props.default_generation_settings.n_ctx} tokens of context`;
    $("model-name").textContent = model() ? context : `${props.model_alias}, ${context}`;
  } catch (error) {
    say(error.message, true);
  }
}

$("composer").addEventListener("submit", (e) => { e.preventDefault(); send(); });
$("prompt").addEventListener("input", grow);
$("prompt").addEventListener("keydown", (e) => {
  if (e.key === "Enter" && !e.shiftKey && !e.isComposing) {
    e.preventDefault();
    send();
  }
});
document.addEventListener("keydown", (e) => { if (e.key === "Escape" && !$("settings").open) running?.abort(); });
$("stop").addEventListener("click", () => running?.abort());
$("new-chat").addEventListener("click", () => select(all.find((c) => c.messages.length === 0) ?? newChat()));
$("show-chat").addEventListener("click", () => show("chat"));
$("show-dashboard").addEventListener("click", () => show("dashboard"));
$("show-settings").addEventListener("click", openSettings);
$("settings").addEventListener("close", closeSettings);
$("toggle-side").addEventListener("click", () => {
  $("toggle-side").setAttribute("aria-expanded", String($("side").classList.toggle("open")));
});
onModelChange(showModel);
showChats();
showMessages();
showModel();
