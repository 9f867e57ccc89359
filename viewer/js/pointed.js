// What is meant by a shape: of a strip's pixel, the span is asked for.

import { json } from "./api.js";

/** A shape with a span's start, duration and number; nothing if there is none. */
export async function pointed(shape) {
  if (!shape.isStrip) return shape;
  const start = Math.max(0, Math.floor(shape.start));
  const end = Math.max(start + 1, Math.ceil(shape.start + shape.duration));
  const { longest, odd } = await json("pixel", { track: shape.track, row: shape.row, kind: shape.kind, start, end });
  const span = shape.isUpper && odd ? odd : longest;
  return span ? { track: shape.track, row: shape.row, kind: shape.kind, spans: 1, ...span } : null;
}
