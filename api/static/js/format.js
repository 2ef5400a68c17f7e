// Numbers, times and durations as people read them.
const MIB = 1048576;

export const DASH = "–";

// A whole number; one beyond 2^53 comes as its digits.
export function whole(value) {
  if (value == null) return DASH;
  return (typeof value === "string" ? BigInt(value) : Math.round(value)).toLocaleString("en").replaceAll(",", "\u202f");
}

export function short(value) {
  if (value == null) return DASH;
  const size = Math.abs(value);
  if (size >= 1e6) return `${(value / 1e6).toPrecision(3)} M`;
  if (size >= 100) return whole(value);
  return String(+value.toPrecision(3));
}

// Three digits; whole MiB below 10 GiB exactly, as somebody set them: the commands say the same.
export function bytes(value) {
  if (value == null) return DASH;
  for (const [size, unit] of [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [MIB, "MiB"], [1024, "KiB"]])
    if (Math.abs(value) >= size) {
      const said = +(value / size).toPrecision(3);
      const exact = Math.round(said * size) !== value && value % MIB === 0 && Math.abs(value) < 10 * 2 ** 30;
      return exact ? `${value / MIB} MiB` : `${said} ${unit}`;
    }
  return `${Math.round(value)} B`;
}

export const percent = (value) => (value == null ? DASH : `${Math.round(100 * value)} %`);

export function duration(seconds) {
  if (seconds == null) return DASH;
  const left = Math.round(seconds);
  if (left < 120) return `${left} s`;
  if (left < 7200) return `${Math.round(left / 60)} min`;
  if (left < 172800) return `${+(left / 3600).toFixed(1)} h`;
  return `${Math.round(left / 86400)} d`;
}

export function remaining(seconds) {
  const left = Math.max(0, Math.round(seconds));
  if (left < 3600) return `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`;
  return duration(left);
}

// Both values with their names, as the server has them.
export const both = (value) => (value ? `innodb_io_capacity ${whole(value.io_capacity)} and innodb_io_capacity_max ${whole(value.io_capacity_max)} pages/s` : DASH);

export const pair = (value) => (value ? `${whole(value.io_capacity)} / ${whole(value.io_capacity_max)}` : DASH);

const CLOCK = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });

export const clock = (wall) => CLOCK.format(new Date(wall * 1000));

const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const ZONE = new Intl.DateTimeFormat("en-GB", { timeZoneName: "longOffset" });

// A time that need not be of today: with its day where it is not.
export function moment(wall, now = Date.now() / 1000) {
  const [day, today] = [wall, now].map((at) => DAY.format(new Date(at * 1000)));
  return day === today ? clock(wall) : `${day} ${clock(wall)}`;
}

// What the times of this page count from: UTC, UTC+02:00.
export function zone(now = Date.now() / 1000) {
  const found = ZONE.formatToParts(new Date(now * 1000)).find(({ type }) => type === "timeZoneName");
  return (found?.value ?? "").replace("GMT", "UTC").replace("+00:00", "") || "local";
}

export const words = (code) => code.replaceAll("_", " ");

// Builds an element; text is never read as HTML.
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === false || value == null) continue;
    if (key in made && typeof value !== "string") made[key] = value;
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child != null));
  return made;
}
