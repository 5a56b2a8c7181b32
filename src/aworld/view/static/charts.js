// Curves with uPlot, in the colours of the page; to be taken away as PNG, SVG or CSV.
/* global uPlot */
import { fill, h } from "./dom.js";
import { figure, seconds } from "./format.js";

const shownPlots = new Set();
addEventListener("themechange", () => shownPlots.forEach((plot) => plot.redrawAll()));

export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim() || "#888";
}

export const LINES = ["line-1", "line-2", "line-3", "line-4", "line-5", "line-6", "line-7", "line-8"];

// series: [{label, line, xs, ys, points, area}], with times in seconds where `time` is set.
export class Chart {
  constructor(title, { height = 170, time = false, xLabel = "", download = false, format = figure, note = "" } = {}) {
    this.title = title;
    this.options = { height, time, xLabel, format };
    this.values = h("div", { class: "values", "aria-hidden": "true" });
    this.box = h("div", { class: "plot" });
    const more = download ? this.downloads() : null;
    this.element = h("figure", { class: "chart" }, h("figcaption", {}, h("span", { class: "name" }, title), note ? h("span", { class: "dim" }, note) : null, this.values, more), this.box);
    this.resized = new ResizeObserver(() => this.resize());
    this.resized.observe(this.box);
    shownPlots.add(this);
  }

  show(series) {
    this.series = series.filter((one) => one.xs.length);
    const summary = this.series.map((one) => `${one.label}: ${this.options.format(lastOf(one.ys))}`).join(", ");
    this.box.setAttribute("role", "img");
    this.box.setAttribute("aria-label", `${this.title}. ${summary || "nothing yet"}`);
    const data = joined(this.series);
    const shape = this.series.map((one) => `${one.label} ${one.line}`).join("|");
    this.data = data;
    if (this.plot && shape === this.shape) {
      this.plot.setData(data);
      this.legend(null);
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
      scales: { x: { time: false }, y: this.series.some((one) => one.area) ? { range: (_, low, high) => [Math.min(0, low), high * 1.08 || 1] } : {} },
      series: [{}, ...this.series.map((one) => this.line(one))],
      axes: [
        { ...axis, size: 24, gap: 2, values: (_, ticks) => ticks.map((tick) => (this.options.time ? seconds(tick) : figure(tick))) },
        { ...axis, size: 46, gap: 4, values: (_, ticks) => ticks.map((tick) => this.options.format(tick)) },
      ],
      hooks: { setCursor: [(plot) => this.legend(plot.cursor.idx)] },
    }, this.data, this.box);
    this.legend(null);
  }

  line(one) {
    const stroke = colour(one.line);
    const made = { label: one.label, stroke, width: one.points ? 1.2 : 1.6, spanGaps: true, points: { show: Boolean(one.points), size: 7, fill: stroke } };
    if (one.area) made.fill = stroke + "22";
    if (one.dash) made.dash = [4, 4];
    return made;
  }

  legend(place) {
    fill(this.values, this.series.map((one, number) => {
      const column = this.plot ? this.plot.data[number + 1] : one.ys;
      const value = place === null || place === undefined ? lastOf(column) : column[place];
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
  const [x0, x1, y0, y1] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const px = (x) => (left + ((x - x0) / (x1 - x0 || 1)) * (width - left - right)).toFixed(1);
  const py = (y) => (height - bottom - ((y - y0) / (y1 - y0 || 1)) * (height - top - bottom)).toFixed(1);
  const safe = (text) => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
  const parts = [`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" font-family="system-ui, sans-serif" font-size="11">`];
  parts.push(`<rect width="100%" height="100%" fill="#fff"/><text x="${left}" y="20" font-size="14" font-weight="600">${safe(title)}</text>`);
  for (let n = 0; n <= 4; n++) {
    const y = y0 + ((y1 - y0) * n) / 4, x = x0 + ((x1 - x0) * n) / 4;
    parts.push(`<line x1="${left}" x2="${width - right}" y1="${py(y)}" y2="${py(y)}" stroke="#e4e6eb"/><text x="${left - 6}" y="${py(y)}" text-anchor="end" dominant-baseline="middle" fill="#667">${safe(options.format(y))}</text>`);
    parts.push(`<text x="${px(x)}" y="${height - 12}" text-anchor="middle" fill="#667">${safe(options.time ? seconds(x) : figure(x))}</text>`);
  }
  series.forEach((one, number) => {
    const line = one.xs.map((x, n) => [x, one.ys[n]]).filter(([, y]) => y !== null && y !== undefined).map(([x, y]) => `${px(x)},${py(y)}`).join(" ");
    parts.push(`<polyline points="${line}" fill="none" stroke="${colour(one.line)}" stroke-width="1.6"/>`);
    parts.push(`<text x="${width - right}" y="${20 + 13 * number}" text-anchor="end" fill="${colour(one.line)}">${safe(one.label)}</text>`);
  });
  return parts.join("") + "</svg>";
}
