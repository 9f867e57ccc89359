// All tracks in a list, also those that are hidden: what is shown, pinned and in which order.

import { about, trackName } from "./about.js";
import { allLines, place } from "./layout.js";
import { thousands } from "./format.js";
import { el, show, tab } from "./panel.js";
import { choices, hide, inChosenOrder, isFound, move, pin, showAll } from "./tracks.js";
import { changed } from "./view.js";

/** Tracks that are listed; with more, the filter says which. */
const MOST = 500;

export function makeTrackList() {
  tab("tracks", (box) => {
    const found = inChosenOrder(allLines().map((line) => line.track), (track) => track.id).filter((track) => isFound(track, trackName(track)));
    const act = (what) => () => {
      what();
      place();
      changed();
      show();
    };
    const row = (track, at) => {
      const isHidden = choices.hidden.has(track.id);
      const shownBox = el("input", { type: "checkbox", "aria-label": `show ${trackName(track)}` });
      shownBox.checked = !isHidden;
      shownBox.addEventListener("change", act(() => (isHidden ? choices.hidden.delete(track.id) : hide(track.id))));
      const button = (words, label, what, disabled) => el("button", { "aria-label": `${label} ${trackName(track)}`, disabled: disabled ? "" : null, onclick: act(what) }, words);
      return el("tr", {}, el("td", {}, shownBox),
        el("td", {}, button(choices.pinned.includes(track.id) ? "unpin" : "pin", "pin", () => pin(track.id))),
        el("td", {}, button("↑", "move up", () => move(track.id, found[at - 1].id), at === 0),
          button("↓", "move down", () => move(track.id, found[at + 2]?.id ?? null), at === found.length - 1)),
        el("td", { class: "number" }, thousands(track.seen)),
        el("td", { class: "wide" }, about.processes.length > 1 ? `${about.processes[track.process].pid} ` : "", trackName(track)));
    };
    const head = el("tr", {}, ["shown", "", "order", "spans", "track"].map((it) => el("th", {}, it)));
    box.replaceChildren(
      el("p", {}, el("button", { id: "show-all", onclick: act(() => showAll()) }, "Show all"), " ",
        el("button", { onclick: act(() => found.forEach((track) => hide(track.id))) }, "Hide all"),
        found.length > MOST ? ` the first ${MOST} of ${thousands(found.length)}; the filter above the titles finds others` : ""),
      el("table", { id: "track-list" }, el("thead", {}, head), el("tbody", {}, found.slice(0, MOST).map(row))));
  });
}

/** The filter above the titles, and the button that brings hidden tracks back. */
export function listenToFilter(redraw) {
  const input = document.getElementById("filter");
  input.addEventListener("input", () => {
    choices.filter = input.value;
    place();
    redraw();
  });
  document.getElementById("hidden-tracks").addEventListener("click", () => {
    showAll();
    place();
    redraw();
  });
}

/** Says how many tracks are not shown. */
export function showFilter() {
  const input = document.getElementById("filter");
  if (document.activeElement !== input && input.value !== choices.filter) input.value = choices.filter;
  const missing = allLines().filter(({ track }) => choices.hidden.has(track.id) || !isFound(track, trackName(track))).length;
  const button = document.getElementById("hidden-tracks");
  button.hidden = missing === 0;
  button.textContent = `${thousands(missing)} hidden: show all`;
}
