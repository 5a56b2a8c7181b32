// A run in a file of its own: the data stands in the page, and what the server does is done here.
import { STATUSES } from "./badges.js";

const place = document.getElementById("aworld-data");
export const isExport = place !== null;
const data = isExport ? JSON.parse(place.textContent) : null;

export function onlyRun() {
  return data.run.id;
}

export async function answer(what, params) {
  if (what === "run") return data.run;
  if (what === "runs") return { root: "", runs: [data.run] };
  if (what === "curves") return { [data.run.id]: data.curves };
  if (what === "labels") return data.labels;
  if (what === "tasks") return page(params);
  if (what === "rollout") return rollout(params);
  if (what === "group") return group(params);
  if (what === "brief") return data.tasks.find((row) => row.slot === Number(params.slot)) || {};
  throw new Error(`this file does not hold that (${what})`);
}

function page(asked) {
  const words = (asked.text || "").toLowerCase();
  const fits = data.tasks.filter((row) =>
    (!asked.status || asked.status.split(",").includes(row.status)) &&
    (!asked.min_reward || (row.reward !== null && row.reward >= Number(asked.min_reward))) &&
    (!asked.max_reward || (row.reward !== null && row.reward <= Number(asked.max_reward))) &&
    (!asked.worker || row.worker === Number(asked.worker)) &&
    (!asked.failure || row.failure === asked.failure) &&
    (!asked.tag || row.tags.includes(asked.tag)) &&
    (!words || `${row.task} ${row.input} ${row.answer}`.toLowerCase().includes(words)));
  const sort = asked.sort || "slot", name = sort.replace("-", ""), sign = sort.startsWith("-") ? -1 : 1;
  fits.sort((one, other) => {
    if (one[name] === null || other[name] === null) return (one[name] === null) - (other[name] === null);
    return sign * (one[name] - other[name]) || one.slot - other.slot;
  });
  const offset = Number(asked.offset) || 0;
  return { count: fits.length, offset, rows: fits.slice(offset, offset + (Number(asked.limit) || 50)) };
}

function slotOf(params) {
  if (params.slot !== undefined && params.slot !== "") return Number(params.slot);
  const sample = Number(params.sample) || 0;
  const row = data.tasks.find((one) => one.task === params.task && one.sample === sample);
  if (!row) throw new Error("there is no such task in this file");
  return row.slot;
}

function rollout(params) {
  const slot = slotOf(params), found = data.rollouts[slot];
  if (!found) {
    throw new Error(
      "this file does not hold this conversation: it was made without all of them, to stay small");
  }
  const slots = page({ ...params, sort: "slot", offset: 0, limit: 1e9 }).rows.map((row) => row.slot);
  const before = slots.filter((one) => one < slot), after = slots.filter((one) => one > slot);
  return { ...found, previous: before[before.length - 1] ?? null, next: after[0] ?? null };
}

function group(params) {
  const rows = data.tasks.filter((row) => row.task === params.task);
  rows.sort((one, other) => one.sample - other.sample);
  const without = ({ slot, sample }) => ({ slot, sample, missing: "not in this file" });
  const samples = rows.map((row) => data.rollouts[row.slot] || without(row));
  return { task: params.task, input: rows.length ? rows[0].input : "", samples, of: data.run.samples };
}

// The same columns as a reply of /api/bars has.
export function exportedBars() {
  const rows = data.tasks, base = rows.reduce((least, row) => Math.min(least, row.began), Infinity);
  const column = (Type, of) => Type.from(rows, of);
  return {
    base, until: 0, samples: data.run.samples, count: rows.length,
    slots: column(Uint32Array, (row) => row.slot),
    workers: column(Int32Array, (row) => row.worker ?? -1),
    began: column(Float64Array, (row) => row.began - base),
    seconds: column(Float32Array, (row) => row.seconds),
    rewards: column(Float32Array, (row) => row.reward ?? NaN),
    statuses: column(Uint8Array, (row) => STATUSES.indexOf(row.status)),
  };
}
