//! Reserved and contextual keywords of C#.

/// The reserved words, sorted.
#[rustfmt::skip]
const RESERVED: [&str; 77] = [
    "abstract", "as", "base", "bool", "break", "byte", "case", "catch", "char", "checked", "class", "const", "continue",
    "decimal", "default", "delegate", "do", "double", "else", "enum", "event", "explicit", "extern", "false", "finally",
    "fixed", "float", "for", "foreach", "goto", "if", "implicit", "in", "int", "interface", "internal", "is", "lock",
    "long", "namespace", "new", "null", "object", "operator", "out", "override", "params", "private", "protected",
    "public", "readonly", "ref", "return", "sbyte", "sealed", "short", "sizeof", "stackalloc", "static", "string",
    "struct", "switch", "this", "throw", "true", "try", "typeof", "uint", "ulong", "unchecked", "unsafe", "ushort",
    "using", "virtual", "void", "volatile", "while",
];

pub fn is_reserved(word: &str) -> bool {
    RESERVED.binary_search(&word).is_ok()
}

/// Keywords that name a type.
pub(crate) fn is_predefined(word: &str) -> bool {
    matches!(
        word,
        "bool"
            | "byte"
            | "char"
            | "decimal"
            | "double"
            | "float"
            | "int"
            | "long"
            | "object"
            | "sbyte"
            | "short"
            | "string"
            | "uint"
            | "ulong"
            | "ushort"
            | "void"
    )
}

/// Words that join two values or end a value; after a type, most of them declare a name only outside queries.
pub(crate) fn is_infix(word: &str) -> bool {
    matches!(
        word,
        "is" | "as"
            | "in"
            | "and"
            | "or"
            | "when"
            | "where"
            | "select"
            | "on"
            | "equals"
            | "by"
            | "switch"
            | "with"
            | "into"
            | "orderby"
            | "join"
            | "let"
            | "from"
            | "group"
            | "ascending"
            | "descending"
    )
}
