// One rollout: the conversation, what came of it, and what it was worth.
import { get } from "./api.js";
import { pill, rewardBadge } from "./badges.js";
import { copy, fill, h, toast } from "./dom.js";
import { isExport } from "./exported.js";
import * as f from "./format.js";
import { keys } from "./keyboard.js";
import { crumbs, go, here, link, to } from "./router.js";
import { rerun } from "./shell.js";
import { isOutcome, talk } from "./talk.js";
import { FILTERS } from "./tasks.js";
import { tokenLegend } from "./tokens.js";

const MOST_ROWS = 12; // of where the time went

export async function taskPage(place, params) {
  const found = await get("rollout", params);
  const { run } = params;
  const chosen = Object.fromEntries(FILTERS.filter((name) => params[name]).map((name) => [name, params[name]]));
  const name = found.samples > 1 ? `${found.task}#${found.sample}` : found.task;
  crumbs(...(isExport ? [] : [["runs", "/", {}]]), [run, "/run", { run, ...chosen }], name);
  const same = { run, task: found.task, sample: found.sample || "" };
  const step = (slot) => slot !== null && slot !== undefined && go("/task", { run, slot, ...chosen, colouring: here().params.colouring });
  const walk = h("span", { class: "walk" },
    h("button", { type: "button", class: "quiet", disabled: found.previous === null, title: "Previous (←)", "aria-label": "Previous task", on: { click: () => step(found.previous) } }, "←"),
    h("button", { type: "button", class: "quiet", disabled: found.next === null, title: "Next (→)", "aria-label": "Next task", on: { click: () => step(found.next) } }, "→"));
  const main = h("div", { class: "main" });
  const hasTokens = found.turns.some((turn) => turn.tokens);
  let colouring = hasTokens ? params.colouring || "" : "";
  const choose = h("select", { "aria-label": "Colour tokens" }, h("option", { value: "" }, "plain text"), h("option", { value: "logprob" }, "by log-probability"), found.verdict ? h("option", { value: "trained" }, "by what was trained") : null);
  choose.value = colouring;
  choose.addEventListener("change", () => {
    colouring = choose.value;
    go("/task", { ...here().params, colouring }, { replace: true });
    draw();
  });
  function draw() {
    const bar = hasTokens ? h("div", { class: "colouring" }, h("label", {}, "Tokens ", choose), colouring ? tokenLegend(colouring) : null) : null;
    fill(main, bar, talk(found.turns.filter((turn) => !isOutcome(turn, found)), { verdict: found.verdict, colouring }), outcome(found));
  }
  draw();
  fill(place, h("div", { class: "title" }, walk, h("h1", { dir: "auto", title: name }, name), pill(found.status), rewardBadge(found.reward), h("span", { class: "spacer" }), samples(found, run)),
    h("div", { class: "rollout" }, main, aside(found, same)));
  const forget = keys({
    ArrowRight: [() => step(found.next), "next task"], ArrowLeft: [() => step(found.previous), "previous task"],
    n: [() => step(found.next), ""], p: [() => step(found.previous), ""],
    ...(isExport ? {} : { c: [() => copyAs(same, "json"), "copy as JSON"], m: [() => copyAs(same, "messages"), "copy as messages"] }),
    g: [() => found.samples > 1 && go("/group", { run, task: found.task }), "all samples of this task"],
    u: [() => go("/run", { run, ...chosen }), "up to the run"],
  });
  return forget;
}

function samples(found, run) {
  if (found.samples < 2) return null;
  const most = Math.min(found.samples, 12);
  const links = Array.from({ length: most }, (_, n) => link("/task", { run, task: found.task, sample: n || "" }, { class: n === found.sample ? "current" : "", "aria-current": n === found.sample ? "page" : null }, String(n)));
  return h("nav", { class: "samples", "aria-label": "Samples" }, h("span", { class: "dim" }, "samples"), links, link("/group", { run, task: found.task }, { class: "button quiet small" }, "side by side"));
}

function outcome(found) {
  const parts = [];
  if (found.error && found.status === "truncated") {
    parts.push(h("article", { class: "turn t-truncated" }, h("header", {}, h("span", { class: "who" }, "Truncated")), h("div", { class: "said" }, found.error.message || found.error.kind)));
  } else if (found.error) {
    const words = found.error.message ? `${found.error.kind}: ${found.error.message}` : found.error.kind;
    const isTrace = found.error.traceback && found.error.traceback.trim() !== words;
    parts.push(h("article", { class: "turn t-error", role: "alert" }, h("header", {}, h("span", { class: "who" }, "Error")), h("div", { class: "said" }, words), isTrace ? h("details", {}, h("summary", {}, "Traceback", h("span", { class: "frame" }, ownFrame(found.error.traceback))), h("pre", {}, found.error.traceback)) : null));
  }
  if (found.answer !== null) parts.push(h("article", { class: "turn t-answer" }, h("header", {}, h("span", { class: "who" }, "Answer")), h("div", { class: "said", dir: "auto" }, found.answer)));
  return parts;
}

// The last place in a traceback that is neither ours nor of an installed package.
function ownFrame(traceback) {
  const frames = [...traceback.matchAll(/^ *File "([^"\n]+)", line (\d+), in (.+)(?:\n {4,}(.*))?/gm)];
  const isOwn = ([, file]) => !/(^|[/\\])(site-packages|dist-packages|src[/\\]aworld|python3\.\d+)[/\\]|^</.test(file);
  const frame = frames.filter(isOwn).pop() || frames.pop();
  if (!frame) return "";
  const [, file, line, where, code] = frame;
  return ` ${file.split(/[/\\]/).slice(-2).join("/")}:${line} in ${where}${code ? `: ${code.trim()}` : ""}`;
}

