//! Kinds of symbols: the numbers of SCIP's `SymbolInformation.Kind` and the corresponding words of cortex.

/// Numbers with their words. If two words share a number, a read index gets the first one.
const KINDS: [(i32, &str); 40] = [
    (7, "class"),
    (7, "record"),
    (49, "struct"),
    (49, "record struct"),
    (21, "interface"),
    (11, "enum"),
    (73, "delegate"),
    (12, "enum member"),
    (26, "method"),
    (26, "finalizer"),
    (66, "abstract method"),
    (80, "static method"),
    (9, "constructor"),
    (41, "property"),
    (81, "static property"),
    (47, "indexer"),
    (13, "event"),
    (15, "field"),
    (79, "static field"),
    (8, "constant"),
    (34, "operator"),
    (34, "conversion"),
    (17, "function"),
    (29, "module"),
    (30, "namespace"),
    (35, "package"),
    (55, "type alias"),
    (54, "type"),
    (58, "type parameter"),
    (53, "trait"),
    (70, "trait method"),
    (59, "union"),
    (61, "variable"),
    (82, "static variable"),
    (25, "macro"),
    (37, "parameter"),
    (18, "getter"),
    (45, "setter"),
    (72, "accessor"),
    (3, "associated type"),
];

/// Returns the number of a word; 0, unspecified, for a word without one.
pub fn kind_number(word: &str) -> i32 {
    KINDS.iter().find(|(_, known)| *known == word).map_or(0, |(number, _)| *number)
}

/// Returns the word for a number, if it has one.
pub fn kind_name(number: i32) -> Option<&'static str> {
    KINDS.iter().find(|(known, _)| *known == number).map(|(_, word)| *word)
}
