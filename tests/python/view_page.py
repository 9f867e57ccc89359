"""Uses the timeline page as a person does, in Chromium: ADDRESS FOLDER. Pictures of it are left in the folder."""

from browser import Visit

visit = Visit()
page = visit.page


def view():
    return page.run("({start: ada.view.start, end: ada.view.end, scroll: ada.view.scroll})")


def length():
    now = view()
    return now["end"] - now["start"]


# Where the timeline's canvas lies on the page.
box = None


def on_page(x, y):
    return box["left"] + x, box["top"] + y


# Load: the picture is there, it is of main, and not too much of it.
page.open(visit.address)
box = page.run("(({left, top, width, height}) => ({left, top, width, height}))(document.getElementById('timeline').getBoundingClientRect())")
about = page.run("ada.about")
assert about["opening"]["kind"] == "main"
assert abs(view()["start"] - about["opening"]["start"]) < about["length"] * 0.1
assert 0 < page.run("ada.shown.shapes.count") <= 20_000
assert 0 < page.run("ada.drawn.shapes") <= 20_000
assert page.run("document.title").endswith("ada")
page.wait("document.getElementById('busy').hidden", "the end of loading")
visit.shot("1-load")

# Zoom by wheel and keys, at the pointer.
middle = on_page(box["width"] * 0.6, 120)
before = length()
anchor = page.run(f"ada.view.start + (({box['width'] * 0.6} - ada.sizes.gutter) / (ada.sizes.width - ada.sizes.gutter)) * (ada.view.end - ada.view.start)")
page.wheel(*middle, -300)
page.wait(f"ada.view.end - ada.view.start < {before * 0.8}", "the wheel to zoom in")
page.settle()
moved = page.run(f"ada.x({anchor})")
assert abs(moved - box["width"] * 0.6) < 2, f"what is under the pointer stays there: {moved}"
page.mouse("mouseMoved", *on_page(box["width"] * 0.6, box["height"] - 4))
before = length()
page.key("w")
page.wait(f"ada.view.end - ada.view.start < {before * 0.9}", "W to zoom in")
page.key("s")
page.wait(f"Math.abs((ada.view.end - ada.view.start) / {before} - 1) < 0.01", "S to zoom out again")
visit.shot("2-zoom")

# Pan by drag, keys and touch.
start = view()["start"]
page.drag(on_page(box["width"] * 0.7, box["height"] - 10), on_page(box["width"] * 0.5, box["height"] - 10))
page.wait(f"ada.view.start > {start}", "the drag to move the view")
start = view()["start"]
page.key("a")
page.wait(f"ada.view.start < {start}", "A to go left")
start = view()["start"]
page.key("d")
page.wait(f"ada.view.start > {start}", "D to go right")
before = length()
left, right = on_page(box["width"] * 0.5, 150), on_page(box["width"] * 0.6, 150)
page.touch("touchStart", [left, right])
page.touch("touchMove", [(left[0] - 60, left[1]), (right[0] + 60, right[1])])
page.touch("touchEnd", [])
page.wait(f"ada.view.end - ada.view.start < {before * 0.8}", "two fingers to zoom in")
start = view()["start"]
page.touch("touchStart", [right])
page.touch("touchMove", [(right[0] - 100, right[1])])
page.touch("touchEnd", [])
page.wait(f"ada.view.start > {start}", "a finger to move the view")
visit.shot("3-pan")

# The minimap brings the view elsewhere.
page.key("0")
page.wait("ada.view.end - ada.view.start >= ada.about.length", "0 to show the whole run")
visit.shot("4-whole")

# Search: by name, then a result is gone to; a status is a search too.
page.key("/")
page.wait("document.activeElement.id === 'search'", "/ to lead to the search")
page.type("square type:frame")
page.run("document.getElementById('search-form').requestSubmit()")
page.wait("document.querySelectorAll('#content tr[data-go]').length > 50", "results")
assert page.run("[...document.querySelectorAll('#content td')].some((cell) => cell.textContent === 'square')")
visit.shot("5-search")
page.run("document.querySelector('#content table:last-of-type tr[data-go]').click()")
page.wait("ada.view.chosen && ada.view.chosen.reference.startsWith('frame:')", "the result to be chosen")
page.wait("document.querySelector('#content h2')?.textContent.includes('square')", "details of the result")
chosen = page.run("ada.view.chosen")
assert page.run("ada.view.start") <= chosen["start"] and chosen["start"] + chosen["duration"] <= page.run("ada.view.end")

# Click a span: its name, registers, stack and links. A long call was in view before, so it may be a few pixels wide.
page.run("ada.actions.fit(); ada.view.chosen = null")
page.settle()
target = page.wait("""(() => {
  const { shapes } = ada.shown;
  let best = null;
  for (let at = 0; at < shapes.count; at += 1) {
    const line = ada.lineOf(shapes.track[at]);
    if (shapes.kind[at] !== 0 || line.isFolded || shapes.row[at] >= line.rows) continue;
    const left = Math.max(ada.x(shapes.starts[at]), ada.sizes.gutter);
    const right = Math.min(ada.x(shapes.starts[at] + shapes.duration[at]), ada.sizes.width);
    const y = ada.rowTop(line, shapes.row[at]) + 9;
    if (right - left < 8 || y < 30 || y > ada.sizes.height || ada.name(shapes.name[at]) !== 'square') continue;
    if (!best || right - left > best.width) best = { x: (left + right) / 2, y, width: right - left };
  }
  return best;
})()""", "a call of square to be in view, with its name")
page.click(*on_page(target["x"], target["y"]))
page.wait("ada.view.chosen?.reference?.startsWith('frame:')", "the span to be chosen")
page.wait("document.querySelector('#content h2')?.textContent.startsWith('square')", "its details")
details = page.run("document.getElementById('content').textContent")
for words in ("duration", "rdi", "Stack", "module", "thread_pool", "parent"):
    assert words in details, f"{words}: {details}"
