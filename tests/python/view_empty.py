"""Looks at the page of a session without calls, in Chromium: ADDRESS FOLDER."""

import pathlib
import sys

from browser import Browser

address, folder = sys.argv[1], pathlib.Path(sys.argv[2])
folder.mkdir(parents=True, exist_ok=True)
browser = Browser()
page = browser.page()
page.open(address)
assert page.run("!document.getElementById('empty').hidden"), "it says that there is nothing"
page.wait("document.getElementById('content').textContent.includes('functions found')", "the coverage, which says why")
# Nothing is there to be moved, found or chosen, and nothing breaks.
for key in ("w", "s", "a", "d", "0", "f", "m", "p", "n", "g"):
    page.key(key)
page.settle()
page.click(600, 300)
page.settle()
page.screenshot(folder / "empty.png")
assert page.errors == [], page.errors
browser.close()
print("nothing is said to be nothing")
