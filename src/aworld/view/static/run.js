// One run: how it stands, how parallel it is, what fails, and its tasks. Live.
import { get, getBytes, isConnected, listen, post } from "./api.js";
import { fact, pill, progress, rewardBadge, statePill, successShare } from "./badges.js";
import { Chart } from "./charts.js";
import { fill, h, toast } from "./dom.js";
import { exportedBars, isExport, onlyRun } from "./exported.js";
import * as f from "./format.js";
import { keys } from "./keyboard.js";
import { readBars } from "./lanes.js";
import { crumbs, go, link, problem, show } from "./router.js";
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
  fill(place, h("div", { class: "title" }, h("h1", { title: figures.name }, figures.name), state, h("span", { class: "spacer" }), actions), messages, facts,
    timeline.element, h("div", { class: "columns" }, h("section", { class: "card" }, pace.element), h("section", { class: "card" }, tokens.element), h("section", { class: "card worth" }, worth.element), failures), table.element);

  function draw() {
    drawFacts(facts, figures, now);
    fill(state, now.cancelling ? pill(cancelling(now), "unfinished") : now.paused ? pill("paused") : statePill(figures), h("span", { class: "dim" }, ` ${about(figures)}`));
    fill(actions, buttons(run, figures, now, asked));
    timeline.setTogether(figures.at_once, figures.breaks);
    drawMessages(messages, figures, now);
    const curves = curvesOf(figures.series);
    drawPace(curves);
    tokens.show([{ label: "tokens/s", line: "line-2", xs: curves.xs, ys: curves.tokens, area: true, head: null }]);
    worth.show(figures.reward !== null ? [{ label: "mean reward", line: "line-3", xs: curves.xs, ys: curves.reward, head: figures.reward }] : []);
    worth.element.parentElement.hidden = figures.reward === null;
    tokens.element.parentElement.hidden = !figures.tokens;
    drawFailures(failures, figures, (changes) => table.choose(changes));
  }

  function drawPace(curves) {
    pace.show([{ label: "tasks/s", line: "line-1", xs: curves.xs, ys: curves.tasks, area: true, head: rateOf(figures, now) }]);
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
      const changed = news.paused !== now.paused || news.cancelling !== now.cancelling || (news.cancelling && news.running_count !== now.running_count) || Boolean(news.writer) !== Boolean(now.writer) || JSON.stringify(news.started) !== JSON.stringify(now.started);
      now = news;
      timeline.setRunning(now.running, now.at);
      if (changed) return draw();
      drawFacts(facts, figures, now);
      drawPace(curvesOf(figures.series));
    },
    problem: (news) => {
      if (gone) return;
      gone = news.status === 404 || /^there is no run /.test(news.error);
      if (gone) fill(place, problem({ message: news.error, status: 404 }, run)); // its figures are those of nothing
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
    "+": [() => timeline.zoom(1 / 1.4), "zoom into the timeline"], "-": [() => timeline.zoom(1.4), "zoom out"], 0: [() => timeline.fit(), "show the whole timeline"],
  });
  return () => {
    removeEventListener("connectionchange", draw);
    stop();
    forget();
    timeline.destroy();
    [pace, tokens, worth].forEach((chart) => chart.destroy());
  };
}

function about(run) {
  const where = run.workers ? `${f.plural(run.workers, "worker")} of ${f.plural(run.per_worker || 16, "slot")}` : "";
  const samples = run.samples > 1 ? `${run.samples} samples each` : "";
  return [run.engine, where, samples, run.scored_by ? `scored by ${run.scored_by}` : ""].filter(Boolean).join(" · ");
}

function drawFacts(place, run, now) {
  const active = run.status === "running", end = active ? now.at || Date.now() / 1000 : run.ended;
  const lasted = run.began ? Math.max(end - run.began - run.idle, 0) : null;
  const counts = withoutOwed(run.counts, now.again || {}), done = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const isBusy = active && !now.cancelling && done !== run.total; // else what is left is not known: it may be run again
  fill(place,
    h("div", { class: "fact wide" }, h("span", { class: "name" }, "Done"), h("span", { class: "value" }, f.whole(done), h("small", {}, ` of ${run.total === null ? "?" : f.whole(run.total)}`)), progress(done, run.total, counts)),
    active || now.running ? fact("Running", now.running ? f.whole(now.running_count) : "–", "tasks that workers are busy with") : null,
    fact("Success", successShare(run.counts, run.done)),
    run.scored_by ? fact("Reward", rewardBadge(run.reward), `by ${run.scored_by}: the mean over ${f.whole(run.counted)} of ${f.whole(run.done)}; what failed and has none counts as 0`) : null,
    fact("Tasks/s", f.rate(rateOf(run, now)), now.writer ? "over the last 10 seconds" : "over the whole run"),
    run.tokens ? fact("Tokens", f.count(run.tokens)) : null, run.cost ? fact("Cost", f.cost(run.cost)) : null,
    fact(isBusy ? "Time left" : "Time", f.seconds(isBusy ? now.left : lasted), run.began ? `since ${new Date(run.began * 1000).toLocaleString()}${run.idle ? `, without ${f.seconds(run.idle)} in which nothing ran` : ""}` : ""));
}

