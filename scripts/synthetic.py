#!/usr/bin/env python3
"""Writes one build graph of N trivial targets in several dialects, for benchmarks.

usage: synthetic.py N DIR [--layers L]

The graph has L layers of n = N/L targets and n leaves `src/<i>.txt`. Target i of layer 0 strips the comment lines of leaf i; target i
of layer l > 0 checksums targets i and i+1 (mod n) of layer l-1. So one leaf reaches 1 + 2 + … + L targets (55 for ten layers), and a
comment edit in a leaf reaches one target whose output does not move.

Every command first appends its target's name to a log, so that the commands themselves tell how many of them ran. Each dialect logs to
and builds into places of its own: engines never see each other's outputs.

    cortex.toml          command producers, outputs under .cortex/out/     log: ran-cortex.log
    build.ninja          ninja and n2, plain rules, outputs under out/     log: ran.log
    build-restat.ninja   the same with `restat` and commands that keep an unchanged output's stamp
    Makefile             GNU make
    dodo.py              doit
    commands.sh          nothing but the commands, one a line, layer by layer with `wait` lines: what spawning alone costs

The wiring, the texts and the bytes of every file depend on N and L only, except for the absolute path of DIR in the logs' names.
"""
import argparse
import shlex
import zlib
from pathlib import Path


class Graph:
    """The wiring, known to every dialect and to the check of the outputs."""

    def __init__(self, targets: int, layers: int = 10):
        if layers < 1 or targets < 2 * layers or targets % layers:
            raise ValueError(f"{targets} targets do not fill {layers} layers of at least two")
        self.targets, self.layers, self.width = targets, layers, targets // layers

    def __iter__(self):
        """All targets as (layer, index), layer by layer."""
        return ((layer, i) for layer in range(self.layers) for i in range(self.width))

    def inputs(self, layer: int, i: int):
        """What a target reads: two targets of the layer below; layer 0 reads a leaf and has none."""
        return [] if layer == 0 else [(layer - 1, i), (layer - 1, (i + 1) % self.width)]

    def reached(self) -> int:
        """How many targets one leaf reaches."""
        return sum(min(layer + 1, self.width) for layer in range(self.layers))

    def expected(self, leaves: list[bytes]) -> dict[tuple[int, int], bytes]:
        """Every output, computed without any build tool."""
        made = {}
        for layer, i in self:
            if layer == 0:
                made[layer, i] = strip(leaves[i])
            else:
                made[layer, i] = checksum(b"".join(made[x] for x in self.inputs(layer, i)))
        return made


def leaf(i: int) -> bytes:
    """The text of a leaf before any edit: pseudo-random and always the same."""
    words = [f"{zlib.crc32(f'{i}.{k}'.encode()):08x}" for k in range(24)]
    return ("# leaf %d\n" % i + "".join(" ".join(words[k : k + 4]) + "\n" for k in range(0, 24, 4))).encode()


def strip(text: bytes) -> bytes:
    """What `grep -v '^#'` prints."""
    return b"".join(line for line in text.splitlines(keepends=True) if not line.startswith(b"#"))


def crc_table() -> list[int]:
    """The table of the POSIX checksum, most significant bit first."""
    table = []
    for byte in range(256):
        value = byte << 24
        for _ in range(8):
            value = (value << 1 ^ (0x04C11DB7 if value & 0x80000000 else 0)) & 0xFFFFFFFF
        table.append(value)
    return table


CRC_TABLE = crc_table()


def checksum(data: bytes) -> bytes:
    """What `cksum` prints for its standard input."""
    crc, length = 0, len(data)
    for byte in data:
        crc = (crc << 8 & 0xFFFFFFFF) ^ CRC_TABLE[crc >> 24 ^ byte]
    while length:
        crc = (crc << 8 & 0xFFFFFFFF) ^ CRC_TABLE[crc >> 24 ^ length & 255]
        length >>= 8
    return b"%d %d\n" % (crc ^ 0xFFFFFFFF, len(data))


def name(layer: int, i: int) -> str:
    """How a target is written in logs and below out/."""
    return f"l{layer}/{i}"


def out(layer: int, i: int) -> str:
    """Where a target's output lies, for engines that build in place."""
    return f"out/{name(layer, i)}.txt"


def needs(graph: Graph, layer: int, i: int) -> list[str]:
    """The files a target reads, for engines that build in place."""
    return [f"src/{i}.txt"] if layer == 0 else [out(*x) for x in graph.inputs(layer, i)]


def body(layer: int) -> str:
    """The work of a command as a template over {ins} and {out}."""
    return "grep -v '^#' {ins} > {out} || true" if layer == 0 else "cat {ins} | cksum > {out}"


def command(graph: Graph, layer: int, i: int, log: str) -> str:
    """The whole command of a target."""
    work = body(layer).format(ins=" ".join(needs(graph, layer, i)), out=out(layer, i))
    return f"echo {name(layer, i)} >> {log}; {work}"


