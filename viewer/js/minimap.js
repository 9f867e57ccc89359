// The whole run in a strip, with the view as a window in it.

import { NOTHING, picture } from "./api.js";
import { about } from "./about.js";
import { STATUS, callColour, isCrashed, isOdd, statusColour, themeNumber, themed } from "./colours.js";
import { drawFoundInMinimap } from "./marks.js";
import { drawNotesInMinimap } from "./notes.js";
import { changed, look, view } from "./view.js";

const TRACKS = 8;
const ROWS = 4;
let shapes = null;
let order = new Map();
let width = 0;
let height = 0;
/** The strip as it was painted last, and what it was painted of. */
let painted = { key: "", canvas: null };
let fetched = 0;

/** Fetches the strip once for each session. */
export async function fetchMinimap(canvas) {
  const busiest = about.tracks.filter((track) => track.spans > 0 && track.kind === "thread")
    .sort((a, b) => b.spans - a.spans).slice(0, TRACKS).sort((a, b) => a.id - b.id);
  const tracks = busiest.map((track) => `${track.id}:0-${Math.max(0, Math.min(track.rows, ROWS) - 1)}`).join(",");
  if (!tracks) return;
  shapes = await picture({ start: 0, end: Math.ceil(about.length) + 1, width: Math.max(200, canvas.clientWidth), tracks });
  order = new Map(busiest.map((track, at) => [track.id, at]));
  fetched += 1;
  changed();
}

export function drawMinimap(canvas, ratio) {
  width = canvas.clientWidth;
  height = canvas.clientHeight;
  if (canvas.width !== Math.round(width * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const key = `${fetched} ${themeNumber()} ${canvas.width} ${canvas.height}`;
  if (painted.key !== key) painted = { key, canvas: paintRun(canvas.width, canvas.height, ratio) };
  const pen = canvas.getContext("2d");
  pen.setTransform(1, 0, 0, 1, 0, 0);
  pen.drawImage(painted.canvas, 0, 0);
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  const colours = themed();
  const scale = width / about.length;
  const [from, to] = [view.start * scale, view.end * scale];
  pen.fillStyle = colours.select;
  pen.fillRect(from, 0, Math.max(to - from, 2), height);
  pen.strokeStyle = colours.mark;
  pen.lineWidth = 1.5;
  pen.strokeRect(from + 0.5, 0.5, Math.max(to - from - 1, 2), height - 1);
  pen.lineWidth = 1;
  pen.fillStyle = STATUS.unmatched;
  for (const { time } of about.crashes) pen.fillRect(time * scale - 1.5, 0, 3, height);
  drawFoundInMinimap(pen, scale);
  drawNotesInMinimap(pen, scale, height);
  if (view.range) {
    pen.fillStyle = colours.mark;
    pen.fillRect(view.range.start * scale, height - 3, Math.max((view.range.end - view.range.start) * scale, 2), 3);
  }
}

/** The whole run, without the window. */
function paintRun(pixels, lines, ratio) {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [pixels, lines];
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.fillStyle = themed().gutter;
  pen.fillRect(0, 0, width, height);
  if (!shapes) return canvas;
  const scale = width / (shapes.end - shapes.start);
  const lane = Math.max(2, (height - 6) / Math.max(1, order.size));
  const row = Math.max(1, lane / ROWS);
  for (const wantsOdd of [false, true]) {
    for (let at = 0; at < shapes.count; at += 1) {
      const odd = isOdd(shapes.outcome[at]) && !isCrashed(shapes.outcome[at]);
      if (odd !== wantsOdd) continue;
      const top = 3 + (order.get(shapes.track[at]) ?? 0) * lane + shapes.row[at] * row;
      pen.fillStyle = odd ? statusColour(shapes.outcome[at]) : callColour(shapes.name[at]);
      pen.fillRect(shapes.from[at] * scale, top, Math.max(shapes.painted[at] * scale, 0.8), Math.max(row - 0.3, 1));
    }
    paintColumns(pen, wantsOdd, lane, row, width / shapes.width);
  }
  return canvas;
}

/** The pixels of strips. */
function paintColumns(pen, wantsOdd, lane, row, perPixel) {
  const { strips } = shapes;
  let offset = 0;
  for (let strip = 0; strip < strips.count; strip += 1) {
    const top = 3 + (order.get(strips.track[strip]) ?? 0) * lane + strips.row[strip] * row;
    for (let column = 0; column < strips.length[strip]; column += 1) {
      const at = offset + column;
      if (strips.name[at] === NOTHING || (wantsOdd && (!strips.odd[at] || isCrashed(strips.odd[at])))) continue;
      pen.fillStyle = wantsOdd ? statusColour(strips.odd[at]) : callColour(strips.name[at]);
      pen.fillRect((strips.first[strip] + column) * perPixel, top, Math.max(perPixel, 0.8), Math.max(row - 0.3, 1));
    }
    offset += strips.length[strip];
  }
}

/** Drag moves the window; a click outside it brings it there. */
export function listenToMinimap(canvas) {
  const timeAt = (event) => ((event.clientX - canvas.getBoundingClientRect().left) / width) * about.length;
  let grabbed = null;
  canvas.addEventListener("pointerdown", (event) => {
    const at = timeAt(event);
    const length = view.end - view.start;
    if (at < view.start || at > view.end) look(at - length / 2, at + length / 2);
    grabbed = at - view.start;
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (grabbed === null) return;
    const length = view.end - view.start;
    const start = timeAt(event) - grabbed;
    look(start, start + length);
  });
  const release = () => { grabbed = null; };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
}