visit.shot("6-details")
page.key("p")
page.wait("document.querySelector('#content h2')?.textContent.startsWith('worker')", "P to lead to the caller")

# Follow an arrow from cause to effect: the first thread, which creates the others, is above them.
page.run("ada.view.scroll = 0; ada.view.chosen = null; ada.actions.whole()")
page.settle()
arrow = page.wait("""(() => {
  const seen = ada.shown.arrows.find((it) => it[0] === 'create'
    && ada.rowTop(ada.lineOf(it[1]), it[2]) > 30 && ada.rowTop(ada.lineOf(it[1]), it[2]) < ada.sizes.height - 20);
  if (!seen) return null;
  const line = ada.lineOf(seen[1]);
  return { x: ada.x(seen[3]), y: ada.rowTop(line, seen[2]) + (line.isFolded ? 1 : 9), to: ada.shown.arrows.map((it) => it[8]) };
})()""", "an arrow from the creation of a thread to be in view")
page.click(*on_page(arrow["x"], arrow["y"]))
page.wait("ada.view.chosen?.reference", "the arrow's other end to be chosen")
assert page.run("ada.view.chosen.reference") in arrow["to"]
assert page.run("ada.view.chosen.reference").startswith("thread:")
page.wait("document.getElementById('content').textContent.includes('create span')", "details of the thread")
visit.shot("7-arrow")

# Select a time: sums of it, as many calls as the server counts.
page.drag(on_page(box["width"] * 0.4, 12), on_page(box["width"] * 0.8, 12))
page.wait("ada.view.range !== null", "the selection")
page.wait("document.querySelector('#content h2')?.textContent.startsWith('Selected')", "sums of the selection")
visit.shot("8-selection")

# The flame graph and the call tree of the selection.
page.key("g")
page.wait("document.getElementById('flame') && document.querySelector('#content h2').textContent.includes('of calls')", "the flame graph")
assert page.run("document.getElementById('flame').height") > 50
painted = page.run("""(() => {
  const canvas = document.getElementById('flame');
  const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
  const seen = new Set();
  for (let at = 0; at < data.length; at += 4) seen.add(data[at] * 65536 + data[at + 1] * 256 + data[at + 2]);
  return seen.size;
})()""")
assert painted > 5, "calls have colours of their own"
visit.shot("9-flame")
page.run("document.querySelector('[data-tab=calls]').click()")
page.wait("document.querySelectorAll('#content tbody tr').length > 1", "the call tree")
visit.shot("10-calls")
page.run("document.querySelector('[data-tab=coverage]').click()")
page.wait("document.getElementById('content').textContent.includes('hooked')", "the coverage")
assert "libc" in page.run("document.getElementById('content').textContent")
visit.shot("11-coverage")

# Help.
page.key("?")
page.wait("document.getElementById('keys').open", "the keys")
visit.shot("12-help")
page.key("Escape")
page.wait("!document.getElementById('keys').open", "the keys to go away")

# Dark, and back; the system's wish counts until somebody chooses.
light = page.run("getComputedStyle(document.body).backgroundColor")
page.key("t")
page.wait("document.documentElement.dataset.theme === 'dark'", "the dark theme")
dark = page.run("getComputedStyle(document.body).backgroundColor")
assert light == "rgb(255, 255, 255)" and dark != light
visit.shot("13-dark")
page.key("t")
page.wait("document.documentElement.dataset.theme === 'light'", "the light theme")

# The address leads a colleague to the same view.
VIEW = """({start: Math.round(ada.view.start), end: Math.round(ada.view.end), tab: ada.view.tab,
  range: [Math.round(ada.view.range.start), Math.round(ada.view.range.end)], span: ada.view.chosen.reference})"""
here = page.run(VIEW)
page.wait("location.hash.includes('span=')", "the address to hold the view")
page.wait(f"location.hash.includes('start={here['start']}')", "the address to hold the time")
colleague = visit.browser.page(dark=True)
colleague.open(page.run("location.href"))
colleague.wait("ada.view.chosen?.reference", "the colleague's span")
colleague.wait(f"ada.view.tab === '{here['tab']}'", "the colleague's tab")
there = colleague.run(VIEW)
assert there == here, f"{there} {here}"

# Nobody has chosen a theme in this browser: the system's counts.
colleague.run("document.cookie = 'ada_page=; max-age=0; path=/'")
colleague.reload()
assert colleague.run("getComputedStyle(document.body).backgroundColor") == dark
colleague.resize(420, 800)
colleague.settle()
colleague.screenshot(visit.folder / "14-narrow-dark.png")

assert colleague.errors == [], colleague.errors
visit.end()
print("the page does what it should")
