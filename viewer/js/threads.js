// Whose calls are summed up: those of all threads, or of one.

import { trackName } from "./about.js";
import { allLines, lineOf } from "./layout.js";
import { el, show } from "./panel.js";
import { view } from "./view.js";

function threads() {
  return allLines().map((line) => line.track).filter((track) => track.kind === "thread");
}

/** The numbers of the tracks that are meant. */
export function meantThreads() {
  const all = threads().map((track) => track.id);
  return all.includes(view.only) ? [view.only] : all;
}

/** Means the thread of a chosen span, or all threads. */
export function meanThreadOf(span) {
  view.only = lineOf(span?.track)?.track.kind === "thread" ? span.track : null;
}

/** Something to choose one with. */
export function threadChoice() {
  const option = (value, words) => {
    const it = el("option", { value }, words);
    it.selected = String(view.only ?? "") === value;
    return it;
  };
  const choice = el("select", { "aria-label": "Threads that are summed up" }, option("", "all threads"),
    threads().map((track) => option(String(track.id), trackName(track))));
  choice.addEventListener("change", () => {
    view.only = choice.value === "" ? null : Number(choice.value);
    show();
  });
  return choice;
}
