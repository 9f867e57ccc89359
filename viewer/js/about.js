// The session that is shown: its tracks, words and length.

/** What the server sent first; replaced while a trace grows. */
export const about = { number: 0, tracks: [], processes: [], statuses: [], reasons: [], length: 1 };

export function learn(answer) {
  Object.assign(about, answer);
}

/** A track's title, with the thread's id unless it has that already. */
export function trackName({ title, thread_id: id }) {
  return id === null || title.split(" ").includes(String(id)) ? title : `${title} ${id}`;
}

/** Status, reason and doubt behind the byte of an outcome. */
export function outcome(byte) {
  return {
    status: about.statuses[byte & 7] ?? "unknown",
    reason: about.reasons[(byte >> 3) & 15] ?? "unknown",
    uncertain: byte > 127,
  };
}

/** `unmatched (exception)`; nothing for a span that ended as most do. */
export function outcomeWords(byte) {
  const { uncertain, ...ending } = outcome(byte);
  if (byte === 0) return "";
  return `${endingWords(ending)}${uncertain ? "?" : ""}`;
}

/** `unmatched (exception)`, `completed`. */
export function endingWords({ status, reason }) {
  return reason === "none" ? status : `${status} (${reason})`;
}
