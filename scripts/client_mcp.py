"""PyPI's MCP client against `cortex mcp`, both eras, over standard input and output and over HTTP: results checked by their schemas, resources,
prompts, progress, cancellation.

Usage: client_mcp.py CORTEX WORKSPACE    The workspace is given a target that waits for a pipe.
"""

import asyncio
import os
import subprocess
import sys
from contextlib import contextmanager

from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

cortex, work = sys.argv[1:]
pipe = os.path.join(work, os.pardir, "pipe")
os.mkfifo(pipe)
with open(os.path.join(work, "cortex.toml"), "a", encoding="utf-8") as manifest:
    manifest.write(f"""
[producer.wait]
uses = "command"
argv = ["cat", "{os.path.abspath(pipe)}", "{{in.text}}"]
sandbox = "off"

[[rule]]
target = "//index:waits"
producer = "wait"
inputs = {{ text = "//files/cortex.toml:bytes" }}
""")
waiting = {"symbols": ["//index:waits"]}


def stdio():
    return StdioServerParameters(command=cortex, args=["-C", work, "mcp", "--structured"], env={**os.environ})


@contextmanager
def served():
    """A server of its own on a port, and what connects to it."""
    server = subprocess.Popen([cortex, "-C", work, "mcp", "--structured", "--http", "0"], stderr=subprocess.PIPE, text=True)
    try:
        url = token = None
        while not (url and token):
            line = server.stderr.readline()
            assert line, "the server ended"
            url = line.removeprefix("serving at ").strip() if line.startswith("serving at ") else url
            if line.startswith("clients need the token in "):
                with open(line.removeprefix("clients need the token in ").strip(), encoding="utf-8") as file:
                    token = file.read().strip()
        headers = {"Authorization": f"Bearer {token}"}
        yield lambda: streamable_http_client(url, http_client=create_mcp_http_client(headers=headers))
    finally:
        server.terminate()
        server.wait()


async def text_of(client, uri):
    [content] = (await client.read_resource(uri)).contents
    assert str(content.uri) == uri and content.mime_type == "text/markdown", content
    return content.text


async def tools(client):
    known = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert known["outline"].annotations.read_only_hint and not known["semantic"].annotations.read_only_hint, known
    # The client checks what a tool answers by the tool's schema.
    result = await client.call_tool("outline", {"symbols": ["NodeStore"]})
    assert not result.is_error and result.structured_content["resolved"]["path"].endswith("NodeStore"), result
    wrong = await client.call_tool("outline", {"symbols": ["NodeStroe"]})
    assert wrong.is_error and wrong.structured_content is None and "NodeStore" in wrong.content[0].text, wrong
    for name, arguments in (
        ("search", {"query": "NS"}),
        ("usages", {"symbol": "NodeStore"}),
        ("semantic", {"symbol": "NodeStore"}),
        ("edit", {"op": "list"}),
        ("search", {"op": "grep", "query": "class NodeStore"}),
    ):
        answer = await client.call_tool(name, arguments)
        assert not answer.is_error, (name, answer)
        assert name == "edit" or answer.structured_content["state"]["freshness"] == "current", (name, answer)


async def resources(client):
    templates = {one.uri_template for one in (await client.list_resource_templates()).resource_templates}
    assert {"cortex://type/{symbol}/outline", "cortex://pack/{name}"} <= templates, templates
    listed = {str(one.uri) for one in (await client.list_resources()).resources}
    assert "cortex://window" in listed, listed
    pack = await text_of(client, "cortex://pack/storage")
    assert pack.startswith("# Pack storage\n") and "\n## MemoTree.Core." in pack, pack
    await client.call_tool("outline", {"symbols": ["NodeStore"]})
    window = await text_of(client, "cortex://window")
    assert window.startswith("# Prompt window\n") and "\n# MemoTree.Core.NodeStore " in window, window
    for wrong in ("cortex://pack/nothing", "cortex://pack/..%2Fx", "cortex://window/more", "cortex://type/Nowhere9/outline"):
        try:
            await client.read_resource(wrong)
            raise AssertionError(f"{wrong} was read")
        except Exception as error:  # The eras have codes of their own for it.
            assert getattr(error, "error", None) is not None, error


async def prompts(client):
    known = {prompt.name: prompt for prompt in (await client.list_prompts()).prompts}
    assert set(known) == {"explore_type", "change_type", "summarise"}, known
    given = {"symbol": "NodeStore", "change": "Rename Get to Read."}
    for name, prompt in known.items():
        arguments = {one.name: given[one.name] for one in prompt.arguments if one.required}
        [message] = (await client.get_prompt(name, arguments)).messages
        assert message.role == "user" and "1. `" in message.content.text, message
        assert all(value in message.content.text for value in arguments.values()), message


