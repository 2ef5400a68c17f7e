// Numbers over time, one array a column: what history had, and each tick after it. A gap is a null.
const GAP_STEPS = 2.5; // readings further apart than so many steps are not joined by a line,
const STALE_SECONDS = 5; // nor any that the loop itself calls stale: a late tick is no outage

export class Series {
  constructor(names, range) {
    this.names = names;
    this.range = range;
    this.clear(1);
  }

  clear(step) {
    this.step = step;
    this.time = [];
    this.columns = Object.fromEntries(this.names.map((name) => [name, []]));
    this.last = { slot: null, wall: null, counts: {} };
  }

  // The same numbers for another range, until its own history is there.
  over(range) {
    const made = new Series(this.names, range);
    made.time = [...this.time];
    for (const name of this.names) made.columns[name] = [...this.columns[name]];
    return made;
  }

  // An answer of GET /v1/history; ticks that are newer stay to be added by the caller. What is older than the
  // daemon's own memory stays: it came from the one before.
  load(answer) {
    const begins = answer.oldest == null ? Infinity : Math.floor(answer.oldest / answer.step) * answer.step;
    this.#keep(Math.max(0, this.time.findIndex((at) => at >= answer.start)), begins, answer.step);
    const { time } = answer.columns;
    time.forEach((at, index) => {
      const values = Object.fromEntries(this.names.map((name) => [name, answer.columns[name][index]]));
      if (this.names.some((name) => values[name] != null)) this.#append(at, values);
    });
    this.last.wall = answer.end;
  }

  // One tick: the mean of its step, as in the history; a failed reading is a gap at once.
  add(wall, values, missed) {
    if (this.last.wall != null && wall <= this.last.wall - this.step) return; // history had it
    this.last.wall = wall;
    if (missed) {
      if (this.time.length && wall > this.time.at(-1)) this.#push(wall, null);
      this.last.slot = null;
      return;
    }
    const slot = Math.floor(wall / this.step) * this.step;
    if (slot === this.last.slot) this.#blend(values);
    else if (this.last.slot == null || slot > this.last.slot) this.#append(slot, values);
    this.#trim();
  }

  table(names) {
    return [this.time, ...names.map((name) => this.columns[name])];
  }

  // Forgets all but the points from one place on that are older than a time.
  #keep(from, before, step) {
    const { time, columns } = this;
    this.clear(step);
    for (let at = from; at < time.length && time[at] < before; at += 1)
      this.#push(time[at], Object.fromEntries(this.names.map((name) => [name, columns[name][at]])));
    const read = this.time.length && this.names.some((name) => this.columns[name].at(-1) != null);
    if (read) this.last.slot = this.time.at(-1);
  }

  #append(slot, values) {
    const before = this.time.at(-1);
    if (before != null && slot <= before) return;
    if (this.last.slot != null && slot - this.last.slot >= Math.max(GAP_STEPS * this.step, STALE_SECONDS)) this.#push(this.last.slot + this.step, null);
    this.#push(slot, values);
    this.last.slot = slot;
    this.last.counts = Object.fromEntries(this.names.map((name) => [name, values[name] == null ? 0 : 1]));
  }

  #push(at, values) {
    this.time.push(at);
    for (const name of this.names) this.columns[name].push(values?.[name] ?? null);
  }

  #blend(values) {
    for (const name of this.names) {
      const value = values[name];
      if (value == null) continue;
      const column = this.columns[name];
      const count = this.last.counts[name]++;
      column[column.length - 1] = ((column.at(-1) ?? 0) * count + value) / (count + 1);
    }
  }

  #trim() {
    const oldest = this.time.at(-1) - this.range;
    let drop = 0;
    while (this.time[drop] < oldest) drop += 1;
    if (!drop) return;
    this.time.splice(0, drop);
    for (const name of this.names) this.columns[name].splice(0, drop);
  }
}
