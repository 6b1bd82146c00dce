"""The tasks of scripts/bench_agent.py: each with the obvious calls of either side, and with what is right.

`places` are lines of files that the answer has to name, `more` allows others beside them; `says` are texts that it has to hold; `files` are texts that
files hold, and hold no more, when the task is done. Uses are those that the C# compiler binds (scripts/accuracy.py), at the commit that is named."""


def usages(symbol, op=None):
    return ("usages", {"symbol": symbol, **({"op": op} if op else {})})


def source(symbol):
    return ("source", {"symbols": [symbol]})


def outline(symbol):
    return ("outline", {"symbols": [symbol]})


def edit(op, **arguments):
    return ("edit", {"op": op, **arguments})


def find(query, **more):
    return ("search", {"query": query, **more})


def task(kind, name, cortex, plain, **right):
    return {"kind": kind, "name": name, "cortex": cortex, "plain": plain, **right}


def reads(*paths):
    return [("read", path) for path in paths]


S, ST = "src/Serilog/", "test/Serilog.Tests/"
CONVERTER, LIMITER = f"{S}Capturing/PropertyValueConverter.cs", f"{S}Capturing/DepthLimiter.cs"
TEMPLATES = f"{S}Formatting/Display/MessageTemplateTextFormatter.cs"
REMOVED = "_properties.Remove(Guard.AgainstNull(propertyName));"
SERILOG = [
    task("find", "where a type is", [find("LevelOverrideMap", kind="class")], [("grep", r"class LevelOverrideMap")], says=[f"{S}Core/LevelOverrideMap.cs"]),
    task(
        "find", "uses of a method whose name others have", [usages("MessageTemplate#Render")],
        [("grep", r"\bRender\(")] + reads(f"{ST}Core/MessageTemplateTests.cs", f"{S}Events/LogEvent.cs", f"{S}Events/MessageTemplate.cs", f"{S}Formatting/Json/JsonFormatter.cs", TEMPLATES, f"{S}Events/ScalarValue.cs"),
        places={
            f"{S}Events/LogEvent.cs": [126, 136], f"{S}Events/MessageTemplate.cs": [132], f"{S}Formatting/Json/JsonFormatter.cs": [70],
            "test/Serilog.PerformanceTests/MessageTemplateRenderingBenchmark.cs": [21, 27], f"{ST}Core/MessageTemplateTests.cs": [141],
        },
    ),
    task(
        "find", "who implements an interface", [usages("IMessageTemplateParser", "implementations")], [("grep", r"\bIMessageTemplateParser\b")],
        places={
            f"{S}Parsing/MessageTemplateParser.cs": [21], f"{S}Core/Pipeline/MessageTemplateCache.cs": [17], "test/Serilog.PerformanceTests/Support/NoOpMessageTemplateParser.cs": [3],
            "test/Serilog.PerformanceTests/Support/ConcurrentDictionaryTemplateCache.cs": [3], "test/Serilog.PerformanceTests/Support/DictionaryMessageTemplateCache.cs": [3],
        },
    ),
    task(
        "understand", "what a class offers", [outline("LogEvent")], [("grep", r"class LogEvent\b")] + reads(f"{S}Events/LogEvent.cs"),
        says=["AddOrUpdateProperty", "AddPropertyIfAbsent", "RemovePropertyIfPresent", "RenderMessage", "UnstableAssembleFromParts", "TraceId"],
    ),
    task(
        "understand", "what a method does", [source("LevelOverrideMap#GetEffectiveLevel")], [("grep", r"GetEffectiveLevel")] + reads(f"{S}Core/LevelOverrideMap.cs"),
        says=["foreach (var levelOverride in _overrides)", "out LoggingLevelSwitch? levelSwitch"],
    ),
    task(
        "understand", "which overload a call means", [usages("LogEvent#AddPropertyIfAbsent(EventProperty)")],
        [("grep", r"AddPropertyIfAbsent")] + reads(f"{S}Events/LogEvent.cs", f"{S}Core/Enrichers/FixedPropertyEnricher.cs", f"{S}Core/Enrichers/PropertyEnricher.cs"),
        places={f"{S}Core/Enrichers/FixedPropertyEnricher.cs": [32]},
    ),
    task(
        "edit", "another body", [source("LogEvent#RemovePropertyIfPresent"), edit("replace_symbol", symbol="LogEvent#RemovePropertyIfPresent", newText=f"public void RemovePropertyIfPresent(string propertyName)\n{{\n    {REMOVED}\n}}")],
        [("grep", r"RemovePropertyIfPresent")] + reads(f"{S}Events/LogEvent.cs") + [("edit", f"{S}Events/LogEvent.cs", "        _properties.Remove(propertyName);", f"        {REMOVED}")],
        files={f"{S}Events/LogEvent.cs": ([REMOVED, "public void RemovePropertyIfPresent(string propertyName)\n    {\n"], ["_properties.Remove(propertyName);"])},
    ),
    task(
        "edit", "another name", [("rename", {"symbol": "LogEvent#AddOrUpdateProperty(LogEventProperty)", "new": "SetProperty"})],
        [("grep", r"\bAddOrUpdateProperty\b")]
        + reads(f"{S}Events/LogEvent.cs", "test/Serilog.PerformanceTests/AllocationsBenchmark.cs", f"{ST}Formatting/Display/MessageTemplateTextFormatterTests.cs", f"{ST}Formatting/Json/JsonFormatterTests.cs")
        + [
            ("edit", path, "AddOrUpdateProperty(", "SetProperty(", "all")
            for path in ["test/Serilog.PerformanceTests/AllocationsBenchmark.cs", f"{ST}Formatting/Display/MessageTemplateTextFormatterTests.cs", f"{ST}Formatting/Json/JsonFormatterTests.cs"]
        ]
        + [
            ("edit", f"{S}Events/LogEvent.cs", "public void AddOrUpdateProperty(", "public void SetProperty("),
            ("edit", f"{S}Events/LogEvent.cs", "            AddOrUpdateProperty(", "            SetProperty("),
        ],
        files={
            f"{S}Events/LogEvent.cs": (["public void SetProperty(", "            SetProperty("], ["public void AddOrUpdateProperty("]),
            f"{ST}Formatting/Json/JsonFormatterTests.cs": ([".SetProperty("], ["AddOrUpdateProperty"]),
            "test/Serilog.PerformanceTests/AllocationsBenchmark.cs": ([".SetProperty("], ["AddOrUpdateProperty"]),
        },
    ),
    task(
        "edit", "a parameter more",
        [edit("change_signature", symbol="PropertyValueConverter#CreatePropertyValue(object?,Destructuring,int)", newText="value, destructuring, depth, bool deep := false")],
        [("grep", r"\bCreatePropertyValue\(")] + reads(CONVERTER, LIMITER)
        + [
            ("edit", CONVERTER, "CreatePropertyValue(object? value, Destructuring destructuring, int depth)", "CreatePropertyValue(object? value, Destructuring destructuring, int depth, bool deep)"),
            ("edit", CONVERTER, "return CreatePropertyValue(value, destructuring, 1);", "return CreatePropertyValue(value, destructuring, 1, false);"),
            ("edit", CONVERTER, "            depth);\n    }\n\n    LogEventPropertyValue CreatePropertyValue(object? value, Destructuring", "            depth,\n            false);\n    }\n\n    LogEventPropertyValue CreatePropertyValue(object? value, Destructuring"),
            ("edit", LIMITER, "CreatePropertyValue(value, destructuring, storedDepth + 1)", "CreatePropertyValue(value, destructuring, storedDepth + 1, false)"),
        ],
        files={
            CONVERTER: (["Destructuring destructuring, int depth, bool deep)", "(value, destructuring, 1, false);", "            depth,\n            false);"], []),
            LIMITER: (["storedDepth + 1, false)"], []),
        },
    ),
    task(
        "verify", "which tests a change reaches", [usages("LevelOverrideMap#GetEffectiveLevel", "impact")],
        [("grep", r"GetEffectiveLevel|LevelOverrideMap")] + reads(f"{ST}Core/LevelOverrideMapTests.cs", f"{S}Core/Logger.cs"), says=["LevelOverrideMap"],
    ),
]

