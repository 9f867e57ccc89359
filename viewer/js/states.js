// On or off the processor: a thin band above each thread's calls, where that is known.

import { STATE } from "./colours.js";
import { lineTop, region, sizes, timeAt, visible, x } from "./layout.js";
import { shown } from "./pictures.js";

/** The band lies in the room between two tracks. */
const HEIGHT = 3;

export function drawStates(pen, isPinned) {
  for (const { line } of visible()) {
    if (line.isPinned !== isPinned) continue;
    const top = lineTop(line) - HEIGHT - 1;
    for (const [state, from, to] of shown.states[line.track.id] ?? []) {
      const [left, right] = [Math.max(x(from), sizes.gutter), Math.min(x(to), sizes.width)];
      if (right < left) continue;
      pen.fillStyle = STATE[state];
      pen.fillRect(left, top, Math.max(right - left, 0.5), HEIGHT);
    }
  }
}

/** What a thread did at a point of its band; nothing where no band is. */
export function stateAt(px, py) {
  const time = timeAt(px);
  for (const { line } of visible()) {
    const top = lineTop(line) - HEIGHT - 1;
    if (py < region(line.isPinned)[0]) continue;
    if (px < sizes.gutter || py < top - 1 || py > top + HEIGHT + 1) continue;
    const part = (shown.states[line.track.id] ?? []).find(([, from, to]) => from <= time && time < to);
    return part ? { state: part[0], start: part[1], duration: part[2] - part[1] } : null;
  }
  return null;
}
