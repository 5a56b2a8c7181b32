// Asks the server for data, and hears from it what has changed.
import { answer, isExport } from "./exported.js";

export class Refused extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

export async function get(place, params = {}) {
  if (isExport) return answer(place, params);
  const response = await ask(`/api/${place}?${query(params)}`);
  return response.json();
}

export async function getBytes(place, params = {}) {
  const response = await ask(`/api/${place}?${query(params)}`);
  return response.arrayBuffer();
}

export async function post(place, body) {
  const headers = { "Content-Type": "application/json" };
  const response = await ask(`/api/${place}`, { method: "POST", headers, body: JSON.stringify(body) });
  return response.json();
}

export function query(params) {
  const isGiven = ([, value]) => value !== "" && value !== null && value !== undefined;
  return new URLSearchParams(Object.entries(params).filter(isGiven)).toString();
}

async function ask(url, options) {
  let response;
  try {
    response = await fetch(url, options);
  } catch (error) {
    throw new Refused("the server does not answer", 0);
  }
  if (response.ok) return response;
  let message = `${response.status} ${response.statusText}`;
  try {
    message = (await response.json()).error || message;
  } catch (error) {
    // no JSON: the status has to do
  }
  throw new Refused(message, response.status);
}

// The key stands in the fragment, which browsers send to nobody. It is exchanged for a cookie.
// `--view` opens such a link also for a run that is yet to come.
export async function logIn() {
  const found = /^#key=([\w-]+)$/.exec(location.hash);
  if (!found || isExport) return;
  history.replaceState(null, "", location.pathname + location.search);
  await post("login", { key: found[1] });
  awaited = new URLSearchParams(location.search).get("run");
}

let awaited = null;
export function isAwaited(run) {
  return run === awaited;
}

export function arrived() {
  awaited = null;
}

// Calls listeners by the kind of event; gives a function that ends it. After the server was gone it
// comes back by itself, and calls the listener `back`.
export function listen(params, listeners) {
  if (isExport) return () => {};
  let source = null, timer = 0, wait = 500, over = false, broken = false;
  const open = () => {
    source = new EventSource(`/api/events?${query(params)}`);
    for (const [kind, listener] of Object.entries(listeners)) {
      source.addEventListener(kind, (event) => listener(JSON.parse(event.data)));
    }
    source.addEventListener("open", () => {
      wait = 500;
      connection("");
      if (broken && listeners.back) listeners.back();
      broken = false;
    });
    source.addEventListener("error", () => {
      source.close();
      if (over) return;
      broken = true;
      whyNot(params, listeners, () => over);
      timer = setTimeout(open, wait);
      wait = Math.min(wait * 1.6, 5000);
    });
  };
  open();
  return () => {
    over = true;
    clearTimeout(timer);
    if (source) source.close();
    connection("");
  };
}

// The server may be away, have another key, or have no such run any more.
async function whyNot(params, listeners, isOver) {
  let words = AWAY;
  try {
    await get(params.run ? "now" : "hello", params);
  } catch (error) {
    if (isOver()) return;
    if (error.status === 401) words = "locked: open the new link";
    if (error.status === 404 && listeners.problem) {
      listeners.problem({ error: error.message, status: 404 });
      words = "";
    }
  }
  if (!isOver()) connection(words);
}

export const AWAY = "reconnecting…";
let told = "";

// Words where the server cannot be reached, else none. Those who listen to `connectionchange` are told.
export function connection(text) {
  if (text === told) return;
  told = text;
  const place = document.getElementById("connection");
  if (place) place.textContent = text;
  dispatchEvent(new Event("connectionchange"));
}

export function isConnected() {
  return !told;
}
