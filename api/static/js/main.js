// Puts the page together: the stream keeps it alive, /v1/status says it in whole, the history fills the charts.
import { forget, get, hasToken } from "./api.js";
import { Charts, COLUMNS } from "./charts.js";
import { Controls } from "./controls.js";
import { element, percent, pair, whole, zone } from "./format.js";
import { Decisions, drawHolds, Events } from "./lists.js";
import { Series } from "./series.js";
import { Stream } from "./stream.js";
import { besides, doing, judged, tiles, why, without } from "./verdict.js";
import { Why } from "./why.js";

const POINTS = 1800;
const STATUS_MS = 5000; // between two looks at the whole; ticks refresh the numbers in between
const QUIET_MS = 4000;
const RECENT = 120;
const PRODUCTS = { mysql: "MySQL", percona: "Percona Server", mariadb: "MariaDB" };

const place = (id) => document.getElementById(id);
const state = { status: null, link: { state: "lost", why: "" }, alive: null, interval: 1, heard: 0, recent: [], whole: false, effect: "", endpoint: null };
const charts = new Charts(place("plots"));
const decisions = new Decisions(place("decisions"));
const events = new Events(place("events"));
new Why(place("decisions"));
let series = new Series(COLUMNS, 600);
let asked = 0; // the newest request for history; an older answer is out of date

const controls = new Controls({
  onDone: () => refresh(),
  onToken: () => { place("token-button").textContent = hasToken() ? "Token ✓" : "Token…"; if (state.link.state !== "live") stream.start(); },
});
const stream = new Stream("/v1/stream", take, linked);

function linked(link, reason, error) {
  state.link = { state: link, why: reason, refused: error?.status === 401 };
  if (link === "live") load();
  else draw();
  if (error?.status === 401) refused(error);
}

// A token that the daemon does not take is worse than none: where reading is open, none is needed.
function refused(error) {
  const had = error.sent !== "";
  if (!forget(error)) return;
  place("token-button").textContent = "Token…";
  if (had) controls.refused(`The daemon does not take the token that this page had, and without one nothing can be changed here. It says: ${error.message}.`);
  else if (!place("dialog").open) controls.askToken(error.message);
}

function take(name, data) {
  if (name === "tick") ticked(data);
  else if (name === "event") events.add(data);
  else if (name === "decision") decisions.add(data);
  else if (name === "gap") load();
  if (name === "event" || name === "decision") soon();
}

function ticked(tick) {
  state.heard = performance.now();
  state.alive = null;
  state.recent = [...state.recent.slice(-RECENT), tick];
  series.add(tick.wall, tick.values, tick.missed != null);
  patch(tick);
  if (!document.hidden) requestAnimationFrame(draw);
}

// The numbers of a tick in place of those of the last whole status.
function patch(tick) {
  const { status } = state;
  if (!status || tick.number <= status.tick) return;
  status.tick = tick.number;
  status.at = tick.wall;
  status.missed = tick.missed;
  status.mode = tick.mode;
  if (!tick.missed && status.estimate) {
    for (const name of Object.keys(status.estimate)) if (name in tick.values) status.estimate[name] = tick.values[name];
    status.in_force = { io_capacity: tick.values.io_capacity, io_capacity_max: tick.values.io_capacity_max };
    status.set_point = tick.values.set_point;
  }
  if (status.override) status.override.seconds_left = tick.override_seconds_left ?? 0;
}

let waiting = null;
function soon() {
  waiting ??= setTimeout(() => { waiting = null; refresh(); }, 150);
}

const wished = ({ findings }) => findings.find(({ id }) => id === "set-io-capacity")?.effect ?? "";

async function refresh() {
  try {
    state.status = await get("/v1/status");
    state.interval = state.status.process?.interval ?? 1;
    state.alive = null;
    state.effect = state.status.mode === "advisory" ? wished(await get("/v1/advice")) : "";
  } catch (error) {
    if (error.status === 401) refused(error);
    if (error.status === 503) [state.status, state.alive] = [null, { ok: true, reason: error.message }];
  }
  draw();
}

// All that the stream does not bring; what fails is asked for again with the next status.
async function load() {
  state.whole = false;
  await refresh();
  known();
  decisions.asked();
  events.asked();
  const found = await Promise.allSettled([
    get("/v1/decisions?limit=80").then((answer) => decisions.load(answer.decisions)),
    get("/v1/events?limit=80").then((answer) => events.load(answer.events)),
    history(),
  ]);
  state.whole = found.every(({ status }) => status === "fulfilled");
  draw();
}