F, FT = "src/FluentValidation/", "src/FluentValidation.Tests/"
CHAIN = f"{F}Internal/PropertyChain.cs"
FLUENT = [
    task("find", "where a type is", [find("MessageFormatter", kind="class")], [("grep", r"class MessageFormatter")], says=[f"{F}Internal/MessageFormatter.cs"]),
    task(
        "find", "uses of a method whose name others have", [usages("MessageFormatter#Reset")], [("grep", r"\bReset\b")],
        places={f"{F}Internal/CollectionPropertyRule.cs": [168], f"{F}Internal/PropertyRule.cs": [96]},
    ),
    task(
        "find", "who implements an interface", [usages("IValidatorSelector", "implementations")], [("grep", r"\bIValidatorSelector\b")],
        places={
            f"{F}Internal/DefaultValidatorSelector.cs": [27], f"{F}Internal/MemberNameValidatorSelector.cs": [30], f"{F}Internal/CompositeValidatorSelector.cs": [24],
            f"{F}Internal/RulesetValidatorSelector.cs": [10],
        },
        more=True,
    ),
    task(
        "understand", "what a class offers", [outline("PropertyChain")], [("grep", r"class PropertyChain\b")] + reads(CHAIN),
        says=["FromExpression", "AddIndexer", "IsChildChainOf", "BuildPropertyPath", "GetParentChain", "Count"],
    ),
    task(
        "understand", "what a method does", [source("MessageFormatter#BuildMessage")], [("grep", r"BuildMessage\(string")] + reads(f"{F}Internal/MessageFormatter.cs"),
        says=["KeyRegex().Replace(messageTemplate", "No placeholder / value"],
    ),
    task(
        "understand", "who calls one of two overloads", [usages("PropertyChain#Add(MemberInfo)")], [("grep", r"\.Add\(")] + reads(CHAIN, f"{FT}PropertyChainTests.cs"),
        places={f"{FT}PropertyChainTests.cs": [36, 37, 45, 47]},
    ),
    task(
        "edit", "another body", [source("PropertyChain#IsChildChainOf"), edit("replace_symbol", symbol="PropertyChain#IsChildChainOf", newText="public bool IsChildChainOf(PropertyChain parentChain)\n\t=> ToString().StartsWith(parentChain.ToString(), StringComparison.Ordinal);")],
        [("grep", r"IsChildChainOf")] + reads(CHAIN)
        + [("edit", CHAIN, "\t\treturn ToString().StartsWith(parentChain.ToString());", "\t\treturn ToString().StartsWith(parentChain.ToString(), StringComparison.Ordinal);")],
        files={CHAIN: (["StartsWith(parentChain.ToString(), StringComparison.Ordinal);", "True if the current chain is the child"], ["StartsWith(parentChain.ToString());"])},
    ),
    task(
        "edit", "another name", [("rename", {"symbol": "PropertyChain#BuildPropertyPath", "new": "PathOf"})],
        [("grep", r"\bBuildPropertyPath\b")] + reads(f"{F}IValidationContext.cs", f"{F}Internal/CollectionPropertyRule.cs", CHAIN, f"{F}Internal/PropertyRule.cs")
        + [
            ("edit", f"{F}IValidationContext.cs", "PropertyChain.BuildPropertyPath(", "PropertyChain.PathOf("),
            ("edit", f"{F}Internal/CollectionPropertyRule.cs", "PropertyChain.BuildPropertyPath(", "PropertyChain.PathOf("),
            ("edit", f"{F}Internal/PropertyRule.cs", "PropertyChain.BuildPropertyPath(", "PropertyChain.PathOf("),
            ("edit", CHAIN, "=> BuildPropertyPath(", "=> PathOf("), ("edit", CHAIN, "public string BuildPropertyPath(", "public string PathOf("),
        ],
        files={
            f"{F}IValidationContext.cs": (["PropertyChain.PathOf("], ["BuildPropertyPath"]), f"{F}Internal/CollectionPropertyRule.cs": (["PropertyChain.PathOf("], ["BuildPropertyPath("]),
            f"{F}Internal/PropertyRule.cs": (["PropertyChain.PathOf("], ["BuildPropertyPath("]), CHAIN: (["=> PathOf(", "public string PathOf("], ["string BuildPropertyPath("]),
        },
    ),
    task(
        "edit", "parameters in another order", [edit("change_signature", symbol="MessageFormatter#AppendPropertyName", newText="bool overwrite := true, name")],
        [("grep", r"\bAppendPropertyName\b")] + reads(f"{FT}LocalisedMessagesTester.cs", f"{FT}MessageFormatterTests.cs", f"{F}Internal/RuleBase.cs", f"{F}Internal/MessageFormatter.cs")
        + [
            ("edit", f"{FT}LocalisedMessagesTester.cs", 'AppendPropertyName("Surname")', 'AppendPropertyName(true, "Surname")'),
            ("edit", f"{FT}MessageFormatterTests.cs", 'AppendPropertyName("foo")', 'AppendPropertyName(true, "foo")'),
            ("edit", f"{F}Internal/RuleBase.cs", "AppendPropertyName(context.DisplayName)", "AppendPropertyName(true, context.DisplayName)"),
            ("edit", f"{F}Internal/MessageFormatter.cs", "AppendPropertyName(string name)", "AppendPropertyName(bool overwrite, string name)"),
        ],
        files={
            f"{FT}LocalisedMessagesTester.cs": (['AppendPropertyName(true, "Surname")'], []), f"{F}Internal/RuleBase.cs": (["AppendPropertyName(true, context.DisplayName)"], []),
            f"{F}Internal/MessageFormatter.cs": (["AppendPropertyName(bool overwrite, string name)"], []), f"{FT}MessageFormatterTests.cs": (['AppendPropertyName(true, "foo")'], []),
        },
    ),
    task(
        "verify", "which tests a change reaches", [usages("PropertyChain#Add(MemberInfo)", "impact")], [("grep", r"PropertyChain")] + reads(f"{FT}PropertyChainTests.cs", CHAIN),
        says=["PropertyChainTests"],
    ),
]

