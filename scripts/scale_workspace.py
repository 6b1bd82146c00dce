#!/usr/bin/env python3
"""Writes a C# workspace of N types with the shape of a real one, for benchmarks.

usage: scale_workspace.py N DIR

The shape: 2.5 types a file, and one generated file with 2,000 of the types (a fifth of them in a workspace of fewer than 10,000);
projects of 150 types that reference earlier projects; names of types and members mentioned by a power law; nested, partial and generic
types, interfaces with implementations, base classes, enums, records, delegates, extension methods, documentation. About 5 KB a type.

The same N gives the same bytes on every machine: each type is a function of its number. Bodies call members that the types they name
really declare, so that a binder finds what it looks for.
"""
import argparse
import math
import random
import sys
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

PER_PROJECT = 150
GENERATED = 2_000
FILE_SIZES = [1, 2, 1, 4, 2, 3, 1, 6, 2, 3]  # types a file, 2.5 on average

ADJECTIVES = """Active Async Base Batch Bound Cached Central Client Compact Composite Content Core Current Custom Daily Default Delayed Direct
Draft Dynamic Early Entity External Fast File Final Fixed Flat Frozen Global Grouped Guarded Hidden Http Idle Indexed Inner Internal Joined
Keyed Known Lazy Linked Live Local Locked Logical Main Managed Mapped Master Memory Merged Mixed Native Nested Network Nightly Open Ordered
Outer Packed Paged Parallel Partial Pending Pooled Primary Private Public Pure Queued Random Raw Recent Remote Safe Scoped Secure Shared
Signed Simple Single Sorted Stable Static Stored Strict Synced Tagged Timed Typed Unique User Valid Virtual Weak Whole""".split()
NOUNS = """Access Account Action Address Agent Amount Archive Asset Audit Backup Balance Basket Batch Billing Block Board Booking Branch Bucket
Budget Buffer Cache Campaign Card Catalog Channel Charge Chart Claim Cluster Code Column Command Contact Contract Course Credit Cursor
Customer Device Discount Document Domain Driver Email Entry Event Expense Feature Feed Field Filter Folder Form Format Frame Gateway Goal
Grant Grid Group Header History Image Import Index Invoice Item Job Journal Key Label Layer Ledger Lesson License Line Link List Loan
Location Lock Log Machine Member Menu Message Metric Model Module Node Note Offer Order Owner Package Page Panel Parcel Payment Period
Permission Person Phase Pipeline Plan Player Policy Pool Portal Post Price Process Product Profile Project Query Quota Range Rate Record
Region Release Rental Report Request Review Role Route Rule Sample Schedule Schema Score Section Seller Sensor Session Setting Shape
Shipment Signal Site Slot Snapshot Source Stage State Station Status Stock Store Stream Table Tag Target Task Team Tenant Term Ticket
Token Topic Tour Track Trade Transfer Trip Unit Update Upload Value Vendor Version View Visit Voucher Wallet Warehouse Widget Zone""".split()
ROLES = """Service Repository Handler Factory Provider Manager Builder Validator Controller Mapper Client Store Reader Writer Processor
Resolver Context Options Result Policy Adapter Monitor Scheduler Parser Formatter Publisher Registry Tracker Loader Engine""".split()
NESTED = ["Options", "State", "Entry", "Builder", "Scope", "Comparer", "Kind", "Settings"]
COMMON = """Id Name Value Get Count Create Add Key Type Update Run Remove Find Items Status Execute Description Load Save Handle Validate
IsEnabled Code Parent Start Stop Build Reset Length Version""".split()
VERBS = "Get Set Add Create Find Load Save Update Remove Build Compute Read Write Send Check Resolve Parse Apply Merge Try Open Close Map".split()
PLAIN = ["int", "string", "bool", "long", "DateTime", "Guid", "decimal", "double"]
LITERALS = {"int": "7", "string": '"text"', "bool": "true", "long": "11L", "DateTime": "DateTime.UnixEpoch", "Guid": "Guid.Empty", "decimal": "1.5m", "double": "0.25"}


@dataclass
class Member:
    """A member that other types can use: `result name(parameters)`; without parameters it is a property."""

    name: str
    result: str  # a plain type, or the full text of another
    target: int  # number of the type that it gives, or -1
    parameters: list[str] | None


