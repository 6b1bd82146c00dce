// Roslyn oracle: lists what the C# compiler itself says about a set of sources, as JSON lines in a fixed order.
//
//   oracle manifest <manifest.txt> [options]        several projects, see Manifest below
//   oracle folder   <dir> [options]                 every *.cs under dir (bin/ and obj/ left out) as one project
//
// options:
//   --out <file>            default stdout
//   --base <dir>            paths are written relative to this folder (default: folder of the manifest / dir)
//   --refdir <dir>          every *.dll there becomes a metadata reference of every project (repeatable)
//   --define A;B            folder mode: preprocessor symbols
//   --using "System;static System.Math"  folder mode: global usings
//   --lang <version>        C# language version (default: preview)
//   --members all|api       which members get a record (default all; api = public/protected/protected internal)
//   --occ                   one record for each written type name (file, utf-8 byte offset, target)
//   --body                  body edges as well as structure edges
//   --facts                 the records in the comparable form of `cortex dev facts` (see Facts below) instead of the full ones
//
// records (field order fixed; every list sorted ordinally unless it is source order by nature):
//   {"k":"project"...} {"k":"file"...} {"k":"type"...} {"k":"member"...} {"k":"edge"...} {"k":"occ"...}
//   with --facts {"k":"gap","in":TYPE,"t":NAME}: a name in that type's code, or of an attribute, that the compiler cannot bind (it may have candidates)
//
// Manifest: one directive per line, '#' starts a comment line:
//   project NAME | assembly NAME | ivt FRIENDASSEMBLY | define SYM | using TEXT | file PATH [| under SYM;SYM for that file alone] | ref PROJECTNAME | refdll PATH | lang V | unsafe | nullable enable|disable | end
#nullable enable
using System;
using System.Collections.Generic;
using System.Collections.Immutable;
using System.IO;
using System.Linq;
using System.Text;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.CSharp.Syntax;
using Microsoft.CodeAnalysis.Text;

static class Oracle
{
    sealed class Proj
    {
        public string Name = "project";
        public string? Assembly;
        public List<string> Files = new(), Defines = new(), Usings = new(), Refs = new(), RefDlls = new(), Friends = new();
        public Dictionary<string, string[]> Under = new(StringComparer.Ordinal);     // files that are read under other symbols than the project's
        public string? Lang;
        public bool Unsafe = true;
        public string Nullable = "enable";
    }

    static string baseDir = "";
    static bool wantOcc, wantBody, apiOnly, facts;
    static LanguageVersion defaultLang = LanguageVersion.Preview;
    static readonly List<string> refDirs = new();

    static int Main(string[] args)
    {
        if (args.Length < 2) { Console.Error.WriteLine("usage: oracle manifest|folder PATH [options]"); return 2; }
        string? outPath = null; string mode = args[0], path = Path.GetFullPath(args[1]);
        var defines = new List<string>(); var usings = new List<string>();
        baseDir = mode == "folder" ? path : Path.GetDirectoryName(path)!;
        for (int i = 2; i < args.Length; i++)
        {
            switch (args[i])
            {
                case "--out": outPath = args[++i]; break;
                case "--base": baseDir = Path.GetFullPath(args[++i]); break;
                case "--refdir": refDirs.Add(args[++i]); break;
                case "--define": defines.AddRange(args[++i].Split(';', StringSplitOptions.RemoveEmptyEntries)); break;
                case "--using": usings.AddRange(args[++i].Split(';', StringSplitOptions.RemoveEmptyEntries)); break;
                case "--lang": if (!LanguageVersionFacts.TryParse(args[++i], out defaultLang)) { Console.Error.WriteLine("bad --lang"); return 2; } break;
                case "--members": apiOnly = args[++i] == "api"; break;
                case "--occ": wantOcc = true; break;
                case "--body": wantBody = true; break;
                case "--facts": facts = true; break;
                default: Console.Error.WriteLine("unknown option " + args[i]); return 2;
            }
        }
        List<Proj> projects;
        if (mode == "folder")
        {
            var p = new Proj { Name = Path.GetFileName(path.TrimEnd('/', '\\')), Defines = defines, Usings = usings };
            foreach (var f in Directory.EnumerateFiles(path, "*.cs", SearchOption.AllDirectories))
            {
                var rel = "/" + Path.GetRelativePath(path, f).Replace('\\', '/');
                if (!rel.Contains("/bin/") && !rel.Contains("/obj/")) p.Files.Add(f);
            }
            projects = new List<Proj> { p };
        }
        else projects = ReadManifest(path);

        using var raw = outPath == null ? Console.OpenStandardOutput() : File.Create(outPath);
        using var w = new StreamWriter(raw, new UTF8Encoding(false)) { NewLine = "\n" };
        Run(projects, w);
        return 0;
    }

    static List<Proj> ReadManifest(string path)
    {
        var dir = Path.GetDirectoryName(path)!;
        var list = new List<Proj>(); Proj? cur = null;
        foreach (var line0 in File.ReadAllLines(path))
        {
            var line = line0.Trim();
            if (line.Length == 0 || line[0] == '#') continue;
            int sp = line.IndexOf(' ');
            string key = sp < 0 ? line : line[..sp], val = sp < 0 ? "" : line[(sp + 1)..].Trim();
            if (key == "project") { cur = new Proj { Name = val }; list.Add(cur); continue; }
            if (cur == null) throw new InvalidDataException("directive before project: " + line);
            switch (key)
            {
                case "define": cur.Defines.Add(val); break;
                case "using": cur.Usings.Add(val); break;
                case "file": cur.Files.Add(Path.GetFullPath(Path.Combine(dir, val))); break;
                case "under": cur.Under[cur.Files[^1]] = val.Split(';', StringSplitOptions.RemoveEmptyEntries); break;
                case "ref": cur.Refs.Add(val); break;
                case "assembly": cur.Assembly = val; break;
                case "ivt": cur.Friends.Add(val); break;
                case "refdll": cur.RefDlls.Add(Path.GetFullPath(Path.Combine(dir, val))); break;
                case "lang": cur.Lang = val; break;
                case "unsafe": cur.Unsafe = true; break;
                case "nullable": cur.Nullable = val; break;
                case "end": cur = null; break;
                default: throw new InvalidDataException("unknown directive: " + line);
            }
        }
        return list;
    }

