// The address holds the view, so that a colleague can be sent to it, whose window may have another size.

import { about } from "./about.js";
import { folding, setFolding, scrollToTrack, topTrack } from "./layout.js";
import { choices } from "./tracks.js";
import { look, view } from "./view.js";

export function toFragment() {
  const parts = new URLSearchParams();
  parts.set("start", String(Math.round(view.start)));
  parts.set("end", String(Math.round(view.end)));
  if (about.lens) parts.set("lens", view.lens ? "1" : "0");
  const top = topTrack();
  if (top) parts.set("top", `${top.track}:${Math.round(top.pixels)}`);
  for (const [name, tracks] of Object.entries(folding())) if (tracks.length > 0) parts.set(name, tracks.join(","));
  if (choices.pinned.length > 0) parts.set("pinned", choices.pinned.join(","));
  if (choices.hidden.size > 0) parts.set("hidden", [...choices.hidden].join(","));
  if (choices.moved.length > 0) parts.set("moved", choices.moved.map(([id, before]) => `${id}:${before ?? ""}`).join(","));
  if (choices.filter) parts.set("filter", choices.filter);
  if (view.chosen?.reference) parts.set("span", view.chosen.reference);
  if (view.range) parts.set("range", `${Math.round(view.range.start)}-${Math.round(view.range.end)}`);
  if (view.only !== null) parts.set("only", String(view.only));
  if (view.function !== null) parts.set("function", String(view.function));
  if (view.tab !== "details") parts.set("tab", view.tab);
  return `#${parts}`;
}

/** What an address asks for; nothing if it asks for no view. */
export function fromFragment(fragment) {
  const parts = new URLSearchParams(fragment.replace(/^#/, ""));
  const [start, end] = [Number(parts.get("start")), Number(parts.get("end"))];
  if (!parts.has("start") || !(end > start)) return null;
  const numbers = (name) => (parts.get(name) ?? "").split(",").filter((it) => /^\d+$/.test(it)).map(Number);
  const range = /^(-?\d+)-(-?\d+)$/.exec(parts.get("range") ?? "");
  const top = /^(\d+):(\d+)$/.exec(parts.get("top") ?? "");
  return {
    start,
    end,
    lens: parts.has("lens") ? parts.get("lens") === "1" : null,
    top: top ? { track: Number(top[1]), pixels: Number(top[2]) } : null,
    folding: { folded: numbers("folded"), unfolded: numbers("unfolded"), whole: numbers("whole") },
    tracks: {
      pinned: numbers("pinned"), hidden: new Set(numbers("hidden")), filter: parts.get("filter") ?? "",
      moved: (parts.get("moved") ?? "").split(",").map((it) => /^(\d+):(\d*)$/.exec(it)).filter(Boolean)
        .map(([, id, before]) => [Number(id), before === "" ? null : Number(before)]),
    },
    function: numbers("function")[0] ?? null,
    span: parts.get("span"),
    range: range && Number(range[2]) > Number(range[1]) ? { start: Number(range[1]), end: Number(range[2]) } : null,
    only: numbers("only")[0] ?? null,
    tab: parts.get("tab") ?? "details",
  };
}

/** Looks where an address says: everything but the chosen span. */
export function goToAddress(asked) {
  Object.assign(choices, asked.tracks);
  view.function = asked.function;
  setFolding(asked.folding);
  look(asked.start, asked.end);
  if (asked.top) scrollToTrack(asked.top.track, asked.top.pixels);
  view.range = asked.range;
  view.only = asked.only;
  view.tab = asked.tab;
}
