// Bars on lanes: one lane for each worker slot that was really in use, none with two bars at once.
export const RUNNING = 7; // as a status: the place after those that a result can have

// A reply of /api/bars: see bars.py for its form.
export function readBars(buffer) {
  const view = new DataView(buffer);
  const count = view.getUint32(16, true);
  let place = 24;
  const column = (Type) => {
    const made = new Type(buffer, place, count);
    place += count * Type.BYTES_PER_ELEMENT;
    return made;
  };
  return {
    base: view.getFloat64(0, true), until: view.getFloat64(8, true), samples: view.getUint32(20, true), count,
    began: column(Float64Array), slots: column(Uint32Array), workers: column(Int32Array),
    seconds: column(Float32Array), rewards: column(Float32Array), statuses: column(Uint8Array),
  };
}

// As in spans.py: clocks are not exact.
const MEETING_SECONDS = 0.0002, MEETING_SHARE = 0.1, CLOCK_SECONDS = 0.05;

// By how much a beginning or an end may be wrong.
function slack(seconds) {
  return Math.min(MEETING_SECONDS, seconds * MEETING_SHARE) / 2;
}

// Grows as results come in. A bar keeps its lane: best fit in the order of their ends needs no more
// lanes than there were tasks at once. Where two bars only seem to meet, the later is drawn from the
// end of the earlier on; a worker that has `most` slots gets another lane only where clocks cannot be
// the reason. Breaks, in which nobody ran the run, are cut out: `x` and `to` are without them.
export class Lanes {
  constructor(most) {
    this.most = most || Infinity;
    this.base = null;
    this.breaks = []; // [from, to], as moments
    this.workers = new Map(); // number -> its lanes, each {ends, bars}
    this.bySlot = new Map();
    this.count = 0;
    this.first = Infinity;
    this.last = -Infinity;
    this.statuses = new Set();
  }

  // Where a moment stands: seconds from the first one on, without the breaks before it.
  at(moment) {
    let place = moment - this.base;
    for (const [from, to] of this.breaks) if (moment > from) place -= Math.min(to, moment) - from;
    return place;
  }

  // What is shown already moves by it.
  setBreaks(breaks) {
    if (JSON.stringify(breaks) === JSON.stringify(this.breaks)) return false;
    this.breaks = breaks;
    this.first = Infinity;
    this.last = -Infinity;
    for (const lane of [...this.workers.values()].flat()) {
      lane.end = lane.over = -Infinity;
      lane.columns = null;
      for (const bar of lane.bars) this.move(bar, lane);
    }
    this.settled = false;
    return true;
  }

  // To the end of a lane.
  move(bar, lane) {
    const x = this.at(bar.began);
    bar.x = Math.max(x, lane.end);
    bar.to = Math.max(x + bar.seconds, bar.x);
    lane.end = bar.to;
    lane.over = bar.to - slack(bar.seconds);
    this.first = Math.min(this.first, bar.x);
    this.last = Math.max(this.last, bar.to);
  }

  add(bars) {
    if (!bars.count) return;
    if (this.base === null) this.base = bars.base;
    const order = Uint32Array.from({ length: bars.count }, (_, n) => n);
    const ends = Float64Array.from(order, (n) => bars.began[n] + bars.seconds[n] - slack(bars.seconds[n]));
    order.sort((one, other) => ends[one] - ends[other]);
    for (const n of order) {
      this.place({
        slot: bars.slots[n], began: bars.began[n] + bars.base, seconds: bars.seconds[n],
        status: bars.statuses[n], reward: bars.rewards[n], worker: bars.workers[n],
      });
    }
    this.settled = false;
  }

  place(bar) {
    const earlier = this.bySlot.get(bar.slot);
    if (earlier) earlier.gone = true; // it was run again
    this.bySlot.set(bar.slot, bar);
    if (!this.workers.has(bar.worker)) this.workers.set(bar.worker, []);
    const lanes = this.workers.get(bar.worker), x = this.at(bar.began), soon = x + slack(bar.seconds);
    let best = null;
    for (const lane of lanes) {
      if (lane.over <= soon && (best === null || lane.end > best.end)) best = lane;
    }
    if (best === null && lanes.length >= this.most && bar.worker >= 0) {
      best = lanes.reduce((one, other) => (other.end < one.end ? other : one));
      if (best.end - x > Math.min(CLOCK_SECONDS, bar.seconds / 2)) best = null; // it has more slots by now
    }
    if (best === null) lanes.push((best = { end: -Infinity, over: -Infinity, bars: [] }));
    this.move(bar, best);
    best.bars.push(bar);
    this.count += 1;
    this.statuses.add(bar.status);
  }

