// What a person may ask of the loop. Each question says what will be written, old → new, before it is asked.
import { change, forget, get, hasToken, setToken } from "./api.js";
import { bytes, duration, element, moment, whole } from "./format.js";

const MINUTES = [[10, "10 minutes"], [30, "30 minutes"], [60, "1 hour"], [240, "4 hours"], [1440, "1 day"]];

// Both values now and then; `then` has both, or is what is said of each.
const writes = ({ in_force: now }, then, mark = "") => ["io_capacity_max", "io_capacity"].map((name) =>
  [`innodb_${name}`, whole(now?.[name]), then && typeof then === "object" ? `${mark}${whole(then[name])}` : then]);
const about = (status) => writes(status, status.park ?? "a parked value", "about ");
const ours = (status) => status.mode === "active" && !status.holds.length;
const ending = (status, minutes) => `${duration(minutes * 60)}, until ${moment(status.at + minutes * 60)}`; // by the daemon's clock

// A park is written where the loop may write; otherwise what is in force stays.
const parked = (status) => (ours(status) ? about(status) : writes(status, "stays, nothing is written"));

const lasting = () => ({ name: "minutes", label: "For", options: MINUTES });

const ACTS = {
  mode: (status) => (status.mode === "active" ? {
    title: "Watch only?", go: "Watch only", request: ["PUT", "/v1/mode"], body: () => ({ mode: "advisory" }),
    rows: () => [["Mode", "active", "advisory"], ...parked(status)],
    note: "First a parked setting is written, which has room for a higher load, unless one is in force already. Nothing is written after that.",
  } : {
    title: "Let the loop write?", go: "Let it write", request: ["PUT", "/v1/mode"], body: () => ({ mode: "active" }),
    rows: () => [["Mode", "advisory", "active"], ...writes(status, status.decision.would ?? "no change now", "first ")],
    note: "From then on InnoBrim changes both values by itself, inside the configured limits. The values in force now are kept as the originals.",
  }),
  pause: (status) => (status.holds.some((hold) => hold.resume) ? {
    title: "Resume?", go: "Resume", request: ["POST", "/v1/resume"],
    rows: () => [["Holds", status.holds.map((hold) => hold.code).join(", "), "none that waits for a person"], ...writes(status, "as the loop decides")],
    note: "Ends the holds that wait for a person. In active mode InnoBrim writes again.",
  } : {
    title: "Pause?", go: "Pause", request: ["POST", "/v1/pause"], rows: () => parked(status),
    note: "A parked setting is written. After that nothing is written until you resume, not even in an emergency.",
  }),
  override: (status) => ({
    title: "Override?", go: "Write it", request: ["PUT", "/v1/override"], warn: barred(status),
    fields: [{ name: "io_capacity_max", label: "innodb_io_capacity_max, pages/s", type: "number", min: 100, step: 1, value: status.in_force?.io_capacity_max ?? 1000 }, lasting()],
    body: (values) => ({ io_capacity_max: Number(values.io_capacity_max), ttl: Number(values.minutes) * 60 }),
    rows: (values) => [["innodb_io_capacity_max", whole(status.in_force?.io_capacity_max), whole(Number(values.io_capacity_max))],
      ["innodb_io_capacity", whole(status.in_force?.io_capacity), "a divisor of it"], ["Lasts", "", ending(status, values.minutes)]],
    note: "A value outside the configured limits is refused. Afterwards InnoBrim goes back to its set-point.",
  }),
  unoverride: (status) => ({
    title: "End the override?", go: "End it", request: ["DELETE", "/v1/override"],
    rows: () => [["innodb_io_capacity_max", whole(status.in_force?.io_capacity_max), "as the loop decides"]],
    note: "InnoBrim goes back to its set-point, within its step limit.",
  }),
  drain: (status) => ({
    title: "Drain?", go: "Drain", request: ["POST", "/v1/drain"], warn: barred(status),
    fields: [{ name: "to_age", label: "Uncheckpointed bytes to come down to: lowest (the lowest that is safe), bytes (64M), or a share of the redo capacity (10%)", type: "text", value: "lowest" }, lasting()],
    body: (values) => ({ to_age: values.to_age.trim(), ttl: Number(values.minutes) * 60 }),
    rows: (values) => [["Uncheckpointed", bytes(status.estimate?.checkpoint_age), target(values.to_age.trim(), status)],
      ...writes(status, "raised step by step, inside the limits"), ["Lasts", "", ending(status, values.minutes)]],
    note: "For a quick shutdown, backup or upgrade. The server writes more pages while it lasts.",
  }),
  undrain: (status) => ({
    title: "End the drain?", go: "End it", request: ["DELETE", "/v1/drain"],
    rows: () => [["Uncheckpointed", `at most ${bytes(status.drain?.target)}`, "as with the set-point"], ...writes(status, "as the loop decides")],
    note: "The age rises again to the set-point.",
  }),
  unsettle: (status) => ({
    title: "Back to the file's settings?", go: "Go back", request: ["DELETE", "/v1/settings"],
    rows: () => Object.entries(status.overlay?.values ?? {}).map(([name, value]) => [name, String(value), "as the configuration has it"]),
    note: "The settings of the configuration file count again. This alone writes nothing.",
  }),
  park: (status) => ({
    title: "Park?", go: "Park", request: ["POST", "/v1/park"], warn: status.mode === "advisory" ? "Refused in advisory mode." : "",
    rows: () => about(status),
    note: "Writes a setting that is safe without a daemon. After that nothing is written until you resume.",
  }),
  restore: (status) => ({
    title: "Restore the originals?", go: "Restore", request: ["POST", "/v1/restore"], warn: status.mode === "advisory" ? "Refused in advisory mode." : "",
    rows: () => writes(status, status.originals ?? "unknown"),
    note: "In steps: each waits until writes are fast again, so that there is no flush storm. The mode is advisory afterwards.",
  }),
};

