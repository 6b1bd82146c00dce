//! Attributes in canonical text: their names, and those that mark tests.

/// Endings of attribute names that mark a test, including extensions such as `SkippableFact`.
const TESTS: [&str; 6] = ["Fact", "Theory", "Test", "TestCase", "TestCaseSource", "TestMethod"];

/// Whether an attribute of this simple name marks a test of xUnit, NUnit or MSTest.
pub fn is_of_test(name: &str) -> bool {
    TESTS.iter().any(|test| name.ends_with(test))
}

/// Returns the name of an attribute, as written, from its canonical text.
pub fn attribute_path(text: &str) -> &str {
    let text = text.trim_start_matches('[');
    let text = text.split(['(', '<', ']']).next().unwrap_or(text).trim();
    // `return: A`, but not `global::A`.
    text.rsplit_once(": ").map_or(text, |(_, path)| path)
}

/// Returns the simple name of an attribute from its canonical text.
pub fn attribute_name(text: &str) -> &str {
    let text = attribute_path(text);
    let text = text.rsplit(['.', ':', ' ']).next().unwrap_or(text);
    text.strip_suffix("Attribute").unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_of_tests_are_recognised() {
        for (text, expected) in [
            ("[Fact]", true),
            ("Xunit.FactAttribute(Skip = \"slow\")", true),
            ("[SkippableTheory(1)", true),
            ("[InlineData(\"Fact\")]", false),
            ("[TestClass]", false),
        ] {
            assert_eq!(is_of_test(attribute_name(text)), expected, "{text}");
        }
    }
}