    // ---------------------------------------------------------------- compilations

    static readonly Dictionary<string, MetadataReference> dllCache = new(StringComparer.Ordinal);
    static MetadataReference? Dll(string p)
    {
        if (dllCache.TryGetValue(p, out var r)) return r;
        try { System.Reflection.AssemblyName.GetAssemblyName(p); } catch { return null; }   // native or broken
        return dllCache[p] = MetadataReference.CreateFromFile(p);
    }

    static void Run(List<Proj> projects, StreamWriter w)
    {
        var byName = new Dictionary<string, Proj>(StringComparer.Ordinal);
        foreach (var p in projects) byName[p.Name] = p;
        var done = new Dictionary<string, CSharpCompilation>(StringComparer.Ordinal);
        var busy = new HashSet<string>(StringComparer.Ordinal);
        CSharpCompilation? Build(string name)
        {
            if (done.TryGetValue(name, out var c)) return c;
            if (!byName.TryGetValue(name, out var p) || !busy.Add(name)) return null;      // unknown or cyclic: dropped
            var refs = new List<MetadataReference>();
            foreach (var r in Closure(p, byName)) { var rc = Build(r); if (rc != null) refs.Add(rc.ToMetadataReference()); }
            foreach (var d in refDirs) foreach (var f in Directory.GetFiles(d, "*.dll").OrderBy(x => x, StringComparer.Ordinal)) { var m = Dll(f); if (m != null) refs.Add(m); }
            foreach (var f in p.RefDlls) { var m = Dll(f); if (m != null) refs.Add(m); }
            var lang = defaultLang;
            if (p.Lang != null && LanguageVersionFacts.TryParse(p.Lang, out var lv)) lang = lv;
            var po = new CSharpParseOptions(lang, DocumentationMode.Parse, SourceCodeKind.Regular, p.Defines.Distinct().OrderBy(x => x, StringComparer.Ordinal));
            var trees = new List<SyntaxTree>();
            foreach (var f in p.Files.Distinct().OrderBy(x => x, StringComparer.Ordinal))
                if (File.Exists(f)) { using var s = File.OpenRead(f); trees.Add(CSharpSyntaxTree.ParseText(SourceText.From(s, Encoding.UTF8), p.Under.TryGetValue(f, out var under) ? po.WithPreprocessorSymbols(under) : po, f)); }
            if (p.Usings.Count > 0)
                trees.Add(CSharpSyntaxTree.ParseText(string.Concat(p.Usings.Distinct().OrderBy(x => x, StringComparer.Ordinal).Select(u => "global using " + u.TrimEnd(';') + ";\n")), po, "<globals>", Encoding.UTF8));
            if (p.Friends.Count > 0)
                trees.Add(CSharpSyntaxTree.ParseText(string.Concat(p.Friends.Distinct().OrderBy(x => x, StringComparer.Ordinal).Select(u => "[assembly: System.Runtime.CompilerServices.InternalsVisibleTo(\"" + u + "\")]\n")), po, "<friends>", Encoding.UTF8));
            var opt = new CSharpCompilationOptions(OutputKind.DynamicallyLinkedLibrary, allowUnsafe: p.Unsafe,
                nullableContextOptions: p.Nullable == "enable" ? NullableContextOptions.Enable : NullableContextOptions.Disable);
            c = CSharpCompilation.Create(p.Assembly ?? p.Name, trees, refs, opt);
            done[name] = c;
            return c;
        }
        foreach (var p in projects.OrderBy(x => x.Name, StringComparer.Ordinal))
        {
            var c = Build(p.Name)!;
            Emit(p, c, w);
            w.Flush();
        }
    }

    static IEnumerable<string> Closure(Proj p, Dictionary<string, Proj> byName)   // project references are transitive
    {
        var seen = new HashSet<string>(StringComparer.Ordinal) { p.Name }; var res = new List<string>(); var st = new Stack<string>(p.Refs);
        while (st.Count > 0)
        {
            var n = st.Pop();
            if (!seen.Add(n)) continue;
            res.Add(n);
            if (byName.TryGetValue(n, out var q)) foreach (var r in q.Refs) st.Push(r);
        }
        res.Sort(StringComparer.Ordinal);
        return res;
    }

    // ---------------------------------------------------------------- output of one project

    sealed class FileMap
    {
        readonly int[] utf8; readonly int bom; public readonly string Path;
        public FileMap(SyntaxTree t)
        {
            Path = Rel(t.FilePath);
            var s = t.GetText().ToString();
            utf8 = new int[s.Length + 1]; int o = 0;
            for (int i = 0; i < s.Length; i++)
            {
                utf8[i] = o; char ch = s[i];
                if (ch < 0x80) o += 1; else if (ch < 0x800) o += 2;
                else if (char.IsHighSurrogate(ch) && i + 1 < s.Length && char.IsLowSurrogate(s[i + 1])) { o += 4; utf8[++i] = o; }
                else o += 3;
            }
            utf8[s.Length] = o;
            try { using var f = File.OpenRead(t.FilePath); bom = f.ReadByte() == 0xEF && f.ReadByte() == 0xBB && f.ReadByte() == 0xBF ? 3 : 0; } catch { bom = 0; }
        }
        public int At(int pos) => utf8[pos] + bom;
    }

    static string Rel(string p) => p.Length > 0 && p[0] == '<' ? p : Path.GetRelativePath(baseDir, p).Replace('\\', '/');

