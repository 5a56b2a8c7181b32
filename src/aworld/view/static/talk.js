// A conversation as it was: who said what, with which tools, how long it took.
import { rewardBadge } from "./badges.js";
import { h } from "./dom.js";
import * as f from "./format.js";
import { tokenText } from "./tokens.js";

const LONG = 1600, SYSTEM = 400;
const WHO = {
  system: "System", user: "User", assistant: "Model", tool: "Tool", input: "Input", action: "Answer",
  error: "Error", note: "", developer: "Developer",
};

// Sub-agents that talk between the turns of the others stand side by side, under their names.
export function talk(turns, { verdict = null, colouring = "" } = {}) {
  const agents = [...new Set(turns.map((turn) => turn.agent))].filter(Boolean);
  const depthOf = (agent) => agent.split("/").length;
  const least = Math.min(...agents.map(depthOf));
  const outer = agents.filter((agent) => depthOf(agent) === least);
  const isOnly = (agent) => outer.length === 1 && agent === outer[0];
  const isOuter = ({ agent }) => agents.length < 2 || !agent || isOnly(agent);
  const made = [];
  let aside = [];
  const flush = () => {
    if (aside.length) made.push(sideBySide(aside, verdict, colouring));
    aside = [];
  };
  for (const turn of turns) {
    if (isOuter(turn)) {
      flush();
      made.push(block(turn, { verdict, colouring, named: agents.length > 1 }));
    } else {
      aside.push(turn);
    }
  }
  flush();
  return h("div", { class: "talk" }, made);
}

// What an agent without a model has said or raised is its answer or its error, which stand at the end.
export function isOutcome(turn, { turns, answer, error }) {
  if (turn !== turns[turns.length - 1]) return false;
  if (turn.kind === "action") return answer !== null && turn.text === answer;
  return turn.kind === "error" && Boolean(error);
}

function sideBySide(turns, verdict, colouring) {
  const agents = [...new Set(turns.map((turn) => turn.agent))];
  const column = (agent) => h("section", { class: "agent", "aria-label": `agent ${agent}` },
    h("h3", {}, agent.split("/").slice(-1)[0], h("span", { class: "dim" }, ` ${agent}`)),
    turns.filter((turn) => turn.agent === agent).map((turn) => block(turn, { verdict, colouring })));
  const label = `${agents.length} agents side by side`, css = { "--columns": String(agents.length) };
  return h("div", { class: "aside", role: "group", "aria-label": label, css }, agents.map(column));
}

function block(turn, { verdict, colouring, named = false }) {
  const kind = WHO[turn.kind] === undefined ? "other" : turn.kind;
  if (kind === "note") return h("p", { class: "note dim" }, turn.text);
  const who = turn.kind === "tool" ? turn.tool || turn.name || "Tool" : WHO[turn.kind] ?? turn.kind;
  const head = h("header", {}, h("span", { class: "who" }, who),
    named && turn.agent ? h("span", { class: "tag" }, turn.agent) : null,
    turn.failed ? h("span", { class: "tag bad" }, "failed") : null,
    h("span", { class: "spacer" }), facts(turn));
  const parts = [head];
  if (turn.reasoning) {
    const thought = text(turn.reasoning);
    parts.push(h("details", { class: "reasoning" }, h("summary", {}, "Reasoning"), thought));
  }
  const trained = verdict && verdict.trained && turn.tokens && turn.tokens.trainable;
  if (colouring && turn.tokens) parts.push(tokenText(turn.tokens, { colouring, trained, verdict }));
  else if (turn.text) parts.push(long(turn));
  for (const call of turn.calls || []) parts.push(toolCall(call));
  return h("article", { class: `turn t-${kind}` }, parts);
}

function facts(turn) {
  const seconds = turn.ended && turn.began ? turn.ended - turn.began : null;
  const isCounted = turn.completion_tokens !== undefined;
  const isOddEnd = turn.finish_reason && !["stop", "tool_calls"].includes(turn.finish_reason);
  const said = [
    isCounted ? `${f.count(turn.prompt_tokens)} + ${f.count(turn.completion_tokens)} tokens` : null,
    seconds !== null ? f.seconds(seconds) : null,
    turn.cost ? `cost ${f.cost(turn.cost)}` : null,
    turn.attempts === 0 ? "from the cache" : null,
    turn.attempts > 1 ? `${turn.attempts} attempts` : null,
    isOddEnd ? turn.finish_reason : null,
  ];
  const isGiven = (value) => value !== null && value !== undefined;
  const hint = [turn.model, isGiven(turn.version) ? `policy version ${turn.version}` : null];
  return h("span", { class: "dim num", title: hint.filter(Boolean).join(", ") },
    said.filter(Boolean).join(" · "),
    isGiven(turn.reward) ? [" · reward ", rewardBadge(turn.reward)] : null);
}

function long(turn) {
  const most = turn.kind === "system" ? SYSTEM : LONG;
  if (turn.text.length <= most * 1.25) return text(turn.text);
  const all = h("div", {}), start = text(turn.text.slice(0, most) + "…");
  const more = h("button", { type: "button", class: "quiet small", "aria-expanded": "false" },
    `show all ${f.count(turn.text.length)} characters`);
  more.addEventListener("click", () => {
    start.replaceWith(text(turn.text));
    more.remove();
  });
  all.append(start, more);
  return all;
}

function text(content) {
  return h("div", { class: "said", dir: "auto" }, content);
}

// Its name and, below it, what it is called with: nothing where that is nothing.
function toolCall({ name, arguments: given }) {
  const isTable = given !== null && typeof given === "object" && !Array.isArray(given);
  const isNothing = given === null || given === undefined || given === "";
  const isEmpty = isNothing || (isTable && !Object.keys(given).length);
  const isText = (value) => typeof value === "string";
  const plainly = (value, indent) => (isText(value) ? value : JSON.stringify(value, null, indent));
  const row = ([key, value]) => [h("dt", {}, key), h("dd", { dir: "auto" }, plainly(value, 1))];
  const words = isTable
    ? h("dl", {}, Object.entries(given).flatMap(row))
    : h("div", { class: "said" }, plainly(given));
  return h("div", { class: "call" }, h("span", { class: "function" }, name),
    isEmpty ? h("span", { class: "dim" }, " without arguments") : words);
}
