// Requests to the daemon. The token lives in this variable and nowhere else: a reload forgets it.
let token = "";

const ANSWER_MS = 10000; // the daemon itself waits 3 s for its loop

export class Refused extends Error {
  // `sent`: the token that the request went with.
  constructor(status, problem, sent) {
    super(problem?.detail || problem?.title || `the daemon answered ${status}`);
    Object.assign(this, { status, problem, sent });
  }
}

export const hasToken = () => token !== "";
export const setToken = (value) => { token = value.trim(); };

// The token that is held now; what a request went with, so that a late refusal of an old one drops no new one.
export const held = () => token;

// Forget the token that was refused; false where another one is held by now.
export function forget({ sent }) {
  if (sent !== token) return false;
  token = "";
  return true;
}

export function headers(more = {}) {
  return token ? { ...more, Authorization: `Bearer ${token}` } : more;
}

export async function refusal(answer, sent) {
  let problem = null;
  try { problem = await answer.json(); } catch { /* no problem document: the status has to do */ }
  return new Refused(answer.status, problem, sent);
}

const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const wide = (token) => (/^-?\d{16,}$/.test(token) && !Number.isSafeInteger(Number(token)) ? `"${token}"` : token);

// JSON with whole numbers that no Number holds exactly as their digits: InnoDB's go up to 2^64 - 1.
export const parse = (text) => JSON.parse(text.replace(TOKENS, wide));

async function ask(path, options = {}) {
  const sent = held();
  const answer = await fetch(path, { ...options, cache: "no-store", signal: AbortSignal.timeout(ANSWER_MS) });
  if (!answer.ok) throw await refusal(answer, sent);
  return parse(await answer.text());
}

export const get = (path) => ask(path, { headers: headers() });

export function change(method, path, body) {
  return ask(path, { method, headers: headers({ "Content-Type": "application/json" }), body: JSON.stringify(body) });
}
