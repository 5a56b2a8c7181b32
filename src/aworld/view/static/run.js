// One run: how it stands, how parallel it is, what fails, and its tasks. Live.
import { get, getBytes, listen } from "./api.js";
import { Chart } from "./charts.js";
import { buttons, drawMessages } from "./controls.js";
import { fill, h } from "./dom.js";
import { exportedBars, isExport, onlyRun } from "./exported.js";
import * as f from "./format.js";
import { keys } from "./keyboard.js";
import { readBars } from "./lanes.js";
import { crumbs, go, problem, show } from "./router.js";
import { about, curvesOf, drawFacts, drawFailures, rateOf, stateOf } from "./standing.js";
import { TaskTable } from "./tasks.js";
import { Timeline } from "./timeline.js";

export async function runPage(place, params, isCurrent) {
  const run = isExport ? onlyRun() : params.run;
  crumbs(...(isExport ? [] : [["runs", "/", {}]]), run || "which run?");
  let figures = await get("run", { run });
  let now = { running: null, paused: false, writer: null };
  const facts = h("section", { class: "facts", "aria-label": "Figures" });
  const state = h("span", {}), actions = h("div", { class: "actions" }), messages = h("div", {});
  const failures = h("section", { class: "card failures", "aria-label": "Failures by kind" });
  const timeline = new Timeline({
    slots: figures.per_worker,
    onOpen: (slot) => go("/task", { run, slot }),
    brief: (slot) => get("brief", { run, slot }).then((found) => found.task).catch(() => null),
  });
  const pace = new Chart("Tasks per second", { time: true, height: 130, format: f.rate });
  const tokens = new Chart("Tokens per second", { time: true, height: 130, format: f.rate });
  const worth = new Chart("Reward", { time: true, height: 130, format: f.reward, isShare: true });
  const table = new TaskTable(run, params);
  table.samples = figures.samples;
  const title = h("div", { class: "title" },
    h("h1", { title: figures.name }, figures.name), state, h("span", { class: "spacer" }), actions);
  const columns = h("div", { class: "columns" },
    h("section", { class: "card" }, pace.element), h("section", { class: "card" }, tokens.element),
    h("section", { class: "card worth" }, worth.element), failures);
  fill(place, title, messages, facts, timeline.element, columns, table.element);

  function draw() {
    drawFacts(facts, figures, now);
    fill(state, stateOf(figures, now), h("span", { class: "dim" }, ` ${about(figures)}`));
    fill(actions, buttons(run, figures, now, asked));
    timeline.setTogether(figures.at_once, figures.breaks);
    drawMessages(messages, figures, now);
    drawCurves();
    drawFailures(failures, figures, (changes) => table.choose(changes));
  }

  function drawCurves() {
    const curves = curvesOf(figures.series), { xs } = curves;
    drawPace(curves);
    tokens.show([{ label: "tokens/s", line: "line-2", xs, ys: curves.tokens, area: true, head: null }]);
    const mean = { label: "mean reward", line: "line-3", xs, ys: curves.reward, head: figures.reward };
    worth.show(figures.reward !== null ? [mean] : []);
    worth.element.parentElement.hidden = figures.reward === null;
    tokens.element.parentElement.hidden = !figures.tokens;
  }

  function drawPace({ xs, tasks }) {
    const head = rateOf(figures, now);
    pace.show([{ label: "tasks/s", line: "line-1", xs, ys: tasks, area: true, head }]);
  }

  // The server says it too, with its next news.
  function asked(action) {
    if (action === "cancel" && !figures.training) now = { ...now, cancelling: true };
    if (isCurrent()) draw();
  }

  let until = 0, loading = false, missed = false, had = null, gone = false;
  async function loadBars() {
    if (loading) {
      missed = true;
      return;
    }
    loading = true;
    try {
      const bars = isExport ? exportedBars() : readBars(await getBytes("bars", { run, since: until || "" }));
      until = bars.until;
      if (isCurrent()) timeline.add(bars);
    } catch (error) {
      if (isCurrent()) timeline.tell();
    }
    loading = false;
    if (missed) {
      missed = false;
      loadBars();
    }
  }
  draw();
  loadBars();
  const stop = listen({ run }, {
    run: (news) => {
      if (gone) return show({ again: true }); // there is one of this name again
      figures = news;
      draw();
      if (had !== null && had !== news.recorded) {
        loadBars();
        table.refresh();
      }
      had = news.recorded ?? 0;
    },
    now: (news) => {
      if (gone) return;
      const isOther = isOtherState(news, now);
      now = news;
      timeline.setRunning(now.running, now.at);
      if (isOther) return draw();
      drawFacts(facts, figures, now);
      drawPace(curvesOf(figures.series));
    },
    problem: (news) => {
      if (gone) return;
      gone = news.status === 404 || /^there is no run /.test(news.error);
      // the figures of a run that is gone are those of nothing
      if (gone) fill(place, problem({ message: news.error, status: 404 }, run));
      else fill(messages, problem({ message: news.error }));
    },
    back: () => {
      loadBars();
      table.load();
    },
  });
  addEventListener("connectionchange", draw);
  const forget = keys({
    "/": [() => table.focusSearch(), "search in tasks"],
    j: [() => table.step(1), "next task"], k: [() => table.step(-1), "previous task"],
    "+": [() => timeline.zoom(1 / 1.4), "zoom into the timeline"],
    "-": [() => timeline.zoom(1.4), "zoom out"], 0: [() => timeline.fit(), "show the whole timeline"],
  });
  return () => {
    removeEventListener("connectionchange", draw);
    stop();
    forget();
    timeline.destroy();
    [pace, tokens, worth].forEach((chart) => chart.destroy());
  };
}

// Whether more than the figures has to be drawn anew.
function isOtherState(news, now) {
  return news.paused !== now.paused ||
    news.cancelling !== now.cancelling ||
    (news.cancelling && news.running_count !== now.running_count) ||
    Boolean(news.writer) !== Boolean(now.writer) ||
    JSON.stringify(news.started) !== JSON.stringify(now.started);
}
