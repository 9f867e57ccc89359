// Questions to the server. The token came with the page's own address.

const token = new URLSearchParams(location.search).get("token") ?? "";

async function ask(path, parameters, signal) {
  const query = new URLSearchParams(parameters).toString();
  const response = await fetch(`/api/${path}?${query}`, { headers: { "X-Ada-Token": token }, signal });
  if (!response.ok) throw new Error((await response.text()).trim() || `the server said ${response.status}`);
  return response;
}

/** An answer in JSON. */
export async function json(path, parameters = {}, signal = undefined) {
  return (await ask(path, parameters, signal)).json();
}

/** A picture: its shapes, column after column (`picture.rs` has the layout). */
export async function picture(parameters, signal) {
  const bytes = await (await ask("picture", parameters, signal)).arrayBuffer();
  const count = new Uint32Array(bytes, 0, 1)[0];
  let at = 8;
  const doubles = () => {
    const column = new Float64Array(bytes, at, count);
    at += 8 * count;
    return column;
  };
  const numbers = () => {
    const column = new Uint32Array(bytes, at, count);
    at += 4 * count;
    return column;
  };
  const shapes = {
    count, start: doubles(), duration: doubles(), seq: doubles(), from: doubles(), painted: doubles(),
    name: numbers(), spans: numbers(), track: numbers(),
  };
  const packed = numbers();
  shapes.row = packed.map((it) => it & 0xffff);
  shapes.outcome = packed.map((it) => (it >>> 16) & 0xff);
  shapes.kind = packed.map((it) => it >>> 24);
  return shapes;
}

export const KIND = { call: 0, logical: 1, running: 2, anomaly: 3 };
