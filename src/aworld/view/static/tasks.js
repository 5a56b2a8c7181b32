// The results of a run as a table: filtered and paged on the server.
import { get } from "./api.js";
import { STATUSES, pill, rewardBadge, sortHead } from "./badges.js";
import { fill, h } from "./dom.js";
import * as f from "./format.js";
import { go, here, link, problem } from "./router.js";

const PER_PAGE = 50;
export const FILTERS = ["status", "text", "min_reward", "max_reward", "worker", "tag", "failure"];
const COLUMNS = [
  ["slot", "Task"], ["", "Status"], ["reward", "Reward"], ["seconds", "Time"], ["tokens", "Tokens"],
  ["worker", "Worker"], ["", "Answer, or why there is none"],
];

export class TaskTable {
  constructor(run, params) {
    this.run = run;
    this.asked = Object.fromEntries(FILTERS.map((name) => [name, params[name] || ""]));
    this.sort = params.sort || "slot";
    this.offset = Number(params.offset) || 0;
    this.head = h("tr", {});
    this.body = h("tbody", {});
    this.count = h("span", { class: "dim", role: "status" });
    this.pager = h("div", { class: "pager" });
    this.filters = this.controls();
    this.element = h("section", { class: "card tasks", "aria-label": "Tasks" },
      h("header", {}, h("h2", {}, "Tasks"), this.count, h("span", { class: "spacer" }), this.pager),
      this.filters, h("div", { class: "scroll" }, h("table", {}, h("thead", {}, this.head), this.body)));
    this.turn = 0;
    this.load();
    this.loadLabels();
  }

  controls() {
    const field = (name, title, element) => {
      const isList = element.matches("select");
      element.addEventListener(isList ? "change" : "input", () => {
        clearTimeout(this.typing);
        this.typing = setTimeout(() => this.choose({ [name]: element.value }), isList ? 0 : 250);
      });
      element.setAttribute("aria-label", title);
      this.fields[name] = element;
      return element;
    };
    this.fields = {};
    const option = (value, text) => h("option", { value, selected: false }, text);
    const status = h("select", {},
      option("", "any status"), option("running", "running now"), STATUSES.map((one) => option(one, one)));
    const number = (placeholder) => h("input", { type: "number", step: "any", placeholder, class: "short" });
    this.tags = h("select", {}, option("", "any tag"));
    const nothing = Object.fromEntries(FILTERS.map((name) => [name, ""]));
    const forget = { type: "button", class: "quiet small", on: { click: () => this.choose(nothing) } };
    const clear = h("button", forget, "clear");
    const words = "Search in tasks and answers";
    const parts = [
      field("text", words, h("input", { type: "search", placeholder: words })),
      field("status", "Status", status),
      h("span", { class: "pair" },
        field("min_reward", "Least reward", number("reward ≥")),
        field("max_reward", "Most reward", number("≤"))),
      field("worker", "Worker", number("worker")), field("tag", "Tag or level", this.tags),
    ];
    this.failure = h("span", { class: "tag", hidden: true });
    const made = h("div", { class: "filters", role: "search" }, parts, this.failure, clear);
    this.showFields();
    return made;
  }

  showFields() {
    for (const [name, element] of Object.entries(this.fields)) {
      if (document.activeElement !== element) element.value = this.asked[name];
    }
    if (!this.failure) return;
    this.failure.hidden = !this.asked.failure;
    this.failure.title = this.asked.failure;
    fill(this.failure, this.asked.failure);
  }

  async loadLabels() {
    const { tags = [], levels = [] } = await get("labels", { run: this.run }).catch(() => ({}));
    for (const [label, names] of [["tags", tags], ["levels", levels]]) {
      const options = names.map((name) => h("option", { value: name }, name));
      if (options.length) this.tags.append(h("optgroup", { label }, options));
    }
    this.tags.value = this.asked.tag;
    this.tags.hidden = !tags.length && !levels.length;
  }

  choose(changes) {
    Object.assign(this.asked, changes);
    this.offset = 0;
    this.showFields();
    this.remember();
    this.load();
  }

  remember() {
    const { path, params } = here();
    const sort = this.sort === "slot" ? "" : this.sort;
    go(path, { ...params, ...this.asked, sort, offset: this.offset || "" }, { replace: true });
  }