// What is run again is owed until its new result is there.
function withoutOwed(counts, again) {
  return Object.fromEntries(Object.entries(counts).map(([status, count]) => [status, Math.max(count - (again[status] || 0), 0)]));
}

// Tasks per second: of the last moments while it runs, of the whole run afterwards.
function rateOf(run, now) {
  return now.rate ?? run.rate ?? null;
}

function cancelling(now) {
  return now.running_count ? `cancelling, ${f.whole(now.running_count)} still running` : "cancelling";
}

function curvesOf(series) {
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

function drawFailures(place, run, choose) {
  const most = Math.max(...run.failures.map(([, , times]) => times), 1);
  const rows = run.failures.map(([status, kind, times]) => h("li", {}, h("button", { type: "button", title: "show these tasks", on: { click: () => choose({ status, failure: kind, text: "" }) } },
    h("span", { class: "kind", title: kind }, kind || status), h("span", { class: "times num" }, f.whole(times)), h("span", { class: "size" }, h("i", { class: `b-${status}`, css: { width: `${(100 * times) / most}%` } })))));
  fill(place, h("header", {}, h("h2", {}, "Failures")), rows.length ? h("ul", {}, rows) : h("p", { class: "empty" }, run.done ? "None." : "Nothing has ended yet."));
}

function drawMessages(place, run, now) {
  const parts = [];
  if (run.damage && run.damage.length) parts.push(h("p", { class: "warning", role: "alert" }, `Damaged: ${run.damage[0].reason}. `, h("code", {}, `aworld doctor ${run.folder} --repair`), " makes a sound run of what is left."));
  if (now.started && !now.started.going && now.started.code) parts.push(h("div", { class: "warning", role: "alert" }, whyEnded(now.started)));
  fill(place, parts);
}

// Of the command that was to run it again: it was killed, it broke off, or it could not begin.
function whyEnded({ signal, code, said, again, ran }) {
  const words = signal ? `The resumed run was ended by signal ${signal}. ${again ? "Run failed again" : "Resume"} goes on with it.`
    : `${ran ? "The resumed run broke off" : "It could not be run again"}: ${said ? "" : `the command ended with code ${code}`}`;
  return [words, said ? h("pre", {}, said) : null];
}

function buttons(run, figures, now, asked) {
  const training = figures.training ? [link("/training", { run }, { class: "button quiet" }, "Training")] : [];
  if (isExport) return training;
  const failed = figures.done - (figures.counts.success || 0);
  const button = (title, action, hint, sure, kind = "") => h("button", { type: "button", class: kind, title: hint, disabled: !isConnected(), on: { click: () => act(run, action, sure, asked) } }, title);
  const made = [];
  if (now.writer && now.cancelling) {
    const count = now.running_count ? f.plural(now.running_count, "task") : "tasks";
    if (!figures.training) made.push(button("Stop now", "stop", "end the run without waiting: what runs is lost", `Stop now? The work of the ${count} that still run is lost. What has ended is kept, and the rest can be resumed.`, "danger"));
  } else if (now.writer) {
    made.push(now.paused ? button("Go on", "go-on", "begin tasks again") : button("Pause", "pause", "what runs comes to its end, nothing more begins"));
    made.push(button("Cancel", "cancel", "end the run; it can be resumed", figures.training
      ? "End this training? It breaks off its step, and goes on from its last checkpoint when it is resumed."
      : "End this run? What runs comes to its end; the rest can be resumed."));
  } else if (!figures.training) {
    if (figures.status === "unfinished") made.push(button("Resume", "resume", "run what is owed", "Run what is owed? This runs the agent that the run names, on this machine."));
    if (failed) made.push(button("Run failed again", "retry", "the earlier results are kept", `Run ${f.plural(failed, "failed task")} again? This runs the agent that the run names, on this machine.`));
  }
  made.push(...training, link("/compare", { first: run }, { class: "button quiet" }, "Compare"));
  return made;
}

async function act(run, action, sure, asked) {
  if (sure && !confirm(sure)) return;
  try {
    toast((await post("act", { run, action })).said);
    asked(action);
  } catch (error) {
    toast(error.message, "bad");
  }
}
