// What the browser remembers from one `ada view` to the next: theme, height of the panel, whether it is closed. Each run
// has another port, and so another storage; cookies are the host's. Nothing of a session is in it.

const NAME = "ada_page";
const SECONDS = 365 * 24 * 3600;

function read() {
  const found = document.cookie.split("; ").find((it) => it.startsWith(`${NAME}=`));
  try {
    const value = JSON.parse(decodeURIComponent(found.slice(NAME.length + 1)));
    return value && typeof value === "object" ? value : {};
  } catch {
    return {};
  }
}

/** Something that was kept; nothing if it was not. */
export function kept(key) {
  return read()[key];
}

export function keep(key, value) {
  const all = { ...read(), [key]: value };
  document.cookie = `${NAME}=${encodeURIComponent(JSON.stringify(all))}; max-age=${SECONDS}; path=/; SameSite=Strict`;
}
