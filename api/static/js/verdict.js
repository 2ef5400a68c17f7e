// What the page says in words, from GET /v1/status: pure functions.
import { both, bytes, DASH, duration, moment, percent, remaining, words } from "./format.js";

const SIGNS = { good: "✓", watch: "◦", held: "‖", alarm: "!", lost: "×" };

// An age ratio so near its set-point is held; farther away the loop travels.
const NEAR = 0.1;

const SIDES = { baseline: "the originals", ours: "InnoBrim's values" };

const level = (name, state) => ({ level: name, sign: SIGNS[name], state });

// Is it working? `link` is what the connection says: live, or why not.
export function judged(status, link, alive) {
  if (link.refused) return level("lost", "The daemon wants a token");
  if (link.state !== "live") return level("lost", capital(link.why || "no answer from the daemon"));
  if (!status) return level("lost", alive?.reason ? `Not yet: ${alive.reason}` : "Waiting for the first reading");
  if (alive && !alive.ok) return level("alarm", "The loop has stopped");
  if (status.lifecycle === "stopping") return level("lost", "The daemon is stopping");
  if (status.missed) return level("alarm", "Cannot read the server");
  if (status.decision.kind === "emergency") return level("alarm", "Emergency: flushing faster");
  if (status.mode === "advisory") return level("watch", "Watching only");
  const held = status.holds.filter((hold) => hold.code !== "stale").map((hold) => hold.code);
  if (held.includes("paused")) return level("held", "Paused");
  if (status.holds.length) return level("held", `Held: ${words(status.holds[0].code)}`);
  if (status.restore) return level("good", "Restoring the originals");
  if (status.drain) return level("good", status.drain.reached ? "Drained" : "Draining");
  if (status.override) return level("good", "Working, with an override");
  if (tried(status)) return level("good", "Working, with a trial");
  return level("good", "Working");
}

export function doing(status, link) {
  if (!status) return DASH;
  if (link.state !== "live") return `Not known since ${moment(status.at)}. This page shows the state of that moment.`;
  const { decision, in_force: now } = status;
  const said = [];
  if (status.override) said.push(`Keeps the innodb_io_capacity_max that a person asked for, for another ${remaining(status.override.seconds_left)}.`);
  if (status.drain) said.push(`${status.drain.reached || status.drain.start_age <= status.drain.target ? "Keeps the uncheckpointed bytes at or below" : "Brings the uncheckpointed bytes down to"} ${bytes(status.drain.target)}${status.drain.lowest ? ", the lowest that is safe" : ""}. The drain ends in ${remaining(status.drain.ends_in)}.`);
  if (status.restore) said.push(`Restores the originals: step ${status.restore.step}, ${status.restore.steps_left} to go.`);
  const { estimate, set_point: wanted } = status;
  const age = estimate == null ? "not known" : `${percent(estimate.age_ratio)} of the flush limit`;
  if (status.missed) said.push("Writes nothing until the server answers.");
  else if (status.mode === "advisory") {
    said.push(decision.would ? `Writes nothing. In active mode it would now set ${both(decision.would)}.` : "Writes nothing. In active mode it would change nothing now.");
    said.push(`The age is ${age}, with ${both(now)}.`);
  } else if (status.holds.length) said.push(`Writes nothing. The age is ${age}; ${both(now)} stay as they are.`);
  else if (decision.kind === "emergency") said.push(`Raises innodb_io_capacity_max at once, without a step limit. The age is ${age}, with ${both(now)}.`);
  else if (tried(status)?.side === "baseline") said.push(`A trial has the originals in force, ${both(status.originals)}. The age is ${age}, with ${both(now)}.`);
  else if (status.drain) said.push(`The age is ${age}, with ${both(now)}.`);
  else said.push(`${course(status)} ${age}${wanted == null ? "" : `; the set-point is ${percent(wanted)}`}. In force: ${both(now)}.`);
  return said.join(" ");
}

// The trial under way; null without one.
function tried({ trial }) {
  return trial?.progress.running ? trial.progress : null;
}

function course({ estimate, set_point: wanted }) {
  const off = estimate && wanted != null ? estimate.age_ratio - wanted : 0;
  if (Math.abs(off) < NEAR) return "Holds the age at";
  return off < 0 ? "Lets the age rise; it is" : "Brings the age down; it is";
}

export function why(status, link) {
  if (link.refused) return `The daemon answers, but it wants a valid token: ${link.why}.`;
  if (link.state !== "live") return "The daemon has ended, hangs, or cannot be reached from here. innobrim status on its machine says which.";
  if (!status) return DASH;
  if (status.missed) return sentence(status.missed);
  const said = status.holds.map((hold) => `${sentence(hold.reason)} What ends it: ${hold.clears}.`);
  if (status.mode === "advisory" && status.advisory) said.push(`The mode is advisory. The reason: ${status.advisory}.`);
  const { detail, would } = status.decision;
  if (!status.holds.length) said.push(sentence(detail.replace(/^advisory mode writes nothing; otherwise( no change either)?: /, "")));
  else if (would) said.push(`Without the hold it would set ${both(would)}.`);
  if (status.occurrences.length) said.push(`Going on in the server: ${status.occurrences.map(words).join(", ")}.`);
  return said.join(" ");
}

