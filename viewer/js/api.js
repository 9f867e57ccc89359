// Questions to the server. The token came with the page's own address.

import { view } from "./view.js";

const address = new URLSearchParams(location.search);
const token = address.get("token") ?? "";
/** Which of two sessions this is, where there are two. */
const side = address.get("side");

async function ask(path, parameters, signal, more = {}) {
  const all = { ...parameters, ...(view.lens ? { lens: 1 } : {}), ...(side ? { side } : {}) };
  const query = new URLSearchParams(all).toString();
  const response = await fetch(`/api/${path}?${query}`, { headers: { "X-Ada-Token": token }, signal, ...more });
  if (!response.ok) throw new Error((await response.text()).trim() || `the server said ${response.status}`);
  return response;
}

/** An answer in JSON. */
export async function json(path, parameters = {}, signal = undefined) {
  return (await ask(path, parameters, signal)).json();
}

/** A picture: its shapes and strips, column after column (`picture.rs` has the layout), and the time that it is of. */
export async function picture(parameters, signal) {
  const bytes = await (await ask("picture", parameters, signal)).arrayBuffer();
  const [count, strips, columns, width] = new Uint32Array(bytes, 0, 4);
  let at = 16;
  const take = (Kind, length) => {
    const column = new Kind(bytes, at, length);
    at += column.byteLength;
    return column;
  };
  const doubles = () => take(Float64Array, count);
  const numbers = () => take(Uint32Array, count);
  const shapes = {
    start: parameters.start, end: parameters.end, width,
    count, starts: doubles(), duration: doubles(), seq: doubles(), from: doubles(), painted: doubles(),
    name: numbers(), spans: numbers(), track: numbers(),
  };
  const packed = numbers();
  shapes.row = packed.map((it) => it & 0xffff);
  shapes.outcome = packed.map((it) => (it >>> 16) & 0xff);
  shapes.kind = packed.map((it) => it >>> 24);
  const strip = { count: strips, track: take(Uint32Array, strips) };
  const packedStrips = take(Uint32Array, strips);
  strip.row = packedStrips.map((it) => it & 0xffff);
  strip.kind = packedStrips.map((it) => it >>> 24);
  strip.first = take(Uint32Array, strips);
  strip.length = take(Uint32Array, strips);
  strip.name = take(Uint32Array, columns);
  strip.duration = take(Float32Array, columns);
  strip.spans = take(Uint32Array, columns);
  strip.outcome = take(Uint8Array, columns);
  strip.odd = take(Uint8Array, columns);
  return { ...shapes, strips: strip };
}

/** Sends something to be kept. */
export async function send(path, value) {
  return (await ask(path, {}, undefined, { method: "PUT", body: JSON.stringify(value) })).json();
}

/** A file. */
export async function bytes(path, parameters) {
  return (await ask(path, parameters)).arrayBuffer();
}

/** Numbers of four bytes. */
export async function numbers(path, parameters = {}) {
  return new Uint32Array(await (await ask(path, parameters)).arrayBuffer());
}

/** The name of a pixel of a strip where nothing is. */
export const NOTHING = 0xffffffff;

/** The row of a thread's track that its life is drawn in (`placed.rs`). */
export const LIFE_ROW = 0xffff;

export const KIND = { call: 0, logical: 1, running: 2, anomaly: 3 };
