// How training goes: reward, success, KL, entropy, lengths, where the time goes; several runs at once.
import { get, listen } from "./api.js";
import { Chart, LINES } from "./charts.js";
import { fill, h } from "./dom.js";
import { isExport, onlyRun } from "./exported.js";
import { crumbs, go, here, link } from "./router.js";

const MAIN = [
  ["Reward", ["reward"], "of the rollouts"],
  ["Evaluation", ["pass@1", "eval_reward"], "on held-out tasks"],
  ["Success", ["success"], "rollouts with a reward of 1"],
  ["KL", ["kl", "sampler_kl"], "to the reference, to the sampler"],
  ["Entropy", ["entropy"], ""],
  ["Length", ["sampled_tokens"], "tokens per rollout"],
  ["Time", ["seconds", "wait_seconds", "train_seconds"], "seconds of a step"],
  ["Time shares", ["waiting", "training"], "of a step"],
  ["Tokens per second", ["tokens_per_second"], ""],
  ["Loss", ["loss"], ""],
  ["Gradient norm", ["gradient_norm"], ""],
  ["Clipped", ["clip_fraction"], "share of tokens"],
  ["Staleness", ["staleness", "max_staleness"], "policy versions"],
];
const SHARES = ["reward", "pass@1", "eval_reward", "success", "waiting", "training", "clip_fraction"];
const POINTS = ["pass@1", "eval_reward"];
const BORING = ["version", "eval_seconds", "rollout_seconds"];

export async function trainingPage(place, params) {
  crumbs(isExport ? [onlyRun(), "/run", { run: onlyRun() }] : ["runs", "/", {}], "training");
  const known = await trainings();
  const asked = (params.run || "").split("\n").filter((name) => known.some((run) => run.id === name));
  let chosen = asked.length ? asked : known.slice(-1).map((run) => run.id);
  const charts = new Map();
  const grid = h("div", { class: "curves" }), rest = h("div", { class: "curves" });
  const boxes = h("fieldset", { class: "choice" }, h("legend", { class: "sr" }, "Runs"));
  const which = h("span", { class: "dim" });
  const more = h("details", { class: "more" }, h("summary", {}, "All other figures"), rest);
  fill(place, h("div", { class: "title" }, h("h1", {}, "Training"), which), boxes, grid, more);
  if (!known.length) fill(place, h("p", { class: "empty" }, "No run here is a training."));

  function drawBoxes() {
    fill(boxes, known.map((run) => {
      const place = chosen.indexOf(run.id);
      const box = h("input", { type: "checkbox", checked: place >= 0 });
      box.addEventListener("change", () => {
        chosen = box.checked ? [...chosen, run.id] : chosen.filter((one) => one !== run.id);
        go("/training", { ...here().params, run: chosen.join("\n") }, { replace: true });
        drawBoxes();
        load();
      });
      const line = place >= 0 ? `l-${LINES[place % LINES.length]}` : "";
      return h("label", { class: "check" }, box, h("i", { class: line }), run.name);
    }));
    boxes.hidden = known.length < 2;
    const only = chosen.length === 1 ? known.find((run) => run.id === chosen[0]) : null;
    fill(which, only ? ["of ", link("/run", { run: only.id }, { class: "name" }, only.name)] : null);
  }

  async function load() {
    const found = chosen.length ? await get("curves", { run: chosen.join("\n") }) : {};
    Object.values(found).forEach(addShares);
    const names = [...new Set(Object.values(found).flatMap((run) => Object.keys(run.columns)))];
    const used = new Set([...MAIN.flatMap(([, of]) => of), ...BORING]);
    for (const [title, of, note] of MAIN) {
      const there = of.filter((name) => names.includes(name));
      // of several runs one line each: else nobody could tell them apart
      show(grid, title, chosen.length > 1 ? there.slice(0, 1) : there, note, found);
    }
    for (const name of names) if (!used.has(name)) show(rest, name, [name], "", found);
    more.hidden = !rest.children.length;
  }

  function show(where, title, names, note, found) {
    const series = [];
    const several = chosen.length > 1;
    names.forEach((name, number) => chosen.forEach((run, n) => {
      const column = found[run] && found[run].columns[name];
      if (!column || !column.some((value) => value !== null)) return;
      const label = [several ? run : "", names.length > 1 || chosen.length === 1 ? name : ""];
      series.push({
        label: label.filter(Boolean).join(" "), line: LINES[(several ? n : number) % LINES.length],
        xs: found[run].steps, ys: column, points: POINTS.includes(name), dash: several && number > 0,
      });
    }));
    let chart = charts.get(title);
    if (!series.length && !chart) return;
    if (!chart) {
      const isShare = names.every((name) => SHARES.includes(name));
      chart = new Chart(title, { download: true, xLabel: "step", note, isShare });
      charts.set(title, chart);
      where.append(h("section", { class: "card" }, chart.element));
    }
    chart.element.parentElement.hidden = !series.length;
    chart.show(series);
  }

  drawBoxes();
  if (known.length) await load();
  const stop = chosen.length ? listen({ run: chosen[0] }, { run: load }) : () => {};
  return () => {
    stop();
    charts.forEach((chart) => chart.destroy());
  };
}

async function trainings() {
  if (isExport) return [{ id: onlyRun(), name: onlyRun() }];
  return (await get("runs")).runs.filter((run) => run.training);
}

// How much of a step went into each.
function addShares({ columns }) {
  if (!columns.seconds) return;
  for (const [name, part] of [["waiting", columns.wait_seconds], ["training", columns.train_seconds]]) {
    const share = (value, n) => (value === null || !columns.seconds[n] ? null : value / columns.seconds[n]);
    if (part) columns[name] = part.map(share);
  }
}
