// Notes on spans and on times. They are kept beside the session, so that whoever opens it has them.

import { json, send } from "./api.js";
import { themed } from "./colours.js";
import { moment } from "./format.js";
import { AXIS, lineOf, region, rowTop, sizes, x } from "./layout.js";
import { el, tab, table } from "./panel.js";
import { changed, view } from "./view.js";

/** Each has a time, a text and, if it is on a span, that span and its place. */
let notes = [];

export async function fetchNotes() {
  notes = (await json("notes")).notes;
  changed();
}

/** Keeps a note; one without a text is forgotten. */
async function save(note) {
  notes = (await send("note", note)).notes;
  changed();
}

function noteOf(reference, time) {
  return notes.find((it) => (reference ? it.span === reference : !it.span && it.time === time));
}

/** Where a note's flag is; nothing if it is not in view. */
function flag(note) {
  const left = x(note.time);
  if (left < sizes.gutter || left > sizes.width) return null;
  if (!note.place) return [left, AXIS - 12];
  const line = lineOf(note.place[0]);
  if (!line) return null;
  const [top, bottom] = region(line.isPinned);
  const at = rowTop(line, note.place[1]);
  return at < top || at > bottom ? null : [left, at];
}

export function drawNotes(pen) {
  const colours = themed();
  for (const note of notes) {
    const at = flag(note);
    if (!at) continue;
    pen.fillStyle = colours.note;
    if (!note.place) pen.fillRect(at[0] - 0.5, AXIS, 1, sizes.height);
    pen.fillRect(at[0] - 1, at[1], 2, 12);
    pen.beginPath();
    pen.moveTo(at[0], at[1]);
    pen.lineTo(at[0] + 10, at[1] + 4);
    pen.lineTo(at[0], at[1] + 8);
    pen.fill();
  }
}

export function drawNotesInMinimap(pen, scale, height) {
  pen.fillStyle = themed().note;
  for (const { time } of notes) pen.fillRect(time * scale - 1, height - 9, 2, 9);
}

/** The note whose flag is at a point. */
export function noteAt(px, py) {
  return notes.find((note) => {
    const at = flag(note);
    return at && px >= at[0] - 3 && px <= at[0] + 11 && py >= at[1] - 2 && py <= at[1] + 13;
  }) ?? null;
}

function field(reference, time, place) {
  const text = el("textarea", { class: "note", rows: 2, maxlength: 4000, "aria-label": "Note", placeholder: "A note, kept with the session" });
  text.value = noteOf(reference, time)?.text ?? "";
  const said = el("span", { class: "faint" });
  const keep = async () => {
    try {
      await save({ span: reference, time, place, text: text.value });
      said.textContent = text.value.trim() ? " kept" : " no note";
    } catch (error) {
      said.textContent = ` ${error.message}`;
    }
  };
  text.addEventListener("change", keep);
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) keep();
  });
  return el("div", {}, el("h3", {}, reference ? "Note on this span" : `Note at ${moment(time, 1)}`), text, said);
}

/** Adds the field of a span's note. */
export function noteField(box, reference, span) {
  if (span) box.append(field(reference, Math.round(span.start), view.chosen ? [view.chosen.track, view.chosen.row] : null));
}

/** The time that a note is written on just now. */
let writtenAt = null;

export function writeAt(time) {
  writtenAt = Math.max(0, Math.round(time));
}

export function makeNotes(goToNote) {
  tab("notes", (box) => {
    const rows = notes.map((note) => ({
      cells: [moment(note.time, 1), note.span ?? "", note.text], go: () => goToNote(note),
    }));
    const parts = writtenAt === null ? [] : [field(null, writtenAt, null)];
    parts.push(el("p", { class: "faint" }, "E writes a note on the chosen span, or on the time under the pointer; so does a double click on the line of times."));
    if (rows.length > 0) parts.push(table([">time", "span", "note"], rows));
    box.replaceChildren(...parts);
    if (writtenAt !== null) box.querySelector("textarea").focus();
    writtenAt = null;
  });
}
