// Server-sent events over fetch: EventSource can carry no token, and gives up for good on a refusal.
import { headers, held, parse, refusal } from "./api.js";

const SILENCE_MS = 40000; // the daemon sends a comment every 15 s
const LONGEST_WAIT_MS = 15000;

export class Stream {
  #lastId = "";
  #wait = 1000;
  #again = null;
  #abort = null;

  // onMessage(name, data); onLink("live" | "lost", why, error)
  constructor(path, onMessage, onLink) {
    Object.assign(this, { path, onMessage, onLink });
  }

  // Connect now, also where a connection is waited for; a new token counts from here on.
  start() {
    clearTimeout(this.#again);
    this.#abort?.abort();
    const abort = this.#abort = new AbortController();
    this.#run(abort).catch((error) => error).then((error) => {
      if (abort !== this.#abort) return; // a later start has taken over
      this.onLink("lost", error?.status ? error.message : "the daemon does not answer", error);
      this.#again = setTimeout(() => this.start(), this.#wait);
      this.#wait = Math.min(LONGEST_WAIT_MS, this.#wait * 2);
    });
  }

  async #run(abort) {
    const sent = held();
    const answer = await fetch(this.path, {
      headers: headers(this.#lastId ? { "Last-Event-ID": this.#lastId } : {}), cache: "no-store", signal: abort.signal,
    });
    if (!answer.ok) throw await refusal(answer, sent);
    this.#wait = 1000;
    this.onLink("live", "");
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const silence = setTimeout(() => abort.abort(), SILENCE_MS);
      const { value, done } = await reader.read().finally(() => clearTimeout(silence));
      if (done) return;
      const parts = (rest + value).split("\n\n");
      rest = parts.pop();
      parts.forEach((part) => this.#take(part));
    }
  }

  #take(part) {
    const fields = {};
    for (const line of part.split("\n")) {
      const at = line.indexOf(": ");
      if (at > 0) fields[line.slice(0, at)] = line.slice(at + 2);
    }
    if (fields.data) this.onMessage(fields.event, parse(fields.data));
    if (fields.id) this.#lastId = fields.id;
  }
}
