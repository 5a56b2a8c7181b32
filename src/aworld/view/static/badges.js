// Small signs that several pages use: a status, a sparkline, a number with its name.
import { h, svg } from "./dom.js";
import { reward as asReward, share } from "./format.js";

export const STATUSES = ["success", "failed", "truncated", "timeout", "crashed", "cancelled", "skipped"];

export function pill(status, tone = status) {
  return h("span", { class: `pill s-${/^[a-z]+$/.test(tone) ? tone : "unknown"}` }, status);
}

// Of a run: one that is complete without a single success is no good news.
export function statePill(run) {
  const isPoor = run.status === "complete" && run.done > 0 && !run.counts.success;
  return pill(run.status, isPoor ? "neutral" : run.status);
}

// How good it was, as a colour beside the number: 0 is red, 1 is green, what lies outside is grey.
export function rewardBadge(value) {
  if (value === null || value === undefined) return h("span", { class: "dim" }, "–");
  const place = Math.max(0, Math.min(10, Math.round(value * 10)));
  return h("span", { class: `reward r${place}` }, asReward(value));
}

export function fact(name, value, title) {
  const words = [h("span", { class: "name" }, name), h("span", { class: "value" }, value)];
  return h("div", { class: "fact", title }, words);
}

export function progress(done, total, counts = {}) {
  const all = total || done || 1;
  const bar = h("div", {
    class: "progress", role: "progressbar", "aria-valuemin": 0, "aria-valuemax": all, "aria-valuenow": done,
    "aria-label": `${done} of ${total === null ? "an unknown number" : total} done`,
  });
  for (const status of STATUSES) {
    if (!counts[status]) continue;
    const width = `${(100 * counts[status]) / all}%`;
    bar.append(h("span", { class: `b-${status}`, css: { width }, title: `${counts[status]} ${status}` }));
  }
  return bar;
}

// `isReward`: from 0 to 1 wherever the values allow it, so that all bad and all good look different.
export function spark(values, label, isReward = false) {
  const width = 96, height = 22;
  const known = values.map((value, place) => [place, value]).filter(([, value]) => value !== null);
  const box = `0 0 ${width} ${height}`;
  const place = svg("svg", { class: "spark", viewBox: box, role: "img", "aria-label": label });
  if (!known.length) return place;
  const numbers = known.map(([, value]) => value);
  const low = Math.min(...numbers, 0), range = Math.max(...numbers, isReward ? 1 : 0) - low || 1;
  const x = (n) => ((n / (values.length - 1 || 1)) * (width - 4) + 2).toFixed(1);
  const y = (value) => (height - 3 - ((value - low) / range) * (height - 6)).toFixed(1);
  const line = known.map(([n, value], index) => `${index ? "L" : "M"}${x(n)} ${y(value)}`).join("");
  const [first, last] = [known[0], known[known.length - 1]];
  const under = `${line}L${x(last[0])} ${height}L${x(first[0])} ${height}Z`;
  place.append(svg("path", { class: "under", d: under }));
  place.append(svg("path", { class: "line", d: line }));
  place.append(svg("circle", { cx: x(last[0]), cy: y(last[1]), r: 1.8 }));
  return place;
}

export function legend(statuses) {
  const key = (status) => h("span", { class: "key" }, h("i", { class: `b-${status}` }), status);
  return h("div", { class: "legend" }, statuses.map(key));
}

export function successShare(counts, done) {
  return share(counts.success || 0, done);
}

// The head of a column that a table can be sorted by; `sort` is its name, with a minus for downwards.
export function sortHead(name, title, sort, change) {
  const direction = sort.startsWith("-") ? "descending" : "ascending";
  const order = sort.replace("-", "") === name ? direction : "none";
  const button = h("button", { type: "button", on: { click: change } }, title);
  return h("th", { class: `c-${name}`, "aria-sort": order }, button);
}
