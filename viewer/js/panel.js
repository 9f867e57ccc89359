// The panel below: tabs, and small helpers to fill them.

import { markColour } from "./colours.js";
import { keep, kept } from "./kept.js";
import { changed, view } from "./view.js";

const content = () => document.getElementById("content");
const fillers = new Map();
let filled = 0;

/** What fills a tab: a function that is given the element, and says whether it is still wanted. */
export function tab(name, fill) {
  fillers.set(name, fill);
}

/** Shows a tab that somebody asked for, also if the panel is closed. */
export async function ask(name) {
  if (isClosed()) openPanel(true);
  await show(name);
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
    document.activeElement?.scrollIntoView?.({ block: "nearest", inline: "nearest" });
  });
  // What leads somewhere can be reached without a mouse, too.
  content().addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.matches("[data-go], .go, .twist")) event.target.click();
  });
  listenToSplitter();
}

/** The part of the window that the panel has. */
const USUAL = 0.34;
/** Pulled smaller than this, it closes. */
const LEAST_PIXELS = 60;

/** The part of the window that the panel has, as it was kept. */
function keptHeight() {
  const height = Number(kept("panel"));
  return height > 0.05 && height < 0.95 ? height : USUAL;
}

export function isClosed() {
  return document.getElementById("panel").hidden;
}

/** Opens or closes the panel, with the height that it had before. */
export function openPanel(opens) {
  const panel = document.getElementById("panel");
  const room = Math.max(0.1, 1 - 160 / window.innerHeight);
  panel.style.height = `${Math.min(keptHeight(), room) * 100}%`;
  panel.hidden = !opens;
  document.getElementById("panel-toggle").setAttribute("aria-pressed", String(opens));
  window.dispatchEvent(new Event("resize"));
}

/** What the browser has kept is so again, and what people do is kept. */
function listenToSplitter() {
  const splitter = document.getElementById("splitter");
  const panel = document.getElementById("panel");
  openPanel(kept("closed") !== true);
  let isPulled = false;
  splitter.addEventListener("pointerdown", (event) => {
    splitter.setPointerCapture(event.pointerId);
    isPulled = false;
    splitter.onpointermove = (moved) => {
      isPulled = true;
      const height = Math.min(Math.max(window.innerHeight - moved.clientY, 30), window.innerHeight - 160);
      panel.hidden = false;
      panel.style.height = `${height}px`;
      window.dispatchEvent(new Event("resize"));
    };
  });
  splitter.addEventListener("pointerup", () => {
    splitter.onpointermove = null;
    if (!isPulled) return;
    const height = panel.getBoundingClientRect().height;
    if (height >= LEAST_PIXELS) keep("panel", height / window.innerHeight);
    closeOrOpen(height >= LEAST_PIXELS);
  });
  splitter.addEventListener("dblclick", togglePanel);
  splitter.addEventListener("keydown", (event) => {
    const step = { ArrowUp: 0.05, ArrowDown: -0.05 }[event.key];
    if (event.key === "Enter") togglePanel();
    if (!step) return;
    event.preventDefault();
    keep("panel", Math.min(Math.max(keptHeight() + step, 0.1), 0.8));
    closeOrOpen(true);
  });
}

export function togglePanel() {
  closeOrOpen(isClosed());
}

function closeOrOpen(opens) {
  keep("closed", !opens);
  openPanel(opens);
  if (opens) show();
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

/** A square of a colour. */
export function swatch(colour) {
  const square = el("i", { class: "swatch" });
  square.style.background = colour;
  return square;
}

/** A word of a status, in its colour. */
export function statusMark(status, reason) {
  const colour = markColour(status, reason);
  const words = reason && reason !== "none" ? `${status} (${reason.replaceAll("_", " ")})` : status;
  const mark = el("span", { class: colour === "transparent" ? "plain status" : "status" }, words.replace("entry_only", "entry only"));
  mark.style.background = colour;
  return mark;
}
