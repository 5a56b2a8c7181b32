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
  const isAsked = (name) => params[name];
  const chosen = Object.fromEntries(FILTERS.filter(isAsked).map((name) => [name, params[name]]));
  const name = found.samples > 1 ? `${found.task}#${found.sample}` : found.task;
  crumbs(...(isExport ? [] : [["runs", "/", {}]]), [run, "/run", { run, ...chosen }], name);
  const same = { run, task: found.task, sample: found.sample || "" };
  const step = (slot) => {
    if (slot === null || slot === undefined) return;
    go("/task", { run, slot, ...chosen, colouring: here().params.colouring });
  };
  const stepButton = (sign, title, label, slot) => h("button", {
    type: "button", class: "quiet", disabled: slot === null, title, "aria-label": label,
    on: { click: () => step(slot) },
  }, sign);
  const walk = h("span", { class: "walk" },
    stepButton("←", "Previous (←)", "Previous task", found.previous),
    stepButton("→", "Next (→)", "Next task", found.next));
  const main = h("div", { class: "main" });
  const hasTokens = found.turns.some((turn) => turn.tokens);
  let colouring = hasTokens ? params.colouring || "" : "";
  const choose = h("select", { "aria-label": "Colour tokens" },
    h("option", { value: "" }, "plain text"), h("option", { value: "logprob" }, "by log-probability"),
    found.verdict ? h("option", { value: "trained" }, "by what was trained") : null);
  choose.value = colouring;
  choose.addEventListener("change", () => {
    colouring = choose.value;
    go("/task", { ...here().params, colouring }, { replace: true });
    draw();
  });
  function draw() {
    const legend = colouring ? tokenLegend(colouring) : null;
    const bar = h("div", { class: "colouring" }, h("label", {}, "Tokens ", choose), legend);
    const turns = found.turns.filter((turn) => !isOutcome(turn, found));
    fill(main, hasTokens ? bar : null, talk(turns, { verdict: found.verdict, colouring }), outcome(found));
  }
  draw();
  const title = h("div", { class: "title" }, walk, h("h1", { dir: "auto", title: name }, name),
    pill(found.status), rewardBadge(found.reward), h("span", { class: "spacer" }), samples(found, run));
  fill(place, title,
    h("div", { class: "rollout" }, main, aside(found, same)));
  const copying = {
    c: [() => copyAs(same, "json"), "copy as JSON"],
    m: [() => copyAs(same, "messages"), "copy as messages"],
  };
  const forget = keys({
    ArrowRight: [() => step(found.next), "next task"],
    ArrowLeft: [() => step(found.previous), "previous task"],
    n: [() => step(found.next), ""], p: [() => step(found.previous), ""],
    ...(isExport ? {} : copying),
    g: [() => found.samples > 1 && go("/group", { run, task: found.task }), "all samples of this task"],
    u: [() => go("/run", { run, ...chosen }), "up to the run"],
  });
  return forget;
}

function samples(found, run) {
  if (found.samples < 2) return null;
  const most = Math.min(found.samples, 12);
  const sample = (_, n) => {
    const current = n === found.sample ? { class: "current", "aria-current": "page" } : { class: "" };
    return link("/task", { run, task: found.task, sample: n || "" }, current, String(n));
  };
  return h("nav", { class: "samples", "aria-label": "Samples" }, h("span", { class: "dim" }, "samples"),
    Array.from({ length: most }, sample),
    link("/group", { run, task: found.task }, { class: "button quiet small" }, "side by side"));
}

function outcome(found) {
  const { answer, error, status } = found;
  const parts = [];
  if (error && status === "truncated") {
    const why = h("div", { class: "said" }, error.message || error.kind);
    parts.push(ending({ class: "turn t-truncated" }, "Truncated", why));
  } else if (error) {
    const words = error.message ? `${error.kind}: ${error.message}` : error.kind;
    const isTrace = error.traceback && error.traceback.trim() !== words;
    parts.push(ending({ class: "turn t-error", role: "alert" }, "Error",
      h("div", { class: "said" }, words), isTrace ? trace(error.traceback) : null));
  }
  if (answer !== null) {
    const said = h("div", { class: "said", dir: "auto" }, answer);
    parts.push(ending({ class: "turn t-answer" }, "Answer", said));
  }
  return parts;
}

function ending(props, who, ...said) {
  return h("article", props, h("header", {}, h("span", { class: "who" }, who)), said);
}

function trace(traceback) {
  const frame = h("span", { class: "frame" }, ownFrame(traceback));
  return h("details", {}, h("summary", {}, "Traceback", frame), h("pre", {}, traceback));
}

const NOT_OWN = /(^|[/\\])(site-packages|dist-packages|src[/\\]aworld|python3\.\d+)[/\\]|^</;

// The last place in a traceback that is neither ours nor of an installed package.
function ownFrame(traceback) {
  const frames = [...traceback.matchAll(/^ *File "([^"\n]+)", line (\d+), in (.+)(?:\n {4,}(.*))?/gm)];
  const isOwn = ([, file]) => !NOT_OWN.test(file);
  const frame = frames.filter(isOwn).pop() || frames.pop();
  if (!frame) return "";
  const [, file, line, where, code] = frame;
  return ` ${file.split(/[/\\]/).slice(-2).join("/")}:${line} in ${where}${code ? `: ${code.trim()}` : ""}`;
}

