// Which page is shown, and how one gets from one to another. Every page has a link of its own.
import { isExport } from "./exported.js";
import { AWAY, arrived, connection, isAwaited, query } from "./api.js";
import { fill, h } from "./dom.js";

let pages = {}, leave = () => {}, turn = 0, last = "", wait = 0, isAway = false;
const scrolled = new Map(); // how far down each page was when it was left

// Where we are: a path and its parameters. A file has no paths: there it stands behind the #.
export function here() {
  const text = isExport ? location.hash.slice(1) || "/" : location.pathname + location.search;
  const [path, words] = text.split("?");
  return { path, params: Object.fromEntries(new URLSearchParams(words || "")) };
}

export function to(path, params = {}) {
  const words = query(params);
  return (isExport ? "#" : "") + path + (words ? `?${words}` : "");
}

export function go(path, params = {}, { replace = false } = {}) {
  if (isExport) {
    const place = location.pathname + location.search + to(path, params);
    if (replace) history.replaceState(null, "", place);
    else location.hash = to(path, params);
    if (!replace) return;
  } else if (replace) {
    history.replaceState(null, "", to(path, params));
  } else {
    history.pushState(null, "", to(path, params));
  }
  if (!replace) show();
}

export function start(known) {
  pages = known;
  addEventListener(isExport ? "hashchange" : "popstate", () => show({ back: true }));
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a[data-link]") : null;
    if (!link || isExport || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    const target = new URL(link.getAttribute("href"), location.href);
    if (target.origin !== location.origin) return;
    history.pushState(null, "", target.pathname + target.search);
    show();
  });
  show();
}

export function link(path, params, props, ...children) {
  return h("a", { href: to(path, params), data: { link: "" }, ...props }, ...children);
}

// The way back: [["runs", "/", {}], ["first", "/run", {run}], "here"]
export function crumbs(...parts) {
  const place = document.getElementById("crumbs");
  const nodes = parts.map((part) => {
    if (typeof part === "string") return h("span", { "aria-current": "page", title: part }, part);
    return link(part[1], part[2], { title: part[0] }, part[0]);
  });
  fill(place, nodes.flatMap((node, n) => (n ? [h("i", { "aria-hidden": "true" }, "/"), node] : [node])));
  const last = parts[parts.length - 1];
  document.title = `${typeof last === "string" ? last : last[0]} · aworld`;
}

// `again`: the same page is tried once more; nobody has gone anywhere.
export async function show({ back = false, again = false } = {}) {
  const mine = ++turn, main = document.getElementById("main");
  if (last && !again) scrolled.set(last, scrollY);
  last = location.href;
  main.setAttribute("aria-busy", "true");
  leave();
  leave = () => {};
  const { path, params } = here();
  const page = pages[path] || (isExport ? pages["/"] : noSuchPage);
  const place = h("div", { class: "page" });
  try {
    const left = await page(place, params, () => mine === turn);
    if (mine !== turn) {
      if (left) left();
      return;
    }
    leave = left || leave;
    fill(main, place);
    wait = 0;
    arrived();
    if (isAway) connection("");
    isAway = false;
  } catch (error) {
    if (mine !== turn) return;
    const notice = problem(error, params.run, { path });
    if (main.textContent !== notice.textContent) fill(main, notice); // said once, not at every try
    isAway = error.status === 0;
    connection(isAway ? AWAY : "");
    // it may be yet to come, and a server may come back
    if (isAway || error.status === 404) retry(mine);
  }
  if (mine !== turn) return;
  main.removeAttribute("aria-busy");
  if (again) return;
  scrollTo(0, back ? scrolled.get(last) || 0 : 0);
  if (mine > 1) main.focus({ preventScroll: true }); // those who hear the page begin at its top
}

function retry(mine) {
  wait = Math.min(Math.max(wait * 1.6, 1000), 5000);
  setTimeout(() => mine === turn && show({ again: true }), wait);
}

async function noSuchPage() {
  crumbs(["runs", "/", {}], "not found");
  throw new Error("there is no such page: the runs stand on the first one");
}

// What stands in the place of a page, or of a part of it. `run` is the one that was asked for; `path` is
// that of a whole page, from which a link leads on.
export function problem(error, run = "", { path = "" } = {}) {
  const gone = error.status === 404 && !isAwaited(run);
  const isSilent = error.status === 0, isLocked = error.status === 401 || error.status === 403;
  const [title, words] = explained(error, { run, gone, isLocked });
  const again = { type: "button", on: { click: () => show({ again: true }) } };
  const isReachable = path && !isSilent && !isLocked;
  const hasRun = isReachable && !gone && run && path !== "/run";
  const hasList = (gone || isReachable) && !isExport;
  const ways = [
    isSilent ? h("button", again, "Try again") : null,
    hasRun ? link("/run", { run }, { class: "button" }, "Back to the run") : null,
    hasList ? link("/", {}, { class: "button" }, "All runs") : null,
  ];
  return h("section", { class: "notice", role: "alert" },
    h("h1", {}, title), h("p", {}, words), h("div", { class: "actions" }, ways));
}

// What is wrong, in a title and a sentence.
function explained({ status, message }, { run, gone, isLocked }) {
  if (isLocked) return ["This view is locked", message];
  if (status === 0) {
    return ["The server does not answer", "This page comes back by itself when the server does."];
  }
  if (gone && run) return ["No such run", `there is no run ${run} here (deleted or mistyped)`];
  if (status === 404 && !gone) return ["Not there yet", message];
  if (status === 400) return ["Which run?", "The address names no run: choose one from the list."];
  if (/^no task named /.test(message)) return ["No such task", message];
  return ["This cannot be shown", message];
}
