"""PyPI's MCP client against `cortex mcp` over standard input and output: both eras, progress, cancellation, results checked by their schemas.

Usage: client_mcp.py CORTEX WORKSPACE    The workspace is given a target that waits for a pipe.
"""

import asyncio
import os
import sys

from mcp import Client, StdioServerParameters

cortex, work = sys.argv[1:]
pipe = os.path.join(work, os.pardir, "pipe")
os.mkfifo(pipe)
with open(os.path.join(work, "cortex.toml"), "a", encoding="utf-8") as manifest:
    manifest.write(f"""
[producer.wait]
uses = "command"
argv = ["cat", "{os.path.abspath(pipe)}", "{{in.text}}"]
timeout = 600

[[rule]]
target = "//index:waits"
producer = "wait"
inputs = {{ text = "//files/cortex.toml:bytes" }}
""")
server = StdioServerParameters(command=cortex, args=["-C", work, "mcp"], env={**os.environ})
waiting = {"symbols": ["//index:waits"]}


async def era(mode, version):
    async with Client(server, mode=mode) as client:
        assert client.protocol_version == version, client.protocol_version
        tools = {tool.name for tool in (await client.list_tools()).tools}
        assert "outline" in tools, tools
        # The client checks what a tool answers by the tool's schema.
        result = await client.call_tool("outline", {"symbols": ["NodeStore"]})
        assert not result.is_error and result.structured_content["resolved"]["path"].endswith("NodeStore"), result
        wrong = await client.call_tool("outline", {"symbols": ["NodeStroe"]})
        assert wrong.is_error and wrong.structured_content is None and "NodeStore" in wrong.content[0].text, wrong

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


for mode, version in (("legacy", "2025-11-25"), ("auto", "2026-07-28")):
    asyncio.run(era(mode, version))
    print(f"client_mcp.py: mcp, {version}: schemas, errors, progress, cancellation")
