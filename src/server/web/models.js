// Which model answers, where the server has several.
import { get } from "./api.js";
import { chosenModel, chooseModel } from "./store.js";

const $ = (id) => document.getElementById(id);
let known = [];  // [{id, status: {value, progress}}]

// "" where the server has one model, which needs no name.
export function model() {
  return known.length > 1 ? $("model").value : "";
}

// "props" -> "props?model=NAME"
export function ofModel(path) {
  return model() ? `${path}?model=${encodeURIComponent(model())}` : path;
}

export function stateOf(name) {
  return known.find((m) => m.id === name)?.status ?? { value: "loaded", progress: 1 };
}

// "loaded", "not loaded", "loading, 40 %"
export function stateText({ value, progress }) {
  if (value === "loading") return `loading, ${Math.round(100 * progress)} %`;
  return { unloaded: "not loaded", sleeping: "not loaded" }[value] ?? value;
}

export async function refreshModels() {
  known = (await get("models")).data;
  const select = $("model"), before = select.value || chosenModel();
  const there = known.find((m) => m.id === before) ?? known.find((m) => m.status.value === "loaded") ?? known[0];
  select.replaceChildren(...known.map((m) => {
    const option = document.createElement("option");
    option.value = option.textContent = m.id;
    return option;
  }));
  if (there) select.value = there.id;
  select.hidden = known.length < 2;
  return known;
}

export function onModelChange(changed) {
  $("model").addEventListener("change", () => {
    chooseModel($("model").value);
    changed();
  });
}
