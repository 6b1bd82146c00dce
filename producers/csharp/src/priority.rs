//! `[OverloadResolutionPriority(n)]`: of the callable methods of one type, only those with the highest number are considered.

use super::attributes::attribute_name;

/// The name of the attribute, without its suffix `Attribute`.
const NAME: &str = "OverloadResolutionPriority";

/// Returns the overload priority in the attributes of a member, 0 without one. A value that is not a literal number counts as 0.
pub fn priority(attributes: &[String]) -> i32 {
    attributes.iter().find_map(|text| parse_priority(text)).unwrap_or_default()
}

fn parse_priority(text: &str) -> Option<i32> {
    let (_, rest) = text.split_once('(')?;
    let number = rest.split(')').next()?.rsplit(':').next()?;
    (attribute_name(text) == NAME).then(|| number.replace([' ', '_'], "").parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priorities_are_read() {
        for (text, expected) in [
            ("OverloadResolutionPriority(1)", 1),
            (
                "System.Runtime.CompilerServices.OverloadResolutionPriorityAttribute(priority: - 2)",
                -2,
            ),
            ("OverloadResolutionPriority(Low)", 0),
            ("Obsolete(\"1\")", 0),
        ] {
            assert_eq!(priority(&[text.to_owned()]), expected, "{text}");
        }
    }
}
