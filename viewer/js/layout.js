// Where tracks are: from top to bottom, each with its rows.

import { about } from "./about.js";
import { view } from "./view.js";

export const ROW = 18;
export const AXIS = 26;
export const TITLE = 20;
const GAP = 6;
/** A collapsed track shows its rows as lines this high. */
const THIN = 3;
const THIN_ROWS = 8;
/** Rows that a track shows unless more are asked for: calls, and spans that lie below each other only for room. */
const FIRST_ROWS = 24;
const FIRST_LOGICAL_ROWS = 12;
/** With more tracks than this, only the one that the page opens on is unfolded. */
const FEW_TRACKS = 12;

export const sizes = { width: 0, height: 0, gutter: 210, ratio: 1 };

/** What people have folded: by the track's number. */
const folded = new Map();
/** How the page opens. */
const foldedFirst = new Map();
const unlimited = new Set();
let lines = [];
let total = 0;

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
  const shown = about.tracks.filter((track) => track.spans > 0);
  shown.sort((a, b) => a.process - b.process || order(a) - order(b)
    || (order(a) === 1 ? Number(b.id === first) - Number(a.id === first) || a.start - b.start : a.id - b.id));
  const isCrowded = shown.length > FEW_TRACKS;
  for (const track of shown) {
    if (foldedFirst.has(track.id)) continue;
    // Many threads have tracks of their own below.
    const isLong = track.kind === "threads" && track.rows > FIRST_LOGICAL_ROWS;
    foldedFirst.set(track.id, isLong || (isCrowded && track.id !== openingTrack && track.kind === "thread"));
    folded.set(track.id, foldedFirst.get(track.id));
  }
  // Of tasks and blocks it is known when they ran, and when they only were.
  const hasParts = (track) => track.kind === "tasks" || track.kind === "queue";
  lines = shown.map((track) => ({ track, top: 0, height: 0, hasParts: hasParts(track) }));
  place();
}

function place() {
  let top = GAP;
  let process = -1;
  for (const line of lines) {
    const track = line.track;
    line.isFirst = track.process !== process && about.processes.length > 1;
    process = track.process;
    if (line.isFirst) top += TITLE;
    line.isFolded = folded.get(track.id) === true;
    const most = unlimited.has(track.id) ? 256 : firstRows(track);
    line.rows = Math.min(track.rows, line.isFolded ? THIN_ROWS : most);
    line.hidden = line.isFolded ? 0 : track.rows - line.rows;
    line.row = line.isFolded ? THIN : ROW;
    line.top = top;
    line.height = Math.max(line.rows * line.row, ROW);
    top += line.height + GAP;
  }
  total = top;
}

export function allLines() {
  return lines;
}

export function lineOf(track) {
  return lines.find((line) => line.track.id === track);
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

/** The track at the upper edge, and how much of it is above; nothing where nothing is. */
export function topTrack() {
  if (view.scroll === 0) return null;
  const line = lines.find((it) => it.top + it.height > view.scroll);
  return line ? { track: line.track.id, pixels: Math.max(0, view.scroll - line.top) } : null;
}

export function scrollToTrack(track, pixels) {
  const line = lineOf(track);
  if (line) scrollTo(line.top + pixels);
}

/** Lines that can be seen, and which of their rows. */
export function visible() {
  const bottom = view.scroll + sizes.height - AXIS;
  const seen = [];
  for (const line of lines) {
    if (line.top + line.height < view.scroll || line.top > bottom) continue;
    const first = Math.max(0, Math.floor((view.scroll - line.top) / line.row));
    const last = Math.min(line.rows - 1, Math.floor((bottom - line.top) / line.row));
    if (last >= first) seen.push({ line, first, last });
  }
  return seen;
}

export function scrollTo(pixels) {
  view.scroll = Math.min(Math.max(0, pixels), Math.max(0, total - sizes.height + AXIS + 40));
}

/** Brings a row into sight. */
export function reveal(track, row) {
  const line = lineOf(track);
  if (!line) return;
  if (line.isFolded || row >= line.rows) {
    if (row >= firstRows(line.track)) unlimited.add(track);
    folded.set(track, false);
    place();
  }
  const top = line.top + row * ROW;
  const room = sizes.height - AXIS;
  if (top < view.scroll || top + ROW > view.scroll + room) scrollTo(top - room / 3);
}

/** The pixel of a row's upper edge. */
export function rowTop(line, row) {
  return AXIS + line.top - view.scroll + Math.min(row, line.rows - 1) * line.row;
}

export function x(time) {
  return sizes.gutter + ((time - view.start) / (view.end - view.start)) * (sizes.width - sizes.gutter);
}

export function timeAt(pixel) {
  return view.start + ((pixel - sizes.gutter) / (sizes.width - sizes.gutter)) * (view.end - view.start);
}