// What a drain goes to; a share is one of the redo capacity.
function target(asked, { limits }) {
  if (asked === "lowest") return "the lowest that is safe";
  const share = /^(\d+(?:\.\d+)?) *%$/.exec(asked);
  return share && limits ? `${bytes(share[1] / 100 * limits.redo_capacity)}, ${asked} of the redo capacity` : asked;
}

function barred(status) {
  if (status.mode === "advisory") return "Refused in advisory mode.";
  return status.holds.length ? `Refused while held: ${status.holds.map((hold) => hold.code).join(", ")}.` : "";
}

export class Controls {
  #status = null;
  #act = null;

  // onDone() after a change; onToken() when there is another token.
  constructor({ onDone, onToken }) {
    Object.assign(this, { onDone, onToken });
    this.dialog = document.getElementById("dialog");
    this.form = document.getElementById("dialog-form");
    this.error = document.getElementById("dialog-error");
    this.told = document.getElementById("told");
    this.steer = document.getElementById("steer");
    this.steer.addEventListener("click", (event) => {
      const button = event.target.closest("button[data-act]");
      if (button && this.#status) this.#open(button.dataset.act);
    });
    document.getElementById("token-button").addEventListener("click", () => this.askToken(""));
    document.getElementById("dialog-cancel").addEventListener("click", () => this.dialog.close());
    this.form.addEventListener("submit", (event) => { event.preventDefault(); this.#submit(); });
    this.form.addEventListener("input", () => this.#preview());
  }

  set(status) {
    this.#status = status;
    const label = (name, text) => { this.steer.querySelector(`[data-act="${name}"]`).textContent = text; };
    this.steer.querySelectorAll("button").forEach((button) => { button.disabled = !status; });
    if (!status) return;
    label("mode", status.mode === "active" ? "Watch only…" : "Let it write…");
    label("pause", ACTS.pause(status).go === "Resume" ? "Resume…" : "Pause…");
    this.steer.querySelector('[data-act="unsettle"]').hidden = !status.overlay;
    this.#toggle("override", "unoverride", status.override, "Override…", "End override…");
    this.#toggle("drain", "undrain", status.drain, "Drain…", "End drain…");
  }

  #toggle(act, ending, on, text, endText) {
    const button = this.steer.querySelector(`[data-act="${act}"], [data-act="${ending}"]`);
    button.dataset.act = on ? ending : act;
    button.textContent = on ? endText : text;
  }

  askToken(why) {
    this.#act = null;
    this.#show("Token", "Use it", [
      element("p", {}, "The token is in the file ", element("code", {}, "token"), " of the daemon's state directory, or made by ", element("code", {}, "innobrim token"),
        ". This page keeps it in memory only: a reload forgets it."),
      this.#tokenField(true)]);
    this.#fail(why);
  }

  // The daemon took no token, or not this one: ask in the question that is open, and otherwise in one for it.
  refused(why) {
    if (!this.dialog.open) return this.askToken(why);
    this.#askHere();
    this.#fail(why);
  }

  #askHere() {
    if (!this.form.elements.token) document.getElementById("dialog-body").append(this.#tokenField(false));
  }

  #open(name) {
    this.#act = ACTS[name](this.#status);
    const { title, go, note, warn, fields = [] } = this.#act;
    this.preview = element("tbody");
    this.#show(title, go, [
      ...(warn ? [element("p", { class: "warn" }, warn)] : []),
      ...fields.map((field) => this.#field(field)),
      element("table", { class: "change" }, element("caption", {}, "What will be written"),
        element("thead", {}, element("tr", {}, ...["", "Now", "Then"].map((text) => element("th", { scope: "col" }, text)))), this.preview),
      element("p", {}, note),
      this.#field({ name: "reason", label: "Reason, for the record (may be left out)", type: "text", value: "", maxlength: "500" }),
      ...(hasToken() ? [] : [this.#tokenField(false)])]);
    this.#preview();
    if (name === "override") this.#limit(this.#act);
  }

  // The limits in force, beside the field: known before the question is sent, and not by a refusal.
  async #limit(act) {
    const loop = await get("/v1/config").then((found) => found.loop, () => null);
    const field = this.form.elements.io_capacity_max;
    if (!loop || act !== this.#act || !field) return;
    const [min, max] = [loop.min_io_capacity_max, loop.max_io_capacity_max];
    Object.assign(field, { min, max });
    field.previousElementSibling.textContent += `, ${whole(min)} to ${whole(max)}`;
  }

  #show(title, go, parts) {
    document.getElementById("dialog-title").textContent = title;
    document.getElementById("dialog-go").textContent = go;
    document.getElementById("dialog-body").replaceChildren(...parts);
    this.#fail("");
    if (!this.dialog.open) this.dialog.showModal();
  }

  #field({ name, label, options, value, ...more }) {
    const input = options
      ? element("select", { name }, ...options.map(([one, text]) => element("option", { value: String(one) }, text)))
      : element("input", { name, ...more, required: name !== "reason" && name !== "token" });
    if (value != null) input.value = value;
    return element("label", {}, element("span", {}, label), input);
  }

  #tokenField(alone) {
    return this.#field({ name: "token", label: alone ? "Token" : "Token (kept in this page's memory only; not needed over the unix socket)", type: "password", autocomplete: "off", spellcheck: "false" });
  }

  #values() {
    return Object.fromEntries(new FormData(this.form));
  }

  #preview() {
    if (!this.#act) return;
    this.preview.replaceChildren(...this.#act.rows(this.#values()).map(([name, old, then]) =>
      element("tr", {}, element("th", { scope: "row" }, name), element("td", {}, old), element("td", {}, element("span", { "aria-hidden": "true" }, "→ "), then))));
  }

  #fail(text) {
    this.error.hidden = !text;
    this.error.textContent = text;
  }

  async #submit() {
    const values = this.#values(), go = document.getElementById("dialog-go");
    if (values.token) {
      setToken(values.token);
      this.onToken();
    }
    if (!this.#act) return this.dialog.close();
    const act = this.#act;
    go.disabled = true;
    try {
      const done = await change(...act.request, { ...(act.body?.(values) ?? {}), reason: values.reason });
      this.dialog.close();
      this.#tell(`${done.message}.`);
      this.onDone();
    } catch (error) {
      const refused = error.status === 401 || error.status === 403; // no token of the daemon's, or one that may not
      if (refused) {
        if (error.status === 401) forget(error);
        this.onToken();
        this.#askHere();
        this.form.elements.token.value = "";
      }
      this.#fail(error.status ? error.message : "The daemon did not answer; look at the state before you ask again.");
      if (refused) this.form.elements.token.focus();
    } finally {
      go.disabled = false;
    }
  }

  #tell(text) {
    this.told.hidden = false;
    this.told.textContent = text;
    clearTimeout(this.fading);
    this.fading = setTimeout(() => { this.told.hidden = true; }, 20000);
  }
}