function aside(found, same) {
  const row = (name, ...value) => [h("dt", {}, name), h("dd", {}, ...value)];
  const usage = found.usage || {};
  const spent = (usage.prompt_tokens || 0) + (usage.completion_tokens || 0);
  const facts = h("dl", { class: "facts-list" },
    row("Time", f.seconds(found.seconds)), row("Started", f.when(found.began)),
    spent ? row("Tokens", `${f.count(usage.prompt_tokens)} + ${f.count(usage.completion_tokens)}`) : null,
    usage.model_calls ? row("Model calls", String(usage.model_calls)) : null, usage.cost ? row("Cost", f.cost(usage.cost)) : null,
    found.worker !== null ? row("Worker", String(found.worker)) : null,
    found.tries > 1 ? row("Attempt", String(found.tries)) : null,
    found.attempts > 1 ? row("Results", Array.from({ length: found.attempts }, (_, n) => link("/task", { ...same, attempt: n + 1 }, { class: n + 1 === found.attempt ? "current" : "" }, `${n + 1} `))) : null);
  const again = rerun(found.command || "");
  const command = again ? h("button", { type: "button", class: "small", title: again, on: { click: () => copy(again, "The command") } }, "Command to re-run it") : null;
  const share = h("button", { type: "button", class: "small", on: { click: () => copy(new URL(to("/task", same), location.href).href, "The link") } }, "Link");
  // a file holds what is shown, not all that was recorded
  const copies = isExport ? [command] : [copyButton(same, "json", "JSON"), copyButton(same, "messages", "Messages", asksModel(found) ? "" : NO_MESSAGES), command, share];
  return h("aside", { "aria-label": "Facts" },
    h("section", { class: "card" }, h("h2", {}, "Reward"), found.scores.length ? found.scores.map(score) : h("p", { class: "dim" }, "Nothing has scored it."), verdictOn(found.verdict)),
    h("section", { class: "card" }, facts),
    found.ground_truth !== null ? h("section", { class: "card" }, h("h2", {}, "Ground truth"), h("div", { class: "said", dir: "auto" }, found.ground_truth)) : null,
    Object.keys(found.metadata).length ? h("section", { class: "card" }, h("h2", {}, "Metadata"), h("dl", { class: "facts-list" }, Object.entries(found.metadata).map(([key, value]) => row(key, plainly(value))))) : null,
    copies.some(Boolean) ? h("section", { class: "card copies" }, h("h2", {}, "Copy"), h("div", {}, copies)) : null,
    gantt(found));
}

function plainly(value) {
  if (Array.isArray(value) && value.every((part) => typeof part !== "object")) return value.join(", ");
  return typeof value === "string" ? value : JSON.stringify(value);
}

const NO_MESSAGES = "this agent has asked no model: there are no messages";

function asksModel({ turns }) {
  return turns.some((turn) => turn.model !== undefined);
}

function copyButton(same, form, title, whyNot = "") {
  return h("button", { type: "button", class: "small", title: whyNot || null, disabled: Boolean(whyNot), on: { click: () => copyAs(same, form) } }, title);
}

async function copyAs(same, form) {
  const data = await get("copy", { ...same, as: form });
  if (form === "messages" && !data.length) return toast(NO_MESSAGES, "bad");
  await copy(JSON.stringify(data, null, 2), form === "json" ? "The rollout" : "The messages");
}

function score(one) {
  const parts = Object.entries(one.parts || {}).map(([name, value]) => h("li", {}, h("span", {}, name), h("span", { class: "num" }, f.reward(value))));
  return h("div", { class: "score" }, h("div", { class: "of" }, h("span", {}, one.name), rewardBadge(one.value)), parts.length ? h("ul", {}, parts) : null, one.reason ? h("p", { class: "dim" }, one.reason) : null, one.error ? h("p", { class: "bad" }, one.error) : null);
}

function verdictOn(verdict) {
  if (!verdict) return null;
  if (!verdict.trained) return h("p", { class: "dim" }, `Not trained on: ${verdict.reason}`);
  const sign = verdict.advantage >= 0 ? "+" : "";
  return h("p", {}, `Trained on in step ${verdict.step}: advantage ${sign}${f.figure(verdict.advantage)}, ${f.share(verdict.weight, 1)} of the loss`);
}

// Where the time went: model calls and tools, from the beginning of the task to its end.
function gantt(found) {
  const timed = found.turns.filter((turn) => turn.began && turn.ended);
  if (!timed.length) return null;
  const from = Math.min(found.began || Infinity, ...timed.map((turn) => turn.began));
  const to = Math.max(from + found.seconds, ...timed.map((turn) => turn.ended)), span = to - from || 1;
  const rows = timed.map((turn) => h("li", { title: f.seconds(turn.ended - turn.began) }, h("span", { class: "kind" }, turn.kind === "tool" ? turn.tool || "tool" : turn.agent.split("/").slice(-1)[0] || "model"),
    h("span", { class: "track" }, h("i", { class: `g-${turn.kind === "tool" ? "tool" : "model"}`, css: { left: `${(100 * (turn.began - from)) / span}%`, width: `${Math.max((100 * (turn.ended - turn.began)) / span, 1)}%` } }))));
  const list = h("ul", { class: "gantt" }, rows.slice(0, MOST_ROWS));
  const more = h("button", { type: "button", class: "quiet small" }, `show all ${rows.length}`);
  more.addEventListener("click", () => {
    fill(list, rows);
    more.remove();
  });
  return h("section", { class: "card" }, h("h2", {}, "Where the time went"), list, rows.length > MOST_ROWS ? more : null);
}