    static readonly SymbolDisplayFormat SigFormat = new(
        globalNamespaceStyle: SymbolDisplayGlobalNamespaceStyle.Omitted,
        typeQualificationStyle: SymbolDisplayTypeQualificationStyle.NameAndContainingTypesAndNamespaces,
        genericsOptions: SymbolDisplayGenericsOptions.IncludeTypeParameters | SymbolDisplayGenericsOptions.IncludeVariance | SymbolDisplayGenericsOptions.IncludeTypeConstraints,
        memberOptions: SymbolDisplayMemberOptions.IncludeType | SymbolDisplayMemberOptions.IncludeModifiers | SymbolDisplayMemberOptions.IncludeAccessibility
            | SymbolDisplayMemberOptions.IncludeExplicitInterface | SymbolDisplayMemberOptions.IncludeParameters | SymbolDisplayMemberOptions.IncludeContainingType | SymbolDisplayMemberOptions.IncludeRef,
        delegateStyle: SymbolDisplayDelegateStyle.NameAndSignature,
        extensionMethodStyle: SymbolDisplayExtensionMethodStyle.StaticMethod,
        parameterOptions: SymbolDisplayParameterOptions.IncludeType | SymbolDisplayParameterOptions.IncludeParamsRefOut | SymbolDisplayParameterOptions.IncludeExtensionThis,
        propertyStyle: SymbolDisplayPropertyStyle.ShowReadWriteDescriptor,
        miscellaneousOptions: SymbolDisplayMiscellaneousOptions.UseSpecialTypes | SymbolDisplayMiscellaneousOptions.IncludeNullableReferenceTypeModifier | SymbolDisplayMiscellaneousOptions.EscapeKeywordIdentifiers);

    static readonly SymbolDisplayFormat FqnFormat = new(
        globalNamespaceStyle: SymbolDisplayGlobalNamespaceStyle.Omitted,
        typeQualificationStyle: SymbolDisplayTypeQualificationStyle.NameAndContainingTypesAndNamespaces,
        genericsOptions: SymbolDisplayGenericsOptions.IncludeTypeParameters);

    static string Id(ISymbol s) => s.GetDocumentationCommentId() ?? "?:" + s.ToDisplayString(FqnFormat);

    static string TypeId(ITypeSymbol t) => t is IErrorTypeSymbol e ? "!:" + e.ToDisplayString(FqnFormat) : Id(t.OriginalDefinition);

    static string Kind(INamedTypeSymbol t) => t.TypeKind switch
    {
        TypeKind.Class => t.IsRecord ? "record" : "class",
        TypeKind.Struct => t.IsRecord ? "record struct" : "struct",
        TypeKind.Interface => "interface",
        TypeKind.Enum => "enum",
        TypeKind.Delegate => "delegate",
        _ => t.TypeKind.ToString().ToLowerInvariant(),
    };

    static string Acc(Accessibility a) => a switch
    {
        Accessibility.Public => "public",
        Accessibility.Protected => "protected",
        Accessibility.ProtectedOrInternal => "protected internal",
        Accessibility.ProtectedAndInternal => "private protected",
        Accessibility.Internal => "internal",
        Accessibility.Private => "private",
        _ => "none",
    };

    static void Emit(Proj p, CSharpCompilation comp, StreamWriter w)
    {
        var maps = new Dictionary<SyntaxTree, FileMap>();
        foreach (var t in comp.SyntaxTrees) maps[t] = new FileMap(t);
        var j = new Json();
        w.WriteLine(j.New().S("k", "project").S("name", p.Name).N("files", comp.SyntaxTrees.Length).A("defines", p.Defines.Distinct().OrderBy(x => x, StringComparer.Ordinal))
            .A("usings", p.Usings.OrderBy(x => x, StringComparer.Ordinal)).A("refs", p.Refs.OrderBy(x => x, StringComparer.Ordinal))
            .S("roslyn", typeof(CSharpCompilation).Assembly.GetName().Version!.ToString()).S("lang", (p.Lang ?? defaultLang.ToDisplayString())).End());
        foreach (var t in comp.SyntaxTrees.OrderBy(t => maps[t].Path, StringComparer.Ordinal))
        {
            var errs = t.GetDiagnostics().Where(d => d.Severity == DiagnosticSeverity.Error).ToList();
            w.WriteLine(j.New().S("k", "file").S("p", p.Name).S("path", maps[t].Path).N("syntaxErrors", errs.Count)
                .A("codes", errs.Select(d => d.Id).Distinct().OrderBy(x => x, StringComparer.Ordinal)).End());
        }
        var types = new List<INamedTypeSymbol>();
        void Collect(INamespaceOrTypeSymbol s)
        {
            foreach (var m in s.GetMembers())
                if (m is INamespaceSymbol ns) Collect(ns);
                else if (m is INamedTypeSymbol nt) { if (!nt.IsImplicitlyDeclared || nt.DeclaringSyntaxReferences.Length > 0) types.Add(nt); Collect(nt); }
        }
        Collect(comp.Assembly.GlobalNamespace);
        types.Sort((a, b) => { int c = string.CompareOrdinal(Id(a), Id(b)); return c != 0 ? c : string.CompareOrdinal(FirstLoc(a, maps), FirstLoc(b, maps)); });
        var edges = new SortedDictionary<string, int>(StringComparer.Ordinal);
        foreach (var t in types) EmitType(p, t, maps, j, w, edges);
        var occ = new List<string>();
        var gaps = new SortedSet<string>(StringComparer.Ordinal);
        if (wantBody || wantOcc)
            foreach (var t in comp.SyntaxTrees.OrderBy(t => maps[t].Path, StringComparer.Ordinal))
                Names(p, comp, t, maps[t], edges, j, wantOcc ? occ : null, gaps);
        var seen = new HashSet<string>(StringComparer.Ordinal);
        foreach (var e in edges)
        {
            var f = e.Key.Split('\t');
            if (facts)
            {
                if (f[3] != "source" || f[1] == "T:") continue;      // types without a name belong to lambdas
                string cat = f[2].StartsWith("sig:") || f[2] is "constraint" or "explicit" ? "sig" : f[2];
                if (seen.Add(f[0] + "\t" + f[1] + "\t" + cat)) w.WriteLine(j.New().S("k", "edge").S("p", p.Name).S("from", f[0]).S("to", f[1]).S("cat", cat).End());
                continue;
            }
            w.WriteLine(j.New().S("k", "edge").S("p", p.Name).S("from", f[0]).S("to", f[1]).S("cat", f[2]).S("where", f[3]).N("n", e.Value).End());
        }
        foreach (var o in occ) w.WriteLine(o);
        if (facts) foreach (var g in gaps) { var f = g.Split('\t'); w.WriteLine(j.New().S("k", "gap").S("p", p.Name).S("in", f[0]).S("t", f[1]).End()); }
    }

