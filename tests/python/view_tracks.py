"""Puts tracks and the panel where a person wants them, in Chromium: ADDRESS FOLDER ADDRESS2.

The program is tests/programs/named_crew.c; the second address is of another server, with another port.
"""

from browser import Visit

visit = Visit()
page = visit.page
page.open(visit.address)


def measure():
    return page.run("(({left, top, width, height}) => ({left, top, width, height}))(document.getElementById('timeline').getBoundingClientRect())")


box = measure()


def on_page(x, y):
    return box["left"] + x, box["top"] + y


def titles():
    return page.run("ada.shownLines().map((line) => line.track.title)")


def title_of(name):
    """Where a track's title is."""
    page.run(f"ada.reveal(ada.about.tracks.find((it) => it.title === '{name}').id, 0); window.dispatchEvent(new Event('resize'))")
    page.settle()
    return page.run(f"""(() => {{
      const line = ada.shownLines().find((it) => it.track.title === '{name}');
      return {{ y: ada.lineTop(line) + 9, gutter: ada.sizes.gutter, id: line.track.id }};
    }})()""")


# Hidden by its sign, and back by the button.
before = titles()
at = title_of("crew-hold")
page.click(*on_page(at["gutter"] - 8, at["y"]))
page.wait("!ada.shownLines().some((line) => line.track.title === 'crew-hold')", "the track to be hidden")
assert titles() == [it for it in before if it != "crew-hold"]
page.wait("document.getElementById('hidden-tracks').textContent === '1 hidden: show all'", "a word about it")
visit.shot("1-hidden")
page.run("document.getElementById('hidden-tracks').click()")
page.wait(f"ada.shownLines().length === {len(before)}", "all tracks again")

# The filter takes a part of the name, or the number.
page.run("document.getElementById('filter').focus()")
page.type("CREW-B")
page.wait("ada.shownLines().length === 1", "one track")
assert titles() == ["crew-bow"]
visit.shot("2-filtered")
number = page.run("ada.about.tracks.find((it) => it.title === 'crew-stern').thread_id")
page.run("document.getElementById('filter').select()")
page.type(str(number))
page.wait("ada.shownLines()[0]?.track.title === 'crew-stern'", "the thread of that number")
# What is searched for is shown, filter or not.
page.run("ada.actions.chooseNothing(); ada.reveal(ada.about.tracks.find((it) => it.title === 'crew-hold').id, 0); window.dispatchEvent(new Event('resize'))")
page.wait(f"ada.shownLines().length === {len(before)}", "the filter to give way")
page.key("Escape")

# Pinned: first, and it stays there while the others scroll.
at = title_of("crew-stern")
page.click(*on_page(at["gutter"] - 24, at["y"]))
page.wait("ada.shownLines()[0].track.title === 'crew-stern' && ada.shownLines()[0].isPinned", "the track to be pinned")
top = page.run("ada.lineTop(ada.shownLines()[0])")
page.resize(1400, 420)
page.run("ada.view.scroll = 0; window.dispatchEvent(new Event('resize'))")
page.settle()
box = measure()
page.mouse("mouseWheel", *on_page(40, box["height"] - 10), deltaX=0, deltaY=120)
page.wait("ada.view.scroll > 0", "the tracks to scroll")
page.settle()
assert page.run("ada.lineTop(ada.shownLines()[0])") == top, "a pinned track does not scroll"
assert page.run("ada.shapeAt(ada.sizes.gutter + 5, ada.lineTop(ada.shownLines()[0]) + 3)?.track ?? ada.shownLines()[0].track.id") == at["id"]
visit.shot("3-pinned")
page.resize(1400, 1000)
page.run("ada.view.scroll = 0; window.dispatchEvent(new Event('resize'))")
page.settle()
box = measure()

# Pulled to another place, all of them being in sight; and by the list of tracks.
page.resize(1400, 1800)
page.run("ada.view.scroll = 0; window.dispatchEvent(new Event('resize'))")
page.settle()
box = measure()
order = [it for it in titles() if it != "crew-stern"]
last = title_of(order[-1])
first = page.run(f"ada.lineTop(ada.shownLines().find((it) => it.track.title === '{order[0]}')) + 9")
page.drag(on_page(60, last["y"]), on_page(60, first))
moved = [order[-1], *order[:-1]]
page.wait(f"ada.shownLines().filter((it) => !it.isPinned)[0].track.title === '{moved[0]}'", "the track to be moved")
assert [it for it in titles() if it != "crew-stern"] == moved, titles()
page.run("document.querySelector('[data-tab=tracks]').click()")
page.wait("document.querySelectorAll('#track-list tbody tr').length > 3", "the list of tracks")
page.run("document.querySelector(`#track-list button[aria-label^='move down']`).click()")
page.wait(f"ada.shownLines().filter((it) => !it.isPinned)[0].track.title === '{moved[1]}'", "the track to be moved down")
visit.shot("4-list")
page.resize(1400, 1000)
page.settle()
box = measure()

# A colleague with the address has the same tracks.
page.wait("location.hash.includes('pinned=') && location.hash.includes('moved=')", "the address to hold the tracks")
colleague = visit.browser.page()
colleague.open(page.run("location.href"))
assert colleague.run("ada.shownLines().map((line) => line.track.title)") == titles()
assert colleague.errors == [], colleague.errors
page.call("Page.bringToFront")

