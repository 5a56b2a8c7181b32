// Two runs task by task: what got better, what got worse.
import { get } from "./api.js";
import { fact, rewardBadge } from "./badges.js";
import { fill, h } from "./dom.js";
import * as f from "./format.js";
import { crumbs, go, link, problem, show } from "./router.js";

const AT_ONCE = 100;

export async function comparePage(place, params) {
  crumbs(["runs", "/", {}], "compare");
  const known = (await get("runs")).runs.filter((run) => !run.error);
  const result = h("div", { class: "result" });
  const choice = (name) => {
    const options = known.map((run) => {
      const worth = run.reward === null ? "" : ` (${f.reward(run.reward)})`;
      return h("option", { value: run.id }, `${run.name}${worth}`);
    });
    const none = h("option", { value: "" }, "choose a run");
    const select = h("select", { "aria-label": `the ${name} run` }, none, options);
    select.value = params[name] || "";
    select.addEventListener("change", () => {
      params[name] = select.value;
      go("/compare", { first: params.first, second: params.second }, { replace: true });
      load().catch(() => show({ again: true }));
    });
    return select;
  };
  fill(place, h("div", { class: "title" }, h("h1", {}, "Compare")),
    h("div", { class: "versus" }, choice("first"), h("span", { class: "dim" }, "with"), choice("second")),
    result);

  async function load() {
    if (!params.first || !params.second) {
      fill(result, h("p", { class: "empty" }, "Choose two runs of the same tasks."));
      return;
    }
    fill(result, h("p", { class: "loading" }, "Comparing…"));
    try {
      draw(result, await get("compare", { first: params.first, second: params.second }), params);
    } catch (error) {
      if (error.status === 0) throw error;
      fill(result, problem(error));
    }
  }
  await load();
}

function draw(place, found, { first, second }) {
  const { difference } = found, sign = difference.mean > 0 ? "+" : "";
  const isKnown = difference.low !== null;
  const interval = isKnown ? `${f.reward(difference.low)} to ${f.reward(difference.high)}` : "";
  const sure = isKnown && (difference.low > 0 || difference.high < 0);
  const way = difference.mean > 0 ? "the second is better" : "the second is worse";
  const verdict = sure ? way : "no clear difference";
  const all = found.better + found.worse + found.same || 1;
  const part = (name, count, kind) =>
    h("span", { class: kind, css: { width: `${(100 * count) / all}%` }, title: `${count} ${name}` });
  const parts = h("div", { class: "progress", "aria-hidden": "true" },
    part("worse", found.worse, "b-failed"), part("same", found.same, "b-skipped"),
    part("better", found.better, "b-success"));
  const means = h("span", {}, f.reward(found.means[0]), h("small", {}, ` → ${f.reward(found.means[1])}`));
  const gap = h("span", {}, `${sign}${f.reward(difference.mean)}`,
    interval ? h("small", { class: "below" }, interval) : null);
  const facts = h("section", { class: "facts" },
    fact("Mean reward", means),
    fact("Difference", gap, `${Math.round(100 * difference.confidence)}% interval`),
    fact("Better", f.whole(found.better)),
    fact("Worse", f.whole(found.worse)),
    fact("Same", f.whole(found.same)),
    h("div", { class: "fact wide" }, h("span", { class: "name" }, verdict), parts));
  const notes = [];
  const [before, after] = found.rewards, { changed, only_first, only_second } = found.counts;
  if (before !== after) notes.push(`They were scored differently: ${before} and ${after}.`);
  if (changed) notes.push(`${f.plural(changed, "task")} changed between the runs and are left out.`);
  const only = [["first", only_first], ["second", only_second]].filter(([, count]) => count);
  notes.push(...only.map(([name, count]) => `${f.plural(count, "task")} only in the ${name}.`));
  const better = found.changes.filter((one) => one.second > one.first);
  const worse = found.changes.filter((one) => one.second < one.first);
  fill(place, facts, notes.length ? h("p", { class: "warning" }, notes.join(" ")) : null,
    h("div", { class: "columns two" },
      side("Got better", better, "b-success"), side("Got worse", worse, "b-failed")));

  function side(title, changes, kind) {
    const most = Math.max(...changes.map((one) => Math.abs(one.second - one.first)), 1e-9);
    const list = h("ul", { class: "changes" });
    const more = h("button", { type: "button", class: "quiet small" });
    let count = 0;
    const grow = () => {
      for (const one of changes.slice(count, count + AT_ONCE)) {
        const size = `${(100 * Math.abs(one.second - one.first)) / most}%`;
        const task = one.task_id;
        const worth = (run, reward) =>
          link("/task", { run, task }, { title: `in ${run}` }, rewardBadge(reward));
        list.append(h("li", {},
          link("/task", { run: second, task }, { class: "name", title: task }, task),
          h("span", { class: "size" }, h("i", { class: kind, css: { width: size } })),
          worth(first, one.first), h("span", { class: "dim" }, "→"), worth(second, one.second)));
      }
      count += AT_ONCE;
      more.hidden = count >= changes.length;
      fill(more, `${f.whole(changes.length - count)} more`);
    };
    more.addEventListener("click", grow);
    grow();
    return h("section", { class: "card" },
      h("header", {}, h("h2", {}, title), h("span", { class: "dim" }, f.whole(changes.length))),
      changes.length ? list : h("p", { class: "empty" }, "None."), more);
  }
}