    static string FirstLoc(ISymbol s, Dictionary<SyntaxTree, FileMap> maps)
    {
        string? best = null;
        foreach (var r in s.DeclaringSyntaxReferences) { var x = maps[r.SyntaxTree].Path + ":" + r.Span.Start.ToString("D9"); if (best == null || string.CompareOrdinal(x, best) < 0) best = x; }
        return best ?? "";
    }

    static string Xml(ISymbol s) => (s.GetDocumentationCommentXml(System.Globalization.CultureInfo.InvariantCulture, false) ?? "").Replace("\r\n", "\n");

    static string Where(ITypeSymbol t)     // where the target lives
    {
        if (t is IErrorTypeSymbol) return "error";
        return t.Locations.Any(l => l.IsInSource) ? "source" : "metadata";
    }

    static IEnumerable<string> Parts(ISymbol s, Dictionary<SyntaxTree, FileMap> maps)
    {
        var l = new List<(string, int, int)>();
        IEnumerable<SyntaxReference> refs = s.DeclaringSyntaxReferences;
        if (s is IMethodSymbol { PartialImplementationPart: { } impl }) refs = refs.Concat(impl.DeclaringSyntaxReferences);
        foreach (var r in refs)
        {
            var n = r.GetSyntax();
            if (n is VariableDeclaratorSyntax v && v.Parent?.Parent is MemberDeclarationSyntax md) n = md;
            var m = maps[n.SyntaxTree];
            l.Add((m.Path, m.At(n.Span.Start), m.At(n.Span.End)));
        }
        l.Sort((a, b) => { int c = string.CompareOrdinal(a.Item1, b.Item1); return c != 0 ? c : a.Item2.CompareTo(b.Item2); });
        return l.Select(x => x.Item1 + ":" + x.Item2 + "-" + x.Item3);
    }

    static void EmitType(Proj p, INamedTypeSymbol t, Dictionary<SyntaxTree, FileMap> maps, Json j, StreamWriter w, SortedDictionary<string, int> edges)
    {
        string id = Id(t);
        var mods = new List<string>();
        if (t.IsAbstract && t.TypeKind == TypeKind.Class && !t.IsStatic) mods.Add("abstract");
        if (t.IsReadOnly) mods.Add("readonly");
        if (t.IsRefLikeType) mods.Add("ref");
        if (t.IsSealed && t.TypeKind == TypeKind.Class && !t.IsStatic) mods.Add("sealed");
        if (t.IsStatic) mods.Add("static");
        if (t.IsFileLocal) mods.Add("file");
        bool partial = t.DeclaringSyntaxReferences.Any(r => r.GetSyntax() is CompilationUnitSyntax || r.GetSyntax() is TypeDeclarationSyntax td && td.Modifiers.Any(SyntaxKind.PartialKeyword));
        if (partial) mods.Add("partial");
        if (facts) w.WriteLine(j.New().S("k", "type").S("p", p.Name).S("id", id).S("kind", Kind(t)).N("arity", t.Arity).S("acc", Acc(t.DeclaredAccessibility))
            .A("mods", mods.OrderBy(x => x, StringComparer.Ordinal)).A("bases", Facts.Bases(t)).A("marks", Facts.Marks(t))
            .A("parts", Parts(t, maps).Select(x => x[..x.LastIndexOf(':')]).Distinct()).S("head", Facts.Head(t)).End());
        else w.WriteLine(j.New().S("k", "type").S("p", p.Name).S("id", id).S("fqn", t.ToDisplayString(FqnFormat)).S("kind", Kind(t)).N("arity", t.Arity)
            .S("acc", Acc(t.DeclaredAccessibility)).A("mods", mods.OrderBy(x => x, StringComparer.Ordinal))
            .S("base", t.BaseType == null ? "" : t.BaseType.ToDisplayString(SigFormat)).A("ifaces", t.Interfaces.Select(i => i.ToDisplayString(SigFormat)))
            .A("attrs", Attrs(t)).A("parts", Parts(t, maps)).S("sig", t.ToDisplayString(SigFormat)).S("xml", Xml(t)).End());

        // structure edges of the type itself
        if (t.BaseType != null && !IsTrivialBase(t.BaseType)) Edge(edges, t, t.BaseType, "base");
        foreach (var i in t.Interfaces) Edge(edges, t, i, "base");
        foreach (var tp in t.TypeParameters) foreach (var c in tp.ConstraintTypes) Edge(edges, t, c, "constraint");
        AttrEdges(edges, t, t);
        if (t.TypeKind == TypeKind.Delegate && t.DelegateInvokeMethod is { } inv)
        {
            Edge(edges, t, inv.ReturnType, "sig:" + Acc(t.DeclaredAccessibility));
            foreach (var q in inv.Parameters) { Edge(edges, t, q.Type, "sig:" + Acc(t.DeclaredAccessibility)); AttrEdges(edges, t, q); }
        }

        var members = new List<ISymbol>();
        foreach (var m in t.GetMembers())
        {
            if (m is INamedTypeSymbol) continue;
            if (m.IsImplicitlyDeclared) continue;
            if (m is IMethodSymbol { AssociatedSymbol: not null }) continue;          // accessors
            if (t.TypeKind == TypeKind.Delegate) continue;
            members.Add(m);
        }
        members.Sort((a, b) => { int c = string.CompareOrdinal(Id(a), Id(b)); return c != 0 ? c : string.CompareOrdinal(FirstLoc(a, maps), FirstLoc(b, maps)); });
        foreach (var m in members)
        {
            string acc = Acc(m.DeclaredAccessibility);
            bool api = m.DeclaredAccessibility is Accessibility.Public or Accessibility.Protected or Accessibility.ProtectedOrInternal;
            string cat = "sig:" + acc;
            switch (m)
            {
                case IMethodSymbol x:
                    Edge(edges, t, x.ReturnType, cat);
                    foreach (var q in x.Parameters) { Edge(edges, t, q.Type, cat); AttrEdges(edges, t, q); }
                    if (!facts || !x.IsOverride && x.ExplicitInterfaceImplementations.Length == 0)      // inherited, not written
                        foreach (var tp in x.TypeParameters) foreach (var c in tp.ConstraintTypes) Edge(edges, t, c, "constraint");
                    foreach (var e in x.ExplicitInterfaceImplementations) Edge(edges, t, e.ContainingType, "explicit");
                    break;
                case IPropertySymbol x:
                    Edge(edges, t, x.Type, cat);
                    foreach (var q in x.Parameters) Edge(edges, t, q.Type, cat);
                    foreach (var e in x.ExplicitInterfaceImplementations) Edge(edges, t, e.ContainingType, "explicit");
                    break;
                case IEventSymbol x: Edge(edges, t, x.Type, cat); foreach (var e in x.ExplicitInterfaceImplementations) Edge(edges, t, e.ContainingType, "explicit"); break;
                case IFieldSymbol x: if (t.TypeKind != TypeKind.Enum) Edge(edges, t, x.Type, cat); break;
            }
            AttrEdges(edges, t, m);
            if (apiOnly && !api || facts && m.Name.StartsWith('<')) continue;
            if (facts) w.WriteLine(j.New().S("k", "member").S("p", p.Name).S("type", id).S("id", Id(m)).S("kind", Facts.Kind(m)).S("key", Facts.Key(m))
                .S("acc", acc).S("sig", Facts.Sig(m)).A("marks", Facts.Marks(m)).End());
            else w.WriteLine(j.New().S("k", "member").S("p", p.Name).S("type", id).S("id", Id(m)).S("kind", m.Kind.ToString().ToLowerInvariant() + (m is IMethodSymbol ms && ms.MethodKind != MethodKind.Ordinary ? ":" + ms.MethodKind.ToString().ToLowerInvariant() : ""))
                .S("acc", acc).S("sig", m.ToDisplayString(SigFormat)).A("attrs", Attrs(m)).A("parts", Parts(m, maps)).S("xml", Xml(m)).End());
        }
    }

