// The flame graph: calls of all threads in the selected time, merged by their path.

import { callColour, inkOn, themed } from "./colours.js";
import { counted, duration } from "./format.js";
import { name } from "./names.js";
import { el, tab } from "./panel.js";
import { timeWords, sums } from "./selection.js";
import { threadChoice } from "./threads.js";

const ROW = 18;
let root = null;

export function makeFlame(toFunction) {
  tab("flame", async (box, isWanted) => {
    box.replaceChildren(el("p", { class: "faint" }, "folding…"));
    const answer = await sums();
    if (!isWanted()) return;
    const nodes = tree(answer.nodes);
    root = null;
    const title = el("span", {}, "");
    const canvas = el("canvas", { id: "flame" });
    box.replaceChildren(el("h2", {}, title, " ", threadChoice()), canvas);
    const paint = () => drawFlame(canvas, title, nodes, answer);
    canvas.addEventListener("mousemove", (event) => {
      const hit = nodeAt(nodes, event.offsetX, event.offsetY);
      canvas.title = hit ? `${name(hit.id)}\n${duration(hit.total)} in all, ${duration(hit.own)} itself, ${counted(hit.calls, "call")}` : "";
      canvas.style.cursor = hit ? "pointer" : "default";
    });
    canvas.addEventListener("click", (event) => {
      const hit = nodeAt(nodes, event.offsetX, event.offsetY);
      root = hit && hit !== root ? hit : null;
      paint();
    });
    canvas.addEventListener("dblclick", (event) => {
      const hit = nodeAt(nodes, event.offsetX, event.offsetY);
      if (hit) toFunction(hit.id);
    });
    paint();
  });
}

/** Rows of numbers become nodes that know each other. */
export function tree(rows) {
  const nodes = [];
  for (const [id, parent, calls, total, own] of rows) {
    const above = parent === null ? null : nodes[parent];
    const node = { id, parent: above, calls, total, own, level: above ? above.level + 1 : 0, children: [] };
    above?.children.push(node);
    nodes.push(node);
  }
  nodes.forEach((node) => node.children.sort((a, b) => b.total - a.total));
  return nodes;
}

/** The roots, the one with the most time first. */
export function roots(nodes) {
  return nodes.filter((node) => node.parent === null).sort((a, b) => b.total - a.total);
}

function drawFlame(canvas, title, nodes, answer) {
  const width = canvas.clientWidth;
  const shown = root ? [root] : roots(nodes);
  const total = shown.reduce((sum, node) => sum + node.total, 0) || 1;
  nodes.forEach((node) => { node.x = undefined; });
  const above = [];
  for (let node = root?.parent ?? null; node; node = node.parent) above.unshift(node);
  let deepest = above.length;
  const place = (list, x, level) => {
    for (const node of list) {
      node.x = x;
      node.width = (node.total / total) * width;
      node.at = level;
      x += node.width;
      if (node.width < 0.4) continue;
      deepest = Math.max(deepest, level + 1);
      place(node.children, node.x, level + 1);
    }
  };
  above.forEach((node, level) => { [node.x, node.width, node.at] = [0, width, level]; });
  place(shown, 0, above.length);
  const ratio = window.devicePixelRatio || 1;
  const height = Math.max(ROW, deepest * ROW);
  canvas.style.height = `${height}px`;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.fillStyle = themed().ground;
  pen.fillRect(0, 0, width, height);
  pen.font = "12px system-ui, sans-serif";
  pen.textBaseline = "middle";
  for (const node of nodes) {
    if (node.x === undefined || node.width < 0.4) continue;
    pen.globalAlpha = above.includes(node) ? 0.5 : 1;
    pen.fillStyle = callColour(node.id);
    pen.fillRect(node.x, node.at * ROW, Math.max(node.width - 0.6, 0.5), ROW - 1);
    if (node.width > 30) {
      pen.fillStyle = inkOn(false);
      const text = name(node.id) ?? "";
      const most = Math.floor((node.width - 8) / 6);
      pen.fillText(text.length > most ? `${text.slice(0, Math.max(1, most - 1))}…` : text, node.x + 4, node.at * ROW + ROW / 2);
    }
  }
  pen.globalAlpha = 1;
  const more = answer.left_out > 0 ? ` (${counted(answer.left_out, "call")} on paths too small to show)` : "";
  title.textContent = `${timeWords()}, ${duration(total)} of calls${more}. Click to zoom, double-click for the function.`;
}

function nodeAt(nodes, x, y) {
  const level = Math.floor(y / ROW);
  return nodes.find((node) => node.x !== undefined && node.at === level && x >= node.x && x < node.x + node.width) ?? null;
}
