// The samples of one task, side by side.
import { get } from "./api.js";
import { pill, rewardBadge } from "./badges.js";
import { fill, h } from "./dom.js";
import { isExport } from "./exported.js";
import * as f from "./format.js";
import { keys } from "./keyboard.js";
import { crumbs, go, link } from "./router.js";
import { isOutcome, talk } from "./talk.js";

export async function groupPage(place, params) {
  const { run, task } = params;
  const found = await get("group", { run, task });
  crumbs(...(isExport ? [] : [["runs", "/", {}]]), [run, "/run", { run }], `${task}: all samples`);
  const known = found.samples.filter((one) => !one.missing);
  // as in the mean of the run: what was tried and has no reward counts as 0
  const wasTried = (one) => one.scores.length && !["success", "cancelled", "skipped"].includes(one.status);
  const worth = (one) => one.reward ?? (wasTried(one) ? 0 : null);
  const rewards = known.map(worth).filter((value) => value !== null);
  const mean = rewards.length ? rewards.reduce((sum, value) => sum + value, 0) / rewards.length : null;
  const succeeded = known.filter((one) => one.status === "success").length;
  const words = [
    f.plural(found.of, "sample"), mean === null ? null : `mean reward ${f.reward(mean)}`,
    `${succeeded} succeeded`,
  ];
  const title = h("div", { class: "title" },
    h("h1", { dir: "auto", title: task }, task),
    h("span", { class: "dim" }, words.filter(Boolean).join(" · ")));
  const input = h("div", { class: "said", dir: "auto" }, found.input);
  fill(place, title, h("section", { class: "card" }, h("h2", {}, "Input"), input),
    h("div", { class: "group", role: "list" }, found.samples.map((one) => sample(one, run, task))));
  return keys({ u: [() => go("/run", { run }), "up to the run"] });
}

function sample(one, run, task) {
  const name = link("/task", { run, task, sample: one.sample || "" }, { class: "name" }, `#${one.sample}`);
  if (one.missing) {
    const why = h("p", { class: "dim" }, one.missing);
    return h("section", { class: "card", role: "listitem" }, h("header", {}, name), why);
  }
  const advantage = one.verdict ? one.verdict.advantage : null;
  const sign = advantage >= 0 ? "+" : "";
  const said = one.turns.filter((turn) => !isOutcome(turn, one));
  const turns = said.filter((turn, n) => !(n < 3 && ["system", "user", "input"].includes(turn.kind)));
  return h("section", { class: "card", role: "listitem", "aria-label": `sample ${one.sample}` },
    h("header", {}, name, pill(one.status), rewardBadge(one.reward),
      advantage === null ? null : h("span", { class: "tag" }, `adv ${sign}${f.figure(advantage)}`),
      h("span", { class: "spacer" }), h("span", { class: "dim num" }, f.seconds(one.seconds))),
    talk(turns, { verdict: one.verdict }),
    one.error ? errorOf(one) : null,
    one.answer !== null ? answerOf(one) : null);
}

function errorOf({ status, error }) {
  return h("p", { class: status === "truncated" ? "dim" : "bad" }, `${error.kind}: ${error.message}`);
}

function answerOf({ answer }) {
  return h("div", { class: "turn t-answer" },
    h("header", {}, h("span", { class: "who" }, "Answer")), h("div", { class: "said", dir: "auto" }, answer));
}
