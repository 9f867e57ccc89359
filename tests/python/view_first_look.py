"""What somebody sees first of a program with named threads, one of which crashes, in Chromium: ADDRESS FOLDER.

The program is tests/programs/named_crew.c, with an argument.
"""

from browser import Visit

visit = Visit()
page = visit.page
page.open(visit.address)
page.run("ada.view.scroll = 0")
box = page.run("(({left, top}) => ({left, top}))(document.getElementById('timeline').getBoundingClientRect())")


def on_page(x, y):
    return box["left"] + x, box["top"] + y


def point(x, y):
    """Moves the pointer there, and gives the words beside it."""
    page.mouse("mouseMoved", *on_page(x, y))
    page.run("new Promise((done) => requestAnimationFrame(done))")
    return page.run("document.getElementById('tip').hidden ? '' : document.getElementById('tip').textContent")


def pixels(points):
    """Colours of some points. They are read at once: the browser complains of those who read often."""
    return page.run(f"""(() => {{
      const canvas = document.getElementById('timeline');
      const {{ data }} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      return {[[round(x), round(y)] for x, y in points]}.map(([x, y]) => [...data.slice(4 * (y * canvas.width + x), 4 * (y * canvas.width + x) + 3)]);
    }})()""")


# Every thread has its own title: its name, and its number, also where there is little room.
TITLES = """(() => {
  const texts = [];
  const real = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) { texts.push(text); return real.call(this, text, ...rest); };
  window.dispatchEvent(new Event('resize'));
  return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => {
    CanvasRenderingContext2D.prototype.fillText = real;
    done(texts);
  })));
})()"""
threads = [it for it in page.run("ada.about.tracks") if it["kind"] == "thread"]
assert len(threads) == 5, threads
assert {"crew-bow", "crew-stern", "<i>mast</i>", "crew-hold"} <= {it["title"] for it in threads}, threads
for width in (1400, 500):
    page.resize(width, 1800)
    page.run("ada.view.scroll = 0; window.dispatchEvent(new Event('resize'))")
    page.settle()
    drawn = page.run(TITLES)
    for thread in threads:
        number = str(thread["thread_id"])
        assert any(text.endswith(number) and text[:3] == thread["title"][:3] for text in drawn), (thread, drawn)
page.resize(1400, 1000)
page.settle()
assert not page.run("[...document.querySelectorAll('i')].some((it) => it.textContent === 'mast')"), "a name is text and no markup"
visit.shot("1-crash")

# The page has opened on the crash. It marks the call that it hit; its callers are only tinted.
crashes = page.run("ada.about.crashes")
assert len(crashes) == 1 and crashes[0]["signal"] == "SIGSEGV", crashes
page.run("ada.view.chosen = null; ada.shown.arrows = []; ada.actions.chooseNothing()")
page.settle()
CALLS = """(() => {
  const { shapes } = ada.shown;
  const crash = ada.about.crashes[0];
  const calls = {};
  for (let at = 0; at < shapes.count; at += 1) {
    if (shapes.track[at] !== crash.track || shapes.kind[at] !== 0) continue;
    const name = ada.name(shapes.name[at]);
    if (!name) return null;
    const line = ada.lineOf(crash.track);
    const left = Math.max(ada.x(shapes.starts[at]), ada.sizes.gutter);
    const right = Math.min(ada.x(shapes.starts[at] + shapes.duration[at]), ada.sizes.width);
    calls[name] = { left, right, y: ada.rowTop(line, shapes.row[at]), seq: shapes.seq[at], row: shapes.row[at], start: shapes.starts[at], duration: shapes.duration[at] };
  }
  return calls;
})()"""
# Near enough that the call that crashed, which may be short, is wide.
page.wait(CALLS + "?.hit_rock", "the call that crashed")
hit = page.run(CALLS)["hit_rock"]
assert hit["seq"] == crashes[0]["seq"] and hit["row"] == crashes[0]["row"], (hit, crashes)
page.run(f"ada.actions.zoomTo({{ start: {hit['start']}, duration: {hit['duration']} }})")
page.settle()
page.run(f"ada.reveal({crashes[0]['track']}, {crashes[0]['row']})")
page.run("ada.shown.arrows = []; window.dispatchEvent(new Event('resize'))")
page.settle()
calls = page.wait(CALLS, "calls with names")
middle = {name: (calls[name]["left"] + calls[name]["right"]) / 2 for name in ("hit_rock", "steer", "sail")}
# Below the label, left of the mark at the end.
colour = dict(zip(middle, pixels([(calls[name]["left"] + 12, calls[name]["y"] + 15) for name in middle])))
assert colour["hit_rock"] == [0xD5, 0x5E, 0x00], colour
assert colour["steer"] != colour["hit_rock"] and colour["sail"] != colour["hit_rock"], colour
assert "SIGSEGV hit it here" in point(middle["hit_rock"], calls["hit_rock"]["y"] + 9)
assert "open when a signal ended" in point(middle["steer"], calls["steer"]["y"] + 9)
visit.shot("2-crashed-call")

