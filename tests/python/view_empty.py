"""Looks at the page of a session without calls, in Chromium: ADDRESS FOLDER."""

from browser import Visit

visit = Visit()
page = visit.page
page.open(visit.address)
assert page.run("!document.getElementById('empty').hidden"), "it says that there is nothing"
page.wait("document.getElementById('content').textContent.includes('functions found')", "the coverage, which says why")
# Nothing is there to be moved, found or chosen, and nothing breaks.
for key in ("w", "s", "a", "d", "0", "f", "m", "p", "n", "g"):
    page.key(key)
page.settle()
page.click(600, 300)
page.settle()
page.screenshot(visit.folder / "empty.png")
visit.end()
print("nothing is said to be nothing")