    static bool IsTrivialBase(INamedTypeSymbol b) => b.SpecialType is SpecialType.System_Object or SpecialType.System_ValueType or SpecialType.System_Enum or SpecialType.System_MulticastDelegate;

    static IEnumerable<string> Attrs(ISymbol s) => s.GetAttributes().Where(a => a.AttributeClass != null).Select(a => TypeId(a.AttributeClass!)).OrderBy(x => x, StringComparer.Ordinal);

    static void AttrEdges(SortedDictionary<string, int> edges, INamedTypeSymbol from, ISymbol on)
    {
        foreach (var a in on.GetAttributes())
        {
            if (a.ApplicationSyntaxReference == null) continue;            // synthesized
            if (a.AttributeClass != null) Edge(edges, from, a.AttributeClass, "attr");
            foreach (var c in a.ConstructorArguments) ConstEdges(edges, from, c);
            foreach (var c in a.NamedArguments) ConstEdges(edges, from, c.Value);
        }
    }

    static void ConstEdges(SortedDictionary<string, int> edges, INamedTypeSymbol from, TypedConstant c)
    {
        if (c.Kind == TypedConstantKind.Array) { if (!c.IsNull) foreach (var v in c.Values) ConstEdges(edges, from, v); }
        else if (c.Kind == TypedConstantKind.Type && c.Value is ITypeSymbol ts) Edge(edges, from, ts, "attr");
        else if (c.Kind == TypedConstantKind.Enum && c.Type != null) Edge(edges, from, c.Type, "attr");
    }

    static void Edge(SortedDictionary<string, int> edges, INamedTypeSymbol from, ITypeSymbol to, string cat)
    {
        foreach (var n in Named(to))
        {
            if (n.SpecialType == SpecialType.System_Void) continue;
            if (SymbolEqualityComparer.Default.Equals(n.OriginalDefinition, from.OriginalDefinition)) continue;
            var key = Id(from) + "\t" + TypeId(n) + "\t" + cat + "\t" + Where(n);
            edges.TryGetValue(key, out int c); edges[key] = c + 1;
        }
    }

    static IEnumerable<INamedTypeSymbol> Named(ITypeSymbol t)
    {
        switch (t)
        {
            case IArrayTypeSymbol a: foreach (var x in Named(a.ElementType)) yield return x; break;
            case IPointerTypeSymbol q: foreach (var x in Named(q.PointedAtType)) yield return x; break;
            case IFunctionPointerTypeSymbol f:
                foreach (var x in Named(f.Signature.ReturnType)) yield return x;
                foreach (var pr in f.Signature.Parameters) foreach (var x in Named(pr.Type)) yield return x;
                break;
            case INamedTypeSymbol n:
                if (n.IsTupleType) { foreach (var e in n.TupleElements) foreach (var x in Named(e.Type)) yield return x; break; }
                yield return n;
                for (INamedTypeSymbol? c = n; c != null; c = c.ContainingType)
                    foreach (var a in c.TypeArguments) if (!SymbolEqualityComparer.Default.Equals(a, n)) foreach (var x in Named(a)) yield return x;
                break;
        }
    }

    // ---------------------------------------------------------------- every written name

