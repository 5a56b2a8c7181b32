// Tokens coloured by how likely they were, or by whether they were trained on.
import { h } from "./dom.js";
import { trimmed } from "./format.js";

export function tokenText(tokens, { colouring, trained, verdict }) {
  const pieces = tokens.texts || (tokens.ids ? tokens.ids.map(String) : tokens.logprobs.map(() => "▮"));
  const spans = pieces.map((piece, n) => {
    const logprob = tokens.logprobs[n];
    const level = logprob === null ? "none" : Math.min(9, Math.floor(-logprob * 2.2));
    const taught = trained ? `m${signOf(verdict)}` : "m0";
    const mark = colouring === "trained" ? taught : `p${level}`;
    const chance = `p = ${trimmed(Math.exp(logprob), 3)}, log ${trimmed(logprob, 2)}`;
    const id = tokens.ids ? ` · id ${tokens.ids[n]}` : "";
    const hint = (logprob === null ? "not known" : chance) + id;
    return h("span", { class: mark, title: hint }, piece);
  });
  const left = tokens.count - pieces.length;
  const rest = left > 0 ? h("span", { class: "dim" }, ` … ${left} more`) : null;
  if (tokens.texts) return h("div", { class: "said tokens", dir: "auto" }, spans, rest);
  const note = h("p", { class: "dim" }, "The server gave ids, not texts: these are the ids.");
  return h("div", { class: "said tokens ids", dir: "auto" }, note, spans, rest);
}

function signOf(verdict) {
  return verdict && verdict.advantage !== null && verdict.advantage < 0 ? "-" : "+";
}

export function tokenLegend(colouring) {
  if (colouring === "trained") {
    const marks = [["m+", "pushed up"], ["m-", "pushed down"], ["m0", "not trained"]];
    return h("div", { class: "legend" }, marks.map(([name, words]) => h("span", { class: name }, words)));
  }
  const scale = ["p0", "p1", "p2", "p3", "p4", "p5", "p7", "p9"].map((name) => h("i", { class: name }));
  return h("div", { class: "legend scale" }, "sure", h("span", {}, scale), "unlikely");
}
