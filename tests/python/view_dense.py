"""Looks at more calls than a picture has shapes, in Chromium: ADDRESS FOLDER STREAMS EVENTS.

Each of the streams has as many events, one a microsecond, named by their numbers: `7.1234` is the 1234th of stream 7.
"""

from browser import Visit

visit = Visit()
page = visit.page
streams, events = map(int, visit.rest)


def duration(stream, number):
    """The same rule as the test's that made them."""
    return 100 + (number * 7919 + stream * 104729) % 800


def longest(stream, start, end):
    """The longest event that touches a time, and its duration."""
    first, last = max(0, int(start // 1000) - 1), min(events - 1, int(end // 1000) + 1)
    touching = [it for it in range(first, last + 1) if it * 1000 < end and it * 1000 + duration(stream, it) > start]
    return max((duration(stream, it), f"{stream}.{it}") for it in touching)


def longest_at(stream, pixel):
    """The same of a pixel. What begins or ends at its edge, which lies between two nanoseconds, may count to either side."""
    edges = [(before, behind) for before in (-1, 0, 1) for behind in (-1, 0, 1)]
    return {longest(stream, pixel["start"] + before, pixel["start"] + pixel["duration"] + behind) for before, behind in edges}


page.open(visit.address)
page.key("0")
page.wait("ada.view.end - ada.view.start >= ada.about.length", "0 to show the whole run")
page.settle()
counts = page.run("({shapes: ada.shown.shapes.count, strips: ada.shown.shapes.strips.count, drawn: ada.drawn.shapes})")
assert counts["strips"] > 0 and counts["shapes"] + counts["strips"] <= 20_000, counts
assert 0 < counts["drawn"] <= 20_000, counts
spans = page.run("(() => { const { shapes } = ada.shown; const sum = (all) => all.reduce((a, b) => a + b, 0);"
                 " return sum([...shapes.spans]) + sum([...shapes.strips.spans]); })()")
rows = page.run("ada.shown.shapes.strips.count + new Set([...ada.shown.shapes.track]).size")
assert spans >= events * 10 and rows >= 10, f"each event of a track that is seen is counted: {spans} in {rows} rows"
page.screenshot(visit.folder / "dense-1.png")

# The pixels of a strip: painted, each with the longest event of its time; a click leads to it.
box = page.run("(({left, top}) => ({left, top}))(document.getElementById('timeline').getBoundingClientRect())")
strip = page.run("""(() => {
  const { strips } = ada.shown.shapes;
  const line = ada.lineOf(strips.track[0]);
  return { title: line.track.title, y: ada.rowTop(line, strips.row[0]) + 1, track: strips.track[0] };
})()""")
stream = int(strip["title"].split()[1])
for x in range(300, 1300, 37):
    seen = page.run(f"ada.shapeAt({x}, {strip['y']})")
    assert seen and seen["isStrip"] and seen["track"] == strip["track"], f"{x}: {seen}"
    expected = {took for took, _ in longest_at(stream, seen)}
    assert seen["took"] in expected, f"{x}: {seen} is none of {expected}"
colours = page.run(f"""(() => {{
  const {{ data }} = document.getElementById('timeline').getContext('2d').getImageData(300, {strip['y']}, 900, 1);
  return new Set(new Uint32Array(data.buffer)).size;
}})()""")
assert colours > 20, f"a strip has the colours of its calls: {colours}"
seen = page.run(f"ada.shapeAt(700, {strip['y']})")
names = {name for _, name in longest_at(stream, seen)}
page.click(box["left"] + 700, box["top"] + strip["y"])
page.wait("document.querySelector('#content h2')?.textContent.includes('.')", "details of the event")
title = page.run("document.querySelector('#content h2').textContent").split()[0]
assert title in names, f"{title}: {names}"
page.screenshot(visit.folder / "dense-2.png")

# Zoomed in far enough, the same row has shapes again.
for _ in range(16):
    page.key("w")
page.settle()
page.wait("ada.shown.shapes.strips.count === 0 && ada.shown.shapes.count > 0", "shapes instead of strips")
visit.end()
print("dense rows are strips")
