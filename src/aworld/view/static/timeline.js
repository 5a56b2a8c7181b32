// The timeline: one lane per worker slot, one bar per task, on a canvas. Only what can be seen is
// drawn, and bars that are narrower than a pixel are drawn together.
import { STATUSES, legend } from "./badges.js";
import { colour } from "./charts.js";
import { fill, h } from "./dom.js";
import * as f from "./format.js";
import { listenTo } from "./gestures.js";
import { Lanes, firstAfter, placeOf, withRunning } from "./lanes.js";

const LEFT = 44, AXIS = 20, BUSY = 34, STEPS = 600;
const WORST = [0, 5, 3, 4, 6, 2, 1, 7, 1]; // which colour marks a pixel that several share
const NAMES = [...STATUSES, "running"];

export class Timeline {
  constructor({ onOpen, brief, slots }) {
    this.lanes = new Lanes(slots);
    this.running = [];
    this.onOpen = onOpen;
    this.brief = brief;
    this.view = null; // the times that are seen; null: all
    this.top = 0;
    const ownKeys = "ArrowLeft ArrowRight ArrowUp ArrowDown + - 0 =";
    this.canvas = h("canvas", { tabindex: 0, role: "img", data: { ownKeys } });
    this.tip = h("div", { class: "tip", hidden: true });
    this.told = h("span", { class: "dim" });
    const button = (sign, title, click) =>
      h("button", { type: "button", class: "quiet small", title, "aria-label": title, on: { click } }, sign);
    const tools = h("span", { class: "tools" },
      button("−", "Zoom out (-)", () => this.zoom(1.6)),
      button("+", "Zoom in (+)", () => this.zoom(1 / 1.6)),
      button("⤢", "Show all (0)", () => this.fit()));
    this.byReward = h("input", { type: "checkbox", on: { change: () => this.draw() } });
    const choice = h("label", { class: "check" }, this.byReward, "by reward");
    this.keys = h("div", {});
    this.element = h("section", { class: "card timeline", "aria-label": "Timeline" },
      h("header", {}, h("h2", {}, "Timeline"), this.told, h("span", { class: "spacer" }), choice, tools),
      h("div", { class: "canvas" }, this.canvas, this.tip), this.keys);
    listenTo(this, LEFT);
    this.resized = new ResizeObserver(() => this.draw());
    this.resized.observe(this.canvas.parentElement);
    this.onTheme = () => this.draw();
    addEventListener("themechange", this.onTheme);
  }

  destroy() {
    this.resized.disconnect();
    removeEventListener("themechange", this.onTheme);
    cancelAnimationFrame(this.frame);
  }

  add(bars) {
    this.lanes.add(bars);
    this.curve = null;
    this.tell();
    this.draw();
  }

  // {most, mean}: how many ran at once, as the server has counted it over what has ended; and when
  // nobody ran the run.
  setTogether(together, breaks) {
    this.counted = together;
    if (this.lanes.setBreaks(breaks)) this.curve = null;
    this.tell();
    this.draw();
  }

  // The text and the axis both stand on this. Clocks are not exact: a task can seem to begin before the
  // one in the same slot has ended, but no more ran at once than there are lanes.
  together() {
    const live = this.stillRunning().length, lanes = this.lanes.rows().length;
    const most = Math.max(Math.min(this.counted ? this.counted.most : lanes, lanes), live, 1);
    return { most, mean: this.counted ? Math.min(this.counted.mean, most) : null, live };
  }

  setRunning(running, now) {
    this.running = running || [];
    this.now = now;
    if (this.running.length && this.lanes.base === null) {
      this.lanes.base = Math.min(...this.running.map(([, , began]) => began));
    }
    this.curve = null;
    this.tell();
    this.draw();
  }