def write_cortex(graph: Graph, folder: Path, log: str) -> None:
    said = f"echo {{label}} >> {log}; "
    text = [
        '[workspace]\nname = "synthetic"\n',
        "# The log is no part of the graph: it counts which commands ran.",
        # As the other engines run theirs; the log lies outside the folder of a command.
        '[producer.strip]\nuses = "command"\nsandbox = "off"',
        f"argv = {toml_list(['sh', '-c', said + GREP_IN_A])}\n",
        '[producer.sum]\nuses = "command"\nsandbox = "off"',
        f"argv = {toml_list(['sh', '-c', said + 'cat {in.a} {in.b} | cksum'])}\n",
    ]
    for layer, i in graph:
        if layer == 0:
            producer, roles = "strip", f'a = "//files/src/{i}.txt:bytes"'
        else:
            (la, a), (lb, b) = graph.inputs(layer, i)
            producer, roles = "sum", f'a = "//l{la}/{a}:out", b = "//l{lb}/{b}:out"'
        text.append(
            f'[[rule]]\ntarget = "//l{layer}/{i}:out"\nproducer = "{producer}"\ninputs = {{ {roles} }}\nout = "{name(layer, i)}.txt"\n'
        )
    (folder / "cortex.toml").write_text("\n".join(text))


GREP_IN_A = "grep -v '^#' {in.a} || true"


def toml_list(items: list[str]) -> str:
    """Items as a TOML array of basic strings."""
    return "[" + ", ".join('"' + item.replace("\\", "\\\\").replace('"', '\\"') + '"' for item in items) + "]"


def write_ninja(graph: Graph, folder: Path, log: str, restat: bool) -> None:
    text = []
    for rule, layer in (("strip", 0), ("sum", 1)):
        work = body(layer)
        if restat:
            work = work.format(ins="$in", out="$out.new") + "; cmp -s $out.new $out && rm $out.new || mv $out.new $out"
        else:
            work = work.format(ins="$in", out="$out")
        text.append(f"rule {rule}\n  command = echo $name >> {log.replace('$', '$$')}; {work}" + ("\n  restat = 1" if restat else "") + "\n")
    for layer, i in graph:
        rule = "strip" if layer == 0 else "sum"
        text.append(f"build {out(layer, i)}: {rule} {' '.join(needs(graph, layer, i))}\n  name = {name(layer, i)}")
    (folder / ("build-restat.ninja" if restat else "build.ninja")).write_text("\n".join(text) + "\n")


def write_make(graph: Graph, folder: Path, log: str) -> None:
    last = " ".join(out(graph.layers - 1, i) for i in range(graph.width))
    text = [".SUFFIXES:", "MAKEFLAGS += -rR", f"all: {last}"]
    # `mkdir` stands in for what ninja does by itself, once a layer rather than once a target.
    text += [f"out/l{layer}:\n\t@mkdir -p $@" for layer in range(graph.layers)]
    for layer, i in graph:
        line = command(graph, layer, i, log).replace("$", "$$")
        text.append(f"{out(layer, i)}: {' '.join(needs(graph, layer, i))} | out/l{layer}\n\t@{line}")
    (folder / "Makefile").write_text("\n".join(text) + "\n")


def write_doit(graph: Graph, folder: Path, log: str) -> None:
    (folder / "dodo.py").write_text(
        f"""import sys
sys.path.insert(0, {str(Path(__file__).resolve().parent)!r})
import synthetic
GRAPH = synthetic.Graph({graph.targets}, {graph.layers})
DOIT_CONFIG = {{"verbosity": 0}}


def task_build():
    for layer, i in GRAPH:
        made = synthetic.out(layer, i)
        yield {{
            "name": synthetic.name(layer, i),
            "actions": [f"mkdir -p out/l{{layer}}; " + synthetic.command(GRAPH, layer, i, {log!r})],
            "file_dep": synthetic.needs(GRAPH, layer, i),
            "targets": [made],
        }}
"""
    )


def write_commands(graph: Graph, folder: Path, log: str) -> None:
    text, before = [], 0
    for layer, i in graph:
        if layer != before:
            text.append("wait")
            before = layer
        text.append(command(graph, layer, i, log))
    (folder / "commands.sh").write_text("\n".join(text) + "\n")


def write(targets: int, folder: Path, layers: int = 10) -> Graph:
    """Writes the graph in every dialect and its leaves."""
    graph = Graph(targets, layers)
    (folder / "src").mkdir(parents=True, exist_ok=True)
    for i in range(graph.width):
        (folder / f"src/{i}.txt").write_bytes(leaf(i))
    whole = folder.resolve()
    log, cortex_log = (shlex.quote(str(whole / n)) for n in ("ran.log", "ran-cortex.log"))
    write_cortex(graph, folder, cortex_log)
    write_ninja(graph, folder, log, restat=False)
    write_ninja(graph, folder, log, restat=True)
    write_make(graph, folder, log)
    write_doit(graph, folder, log)
    write_commands(graph, folder, log)
    return graph


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", type=int, metavar="N")
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--layers", type=int, default=10)
    args = parser.parse_args()
    try:
        graph = write(args.targets, args.folder, args.layers)
    except (ValueError, OSError) as error:
        parser.exit(2, f"synthetic.py: {error}\n")
    print(f"{graph.targets} targets in {graph.layers} layers, {graph.width} leaves; one leaf reaches {graph.reached()} targets")


if __name__ == "__main__":
    main()
