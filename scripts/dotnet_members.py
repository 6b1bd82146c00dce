#!/usr/bin/env python3
"""Writes producers/csharp/data/dotnet8.txt: what the assemblies of .NET declare publicly or for heirs, from their metadata.

  scripts/dotnet_members.py [OUT]       needs the compiler that scripts/oracle.sh setup installs

A line per type: key, kind (`c` class, `t` static class, `s` struct, `i` interface, `e` enum, `d` delegate), bases. Then its members, each behind
a tab: name, flags (`m` method, `x` extension method, `o` operator, `p` value; behind it `q` where only heirs see it, then `s` where it is
static), number of type parameters, result, parameters between `;`, each after `in`, `ref` or `out`, then `params` or `opt`. Namespaces of machine instructions hold
names of types only. Of what compilers read alone nothing is written: explicit implementations, accessors, fields of enums."""

import glob
import os
import sys
from pathlib import Path

import oracle

NAMES_ONLY = ("System.Runtime.Intrinsics", "System.Reflection.Emit", "System.Reflection.Metadata", "System.Runtime.InteropServices.Marshalling")


def enter():
    """Goes on in the Python that can call the compiler."""
    python = oracle.folder() / "venv" / "bin" / "python"
    if Path(sys.prefix).resolve() != (oracle.folder() / "venv").resolve():
        os.execv(python, [str(python), *sys.argv])


def compilation():
    folder = oracle.folder()
    from clr_loader import get_coreclr
    from pythonnet import set_runtime

    set_runtime(get_coreclr(runtime_config=str(folder / "rt.json"), dotnet_root=str(folder / "dotnet")))
    import clr

    for name in ("Microsoft.CodeAnalysis.dll", "Microsoft.CodeAnalysis.CSharp.dll"):
        clr.AddReference(str(folder / "roslyn" / name))
    from Microsoft.CodeAnalysis import MetadataReference
    from Microsoft.CodeAnalysis.CSharp import CSharpCompilation
    from System.Collections.Generic import List

    references = List[MetadataReference]()
    for file in sorted(glob.glob((folder / "fw").read_text().strip() + "/*.dll")):
        references.Add(MetadataReference.CreateFromFile(file))
    return CSharpCompilation.Create("members", None, references, None)


def text(value):
    return str(value)


def typed(symbol):
    """A symbol as the interface of its kind, which shows what only that kind has."""
    import Microsoft.CodeAnalysis as compiler

    kind = text(symbol.Kind)
    name = {"NamedType": "INamedTypeSymbol", "ArrayType": "IArrayTypeSymbol", "PointerType": "IPointerTypeSymbol", "TypeParameter": "ITypeParameterSymbol"}.get(kind, f"I{kind}Symbol")
    return getattr(compiler, name)(symbol) if hasattr(compiler, name) else symbol