  tell() {
    const { lanes } = this, span = lanes.count ? lanes.last - lanes.first : 0;
    const { most, mean, live } = this.together();
    const workers = new Set([...lanes.workers.keys(), ...this.running.map(([, worker]) => worker)]).size;
    const average = mean === null ? "" : `, ${f.trimmed(mean, 1)} on average`;
    const idle = lanes.breaks.reduce((sum, [from, to]) => sum + to - from, 0);
    const cut = idle ? `; ${f.seconds(idle)} in which nothing ran left out` : "";
    const who = f.plural(workers, "worker");
    const begun = live ? `${who}, ${live} running` : "nothing has ended yet";
    const text = lanes.count ? `${who}, up to ${most} at once${average}${cut}` : begun;
    const keys = [...STATUSES.filter((_, n) => lanes.statuses.has(n)), ...(live ? ["running"] : [])];
    if (this.told.textContent !== text) fill(this.told, text);
    if (this.keys.textContent !== keys.join("")) fill(this.keys, legend(keys));
    const what = `Timeline of ${f.plural(lanes.count, "task")} over ${f.seconds(span)}`;
    this.canvas.setAttribute("aria-label", `${what}: ${text}. The table below lists them.`);
  }

  range() {
    const live = this.running.map(([, , began]) => this.lanes.at(began));
    const from = Math.min(this.lanes.first, ...live, this.lanes.count || live.length ? Infinity : 0);
    const to = Math.max(this.lanes.last, live.length ? this.lanes.at(this.now) : -Infinity, from + 1e-3);
    return this.view || [from, from + (to - from) * 1.005];
  }

  fit() {
    this.view = null;
    this.top = 0;
    this.draw();
  }

  zoom(factor, at = 0.5) {
    const [from, to] = this.range(), span = Math.max((to - from) * factor, 1e-3);
    const all = this.lanes.count ? this.lanes.last - this.lanes.first : Infinity;
    const isAll = span >= all * 1.01 && !this.running.length;
    const middle = from + (to - from) * at;
    this.view = isAll ? null : [middle - span * at, middle + span * (1 - at)];
    this.draw();
  }

  pan(share, lanes = 0) {
    const [from, to] = this.range(), by = (to - from) * share;
    this.view = [from + by, to + by];
    this.top = Math.max(0, Math.min(this.top + lanes, this.most || 0));
    this.draw();
  }

  // News of what runs may be older than the news of what has ended.
  stillRunning() {
    return this.running.filter(([slot, , began]) => {
      const ended = this.lanes.bySlot.get(slot);
      return !ended || ended.began < began - 0.5;
    });
  }

