// Which tracks people want to see, and where: pinned, hidden, filtered, moved. By the tracks' numbers.

import { about } from "./about.js";

export const choices = {
  /** Above all others, in this order. */
  pinned: [],
  hidden: new Set(),
  /** Pairs: a track, and the one that it was put before; none for the end. The newest is the last. */
  moved: [],
  /** Words that a track's title or its process has. */
  filter: "",
};

export function pin(id) {
  const { pinned } = choices;
  choices.pinned = pinned.includes(id) ? pinned.filter((it) => it !== id) : [...pinned, id];
}

export function hide(id) {
  choices.hidden.add(id);
  choices.pinned = choices.pinned.filter((it) => it !== id);
}

export function showAll() {
  choices.hidden.clear();
  choices.filter = "";
}

/** Puts a track before another one, or behind all. */
export function move(id, before) {
  choices.moved = [...choices.moved.filter(([moved]) => moved !== id), [id, before]];
}

/** Whether the filter lets a track through: each of its words is in the title or in the process's command. */
export function isFound(track, title) {
  const process = about.processes[track.process];
  const text = `${title} ${process?.pid ?? ""} ${process?.command ?? ""}`.toLowerCase();
  return choices.filter.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

/** Makes sure that a track is shown; says whether anything had to change for it. */
export function show(id) {
  const wasHidden = choices.hidden.delete(id);
  const wasFiltered = choices.filter !== "";
  choices.filter = "";
  return wasHidden || wasFiltered;
}

/** A list with the moved ones where they were put. */
export function inChosenOrder(list, idOf) {
  const order = [...list];
  for (const [id, before] of choices.moved) {
    const from = order.findIndex((it) => idOf(it) === id);
    if (from < 0) continue;
    const [moved] = order.splice(from, 1);
    const to = order.findIndex((it) => idOf(it) === before);
    order.splice(to < 0 ? order.length : to, 0, moved);
  }
  return order;
}
