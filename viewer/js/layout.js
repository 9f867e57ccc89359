// Where tracks are: from top to bottom, each with its rows. Pinned ones stay above, the others scroll below.

import { about, trackName } from "./about.js";
import { LIFE_ROW } from "./api.js";
import { choices, inChosenOrder, isFound, show } from "./tracks.js";
import { view } from "./view.js";

export const ROW = 18;
export const AXIS = 26;
export const TITLE = 20;
const GAP = 6;
/** A collapsed track shows its rows as lines this high. */
const THIN = 3;
const THIN_ROWS = 8;
/** The bar of a thread's life, above its calls; and of a collapsed one. */
const LIFE = 14;
const THIN_LIFE = 4;
/** Rows that a track shows unless more are asked for: calls, and spans that lie below each other only for room. */
const FIRST_ROWS = 24;
const FIRST_LOGICAL_ROWS = 12;
/** With more tracks than this, only the one that the page opens on is unfolded. */
const FEW_TRACKS = 12;
/** Pinned tracks take at most this part of the height. */
const MOST_PINNED = 0.6;

export const sizes = { width: 0, height: 0, gutter: 210, ratio: 1 };

/** What people have folded: by the track's number. */
const folded = new Map();
/** How the page opens. */
const foldedFirst = new Map();
const unlimited = new Set();
/** All tracks that have something, and those of them that are shown. */
let lines = [];
let shown = [];
let byTrack = new Map();
let total = 0;
let pinnedHeight = 0;

function firstRows(track) {
  return track.kind === "thread" ? FIRST_ROWS : FIRST_LOGICAL_ROWS;
}

/**
 * Tracks in their order: each process's logical ones first, then its threads as they began, but the one that the page
 * opens on before the others if there is a reason (`isFirst`).
 */
export function arrange(openingTrack, isFirst) {
  const first = isFirst ? openingTrack : -1;
  const order = (track) => (track.kind === "thread" ? 1 : 0);
  const full = about.tracks.filter((track) => track.spans > 0 || track.lives.some((life) => life.reference));
  full.sort((a, b) => a.process - b.process || order(a) - order(b)
    || (order(a) === 1 ? Number(b.id === first) - Number(a.id === first) || a.start - b.start : a.id - b.id));
  const isCrowded = full.length > FEW_TRACKS;
  for (const track of full) {
    if (foldedFirst.has(track.id)) continue;
    foldedFirst.set(track.id, isCrowded && track.id !== openingTrack && track.kind === "thread");
    folded.set(track.id, foldedFirst.get(track.id));
  }
  // Of tasks and blocks it is known when they ran, and when they only were; of a lock who had it, and who waited.
  const hasParts = (track) => ["tasks", "queue", "lock"].includes(track.kind);
  lines = full.map((track) => ({ track, top: 0, height: 0, hasParts: hasParts(track) }));
  place();
}

/** Puts what is shown in its place. */
export function place() {
  const found = lines.filter(({ track }) => !choices.hidden.has(track.id) && isFound(track, trackName(track)));
  const pinned = choices.pinned.map((id) => found.find(({ track }) => track.id === id)).filter(Boolean);
  const others = inChosenOrder(found.filter((line) => !pinned.includes(line)), (line) => line.track.id);
  const room = Math.max(0, (sizes.height - AXIS) * MOST_PINNED) / Math.max(1, pinned.length) - GAP;
  pinnedHeight = pinned.length > 0 ? put(pinned, true, Math.max(2, Math.floor((room - LIFE) / ROW))) : 0;
  total = put(others, false, 256);
  shown = [...pinned, ...others];
  byTrack = new Map(shown.map((line) => [line.track.id, line]));
  scrollTo(view.scroll);
}

function put(list, isPinned, mostRows) {
  let top = GAP;
  let process = -1;
  for (const line of list) {
    const track = line.track;
    line.isPinned = isPinned;
    line.isFirst = track.process !== process && about.processes.length > 1;
    process = track.process;
    if (line.isFirst) top += TITLE;
    line.isFolded = folded.get(track.id) === true;
    const most = Math.min(mostRows, unlimited.has(track.id) ? 256 : firstRows(track));
    line.rows = Math.min(track.rows, line.isFolded ? THIN_ROWS : most);
    line.hidden = line.isFolded ? 0 : track.rows - line.rows;
    line.row = line.isFolded ? THIN : ROW;
    line.life = track.lives.length === 0 ? 0 : line.isFolded ? THIN_LIFE : LIFE;
    line.top = top;
    line.height = Math.max(line.life + line.rows * line.row, ROW);
    top += line.height + GAP;
  }
  return top;
}

