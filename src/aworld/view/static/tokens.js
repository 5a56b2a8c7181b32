// Tokens coloured by how likely they were, or by whether they were trained on.
import { h } from "./dom.js";
import { trimmed } from "./format.js";

export function tokenText(tokens, { colouring, trained, verdict }) {
  const pieces = tokens.texts || (tokens.ids || tokens.logprobs).map((id, n) => (tokens.ids ? String(id) : "▮"));
  const spans = pieces.map((piece, n) => {
    const logprob = tokens.logprobs[n];
    const level = logprob === null ? "none" : Math.min(9, Math.floor(-logprob * 2.2));
    const mark = colouring === "trained" ? (trained ? `m${signOf(verdict)}` : "m0") : `p${level}`;
    const hint = [logprob === null ? "not known" : `p = ${trimmed(Math.exp(logprob), 3)}, log ${trimmed(logprob, 2)}`, tokens.ids ? `id ${tokens.ids[n]}` : null].filter(Boolean).join(" · ");
    return h("span", { class: mark, title: hint }, piece);
  });
  const left = tokens.count - pieces.length;
  const note = tokens.texts ? null : h("p", { class: "dim" }, "The server gave ids, not texts: these are the ids.");
  return h("div", { class: tokens.texts ? "said tokens" : "said tokens ids", dir: "auto" }, note, spans, left > 0 ? h("span", { class: "dim" }, ` … ${left} more`) : null);
}

function signOf(verdict) {
  return verdict && verdict.advantage !== null && verdict.advantage < 0 ? "-" : "+";
}

export function tokenLegend(colouring) {
  if (colouring === "trained") return h("div", { class: "legend" }, h("span", { class: "m+" }, "pushed up"), h("span", { class: "m-" }, "pushed down"), h("span", { class: "m0" }, "not trained"));
  const scale = ["p0", "p1", "p2", "p3", "p4", "p5", "p7", "p9"].map((name) => h("i", { class: name }));
  return h("div", { class: "legend scale" }, "sure", h("span", {}, scale), "unlikely");
}