class Writer:
    """Writes symbols as the data has them."""

    def __init__(self):
        self.keys = {}

    def key(self, of):
        """Namespace and names of a type, each with the number of its own parameters."""
        own = of.MetadataName
        if of.ContainingType is not None:
            return f"{self.key(of.ContainingType)}+{own}"
        space = of.ContainingNamespace
        return own if space is None or space.IsGlobalNamespace else f"{space.ToDisplayString()}.{own}"

    def arguments(self, of):
        outer = self.arguments(of.ContainingType) if of.ContainingType is not None else []
        return outer + [self.type(one) for one in of.TypeArguments]

    def type(self, of):
        of = typed(of)
        kind = text(of.TypeKind)
        if kind == "Array":
            commas = "," * (of.Rank - 1)
            return f"{self.type(of.ElementType)}[{commas}]"
        if kind == "Pointer":
            return f"{self.type(of.PointedAtType)}*"
        if kind == "TypeParameter":
            if text(of.TypeParameterKind) == "Method":
                return f"!!{of.Ordinal}"
            outer = of.ContainingType.ContainingType
            before = 0
            while outer is not None:
                before += outer.Arity
                outer = outer.ContainingType
            return f"!{before + of.Ordinal}"
        if kind == "Dynamic":
            return "System.Object"
        if kind in ("FunctionPointer", "Error"):
            return "?"
        if of.IsTupleType:
            return "(" + ",".join(self.element(one) for one in of.TupleElements) + ")"
        arguments = self.arguments(of)
        return self.key(of) + ("{" + ",".join(arguments) + "}" if arguments else "")

    def element(self, of):
        """An element of a tuple, with the name that is written for it."""
        return f"{of.Name}:{self.type(of.Type)}" if of.IsExplicitlyNamedTupleElement else self.type(of.Type)

    def parameter(self, of):
        passing = {"Out": "out ", "Ref": "ref ", "In": "in ", "RefReadOnlyParameter": "in "}.get(text(of.RefKind), "")
        return passing + ("params " if of.IsParams else "opt " if of.IsOptional else "") + self.type(of.Type)

    def member(self, of):
        """The line of a member; None of what is not written."""
        of = typed(of)
        access = text(of.DeclaredAccessibility)
        family = {"Public": "", "Protected": "q", "ProtectedOrInternal": "q"}.get(access)
        if family is None or of.IsImplicitlyDeclared and text(of.Kind) != "Method":
            return None
        kind, static = text(of.Kind), "s" if of.IsStatic else ""
        if kind == "Method":
            how = text(of.MethodKind)
            if how == "Constructor":
                name, letter, result = ".ctor", "m", ""
                static = ""
            elif how in ("UserDefinedOperator", "Conversion", "BuiltinOperator"):
                name, letter, result = of.Name, "o", self.type(of.ReturnType)
            elif how in ("Ordinary", "DelegateInvoke"):
                name, letter, result = of.Name, "x" if of.IsExtensionMethod else "m", self.type(of.ReturnType)
            else:
                return None
            parameters = ";".join(self.parameter(one) for one in of.Parameters)
            return f"\t{name}\t{letter}{family}{static}\t{of.Arity}\t{result}\t{parameters}\n"
        if kind == "Property":
            name = "this[]" if of.IsIndexer else of.Name
            parameters = ";".join(self.parameter(one) for one in of.Parameters)
            return None if "." in name else f"\t{name}\tp{family}{static}\t0\t{self.type(of.Type)}\t{parameters}\n"
        if kind in ("Field", "Event"):
            return f"\t{of.Name}\tp{family}{static}\t0\t{self.type(of.Type)}\t\n"
        return None

    def lines(self, of):
        """The lines of a type and of those in it."""
        if text(of.DeclaredAccessibility) not in ("Public", "Protected", "ProtectedOrInternal"):
            return
        kind = {"Class": "t" if of.IsStatic else "c", "Struct": "s", "Interface": "i", "Enum": "e", "Delegate": "d"}.get(text(of.TypeKind))
        if kind is None:
            return
        key = self.key(of)
        bases = []
        if kind == "c" and of.BaseType is not None and self.key(of.BaseType) != "System.Object":
            bases.append(of.BaseType)
        if kind in "csi":
            bases += list(of.Interfaces)
        head = f"{key}\t{kind}\t{' '.join(self.type(one) for one in bases)}\n"
        members = []
        if kind != "e" and not key.startswith(NAMES_ONLY):
            for one in of.GetMembers():
                if kind == "d" and one.Name != "Invoke":
                    continue
                line = self.member(one)
                if line:
                    members.append(line)
        yield key, head + "".join(sorted(set(members)))
        for inner in of.GetTypeMembers():
            yield from self.lines(inner)


def types(space):
    yield from space.GetTypeMembers()
    for inner in space.GetNamespaceMembers():
        yield from types(inner)


def main():
    enter()
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else oracle.SCRIPTS.parent / "producers" / "csharp" / "data" / "dotnet8.txt"
    writer, found = Writer(), {}
    made = compilation()
    for assembly in made.SourceModule.ReferencedAssemblySymbols:
        for of in types(assembly.GlobalNamespace):
            for key, lines in writer.lines(of):
                found.setdefault(key, lines)
    out.write_text("".join(found[key] for key in sorted(found)), encoding="utf-8")
    print(f"{len(found)} types, {out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