C, CT = "src/Spectre.Console/", "src/Spectre.Console.Tests/"
SEGMENT = f"{C}Rendering/Segment.cs"
SPECTRE = [
    task("find", "where a type is", [find("Aligner", kind="class")], [("grep", r"class Aligner")], says=[f"{C}Internal/Aligner.cs"]),
    task(
        "find", "uses of a method whose name others have", [usages("Aligner#Align")],
        [("grep", r"\bAlign\(")] + reads(f"{C}Internal/Aligner.cs", f"{C}Widgets/Align.cs"), places={f"{C}Widgets/Paragraph.cs": [132], f"{C}Widgets/TextPath.cs": [120]},
    ),
    task(
        "find", "who implements an interface", [usages("IHasBoxBorder", "implementations")], [("grep", r"\bIHasBoxBorder\b")],
        places={f"{C}Widgets/Panel.cs": [6], f"{C}Widgets/Rule.cs": [6]}, more=True,
    ),
    task(
        "understand", "what a class offers", [outline("Rule")], [("grep", r"class Rule\b")] + reads(f"{C}Widgets/Rule.cs"),
        says=["Title", "Style", "Justification", "Border", "Rule(string title)"],
    ),
    task(
        "understand", "what a method does", [source("Ratio#Reduce")], [("grep", r"\bReduce\(")] + reads(f"{C}Internal/Ratio.cs"),
        says=["ratios.ZipThree(maximums, values)", "return values;"],
    ),
    task(
        "understand", "who calls one of two overloads", [usages("Segment#Truncate(Segment,int)")], [("grep", r"\bTruncate\(")] + reads(SEGMENT, f"{CT}Unit/Rendering/SegmentTests.cs", f"{C}Widgets/Table/TableRenderer.cs"),
        places={f"{CT}Unit/Rendering/SegmentTests.cs": [329], SEGMENT: [361, 373, 409]},
    ),
    task(
        "edit", "a member more", [edit("add_member", symbol="Aligner", newText="public static bool IsNarrow(string text, int maxWidth) => Cell.GetCellLength(text) < maxWidth;")],
        [("grep", r"class Aligner")] + reads(f"{C}Internal/Aligner.cs")
        + [("edit", f"{C}Internal/Aligner.cs", "    public static void AlignHorizontally<T>(", "    public static bool IsNarrow(string text, int maxWidth) => Cell.GetCellLength(text) < maxWidth;\n\n    public static void AlignHorizontally<T>(")],
        files={f"{C}Internal/Aligner.cs": (["    public static bool IsNarrow(string text, int maxWidth) => Cell.GetCellLength(text) < maxWidth;"], [])},
    ),
    task(
        "edit", "another name", [("rename", {"symbol": "Ratio#Distribute", "new": "Share"})],
        [("grep", r"\bDistribute\b")] + reads(f"{C}Internal/Ratio.cs", f"{C}Widgets/Charts/BreakdownBar.cs", f"{C}Widgets/Table/TableMeasurer.cs")
        + [
            ("edit", f"{C}Internal/Ratio.cs", "List<int> Distribute(", "List<int> Share("), ("edit", f"{C}Widgets/Charts/BreakdownBar.cs", "Ratio.Distribute(", "Ratio.Share("),
            ("edit", f"{C}Widgets/Table/TableMeasurer.cs", "Ratio.Distribute(", "Ratio.Share("),
        ],
        files={
            f"{C}Internal/Ratio.cs": (["List<int> Share("], ["Distribute("]), f"{C}Widgets/Charts/BreakdownBar.cs": (["Ratio.Share("], []),
            f"{C}Widgets/Table/TableMeasurer.cs": (["Ratio.Share("], ["Ratio.Distribute("]),
        },
    ),
    task(
        "edit", "a type to a file of its own", [edit("move_type", symbol="RuleExtensions")],
        [("grep", r"class RuleExtensions")] + reads(f"{C}Widgets/Rule.cs")
        + [("move", f"{C}Widgets/Rule.cs", '/// <summary>\n/// Contains extension methods for <see cref="RuleExtensions"/>', f"{C}Widgets/RuleExtensions.cs", "namespace Spectre.Console;\n\n")],
        files={f"{C}Widgets/RuleExtensions.cs": (["public static class RuleExtensions", "namespace Spectre.Console;"], ["class Rule "]), f"{C}Widgets/Rule.cs": (["public sealed class Rule "], ["class RuleExtensions"])},
    ),
    task(
        "verify", "which tests a change reaches", [usages("Segment#Truncate(Segment,int)", "impact")], [("grep", r"\bTruncate\(")] + reads(SEGMENT, f"{CT}Unit/Rendering/SegmentTests.cs"),
        says=["SegmentTests"],
    ),
]

TASKS = {
    ("serilog/serilog", "60935b4d7abad71cf6157b45a10f5c3c65ead527"): SERILOG,
    ("FluentValidation/FluentValidation", "ea299fe59719950018fa240dab86da414190d7f4"): FLUENT,
    ("spectreconsole/spectre.console", "555a00ae317abc9b7a49100cda3251584b0a8861"): SPECTRE,
}
