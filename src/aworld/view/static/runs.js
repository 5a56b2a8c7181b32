// All runs under a folder: how far they are, how good, what they cost. Live.
import { get, listen } from "./api.js";
import { pill, progress, rewardBadge, sortHead, spark, statePill, successShare } from "./badges.js";
import { fill, h } from "./dom.js";
import * as f from "./format.js";
import { keys } from "./keyboard.js";
import { crumbs, go, here, link } from "./router.js";

const TREND = "the mean reward as the run went, from 0 to 1; where there is none, how many tasks ended";
const COLUMNS = [
  ["name", "Run", (run) => run.name],
  ["status", "State", (run) => run.status || "damaged"],
  ["engine", "Engine", (run) => run.engine || ""],
  ["done", "Tasks", (run) => run.done || 0],
  ["success", "Success", (run) => (run.done ? (run.counts.success || 0) / run.done : -1)],
  ["reward", "Reward", (run) => run.reward ?? -Infinity],
  ["spark", "Trend", null],
  ["tokens", "Tokens", (run) => run.tokens || 0],
  ["cost", "Cost", (run) => run.cost || 0],
  ["seconds", "Time", (run) => lasted(run) || 0],
  ["created", "Started", (run) => run.created || 0],
];

export async function runsPage(place, params) {
  crumbs("runs");
  let found = await get("runs");
  const search = h("input", {
    type: "search", placeholder: "Search runs", "aria-label": "Search runs", value: params.text || "",
    on: { input: () => remember({ text: search.value }) },
  });
  let sort = params.sort || "-created";
  const count = h("span", { class: "dim" });
  const body = h("tbody", {});
  const head = h("tr", {});
  const compareTwo = { class: "quiet", type: "button", on: { click: () => compareChosen(body) } };
  const compare = h("button", compareTwo, "Compare two");
  const train = link("/training", {}, { class: "button quiet" }, "Training curves");
  const table = h("table", { class: "runs" }, h("thead", {}, head), body);
  const title = [h("h1", {}, "Runs"), count, h("div", { class: "spacer" }), search, compare, train];
  fill(place, h("div", { class: "title" }, title),
    h("div", { class: "card flush" }, table), h("p", { class: "dim folder" }, found.root));

  function remember(changes) {
    go("/", { ...here().params, ...changes }, { replace: true });
    draw();
  }
  function drawHead() {
    const pick = h("th", { class: "pick" }, h("span", { class: "sr" }, "choose"));
    fill(head, pick, COLUMNS.map(([name, title, of]) => {
      if (!of) return h("th", { class: `c-${name}`, title: TREND }, title);
      return sortHead(name, title, sort, () => {
        sort = sort === `-${name}` ? name : `-${name}`;
        remember({ sort });
      });
    }));
  }
  function draw() {
    drawHead();
    const chosen = new Set([...body.querySelectorAll("input:checked")].map((box) => box.value));
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const of = COLUMNS.find(([name]) => name === sort.replace("-", ""))?.[2] || COLUMNS[10][2];
    const sign = sort.startsWith("-") ? -1 : 1;
    const runs = found.runs.filter((run) => words.every((word) => textOf(run).includes(word)));
    runs.sort((one, other) => sign * (of(one) < of(other) ? -1 : of(one) > of(other) ? 1 : 0));
    const all = found.runs.length;
    fill(count, runs.length === all ? String(runs.length) : `${runs.length} of ${all}`);
    fill(body, runs.map((run) => row(run, chosen.has(run.id))));
    train.hidden = !found.runs.some((run) => run.training);
    compare.hidden = all < 2;
    const empty = (...words) => h("tr", {}, h("td", { colspan: 12, class: "empty" }, words));
    const command = h("code", {}, "aworld run tasks.jsonl --view");
    if (!all) body.append(empty("No runs here yet. ", command, " makes one."));
    else if (!runs.length) body.append(empty("No run fits."));
  }
  draw();
  const stop = listen({}, { runs: (news) => {
    found = news;
    draw();
  } });
  const forget = keys({
    "/": [() => search.focus(), "search"],
    j: [() => step(body, 1), "next run"], k: [() => step(body, -1), "previous run"],
  });
  return () => {
    stop();
    forget();
  };
}

function row(run, chosen) {
  const label = `choose ${run.name}`;
  const box = h("input", { type: "checkbox", value: run.id, checked: chosen, "aria-label": label });
  const parts = run.name.split("/");
  const folder = parts.slice(0, -1).join("/") + "/";
  const name = link("/run", { run: run.id }, { class: "name", title: run.name },
    parts.length > 1 ? h("span", { class: "dim" }, folder) : null, parts[parts.length - 1]);
  if (run.error) {
    return h("tr", { class: "broken" }, h("td", { class: "pick" }), h("td", { class: "c-name" }, name),
      h("td", { class: "c-status" }, pill("damaged")), h("td", { colspan: 8, class: "dim why" }, run.error),
      h("td", { class: "c-created num" }, f.when(run.created)));
  }
  const total = run.total === null ? "?" : f.count(run.total);
  const done = h("span", { class: "num" }, `${f.count(run.done)} / ${total}`);
  const isScored = run.reward !== null;
  return h("tr", {},
    h("td", { class: "pick" }, box),
    h("td", { class: "c-name" }, name, run.training ? h("span", { class: "tag" }, "training") : null),
    h("td", { class: "c-status" }, statePill(run)),
    h("td", { class: "c-engine dim" }, run.engine),
    h("td", { class: "c-done" }, done, progress(run.done, run.total, run.counts)),
    cell("success", "Success", successShare(run.counts, run.done)),
    h("td", { class: "c-reward num", data: { name: "Reward" } }, rewardBadge(run.reward)),
    h("td", { class: "c-spark" },
      spark(run.spark, isScored ? "reward over time" : "tasks over time", isScored)),
    cell("tokens", "Tokens", f.count(run.tokens)),
    cell("cost", "Cost", f.cost(run.cost)),
    cell("seconds", "Time", f.seconds(lasted(run))),
    cell("created", "Started", f.when(run.created)));
}

function cell(name, title, value) {
  return h("td", { class: `c-${name} num`, data: { name: title } }, value);
}

function lasted(run) {
  if (!run.began) return null;
  const end = run.status === "running" ? Math.max(run.ended, Date.now() / 1000 - 1) : run.ended;
  return end - run.began - run.idle;
}

function textOf(run) {
  const { name, status, engine, scored_by, training } = run;
  return `${name} ${status} ${engine} ${scored_by || ""} ${training ? "training" : ""}`.toLowerCase();
}

function compareChosen(body) {
  const chosen = [...body.querySelectorAll("input:checked")].map((box) => box.value);
  go("/compare", { first: chosen[0] || "", second: chosen[1] || "" });
}

function step(body, by) {
  const links = [...body.querySelectorAll("a.name")];
  const next = links[Math.max(0, Math.min(links.length - 1, links.indexOf(document.activeElement) + by))];
  if (next) next.focus();
}
