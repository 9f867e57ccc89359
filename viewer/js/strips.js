// Rows with more calls than a picture may have shapes: a strip is one shape, with a column for each pixel.

import { KIND, NOTHING } from "./api.js";
import { callPaint, isCrashed, isOdd, statusPaint, themeNumber, tintedPaint } from "./colours.js";
import { rowTop, x } from "./layout.js";

/** Lines of pixels of a strip: a dark mark and the colour of the status above, the longest call below. */
const LINES = 3;
const DARK = 0xff1c1714;

/** What was painted, and of which picture and theme. */
let painted = { of: null, theme: -1, canvas: null, lines: null, offsets: null };

/** Paints the strips of a picture once. Those of a row share their lines. */
function paint(picture) {
  const { strips, width } = picture;
  const [lines, offsets] = [new Uint32Array(strips.count), new Uint32Array(strips.count)];
  let [line, offset] = [-1, 0];
  for (let at = 0; at < strips.count; at += 1) {
    const isSame = at > 0 && ["track", "row", "kind"].every((key) => strips[key][at] === strips[key][at - 1]);
    if (!isSame) line += 1;
    [lines[at], offsets[at]] = [line, offset];
    offset += strips.length[at];
  }
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [width, Math.max(1, (line + 1) * LINES)];
  const pen = canvas.getContext("2d");
  const image = pen.createImageData(canvas.width, canvas.height);
  const pixels = new Uint32Array(image.data.buffer);
  for (let at = 0; at < strips.count; at += 1) {
    const top = lines[at] * LINES * width + strips.first[at];
    for (let column = 0; column < strips.length[at]; column += 1) paintColumn(pixels, top + column, width, strips, offsets[at] + column);
  }
  pen.putImageData(image, 0, 0);
  painted = { of: picture, theme: themeNumber(), canvas, lines, offsets };
}

function paintColumn(pixels, place, width, strips, at) {
  if (strips.name[at] === NOTHING) return;
  const [byte, call] = [strips.outcome[at], callPaint(strips.name[at])];
  // What a crash ended is tinted; the call that it hit has a mark of its own.
  const own = isCrashed(byte) ? tintedPaint(call, byte) : isOdd(byte) ? statusPaint(byte) : call;
  const odd = isCrashed(strips.odd[at]) ? 0 : strips.odd[at];
  pixels[place] = odd ? DARK : own;
  pixels[place + width] = odd ? statusPaint(odd) : own;
  pixels[place + 2 * width] = own;
}

/** Draws the strips of these kinds, and says how many there were. */
export function drawStrips(pen, picture, lines, kinds) {
  if (picture.strips.count === 0) return 0;
  if (painted.of !== picture || painted.theme !== themeNumber()) paint(picture);
  const { strips } = picture;
  const perColumn = (picture.end - picture.start) / picture.width;
  let count = 0;
  pen.imageSmoothingEnabled = false;
  for (let at = 0; at < strips.count; at += 1) {
    const line = lines.get(strips.track[at]);
    if (!kinds.includes(strips.kind[at]) || !line || strips.row[at] >= line.rows) continue;
    const from = Math.round(x(picture.start + strips.first[at] * perColumn));
    const to = Math.round(x(picture.start + (strips.first[at] + strips.length[at]) * perColumn));
    const isAnomaly = strips.kind[at] === KIND.anomaly;
    pen.globalAlpha = strips.kind[at] === KIND.logical && line.hasParts ? 0.35 : 1;
    pen.drawImage(painted.canvas, strips.first[at], painted.lines[at] * LINES, strips.length[at], LINES,
      from, rowTop(line, strips.row[at]), Math.max(1, to - from), isAnomaly ? 5 : line.row - (line.row > 6 ? 1 : 0));
    count += 1;
  }
  pen.globalAlpha = 1;
  return count;
}

/** The pixel of a strip at a time, with what is known of it without asking. */
export function columnAt(picture, track, row, time) {
  const { strips } = picture;
  const perColumn = (picture.end - picture.start) / picture.width;
  const pixel = Math.floor((time - picture.start) / perColumn);
  let best = null;
  let offset = 0;
  for (let strip = 0; strip < strips.count; strip += 1) {
    const column = pixel - strips.first[strip];
    const at = offset + column;
    offset += strips.length[strip];
    if (strips.track[strip] !== track || strips.row[strip] !== row || column < 0 || column >= strips.length[strip]) continue;
    if (strips.name[at] === NOTHING) continue;
    const found = {
      track, row, kind: strips.kind[strip], isStrip: true, start: picture.start + pixel * perColumn, duration: perColumn,
      took: strips.duration[at], name: strips.name[at], spans: strips.spans[at], outcome: strips.outcome[at], odd: strips.odd[at],
    };
    // Parts that ran lie on the spans that they are of.
    if (!best || found.kind === KIND.running) best = found;
  }
  return best;
}
