"""Drives every tool of `ada mcp` with the official client: ADA TRACES PROGRAM."""

import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

import httpx2
import jsonschema
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

ada, traces, program = sys.argv[1:]
BUDGETS = [500, 2000, 10000]


def tokens(text):
    """About what models make of a text: three digits, five letters or two signs are one token."""
    return sum(
        -(-len(run) // size)
        for pattern, size in [(r"[A-Za-z]+", 5), (r"[0-9]+", 3), (r"[^A-Za-z0-9\s]+", 2)]
        for run in re.findall(pattern, text)
    )


async def call(session, tools, name, arguments, fails=False):
    result = await session.call_tool(name, arguments)
    if fails:
        assert result.is_error, f"{name} {arguments} should fail"
        return result.content[0].text
    assert not result.is_error, f"{name} {arguments}: {result.content}"
    answer = result.structured_content
    jsonschema.validate(answer, tools[name].output_schema)
    assert json.loads(result.content[0].text) == answer, "the text is the same as the structure"
    budget = arguments.get("token_budget", 2000)
    used = tokens(result.content[0].text)
    assert used <= budget * 1.1, f"{name} {arguments}: {used} tokens"
    assert len(result.content[0].text) / 4 <= budget * 1.1, f"{name} {arguments}: {len(result.content[0].text)} letters"
    if answer["next_cursor"] is not None:
        assert answer["did_truncate"], name
    return answer


async def pages(session, tools, name, arguments, key):
    """All items of a list, page after page; nothing comes twice."""
    seen, cursor = [], None
    while True:
        page = dict(arguments)
        if cursor is not None:
            page["cursor"] = cursor
        answer = await call(session, tools, name, page)
        seen += [json.dumps(item[key]) if key else json.dumps(item) for item in answer["items"]]
        cursor = answer["next_cursor"]
        if cursor is None:
            break
        assert answer["items"], f"{name}: a page has something"
    assert len(seen) == len(set(seen)), f"{name}: something comes twice"
    return seen


def lives(pid):
    """Whether a process is there, and not only its exit status."""
    try:
        return open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


async def drive(session, allows_record):
    await session.initialize()
    listed = await session.list_tools()
    tools = {tool.name: tool for tool in listed.tools}
    for tool in tools.values():
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)
        jsonschema.Draft202012Validator.check_schema(tool.output_schema)
        assert "token_budget" in tool.input_schema["properties"], tool.name
    wanted = {
        "list_sessions", "summary", "findings", "spans", "tree", "neighbourhood", "function_stats", "events", "source",
        "query", "was_called", "why_slow",
    }
    assert set(tools) == wanted | ({"record"} if allows_record else set()), set(tools)

    sessions = await call(session, tools, "list_sessions", {})
    name = sessions["items"][0]["session"]
    sql = "SELECT span_id, thread_id FROM spans WHERE name = 'main'"
    main, thread = (await call(session, tools, "query", {"sql": sql}))["items"][0]["row"]
    arguments = {
        "list_sessions": {},
        "summary": {"session": name},
        "findings": {"symptom": "it is slow"},
        "spans": {},
        "tree": {},
        "neighbourhood": {"reference": main},
        "function_stats": {},
        "events": {"thread_id": thread},
        "source": {"function": "*"},
        "query": {"sql": "SELECT * FROM spans"},
        "was_called": {"function": "*"},
        "why_slow": {"span_id": main},
    }
    for tool, given in arguments.items():
        for budget in BUDGETS:
            answer = await call(session, tools, tool, given | {"token_budget": budget})
            assert answer["token_budget"] == budget

    # The larger the budget, the more is said; and pages make the whole.
    few = await call(session, tools, "function_stats", {"token_budget": 500})
    many = await call(session, tools, "function_stats", {"token_budget": 10000})
    assert 0 < len(few["items"]) < len(many["items"]) and few["did_truncate"]
    count = (await call(session, tools, "query", {"sql": "SELECT count(*) FROM functions"}))["items"][0]["row"][0]
    assert len(await pages(session, tools, "function_stats", {"token_budget": 2000}, "reference")) == count
    spans = (await call(session, tools, "query", {"sql": "SELECT count(*) FROM spans WHERE thread_id = %d AND type = 'frame'" % thread}))
    spans = spans["items"][0]["row"][0]
    folded = {"thread_id": thread, "type": "frame", "token_budget": 10000}
    counted, cursor = 0, None
    while True:
        answer = await call(session, tools, "spans", folded | ({"cursor": cursor} if cursor else {}))
        counted += sum(item["count"] for item in answer["items"])
        cursor = answer["next_cursor"]
        if cursor is None:
            break
    assert counted == spans, f"{counted} of {spans}"
    sample = (await call(session, tools, "events", {"thread_id": thread, "token_budget": 10000}))["items"]
    assert any("arg0" in event for event in sample), "registers were recorded"

    # Evidence can be followed, and answers say what they cannot know.
    for finding in (await call(session, tools, "findings", {"token_budget": 10000}))["items"]:
        for reference in finding["evidence"]:
            await call(session, tools, "neighbourhood", {"reference": reference})
    assert (await call(session, tools, "was_called", {"function": "main"}))["answer"]["answer"] == "yes"
    assert (await call(session, tools, "was_called", {"function": "no_such"}))["answer"]["answer"] == "unknown"

    # Nothing writes, and nothing outside is read.
    for statement in ["DROP TABLE spans", "ATTACH '/tmp/x.db' AS x", "SELECT load_extension('x')"]:
        await call(session, tools, "query", {"sql": statement}, fails=True)
    for elsewhere in ["../..", "/etc", traces, "no_such_session"]:
        await call(session, tools, "summary", {"session": elsewhere}, fails=True)
    assert "did you mean" in await call(session, tools, "query", {"sql": "SELECT nmae FROM spans"}, fails=True)
    await call(session, tools, "neighbourhood", {"reference": "nonsense"}, fails=True)
    await call(session, tools, "spans", {"thread_id": "seven"}, fails=True)

    if allows_record:
        alone = subprocess.run([program], stdout=subprocess.DEVNULL).returncode
        for budget in BUDGETS:
            recorded = await call(session, tools, "record", {"command": [program], "token_budget": budget})
            assert recorded["answer"]["exit_code"] == alone, recorded
            summary = await call(session, tools, "summary", {"session": recorded["answer"]["session"]})
            assert summary["answer"]["processes"][0]["command"] == program
        # A program that does not listen is ended all the same, with what it has started.
        with tempfile.TemporaryDirectory() as folder:
            script = f"trap '' TERM; echo $$ > {folder}/pid; sleep 1000 & echo $! > {folder}/child; while :; do sleep 1; done"
            stubborn = await call(session, tools, "record", {"command": ["sh", "-c", script], "max_seconds": 1})
            assert stubborn["answer"]["did_time_out"] and stubborn["answer"]["session"], stubborn
            for name in ["pid", "child"]:
                pid = int(open(f"{folder}/{name}").read())
                deadline = time.monotonic() + 30
                while lives(pid):
                    assert time.monotonic() < deadline, f"{name} lives on"
                    await asyncio.sleep(0.05)
    else:
        try:
            result = await session.call_tool("record", {"command": [program]})
            assert result.is_error
        except Exception as error:
            assert "no tool" in str(error), error


