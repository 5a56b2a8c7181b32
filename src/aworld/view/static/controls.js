// What one can do with a run, and what is said where it went wrong.
import { isConnected, post } from "./api.js";
import { fill, h, toast } from "./dom.js";
import { isExport } from "./exported.js";
import * as f from "./format.js";
import { link } from "./router.js";

const ON_THIS_MACHINE = "This runs the agent that the run names, on this machine.";
const END_TRAINING =
  "End this training? It breaks off its step, and goes on from its last checkpoint when it is resumed.";
const END_RUN = "End this run? What runs comes to its end; the rest can be resumed.";

// `asked` is called with the action when the server has taken it.
export function buttons(run, figures, now, asked) {
  const quiet = { class: "button quiet" };
  const training = figures.training ? [link("/training", { run }, quiet, "Training")] : [];
  if (isExport) return training;
  const button = (title, action, hint, sure, kind = "") => h("button", {
    type: "button", class: kind, title: hint, disabled: !isConnected(),
    on: { click: () => act(run, action, sure, asked) },
  }, title);
  const made = actions(figures, now).map((action) => button(...action));
  return [...made, ...training, link("/compare", { first: run }, quiet, "Compare")];
}

// Those that make sense as the run stands: [title, action, hint, question, kind].
function actions(figures, now) {
  if (now.writer && now.cancelling) return figures.training ? [] : [stopNow(now)];
  if (now.writer) {
    return [
      now.paused
        ? ["Go on", "go-on", "begin tasks again"]
        : ["Pause", "pause", "what runs comes to its end, nothing more begins"],
      ["Cancel", "cancel", "end the run; it can be resumed", figures.training ? END_TRAINING : END_RUN],
    ];
  }
  if (figures.training) return [];
  const made = [], failed = figures.done - (figures.counts.success || 0);
  if (figures.status === "unfinished") {
    made.push(["Resume", "resume", "run what is owed", `Run what is owed? ${ON_THIS_MACHINE}`]);
  }
  if (failed) {
    const question = `Run ${f.plural(failed, "failed task")} again? ${ON_THIS_MACHINE}`;
    made.push(["Run failed again", "retry", "the earlier results are kept", question]);
  }
  return made;
}

function stopNow(now) {
  const count = now.running_count ? f.plural(now.running_count, "task") : "tasks";
  const question = `Stop now? The work of the ${count} that still run is lost. What has ended is kept, ` +
    "and the rest can be resumed.";
  return ["Stop now", "stop", "end the run without waiting: what runs is lost", question, "danger"];
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

export function drawMessages(place, run, now) {
  const alert = { class: "warning", role: "alert" }, parts = [];
  if (run.damage && run.damage.length) {
    const repair = h("code", {}, `aworld doctor ${run.folder} --repair`);
    const { reason } = run.damage[0];
    parts.push(h("p", alert, `Damaged: ${reason}. `, repair, " makes a sound run of what is left."));
  }
  const hasFailed = now.started && !now.started.going && now.started.code;
  if (hasFailed) parts.push(h("div", alert, whyEnded(now.started)));
  fill(place, parts);
}

// Of the command that was to run it again: it was killed, it broke off, or it could not begin.
function whyEnded({ signal, code, said, again, ran }) {
  const output = said ? h("pre", {}, said) : null;
  if (signal) {
    const next = again ? "Run failed again" : "Resume";
    return [`The resumed run was ended by signal ${signal}. ${next} goes on with it.`, output];
  }
  const what = ran ? "The resumed run broke off" : "It could not be run again";
  return [`${what}: ${said ? "" : `the command ended with code ${code}`}`, output];
}