async def edits(client):
    """What a model does that changes code, from the question to the summary of what it made. Here the model is this script, and the summaries
    are those of the built-in producer, so that every step is known."""
    file = "src/MemoTree.Core/NodeStore.cs"

    async def ask(tool, /, **arguments):
        answer = await client.call_tool(tool, arguments)
        # Several matches are an error that says how to go on.
        assert answer.is_error == ((answer.structured_content or {}).get("status") == "MultiMatch"), (tool, answer)
        return answer

    async def edit(op, **arguments):
        return (await ask("edit", op=op, **arguments)).structured_content

    async def summary(**arguments):
        told = (await ask("semantic", symbol="NodeStore", **arguments)).structured_content
        assert told["state"]["freshness"] == "current", told
        return told["semanticText"]

    opened = await edit("open", path=file)
    session = opened["session"]
    assert opened["workflow_state"] == "Idle" and session in opened["summary"], opened
    found = await ask("search", query="NodeStore.Move")
    assert "MemoTree.Core.NodeStore#Move" in str(found.structured_content), found
    context = await ask("context", op="build", query="Why can NodeStore.Move not move nodes?")
    assert "MemoTree.Core.NodeStore" in str(context.structured_content), context
    seen = (await ask("context", op="live", file=file)).structured_content["version"]
    before = await summary()
    assert "- `Move` is not supported" in before, before

    several = await edit("replace", session=session, oldText="NotSupportedException", newText="InvalidOperationException")
    assert (several["status"], several["workflow_state"]) == ("MultiMatch", "SelectionPending"), several
    assert several["metrics"]["selection_count"] == 2 and "commit" not in several["allowed"], several
    [chosen] = [one["id"] for one in several["candidates"] if "throw new" in one["preview"]]
    edited = await edit("replace_selection", session=session, selectionId=chosen)
    assert (edited["status"], edited["workflow_state"]) == ("Success", "PersistPending"), edited

    # What if: what is only in the buffer moves no answer about the code, and the session itself is an overlay, which tells what saving it would
    # make stale and what the summary would be.
    difference = (await edit("diff", session=session))["detail"]
    assert "+    public void Move(NodeId id, NodeId parent) => throw new InvalidOperationException(" in difference
    assert "NodeStore" in str((await ask("usages", symbol="NodeStore")).structured_content)
    assert await summary() == before

    async def overlay(op, **arguments):
        return (await ask("overlay", op=op, name=session, **arguments)).structured_content

    prospect = await overlay("diff", targets="//types/...:semantic")
    assert difference.splitlines()[2:] == prospect["diff"].splitlines()[2:], prospect
    assert prospect["targets"]["stale"] > 0, prospect
    foretold = await summary(overlay=session)
    assert "- `Move` is not supported" not in foretold and await summary() == before, foretold
    assert (await overlay("build", patterns=["//types/...:semantic"]))["failed"] == 0

    # Another program writes the file at another place: it stays, and the answer says so.
    place = os.path.join(work, file)
    with open(place, "r+", encoding="utf-8") as source:
        text = source.read()
        source.seek(0)
        source.write(text + "// another program\n")
    saved = await edit("commit", session=session)
    assert saved["workflow_state"] == "Idle" and "carried over" in saved["summary"], saved
    with open(place, encoding="utf-8") as source:
        assert source.read() == text.replace("=> throw new NotSupported", "=> throw new InvalidOperation") + "// another program\n"
    live = (await ask("context", op="live", file=file, since=seen)).structured_content["contextText"]
    assert "by agent, commit" in live and "=> throw new InvalidOperation" in live, live
    after = await summary()
    assert after == foretold and "InvalidOperationException" in after, after

    assert (await edit("undo", session=session))["workflow_state"] == "PersistPending"
    assert (await edit("commit", session=session))["status"] == "Success"
    assert await summary() == before
    with open(place, "w", encoding="utf-8") as source:
        source.write(text)
    assert (await edit("close", session=session))["status"] == "Success"


async def taken_back(client):
    told = []
    begun = asyncio.Event()

    async def progress(done, total, message):
        told.append((done, total))
        begun.set()

    call = asyncio.create_task(client.call_tool("outline", waiting, progress_callback=progress))
    await asyncio.wait_for(begun.wait(), 60)
    # The command runs when there is somebody to open the other end for.
    end = await asyncio.to_thread(os.open, pipe, os.O_WRONLY)
    call.cancel()
    try:
        await call
        raise AssertionError("it was answered")
    except asyncio.CancelledError:
        pass
    # It has given its turn back: another one is answered while the pipe stays open.
    again = await asyncio.wait_for(client.call_tool("outline", {"symbols": ["NodeId"]}), 60)
    assert not again.is_error, again
    os.close(end)
    assert told[0] == (0, 100) and all(a[0] < b[0] for a, b in zip(told, told[1:])), told


async def era(way, server, mode, version):
    async with Client(server(), mode=mode) as client:
        assert client.protocol_version == version, client.protocol_version
        for part in (tools, resources, prompts, edits, taken_back):
            await part(client)
    print(f"client_mcp.py: mcp, {version}, {way}: tools and their schemas, errors, resources, prompts, edits, progress, cancellation")


for mode, version in (("legacy", "2025-11-25"), ("auto", "2026-07-28")):
    asyncio.run(era("stdio", stdio, mode, version))
    with served() as connect:
        asyncio.run(era("HTTP", connect, mode, version))
