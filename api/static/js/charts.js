// The charts, in the words that PMM has for them, drawn by uPlot.
import { bytes, clock, DASH, element, percent, short } from "./format.js";

const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const ratio = (part, of) => (part == null || !of ? null : part / of);

// Columns that the charts need; the history has them under these names.
export const COLUMNS = ["checkpoint_age", "modified_age", "stall_point", "sync_point", "flush_limit", "set_point", "io_capacity",
  "io_capacity_max", "demand", "flush_rate", "sync_rate", "lru_rate", "redo_rate", "row_rate"];

const pages = (value) => (value == null ? DASH : `${short(value)} pages/s`);
const rate = (value) => (value == null ? DASH : `${bytes(value)}/s`);

// `per`: unit of the axis where its numbers have none of their own.
// A line: column or function of the values, name, colour; dash, steps and fill where wanted.
const CHARTS = [
  {
    id: "age", title: "Uncheckpointed Bytes", size: "full", unit: bytes, binary: true,
    lines: [
      { of: "stall_point", name: "Max Checkpoint Age", colour: "--bad", dash: [10, 5], steps: true },
      { of: "sync_point", name: "Sync Flush Point", colour: "--warn", dash: [4, 4], steps: true },
      { of: (at) => (at.set_point == null || at.flush_limit == null ? null : at.set_point * at.flush_limit), name: "Set-Point", colour: "--good", dash: [2, 3], steps: true },
      { of: "checkpoint_age", name: "Uncheckpointed Bytes", colour: "--c0", fill: true, width: 2 },
      { of: "modified_age", name: "Age (Modified Age)", colour: "--c1" },
    ],
    said: (at) => `Age ${percent(ratio(at.modified_age, at.flush_limit))} of the flush limit; ${bytes(at.checkpoint_age)} uncheckpointed, max checkpoint age ${bytes(at.stall_point)}`,
  },
  {
    id: "capacity", title: "IO Capacity", unit: pages, per: "pages/s", size: "half", log: true,
    lines: [
      { of: "io_capacity_max", name: "IO Capacity Max", colour: "--c0", steps: true, width: 2 },
      { of: "io_capacity", name: "IO Capacity", colour: "--c1", dash: [7, 7], steps: true, width: 2 },
      { of: "demand", name: "Page Demand", colour: "--c2", dash: [2, 3] },
    ],
  },
  {
    id: "flush", title: "Page Flushing by Type", unit: pages, per: "pages/s", size: "half",
    lines: [
      { of: (at) => (at.flush_rate == null ? null : Math.max(0, at.flush_rate - (at.sync_rate ?? 0))), name: "Flush List", colour: "--c0", width: 2 },
      { of: "lru_rate", name: "LRU", colour: "--c3" },
      { of: "sync_rate", name: "Sync Flush", colour: "--bad", fill: true },
    ],
  },
  { id: "redo", title: "Redo Generation Rate", unit: rate, binary: true, lines: [{ of: "redo_rate", name: "Redo", colour: "--c3", fill: true, width: 2 }] },
  {
    id: "rows", title: "Row Changes", per: "rows/s", unit: (value) => (value == null ? DASH : `${short(value)} rows/s`),
    lines: [{ of: "row_rate", name: "Row Changes", colour: "--c4", fill: true, width: 2 }],
  },
  {
    id: "cost", title: "Pages per Row Change", per: "pages", unit: (value) => (value == null ? DASH : `${short(value)} pages`),
    lines: [{ of: (at) => (at.row_rate >= 1 && at.flush_rate != null ? (at.flush_rate + (at.lru_rate ?? 0)) / at.row_rate : null), name: "Pages per Row Change", colour: "--c1", fill: true, width: 2 }],
  },
];

// To one significant digit, so that a log axis has its powers of ten.
function round(value, how) {
  const power = 10 ** Math.floor(Math.log10(value));
  return how(value / power) * power;
}

function faint(colour) {
  return `color-mix(in srgb, ${colour} 13%, transparent)`;
}

// Round steps for bytes: powers of two, so that the axis says 64 MiB and not 61 MiB.
const BINARY_STEPS = Array.from({ length: 51 }, (_, power) => 2 ** power);