# Words beside the pointer: moving it draws nothing but them; they are of what is there, also after a zoom.
page.run("ada.actions.whole(); ada.view.scroll = 0")
page.settle()
y = page.run("ada.rowTop(ada.shownLines()[0], 0) + 9")
for step in range(30):
    page.mouse("mouseMoved", *on_page(230 + step * 36, y))
# All names are there now: each that arrives is drawn.
page.settle()
drawn = page.run("ada.drawn.times")
shapes = 0
for step in range(30):
    x = 230 + step * 36
    page.mouse("mouseMoved", *on_page(x, y))
    shown = page.run(f"""(() => {{
      const shape = ada.shapeAt({x}, {y});
      const tip = document.getElementById('tip');
      return [shape && !shape.isLife ? ada.name(shape.name) : null, tip.hidden ? null : tip.textContent];
    }})()""")
    # An arrow lies above what it crosses.
    if shown[0] and not (shown[1] or "").endswith("click to follow"):
        shapes += 1
        assert shown[1] and shown[1].startswith(shown[0]), shown
assert shapes > 0, "there was something to point at"
assert page.run("ada.drawn.times") == drawn, "the picture was drawn again"
page.mouse("mouseMoved", *on_page(700, y))
for delta in (-400, -400, 300):
    page.wheel(*on_page(700, y), delta)
    page.settle()
    name, tip = page.run(f"""[(() => {{ const it = ada.shapeAt(700, {y}); return it && !it.isLife ? ada.name(it.name) : ''; }})(),
      document.getElementById('tip').hidden ? '' : document.getElementById('tip').textContent]""")
    assert tip.startswith(name) or tip.endswith("click to follow"), (name, tip)

# + and - zoom.
page.mouse("mouseMoved", 5, 5)
length = "ada.view.end - ada.view.start"
before = page.run(length)
page.key("+")
page.wait(f"{length} < {before * 0.9}", "+ to zoom in")
page.key("-")
page.wait(f"Math.abs(({length}) / {before} - 1) < 0.01", "- to zoom out")
# Tracy's middle button zooms to what it goes over, and its right button moves the view.
page.run("ada.actions.whole()")
page.settle()
start, end = on_page(500, box["height"] - 5), on_page(800, box["height"] - 5)
wanted = page.run("[500, 800].map((px) => ada.view.start + (px - ada.sizes.gutter) / (ada.sizes.width - ada.sizes.gutter) * (ada.view.end - ada.view.start))")
page.mouse("mousePressed", *start, button="middle", clickCount=1)
page.mouse("mouseMoved", *end, button="middle", buttons=4)
page.mouse("mouseReleased", *end, button="middle", clickCount=1)
page.wait(f"Math.abs(ada.view.start - {wanted[0]}) < 0.02 * ada.about.length && Math.abs(ada.view.end - {wanted[1]}) < 0.02 * ada.about.length", "the middle button to zoom")
before = page.run("ada.view.start")
page.mouse("mousePressed", *start, button="right", clickCount=1)
page.mouse("mouseMoved", *end, button="right", buttons=2)
page.mouse("mouseReleased", *end, button="right", clickCount=1)
page.wait(f"ada.view.start < {before}", "the right button to move the view")
# Perfetto's keys: everything, and what is beside.
page.run("document.getElementById('timeline').focus()")
page.call("Input.dispatchKeyEvent", type="keyDown", key="a", modifiers=2, windowsVirtualKeyCode=65)
page.wait("ada.view.range && ada.view.range.start === 0 && ada.view.range.end === ada.about.length", "Ctrl+A to select all")
page.key("Escape")

# The panel: pulled higher, closed and opened. The browser remembers it, also under another port.
HEIGHT = "document.getElementById('panel').getBoundingClientRect().height"
splitter = page.run("document.getElementById('splitter').getBoundingClientRect().top") + 3
page.drag((600, splitter), (600, 500))
page.wait(f"Math.abs({HEIGHT} - 500) < 12", "the panel to be higher")
high = page.run(HEIGHT)
page.reload()
assert abs(page.run(HEIGHT) - high) < 3, "its height is remembered"
page.key("q")
page.wait("document.getElementById('panel').hidden", "Q to close the panel")
page.settle()
assert page.run("ada.sizes.height") > 850, "the timeline has its room"
visit.shot("5-closed")
page.reload()
assert page.run("document.getElementById('panel').hidden"), "that it is closed is remembered"
other = visit.browser.page()
other.open(visit.rest[0])
assert other.run("document.getElementById('panel').hidden"), "also by another server"
assert other.errors == [], other.errors
page.call("Page.bringToFront")
page.run("document.getElementById('panel-toggle').click()")
page.wait(f"!document.getElementById('panel').hidden && Math.abs({HEIGHT} - {high}) < 3", "the panel to be as high as before")
page.run("document.getElementById('panel-close').click()")
page.wait("document.getElementById('panel').hidden", "its own button to close it")
page.key("g")
page.wait("!document.getElementById('panel').hidden && !!document.getElementById('flame')", "what needs it to open it")

visit.end()
print("tracks and panel are where they were put")
