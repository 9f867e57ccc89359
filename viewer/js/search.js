// Search by name, status, reason and duration, with the longest first.

import { json } from "./api.js";
import { duration, moment, thousands } from "./format.js";
import { name, needNames } from "./names.js";
import { el, show, statusMark, tab, table } from "./panel.js";

let text = "";
let found = { spans: [], functions: [], has_more: false };
let at = -1;

export function makeSearch(goTo, searchFor) {
  tab("search", async (box, isWanted) => {
    if (!text) {
      box.replaceChildren(el("p", { class: "faint" },
        "Type a part of a name, or conditions: status:unmatched  reason:exception  longer:1ms  thread:4712  runtime:swift  module:libc"));
      return;
    }
    box.replaceChildren(el("p", { class: "faint" }, "searching…"));
    found = await json("search", { q: text });
    at = -1;
    await needNames(found.functions.map(([id]) => id));
    if (!isWanted()) return;
    box.replaceChildren(...fill(goTo, searchFor));
  });
}

function fill(goTo, searchFor) {
  if (found.spans.length === 0 && found.functions.length === 0) return [el("p", {}, `Nothing is like “${text}”.`)];
  const functions = found.functions.map(([id, calls, own, total]) => ({
    cells: [thousands(calls), duration(own), duration(total), name(id) ?? ""],
    go: () => searchFor(name(id) ?? ""),
  }));
  const spans = found.spans.map((span) => ({
    cells: [duration(span.duration), moment(span.start, 1), statusMark(span.status, span.reason),
      span.reference, span.name],
    go: () => goTo(span.reference),
  }));
  const title = `${found.spans.length}${found.has_more ? " longest" : ""} spans (N and B go through them)`;
  const parts = [el("h3", {}, title), table([">duration", ">start", "status", "span", "name"], spans)];
  if (functions.length > 0) parts.unshift(el("h3", {}, "Functions"), table([">calls", ">self", ">total", "name"], functions));
  return functions.length > 6 ? [...parts.slice(2), ...parts.slice(0, 2)] : parts;
}

/** Looks for a text, and shows what is found. */
export async function search(sought) {
  text = sought.trim();
  await show("search");
}

/** The next or previous span that was found. */
export function result(step) {
  if (found.spans.length === 0) return null;
  at = (at + step + found.spans.length) % found.spans.length;
  return found.spans[at];
}
