"""Looks at threads that stand in line for a lock on the timeline page, in Chromium: ADDRESS FOLDER.

The program is tests/programs/wait_convoy.c: each thread sleeps while it has the lock.
"""

from browser import Visit

visit = Visit()
page = visit.page
page.open(visit.address)
box = page.run("(({left, top}) => ({left, top}))(document.getElementById('timeline').getBoundingClientRect())")
page.key("0")
page.wait("ada.view.end - ada.view.start >= ada.about.length", "0 to show the whole run")
page.settle()
visit.shot("1-waits")

# Arrows lead from whoever held or woke to whoever waited.
kinds = page.wait("ada.shown.arrows.length > 3 && [...new Set(ada.shown.arrows.map((it) => it[0]))]", "arrows")
assert {"create", "wake", "hold"} <= set(kinds), kinds

# From a wait to its holder's call: by a click on the arrow of the lock, near its end.
HOLDS = "ada.shown.arrows.filter((it) => it[0] === 'hold').sort((a, b) => (b[6] - b[3]) - (a[6] - a[3]))"
WANTED = f"{HOLDS}[0]"
times = page.wait(f"(() => {{ const it = {WANTED}; return it && [it[3], it[6]]; }})()", "an arrow of a lock")
middle, apart = sum(times) / 2, max(abs(times[1] - times[0]), 1000)
page.run(f"ada.actions.zoomTo({{ start: {middle - apart}, duration: {2 * apart} }})")
page.settle()
page.run(f"(() => {{ const it = {WANTED}; ada.reveal(it[4], it[5]); window.dispatchEvent(new Event('resize')); }})()")
page.settle()
# Others may cover the longest one: where threads wake and hold each other, arrows lie on top of each other.
found = page.wait(f"""(() => {{
  for (const arrow of {HOLDS}) {{
    for (let t = 1; t >= 0.55; t -= 0.02) {{
      const [x, y] = ada.arrowPoint(arrow, t) ?? [0, 0];
      const hit = ada.arrowAt(x, y);
      if (hit?.arrow === arrow && !hit.toEnd && y > 30 && y < ada.sizes.height - 4 && x > ada.sizes.gutter) return {{ x, y, from: arrow[7], to: arrow[8] }};
    }}
  }}
  return null;
}})()""", "a point of an arrow that is no other's")
page.click(box["left"] + found["x"], box["top"] + found["y"])
page.wait(f"ada.view.chosen?.reference === '{found['from']}'", "the holder's call to be chosen")
page.wait(f"document.querySelector('#content dd .mono')?.textContent === '{found['from']}'", "its details")
details = page.run("document.getElementById('content').textContent")
assert "pthread_mutex_lock" in details and "Led to (" in details and f"hold: {found['to']}" in details, details
visit.shot("2-holder")

# On or off the processor, where the kernel tells.
if page.run("ada.about.has_states"):
    page.run("ada.view.chosen = null; ada.view.scroll = 0; ada.actions.whole()")
    page.settle()
    bands = page.wait("Object.keys(ada.shown.states).length > 1 && ada.shown.states", "bands")
    for track, band in bands.items():
        assert band and {state for state, _, _ in band} <= {"running", "ready", "blocked"}, (track, band)
        assert all(one[2] <= other[1] for one, other in zip(band, band[1:])), "one behind the other"
    states = {state for band in bands.values() for state, _, _ in band}
    assert {"running", "blocked"} <= states, states
    # The longest sleep is painted, and the pointer says what it is.
    asleep = page.run("""(() => {
      const all = Object.entries(ada.shown.states).flatMap(([track, band]) => band.map((part) => [Number(track), ...part]));
      const seen = all.filter(([track, state]) => state === 'blocked' && ada.lineTop(ada.lineOf(track)) > 40);
      const [track, , from, to] = seen.sort((a, b) => (b[3] - b[2]) - (a[3] - a[2]))[0];
      return { x: ada.x((from + to) / 2), y: ada.lineTop(ada.lineOf(track)) - 2.5 };
    })()""")
    assert page.run(f"ada.stateAt({asleep['x']}, {asleep['y']}).state") == "blocked"
    page.mouse("mouseMoved", box["left"] + asleep["x"], box["top"] + asleep["y"])
    page.wait("document.getElementById('tip').textContent.startsWith('blocked for ')", "the pointer to say so")
    visit.shot("3-states")

# The lock has a track: above who has it, below who waits. A click on a wait leads to what its holder was doing.
page.run("ada.view.chosen = null; ada.view.scroll = 0; ada.actions.whole()")
page.settle()
locks = [track for track in page.run("ada.about.tracks") if track["kind"] == "lock"]
assert locks and locks[0]["title"].startswith("Lock mutex 0x") and locks[0]["spans"] > 10, locks
WAIT = f"""(() => {{
  const {{ shapes }} = ada.shown;
  const all = [...Array(shapes.count).keys()].filter((at) => shapes.track[at] === {locks[0]['id']});
  const had = all.filter((at) => shapes.kind[at] === 2).map((at) => [shapes.starts[at], shapes.starts[at] + shapes.duration[at], shapes.row[at]]);
  const waits = all.filter((at) => shapes.kind[at] === 1 && shapes.row[at] > 0).sort((a, b) => shapes.duration[b] - shapes.duration[a]);
  const at = waits[0];
  return had.length > 1 && at !== undefined && {{ had, waits: waits.length, start: shapes.starts[at], duration: shapes.duration[at], row: shapes.row[at] }};
}})()"""
lock = page.wait(WAIT, "who has the lock, and who waits")
had = sorted(lock["had"])
assert all(row == 0 for _, _, row in had), f"those who have it lie above: {had}"
assert all(one[1] <= other[0] for one, other in zip(had, had[1:])), f"one at a time has a mutex: {had}"
page.run(f"ada.actions.zoomTo({{ start: {lock['start']}, duration: {2 * lock['duration']} }})")
page.settle()
page.run(f"(() => {{ ada.reveal({locks[0]['id']}, {lock['row']}); window.dispatchEvent(new Event('resize')); }})()")
page.settle()
visit.shot("4-lock")
point = page.run(f"""({{ x: ada.x({lock['start'] + lock['duration'] / 2}), y: ada.rowTop(ada.lineOf({locks[0]['id']}), {lock['row']}) + 8 }})""")
page.click(box["left"] + point["x"], box["top"] + point["y"])
page.wait("document.getElementById('content').textContent.includes('holder was in: ')", "what the holder was doing")
details = page.run("document.getElementById('content').textContent")
assert "pthread_mutex_lock" in details, details
visit.shot("5-wait")
line = page.run("[...document.querySelectorAll('#content *')].map((it) => it.textContent).find((it) => it.startsWith('holder was in: '))")
holder = line.split()[3]
page.run("[...document.querySelectorAll('#content div')].filter((it) => it.textContent.startsWith('holder was in: ')).pop().querySelector('a.go').click()")
page.wait(f"ada.view.chosen?.reference === '{holder}'", f"the holder's call {holder} to be chosen")
visit.shot("6-its-holder")

visit.end()
print("waits are seen")
