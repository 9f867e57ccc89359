// What is under the pointer.

import { KIND } from "./api.js";
import { AXIS, allLines, rowTop, sizes, timeAt, visible, x } from "./layout.js";
import { shown } from "./pictures.js";
import { columnAt } from "./strips.js";
import { view } from "./view.js";

/** The shape at a point, parts before the spans that they are of; nothing where there is none. */
export function shapeAt(px, py) {
  const shapes = shown.shapes;
  if (!shapes || px < sizes.gutter || py < AXIS) return null;
  const hit = visible().find(({ line }) => py >= rowTop(line, 0) && py < rowTop(line, 0) + line.height);
  if (!hit) return null;
  const row = Math.floor((py - rowTop(hit.line, 0)) / hit.line.row);
  const perNano = (sizes.width - sizes.gutter) / (view.end - view.start);
  let best = -1;
  let distance = 4;
  for (let at = 0; at < shapes.count; at += 1) {
    if (shapes.track[at] !== hit.line.track.id || shapes.row[at] !== row) continue;
    const left = x(shapes.from[at]);
    const right = left + Math.max(shapes.painted[at] * perNano, 1);
    const away = px < left ? left - px : px > right ? px - right : 0;
    if (away < distance || (away === 0 && distance === 0 && shapes.kind[at] === KIND.running)) {
      best = at;
      distance = away;
    }
  }
  const column = distance > 0 || isLogical(shapes, best) ? columnAt(shapes, hit.line.track.id, row, timeAt(px)) : null;
  if (column) return { ...column, isUpper: py - rowTop(hit.line, row) < (hit.line.row * 2) / 3 };
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

/** The track whose title is at a point, and whether the line about hidden rows is meant. */
export function titleAt(px, py) {
  if (px >= sizes.gutter || py < AXIS) return null;
  const line = allLines().find((it) => py >= rowTop(it, 0) && py < rowTop(it, 0) + it.height);
  if (!line) return null;
  return { line, isMore: line.hidden > 0 && py > rowTop(line, 0) + line.height - line.row };
}
