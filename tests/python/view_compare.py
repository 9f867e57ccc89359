"""Compares two runs on one page, in Chromium: ADDRESS FOLDER FUNCTION, the function being the one that made the difference."""

from browser import Visit

visit = Visit()
page = visit.page
function = visit.rest[0]
page.call("Page.navigate", url=visit.address)
page.wait("document.readyState === 'complete' && !!window.ada?.actions", "the page")
page.wait("document.querySelectorAll('#differences tbody tr').length > 0", "the differences")

# The cause is the first line, as on a terminal.
cause = page.run("document.getElementById('cause').textContent")
assert function in cause, cause

# Both timelines are there, of different sessions. Two that begin in the same second have the same name.
page.run("Promise.all(['a', 'b'].map((side) => ada.actions(side)))")
processes = page.run("['a', 'b'].map((side) => document.getElementById(side).contentWindow.ada.about.processes[0].pid)")
assert len(set(processes)) == 2, processes
for side in "ab":
    page.wait(f"(({{ isSettled, shown }}) => isSettled() && shown.shapes?.count > 0)(document.getElementById('{side}').contentWindow.ada)", f"timeline {side}")
page.screenshot(visit.folder / "1-opened.png")

# A click on the function shows its page on both sides.
row = f"[...document.querySelectorAll('#differences tbody tr')].find((it) => it.lastElementChild.textContent === '{function}')"
assert page.run(f"!!{row}"), page.run("document.getElementById('differences').textContent")
page.run(f"{row}.click()")
for side in "ab":
    title = f"document.getElementById('{side}').contentDocument.querySelector('#content h2')?.textContent ?? ''"
    page.wait(f"({title}).includes('{function}')", f"the function's page on side {side}")
page.screenshot(visit.folder / "2-function.png")

# Small and dark, everything is still there.
page.resize(700, 900)
page.run("new Promise((done) => setTimeout(done, 300))")
assert page.run("document.getElementById('b').getBoundingClientRect().height") > 100
page.screenshot(visit.folder / "3-small.png")
visit.end()
print("both runs are seen")
