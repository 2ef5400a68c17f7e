// Requests to the daemon. The token lives in this variable and nowhere else: a reload forgets it.
let token = "";

const ANSWER_MS = 10000; // the daemon itself waits 3 s for its loop

export class Refused extends Error {
  constructor(status, problem) {
    super(problem?.detail || problem?.title || `the daemon answered ${status}`);
    this.status = status;
    this.problem = problem;
  }
}

export const hasToken = () => token !== "";
export const setToken = (value) => { token = value.trim(); };

export function headers(more = {}) {
  return token ? { ...more, Authorization: `Bearer ${token}` } : more;
}

export async function refusal(answer) {
  let problem = null;
  try { problem = await answer.json(); } catch { /* no problem document: the status has to do */ }
  return new Refused(answer.status, problem);
}

async function ask(path, options = {}) {
  const answer = await fetch(path, { ...options, cache: "no-store", signal: AbortSignal.timeout(ANSWER_MS) });
  if (!answer.ok) throw await refusal(answer);
  return answer.json();
}

export const get = (path) => ask(path, { headers: headers() });

export function change(method, path, body) {
  return ask(path, { method, headers: headers({ "Content-Type": "application/json" }), body: JSON.stringify(body) });
}