class Chart {
  constructor(spec, place, group) {
    this.spec = spec;
    this.group = group;
    this.title = element("h3", { id: `chart-${spec.id}` }, spec.title, spec.per ? element("small", {}, `, ${spec.per}`) : null);
    this.values = spec.lines.map(() => element("span", { class: "value" }, DASH));
    const key = element("ul", { class: "key" }, ...spec.lines.map((line, index) => {
      const swatch = element("span", { class: `swatch${line.dash ? " dashed" : ""}`, "aria-hidden": "true" });
      swatch.style.setProperty("--own", `var(${line.colour})`);
      return element("li", {}, swatch, `${line.name} `, this.values[index]);
    }));
    this.plotted = element("div", { class: "plot", tabindex: "0", role: "img", "aria-labelledby": `chart-${spec.id}`, "aria-describedby": `said-${spec.id}` });
    this.said = element("p", { class: "unseen", id: `said-${spec.id}` });
    place.append(element("figure", { class: `chart ${spec.size ?? "third"}`, "data-chart": spec.id }, element("figcaption", {}, this.title, key), this.plotted, this.said));
    this.plotted.addEventListener("keydown", (event) => this.#key(event));
    this.plotted.addEventListener("blur", () => this.plot?.setCursor({ left: -10, top: -10 }));
    this.data = [[]];
  }

  draw() {
    this.plot?.destroy();
    const { spec } = this;
    const ink = style("--soft"), grid = style("--line");
    const axis = { stroke: ink, font: "12px system-ui, sans-serif", grid: { stroke: grid, width: 1 }, ticks: { show: false } };
    this.plot = new uPlot({
      width: Math.max(240, this.plotted.clientWidth), height: this.#height(), legend: { show: false },
      cursor: { sync: { key: this.group }, drag: { x: false, y: false }, points: { size: 7 } },
      scales: { x: { time: true }, y: this.log ? { distr: 3, range: (u, low, high) => [round(low / 1.3, Math.floor), round(high * 1.3, Math.ceil)] } : { range: (u, low, high) => [0, (high > 0 ? high : 1) * 1.06] } },
      axes: [{ ...axis, space: 70, size: 28, values: (u, ticks) => ticks.map((tick) => clock(tick).slice(0, u.scales.x.max - u.scales.x.min > 900 ? 5 : 8)) },
        { ...axis, size: 66, space: 32, ...(spec.binary ? { incrs: BINARY_STEPS } : {}),
          values: (u, ticks) => ticks.map((tick) => (tick == null ? "" : spec.binary ? spec.unit(tick) : short(tick))) }],
      series: [{}, ...spec.lines.map((line) => ({
        stroke: style(line.colour), width: line.width ?? 1.25, dash: line.dash, fill: line.fill ? faint(style(line.colour)) : undefined,
        points: { show: (u, index, from, to) => this.#lonely(index, from, to) },
        paths: line.steps ? uPlot.paths.stepped({ align: 1 }) : undefined, spanGaps: false,
      }))],
      hooks: { setCursor: [(u) => this.#show(u.cursor.idx)], drawClear: [(u) => this.#marks(u)] },
      padding: [8, 30, 0, 0],
    }, this.data, this.plotted);
    this.plot.root.setAttribute("aria-hidden", "true");
  }

  set(series, marks, visible) {
    const { time, columns } = series;
    this.marks = marks;
    this.data = [time, ...this.spec.lines.map((line) => (typeof line.of === "string" ? columns[line.of]
      : time.map((_, index) => line.of(Object.fromEntries(COLUMNS.map((name) => [name, columns[name][index]]))))))];
    this.latest = time.length ? Object.fromEntries(COLUMNS.map((name) => [name, columns[name].at(-1)])) : null;
    const log = !!this.spec.log && this.#apart();
    if (!this.plot || log !== this.log) {
      this.log = log;
      this.draw();
    }
    this.plot.setData(this.data, false);
    this.plot.setScale("x", visible);
    this.#show(this.plot.cursor.idx);
  }

  resize() {
    this.plot?.setSize({ width: Math.max(240, this.plotted.clientWidth), height: this.#height() });
  }

  // Settings that are orders of magnitude apart are seen on a log axis only; others are judged better without.
  #apart() {
    const found = this.data.slice(1).flat().filter((value) => value > 0);
    return found.length > 0 && found.reduce((one, other) => Math.max(one, other)) > 12 * found.reduce((one, other) => Math.min(one, other));
  }

  // Points only where a line would not show: a reading between two gaps.
  #lonely(index, from, to) {
    if (to - from > 600) return false;
    const column = this.data[index];
    let seen = 0;
    for (let at = from; at <= to; at += 1) if (column[at] != null) seen += 1;
    return seen === 1;
  }

  // The loop's writes, as thin lines below the curves.
  #marks(u) {
    const { ctx, bbox } = u;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.fillStyle = style("--mark");
    for (const at of this.marks ?? []) ctx.fillRect(Math.round(u.valToPos(at, "x", true)), bbox.top, devicePixelRatio, bbox.height);
    ctx.restore();
  }

  #height() {
    return this.spec.size === "full" ? (innerWidth < 640 ? 220 : 270) : 170;
  }

  #show(index) {
    const at = index ?? this.data[0].length - 1;
    this.spec.lines.forEach((line, place) => {
      const text = this.spec.unit(this.data[place + 1]?.[at]);
      if (this.values[place].textContent !== text) this.values[place].textContent = text;
    });
    const when = index == null || !this.data[0].length ? "now" : `at ${clock(this.data[0][at])}`;
    const named = this.spec.lines.map((line, place) => `${line.name} ${this.values[place].textContent}`).join(", ");
    const text = index == null && this.spec.said && this.latest ? this.spec.said(this.latest) : `${when}: ${named}`;
    if (this.said.textContent !== text) this.said.textContent = text;
  }

  #key(event) {
    const steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20, Home: -Infinity, End: Infinity }[event.key];
    if (event.key === "Escape") this.plot.setCursor({ left: -10, top: -10 });
    if (steps == null || !this.data[0].length) return;
    event.preventDefault();
    const newest = this.data[0].length - 1;
    const to = Math.min(newest, Math.max(0, (this.plot.cursor.idx ?? newest) + steps));
    this.said.setAttribute("aria-live", "polite");
    this.plot.setCursor({ left: this.plot.valToPos(this.data[0][to], "x"), top: 10 });
  }
}

export class Charts {
  constructor(place) {
    this.charts = CHARTS.map((spec) => new Chart(spec, place, "innobrim"));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.charts.forEach((chart) => chart.draw()));
    new ResizeObserver(() => this.charts.forEach((chart) => chart.resize())).observe(place);
  }

  // `idle`: seconds since the last tick came, where that is longer than it should be; time goes on.
  set(series, marks, idle) {
    const newest = (series.time.at(-1) ?? Date.now() / 1000) + idle;
    const visible = { min: newest - series.range, max: newest };
    this.charts.forEach((chart) => chart.set(series, marks, visible));
  }
}