// Another server's numbers are no past of this one's.
function known() {
  const found = state.status?.server?.endpoint;
  if (found && state.endpoint && found !== state.endpoint) series = new Series(COLUMNS, series.range);
  state.endpoint = found ?? state.endpoint;
}

async function history() {
  const mine = asked += 1, { range } = series;
  const step = Math.max(state.interval, range / POINTS);
  const found = await get(`/v1/history?start=-${range}&step=${step}&columns=${COLUMNS.join()}`);
  if (mine !== asked) return;
  series.load(found);
  state.recent.filter((tick) => tick.wall > found.end - found.step).forEach((tick) => series.add(tick.wall, tick.values, tick.missed != null));
}

// Where no tick comes although the connection stands, the probe knows whether the loop is dead.
async function look() {
  if (performance.now() - state.heard < Math.max(QUIET_MS, 3000 * state.interval)) return;
  if (state.link.state !== "live") return draw();
  try {
    const found = await get("/livez");
    state.alive = state.status ? null : found;
  } catch (error) {
    if (error.problem) state.alive = { ok: false, reason: error.problem.reason };
  }
  draw();
}

function text(id, value) {
  const found = place(id);
  if (found.textContent !== value) found.textContent = value;
}

function draw() {
  const { status, link, alive } = state;
  const verdict = judged(status, link, alive);
  place("verdict").dataset.level = verdict.level;
  text("sign", verdict.sign);
  text("state", verdict.state);
  text("doing", doing(status, link));
  text("why", alive && !alive.ok ? alive.reason : why(status, link));
  text("without", without(status, link, state.effect));
  drawBesides(besides(status));
  place("tiles").classList.toggle("stale", link.state !== "live");
  const idle = state.heard && performance.now() - state.heard > Math.max(QUIET_MS, 3000 * state.interval) ? (performance.now() - state.heard) / 1000 : 0;
  place("link").dataset.link = idle ? "quiet" : link.state;
  text("link-text", link.state !== "live" ? "not connected" : idle ? `no tick for ${Math.round(idle)} s` : "live");
  text("server", status?.server ? named(status.server) : "no server yet");
  const speed = pace();
  place("pace").hidden = speed === 1;
  text("pace", speed === 1 ? "" : `Demo: time runs ${speed} times as fast. One real second is ${speed} seconds in every chart, time and duration here.`);
  if (status?.process) text("daemon", `InnoBrim ${status.process.version} · ${whole(status.process.resident_bytes / 1048576)} MiB · ${(100 * status.process.core_share).toFixed(2)} % of a core · a tick every ${status.process.interval} s`);
  document.title = `${verdict.sign} ${verdict.state}${status?.estimate && link.state === "live" ? ` · age ${percent(status.estimate.age_ratio)} · ${pair(status.in_force)}` : ""} · InnoBrim`;
  drawTiles(tiles(status));
  drawHolds(place("holds"), status);
  controls.set(link.state === "live" ? status : null);
  charts.set(series, decisions.writes(), idle);
}

function named({ family, version, endpoint, managed }) {
  if (family === "simulated") return "a simulated server";
  return `${PRODUCTS[family] ?? family} ${version}${managed ? ` on ${managed}` : ""} · ${endpoint}`;
}

function drawBesides(found) {
  const list = place("besides");
  place("besides-row").hidden = !found.length;
  if ([...list.children].map((one) => one.textContent).join("\n") !== found.join("\n"))
    list.replaceChildren(...found.map((sentence) => element("li", {}, sentence)));
}

function drawTiles(found) {
  const list = place("tiles");
  if (list.children.length !== found.length)
    list.replaceChildren(...found.map(({ name }) => element("li", {}, element("span", { class: "name" }, name), element("span", { class: "figure" }), element("span", { class: "note" }))));
  found.forEach(({ value, note, bad }, index) => {
    const [, figure, under] = list.children[index].children;
    list.children[index].classList.toggle("bad", !!bad);
    if (figure.textContent !== value) figure.textContent = value;
    if (under.textContent !== note) under.textContent = note;
  });
}

document.querySelectorAll('input[name="range"]').forEach((input) => input.addEventListener("change", () => {
  series = series.over(Number(input.value));
  history().then(draw, () => { state.whole = false; });
}));
document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh(); });
const pace = () => state.status?.process?.speed ?? 1; // the daemon's seconds in one of ours: above 1 in a demo alone
setTimeout(function again() {
  setTimeout(again, STATUS_MS / pace());
  if (document.hidden || state.link.state !== "live") return;
  if (state.whole) refresh();
  else load();
}, STATUS_MS);
setInterval(() => { if (!document.hidden) look(); }, 1000);
text("zone", `Times are ${zone()}.`);
draw();
stream.start();
