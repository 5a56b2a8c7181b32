// Keys that do something, each with the words that the help shows for it.
import { fill, h } from "./dom.js";

const layers = [];
let previous = null;

// {key: [function, words]}; gives a function that takes them away again.
export function keys(known) {
  layers.push(known);
  return () => {
    const place = layers.indexOf(known);
    if (place >= 0) layers.splice(place, 1);
  };
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const at = event.target instanceof Element ? event.target : document.body;
  const writes = at.matches("input:not([type=checkbox]), textarea, select");
  if (writes && event.key !== "Escape") return;
  if (writes) {
    at.blur();
    return;
  }
  if (at.matches("[data-own-keys]") && at.dataset.ownKeys.split(" ").includes(event.key)) return;
  for (const layer of [...layers].reverse()) {
    if (layer[event.key]) {
      event.preventDefault();
      layer[event.key][0](event);
      return;
    }
  }
});

export function toggleHelp() {
  if (document.getElementById("keys")) closeHelp();
  else openHelp();
}

export function closeHelp() {
  const open = document.getElementById("keys");
  if (!open) return;
  open.close();
  open.remove();
  if (previous) previous.focus();
}

function openHelp() {
  previous = document.activeElement;
  const known = [...layers].reverse().flatMap((layer) => Object.entries(layer));
  const rows = known.filter(([, [, words]]) => words);
  const list = h("dl", { class: "keys" });
  for (const [key, [, words]] of rows) {
    list.append(h("dt", {}, h("kbd", {}, NAMES[key] || key)), h("dd", {}, words));
  }
  const close = h("button", { type: "button", on: { click: closeHelp } }, "Close");
  const dialog = h("dialog", { id: "keys", "aria-label": "Keyboard keys" });
  fill(dialog, h("h2", {}, "Keys"), list, close);
  document.body.append(dialog);
  dialog.addEventListener("close", closeHelp);
  dialog.showModal();
}

const NAMES = { ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", Escape: "Esc" };
