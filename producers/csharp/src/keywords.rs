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

/// By first letter, the number of reserved words that begin with an earlier one.
const FIRST: [usize; 27] = {
    let mut first = [0; 27];
    let mut letter = 0;
    while letter < first.len() {
        let mut word = 0;
        while word < RESERVED.len() && ((RESERVED[word].as_bytes()[0] - b'a') as usize) < letter {
            word += 1;
        }
        first[letter] = word;
        letter += 1;
    }
    first
};

pub fn is_reserved(word: &str) -> bool {
    let letter = word.bytes().next().unwrap_or_default().wrapping_sub(b'a') as usize;
    letter < 26 && RESERVED[FIRST[letter]..FIRST[letter + 1]].contains(&word)
}

/// Whether a word is a keyword that names a type, or `void`.
pub fn is_predefined(word: &str) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reserved_word_is_found_and_no_other() {
        assert!(RESERVED.iter().all(|word| is_reserved(word)));
        assert!(
            ["", "a", "zz", "whiles", "whil", "Class", "_", "ä", "{"]
                .iter()
                .all(|word| !is_reserved(word))
        );
    }
}
