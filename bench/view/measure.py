"""Measures `ada view` on a session: how long it takes to start, to answer pans and zooms, and to show a first picture.

measure.py ADA SESSION FOLDER. Leaves pictures in the folder, and prints what it found as JSON.
"""

import http.client
import json
import pathlib
import random
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/python"))
from browser import Browser

ada, session, folder = sys.argv[1:4]
WIDTH = 1600
QUESTIONS = 1000


def serve():
    begun = time.monotonic()
    process = subprocess.Popen([ada, "view", session, "--no-open"], stderr=subprocess.PIPE, text=True)
    for line in process.stderr:
        if "http://" in line:
            url = next(word for word in line.split() if word.startswith("http://"))
            return process, url, time.monotonic() - begun
    raise SystemExit("ada view ended")


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


process, url, first_start = serve()
process.kill()
process.wait()
process, url, second_start = serve()
try:
    address, token = url.split("/?token=")
    connection = http.client.HTTPConnection(address.removeprefix("http://"))

    def ask(path):
        begun = time.perf_counter()
        connection.request("GET", path, headers={"X-Ada-Token": token})
        body = connection.getresponse()
        assert body.status == 200, body.read()
        data = body.read()
        return data, (time.perf_counter() - begun) * 1000

    about = json.loads(ask("/api/session")[0])
    length = about["length"]
    threads = [track for track in about["tracks"] if track["kind"] == "thread" and track["spans"] > 0]
    # As many rows as a screen has: of many threads most are folded, to eight thin rows each (`layout.js`).
    if len(threads) > 12:
        threads, rows = threads[:33], 8
    else:
        rows = max(1, 50 // len(threads))
    tracks = ",".join(f"{track['id']}:0-{min(track['rows'], rows) - 1}" for track in threads)
    chance = random.Random(1)
    times, sizes, pixels = [], [], []

    def picture(start, end):
        start = max(0, int(start))
        data, milliseconds = ask(f"/api/picture?start={start}&end={max(start + 1, int(end))}&width={WIDTH}&tracks={tracks}")
        times.append(milliseconds)
        shapes, strips, columns = (int.from_bytes(data[at:at + 4], "little") for at in (0, 4, 8))
        sizes.append(shapes + strips)
        pixels.append(columns)

    picture(0, length)
    first_picture = times[0]
    # Somebody looks around: from everything down to a microsecond and back, moving by parts of the view.
    start, span = 0.0, float(length)
    while len(times) < QUESTIONS:
        step = chance.random()
        if step < 0.45:
            factor = chance.choice([0.3, 0.5, 0.75, 1.3, 2.0, 3.0])
            middle = start + span * chance.random()
            span = min(max(span * factor, 1000.0), float(length))
            start = middle - span / 2
        elif step < 0.9:
            start += span * chance.uniform(-0.5, 0.5)
        else:
            span = float(length) * 10 ** chance.uniform(-6, 0)
            start = chance.random() * (length - span)
        start = min(max(start, 0.0), length - span)
        picture(start, start + span)

    browser = Browser()
    page = browser.page()
    begun = time.monotonic()
    page.open(url)
    loaded = time.monotonic() - begun
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    page.screenshot(f"{folder}/large-1-load.png")
    page.key("0")
    page.settle()
    page.screenshot(f"{folder}/large-2-whole.png")
    for number in range(12):
        page.key("w")
        page.settle()
        if number in (5, 11):
            page.screenshot(f"{folder}/large-{3 + number // 6}-zoomed.png")
        drawn = page.run("[ada.shown.shapes.count + ada.shown.shapes.strips.count, ada.drawn.shapes]")
        assert max(drawn) <= 20_000, drawn
    assert page.errors == [], page.errors
    browser.close()
    print(json.dumps({
        "events": about["events"], "spans": about["spans"],
        "start_s": {"without_summary_or_tables": round(first_start, 2), "with": round(second_start, 3)},
        "first_picture_ms": round(first_picture, 1),
        "picture_ms": {"p50": round(percentile(times, 0.5), 1), "p95": round(percentile(times, 0.95), 1),
                       "p99": round(percentile(times, 0.99), 1), "max": round(max(times), 1), "count": len(times)},
        "shapes": {"p50": percentile(sizes, 0.5), "max": max(sizes)},
        "columns_of_strips": {"p50": percentile(pixels, 0.5), "max": max(pixels)},
        "tracks": len(threads), "rows_of_each": rows,
        "page_loaded_s": round(loaded, 2),
    }, indent=1))
finally:
    process.kill()
