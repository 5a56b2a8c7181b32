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
  const given = Object.entries(params).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return new URLSearchParams(given).toString();
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
export async function logIn() {
  const found = /^#key=([\w-]+)$/.exec(location.hash);
  if (!found || isExport) return;
  history.replaceState(null, "", location.pathname + location.search);
  await post("login", { key: found[1] });
}

// Calls listeners by the kind of event; gives a function that ends it. After the server was gone it
// comes back by itself.
export function listen(params, listeners) {
  if (isExport) return () => {};
  let source = null, timer = 0, wait = 500, over = false;
  const open = () => {
    source = new EventSource(`/api/events?${query(params)}`);
    for (const [kind, listener] of Object.entries(listeners)) {
      source.addEventListener(kind, (event) => listener(JSON.parse(event.data)));
    }
    source.addEventListener("open", () => {
      wait = 500;
      connection("");
    });
    source.addEventListener("error", () => {
      source.close();
      if (over) return;
      whyNot().then((words) => over || connection(words));
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

async function whyNot() {
  try {
    const { status } = await fetch("/api/hello");
    return status === 401 ? "locked: open the new link" : "reconnecting…";
  } catch (error) {
    return "reconnecting…";
  }
}

function connection(text) {
  const place = document.getElementById("connection");
  if (place && place.textContent !== text) place.textContent = text;
}