// `effect`: what an advisory loop expects of its own wish, in words.
export function without(status, link, effect) {
  if (!status) return DASH;
  if (link.refused) return `Not known: this page may not read. The last values seen: ${both(status.in_force)}.`;
  if (link.state !== "live") return `${capital(both(status.in_force))} were in force when the daemon last answered, and they stay. A daemon that is stopped in order parks first.`;
  if (status.without) return sentence(status.without.text);
  return status.mode === "advisory" ? `As now. ${effect ? `In active mode: ${effect}.` : ""}` : "Not known yet.";
}

// What else a person has to know: settings that somebody changed, the schedule's word, the redo log's growth, what is not seen or kept.
export function besides(status) {
  if (!status) return [];
  const { overlay, schedule, degraded, journal, unkept, drain_ended: drained, trial, growth } = status;
  const listed = (values) => Object.entries(values).map(([name, value]) => `${name} ${value}`).join(", ");
  return [
    overlay && `Settings changed by ${overlay.who} at ${moment(overlay.since)}: ${listed(overlay.values)}. They last until they are cancelled or the daemon ends.`,
    ...schedule.map((one) => `Schedule ${one.name} until ${moment(one.ends)}: ${listed(one.effects)}${one.waits ? `; its drain waits: ${one.waits}` : ""}.`),
    growth && `Redo log ${bytes(growth.in_force)}${growth.found ? `, ${bytes(growth.found)} found` : ""}; redo.grow_to ${bytes(growth.grow_to)}: ${growth.text}${growth.next_try ? `; next try ${moment(growth.next_try)}` : ""}.`,
    status.ledger && `Since ${moment(status.ledger.since)}: ${status.ledger.text}.`,
    ...(unkept ?? []).map(sentence),
    degraded && "InnoDB's counters are off: the age shown is the checkpoint age, and sync flushing is not seen.",
    journal && `The journal cannot be written: ${journal}. The newest ticks are kept in memory.`,
    drained && `Drain ended ${drained}`,
    trial && (tried(status) ? `Trial until ${moment(trial.progress.ends)}, ${trial.progress.waits ? `waiting: ${trial.progress.waits}` : `now the turn of ${SIDES[trial.progress.side]}`}. So far: ${trial.verdict}.` : `Last trial, ended ${moment(trial.progress.result.ended)}: ${trial.verdict}${trial.ended && `; ${trial.ended}`}.`),
  ].filter(Boolean);
}

// How far from trouble: name, value, what it is held against, and whether that is beyond what is allowed.
export function tiles(status) {
  const found = status?.estimate, limits = status?.limits, budgets = status?.budgets, burst = status?.burst;
  const against = (budget) => (!budget ? "" : [
    budget.at_set_point != null && `${duration(budget.at_set_point)} at the set-point`,
    budget.at_baseline != null && `${duration(budget.at_baseline)} with the originals`,
    budget.allowed != null ? `${duration(budget.allowed)} allowed` : "no budget set",
  ].filter(Boolean).join(", "));
  const beyond = (budget) => Boolean(budget?.exceeded || budget?.long);
  const left = (seconds) => (seconds == null ? "not in sight" : duration(seconds));
  // On its way up to the set-point the age is let rise, and levels off there.
  const climbs = status?.mode === "active" && !status.holds.length && found?.age_ratio < status.set_point && !status.drain;
  const near = found?.seconds_to_stall != null && found.seconds_to_stall < 60 && !climbs;
  return [
    { name: "Age", value: percent(found?.age_ratio), note: limits ? `of the flush limit${status.set_point == null ? "" : `; set-point ${percent(status.set_point)}`}` : "", bad: found && limits && found.modified_age > 0.98 * limits.sync_point },
    { name: "Uncheckpointed", value: bytes(found?.checkpoint_age), note: limits ? `max checkpoint age ${bytes(limits.stall_point)}` : "", bad: found && limits && found.checkpoint_age > 0.95 * limits.stall_point },
    { name: "Time to sync flushing", value: left(found?.seconds_to_sync), note: found?.seconds_to_stall == null ? "no stall in sight either" : `a stall in ${duration(found.seconds_to_stall)}, if the age goes on like this${climbs ? "; it levels off at the set-point" : ""}`, bad: near },
    { name: "Crash recovery now", value: duration(found?.recovery_seconds), note: against(budgets?.recovery), bad: beyond(budgets?.recovery) },
    { name: "Shutdown now", value: duration(found?.shutdown_seconds), note: against(budgets?.shutdown), bad: beyond(budgets?.shutdown) },
    { name: "Longest burst", value: !burst ? DASH : burst.seconds == null ? "any" : duration(burst.seconds), note: burst ? `of ${burst.load} times this load, before sync flushing` : "", bad: burst?.seconds != null && burst.seconds < 5 },
    { name: "Writes in the last hour", value: status ? String(status.changes_last_hour) : DASH, note: status?.changes_allowed == null ? "" : `${status.changes_allowed} allowed; not counted: emergencies, trials, overrides, parks, restores` },
  ];
}

function sentence(text) {
  const trimmed = text.trim();
  if (!trimmed) return "";
  return `${capital(trimmed)}${/[.!?]$/.test(trimmed) ? "" : "."}`;
}

function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