    static void Names(Proj p, CSharpCompilation comp, SyntaxTree tree, FileMap map, SortedDictionary<string, int> edges, Json j, List<string>? occ, SortedSet<string> gaps)
    {
        var model = comp.GetSemanticModel(tree);
        foreach (var node in tree.GetRoot().DescendantNodes())
        {
            if (node is ImplicitObjectCreationExpressionSyntax io)
            {
                if (wantBody && model.GetTypeInfo(io).Type is { } it) BodyEdge(model, io, it, "body:newtarget", edges);
                continue;
            }
            if (node is not SimpleNameSyntax name) continue;
            if (name.IsVar) { if (wantBody && model.GetTypeInfo(name).Type is { } vt) BodyEdge(model, name, vt, "body:var", edges); continue; }
            if (name.Identifier.IsMissing) continue;
            var info = model.GetSymbolInfo(name);
            ISymbol? s = info.Symbol ?? (info.CandidateSymbols.Length > 0 ? info.CandidateSymbols[0] : null);
            string cls = Class(name);
            bool typeCtx = SyntaxFacts.IsInTypeOnlyContext(name) || SyntaxFacts.IsInNamespaceOrTypeContext(name);
            ITypeSymbol? target = null; string how = "name";
            if (info.Symbol == null && ((cls is "body" or "attrarg") && !typeCtx && Undecided(model, name, info) || cls == "attr" && info.CandidateReason == CandidateReason.NotAnAttributeType))
                gaps.Add(Encloser(model, name) + "\t" + name.Identifier.ValueText);
            switch (s)
            {
                case ITypeSymbol ts: target = ts; break;
                case IAliasSymbol al when al.Target is ITypeSymbol at: target = at; break;
                case IMethodSymbol ms when cls == "attr" && ms.MethodKind == MethodKind.Constructor: target = ms.ContainingType; break;
                case IMethodSymbol ms: target = ms.ContainingType; how = ms.ReducedFrom != null ? "ext" : ms.MethodKind == MethodKind.Constructor ? "name" : "member"; break;
                case IPropertySymbol or IFieldSymbol or IEventSymbol: target = s.ContainingType; how = "member"; break;
                case null when typeCtx: break;
                default: continue;                                      // namespaces, locals, parameters, labels, range variables
            }
            if (how == "name")
            {
                if (occ != null)
                    occ.Add(j.New().S("k", "occ").S("p", p.Name).S("in", Encloser(model, name)).S("f", map.Path).N("o", map.At(name.Identifier.SpanStart)).S("t", name.Identifier.ValueText)
                        .N("a", name is GenericNameSyntax g ? g.Arity : 0).S("c", cls)
                        .S("to", target == null ? "!" : target is ITypeParameterSymbol tp ? "param" : TypeId(target))
                        .S("w", target == null ? "error" : target is ITypeParameterSymbol ? "param" : Where(target))
                        .N("al", model.GetAliasInfo(name) != null ? 1 : 0).End());
                if (wantBody && cls is "body" && target != null) BodyEdge(model, name, target, "body:name", edges);
            }
            else if (wantBody && target != null) BodyEdge(model, name, target, "body:" + how, edges);
        }
    }

    // Whether a name is not bound because something that is bound, before it or among its arguments, has a type that is unknown here, such
    // as a type of a package. What begins with an unknown name is unknown to everybody; a dynamic value is no gap.
    static bool Undecided(SemanticModel model, SimpleNameSyntax name, SymbolInfo info)
    {
        ExpressionSyntax? receiver = name.Parent switch
        {
            MemberAccessExpressionSyntax m when m.Name == name => m.Expression,
            MemberBindingExpressionSyntax b => b.FirstAncestorOrSelf<ConditionalAccessExpressionSyntax>()?.Expression,
            _ => null,
        };
        if (receiver == null) return info.CandidateSymbols.Length > 0;
        if (model.GetTypeInfo(receiver).Type?.TypeKind == TypeKind.Dynamic) return false;
        for (SyntaxNode root = receiver; ; )
        {
            switch (root)
            {
                case MemberAccessExpressionSyntax m: root = m.Expression; continue;
                case InvocationExpressionSyntax i: root = i.Expression; continue;
                case ElementAccessExpressionSyntax e: root = e.Expression; continue;
                case ConditionalAccessExpressionSyntax c: root = c.Expression; continue;
                case ParenthesizedExpressionSyntax p: root = p.Expression; continue;
                case AwaitExpressionSyntax w: root = w.Expression; continue;
                case PostfixUnaryExpressionSyntax u: root = u.Operand; continue;
                case SimpleNameSyntax first: return model.GetSymbolInfo(first) is { } s && (s.Symbol is { } and not INamespaceSymbol || s.CandidateSymbols.Length > 0);
                default: return true;
            }
        }
    }

    static string Encloser(SemanticModel model, SyntaxNode at)     // the type a name stands in, "" outside of all
    {
        for (SyntaxNode? n = at; n != null; n = n.Parent)
            if (n is BaseTypeDeclarationSyntax or DelegateDeclarationSyntax) return model.GetDeclaredSymbol(n) is INamedTypeSymbol t ? Id(t) : "";
        return "";
    }

    static void BodyEdge(SemanticModel model, SyntaxNode at, ITypeSymbol to, string cat, SortedDictionary<string, int> edges)
    {
        for (SyntaxNode? n = at; n != null; n = n.Parent)
            if (n is BaseTypeDeclarationSyntax or DelegateDeclarationSyntax)
            {
                if (model.GetDeclaredSymbol(n) is INamedTypeSymbol from) Edge(edges, from, to, cat);
                return;
            }
        if (model.Compilation.GetTypeByMetadataName("Program") is { } prog && prog.Locations.Any(l => l.IsInSource)) Edge(edges, prog, to, cat);
    }

    static string Class(SyntaxNode n)
    {
        for (SyntaxNode? c = n, prev = null; c != null; prev = c, c = c.Parent)
        {
            switch (c)
            {
                case UsingDirectiveSyntax: return "using";
                case AttributeArgumentListSyntax: return "attrarg";
                case AttributeSyntax: return "attr";
                case PrimaryConstructorBaseTypeSyntax pc when prev == pc.ArgumentList: return "body";
                case BaseListSyntax: return "base";
                case TypeParameterConstraintClauseSyntax: return "constraint";
                case BlockSyntax or ArrowExpressionClauseSyntax or ConstructorInitializerSyntax or GlobalStatementSyntax: return "body";
                case EqualsValueClauseSyntax: return "body";
                case MemberDeclarationSyntax: return "sig";
            }
        }
        return "other";
    }

    // ---------------------------------------------------------------- the comparable form

    // What a reader of the text alone can know as well: simple names, keywords for built-in types, one spacing, modifiers that are written.
    // The same form is made from declarations by the facts of cortex's workbench.
    static class Facts
    {
        static readonly SymbolDisplayFormat Simple = new(
            typeQualificationStyle: SymbolDisplayTypeQualificationStyle.NameOnly,
            genericsOptions: SymbolDisplayGenericsOptions.IncludeTypeParameters,
            miscellaneousOptions: SymbolDisplayMiscellaneousOptions.UseSpecialTypes | SymbolDisplayMiscellaneousOptions.IncludeNullableReferenceTypeModifier);

        static string Type(ITypeSymbol t) => Squeeze(t.ToDisplayString(Simple));

        static bool IsWord(char c) => char.IsLetterOrDigit(c) || c == '_';