@dataclass
class Shape:
    """What others see of a type."""

    number: int
    name: str
    kind: str
    project: int
    generic: bool = False
    members: list[Member] = field(default_factory=list)


class Workspace:
    """The types of a workspace, each made when it is asked for."""

    def __init__(self, types: int):
        self.types = types
        self.generated = min(GENERATED, types // 5)
        self.plain = types - self.generated
        self.projects = -(-self.plain // PER_PROJECT)
        self.vocabulary = 60 * types**0.6  # as many different member names as texts of that size have
        self.shape = lru_cache(maxsize=20_000)(self.make_shape)

    def references(self, project: int) -> list[int]:
        """Earlier projects that a project sees: the first one, and some that lie near."""
        dice = random.Random(f"project {project}").random
        near = {project - 1 - int(dice() ** 2 * min(project, 40)) for _ in range(4)}
        return sorted({0, *near} - {project}) if project > 0 else []

    def kind(self, number: int) -> str:
        at = number * 37 % 100
        kinds = (("class", 62), ("interface", 12), ("record", 9), ("enum", 7), ("struct", 4), ("extensions", 4), ("delegate", 2))
        for name, share in kinds:
            if at < share:
                return name
            at -= share
        raise AssertionError("shares add up to 100")

    def name(self, number: int) -> str:
        if number >= self.plain:
            return f"{NOUNS[number % len(NOUNS)]}{ADJECTIVES[number // len(NOUNS) % len(ADJECTIVES)]}Message{number - self.plain}"
        mixed = number * 7_919 + 13
        adjective, mixed = ADJECTIVES[mixed % len(ADJECTIVES)], mixed // len(ADJECTIVES)
        noun, mixed = NOUNS[mixed % len(NOUNS)], mixed // len(NOUNS)
        return ("I" if self.kind(number) == "interface" else "") + adjective + noun + ROLES[mixed % len(ROLES)]

    def member_name(self, dice) -> str:
        """A name out of a vocabulary by a power law."""
        rank = power_law(dice, self.vocabulary, 8)
        if rank < len(COMMON):
            return COMMON[rank]
        verb, rest = VERBS[rank % len(VERBS)], rank // len(VERBS)
        noun, rest = NOUNS[rest % len(NOUNS)], rest // len(NOUNS)
        return verb + noun + (ADJECTIVES[rest % len(ADJECTIVES)] if rest else "")

    def named(self, project: int, dice, kind: str | None = None) -> int:
        """A type that code of a project names: half of them its own, the others of projects that it references; few of them are named often."""
        for _ in range(8):
            if kind is None and self.generated and dice() < 0.1:
                return self.message(dice)
            references = self.references(project)
            home = project if not references or dice() < 0.5 else references[int(dice() ** 2 * len(references))]
            number = home * PER_PROJECT + power_law(dice, min(PER_PROJECT, self.plain - home * PER_PROJECT), 4)
            if self.kind(number) == kind or kind is None and self.kind(number) != "extensions":
                break
        return number

    def message(self, dice) -> int:
        """A type of the generated file."""
        return self.plain + power_law(dice, self.generated, 10)

    def make_shape(self, number: int) -> Shape:
        dice = random.Random(f"shape {number}").random
        if number >= self.plain:
            name = self.name(number)
            members = [Member(self.member_name(dice), PLAIN[int(dice() * len(PLAIN))], -1, None) for _ in range(3)]
            return Shape(number, name, "message", self.projects, members=unique(members, name))
        kind, project = self.kind(number), number // PER_PROJECT
        shape = Shape(number, self.name(number), kind, project, self.is_generic(number))
        if kind in ("enum", "delegate"):
            return shape
        count = min(40, 4 + int(-10 * math.log(1 - dice())))
        for _ in range(count):
            target = -1
            if dice() < 0.35:
                target = self.named(project, dice)
                result = self.written(target)
            else:
                result = PLAIN[int(dice() * len(PLAIN))]
            parameters = None
            if kind == "extensions" or dice() < 0.6:
                parameters = [self.written(self.named(project, dice)) if dice() < 0.3 else PLAIN[int(dice() * len(PLAIN))] for _ in range(int(dice() * 4))]
            shape.members.append(Member(self.member_name(dice), result, target, parameters))
        shape.members = unique(shape.members, shape.name)
        return shape

    def written(self, number: int) -> str:
        """A type as code names it; generic ones get `int` and `string`."""
        return self.name(number) + ("<int, string>" if self.is_generic(number) else "")

    def is_generic(self, number: int) -> bool:
        return number < self.plain and self.kind(number) in ("class", "interface") and number % 11 == 7


def power_law(dice, count: float, flat: float) -> int:
    """A number below `count`; the chance of number n goes as 1 / (n + flat)."""
    return min(int(flat * (1 + count / flat) ** dice() - flat), max(int(count) - 1, 0))


def unique(members: list[Member], name: str) -> list[Member]:
    found = {member.name: member for member in members}
    return [member for key, member in found.items() if key != name]


class Text:
    """Writes the declarations of types."""

    def __init__(self, workspace: Workspace):
        self.workspace = workspace

    def type(self, number: int, indent: str, part: bool) -> list[str]:
        """The lines of a type, or of its second part."""
        shape = self.workspace.shape(number)
        dice = random.Random(f"text {number} {part}").random
        lines = doc(shape.name, dice) + getattr(self, "write_" + shape.kind)(shape, dice, part)
        return [indent + line if line else line for line in lines]

    def is_partial(self, number: int) -> bool:
        return number < self.workspace.plain and self.workspace.kind(number) == "class" and number % 16 == 3

    def write_enum(self, shape: Shape, dice, _: bool) -> list[str]:
        names = dict.fromkeys(NOUNS[int(dice() * len(NOUNS))] for _ in range(3 + int(dice() * 9)))
        return [f"public enum {shape.name}", "{", *(f"    {name}," for name in names), "}"]

    def write_delegate(self, shape: Shape, dice, _: bool) -> list[str]:
        return [f"public delegate {PLAIN[int(dice() * 4)]} {shape.name}({self.workspace.written(self.workspace.named(shape.project, dice))} source, int at);"]

    def write_message(self, shape: Shape, dice, _: bool) -> list[str]:
        return [f"public sealed class {shape.name}", "{", *(f"    public {m.result} {m.name} {{ get; set; }}" for m in shape.members), "}"]

    def write_interface(self, shape: Shape, dice, _: bool) -> list[str]:
        head = f"public interface {shape.name}" + ("<TKey, TItem> where TKey : notnull" if shape.generic else "")
        lines = [head, "{"]
        for member in shape.members:
            lines += ["    " + line for line in doc(member.name, dice) + [declaration(member) + (";" if member.parameters is not None else " { get; }")]]
        return [*lines, "}"]

    def write_record(self, shape: Shape, dice, _: bool) -> list[str]:
        values = [m for m in shape.members if m.parameters is None]
        head = ", ".join(f"{m.result} {m.name}" for m in values)
        return [f"public sealed record {shape.name}({head})", "{", *self.methods(shape, dice, []), "}"]

    def write_struct(self, shape: Shape, dice, _: bool) -> list[str]:
        values = [f"    public {m.result} {m.name} {{ get; init; }}" for m in shape.members if m.parameters is None]
        return [f"public readonly struct {shape.name}", "{", *values, *self.methods(shape, dice, []), "}"]

    def write_extensions(self, shape: Shape, dice, _: bool) -> list[str]:
        lines = [f"public static class {shape.name}", "{"]
        for member in shape.members:
            receiver = self.workspace.named(shape.project, dice)
            given = "".join(f", {kind} p{at}" for at, kind in enumerate(member.parameters or []))
            lines += [f"    public static {member.result} {member.name}(this {self.workspace.written(receiver)} source{given})"]
            lines += self.body(dice, [("source", receiver)], member, "        ")
        return [*lines, "}"]

    def write_class(self, shape: Shape, dice, part: bool) -> list[str]:
        workspace = self.workspace
        partial = "partial " if self.is_partial(shape.number) else ""
        head = f"public {partial}class {shape.name}" + ("<TKey, TItem>" if shape.generic else "")
        if part:
            own = Member("Describe" + shape.name, "string", -1, ["int"])
            return [head, "{", f"    public string {own.name}(int p0)", *self.body(dice, [], own, "        "), "}"]
        bases, inherited = [], []
        if dice() < 0.35:
            base = workspace.named(shape.project, dice, "interface")
            if workspace.shape(base).kind == "interface":
                bases, inherited = [workspace.written(base)], workspace.shape(base).members
        elif dice() < 0.25:
            base = workspace.named(shape.project, dice, "class")
            if base < shape.number and workspace.shape(base).kind == "class":
                bases = [workspace.written(base)]
        head += (" : " + ", ".join(bases) if bases else "") + (" where TKey : notnull" if shape.generic else "")
        fields = [(f"_{word.lower()}{at}", workspace.named(shape.project, dice)) for at, word in enumerate(["Source", "Target", "Store", "Log"][: 1 + int(dice() * 4)])]
        lines = [head, "{", *(f"    private readonly {workspace.written(target)} {name};" for name, target in fields), ""]
        given = ", ".join(f"{workspace.written(target)} {name[1:]}" for name, target in fields)
        lines += [f"    public {shape.name}({given})", "    {", *(f"        {name} = {name[1:]} ?? throw new ArgumentNullException(nameof({name[1:]}));" for name, _ in fields), "    }", ""]
        declared = {member.name for member in shape.members}
        inherited = [member for member in inherited if member.name not in declared]
        for member in [*shape.members, *inherited]:
            if member.parameters is None:
                lines += ["    " + line for line in doc(member.name, dice) + [f"public {member.result} {member.name} {{ get; set; }}", ""]]
        lines += self.methods(shape, dice, fields)
        for member in inherited:
            if member.parameters is not None:
                lines += ["    public " + declaration(member), *self.body(dice, fields, member, "        "), ""]
        if shape.number % 9 == 5:
            lines += self.nested(shape, dice)
        return [*lines, "}"]

    def nested(self, shape: Shape, dice) -> list[str]:
        target = self.workspace.named(shape.project, dice)
        name = NESTED[shape.number // 9 % len(NESTED)]
        return [f"    private sealed class {name}", "    {", f"        public {self.workspace.written(target)} Current {{ get; set; }}", "        public int Depth { get; set; }", "    }"]

    def methods(self, shape: Shape, dice, fields: list) -> list[str]:
        lines = []
        for member in shape.members:
            if member.parameters is not None:
                lines += ["    " + line for line in doc(member.name, dice)]
                lines += ["    public " + declaration(member), *self.body(dice, fields, member, "        "), ""]
        return lines

    def body(self, dice, fields: list, member: Member, indent: str) -> list[str]:
        """A block of statements that use what the fields and their members are."""
        lines, known = [], list(fields)
        for at in range(int(-7 * math.log(1 - dice()))):
            lines += self.statement(dice, known, f"v{at}", member)
        result = "default" if member.target >= 0 else LITERALS[member.result]
        outer = indent[4:]
        return [outer + "{", *(indent + line for line in lines), f"{indent}return {result};", outer + "}"]

    def statement(self, dice, known: list, name: str, member: Member) -> list[str]:
        """One statement; what it declares comes to be known."""
        workspace, roll = self.workspace, dice()
        receiver, target = known[int(dice() * len(known))] if known else ("", -1)
        members = workspace.shape(target).members if target >= 0 else []
        if members and roll < 0.55:
            used = members[power_law(dice, len(members), 3)]
            call = "" if used.parameters is None else "(" + ", ".join(LITERALS.get(kind, "default") for kind in used.parameters) + ")"
            if used.target >= 0:
                known.append((name, used.target))
            check = [f"if ({name} == null)", "{", f'    throw new InvalidOperationException($"{{{receiver}}} has no {used.name}");', "}"]
            return [f"var {name} = {receiver}.{used.name}{call};", *(check if used.target >= 0 and dice() < 0.3 else [])]
        if roll < 0.65:
            made = workspace.message(dice)
            known.append((name, made))
            return [f"var {name} = new {workspace.name(made)}();"]
        if roll < 0.75 and members:
            return [f"var {name} = Enumerable.Range(0, {1 + int(dice() * 90)}).Select(i => {receiver}).Where(x => x != null).ToList();", f"Console.WriteLine({name}.Count);"]
        if roll < 0.85:
            limit = 1 + int(dice() * 50)
            return [f"var {name} = 0;", f"for (var i = 0; i < {limit}; i++)", "{", f"    {name} += i * {1 + int(dice() * 9)};", "}"]
        if roll < 0.93:
            return [f"// {sentence(dice)}", f'var {name} = string.Format("{{0}} of {{1}}", nameof({member.name}), {int(dice() * 1000)});']
        return [f"if (Environment.TickCount > {int(dice() * 100_000)})", "{", f'    throw new ArgumentException("{sentence(dice)}");', "}"]


def declaration(member: Member) -> str:
    given = "" if member.parameters is None else "(" + ", ".join(f"{kind} p{at}" for at, kind in enumerate(member.parameters)) + ")"
    return f"{member.result} {member.name}{given}"


def sentence(dice) -> str:
    return f"The {ADJECTIVES[int(dice() * len(ADJECTIVES))].lower()} {NOUNS[int(dice() * len(NOUNS))].lower()} of the {NOUNS[int(dice() * len(NOUNS))].lower()}."


def doc(name: str, dice) -> list[str]:
    return ["/// <summary>", f"/// {sentence(dice)} See <see cref=\"{name}\"/>.", "/// </summary>"] if dice() < 0.4 else []


def write(types: int, folder: Path) -> Workspace:
    """Writes all of it."""
    workspace = Workspace(types)
    text = Text(workspace)
    usings = "using System;\nusing System.Collections.Generic;\nusing System.Linq;\n"
    for project in range(workspace.projects):
        home = folder / f"src/Area{project:04}"
        home.mkdir(parents=True)
        references = workspace.references(project)
        opened = usings + "".join(f"using Acme.Area{other:04};\n" for other in references) + "using Acme.Messages;\n"
        begin = f"{opened}\nnamespace Acme.Area{project:04};\n\n"
        number, end, file = project * PER_PROJECT, min((project + 1) * PER_PROJECT, workspace.plain), 0
        while number < end:
            count = min(FILE_SIZES[file % len(FILE_SIZES)], end - number)
            parts = ["\n".join(text.type(at, "", False)) for at in range(number, number + count)]
            (home / f"{workspace.name(number)}.cs").write_text(begin + "\n\n".join(parts) + "\n")
            for at in filter(text.is_partial, range(number, number + count)):
                (home / f"{workspace.name(at)}.Part.cs").write_text(begin + "\n".join(text.type(at, "", True)) + "\n")
            number, file = number + count, file + 1
        write_project(home / f"Area{project:04}.csproj", [f"../Area{other:04}/Area{other:04}.csproj" for other in references] + ["../Messages/Messages.csproj"])
    home = folder / "src/Messages"
    home.mkdir(parents=True)
    # By its name an ordinary file: files that the rules know as generated are left out.
    messages = ("\n".join(text.type(number, "", False)) for number in range(workspace.plain, types))
    (home / "Messages.cs").write_text("// <auto-generated/>\nusing System;\n\nnamespace Acme.Messages;\n\n" + "\n\n".join(messages) + "\n")
    write_project(home / "Messages.csproj", [])
    return workspace


def write_project(path: Path, references: list[str]) -> None:
    items = "".join(f'    <ProjectReference Include="{reference}" />\n' for reference in references)
    path.write_text(
        '<Project Sdk="Microsoft.NET.Sdk">\n  <PropertyGroup>\n    <TargetFramework>net8.0</TargetFramework>\n  </PropertyGroup>\n'
        f"  <ItemGroup>\n{items}  </ItemGroup>\n</Project>\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("types", type=int, metavar="N")
    parser.add_argument("folder", type=Path, metavar="DIR", help="must not hold src/")
    args = parser.parse_args()
    if args.types < 10:
        parser.exit(2, "scale_workspace.py: ten types at least\n")
    try:
        write(args.types, args.folder)
    except OSError as error:
        parser.exit(2, f"scale_workspace.py: {error}\n")


if __name__ == "__main__":
    sys.exit(main())
