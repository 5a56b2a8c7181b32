// Curves with uPlot, in the colours of the page; to be taken away as PNG, SVG or CSV.
/* global uPlot */
import { fill, h } from "./dom.js";
import { TIME_STEPS, figure, levels, ticks } from "./format.js";

const shownPlots = new Set();
addEventListener("themechange", () => shownPlots.forEach((plot) => plot.redrawAll()));

export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim() || "#888";
}

export const LINES = ["line-1", "line-2", "line-3", "line-4", "line-5", "line-6", "line-7", "line-8"];

const STEPS = Array.from({ length: 10 }, (_, power) => [1, 2, 5].map((digit) => digit * 10 ** power)).flat(); // of whole numbers

// series: [{label, line, xs, ys, points, area, head}], with times in seconds where `time` is set. `head` is
// the figure that stands beside the title; where it is not given, the last value does.
export class Chart {
  constructor(title, { height = 170, time = false, xLabel = "", download = false, format = figure, note = "", isShare = false } = {}) {
    this.title = title;
    this.options = { height: height + (xLabel ? 16 : 0), time, xLabel, format, isShare };
    this.values = h("div", { class: "values", "aria-hidden": "true" });
    this.box = h("div", { class: "plot" });
    const more = download ? this.downloads() : null;
    this.element = h("figure", { class: "chart" }, h("figcaption", {}, h("span", { class: "name" }, title), note ? h("span", { class: "dim" }, note) : null, this.values), this.box, more);
    this.resized = new ResizeObserver(() => this.resize());
    this.resized.observe(this.box);
    shownPlots.add(this);
  }

  show(series) {
    this.series = series.filter((one) => one.xs.length);
    const summary = this.series.map((one) => `${one.label}: ${this.options.format(headOf(one))}`).join(", ");
    this.box.setAttribute("role", "img");
    this.box.setAttribute("aria-label", `${this.title}. ${summary || "nothing yet"}`);
    const data = joined(this.series);
    const shape = this.series.map((one) => `${one.label} ${one.line}`).join("|");
    this.data = data;
    if (this.plot && shape === this.shape) {
      this.plot.setData(data);
      this.legend(this.plot.cursor.idx);
      return;
    }
    this.shape = shape;
    this.redrawAll();
  }

  redrawAll() {
    if (!this.series) return;
    if (this.plot) this.plot.destroy();
    this.plot = null;
    if (!this.series.length) {
      fill(this.box, h("p", { class: "empty" }, "nothing yet"));
      return;
    }
    fill(this.box);
    const axis = { stroke: colour("dim"), grid: { stroke: colour("line"), width: 1 }, ticks: { show: false }, font: "11px system-ui" };
    const width = Math.max(this.box.clientWidth, 120);
    this.plot = new uPlot({
      width, height: this.options.height, padding: [8, 18, 0, 0], legend: { show: false },
      cursor: { y: false, points: { size: 6 } },
      scales: { x: { time: false }, y: { range: (_, low, high) => heightOf(low, high, this.options, this.series) } },
      series: [{}, ...this.series.map((one) => this.line(one))],
      axes: [
        { ...axis, ...this.below(), size: 24, gap: 2, space: this.options.time ? 56 : 50, incrs: this.options.time ? TIME_STEPS : STEPS, values: (_, places, __, ___, step) => (this.options.time ? ticks(places, step) : levels(places)) },
        { ...axis, size: 46, gap: 4, values: (_, places) => levels(places) },
      ],
      hooks: { setCursor: [(plot) => this.legend(plot.cursor.idx)] },
    }, this.data, this.box);
    this.legend(null);
  }

  below() {
    const { xLabel } = this.options;
    return xLabel ? { label: xLabel, labelSize: 16, labelGap: 0, labelFont: "11px system-ui" } : {};
  }

  line(one) {
    const stroke = colour(one.line);
    const isAlone = (plot, place) => plot.data[place].filter((value) => value !== null && value !== undefined).length === 1;
    const show = (plot, place) => Boolean(one.points) || isAlone(plot, place); // of one point there is no line
    const made = { label: one.label, stroke, width: one.points ? 1.2 : 1.6, spanGaps: true, points: { show, size: 7, fill: stroke } };
    if (one.area) made.fill = stroke + "22";
    if (one.dash) made.dash = [4, 4];
    return made;
  }

  legend(place) {
    fill(this.values, this.series.map((one, number) => {
      const column = this.plot ? this.plot.data[number + 1] : one.ys;
      const value = place === null || place === undefined ? headOf({ ...one, ys: column }) : column[place];
      if (value === undefined || (value === null && one.head === null)) return null;
      return h("span", { class: "key" }, h("i", { class: `l-${one.line}` }), this.series.length > 1 ? one.label + " " : "", h("b", {}, this.options.format(value)));
    }));
  }

  resize() {
    const width = this.box.clientWidth;
    if (this.plot && width > 60 && Math.abs(width - this.plot.width) > 1) this.plot.setSize({ width, height: this.options.height });
  }

  destroy() {
    this.resized.disconnect();
    shownPlots.delete(this);
    if (this.plot) this.plot.destroy();
  }

  downloads() {
    const items = [["PNG", () => this.asPng()], ["SVG", () => this.asSvg()], ["CSV", () => this.asCsv()]];
    const buttons = items.map(([name, take]) => h("button", { type: "button", class: "quiet small", title: `Download ${this.title} as ${name}`, on: { click: take } }, name));
    return h("span", { class: "downloads", role: "group", "aria-label": "Download" }, buttons);
  }