  // [{worker, bars}], the workers in order; those that are not known last.
  rows() {
    if (this.settled) return this.flat;
    const rowsOf = (worker) => this.workers.get(worker).map((lane, n) => (
      { worker, first: n === 0, bars: lane.bars, columns: columnsOf(lane) }));
    this.flat = [...this.workers.keys()].sort(unknownLast).flatMap(rowsOf);
    this.settled = true;
    return this.flat;
  }

  // How many tasks ran at once, in steps from one moment to another. What was run again counts once.
  together(rows, [first, last], steps) {
    const span = last - first || 1, width = span / steps;
    const sums = new Float64Array(steps);
    for (const { bars, live } of rows) {
      for (const bar of live ? [...bars, live] : bars) {
        if (bar.gone) continue;
        let n = Math.max(0, Math.floor((bar.x - first) / width));
        const end = Math.min(steps - 1, Math.floor((bar.to - first) / width));
        for (; n <= end; n++) {
          const from = first + n * width;
          sums[n] += Math.max(0, Math.min(bar.to, from + width) - Math.max(bar.x, from));
        }
      }
    }
    return sums.map((sum) => sum / width);
  }
}

function unknownLast(one, other) {
  if (one < 0 || other < 0) return one < 0 ? 1 : -1;
  return one - other;
}

// The bars of a lane as numbers alone: 100,000 of them are gone through for each picture. They are
// packed again only when there are new ones.
function columnsOf(lane) {
  const bars = lane.bars.filter((bar) => !bar.gone), last = bars[bars.length - 1];
  const isPacked = lane.columns && lane.columns.count === bars.length && lane.columns.last === last;
  if (isPacked) return lane.columns;
  const tenths = (reward) => Math.max(0, Math.min(10, Math.round(reward * 10)));
  lane.columns = {
    count: bars.length, last,
    from: Float64Array.from(bars, (bar) => bar.x), to: Float64Array.from(bars, (bar) => bar.to),
    statuses: Uint8Array.from(bars, (bar) => Math.min(bar.status, 8)),
    rewards: Uint8Array.from(bars, ({ reward }) => (Number.isNaN(reward) ? NO_REWARD : tenths(reward))),
  };
  return lane.columns;
}

export const NO_REWARD = 11;

// The first number of a column that is not below a moment.
export function placeOf(column, moment) {
  let low = 0, high = column.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (column[middle] < moment) low = middle + 1;
    else high = middle;
  }
  return low;
}

function endOf(row) {
  return row.bars.length ? row.bars[row.bars.length - 1].to : -Infinity;
}

function endsFirst(one, other) {
  return endOf(other) < endOf(one) ? other : one;
}

// The first bar of a lane that ends after a moment.
export function firstAfter(bars, moment) {
  let low = 0, high = bars.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (bars[middle].to < moment) low = middle + 1;
    else high = middle;
  }
  return low;
}

// The same rows with what runs now: each in a lane of its worker that is free, or in a new one as
// long as the worker has no more than `most`.
export function withRunning(rows, running, lanes, now) {
  if (!running.length) return rows;
  const byWorker = new Map();
  for (const [slot, worker, began] of running) {
    if (!byWorker.has(worker)) byWorker.set(worker, []);
    const x = lanes.at(began), to = lanes.at(now), seconds = now - began;
    byWorker.get(worker).push({ slot, x, to, seconds, status: RUNNING, reward: NaN, worker });
  }
  const all = [];
  const place = (worker, from) => {
    for (const bar of byWorker.get(worker) || []) {
      const own = all.slice(from).filter((row) => !row.live);
      let lane = own.find((row) => endOf(row) <= bar.x + CLOCK_SECONDS);
      const isFull = all.length - from >= lanes.most;
      if (!lane && own.length && isFull) lane = own.reduce(endsFirst);
      if (!lane) all.push((lane = { worker, first: all.length === from, bars: [], columns: null }));
      lane.live = bar;
    }
    byWorker.delete(worker);
  };
  for (let n = 0; n < rows.length; ) {
    const { worker } = rows[n], from = all.length;
    for (; n < rows.length && rows[n].worker === worker; n++) all.push({ ...rows[n] });
    place(worker, from);
  }
  for (const worker of [...byWorker.keys()].sort((one, other) => one - other)) place(worker, all.length);
  return all;
}
