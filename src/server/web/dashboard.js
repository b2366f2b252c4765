// Live figures of the server, from /metrics, /slots, /v1/cache/stats and /props: the last three minutes.
import { get } from "./api.js";
import { model, ofModel, refreshModels, stateText } from "./models.js";

const kPoints = 180, kEveryMs = 1000;
const $ = (id) => document.getElementById(id);

// {name: value} of the samples without labels, or with that of the model alone.
export function parseMetrics(text, name) {
  const values = {}, label = name ? `model="${name}"` : undefined;
  for (const line of text.split("\n")) {
    const m = line.match(/^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/);
    if (m && m[2] === label) values[m[1]] = Number(m[3]);
  }
  return values;
}

const per = (a, b) => (b > 0 ? a / b : 0);
// Each from this sample, the one before, and the seconds between.
const kCharts = [
  ["Generated tokens a second", (m, p, s) => per(m["llamacpp:tokens_predicted_total"] - p["llamacpp:tokens_predicted_total"], s), 0],
  ["Prompt tokens a second", (m, p, s) => per(m["llamacpp:prompt_tokens_total"] - p["llamacpp:prompt_tokens_total"], s), 0],
  ["Requests running", (m) => m["llamacpp:requests_processing"], 0],
  ["Requests waiting", (m) => m["llamacpp:requests_deferred"], 0],
  ["Time to first token, seconds", (m, p) => per(
    m["mlxcel_time_to_first_token_seconds_sum"] - p["mlxcel_time_to_first_token_seconds_sum"],
    m["mlxcel_time_to_first_token_seconds_count"] - p["mlxcel_time_to_first_token_seconds_count"]), 3],
  ["KV pages in use, %", (m) => 100 * m["llamacpp:kv_cache_usage_ratio"], 0],
  ["Prompt tokens from the cache, %", (m, p) => {
    const cached = m["mlxcel_cached_tokens_total"] - p["mlxcel_cached_tokens_total"];
    return 100 * per(cached, cached + m["llamacpp:prompt_tokens_total"] - p["llamacpp:prompt_tokens_total"]);
  }, 0],
];

function svg(name, attributes) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  return e;
}

class Chart {
  constructor(title, digits) {
    this.values = [];
    this.title = title;
    this.digits = digits;
    const figure = document.createElement("figure"), caption = document.createElement("figcaption");
    figure.className = "chart";
    this.now = document.createElement("output");
    const name = document.createElement("span");
    name.textContent = title;
    caption.append(name, this.now);
    this.picture = svg("svg", { viewBox: `0 0 ${kPoints} 40`, preserveAspectRatio: "none", role: "img" });
    this.area = svg("path", { class: "area" });
    this.line = svg("path", {});
    this.picture.append(this.area, this.line);
    figure.append(caption, this.picture);
    $("charts").append(figure);
  }

  add(value) {
    this.values.push(Number.isFinite(value) ? value : 0);
    if (this.values.length > kPoints) this.values.shift();
    const most = Math.max(...this.values, 1e-9), from = kPoints - this.values.length;
    const points = this.values.map((v, i) => `${from + i},${(38 - 36 * v / most).toFixed(2)}`);
    this.line.setAttribute("d", `M${points.join("L")}`);
    this.area.setAttribute("d", `M${from},40L${points.join("L")}L${kPoints - 1},40Z`);
    const last = this.values.at(-1);
    this.now.textContent = last.toFixed(this.digits);
    this.picture.setAttribute("aria-label", `${this.title}: now ${last.toFixed(this.digits)}, at most ${most.toFixed(this.digits)}`);
  }
}

function showFacts(models, props, cache) {
  const facts = models.length > 1 ? { Models: models.map((m) => `${m.id}: ${stateText(m.status)}`).join("; ") } : {};
  if (props) Object.assign(facts, {
    Model: props.model_alias,
    Program: props.build_info,
    Fingerprint: props.system_fingerprint,
    Context: `${props.default_generation_settings.n_ctx} tokens`,
    Together: `${props.total_slots} requests`,
    "Prefix cache": `${cache.cached_tokens} of ${cache.prompt_tokens} prompt tokens found, ${cache.nodes} nodes`,
    "KV pages": `${cache.pages - cache.pages_free} of ${cache.pages} hold something, ${cache.pages_idle} of them only for the cache`,
    Preemptions: cache.preemptions,
  });
  $("facts").replaceChildren(...Object.entries(facts).flatMap(([k, v]) => {
    const dt = document.createElement("dt"), dd = document.createElement("dd");
    dt.textContent = k;
    dd.textContent = v;
    return [dt, dd];
  }));
}

function showSlots(slots) {
  const rows = slots.filter((s) => s.is_processing).map((s) => {
    const tr = document.createElement("tr");
    for (const v of [s.request_id, s.n_prompt_tokens, s.n_decoded, s.seconds?.toFixed(1)]) {
      const td = document.createElement("td");
      td.textContent = v;
      tr.append(td);
    }
    return tr;
  });
  $("slots").tBodies[0].replaceChildren(...rows);
}

let timer = null;

export function startDashboard(onError) {
  if (timer) return;
  const charts = kCharts.map(([title, , digits]) => new Chart(title, digits));
  let before = null, at = 0;
  const tick = async () => {
    try {
      const models = await refreshModels();
      const loaded = !model() || models.find((m) => m.id === model())?.status.value === "loaded";
      const [slots, cache, props] = loaded ? await Promise.all(["slots", "v1/cache/stats", "props"].map(ofModel).map(get)) : [[]];
      const now = performance.now(), sample = parseMetrics(await get("metrics"), model());
      if (before && loaded) kCharts.forEach(([, value], i) => charts[i].add(value(sample, before, (now - at) / 1000)));
      before = sample;
      at = now;
      showFacts(models, props, cache);
      showSlots(slots);
      onError("");
    } catch (error) {
      onError(error.message);
    }
    timer = setTimeout(tick, kEveryMs);
  };
  timer = setTimeout(tick, 0);
}

export function stopDashboard() {
  clearTimeout(timer);
  timer = null;
  $("charts").replaceChildren();
}
