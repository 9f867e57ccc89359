// A thread's life: a bar above its calls that looks like none of them.

import { outcomeWords, trackName } from "./about.js";
import { LIFE_ROW } from "./api.js";
import { themed } from "./colours.js";
import { duration } from "./format.js";
import { lineTop, sizes, visible, x } from "./layout.js";

export function drawLives(pen, isPinned, shorten) {
  for (const { line } of visible()) {
    if (line.isPinned !== isPinned) continue;
    const top = lineTop(line);
    for (const life of line.track.lives) drawLife(pen, line, life, top, shorten);
  }
}

function drawLife(pen, line, life, top, shorten) {
  const [left, right] = [Math.max(x(life.start), sizes.gutter - 2), Math.min(x(life.end), sizes.width + 2)];
  if (right < sizes.gutter || left > sizes.width) return;
  const colours = themed();
  const width = Math.max(right - left, 1);
  pen.fillStyle = colours.faint;
  if (line.isFolded) {
    pen.fillRect(left, top + 1, width, 1.5);
    return;
  }
  // A rail with an end on each side, where it is in view.
  const middle = top + line.life / 2 - 1;
  pen.globalAlpha = 0.14;
  pen.fillRect(left, top + 1, width, line.life - 3);
  pen.globalAlpha = 1;
  const text = shorten(pen, lifeTitle(line.track, life), width - 12);
  const taken = text ? pen.measureText(text).width + 10 : 0;
  pen.fillRect(left + taken, middle, Math.max(width - taken, 0), 1.5);
  pen.fillRect(left, top + 1, 2, line.life - 3);
  pen.fillRect(left + width - 2, top + 1, 2, line.life - 3);
  if (text) pen.fillText(text, left + 6, middle + 1);
}

function lifeTitle(track, life) {
  return `${trackName(track)} · ${duration(life.end - life.start)}`;
}

/** The life at a point of a line. */
export function lifeAt(line, px, py) {
  if (line.life === 0 || py >= lineTop(line) + line.life) return null;
  const life = line.track.lives.find((it) => px >= x(it.start) - 3 && px <= x(it.end) + 3);
  return life && { isLife: true, track: line.track.id, row: LIFE_ROW, start: life.start, duration: life.end - life.start, life };
}

/** What is known of it, for the tip. */
export function lifeWords(track, { start, end, reference, outcome, ended_by: how }) {
  const took = duration(end - start);
  if (!reference) return `${trackName(track)}\nwas there for ${took}; who made it was not seen`;
  const ending = outcomeWords(outcome) || (how ?? "").replaceAll("_", " ");
  return `${trackName(track)}\nlived for ${took}${ending ? ` · ${ending}` : ""}`;
}
