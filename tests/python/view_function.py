"""Searches, looks at a function's page, writes notes and exports a time, in Chromium: ADDRESS FOLDER.

The program is tests/programs/named_crew.c with debug information.
"""

import json

from browser import Visit

visit = Visit()
page = visit.page
page.open(visit.address)
box = page.run("(({left, top, width, height}) => ({left, top, width, height}))(document.getElementById('timeline').getBoundingClientRect())")
page.key("0")
page.settle()


def on_page(x, y):
    return box["left"] + x, box["top"] + y


# Enter searches and goes to the longest; again, to the next; with Shift, back. All are marked.
page.key("/")
page.wait("document.activeElement.id === 'search'", "/ to lead to the search")
page.type("row type:frame")
page.key("Enter")
page.wait("ada.found.spans.length > 4 && ada.found.at === 0 && ada.view.chosen?.reference", "Enter to search and go there")
spans = page.run("ada.found.spans.map((it) => it.reference)")
page.wait(f"ada.view.chosen.reference === '{spans[0]}'", "the longest")
page.key("Enter")
page.wait(f"ada.view.chosen.reference === '{spans[1]}' && document.activeElement.id === 'search'", "Enter to go to the next")
assert page.run("document.querySelector('#found tr.current').textContent").find(spans[1]) >= 0
page.call("Input.dispatchKeyEvent", type="keyDown", key="Enter", modifiers=8, windowsVirtualKeyCode=13, text="\r")
page.wait(f"ada.view.chosen.reference === '{spans[0]}'", "Shift+Enter to go back")
page.key("Escape")
page.run("ada.actions.whole(); ada.actions.chooseNothing()")
page.settle()
MARKS = """((id, y) => {
  // A copy is read: the browser complains of those who read what is drawn often.
  const canvas = document.createElement('canvas');
  canvas.width = document.getElementById(id).width;
  const pen = canvas.getContext('2d', { willReadFrequently: true });
  pen.drawImage(document.getElementById(id), 0, -y);
  const { data } = pen.getImageData(0, 0, canvas.width, 1);
  const wanted = getComputedStyle(document.documentElement).getPropertyValue('--found').trim().match(/[0-9a-f]{2}/g).map((it) => parseInt(it, 16));
  let count = 0;
  for (let at = 0; at < data.length; at += 4) if (wanted.every((it, part) => Math.abs(it - data[at + part]) < 3)) count += 1;
  return count;
})"""
assert page.run(f"{MARKS}('minimap', 3)") > 1, "marks in the minimap"
assert page.run(f"{MARKS}('timeline', 22)") > 1, "marks on the line of times"
visit.shot("1-found")
# A name alone marks all of its calls that are drawn.
page.run("document.getElementById('search').value = 'sail'; document.getElementById('search-form').requestSubmit()")
page.wait("ada.found.names.size > 0", "a name's calls to be marked")
page.run("ada.actions.whole(); ada.actions.chooseNothing()")
page.settle()
row = page.run("(() => { const { shapes } = ada.shown; for (let at = 0; at < shapes.count; at += 1) if (ada.found.names.has(shapes.name[at])) { ada.reveal(shapes.track[at], shapes.row[at]); return [shapes.track[at], shapes.row[at]]; } return null; })()")
page.settle()
assert page.run(f"{MARKS}('timeline', Math.round(ada.rowTop(ada.lineOf({row[0]}), {row[1]}) + 15))") > 10, "a line below the calls"
page.run("document.getElementById('search').value = 'status:open longer:1000s'; document.getElementById('search-form').requestSubmit()")
page.wait("document.getElementById('content').textContent.includes('Nothing is like')", "no result")
assert page.run("ada.found.spans.length + ada.found.names.size") == 0, "and no mark"

# A function's page.
page.run("document.getElementById('search').value = 'row_once'; document.getElementById('search-form').requestSubmit()")
page.wait("ada.found.spans.length > 50", "its calls")
page.run("[...document.querySelectorAll('#content tr[data-go]')].find((it) => it.lastChild.textContent === 'row_once').click()")
page.wait("document.getElementById('function-name')?.textContent.includes('row_once')", "the function's page")
text = page.run("document.getElementById('content').textContent")
calls = sum(50 + it for it in range(4))
assert f"calls{calls}" in text, text
for words in ("Called by (1)", "median", "row", "Calls (0)", "Source", "named_crew.c"):
    assert words in text, (words, text)