  draw() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.paint();
    });
  }

  paint() {
    const box = this.canvas.parentElement, width = box.clientWidth;
    if (!width) return;
    const rows = withRunning(this.lanes.rows(), this.stillRunning(), this.lanes, this.now);
    const size = Math.max(3, Math.min(14, Math.floor(300 / Math.max(rows.length, 1))));
    const height = AXIS + BUSY + Math.max(1, Math.min(rows.length, Math.floor(300 / size))) * size + 6;
    const scale = devicePixelRatio || 1;
    const wide = Math.round(width * scale), high = Math.round(height * scale);
    if (this.canvas.width !== wide || this.canvas.height !== high) {
      this.canvas.width = wide;
      this.canvas.height = high;
      this.canvas.style.setProperty("height", `${height}px`);
    }
    const ctx = this.canvas.getContext("2d");
    ctx.setTransform(scale, 0, 0, scale, 0, 0);
    ctx.clearRect(0, 0, width, height);
    const [from, to] = this.range();
    const per = (width - LEFT) / (to - from), top = Math.floor(this.top);
    const shape = { width, height, size, from, to, per, top, running: colour("s-running") };
    this.shape = shape;
    this.rows = rows;
    this.most = Math.max(0, rows.length - Math.floor((height - AXIS - BUSY) / size));
    this.paintAxis(ctx, shape);
    this.paintBusy(ctx, shape, rows);
    ctx.save();
    ctx.beginPath();
    ctx.rect(LEFT, AXIS + BUSY, width - LEFT, height - AXIS - BUSY);
    ctx.clip();
    const palette = this.palette();
    const last = Math.min(rows.length, shape.top + Math.ceil((height - AXIS - BUSY) / size));
    for (let n = top; n < last; n++) {
      this.paintLane(ctx, shape, rows[n], AXIS + BUSY + (n - top) * size, palette);
    }
    ctx.restore();
    this.paintWorkers(ctx, shape, rows, last);
  }

  // By its status, or by its reward: read from the page once for each picture.
  palette() {
    if (!this.byReward.checked) {
      return { of: "statuses", colours: [...NAMES.map((name) => colour(`s-${name}`)), colour("dim")] };
    }
    const rewards = Array.from({ length: 11 }, (_, n) => colour(`r${n}`));
    return { of: "rewards", colours: [...rewards, colour("s-skipped")] };
  }

  paintLane(ctx, { width, from, to, per, size, running }, row, y, { of, colours }) {
    const tall = size > 5 ? size - 2 : size - 0.5;
    if (row.columns) paintBars(ctx, row.columns, row.columns[of], colours, { width, from, to, per, y, tall });
    if (!row.live) return;
    ctx.fillStyle = running;
    const left = LEFT + (row.live.x - from) * per, right = LEFT + (row.live.to - from) * per;
    ctx.fillRect(Math.max(left, LEFT - 2), y, Math.max(right - left, 1.5), tall);
  }

  // The moment from which the axis counts.
  zero(from) {
    const { count, first } = this.lanes;
    if (this.view) return count ? first : 0;
    return Math.min(first, from);
  }

  paintAxis(ctx, { width, height, from, to, per }) {
    ctx.font = "11px system-ui, sans-serif";
    ctx.textBaseline = "middle";
    ctx.textAlign = "center";
    const step = niceStep((to - from) / Math.max(3, Math.floor((width - LEFT) / 90)));
    const zero = this.zero(from);
    for (let t = Math.ceil((from - zero) / step) * step; t <= to - zero; t += step) {
      const x = LEFT + (t + zero - from) * per;
      ctx.fillStyle = colour("line");
      ctx.fillRect(Math.round(x), AXIS - 4, 1, height - AXIS);
      ctx.fillStyle = colour("dim");
      if (x > LEFT + 12 && x < width - 20) ctx.fillText(f.tick(Math.max(t, 0), step), x, 8);
    }
    ctx.fillStyle = colour("s-timeout");
    for (const [moment] of this.lanes.base === null ? [] : this.lanes.breaks) {
      const x = Math.round(LEFT + (this.lanes.at(moment) - from) * per);
      if (x > LEFT) for (let y = AXIS - 4; y < height; y += 6) ctx.fillRect(x, y, 1, 3); // it was cut here
    }
  }

  paintBusy(ctx, { width, from, to }, rows) {
    const { lanes } = this, { most, live } = this.together();
    if (!lanes.count && !live) return;
    const start = Math.min(lanes.first, ...rows.map((row) => (row.live ? row.live.x : Infinity)));
    const end = Math.max(lanes.last, live ? lanes.at(this.now) : -Infinity), span = end - start || 1;
    this.curve = this.curve || lanes.together(rows, [start, end], STEPS);
    const bottom = AXIS + BUSY - 6, tall = BUSY - 10;
    ctx.beginPath();
    ctx.moveTo(LEFT, bottom);
    for (let x = LEFT; x <= width; x += 1) {
      const t = from + ((x - LEFT) / (width - LEFT)) * (to - from);
      const place = Math.floor(((t - start) / span) * STEPS);
      const value = place >= 0 && place < STEPS ? Math.min(this.curve[place], most) : 0;
      ctx.lineTo(x, bottom - (value / most) * tall);
    }
    ctx.lineTo(width, bottom);
    ctx.closePath();
    ctx.fillStyle = colour("busy");
    ctx.fill();
    ctx.fillStyle = colour("dim");
    ctx.textAlign = "right";
    ctx.fillText(`${most}×`, LEFT - 8, bottom - tall + 4);
  }

  paintWorkers(ctx, { size, top }, rows, last) {
    ctx.fillStyle = colour("dim");
    ctx.textAlign = "right";
    let free = 0;
    for (let n = top; n < last; n++) {
      const y = AXIS + BUSY + (n - top) * size;
      if (!rows[n].first || y < free) continue;
      ctx.fillText(rows[n].worker < 0 ? "?" : `w${rows[n].worker}`, LEFT - 8, y + Math.min(size, 14) / 2 + 1);
      if (n > top) {
        ctx.fillStyle = colour("line");
        ctx.fillRect(0, y - 1, LEFT - 4, 1);
        ctx.fillStyle = colour("dim");
      }
      free = y + 13;
    }
  }

  barAt(x, y) {
    const { shape } = this;
    if (!shape || x < LEFT || y < AXIS + BUSY) return null;
    const row = this.rows[shape.top + Math.floor((y - AXIS - BUSY) / shape.size)];
    if (!row) return null;
    const t = shape.from + (x - LEFT) / shape.per, near = 2 / shape.per;
    if (row.live && t >= row.live.x - near) return row.live;
    for (let n = firstAfter(row.bars, t - near); n < row.bars.length && row.bars[n].x <= t + near; n++) {
      if (!row.bars[n].gone) return row.bars[n];
    }
    return null;
  }

  hover(event) {
    const bar = this.barAt(event.offsetX, event.offsetY);
    this.canvas.style.setProperty("cursor", bar ? "pointer" : "grab");
    if (!bar) {
      this.tip.hidden = true;
      this.hovered = null;
      return;
    }
    const right = event.offsetX > this.canvas.clientWidth / 2;
    this.tip.hidden = false;
    const x = event.offsetX + (right ? -12 : 12), y = event.offsetY + 14;
    const side = right ? " translateX(-100%)" : "";
    this.tip.style.setProperty("transform", `translate(${x}px, ${y}px)${side}`);
    if (this.hovered === bar) return;
    this.hovered = bar;
    const facts = [
      f.seconds(bar.seconds), bar.worker >= 0 ? `worker ${bar.worker}` : null,
      Number.isNaN(bar.reward) ? null : `reward ${f.reward(bar.reward)}`,
    ];
    const name = h("b", {}, `#${bar.slot}`), status = NAMES[bar.status];
    fill(this.tip, name, h("span", { class: `pill s-${status}` }, status || "?"),
      h("div", { class: "dim" }, facts.filter(Boolean).join(" · ")));
    clearTimeout(this.asking);
    this.asking = setTimeout(async () => {
      const found = await this.brief(bar.slot);
      if (found && this.hovered === bar) fill(name, found);
    }, 120);
  }
}