/** Every track that has something, whether it is shown or not. */
export function allLines() {
  return lines;
}

export function shownLines() {
  return shown;
}

/** The line of a track that is shown. */
export function lineOf(track) {
  return byTrack.get(track);
}

export function fold(line) {
  folded.set(line.track.id, !line.isFolded);
  place();
}

export function showAllRows(line) {
  unlimited.add(line.track.id);
  folded.set(line.track.id, false);
  place();
}

/** What was folded and unfolded since the page opened, and what shows all its rows: by the tracks' numbers. */
export function folding() {
  const changed = [...folded.keys()].filter((id) => folded.get(id) !== foldedFirst.get(id));
  return {
    folded: changed.filter((id) => folded.get(id)), unfolded: changed.filter((id) => !folded.get(id)), whole: [...unlimited],
  };
}

export function setFolding(wanted) {
  for (const id of folded.keys()) {
    folded.set(id, wanted.folded.includes(id) || (foldedFirst.get(id) && !wanted.unfolded.includes(id)));
  }
  unlimited.clear();
  wanted.whole.forEach((id) => unlimited.add(id));
  place();
}

/** Where a region of tracks begins and ends on the screen: of those that are pinned, or of the others. */
export function region(isPinned) {
  return isPinned ? [AXIS, AXIS + pinnedHeight] : [AXIS + pinnedHeight, sizes.height];
}

/** The track at the upper edge, and how much of it is above; nothing where nothing is. */
export function topTrack() {
  if (view.scroll === 0) return null;
  const line = shown.find((it) => !it.isPinned && it.top + it.height > view.scroll);
  return line ? { track: line.track.id, pixels: Math.max(0, view.scroll - line.top) } : null;
}

export function scrollToTrack(track, pixels) {
  const line = lineOf(track);
  if (line && !line.isPinned) scrollTo(line.top + pixels);
}

/** Lines that can be seen, and which of their rows. */
export function visible() {
  const seen = [];
  for (const line of shown) {
    const [from, to] = region(line.isPinned);
    const top = lineTop(line);
    if (top + line.height < from || top > to) continue;
    const rows = top + line.life;
    const first = Math.max(0, Math.floor((from - rows) / line.row));
    const last = Math.min(line.rows - 1, Math.floor((to - rows) / line.row));
    seen.push({ line, first, last });
  }
  return seen;
}

export function scrollTo(pixels) {
  view.scroll = Math.min(Math.max(0, pixels), Math.max(0, total - sizes.height + AXIS + pinnedHeight + 40));
}

/** Brings a row into sight, also of a track that was hidden. */
export function reveal(track, row) {
  if (!lineOf(track) && show(track)) place();
  const line = lineOf(track);
  if (!line) return;
  if (row !== LIFE_ROW && (line.isFolded || row >= line.rows)) {
    if (row >= firstRows(line.track)) unlimited.add(track);
    folded.set(track, false);
    place();
  }
  if (line.isPinned) return;
  const top = line.top + rowOffset(line, row);
  const room = sizes.height - AXIS - pinnedHeight;
  if (top < view.scroll || top + ROW > view.scroll + room) scrollTo(top - room / 3);
}

/** The pixel of a line's upper edge. */
export function lineTop(line) {
  return AXIS + line.top + (line.isPinned ? 0 : pinnedHeight - view.scroll);
}

function rowOffset(line, row) {
  return row === LIFE_ROW ? 0 : line.life + Math.min(row, Math.max(0, line.rows - 1)) * line.row;
}

/** The pixel of a row's upper edge. */
export function rowTop(line, row) {
  return lineTop(line) + rowOffset(line, row);
}

/** How high a row is. */
export function rowHeight(line, row) {
  return row === LIFE_ROW ? line.life : line.row;
}

/** The line at a height of the screen. */
export function lineAt(py) {
  return shown.find((line) => {
    const [from, to] = region(line.isPinned);
    const top = lineTop(line);
    return py >= Math.max(from, top) && py < Math.min(to, top + line.height);
  });
}

export function x(time) {
  return sizes.gutter + ((time - view.start) / (view.end - view.start)) * (sizes.width - sizes.gutter);
}

export function timeAt(pixel) {
  return view.start + ((pixel - sizes.gutter) / (sizes.width - sizes.gutter)) * (view.end - view.start);
}
