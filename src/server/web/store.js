// What this browser keeps: settings and conversations. Nothing is sent anywhere but to the server in requests.
const kSettings = "mlxcel.settings", kChats = "mlxcel.chats", kModel = "mlxcel.model";
const kMostChats = 200;

function read(key, otherwise) {
  try {
    return JSON.parse(localStorage.getItem(key)) ?? otherwise;
  } catch {
    return otherwise;
  }
}

export function settings() {
  return read(kSettings, {});
}

export function saveSettings(values) {
  localStorage.setItem(kSettings, JSON.stringify(values));
}

export function chosenModel() {
  return read(kModel, "");
}

export function chooseModel(name) {
  localStorage.setItem(kModel, JSON.stringify(name));
}

// [{id, title, messages: [{role, content, reasoning?, facts?, error?}]}], newest first.
export function chats() {
  return read(kChats, []);
}

// Where the browser has no more room, the oldest conversations go.
export function saveChats(all) {
  for (let kept = all.slice(0, kMostChats); ; kept = kept.slice(0, -1)) {
    try {
      localStorage.setItem(kChats, JSON.stringify(kept));
      return;
    } catch (error) {
      if (kept.length === 0) throw error;
    }
  }
}