async def over_stdio(allows_record):
    options = ["mcp", traces] + (["--allow-record"] if allows_record else [])
    async with stdio_client(StdioServerParameters(command=ada, args=options)) as streams:
        async with ClientSession(*streams) as session:
            await drive(session, allows_record)


async def over_http():
    server = subprocess.Popen([ada, "mcp", traces, "--http", "0"], stderr=subprocess.PIPE, text=True)
    try:
        line = server.stderr.readline()
        address = re.search(r"http://127\.0\.0\.1:\d+/mcp", line).group()
        token = re.search(r"Bearer ([0-9a-f]{32})$", line.strip()).group(1)
        known = {"Authorization": f"Bearer {token}"}
        async with httpx2.AsyncClient(headers=known) as client:
            async with streamable_http_client(address, http_client=client) as streams:
                async with ClientSession(*streams[:2]) as session:
                    await drive(session, False)
        for code, headers in [
            (403, known | {"Origin": "http://evil.example"}),
            (403, known | {"Host": "evil.example"}),
            (401, {}),
            (401, {"Authorization": "Bearer " + "0" * 32}),
            (401, {"Authorization": f"Basic {token}"}),
        ]:
            request = urllib.request.Request(address, data=b"{}", headers=headers | {"Content-Type": "application/json"})
            try:
                urllib.request.urlopen(request)
                raise AssertionError(f"a request with {headers} was answered")
            except urllib.error.HTTPError as error:
                assert error.code == code, (headers, error)
    finally:
        server.kill()


async def main():
    await over_stdio(False)
    await over_http()
    # Last, because its recordings are then the newest sessions.
    await over_stdio(True)
    print("all tools answered within their budgets")


asyncio.run(main())
