// What is under the pointer.

import { KIND } from "./api.js";
import { AXIS, ROW, lineAt, lineTop, region, rowTop, sizes, timeAt, x } from "./layout.js";
import { lifeAt } from "./lives.js";
import { shown } from "./pictures.js";
import { columnAt } from "./strips.js";
import { view } from "./view.js";

/** The shape at a point, parts before the spans that they are of; nothing where there is none. */
export function shapeAt(px, py) {
  const shapes = shown.shapes;
  if (!shapes || px < sizes.gutter || py < AXIS) return null;
  const line = lineAt(py);
  if (!line) return null;
  const life = lifeAt(line, px, py);
  if (life) return life;
  const row = Math.floor((py - lineTop(line) - line.life) / line.row);
  const perNano = (sizes.width - sizes.gutter) / (view.end - view.start);
  let best = -1;
  let distance = 4;
  for (let at = 0; at < shapes.count; at += 1) {
    if (shapes.track[at] !== line.track.id || shapes.row[at] !== row) continue;
    const left = x(shapes.from[at]);
    const right = left + Math.max(shapes.painted[at] * perNano, 1);
    const away = px < left ? left - px : px > right ? px - right : 0;
    if (away < distance || (away === 0 && distance === 0 && shapes.kind[at] === KIND.running)) {
      best = at;
      distance = away;
    }
  }
  const column = distance > 0 || isLogical(shapes, best) ? columnAt(shapes, line.track.id, row, timeAt(px)) : null;
  if (column) return { ...column, isUpper: py - rowTop(line, row) < (line.row * 2) / 3 };
  if (best < 0) return null;
  return {
    track: shapes.track[best], row: shapes.row[best], start: shapes.starts[best], duration: shapes.duration[best],
    seq: shapes.seq[best], name: shapes.name[best], spans: shapes.spans[best], outcome: shapes.outcome[best],
    kind: shapes.kind[best],
  };
}

/** Whether parts may lie on a shape, so that a strip of them is meant rather than it. */
function isLogical(shapes, at) {
  return at >= 0 && shapes.kind[at] === KIND.logical;
}

/** Where a title's signs are: to pin the track, and to hide it. */
export const SIGNS = { pin: 34, hide: 17 };

/** The track whose title is at a point, and what is meant there: a sign, the line about rows that are not shown, or it. */
export function titleAt(px, py) {
  if (px >= sizes.gutter || py < AXIS) return null;
  const line = lineAt(py);
  if (!line) return null;
  const fromRight = sizes.gutter - px;
  const isTitle = py < titleTop(line) + ROW;
  const sign = fromRight < SIGNS.hide ? "hide" : fromRight < SIGNS.pin ? "pin" : null;
  const isMore = line.hidden > 0 && py > lineTop(line) + line.height - ROW;
  return { line, part: isMore ? "more" : isTitle && sign ? sign : "title" };
}

/** The title stays in sight as long as its track is. */
export function titleTop(line) {
  const top = lineTop(line);
  const [from] = region(line.isPinned);
  return Math.min(Math.max(top, from), Math.max(top + line.height - ROW, top));
}
