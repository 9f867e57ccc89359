// All that is known of the chosen span.

import { about } from "./about.js";
import { json } from "./api.js";
import { duration, moment } from "./format.js";
import { overview } from "./overview.js";
import { noteField } from "./notes.js";
import { el, list, statusMark, tab } from "./panel.js";
import { view } from "./view.js";

/** Where the calling conventions have arguments and results. */
const ARGUMENTS = ["rdi", "rsi", "rdx", "rcx", "r8", "r9", "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7"];
const RESULTS = ["rax", "rdx", "x0"];

const REFERENCE = /\b(?:\d+\/)?(?:frame|callback|thread|task|block|event):\d+(?::\d+)?\b/g;

/** `goTo(reference)` brings a span into view. */
export function makeDetails(goTo, searchFor, toFunction) {
  tab("details", async (box, isWanted) => {
    if (!view.chosen) {
      const parts = await overview(searchFor, toFunction);
      if (isWanted()) box.replaceChildren(...parts);
      return;
    }
    const answer = await json("span", { ref: view.chosen.reference });
    if (!isWanted()) return;
    box.replaceChildren(...fill(answer, goTo, toFunction));
    noteField(box, answer.reference, answer.span);
    box.scrollTop = 0;
  });
}

function fill({ reference, details, span, links, function: number }, goTo, toFunction) {
  const link = (text) => linked(text, goTo);
  const name = details.call ?? details.name ?? reference;
  const status = details.status ? statusMark(details.status, details.reason) : null;
  const head = el("h2", {}, `${name} `, status ?? "", number === null || number === undefined ? null
    : el("button", { id: "to-function", onclick: () => toFunction(number) }, "All calls of this function"));
  const source = details.file ? `${details.file}:${details.line}` : null;
  const times = list([
    ["span", el("span", { class: "mono" }, reference)],
    ["duration", details.duration_ns === undefined ? null : duration(details.duration_ns)],
    ["self", details.self_ns === undefined || details.self_ns === null ? null : duration(details.self_ns)],
    ["corrected", details.corrected_ns ? `${duration(details.corrected_ns)} without recording` : null],
    ["on processor", details.on_cpu_ns === null || details.on_cpu_ns === undefined ? null
      : `${duration(details.on_cpu_ns)}; ready ${duration(details.ready_ns)}, blocked ${duration(details.blocked_ns)}`],
    ["start", span ? moment(span.start, 1) : null],
    ["thread", details.thread_id === undefined ? null : String(details.thread_id)],
    ["depth", details.depth === null || details.depth === undefined ? null : String(details.depth)],
    ["runtime", details.runtime],
    ["module", details.module],
    ["source", source],
    ["function", details.function_id],
    ["parent", details.parent_span_id ? link(`${details.parent_span_id} ${details.parent ?? ""}`) : null],
    ["key", details.correlation_key ? String(details.correlation_key) : null],
  ]);
  const parts = [el("div", {}, el("h3", {}, "Span"), times)];
  if (details.values) parts.push(values(details.values));
  const attributes = Object.entries(details.attributes ?? {}).filter(([, value]) => value !== null && !Array.isArray(value));
  if (attributes.length > 0) {
    parts.push(el("div", {}, el("h3", {}, "Attributes and links"),
      list(attributes.map(([key, value]) => [label(key), link(shownValue(key, value))]))));
  }
  for (const [title, event, handed] of [["Arguments and registers", details.opened_by, ARGUMENTS],
    ["On return", details.closed_by, RESULTS], ["Registers", details, ARGUMENTS]]) {
    if (event?.detail) parts.push(registers(title, event, handed));
  }
  for (const [title, items] of [["Caused by", links?.causes], ["Led to", links?.effects], ["Calls", details.callees], ["Before it", details.before], ["After it", details.after],
    ["Evidence", details.evidence], ["Ran", details.attributes?.runs], ["Ran on", details.attributes?.hops],
    ["Waited", details.attributes?.suspensions]]) {
    if (Array.isArray(items) && items.length > 0) {
      parts.push(el("div", {}, el("h3", {}, `${title} (${items.length})`), items.map((item) => el("div", {}, link(describe(item))))));
    }
  }
  return [head, el("div", { class: "columns" }, parts)];
}

