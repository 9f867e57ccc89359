"""Has Firefox Profiler itself load a profile: PROFILE PROFILER_CLI. Prints what it found of each thread.

Its command line (npm's @firefox-devtools/profiler-cli) has the code that the page of profiler.firefox.com loads files
with, and answers one line of JSON for another on a socket. Its own client gives up after half a second, which a busy
machine can take; so it is started here, and asked directly.
"""

import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

profile, cli = sys.argv[1:3]
# Nothing here takes a tenth of this, unless it hangs.
PATIENCE = 120
# Short, because the names of sockets are.
folder = tempfile.TemporaryDirectory(prefix="ada-ff-", dir="/tmp")
environment = {**os.environ, "PROFILER_CLI_SESSION_DIR": folder.name, "PROFILER_CLI_NO_SYMBOLICATE": "1"}
server = subprocess.Popen(["node", cli, "--daemon", profile, "--session", "test"], env=environment)


def ask(message):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(f"{folder.name}/test.sock")
        connection.sendall(json.dumps(message).encode() + b"\n")
        return json.loads(connection.makefile().readline())


def wait(ask, what):
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        assert server.poll() is None, f"it ended: {server.returncode}"
        answer = ask()
        if answer:
            return answer
        time.sleep(0.05)
    raise AssertionError(f"waited in vain for {what}")


def status():
    answer = ask({"type": "status"})
    return answer if answer["type"] in ("ready", "error") else None


def command(**words):
    answer = ask({"type": "command", "command": words})
    assert answer["type"] == "success", answer
    return answer["result"]


try:
    # It is written once somebody listens.
    wait(pathlib.Path(folder.name, "test.json").exists, "Firefox Profiler to start")
    loaded = wait(status, "the profile to be loaded")
    assert loaded["type"] == "ready", loaded
    about = command(command="profile", subcommand="info", all=True)
    threads = []
    for process in about["processes"]:
        for thread in process["threads"]:
            handle = thread["threadHandle"]
            info = command(command="thread", subcommand="info", thread=handle)
            functions = command(command="thread", subcommand="functions", thread=handle, includeIdle=True)
            markers = command(command="thread", subcommand="markers", thread=handle)
            threads.append({
                "name": thread["name"], "pid": process["pid"], "samples": info["sampleCount"], "markers": info["markerCount"],
                "functions": {it["name"]: it["totalSamples"] for it in functions["functions"]},
                "library_of": {it["name"]: it.get("library") for it in functions["functions"]},
                "marker_names": {it["markerName"]: it["count"] for it in markers["byType"]},
            })
    print(json.dumps({"threads": threads}))
finally:
    server.terminate()
    server.wait(timeout=PATIENCE)
