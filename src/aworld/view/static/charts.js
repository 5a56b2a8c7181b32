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

// The steps that the ticks of an axis of whole numbers may have.
const STEPS = [...Array(10).keys()].flatMap((power) => [1, 2, 5].map((digit) => digit * 10 ** power));

// series: [{label, line, xs, ys, points, area, head}], with times in seconds where `time` is set. `head` is
// the figure that stands beside the title; where it is not given, the last value does.
export class Chart {
  constructor(title, {
    height = 170, time = false, xLabel = "", download = false, format = figure, note = "", isShare = false,
  } = {}) {
    this.title = title;
    this.options = { height: height + (xLabel ? 16 : 0), time, xLabel, format, isShare };
    this.values = h("div", { class: "values", "aria-hidden": "true" });
    this.box = h("div", { class: "plot" });
    const more = download ? this.downloads() : null;
    const caption = h("figcaption", {},
      h("span", { class: "name" }, title), note ? h("span", { class: "dim" }, note) : null, this.values);
    this.element = h("figure", { class: "chart" }, caption, this.box, more);
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
    const axis = {
      stroke: colour("dim"), grid: { stroke: colour("line"), width: 1 }, ticks: { show: false },
      font: "11px system-ui",
    };
    const width = Math.max(this.box.clientWidth, 120);
    const reach = (_, low, high) => heightOf(low, high, this.options, this.series);
    this.plot = new uPlot({
      width, height: this.options.height, padding: [8, 18, 0, 0], legend: { show: false },
      cursor: { y: false, points: { size: 6 } },
      scales: { x: { time: false }, y: { range: reach } },
      series: [{}, ...this.series.map((one) => this.line(one))],
      axes: [
        { ...axis, ...this.below() },
        { ...axis, size: 46, gap: 4, values: (_, places) => levels(places) },
      ],
      hooks: { setCursor: [(plot) => this.legend(plot.cursor.idx)] },
    }, this.data, this.box);
    this.legend(null);
  }

  // The axis of times, or of whole numbers such as steps.
  below() {
    const { time, xLabel } = this.options;
    const label = xLabel ? { label: xLabel, labelSize: 16, labelGap: 0, labelFont: "11px system-ui" } : {};
    const made = { ...label, size: 24, gap: 2 };
    if (!time) return { ...made, space: 50, incrs: STEPS, values: (_, places) => levels(places) };
    const values = (_, places, __, ___, step) => ticks(places, step);
    return { ...made, space: 56, incrs: TIME_STEPS, values };
  }

  line(one) {
    const stroke = colour(one.line);
    const isAlone = (plot, place) => plot.data[place].filter(isKnown).length === 1;
    // of one point there is no line
    const show = (plot, place) => Boolean(one.points) || isAlone(plot, place);
    const made = {
      label: one.label, stroke, width: one.points ? 1.2 : 1.6, spanGaps: true,
      points: { show, size: 7, fill: stroke },
    };
    if (one.area) made.fill = stroke + "22";
    if (one.dash) made.dash = [4, 4];
    return made;
  }

  legend(place) {
    fill(this.values, this.series.map((one, number) => {
      const column = this.plot ? this.plot.data[number + 1] : one.ys;
      const value = place === null || place === undefined ? headOf({ ...one, ys: column }) : column[place];
      if (value === undefined || (value === null && one.head === null)) return null;
      const name = this.series.length > 1 ? one.label + " " : "";
      const words = h("b", {}, this.options.format(value));
      return h("span", { class: "key" }, h("i", { class: `l-${one.line}` }), name, words);
    }));
  }

  resize() {
    const width = this.box.clientWidth;
    const isOff = this.plot && width > 60 && Math.abs(width - this.plot.width) > 1;
    if (isOff) this.plot.setSize({ width, height: this.options.height });
  }

  destroy() {
    this.resized.disconnect();
    shownPlots.delete(this);
    if (this.plot) this.plot.destroy();
  }

  downloads() {
    const items = [["PNG", () => this.asPng()], ["SVG", () => this.asSvg()], ["CSV", () => this.asCsv()]];
    const buttons = items.map(([name, take]) => {
      const title = `Download ${this.title} as ${name}`;
      return h("button", { type: "button", class: "quiet small", title, on: { click: take } }, name);
    });
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
    const text = svgText(this.title, this.series || [], this.options);
    save(new Blob([text], { type: "image/svg+xml" }), this.fileName("svg"));
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

function isKnown(value) {
  return value !== null && value !== undefined;
}

function lastOf(values) {
  for (let n = values.length - 1; n >= 0; n--) if (isKnown(values[n])) return values[n];
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
  const pointsOf = (one) => one.xs.map((x, n) => [x, one.ys[n]]).filter(([, y]) => isKnown(y));
  const points = series.flatMap((one) => pointsOf(one));
  const xs = points.map(([x]) => x), ys = points.map(([, y]) => y);
  const [x0, x1] = [Math.min(...xs), Math.max(...xs)];
  const [y0, y1] = heightOf(Math.min(...ys), Math.max(...ys), options, series);
  const quarters = (from, to) => [0, 1, 2, 3, 4].map((n) => from + ((to - from) * n) / 4);
  const across = quarters(x0, x1), up = quarters(y0, y1);
  const acrossText = options.time ? ticks(across) : levels(across), upText = levels(up);
  const px = (x) => (left + ((x - x0) / (x1 - x0 || 1)) * (width - left - right)).toFixed(1);
  const py = (y) => (height - bottom - ((y - y0) / (y1 - y0 || 1)) * (height - top - bottom)).toFixed(1);
  const safe = (text) => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
  const write = (text, x, y, look) => `<text x="${x}" y="${y}" ${look}>${safe(text)}</text>`;
  const beside = 'text-anchor="end" dominant-baseline="middle" fill="#667"';
  const below = 'text-anchor="middle" fill="#667"';
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"`,
    ' font-family="system-ui, sans-serif" font-size="11"><rect width="100%" height="100%" fill="#fff"/>',
    write(title, left, 20, 'font-size="14" font-weight="600"'),
  ];
  for (let n = 0; n <= 4; n++) {
    const y = py(up[n]);
    parts.push(`<line x1="${left}" x2="${width - right}" y1="${y}" y2="${y}" stroke="#e4e6eb"/>`);
    parts.push(write(upText[n], left - 6, y, beside));
    if (!n || x1 > x0) parts.push(write(acrossText[n], px(across[n]), height - 18, below));
  }
  if (options.xLabel) parts.push(write(options.xLabel, (left + width - right) / 2, height - 4, below));
  series.forEach((one, number) => {
    const tone = colour(one.line);
    const places = pointsOf(one).map(([x, y]) => [px(x), py(y)]);
    const way = places.map((place) => place.join(",")).join(" ");
    parts.push(`<polyline points="${way}" fill="none" stroke="${tone}" stroke-width="1.6"/>`);
    const dots = places.length === 1 || one.points ? places : [];
    parts.push(...dots.map(([x, y]) => `<circle cx="${x}" cy="${y}" r="3.5" fill="${tone}"/>`));
    parts.push(write(one.label, width - right, 20 + 13 * number, `text-anchor="end" fill="${tone}"`));
  });
  return parts.join("") + "</svg>";
}
