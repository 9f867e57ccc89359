"""Looks at a Swift program's tasks and queues on the timeline page, in Chromium: ADDRESS FOLDER.

The program is tests/swift/bridge.swift: a task submits a block, the block makes a thread, the thread resumes the task.
"""

from browser import Visit

visit = Visit()
page = visit.page
page.open(visit.address)
page.run("ada.view.scroll = 0")
box = page.run("(({left, top}) => ({left, top}))(document.getElementById('timeline').getBoundingClientRect())")
page.key("0")
page.wait("ada.view.end - ada.view.start >= ada.about.length", "0 to show the whole run")
visit.shot("1-tasks")

# Tracks of tasks and of the queue by its label; threads have their lives on their own tracks.
tracks = {track["title"]: track for track in page.run("ada.about.tracks")}
assert tracks["Tasks"]["kind"] == "tasks" and tracks["Tasks"]["spans"] >= 2, tracks
assert tracks["Queue org.example.bridge"]["kind"] == "queue", tracks
assert all(track["lives"] for track in tracks.values() if track["kind"] == "thread"), tracks
task_track, queue_track = tracks["Tasks"]["id"], tracks["Queue org.example.bridge"]["id"]

# The task that waits for the thread: parts in which it ran lie on it, and take less time than it.
TASK = f"""(() => {{
  const {{ shapes }} = ada.shown;
  const all = [...Array(shapes.count).keys()].filter((at) => shapes.track[at] === {task_track});
  const spans = all.filter((at) => shapes.kind[at] === 1).sort((a, b) => shapes.duration[b] - shapes.duration[a]);
  const parts = (at) => all.filter((it) => shapes.kind[it] === 2 && shapes.seq[it] === shapes.seq[at]);
  // The first task waits for it; both are suspended for nearly all of their time.
  return spans.map((at) => ({{ row: shapes.row[at], seq: shapes.seq[at], start: shapes.starts[at], duration: shapes.duration[at],
    ran: parts(at).map((it) => [shapes.starts[it], shapes.duration[it]]) }}));
}})()"""
tasks = page.wait(TASK, "tasks")
waiting = [task for task in tasks if len(task["ran"]) >= 2]
assert waiting, f"a task that waited has a part before and one behind: {tasks}"
task = waiting[0]
parts = sorted(task["ran"])
assert all(one[0] + one[1] < other[0] for one, other in zip(parts, parts[1:])), f"it waited between them: {task}"


def colours(times, row, track):
    """What is painted in a row at some times. It is read at once: the browser complains of those who read often."""
    return page.run(f"""(() => {{
      // Below the label, above the dashed line.
      const y = Math.round(ada.rowTop(ada.lineOf({track}), {row}) + 15);
      const {{ data }} = document.getElementById('timeline').getContext('2d').getImageData(0, y, ada.sizes.width, 1);
      return {times}.map((time) => [...data.slice(4 * Math.round(ada.x(time)), 4 * Math.round(ada.x(time)) + 3)]);
    }})()""")


# What ran and what waited do not look the same: the end of the first part is zoomed to, and as much of its wait.
end = parts[0][0] + parts[0][1]
beside = min(parts[0][1], parts[1][0] - end) / 2
page.run(f"ada.actions.zoomTo({{ start: {end - beside}, duration: {2 * beside} }})")
page.settle()
page.wait(f"ada.view.start <= {end - beside} && ada.view.end - ada.view.start <= {max(beside * 4, 40)}", "the end of the part")
page.wait("ada.shown.arrows.every((it) => ada.lineOf(it[1]))", "arrows")
page.run("ada.shown.arrows = []; ada.view.hover = null; ada.view.chosen = null; window.dispatchEvent(new Event('resize'))")
page.settle()
running, waiting = colours([end - beside / 2, end + beside / 2], task["row"], task_track)
assert running != waiting, f"running and waiting differ: {running} {waiting}"
visit.shot("2-running-and-suspended")

# Arrows of causality: a task is made, a block submitted, a thread created, the task resumed.
page.reload()
page.key("0")
page.settle()
kinds = page.wait("ada.shown.arrows.length > 3 && [...new Set(ada.shown.arrows.map((it) => it[0]))]", "arrows")
assert {"task", "submit", "create", "resume"} <= set(kinds), kinds


def follow(kind, expected):
    """Clicks an arrow near its cause, and is brought to its effect."""
    page.run("ada.view.chosen = null; ada.view.scroll = 0; ada.actions.whole()")
    page.settle()
    wanted = f"ada.shown.arrows.find((it) => it[0] === '{kind}' && {expected})"
    times = page.wait(f"(() => {{ const it = {wanted}; return it && [it[3], it[6]]; }})()", f"an arrow of {kind}")
    # Near enough that the two ends are apart.
    middle, apart = sum(times) / 2, max(abs(times[1] - times[0]), 1000)
    page.run(f"ada.actions.zoomTo({{ start: {middle - apart}, duration: {2 * apart} }})")
    page.settle()
    # Where it begins must be in sight.
    page.run(f"(() => {{ const it = {wanted}; ada.reveal(it[1], it[2]); window.dispatchEvent(new Event('resize')); }})()")
    page.settle()
    found = page.wait(f"""(() => {{
      const arrow = {wanted};
      for (let t = 0; arrow && t <= 0.45; t += 0.02) {{
        const [x, y] = ada.arrowPoint(arrow, t) ?? [0, 0];
        const hit = ada.arrowAt(x, y);
        if (hit?.arrow === arrow && hit.toEnd && y > 30 && y < ada.sizes.height - 4 && x > ada.sizes.gutter) return {{ x, y, to: arrow[8] }};
      }}
      return null;
    }})()""", f"a point of the arrow of {kind} that is no other's")
    page.click(box["left"] + found["x"], box["top"] + found["y"])
    page.wait(f"ada.view.chosen?.reference === '{found['to']}'", f"the effect of {kind} to be chosen")
    page.wait(f"document.querySelector('#content dd .mono')?.textContent === '{found['to']}'", "its details")
    return found["to"]


block = follow("submit", f"it[4] === {queue_track}")
assert block.startswith("block:"), block
assert page.run("document.getElementById('content').textContent").find("org.example.bridge") >= 0
visit.shot("3-submit")
# Of the tasks that are resumed, the one that waits for a continuation.
page.run("ada.view.scroll = 0; ada.actions.whole()")
page.settle()
resumed = page.run("""(async () => {
  const headers = { 'X-Ada-Token': new URLSearchParams(location.search).get('token') };
  for (const [kind, , , , , , , , to] of ada.shown.arrows) {
    if (kind !== 'resume') continue;
    const { details } = await (await fetch(`/api/span?ref=${to}`, { headers })).json();
    if (details.attributes.suspensions.some((wait) => wait.kind === 'continuation')) return to;
  }
  return null;
})()""")
assert resumed and resumed.startswith("task:"), resumed
assert follow("resume", f"it[8] === '{resumed}'") == resumed
details = page.run("document.getElementById('content').textContent")
assert "Ran (" in details and "Waited (" in details and "continuation" in details, details
visit.shot("4-resume")

# The flame graph of the task's time, and all of it in the dark.
page.key("m")
page.wait("ada.view.range !== null", "M to select the task's time")
page.key("g")
page.wait("document.getElementById('flame') && document.querySelector('#content h2').textContent.includes('of calls')", "the flame graph")
page.key("t")
page.wait("document.documentElement.dataset.theme === 'dark'", "the dark theme")
visit.shot("5-flame-dark")

visit.end()
print("tasks and queues are seen")
