//! Members that code calls without writing their names.

/// Members that language constructs call without writing their names: `using`, loops, `await`, initialisers, deconstruction, queries.
pub(super) const IMPLIED: [&str; 23] = [
    "Add", "Cast", "Current", "Deconstruct", "Dispose", "DisposeAsync", "GetAsyncEnumerator", "GetAwaiter", "GetEnumerator", "GetResult",
    "GroupBy", "GroupJoin", "IsCompleted", "Join", "MoveNext", "MoveNextAsync", "OrderBy", "OrderByDescending", "Select", "SelectMany",
    "ThenBy", "ThenByDescending", "Where",
];

/// Further such members: list patterns, ranges, `^1`, collection expressions, interpolated strings and `fixed` call them.
pub(super) const IMPLIED_IN_VALUES: [&str; 6] = [
    "AppendFormatted", "AppendLiteral", "Count", "GetPinnableReference", "Length", "Slice",
];

/// Members of [`IMPLIED`] that are also found on values of .NET interfaces.
pub(super) const IMPLIED_OUTSIDE: [&str; 3] = ["Dispose", "DisposeAsync", "GetEnumerator"];
