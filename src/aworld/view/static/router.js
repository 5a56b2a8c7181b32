// Which page is shown, and how one gets from one to another. Every page has a link of its own.
import { isExport } from "./exported.js";
import { query } from "./api.js";
import { fill, h } from "./dom.js";

let pages = {}, leave = () => {}, turn = 0, last = "";
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
    return link(part[1], part[2], {}, part[0]);
  });
  fill(place, nodes.flatMap((node, n) => (n ? [h("i", { "aria-hidden": "true" }, "/"), node] : [node])));
  const last = parts[parts.length - 1];
  document.title = `${typeof last === "string" ? last : last[0]} · aworld`;
}

export async function show({ back = false } = {}) {
  const mine = ++turn, main = document.getElementById("main");
  if (last) scrolled.set(last, scrollY);
  last = location.href;
  main.setAttribute("aria-busy", "true");
  leave();
  leave = () => {};
  const { path, params } = here();
  const page = pages[path] || pages["/"];
  const place = h("div", { class: "page" });
  try {
    const left = await page(place, params, () => mine === turn);
    if (mine !== turn) {
      if (left) left();
      return;
    }
    leave = left || leave;
    fill(main, place);
  } catch (error) {
    if (mine === turn) fill(main, problem(error));
    if (error.status === 404) setTimeout(() => mine === turn && show(), 1000); // it may be yet to come
  }
  if (mine !== turn) return;
  main.removeAttribute("aria-busy");
  scrollTo(0, back ? scrolled.get(last) || 0 : 0);
  if (mine > 1) main.focus({ preventScroll: true }); // those who hear the page begin at its top
}

export function problem(error) {
  const needsKey = error.status === 401 || error.status === 403;
  const title = needsKey ? "This view is locked" : error.status === 404 ? "Not there yet" : "This cannot be shown";
  const more = error.status === 0 ? h("button", { on: { click: () => show() } }, "Try again") : null;
  return h("section", { class: "notice", role: "alert" }, h("h1", {}, title), h("p", {}, error.message), more);
}
