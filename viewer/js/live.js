// While a trace grows, the page asks whether there is more.

import { json } from "./api.js";
import { about } from "./about.js";

const EVERY = 1000;

/** Calls `reload` whenever there is a newer analysis, until the trace is whole. */
export function watch(reload) {
  const mark = document.getElementById("live");
  mark.hidden = !about.live;
  if (!about.live) return;
  const look = async () => {
    try {
      const { number } = await json("number");
      if (number !== about.number) await reload();
    } catch {
      mark.textContent = "the server has ended";
      return;
    }
    mark.hidden = !about.live;
    if (about.live) setTimeout(look, EVERY);
  };
  setTimeout(look, EVERY);
}
