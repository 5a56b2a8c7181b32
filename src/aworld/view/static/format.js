// Numbers and times in few characters.

export function count(value) {
  if (value === null || value === undefined) return "–";
  if (value < 10_000) return String(value);
  if (value < 1_000_000) return `${trimmed(value / 1000, value < 100_000 ? 1 : 0)}k`;
  if (value < 1e9) return `${trimmed(value / 1e6, value < 1e8 ? 1 : 0)}M`;
  return `${trimmed(value / 1e9, 1)}G`;
}

export function whole(value) {
  return value === null || value === undefined ? "–" : value.toLocaleString("en-US");
}

export function share(part, all) {
  if (!all) return "–";
  const percent = (100 * part) / all;
  return `${percent > 99 && percent < 100 ? percent.toFixed(1) : Math.round(percent)}%`;
}

export function reward(value) {
  return value === null || value === undefined ? "–" : trimmed(value, 3);
}

export function seconds(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (value < 0.0995) return `${Math.round(value * 1000)} ms`;
  if (value < 9.95) return `${value.toFixed(1)} s`;
  if (value < 60) return `${Math.round(value)} s`;
  const minutes = Math.floor(value / 60);
  if (minutes < 60) return `${minutes}m ${String(Math.floor(value % 60)).padStart(2, "0")}s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours}h ${String(minutes % 60).padStart(2, "0")}m`;
  return `${Math.floor(hours / 24)}d ${hours % 24}h`;
}

// The steps that the ticks of a time axis may have, in seconds.
export const TIME_STEPS = [
  0.00001, 0.00002, 0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5,
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200,
  86400, 172800, 432000, 864000,
];

// As many as the multiples of a step need, two more than its size has at most.
function digitsFor(step) {
  const least = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
  const isWhole = (digits) => Math.abs(step * 10 ** digits - Math.round(step * 10 ** digits)) < 1e-6;
  return Math.min(isWhole(least) ? least : isWhole(least + 1) ? least + 1 : least + 2, 9);
}

// A moment on an axis, with as many digits as tell it from the next one. `isShort`: the axis ends before
// its first second does.
export function tick(value, step, isShort = false) {
  const isInMs = isShort || (step < 0.1 && value < 1), digits = digitsFor(step);
  if (value < 60 && isInMs) return `${trimmed(value * 1000, digitsFor(step * 1000))} ms`;
  if (value < 60) return `${value.toFixed(digits)} s`;
  const day = Math.floor(value / 86400), hour = Math.floor((value % 86400) / 3600);
  const minute = Math.floor((value % 3600) / 60), second = value % 60;
  const two = (number) => String(number).padStart(2, "0");
  if (day) return step >= 86400 ? `${day}d` : `${day}d ${hour}h${step < 3600 ? ` ${two(minute)}m` : ""}`;
  const after = step < 60 ? ` ${two(Math.floor(second))}s` : "";
  if (hour) return step >= 3600 ? `${hour}h` : `${hour}h ${two(minute)}m${after}`;
  const wide = step < 1 ? digits + 3 : 2;
  return step >= 60 ? `${minute}m` : `${minute}m ${second.toFixed(digits).padStart(wide, "0")}s`;
}

// `between`: the step, where one value alone does not tell it.
export function ticks(values, between = 1) {
  const step = values.length > 1 ? values[1] - values[0] : between, isShort = values[values.length - 1] < 1;
  return values.map((value) => tick(value, step, isShort));
}

// Numbers beside an axis: no two of them look the same.
export function levels(values) {
  const step = values.length > 1 ? values[1] - values[0] : 1;
  return values.map((value) => {
    if (value === null) return "";
    if (Math.abs(value) >= 10_000 && step >= 100) return count(Math.round(value));
    return step < 1e-4 && value !== 0 ? value.toExponential(1) : trimmed(value, digitsFor(step));
  });
}

export function rate(value) {
  if (value === null || !Number.isFinite(value)) return "–";
  if (value > 0 && value < 0.095) return trimmed(value, 3);
  return value < 10 ? value.toFixed(1) : count(Math.round(value));
}

export function cost(value) {
  if (!value) return "–";
  return value < 0.01 ? value.toPrecision(2) : value.toFixed(value < 100 ? 2 : 0);
}

export function when(moment) {
  if (!moment) return "–";
  const date = new Date(moment * 1000), now = new Date();
  const time = date.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
  if (date.toDateString() === now.toDateString()) return `today ${time}`;
  const day = date.toLocaleDateString("en-GB", { day: "numeric", month: "short" });
  return date.getFullYear() === now.getFullYear() ? `${day} ${time}` : `${day} ${date.getFullYear()}`;
}

export function plural(number, one, many) {
  return `${whole(number)} ${number === 1 ? one : many || one + "s"}`;
}

export function trimmed(value, digits) {
  if (!Number.isFinite(value)) return "–";
  const text = value.toFixed(digits);
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

export function figure(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size >= 10_000) return count(Math.round(value));
  if (size >= 100) return trimmed(value, 0);
  if (size >= 1) return trimmed(value, 2);
  return size === 0 ? "0" : size < 0.001 ? value.toExponential(1) : trimmed(value, 4);
}
