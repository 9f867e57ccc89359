// Search by name, status, reason and duration, with the longest first.

import { json } from "./api.js";
import { duration, moment, thousands } from "./format.js";
import { name, needNames } from "./names.js";
import { found as marked, mark } from "./marks.js";
import { ask, el, statusMark, tab, table } from "./panel.js";
import { shareOf } from "./share.js";
import { changed } from "./view.js";

let text = "";
let found = { spans: [], functions: [], has_more: false };

export function makeSearch(goTo, toFunction) {
  tab("search", async (box, isWanted) => {
    if (!text) {
      box.replaceChildren(el("p", { class: "faint" },
        "Type a part of a name, or conditions: status:unmatched  reason:exception  longer:1ms  thread:4712  runtime:swift  module:libc"));
      return;
    }
    box.replaceChildren(el("p", { class: "faint" }, "searching…"));
    const sought = text;
    const answer = await json("search", { q: sought });
    if (sought !== text) return;
    found = answer;
    mark(found.spans, found.is_name ? found.functions.map(([id]) => id) : []);
    changed();
    await needNames(found.functions.map(([id]) => id));
    if (!isWanted()) return;
    box.replaceChildren(...fill(goTo, toFunction));
  });
}

function fill(goTo, toFunction) {
  if (found.spans.length === 0 && found.functions.length === 0) return [el("p", {}, `Nothing is like “${text}”.`)];
  const functions = found.functions.map(([id, calls, own, total]) => ({
    cells: [thousands(calls), duration(own), shareOf(own), duration(total), name(id) ?? ""],
    go: () => toFunction(id),
  }));
  const spans = found.spans.map((span) => ({
    cells: [duration(span.duration), moment(span.start, 1), statusMark(span.status, span.reason),
      span.reference, span.name],
    go: () => goTo(span.reference),
  }));
  const title = `${found.spans.length}${found.has_more ? " longest" : ""} spans, marked above (Enter and Shift+Enter, or N and B, go through them)`;
  const parts = [el("h3", {}, title), table([">duration", ">start", "status", "span", "name"], spans)];
  parts[1].id = "found";
  if (functions.length > 0) parts.unshift(el("h3", {}, "Functions"), table([">calls", ">self", "share", ">total", "name"], functions));
  return functions.length > 6 ? [...parts.slice(2), ...parts.slice(0, 2)] : parts;
}

/** Looks for a text, and shows what is found. */
export async function search(sought) {
  text = sought.trim();
  mark([], []);
  await ask("search");
}

/** Whether a text is what was searched for last. */
export function isSought(sought) {
  return sought.trim() === text;
}

/** The next or previous span that was found; its line in the list is marked. */
export function result(step) {
  const count = marked.spans.length;
  if (count === 0) return null;
  marked.at = marked.at < 0 && step < 0 ? count - 1 : (marked.at + step + count) % count;
  const span = marked.spans[marked.at];
  const rows = document.querySelectorAll("#found tbody tr");
  rows.forEach((row, at) => row.classList.toggle("current", found.spans[at] === span));
  document.querySelector("#found tr.current")?.scrollIntoView({ block: "nearest" });
  return span;
}
