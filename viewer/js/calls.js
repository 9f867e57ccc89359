// The call tree of the selected time, unfolded where somebody looks.

import { duration, thousands } from "./format.js";
import { roots, tree } from "./flame.js";
import { name } from "./names.js";
import { el, tab } from "./panel.js";
import { timeWords, sums } from "./selection.js";
import { share } from "./share.js";
import { threadChoice } from "./threads.js";

/** Levels that are unfolded from the start, where there is one way to go. */
const FIRST_LEVELS = 12;

export function makeCalls(toFunction) {
  tab("calls", async (box, isWanted) => {
    box.replaceChildren(el("p", { class: "faint" }, "folding…"));
    const answer = await sums();
    if (!isWanted()) return;
    const body = el("tbody", {});
    const top = roots(tree(answer.nodes));
    const whole = answer.own_ns;
    top.forEach((node) => add(body, null, node, whole, toFunction));
    // What takes nearly everything is unfolded, until it parts.
    let row = body.firstElementChild;
    for (let level = 0; row && level < FIRST_LEVELS; level += 1) {
      const node = row.node;
      if (node.children.length === 0) break;
      row.unfold();
      if (node.children[0].total < node.total * 0.6) break;
      row = row.nextElementSibling;
    }
    const head = el("tr", {}, el("th", { class: "number" }, "total"), el("th", {}, "share"),
      el("th", { class: "number" }, "self"),
      el("th", { class: "number" }, "calls"), el("th", {}, "function"));
    box.replaceChildren(el("h2", {}, `${timeWords()}, of `, threadChoice()), el("table", {}, el("thead", {}, head), body));
  });
}

function add(body, before, node, whole, toFunction) {
  const twist = el("span", { class: "twist", role: "button", tabindex: node.children.length > 0 ? 0 : null }, node.children.length > 0 ? "▸" : "");
  const text = el("span", {}, name(node.id) ?? "");
  const cell = el("td", { class: "wide" }, twist, text);
  cell.style.paddingLeft = `${node.level * 14}px`;
  const row = el("tr", {}, el("td", { class: "number" }, duration(node.total)), el("td", {}, share(node.total, whole)),
    el("td", { class: "number" }, duration(node.own)), el("td", { class: "number" }, thousands(node.calls)), cell);
  row.node = node;
  let isOpen = false;
  row.unfold = () => {
    if (isOpen || node.children.length === 0) return;
    isOpen = true;
    twist.textContent = "▾";
    const next = row.nextElementSibling;
    node.children.forEach((child) => add(body, next, child, whole, toFunction));
  };
  const fold = () => {
    isOpen = false;
    twist.textContent = "▸";
    while (row.nextElementSibling && row.nextElementSibling.node.level > node.level) row.nextElementSibling.remove();
  };
  twist.addEventListener("click", () => (isOpen ? fold() : row.unfold()));
  text.addEventListener("dblclick", () => toFunction(node.id));
  body.insertBefore(row, before);
}
