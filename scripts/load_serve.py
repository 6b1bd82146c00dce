"""Load on a running `cortex serve`: see check-serve.sh. Arguments: socket, workspace, pid of the service, seconds."""

import asyncio
import json
import os
import pathlib
import re
import resource
import socket
import sys
import time

SOCKET, WORK, PID, SECONDS = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
TYPES = ["NodeId", "NodeStore", "Node", "NodeTree", "LodView", "INodeStore", "NodeStroe", "NodeStore#Get"]


def memory():
    """Resident memory of the service in MB."""
    status = pathlib.Path(f"/proc/{PID}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) / 1024


class Client:
    """One connection; answers are found by their ids."""

    busy = 0

    async def open(self):
        self.reader, self.writer = await asyncio.open_unix_connection(SOCKET, limit=64 << 20)
        self.waiting, self.last = {}, 0
        self.task = asyncio.create_task(self.read())
        return self

    async def read(self):
        """Hands out answers until the service closes the connection; whoever still waits then gets None."""
        try:
            while line := await self.reader.readline():
                answer = json.loads(line)
                waiting = self.waiting.pop(answer.get("id"), None)
                if waiting and not waiting.done():
                    waiting.set_result(answer)
        except ConnectionResetError:
            pass
        for waiting in self.waiting.values():
            if not waiting.done():
                waiting.set_result(None)

    async def ask(self, method, params):
        """The answer. A client that is told that others are being served asks again, by a new connection if this one was closed."""
        for _ in range(600):
            answer = await self.once(method, params)
            if answer is None:
                self.close()
                await self.open()
            elif answer.get("error", {}).get("code") != -32001:
                return answer
            else:
                # Connections of an earlier round may still be open.
                is_full = "so many clients" in answer["error"]["message"]
                assert is_full or "progress" in answer["error"]["data"], answer
            Client.busy += 1
            await asyncio.sleep(0.2)
        raise AssertionError("the service is busy for two minutes")

    async def once(self, method, params):
        self.last += 1
        self.waiting[self.last] = answer = asyncio.get_running_loop().create_future()
        message = {"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}
        try:
            self.writer.write(json.dumps(message).encode() + b"\n")
            await self.writer.drain()
        except ConnectionError:
            return None
        # A connection that was closed before this request has nobody who hands out answers.
        return None if self.task.done() else await asyncio.wait_for(answer, 120)

    def close(self):
        self.task.cancel()
        self.writer.close()


def percentiles(times):
    times = sorted(times)
    return tuple(round(times[min(len(times) - 1, int(len(times) * part))] * 1000, 1) for part in (0.5, 0.95))


async def at_once():
    """1,000 requests of ten clients at the same time."""
    clients = [await Client().open() for _ in range(10)]
    began = time.monotonic()
    times = []

    async def one(number):
        start = time.monotonic()
        name = TYPES[number % len(TYPES)]
        answer = await clients[number % 10].ask("GetOutline", {"path": name})
        times.append(time.monotonic() - start)
        if name == "NodeStroe":
            assert "error" in answer, answer
        else:
            assert answer["result"]["resolved"]["path"].startswith("MemoTree.Core."), answer

    await asyncio.gather(*(one(number) for number in range(1000)))
    for client in clients:
        client.close()
    print(f"1,000 requests at once: {time.monotonic() - began:.2f} s, P50 {percentiles(times)[0]} ms, P95 {percentiles(times)[1]} ms")


async def while_files_change():
    """50 clients ask what a file holds that changes all the time."""
    written, done, times, wrong = 0, False, [], []
    file = WORK / "src/MemoTree.Core/Odd.cs"

    async def write():
        nonlocal written
        number = 0
        while not done:
            number += 1
            temporary = file.with_suffix(".tmp")
            temporary.write_text(f"namespace MemoTree.Core; public class Odd {{ public int F{number}; }}\n")
            os.replace(temporary, file)
            written = number
            await asyncio.sleep(0.1)

    async def ask(client):
        while not done:
            least, start = written, time.monotonic()
            answer = await client.ask("GetOutline", {"path": "Odd"})
            times.append(time.monotonic() - start)
            found = re.search(r"int F(\d+)", answer.get("result", {}).get("outlineText", ""))
            if not found or int(found.group(1)) < least:
                wrong.append((least, answer))
            await asyncio.sleep(0)

    clients = [await Client().open() for _ in range(50)]
    writer = asyncio.create_task(write())
    while not written:
        await asyncio.sleep(0.01)
    asking = [asyncio.create_task(ask(client)) for client in clients]
    await asyncio.sleep(SECONDS / 2)
    middle = memory()
    await asyncio.sleep(SECONDS / 2)
    done = True
    await asyncio.gather(writer, *asking)
    for client in clients:
        client.close()
    assert not wrong, wrong[:3]
    print(
        f"50 clients for {SECONDS:g} s while files change: {len(times):,} answers, {written} edits, none wrong, "
        f"P50 {percentiles(times)[0]} ms, P95 {percentiles(times)[1]} ms, {middle:.0f} MB in the middle, {memory():.0f} MB at the end"
    )
    assert memory() < middle * 1.5 + 20, "memory grows"


async def connect():
    """One more connection. asyncio by itself takes a full backlog (EAGAIN) for a connection that was made."""
    while True:
        plain = socket.socket(socket.AF_UNIX)
        plain.setblocking(False)
        try:
            plain.connect(SOCKET)
        except BlockingIOError:
            plain.close()
            await asyncio.sleep(0.01)
        else:
            return await asyncio.open_unix_connection(sock=plain)


async def many_connections(most):
    """More connections than are served, which are 1,024; those that do not behave among them."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    most = min(most, hard - 100)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    opened = []
    for number in range(most):
        try:
            opened.append(await asyncio.wait_for(connect(), 30))
        except (OSError, asyncio.TimeoutError):
            break
    halves = opened[:50]
    for _, writer in halves:
        writer.write(b'{"jsonrpc":"2.0","id":1,"meth')
    refused = 0
    for reader, _ in opened[-50:]:
        try:
            line = await asyncio.wait_for(reader.readline(), 30)
            refused += b"-32001" in line
        except (OSError, asyncio.TimeoutError):
            pass
    for _, writer in opened:
        writer.close()
    await asyncio.sleep(1)
    print(f"{len(opened):,} connections: those beyond 1,024 are told so ({refused} of the last 50)")
    # Clients of before may go meanwhile and leave room.
    assert len(opened) < 1100 or refused >= 40, refused


async def never_read():
    """Clients that ask for much and read nothing cost little memory and are let go, and nobody else waits for them."""
    before, writers = memory(), []
    for _ in range(50):
        _, writer = await asyncio.open_unix_connection(SOCKET, limit=1)
        writers.append(writer)
        for number in range(1000):
            writer.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": "methods"}).encode() + b"\n")
    client = await Client().open()
    start = time.monotonic()
    await client.ask("GetOutline", {"path": "NodeId"})
    took = time.monotonic() - start
    grown = memory() - before
    for writer in writers:
        # Not close(): that waits until what was asked is sent, and nobody reads it.
        writer.transport.abort()
    client.close()
    assert took < 120, took
    assert grown < 100, grown
    print(f"beside 50 clients that never read an answer takes {took * 1000:.1f} ms, and {grown:.0f} MB more are taken")


async def main():
    client = await Client().open()
    await client.ask("GetOutline", {"path": "NodeId"})
    client.close()
    before = memory()
    await at_once()
    await while_files_change()
    await never_read()
    await many_connections(10_000)
    settled = memory()
    for _ in range(3):
        await never_read()
        await many_connections(2_000)
    client = await Client().open()
    assert "result" in await client.ask("ping", {})
    client.close()
    print(f"memory: {before:.0f} MB before, {settled:.0f} MB after all of it, {memory():.0f} MB after three times the last two more; busy: {Client.busy}")
    assert memory() < settled * 1.25 + 20, "memory grows"


asyncio.run(main())