        // Spaces only where a word follows a word or a closing bracket.
        static string Squeeze(string s)
        {
            var b = new StringBuilder(); bool space = false;
            foreach (char c in s)
            {
                if (c == ' ') { space = true; continue; }
                if (b.Length > 0 && (char.IsLetter(c) || c == '_') && (space ? IsWord(b[^1]) || b[^1] is '>' or ')' or ']' or '?' or '*' : b[^1] is '>' or ')' or ']' or '?' or '*')) b.Append(' ');
                b.Append(c); space = false;
            }
            return b.ToString();
        }

        static string Ref(RefKind r, bool result) => r switch
        {
            RefKind.Ref => "ref ",
            RefKind.Out => "out ",
            RefKind.None => "",
            _ when result => "ref readonly ",
            RefKind.In => "in ",
            _ => "ref readonly ",
        };

        static string Parameter(IParameterSymbol p, bool bare) =>
            (!bare && IsThis(p) ? "this " : "") + (!bare && p.IsParams ? "params " : "") + Ref(p.RefKind, false) + Type(p.Type);

        static string Parameters(IMethodSymbol? m, ImmutableArray<IParameterSymbol> list, bool bare)
        {
            var all = list.Select(p => Parameter(p, bare)).ToList();
            if (m is { IsVararg: true }) all.Add("__arglist");
            return "(" + string.Join(",", all) + ")";
        }

        static bool IsThis(IParameterSymbol p) => p.Ordinal == 0 && p.ContainingSymbol is IMethodSymbol { IsExtensionMethod: true };

        static bool IsExplicit(ISymbol m) => m.Name.LastIndexOf('.') > 0;

        static string Name(ISymbol m)
        {
            string name = m is IPropertySymbol { IsIndexer: true } ? "this[]" : m.Name;
            if (!IsExplicit(m)) return name;
            ITypeSymbol? of = m switch
            {
                IMethodSymbol x => x.ExplicitInterfaceImplementations.FirstOrDefault()?.ContainingType,
                IPropertySymbol x => x.ExplicitInterfaceImplementations.FirstOrDefault()?.ContainingType,
                IEventSymbol x => x.ExplicitInterfaceImplementations.FirstOrDefault()?.ContainingType,
                _ => null,
            };
            int dot = m.Name.LastIndexOf('.');
            string own = m is IPropertySymbol { IsIndexer: true } ? "this[]" : m.Name[(dot + 1)..];
            if (of != null) return Type(of) + "." + own;
            return Unqualified(m.Name[..dot]) + "." + own;
        }

        static readonly Dictionary<string, string> Keywords = new()
        {
            ["System.Boolean"] = "bool", ["System.Byte"] = "byte", ["System.SByte"] = "sbyte", ["System.Int16"] = "short", ["System.UInt16"] = "ushort", ["System.Int32"] = "int",
            ["System.UInt32"] = "uint", ["System.Int64"] = "long", ["System.UInt64"] = "ulong", ["System.IntPtr"] = "nint", ["System.UIntPtr"] = "nuint", ["System.Char"] = "char",
            ["System.Single"] = "float", ["System.Double"] = "double", ["System.Decimal"] = "decimal", ["System.String"] = "string", ["System.Object"] = "object",
        };

        // For interfaces that are not known to the compilation: the name as it was written.
        static string Unqualified(string s)
        {
            var b = new StringBuilder(); int start = 0;
            for (int i = 0; i <= s.Length; i++)
            {
                if (i < s.Length && (IsWord(s[i]) || s[i] is '.' or ':')) continue;
                string word = s[start..i]; int dot = word.LastIndexOfAny(new[] { '.', ':' });
                b.Append(dot < 0 ? word : Keywords.TryGetValue(word, out var k) ? k : word[(dot + 1)..]);
                if (i < s.Length) b.Append(s[i]);
                start = i + 1;
            }
            return Squeeze(b.ToString());
        }

        public static string Kind(ISymbol m) => m switch
        {
            IFieldSymbol f when f.ContainingType.TypeKind == TypeKind.Enum => "enum member",
            IFieldSymbol { IsConst: true } => "constant",
            IFieldSymbol => "field",
            IPropertySymbol { IsIndexer: true } => "indexer",
            IPropertySymbol => "property",
            IEventSymbol => "event",
            IMethodSymbol { MethodKind: MethodKind.Constructor or MethodKind.StaticConstructor } => "constructor",
            IMethodSymbol { MethodKind: MethodKind.Destructor } => "finalizer",
            IMethodSymbol { MethodKind: MethodKind.Conversion } => "conversion",
            IMethodSymbol { MethodKind: MethodKind.UserDefinedOperator } => "operator",
            IMethodSymbol x when x.Name.Contains("op_Implicit") || x.Name.Contains("op_Explicit") || x.Name.Contains("op_CheckedExplicit") => "conversion",
            IMethodSymbol x when x.Name.Contains(".op_") => "operator",
            _ => "method",
        };

        public static string Key(ISymbol m)
        {
            string k = Name(m);
            if (m is IMethodSymbol x)
            {
                if (x.Arity > 0) k += "`" + x.Arity;
                k += Parameters(x, x.Parameters, true);
                if (Kind(m) == "conversion") k += "->" + Type(x.ReturnType);
            }
            else if (m is IPropertySymbol { IsIndexer: true } i) k += Parameters(null, i.Parameters, true);
            return k;
        }

        static IEnumerable<string> Mods(ISymbol m)
        {
            bool member = m.ContainingType.TypeKind == TypeKind.Interface && !m.IsStatic;
            bool constant = m is IFieldSymbol { IsConst: true };
            if (m.IsAbstract && !member) yield return "abstract";
            if (constant) yield return "const";
            if (m.IsExtern) yield return "extern";
            if (m.IsOverride && !member) yield return "override";
            if (m is IFieldSymbol { IsReadOnly: true }) yield return "readonly";
            if (m is IPropertySymbol { IsRequired: true } or IFieldSymbol { IsRequired: true }) yield return "required";
            if (m.IsSealed && !member) yield return "sealed";
            if (m.IsStatic && !constant) yield return "static";
            if (m.IsVirtual && !member) yield return "virtual";
            if (m is IFieldSymbol { IsVolatile: true }) yield return "volatile";
        }