// Bars that are narrower than a pixel are drawn together, in the colour of the longest of them; those
// that did not end well are marked at the foot, as high as their share.
function paintBars(ctx, { from: starts, to: ends, statuses, count }, codes, colours, place) {
  const { width, from, to, per, y, tall } = place;
  let start = 0, end = -1, all = 0, bad = 0, longest = 0, worst = 0, paint = 0, mark = 0;
  const failures = []; // nothing is painted over them
  const fill = (code, x, top, wide, high) => {
    ctx.fillStyle = colours[code];
    ctx.fillRect(x, top, wide, high);
  };
  const flush = () => {
    const wide = Math.max(end - start, 0.8);
    if (!bad || mark !== paint) fill(paint, start, y, wide, tall);
    if (bad) {
      const high = mark === paint ? tall : Math.max(1.5, (tall * bad) / all);
      failures.push([mark, start, y + tall - high, wide, high]);
    }
    end = -1;
  };
  for (let n = placeOf(ends, from); n < count && starts[n] <= to; n++) {
    const left = LEFT + (starts[n] - from) * per, right = Math.min(LEFT + (ends[n] - from) * per, width + 2);
    const wide = right - left > 1.6, next = codes[n], rank = WORST[statuses[n]], time = ends[n] - starts[n];
    const isSamePixel = right - start < 1.6, isAlike = left - end < 0.7 && next === paint && !bad;
    const together = !wide && end >= 0 && (isSamePixel || isAlike);
    if (!together) {
      if (end >= 0) flush();
      start = Math.max(left, LEFT - 2);
      all = bad = longest = worst = 0;
    }
    all += time;
    if (time > longest) {
      longest = time;
      paint = next;
    }
    if (rank) {
      bad += time;
      if (rank > worst) {
        worst = rank;
        mark = next;
      }
    }
    end = wide && right - left > 3 ? right - 0.8 : right;
    if (wide) flush();
  }
  if (end >= 0) flush();
  for (const one of failures) fill(...one);
}

function niceStep(rough) {
  return f.TIME_STEPS.find((step) => step >= rough) || Math.ceil(rough / 86400) * 86400;
}