function aside(found, same) {
  const copies = copiesOf(found, same), metadata = Object.entries(found.metadata);
  const unscored = h("p", { class: "dim" }, "Nothing has scored it.");
  const truth = h("div", { class: "said", dir: "auto" }, found.ground_truth);
  const rows = metadata.map(([key, value]) => row(key, plainly(value)));
  return h("aside", { "aria-label": "Facts" },
    card("Reward", found.scores.length ? found.scores.map(scoreOf) : unscored, verdictOn(found.verdict)),
    h("section", { class: "card" }, factsOf(found, same)),
    found.ground_truth !== null ? card("Ground truth", truth) : null,
    rows.length ? card("Metadata", h("dl", { class: "facts-list" }, rows)) : null,
    copies.some(Boolean)
      ? h("section", { class: "card copies" }, h("h2", {}, "Copy"), h("div", {}, copies)) : null,
    gantt(found));
}

function card(title, ...parts) {
  return h("section", { class: "card" }, h("h2", {}, title), parts);
}

function row(name, ...value) {
  return [h("dt", {}, name), h("dd", {}, ...value)];
}

function factsOf(found, same) {
  const usage = found.usage || {};
  const spent = (usage.prompt_tokens || 0) + (usage.completion_tokens || 0);
  const result = (_, n) => {
    const props = { class: n + 1 === found.attempt ? "current" : "" };
    return link("/task", { ...same, attempt: n + 1 }, props, `${n + 1} `);
  };
  return h("dl", { class: "facts-list" },
    row("Time", f.seconds(found.seconds)), row("Started", f.when(found.began)),
    spent ? row("Tokens", `${f.count(usage.prompt_tokens)} + ${f.count(usage.completion_tokens)}`) : null,
    usage.model_calls ? row("Model calls", String(usage.model_calls)) : null,
    usage.cost ? row("Cost", f.cost(usage.cost)) : null,
    found.worker !== null ? row("Worker", String(found.worker)) : null,
    found.tries > 1 ? row("Attempt", String(found.tries)) : null,
    found.attempts > 1 ? row("Results", Array.from({ length: found.attempts }, result)) : null);
}

function copiesOf(found, same) {
  const again = rerun(found.command || "");
  const button = (title, hint, click) =>
    h("button", { type: "button", class: "small", title: hint, on: { click } }, title);
  const command = again ? button("Command to re-run it", again, () => copy(again, "The command")) : null;
  if (isExport) return [command]; // a file holds what is shown, not all that was recorded
  const address = new URL(to("/task", same), location.href).href;
  return [
    copyButton(same, "json", "JSON"),
    copyButton(same, "messages", "Messages", asksModel(found) ? "" : NO_MESSAGES),
    command, button("Link", null, () => copy(address, "The link")),
  ];
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
  const hint = { title: whyNot || null, disabled: Boolean(whyNot) };
  const click = () => copyAs(same, form);
  return h("button", { type: "button", class: "small", ...hint, on: { click } }, title);
}

async function copyAs(same, form) {
  const data = await get("copy", { ...same, as: form });
  if (form === "messages" && !data.length) return toast(NO_MESSAGES, "bad");
  await copy(JSON.stringify(data, null, 2), form === "json" ? "The rollout" : "The messages");
}

function scoreOf(one) {
  const part = ([name, value]) =>
    h("li", {}, h("span", {}, name), h("span", { class: "num" }, f.reward(value)));
  const parts = Object.entries(one.parts || {}).map(part);
  return h("div", { class: "score" },
    h("div", { class: "of" }, h("span", {}, one.name), rewardBadge(one.value)),
    parts.length ? h("ul", {}, parts) : null,
    one.reason ? h("p", { class: "dim" }, one.reason) : null,
    one.error ? h("p", { class: "bad" }, one.error) : null);
}

function verdictOn(verdict) {
  if (!verdict) return null;
  if (!verdict.trained) return h("p", { class: "dim" }, `Not trained on: ${verdict.reason}`);
  const sign = verdict.advantage >= 0 ? "+" : "";
  const advantage = `${sign}${f.figure(verdict.advantage)}`, weight = f.share(verdict.weight, 1);
  return h("p", {}, `Trained on in step ${verdict.step}: advantage ${advantage}, ${weight} of the loss`);
}

// Where the time went: model calls and tools, from the beginning of the task to its end.
function gantt(found) {
  const timed = found.turns.filter((turn) => turn.began && turn.ended);
  if (!timed.length) return null;
  const from = Math.min(found.began || Infinity, ...timed.map((turn) => turn.began));
  const to = Math.max(from + found.seconds, ...timed.map((turn) => turn.ended)), span = to - from || 1;
  const percent = (seconds) => (100 * seconds) / span;
  const rows = timed.map((turn) => {
    const isTool = turn.kind === "tool", lasted = turn.ended - turn.began;
    const who = isTool ? turn.tool || "tool" : turn.agent.split("/").slice(-1)[0] || "model";
    const css = { left: `${percent(turn.began - from)}%`, width: `${Math.max(percent(lasted), 1)}%` };
    return h("li", { title: f.seconds(lasted) }, h("span", { class: "kind" }, who),
      h("span", { class: "track" }, h("i", { class: isTool ? "g-tool" : "g-model", css })));
  });
  const list = h("ul", { class: "gantt" }, rows.slice(0, MOST_ROWS));
  const more = h("button", { type: "button", class: "quiet small" }, `show all ${rows.length}`);
  more.addEventListener("click", () => {
    fill(list, rows);
    more.remove();
  });
  return card("Where the time went", list, rows.length > MOST_ROWS ? more : null);
}