  asPng() {
    if (!this.plot) return;
    const from = this.plot.ctx.canvas, to = document.createElement("canvas");
    to.width = from.width;
    to.height = from.height;
    const ctx = to.getContext("2d");
    ctx.fillStyle = colour("card");
    ctx.fillRect(0, 0, to.width, to.height);
    ctx.drawImage(from, 0, 0);
    to.toBlob((blob) => save(blob, this.fileName("png")));
  }

  asCsv() {
    const data = this.plot ? this.plot.data : joined(this.series || []);
    const head = [this.options.xLabel || "x", ...(this.series || []).map((one) => one.label)];
    const lines = [head.map(quoted).join(",")];
    for (let n = 0; n < data[0].length; n++) lines.push(data.map((column) => column[n] ?? "").join(","));
    save(new Blob([lines.join("\n") + "\n"], { type: "text/csv" }), this.fileName("csv"));
  }

  asSvg() {
    save(new Blob([svgText(this.title, this.series || [], this.options)], { type: "image/svg+xml" }), this.fileName("svg"));
  }

  fileName(ending) {
    return `${this.title.replace(/[^\w@-]+/g, "-").toLowerCase()}.${ending}`;
  }
}

function joined(series) {
  if (!series.length) return [[]];
  if (series.every((one) => one.xs === series[0].xs)) return [series[0].xs, ...series.map((one) => one.ys)];
  return uPlot.join(series.map((one) => [one.xs, one.ys]));
}

// From where to where the values reach. A flat line stands in the middle of something, and a share of
// one between 0 and 1.
function heightOf(low, high, { isShare }, series) {
  if (low === null || high === null) return [0, 1];
  if (series.some((one) => one.area)) return [Math.min(0, low), high * 1.08 || 1];
  const span = high - low;
  if (span < 1e-9 * Math.max(Math.abs(low), Math.abs(high), 1e-9)) {
    if (isShare && low >= 0 && high <= 1) return [-0.04, 1.04];
    const room = Math.abs(low) * 0.1 || 1;
    return [low - room, high + room];
  }
  const below = low - span * 0.08, above = high + span * 0.08;
  return [low > 0 ? Math.max(below, 0) : below, above];
}

function headOf(one) {
  return one.head === undefined ? lastOf(one.ys) : one.head;
}

function lastOf(values) {
  for (let n = values.length - 1; n >= 0; n--) if (values[n] !== null && values[n] !== undefined) return values[n];
  return null;
}

function quoted(text) {
  const safe = /^[=+@\t\r-]/.test(text) ? `'${text}` : text; // a table program would take it for a formula
  return /[",\n]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
}

export function save(blob, name) {
  const url = URL.createObjectURL(blob);
  const link = h("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

function svgText(title, series, options) {
  const width = 720, height = 320, left = 60, right = 16, top = 40, bottom = 34;
  const points = series.flatMap((one) => one.xs.map((x, n) => [x, one.ys[n]])).filter(([, y]) => y !== null && y !== undefined);
  const xs = points.map(([x]) => x), ys = points.map(([, y]) => y);
  const [x0, x1] = [Math.min(...xs), Math.max(...xs)];
  const [y0, y1] = heightOf(Math.min(...ys), Math.max(...ys), options, series);
  const across = [0, 1, 2, 3, 4].map((n) => x0 + ((x1 - x0) * n) / 4), up = [0, 1, 2, 3, 4].map((n) => y0 + ((y1 - y0) * n) / 4);
  const acrossText = options.time ? ticks(across) : levels(across), upText = levels(up);
  const px = (x) => (left + ((x - x0) / (x1 - x0 || 1)) * (width - left - right)).toFixed(1);
  const py = (y) => (height - bottom - ((y - y0) / (y1 - y0 || 1)) * (height - top - bottom)).toFixed(1);
  const safe = (text) => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
  const parts = [`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" font-family="system-ui, sans-serif" font-size="11">`];
  parts.push(`<rect width="100%" height="100%" fill="#fff"/><text x="${left}" y="20" font-size="14" font-weight="600">${safe(title)}</text>`);
  for (let n = 0; n <= 4; n++) {
    const y = up[n], x = across[n];
    parts.push(`<line x1="${left}" x2="${width - right}" y1="${py(y)}" y2="${py(y)}" stroke="#e4e6eb"/><text x="${left - 6}" y="${py(y)}" text-anchor="end" dominant-baseline="middle" fill="#667">${safe(upText[n])}</text>`);
    if (!n || x1 > x0) parts.push(`<text x="${px(x)}" y="${height - 18}" text-anchor="middle" fill="#667">${safe(acrossText[n])}</text>`);
  }
  if (options.xLabel) parts.push(`<text x="${(left + width - right) / 2}" y="${height - 4}" text-anchor="middle" fill="#667">${safe(options.xLabel)}</text>`);
  series.forEach((one, number) => {
    const places = one.xs.map((x, n) => [x, one.ys[n]]).filter(([, y]) => y !== null && y !== undefined).map(([x, y]) => [px(x), py(y)]);
    parts.push(`<polyline points="${places.map((place) => place.join(",")).join(" ")}" fill="none" stroke="${colour(one.line)}" stroke-width="1.6"/>`);
    if (places.length === 1 || one.points) parts.push(...places.map(([x, y]) => `<circle cx="${x}" cy="${y}" r="3.5" fill="${colour(one.line)}"/>`));
    parts.push(`<text x="${width - right}" y="${20 + 13 * number}" text-anchor="end" fill="${colour(one.line)}">${safe(one.label)}</text>`);
  });
  return parts.join("") + "</svg>";
}