assert page.run("document.querySelectorAll('#slowest tbody tr').length") == 40
here = page.run("document.querySelector('#source .here')?.textContent")
assert here and "void row_once(long n)" in here, here
painted = page.run("""(() => {
  const canvas = document.getElementById('durations');
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  let count = 0;
  for (let at = 3; at < data.length; at += 4) if (data[at] > 0) count += 1;
  return count;
})()""")
assert painted > 200, "a histogram of durations"
visit.shot("2-function")
# From there to the caller, whose page knows what it calls; by I from a call; and by a click with Ctrl.
page.run("[...document.querySelectorAll('#content tr[data-go]')].find((it) => it.lastChild.textContent === 'row').click()")
page.wait("document.getElementById('function-name')?.firstChild.nextSibling.textContent === 'row'", "the caller's page")
assert "Called by (1)" in page.run("document.getElementById('content').textContent")
page.wait("location.hash.includes(`function=${ada.view.function}&tab=function`)", "the address to hold the page")
page.reload()
page.wait("document.getElementById('function-name')?.firstChild.nextSibling.textContent === 'row'", "the address to lead back there")
# All shares have one scale: a bar of 80 pixels is everything.
shares = page.run("[...document.querySelectorAll('.share')].map((it) => [it.querySelector('.scale').getBoundingClientRect().width, it.querySelector('.bar').getBoundingClientRect().width, parseFloat(it.textContent)])")
assert len(shares) >= 3, shares
for scale, bar, percent in shares:
    assert scale == 80 and abs(bar - percent * 0.8) < 0.2, shares

# A slow call of it, a note on that, and one on a time. They are kept with the session.
page.run("document.querySelector('#slowest tbody tr').click()")
page.wait("!!document.querySelector('#content textarea.note')", "the call's details, with room for a note")
page.run("document.getElementById('timeline').focus()")
page.key("e")
page.wait("document.activeElement.matches('textarea.note')", "E to lead to the note")
NOTE = "<img src=x onerror=\"document.title='stolen'\"> & so on"
page.type(NOTE)
page.run("document.activeElement.blur()")
page.wait("document.querySelector('textarea.note').nextSibling.textContent === ' kept'", "the note to be kept")
span = page.run("ada.view.chosen.reference")
page.run("ada.actions.chooseNothing(); ada.actions.whole()")
page.settle()
time = page.run("Math.round(ada.about.length / 3)")
page.run(f"ada.actions.note({time})")
page.wait("document.activeElement.matches('textarea.note')", "room for a note on a time")
page.type("here it begins")
page.run("document.activeElement.blur()")
page.wait("document.querySelector('textarea.note').nextSibling.textContent === ' kept'", "the other note to be kept")
page.reload()
page.run("ada.actions.whole()")
page.settle()
page.wait(f"ada.noteAt(ada.x({time}) + 2, 18)?.text === 'here it begins'", "the flag on the line of times")
page.mouse("mouseMoved", *on_page(page.run(f"ada.x({time})") + 2, 18))
page.wait("document.getElementById('tip').textContent === 'here it begins'", "its words")
page.run("document.querySelector('[data-tab=notes]').click()")
page.wait("document.querySelectorAll('#content tbody tr').length === 2", "both notes")
cells = page.run("[...document.querySelectorAll('#content tbody tr')].map((it) => it.lastChild.textContent)")
assert NOTE in cells, cells
assert page.run("document.querySelectorAll('#content img').length") == 0 and page.run("document.title") != "stolen", "a note is text"
visit.shot("3-notes")
page.run(f"[...document.querySelectorAll('#content tbody tr')].find((it) => it.textContent.includes('{span}')).click()")
page.wait(f"ada.view.chosen?.reference === '{span}'", "the note to lead to its span")
# Emptied, it is forgotten.
page.wait("document.querySelector('#content textarea.note')?.value.startsWith('<img')", "the note to be there again")
page.run("document.querySelector('#content textarea.note').focus(); document.querySelector('#content textarea.note').select()")
page.key("Backspace")
page.run("(() => { const it = document.querySelector('#content textarea.note'); it.value = ''; it.dispatchEvent(new Event('change')); })()")
page.wait("document.querySelector('textarea.note').nextSibling.textContent === ' no note'", "the note to be forgotten")

# A selected time as a file.
visit.browser_downloads = visit.folder / "downloads"
page.call("Page.setDownloadBehavior", behavior="allow", downloadPath=str(visit.browser_downloads))
for old in visit.browser_downloads.glob("*") if visit.browser_downloads.exists() else []:
    old.unlink()
page.run("ada.actions.whole(); ada.actions.selectAll()")
page.wait("!!document.getElementById('export')", "the export")
page.run("(() => { const it = document.querySelector('#content select[aria-label=Format]'); it.value = 'chrome'; document.getElementById('export').click(); })()")
page.wait("document.getElementById('content').textContent.includes('saved: what begins in this time')", "the export to be made")


def saved():
    files = [it for it in visit.browser_downloads.glob("*.trace.json")]
    return files and files[0].stat().st_size and files[0]


from browser import wait  # noqa: E402

trace = json.loads(wait(saved, "the file").read_text())
events = trace["traceEvents"] if isinstance(trace, dict) else trace
assert sum(1 for event in events if event.get("name") == "row_once") >= calls, len(events)
visit.shot("4-export")

visit.end()
print("functions, notes and exports are there")