  async load() {
    const mine = ++this.turn;
    this.element.setAttribute("aria-busy", "true");
    try {
      const { run, asked, sort, offset } = this;
      const found = await get("tasks", { run, ...asked, sort, offset, limit: PER_PAGE });
      if (mine === this.turn) this.show(found);
    } catch (error) {
      if (mine === this.turn) fill(this.body, h("tr", {}, h("td", { colspan: 7 }, problem(error, this.run))));
    }
    this.element.removeAttribute("aria-busy");
  }

  // New results have come: the page is read again, where that does not move what is being read.
  refresh() {
    if (this.body.contains(document.activeElement)) return;
    this.load();
  }

  show({ count, rows }) {
    this.found = count;
    fill(this.count, f.whole(count));
    this.drawHead();
    fill(this.body, rows.map((row) => this.row(row)));
    if (!rows.length) this.body.append(h("tr", {}, h("td", { colspan: 7, class: "empty" }, "No task fits.")));
    const last = Math.min(this.offset + PER_PAGE, count);
    const turn = (sign, title, offset, possible) => h("button", {
      type: "button", class: "quiet small", title, "aria-label": title, disabled: !possible,
      on: { click: () => {
        this.offset = Math.max(0, offset);
        this.remember();
        this.load();
      } },
    }, sign);
    const end = Math.max(0, Math.floor((count - 1) / PER_PAGE) * PER_PAGE);
    const back = this.offset - PER_PAGE, next = this.offset + PER_PAGE;
    const hasBefore = this.offset > 0, hasAfter = last < count;
    fill(this.pager,
      turn("«", "First page", 0, hasBefore), turn("‹", "Previous page", back, hasBefore),
      h("span", { class: "dim" }, count ? `${f.whole(this.offset + 1)}–${f.whole(last)}` : ""),
      turn("›", "Next page", next, hasAfter), turn("»", "Last page", end, hasAfter));
  }

  drawHead() {
    fill(this.head, COLUMNS.map(([name, title]) => {
      if (!name) return h("th", {}, title);
      return sortHead(name, title, this.sort, () => {
        this.sort = this.sort === name ? `-${name}` : name;
        this.offset = 0;
        this.remember();
        this.load();
      });
    }));
  }

  row(row) {
    const chosen = Object.fromEntries(Object.entries(this.asked).filter(([, value]) => value));
    const sample = this.samples > 1 ? h("span", { class: "dim" }, `#${row.sample}`) : null;
    const whole = this.samples > 1 ? `${row.task}#${row.sample}` : row.task;
    const label = [h("span", { class: "clip" }, row.task ?? `slot ${row.slot}`), sample];
    const asked = { run: this.run, task: row.task, sample: row.sample || "", ...chosen };
    const name = row.status === "running"
      ? h("span", { class: "name", title: whole }, label)
      : link("/task", asked, { class: "name", title: whole, "aria-label": whole }, label);
    const isGood = row.status === "success" && !row.damaged;
    const said = h("span", { class: isGood ? "" : "bad" }, row.damaged || row.answer);
    const tries = row.attempts > 1 || row.round
      ? h("span", { class: "tag", title: "attempts" }, `×${row.attempts + (row.round || 0)}`) : null;
    return h("tr", {},
      h("td", { class: "c-slot" }, name, h("div", { class: "dim one-line" }, row.input)),
      h("td", {}, pill(row.damaged ? "damaged" : row.status), tries),
      figure("Reward", rewardBadge(row.reward)),
      figure("Time", f.seconds(row.seconds)),
      figure("Tokens", f.count(row.tokens)),
      figure("Worker", h("span", { class: "dim" }, String(row.worker ?? "–"))),
      h("td", { class: "c-answer" }, h("div", { class: "one-line" }, said)));
  }

  focusSearch() {
    this.fields.text.focus();
    this.fields.text.scrollIntoView({ block: "center" });
  }

  step(by) {
    const links = [...this.body.querySelectorAll("a.name")];
    const next = links[Math.max(0, Math.min(links.length - 1, links.indexOf(document.activeElement) + by))];
    if (next) next.focus();
  }
}

// Where there is no head above it, its name stands in the cell.
function figure(name, value) {
  return h("td", { class: "num", data: { name } }, value);
}
