// How a run stands: its state, its figures, its curves, and what fails in it.
import { fact, pill, progress, rewardBadge, statePill, successShare } from "./badges.js";
import { fill, h } from "./dom.js";
import * as f from "./format.js";

export function stateOf(run, now) {
  if (now.cancelling) return pill(cancelling(now), "unfinished");
  return now.paused ? pill("paused") : statePill(run);
}

function cancelling(now) {
  return now.running_count ? `cancelling, ${f.whole(now.running_count)} still running` : "cancelling";
}

export function about(run) {
  const slots = f.plural(run.per_worker || 16, "slot");
  const parts = [
    run.engine,
    run.workers ? `${f.plural(run.workers, "worker")} of ${slots}` : "",
    run.samples > 1 ? `${run.samples} samples each` : "",
    run.scored_by ? `scored by ${run.scored_by}` : "",
  ];
  return parts.filter(Boolean).join(" · ");
}

export function drawFacts(place, run, now) {
  const isActive = run.status === "running";
  const counts = withoutOwed(run.counts, now.again || {});
  const done = Object.values(counts).reduce((sum, count) => sum + count, 0);
  // else what is left is not known: it may be run again
  const isBusy = isActive && !now.cancelling && done !== run.total;
  const running = now.running ? f.whole(now.running_count) : "–";
  fill(place,
    doneFact(run, done, counts),
    isActive || now.running ? fact("Running", running, "tasks that workers are busy with") : null,
    fact("Success", successShare(run.counts, run.done)),
    run.scored_by ? fact("Reward", rewardBadge(run.reward), rewardHint(run)) : null,
    fact("Tasks/s", f.rate(rateOf(run, now)), now.writer ? "over the last 10 seconds" : "over the whole run"),
    run.tokens ? fact("Tokens", f.count(run.tokens)) : null,
    run.cost ? fact("Cost", f.cost(run.cost)) : null,
    fact(isBusy ? "Time left" : "Time", f.seconds(isBusy ? now.left : lasted(run, now)), timeHint(run)));
}

function doneFact(run, done, counts) {
  const total = run.total === null ? "?" : f.whole(run.total);
  const value = h("span", { class: "value" }, f.whole(done), h("small", {}, ` of ${total}`));
  return h("div", { class: "fact wide" },
    h("span", { class: "name" }, "Done"), value, progress(done, run.total, counts));
}

function rewardHint(run) {
  const share = `${f.whole(run.counted)} of ${f.whole(run.done)}`;
  return `by ${run.scored_by}: the mean over ${share}; what failed and has none counts as 0`;
}

// Seconds, without the time in which nothing ran.
function lasted(run, now) {
  if (!run.began) return null;
  const end = run.status === "running" ? now.at || Date.now() / 1000 : run.ended;
  return Math.max(end - run.began - run.idle, 0);
}

function timeHint(run) {
  if (!run.began) return "";
  const idle = run.idle ? `, without ${f.seconds(run.idle)} in which nothing ran` : "";
  return `since ${new Date(run.began * 1000).toLocaleString()}${idle}`;
}

// What is run again is owed until its new result is there.
function withoutOwed(counts, again) {
  const left = ([status, count]) => [status, Math.max(count - (again[status] || 0), 0)];
  return Object.fromEntries(Object.entries(counts).map(left));
}

// Tasks per second: of the last moments while it runs, of the whole run afterwards.
export function rateOf(run, now) {
  return now.rate ?? run.rate ?? null;
}

export function curvesOf(series) {
  const xs = [], tasks = [], tokens = [], reward = [];
  if (!series.points.length) return { xs, tasks, tokens, reward };
  const known = new Map(series.points.map((point) => [point[0], point]));
  for (let n = 0; n < series.count; n++) {
    const point = known.get(n);
    xs.push((n + 0.5) * series.step);
    tasks.push(point ? point[1] / series.step : 0);
    tokens.push(point ? point[3] / series.step : 0);
    reward.push(point && point[4] ? point[5] / point[4] : null);
  }
  return { xs, tasks, tokens, reward };
}

// `choose` shows those of one kind in the table.
export function drawFailures(place, run, choose) {
  const most = Math.max(...run.failures.map(([, , times]) => times), 1);
  const rows = run.failures.map(([status, kind, times]) => {
    const click = () => choose({ status, failure: kind, text: "" });
    const width = `${(100 * times) / most}%`;
    return h("li", {}, h("button", { type: "button", title: "show these tasks", on: { click } },
      h("span", { class: "kind", title: kind }, kind || status),
      h("span", { class: "times num" }, f.whole(times)),
      h("span", { class: "size" }, h("i", { class: `b-${status}`, css: { width } }))));
  });
  const none = h("p", { class: "empty" }, run.done ? "None." : "Nothing has ended yet.");
  fill(place, h("header", {}, h("h2", {}, "Failures")), rows.length ? h("ul", {}, rows) : none);
}
