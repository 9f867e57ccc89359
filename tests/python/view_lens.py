"""Looks at the program's own functions, at all of them, and back, in Chromium: ADDRESS FOLDER.

The program is tests/programs/named_crew.c, which calls libraries from its own functions, and is called by the loader.
"""

from browser import Visit

OWN = {"main", "sail", "row", "row_once"}
LIBRARY = "pthread_create"

visit = Visit()
page = visit.page
page.open(visit.address)


def names():
    """Names of what is drawn as calls, by row."""
    page.run("ada.actions.whole()")
    page.settle()
    page.run("Promise.all([...new Set([...ada.shown.shapes.name])].map((id) => ada.name(id)))")
    page.settle()
    drawn = page.run("""[...ada.shown.shapes.name].map((id, at) => [ada.name(id), ada.shown.shapes.row[at], ada.shown.shapes.kind[at]])""")
    return [(name, row) for name, row, kind in drawn if kind == 0 and name]


def rows_of_main():
    return page.run("ada.about.tracks.find((it) => it.title === 'named_crew' || it.title === 'main').rows")


# The page opens on the program's own functions; main is the outermost.
assert page.run("ada.view.lens") is True
assert page.run("document.getElementById('lens').getAttribute('aria-pressed')") == "true"
seen = names()
assert {name for name, _ in seen} <= OWN and ("main", 0) in seen, seen
own_rows = rows_of_main()
visit.shot("1-own")

# The shares are of the same whole: what libraries took is the time of who called them.
page.run("ada.actions.chooseNothing()")
page.wait("document.querySelector('#content h3')?.textContent === 'Run'", "the overview")
listed = page.run("[...document.querySelectorAll('#content table tbody tr')].map((row) => row.lastElementChild.textContent)")
assert listed and set(listed) <= OWN, listed

# So is a selection.
page.run("ada.actions.selectAll()")
page.wait("document.querySelectorAll('#content table tbody tr').length > 0 && document.body.textContent.includes('self and hidden')", "the sums")
listed = page.run("[...document.querySelectorAll('#content table tbody tr')].map((row) => row.lastElementChild.textContent)")
assert set(listed) <= OWN, listed

# The key shows all, with the loader and libraries; the address has it.
page.run("document.getElementById('timeline').focus()")
page.key("l")
page.wait("ada.view.lens === false", "the lens to go")
seen = names()
assert {name for name, _ in seen} - OWN, seen
assert rows_of_main() > own_rows
page.wait("location.hash.includes('lens=0')", "the address to say so")
visit.shot("2-all")
page.run("document.getElementById('lens').click()")
page.wait("ada.view.lens === true", "the lens again")
assert {name for name, _ in names()} <= OWN

# Who goes to a call that is hidden sees it: everything is shown then.
page.run("document.getElementById('search').focus()")
page.type(LIBRARY)
page.key("Enter")
page.wait("ada.view.lens === false && ada.view.chosen?.track >= 0", "what is hidden to be shown")
page.wait(f"document.querySelector('#found')?.textContent.includes('{LIBRARY}')", "the list")
visit.shot("3-found")

# A colleague sees the same.
page.wait("location.hash.includes('lens=0')", "the address to say so")
colleague = visit.browser.page()
colleague.open(page.run("location.href"))
assert colleague.run("ada.view.lens") is False
assert colleague.errors == [], colleague.errors
page.call("Page.bringToFront")
visit.end()
print("the lens shows what it should")
