// The panel below: tabs, and small helpers to fill them.

import { markColour } from "./colours.js";
import { changed, view } from "./view.js";

const content = () => document.getElementById("content");
const fillers = new Map();
let filled = 0;

/** What fills a tab: a function that is given the element, and says whether it is still wanted. */
export function tab(name, fill) {
  fillers.set(name, fill);
}

/** Shows a tab anew. */
export async function show(name = view.tab) {
  view.tab = fillers.has(name) ? name : "details";
  for (const button of document.querySelectorAll("#tabs [role=tab]")) {
    button.setAttribute("aria-selected", String(button.dataset.tab === view.tab));
  }
  filled += 1;
  const own = filled;
  const box = content();
  box.onscroll = null;
  const isWanted = () => own === filled;
  try {
    await fillers.get(view.tab)(box, isWanted);
  } catch (error) {
    if (isWanted()) box.replaceChildren(el("p", { class: "faint" }, error.message));
  }
  changed();
}

export function listenToTabs() {
  document.getElementById("tabs").addEventListener("click", (event) => {
    const name = event.target.dataset?.tab;
    if (name) show(name);
  });
  // What leads somewhere can be reached without a mouse, too.
  content().addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.matches("[data-go], .go, .twist")) event.target.click();
  });
  const splitter = document.getElementById("splitter");
  const panel = document.getElementById("panel");
  splitter.addEventListener("pointerdown", (event) => {
    splitter.setPointerCapture(event.pointerId);
    splitter.onpointermove = (moved) => {
      const height = Math.min(Math.max(window.innerHeight - moved.clientY, 30), window.innerHeight - 160);
      panel.style.height = `${height}px`;
      window.dispatchEvent(new Event("resize"));
    };
  });
  splitter.addEventListener("pointerup", () => {
    splitter.onpointermove = null;
    show();
  });
}

/** An element with attributes and children; texts are texts, never markup. */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "onclick") element.addEventListener("click", value);
    else if (value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** A table with titles (those that begin with `>` are numbers) and rows of cells. */
export function table(titles, rows) {
  const isNumber = titles.map((title) => title.startsWith(">"));
  const head = el("tr", {}, titles.map((title, at) => el("th", { class: isNumber[at] ? "number" : null }, title.replace(">", ""))));
  const body = rows.map(({ cells, go }) => {
    const row = el("tr", { "data-go": go ? "" : null, tabindex: go ? 0 : null, onclick: go ?? (() => {}) }, cells.map((cell, at) =>
      el("td", { class: isNumber[at] ? "number" : at === cells.length - 1 ? "wide" : null }, cell)));
    return row;
  });
  return el("table", {}, el("thead", {}, head), el("tbody", {}, body));
}

/** Names and values. */
export function list(pairs) {
  const shown = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return el("dl", {}, shown.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}

/** A word of a status, in its colour. */
export function statusMark(status, reason) {
  const colour = markColour(status, reason);
  const words = reason && reason !== "none" ? `${status} (${reason.replaceAll("_", " ")})` : status;
  const mark = el("span", { class: colour === "transparent" ? "plain status" : "status" }, words.replace("entry_only", "entry only"));
  mark.style.background = colour;
  return mark;
}
