// Decisions, holds, events: newest first.
import { duration, element, moment, pair, words } from "./format.js";

const SHOWN = 80;

// Kinds of decisions whose code is no word that people use.
const KINDS = { keep: "no change", set: "change", relief: "relief of the device" };

const stamp = (wall) => element("time", { datetime: new Date(wall * 1000).toISOString() }, moment(wall));

const told = (wall) => element("button", { type: "button", class: "more", "data-at": String(wall), "aria-haspopup": "dialog", "aria-label": `Why in full: ${moment(wall)}` }, "Why in full");

export class Decisions {
  #found = [];
  #fresh = [];

  constructor(place) { this.place = place; }

  // The list is asked for: what the stream brings from here on may be newer than the answer.
  asked() { this.#fresh = []; }

  load(found) {
    this.#found = found.slice(-SHOWN);
    this.#fresh.forEach((one) => this.#put(one));
    this.draw();
  }

  add(one) {
    this.#fresh = [...this.#fresh, one].slice(-SHOWN);
    this.#put(one);
    this.draw();
  }

  #put(one) {
    if (one.tick <= (this.#found.at(-1)?.tick ?? 0)) return;
    this.#found = [...this.#found, one].slice(-SHOWN);
  }

  // When the loop wrote, for the charts.
  writes() {
    return this.#found.filter(({ decision }) => decision.steps.length).map(({ wall }) => wall);
  }

  draw() {
    const at = document.activeElement?.dataset.at; // who is at a button stays there
    this.place.replaceChildren(...this.#found.toReversed().map(({ wall, decision }) => {
      const wrote = decision.steps.length > 0;
      const aim = decision.would ? `would be ${pair(decision.would)}` : pair(decision.target);
      return element("tr", { class: wrote ? "wrote" : "" }, element("td", {}, stamp(wall)),
        element("td", {}, element("span", { class: `tag ${decision.kind}` }, KINDS[decision.kind] ?? words(decision.kind)), wrote ? " written" : ""),
        element("td", { class: "numbers" }, aim),
        element("td", {}, `${decision.detail} `, told(wall)));
    }));
    if (at) this.place.querySelector(`[data-at="${at}"]`)?.focus();
    if (!this.#found.length) this.place.append(element("tr", {}, element("td", { colspan: "4" }, "None yet.")));
  }
}

export class Events {
  #found = new Map();
  #fresh = [];

  constructor(place) { this.place = place; }

  asked() { this.#fresh = []; }

  load(found) {
    this.#found.clear();
    [...found, ...this.#fresh].forEach((one) => this.#found.set(one.number, one));
    this.draw();
  }

  // An event may come twice, after a connection was lost; its number tells.
  add(one) {
    this.#fresh = [...this.#fresh, one].slice(-SHOWN);
    this.#found.set(one.number, one);
    if (this.#found.size > 2 * SHOWN) this.#found.delete(this.#found.keys().next().value);
    this.draw();
  }

  draw() {
    this.place.replaceChildren(...[...this.#found.values()].slice(-SHOWN).toReversed().map((one) => element("li", {},
      stamp(one.wall), element("span", { class: "tag" }, words(one.code)), element("span", {}, one.message, one.who === "loop" ? "" : element("small", {}, ` ${one.who}`)))));
    if (!this.#found.size) this.place.append(element("li", {}, "None yet."));
  }
}

export function drawHolds(place, status) {
  const held = status?.holds ?? [];
  place.replaceChildren(...held.map((hold) => element("li", {},
    element("strong", {}, words(hold.code)), ` for ${duration(hold.seconds)}: ${hold.reason}. `, element("small", {}, `What ends it: ${hold.clears}`))));
  if (!held.length) place.append(element("li", { class: "none" }, status?.mode === "active" ? "None: InnoBrim may write." : "None."));
}