/** What the call was given and gave back. */
function values({ arguments: given, result, error }) {
  const mono = ({ name, type, value }) => [name, el("span", { class: "mono", title: type }, value)];
  const items = given.map(mono);
  if (result) items.push(mono(result));
  if (error) items.push(["errno", el("span", { class: "mono" }, `${error.name} (${error.number})`)]);
  return el("div", {}, el("h3", {}, "Values"), list(items));
}

/** An item of a list: its time first, where it has one. */
function describe(item) {
  if (typeof item === "string") return item;
  const { start_ns: start, end_ns: end, ...others } = item;
  const words = Object.entries(others).filter(([, value]) => value !== null);
  const parts = words.map(([key, value]) => `${label(key)} ${shownValue(key, value)}`);
  if (typeof start === "number") {
    const took = typeof end === "number" ? ` for ${duration(end - start)}` : "";
    parts.unshift(`at ${moment(start - about.start_ns, 1)}${took}`);
  }
  return parts.join(", ");
}

/** Moments on the trace's clock; other nanoseconds are durations. */
const MOMENTS = /^(start|end|create|ready|submit|time|resume|resumed|cancel|join|first_event|last_event)_ns$/;

function label(key) {
  return key.replace(/_ns$/, "").replace(/_span_id$/, "_span").replaceAll("_", " ");
}

function shownValue(key, value) {
  if (typeof value === "number" && MOMENTS.test(key)) return moment(value - about.start_ns, 1);
  if (typeof value === "number" && key.endsWith("_ns")) return duration(value);
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** A text whose references lead where they mean. */
function linked(text, goTo) {
  const box = el("span", {});
  let at = 0;
  for (const found of String(text).matchAll(REFERENCE)) {
    box.append(text.slice(at, found.index), el("a", { class: "go", role: "link", tabindex: 0, onclick: () => goTo(found[0]) }, found[0]));
    at = found.index + found[0].length;
  }
  box.append(String(text).slice(at));
  return box;
}

/** The registers that hand something over first, in their order; then the others, and the bytes of the stack. */
function registers(title, event, handedOver) {
  const { stack, probes, ...others } = event.detail;
  const shown = (keys) => keys.map((key) => [key, el("span", { class: "mono" }, String(others[key]))]);
  const handed = handedOver.filter((key) => key in others);
  const rest = Object.keys(others).filter((key) => !handed.includes(key));
  const site = event.call_site;
  const parts = [el("h3", {}, title), list(shown(handed)), rest.length > 0 ? list(shown(rest)) : null];
  if (site) parts.push(el("div", {}, `called by ${site.name}${site.file ? ` at ${site.file}:${site.line}` : ""}`));
  if (probes) parts.push(el("div", { class: "mono" }, `probed: ${probes.join(" ")}`));
  if (stack) parts.push(el("h3", {}, `Stack, ${stack.length / 2} bytes`), el("pre", {}, hexLines(stack)));
  return el("div", {}, parts);
}

function hexLines(hex) {
  const lines = [];
  for (let at = 0; at < hex.length; at += 32) {
    const bytes = hex.slice(at, at + 32).match(/../g) ?? [];
    const letters = bytes.map((byte) => {
      const code = parseInt(byte, 16);
      return code > 31 && code < 127 ? String.fromCharCode(code) : "·";
    });
    lines.push(`+${(at / 2).toString(16).padStart(3, "0")}  ${bytes.join(" ").padEnd(48)} ${letters.join("")}`);
  }
  return lines.join("\n");
}
