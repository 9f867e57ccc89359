// Names by their numbers. Those that are not known yet are asked for together.

import { json } from "./api.js";
import { changed } from "./view.js";

const known = new Map();
const wanted = new Set();
let isAsking = false;
let ofNumber = 0;

/** A name, or nothing yet. */
export function name(id) {
  const found = known.get(id);
  if (found === undefined && !wanted.has(id)) {
    wanted.add(id);
    // Together with those that are missed in the same moment.
    setTimeout(() => fetchNames().catch(() => {}));
  }
  return found?.[0];
}

export function moduleOf(id) {
  return known.get(id)?.[1] ?? "";
}

/** Asks for the names that were missed. */
export async function fetchNames() {
  if (isAsking || wanted.size === 0) return;
  isAsking = true;
  const number = ofNumber;
  const ids = [...wanted].slice(0, 1000);
  try {
    const answer = await json("names", { ids: ids.join(",") });
    if (number !== ofNumber) return;
    for (const id of ids) {
      known.set(id, answer[id] ?? [`#${id}`, ""]);
      wanted.delete(id);
    }
    changed();
  } finally {
    isAsking = false;
  }
}

/** Asks for these now, whether anybody has drawn them or not. */
export async function needNames(ids) {
  ids.forEach((id) => name(id));
  while (ids.some((id) => !known.has(id))) {
    if (isAsking) await new Promise((resolve) => setTimeout(resolve, 20));
    else await fetchNames();
  }
}

/** Another analysis has other numbers. */
export function forgetNames() {
  ofNumber += 1;
  known.clear();
  wanted.clear();
}