        public static string Sig(ISymbol m)
        {
            if (Kind(m) == "enum member") return "public " + m.Name;
            var parts = new List<string> { Acc(m.DeclaredAccessibility) };
            parts.AddRange(Mods(m));
            switch (m)
            {
                case IFieldSymbol f:
                    parts.Add(Ref(f.RefKind, true) + (f.IsFixedSizeBuffer && f.Type is IPointerTypeSymbol p ? Type(p.PointedAtType) : Type(f.Type)));
                    parts.Add(Name(m));
                    break;
                case IEventSymbol e: parts.Add(Type(e.Type)); parts.Add(Name(m)); break;
                case IPropertySymbol x:
                    parts.Add(Ref(x.RefKind, true) + Type(x.Type));
                    parts.Add(Name(m) + (x.IsIndexer ? Parameters(null, x.Parameters, false) : ""));
                    var a = new List<string>();
                    foreach (var g in new[] { x.GetMethod, x.SetMethod })
                        if (g != null) a.Add((g.DeclaredAccessibility != x.DeclaredAccessibility ? Acc(g.DeclaredAccessibility) + " " : "") + (g == x.GetMethod ? "get" : g.IsInitOnly ? "init" : "set"));
                    parts.Add("{" + string.Join(";", a) + "}");
                    break;
                case IMethodSymbol x:
                    if (Kind(m) is not ("constructor" or "finalizer")) parts.Add(Ref(x.RefKind, true) + Type(x.ReturnType));
                    parts.Add(Name(m) + (x.Arity > 0 ? "<" + string.Join(",", x.TypeParameters.Select(t => t.Name)) + ">" : "") + Parameters(x, x.Parameters, false));
                    if (!x.IsOverride && !IsExplicit(m)) parts.AddRange(Constraints(x.TypeParameters));
                    break;
            }
            return string.Join(" ", parts);
        }

        static IEnumerable<string> Constraints(ImmutableArray<ITypeParameterSymbol> list)
        {
            var all = new List<string>();
            foreach (var t in list)
            {
                var c = new List<string>();
                if (t.HasReferenceTypeConstraint) c.Add(t.ReferenceTypeConstraintNullableAnnotation == NullableAnnotation.Annotated ? "class?" : "class");
                if (t.HasUnmanagedTypeConstraint) c.Add("unmanaged"); else if (t.HasValueTypeConstraint) c.Add("struct");
                if (t.HasNotNullConstraint) c.Add("notnull");
                c.AddRange(t.ConstraintTypes.Select(Type));
                if (t.HasConstructorConstraint) c.Add("new()");
                if (c.Count > 0) all.Add("where " + t.Name + ":" + string.Join(",", c));
            }
            all.Sort(StringComparer.Ordinal);
            return all;
        }

        public static string Head(INamedTypeSymbol t)
        {
            string generics = t.Arity == 0 ? "" : "<" + string.Join(",", t.TypeParameters.Select(p => (p.Variance == VarianceKind.In ? "in " : p.Variance == VarianceKind.Out ? "out " : "") + p.Name)) + ">";
            string head = t.TypeKind == TypeKind.Delegate && t.DelegateInvokeMethod is { } inv
                ? Ref(inv.RefKind, true) + Type(inv.ReturnType) + " " + generics + Parameters(inv, inv.Parameters, false) : generics;
            return string.Join(" ", Constraints(t.TypeParameters).Prepend(head)).Trim();
        }

        // Bases as they are written: no trivial ones, no equality that a record has of itself.
        public static IEnumerable<string> Bases(INamedTypeSymbol t)
        {
            var set = new SortedSet<string>(StringComparer.Ordinal);
            if (t.TypeKind == TypeKind.Enum) { if (t.EnumUnderlyingType is { SpecialType: not SpecialType.System_Int32 } u) set.Add(Type(u)); return set; }
            if (t.BaseType != null && !IsTrivialBase(t.BaseType)) set.Add(Type(t.BaseType));
            bool written = t.DeclaringSyntaxReferences.Any(r => r.GetSyntax() is TypeDeclarationSyntax { BaseList: { } l } && l.Types.Any(b => b.Type.ToString().Contains("IEquatable")));
            foreach (var i in t.Interfaces)
                if (!t.IsRecord || i.Name != "IEquatable" || written) set.Add(Type(i));
            return set;
        }

        // Attributes of the declaration itself, by simple name.
        public static IEnumerable<string> Marks(ISymbol s) => s.GetAttributes()
            .Where(a => a.AttributeClass != null && a.ApplicationSyntaxReference?.GetSyntax().Parent is AttributeListSyntax { Target: null } l
                && (s is IParameterSymbol || l.Parent is not ParameterSyntax))
            .Select(a => { string n = a.AttributeClass!.Name; return n.EndsWith("Attribute") && n.Length > 9 ? n[..^9] : n; })
            .OrderBy(x => x, StringComparer.Ordinal);
    }

    // ---------------------------------------------------------------- minimal JSON

    sealed class Json
    {
        readonly StringBuilder b = new();
        public Json New() { b.Clear(); b.Append('{'); return this; }
        void Key(string k) { if (b.Length > 1) b.Append(','); b.Append('"').Append(k).Append("\":"); }
        public Json S(string k, string v) { Key(k); Str(v); return this; }
        public Json N(string k, long v) { Key(k); b.Append(v); return this; }
        public Json A(string k, IEnumerable<string> v) { Key(k); b.Append('['); bool first = true; foreach (var s in v) { if (!first) b.Append(','); first = false; Str(s); } b.Append(']'); return this; }
        public string End() { b.Append('}'); return b.ToString(); }
        void Str(string s)
        {
            b.Append('"');
            foreach (char c in s)
                switch (c)
                {
                    case '"': b.Append("\\\""); break;
                    case '\\': b.Append("\\\\"); break;
                    case '\n': b.Append("\\n"); break;
                    case '\r': b.Append("\\r"); break;
                    case '\t': b.Append("\\t"); break;
                    default: if (c < 0x20 || char.IsSurrogate(c) || c == 0x2028 || c == 0x2029 || c == 0xFFFE || c == 0xFFFF) b.Append("\\u").Append(((int)c).ToString("x4")); else b.Append(c); break;
                }
            b.Append('"');
        }
    }
}
