// Two runs beside each other: what makes the difference above, and below the timelines, which are pages of their own. What is
// clicked above is shown in both.

import { json } from "./api.js";
import { keptTheme, setTheme } from "./colours.js";
import { counted, duration, thousands } from "./format.js";
import { el, table } from "./panel.js";

/** Functions and threads that are listed. */
const FUNCTIONS = 100;
const THREADS = 30;

const SIDES = ["a", "b"];
const byId = (id) => document.getElementById(id);
const token = new URLSearchParams(location.search).get("token") ?? "";

/** What a page of a side can do, once it is there. */
async function actions(side) {
  const frame = byId(side);
  while (!frame.contentWindow?.ada?.about?.number) await new Promise((resolve) => setTimeout(resolve, 50));
  return frame.contentWindow.ada.actions;
}

async function onBoth(act) {
  await Promise.all(SIDES.map(async (side) => act(await actions(side), side)));
}

/** A figure of both sides, as people read it: whole numbers of calls, unless they are means of several runs. */
function calls(number) {
  return Number.isInteger(number) ? thousands(number) : number.toFixed(1);
}

function signed(ns) {
  const sign = ns < 0 ? "−" : "+";
  return el("span", { class: ns < 0 ? "less" : "more" }, `${sign}${duration(Math.abs(ns))}`);
}

function functions(difference) {
  const changed = difference.functions.filter((it) => it.change !== "same");
  const rows = changed.slice(0, FUNCTIONS).map((it) => ({
    cells: [it.change, calls(it.calls.a), calls(it.calls.b), duration(it.ns.a), duration(it.ns.b), signed(it.delta_ns),
      it.p === null ? "" : it.p.toPrecision(2), it.name],
    go: () => onBoth((page) => page.functionNamed(it.name)),
  }));
  const more = changed.length - rows.length;
  return el("div", {}, el("h3", {}, changed.length > 0 ? "Functions (a click shows one on both sides)" : "No function differs."),
    rows.length > 0 ? table(["change", ">calls A", ">calls B", ">time A", ">time B", ">difference", ">p", "name"], rows) : null,
    more > 0 ? el("p", { class: "faint" }, `and ${counted(more, "function")} more`) : null);
}

function partings(difference) {
  const name = (call) => (call ? call.name : "nothing more");
  const values = (call) => Object.entries(call?.values ?? {}).map(([key, value]) => `${key} ${value}`).join(", ");
  const rows = difference.parting.slice(0, THREADS).map((it) => ({
    cells: [it.thread, thousands(it.common_calls), name(it.a), name(it.b),
      [values(it.a), values(it.b)].filter(Boolean).join(" · "), it.around.join(" › ")],
    go: () => onBoth((page, side) => (it[side] ? page.goTo(it[side].reference) : null)),
  }));
  const same = difference.threads_with_the_same_calls;
  return el("div", {}, el("h3", {}, rows.length > 0 ? "Where the order of calls parts" : "The order of calls does not part."),
    rows.length > 0 ? table(["thread", ">calls before", "A goes on with", "B goes on with", "values", "in"], rows) : null,
    same > 0 ? el("p", { class: "faint" }, `${counted(same, "thread")} made the same calls in the same order`) : null);
}

async function open() {
  setTheme(keptTheme());
  const difference = await json("difference");
  const { all_ns: all, runs, names } = difference;
  byId("cause").textContent = difference.cause?.words ?? "Nothing explains a difference.";
  for (const side of SIDES) {
    const several = runs[side] > 1 ? `, the first of ${runs[side]} runs` : "";
    byId(`name-${side}`).textContent = `${names[side]}${several} · ${duration(all[side])} in functions that are compared`;
    byId(side).src = `/?${new URLSearchParams({ side, token })}`;
  }
  byId("differences").replaceChildren(el("div", { class: "columns" }, functions(difference), partings(difference)));
}

// What tests look at.
window.ada = { actions };

open().catch((error) => { byId("cause").textContent = error.message; });
