// Keys and gestures.

import { ARROW, STATE, STATUS } from "./colours.js";
import { el, swatch } from "./panel.js";

const KEYS = [
  ["W S + -", "zoom in and out"], ["A D", "go left and right"], ["wheel", "zoom at the pointer; with Shift go left and right, over titles up and down"],
  ["drag", "move; on the times or with Shift, select a time"], ["two\u00a0fingers", "move and zoom"],
  ["double-click", "zoom to a span; on the times, write a note"], ["middle\u00a0button", "zoom to what it goes over, or to a span"],
  ["right\u00a0button", "move"], ["click", "a span: details, with Ctrl its function; an arrow: go to its other end; a title: fold the track, or pull it elsewhere"],
  ["↑ ↓ PgUp PgDn", "scroll the tracks"], ["0", "the whole run"], ["F", "zoom to the chosen span or the selected time"],
  ["M", "select the time of the chosen span, on its thread"], ["P", "go to the caller"], ["G", "flame graph of the selection, or of what is seen"],
  ["I", "all calls of the chosen span's function"], [", .", "the call before and after, in the same row"], ["[ ]", "where an arrow comes from, and leads to"],
  ["/ Ctrl+F", "search"], ["Enter N B", "next result; next and previous"], ["E", "write a note"], ["Ctrl+A", "select the whole run"], ["L", "the program's own functions, or all"], ["Q", "open or close the panel"], ["C", "copy an address that leads here"], ["T", "light or dark"],
  ["Esc", "forget selection, then span"], ["?", "this"],
];

export function help() {
  const dialog = document.getElementById("keys");
  const rows = KEYS.map(([keys, words]) =>
    el("tr", {}, el("td", {}, ...keys.split(" ").flatMap((key) => [el("kbd", {}, key), " "])), el("td", { class: "wide" }, words)));
  dialog.replaceChildren(el("h2", {}, "Keys"), el("table", {}, el("tbody", {}, rows)),
    el("p", { class: "faint" }, "A shape stands for one span, or for the longest of many that a pixel has; the words beside the pointer say how many. "
      + "What did not end as usual is in the colours of the legend, with a dark corner and its reason; triangles are events "
      + "that could not be right. Of tasks and blocks, the full part ran and the dashed part waited."),
    el("p", { class: "faint" }, "Arrows lead from cause to effect: ", ...Object.entries(ARROW).flatMap(([kind, colour]) => [swatch(colour), `${kind}  `])),
    el("p", { class: "faint" }, "The thin band above a thread's calls says whether it was on a processor, where that is known: ",
      ...Object.entries(STATE).flatMap(([state, colour]) => [swatch(colour), `${state}  `])),
    el("form", { method: "dialog" }, el("button", {}, "Close")));
  dialog.showModal();
}

/** The colours of statuses, below. */
export function legend() {
  const words = [["unmatched", "unmatched"], ["canceled", "canceled"], ["open", "open"], ["pending", "pending"], ["exited", "exited"], ["completed", "too long"]];
  document.getElementById("legend").replaceChildren(...words.map(([status, text]) => {
    return el("span", {}, swatch(STATUS[status]), text);
  }));
}