# A life lies above the calls, looks like none of them, and tells who it is.
page.key("0")
page.wait("ada.view.end - ada.view.start >= ada.about.length", "the whole run")
page.settle()
LIFE = """(() => {
  const line = ada.shownLines().find((it) => it.track.title === 'crew-bow');
  ada.reveal(line.track.id, 0);
  const life = line.track.lives[0];
  return { left: ada.x(life.start), right: ada.x(life.end), y: ada.lineTop(line), height: line.life, first: ada.rowTop(line, 0), reference: life.reference };
})()"""
page.run(LIFE)
page.run("window.dispatchEvent(new Event('resize'))")
page.settle()
life = page.run(LIFE)
assert life["height"] > 0 and life["first"] >= life["y"] + life["height"], life
# An arrow may lie above it.
places = [life["right"] - distance for distance in range(4, 160, 6) if life["right"] - distance > life["left"]]
at = next(place for place in places if not point(place, life["y"] + 4).endswith("click to follow"))
words = point(at, life["y"] + 4)
assert words.startswith("crew-bow") and "lived for" in words, words
page.click(*on_page(at, life["y"] + 4))
page.wait(f"ada.view.chosen?.reference === '{life['reference']}'", "the thread to be chosen")
page.wait("document.getElementById('content').textContent.includes('create span')", "its details")
assert page.run("ada.about.tracks.every((it) => it.kind !== 'threads')"), "lives are nowhere else"

# A label says what a shape is, and never that one call is many.
page.run("ada.shown.shapes.spans.fill(10)")
labels = page.run(TITLES)
assert any("sail" in label for label in labels), labels
assert not any("×" in label for label in labels), labels

# Colours are by module: calls of the program have another hue than those of the C library, which are grey; the same
# name has the same colour wherever it is.
COLOURS = """(() => {
  const { shapes } = ada.shown;
  const colours = {};
  for (let at = 0; at < shapes.count; at += 1) {
    const name = ada.name(shapes.name[at]);
    if (!name) return null;
    if (shapes.kind[at] === 0) colours[name] = ada.callColour(shapes.name[at]);
  }
  return colours;
})()"""
colours = page.wait(COLOURS, "names")
hue = {name: words.split("(")[1].split(" ") for name, words in colours.items()}
# What is too short to be seen is not there.
own = [name for name in ("main", "sail", "steer", "hit_rock") if name in hue]
assert own and all(hue[name][0] == "212" and hue[name][1] != "5%" for name in own), f"the program's own hue: {hue}"
of_library = [name for name in hue if name.startswith(("pthread_", "__libc_"))]
assert of_library and all(hue[name][1] == "5%" for name in of_library), f"the C library is grey: {hue}"
assert page.run("ada.about.modules.length") >= 3
for width, height, dark in ((700, 480, False), (2560, 1440, False), (2560, 1440, True), (700, 480, True)):
    other = visit.browser.page(width, height, dark)
    other.open(visit.address)
    other.screenshot(visit.folder / f"{width}x{height}-{'dark' if dark else 'light'}.png")
    assert other.errors == [], other.errors
visit.end()
print("the first look tells who and where")
