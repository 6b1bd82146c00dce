//! Normal forms for structureHash and implHash (seed 000 §3.3): accessibility of members, notation of modifiers and signatures, and the members
//! whose order counts.
//!
//! Decisions: modifiers have one fixed order. `partial`, `async`, `extern` and `unsafe` are no API and belong to impl. The effective
//! accessibility is always written, even if implicit in C#. Parameter *names* belong to the structure, because named arguments make them API;
//! they are not part of identifiers (seed 000 §4.4).

use super::model::{Member, MemberKind, TypeKind};

/// Modifiers in the order of written signatures.
const ORDER: [&str; 21] = [
    "public", "protected", "internal", "private", "file", "const", "static", "abstract", "sealed", "virtual", "override", "new",
    "required", "readonly", "volatile", "fixed", "ref", "extern", "unsafe", "async", "partial",
];

/// Modifiers that concern the implementation, not the API.
const NOT_API: [&str; 4] = ["partial", "async", "extern", "unsafe"];

/// Code that can see a declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    Public,
    /// Derived types and the own assembly.
    ProtectedInternal,
    Protected,
    Internal,
    /// Derived types in the own assembly.
    PrivateProtected,
    File,
    Private,
}

impl Access {
    /// Returns the C# keywords.
    pub fn as_csharp(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::ProtectedInternal => "protected internal",
            Self::Protected => "protected",
            Self::Internal => "internal",
            Self::PrivateProtected => "private protected",
            Self::File => "file",
            Self::Private => "private",
        }
    }

    /// Parses [`Access::as_csharp`]; any other text is private.
    pub fn parse(words: &str) -> Self {
        let all = [
            Self::Public,
            Self::ProtectedInternal,
            Self::Protected,
            Self::Internal,
            Self::PrivateProtected,
            Self::File,
        ];
        all.into_iter().find(|access| access.as_csharp() == words).unwrap_or(Self::Private)
    }

    /// Whether the declaration belongs to the accessible API.
    pub fn is_api(self, include_internal: bool) -> bool {
        match self {
            Self::Public | Self::ProtectedInternal | Self::Protected => true,
            Self::Internal | Self::PrivateProtected | Self::File => include_internal,
            Self::Private => false,
        }
    }
}

/// Returns the accessibility written among `modifiers`.
pub fn written_access(modifiers: &[String]) -> Option<Access> {
    let has = |word: &str| modifiers.iter().any(|modifier| modifier == word);
    Some(match (has("public"), has("protected"), has("internal"), has("private")) {
        (true, ..) => Access::Public,
        (_, true, true, _) => Access::ProtectedInternal,
        (_, true, _, true) => Access::PrivateProtected,
        (_, true, ..) => Access::Protected,
        (_, _, true, _) => Access::Internal,
        (_, _, _, true) => Access::Private,
        _ if has("file") => Access::File,
        _ => return None,
    })
}

/// Returns the accessibility of a type: as written, otherwise the default for its `encloser` (kind of the enclosing type).
pub fn type_access(modifiers: &[String], encloser: Option<TypeKind>) -> Access {
    written_access(modifiers).unwrap_or(match encloser {
        None => Access::Internal,
        Some(TypeKind::Interface) => Access::Public,
        Some(_) => Access::Private,
    })
}

/// Returns the accessibility of a member in a type of kind `owner`. Explicit implementations and finalizers belong to no API.
pub fn member_access(member: &Member, owner: TypeKind) -> Access {
    if is_explicit(member) || member.kind == MemberKind::Finalizer || member.name == ".cctor" {
        return Access::Private;
    }
    if member.kind == MemberKind::EnumMember {
        return Access::Public;
    }
    written_access(&member.modifiers).unwrap_or(match owner {
        TypeKind::Interface | TypeKind::Enum | TypeKind::Delegate => Access::Public,
        _ => Access::Private,
    })
}

/// Whether a member implements an interface's member explicitly (`IFoo.Bar`).
pub fn is_explicit(member: &Member) -> bool {
    !member.name.starts_with('.') && member.name.contains('.')
}

/// Returns the API modifiers in fixed order.
pub fn api_modifiers<'a>(modifiers: impl Iterator<Item = &'a str>) -> Vec<String> {
    ordered(modifiers.filter(|modifier| !NOT_API.contains(modifier)))
}

/// Returns the implementation modifiers (`async`, `unsafe`, `extern`) in fixed order; `partial` is layout and always omitted.
pub fn impl_modifiers<'a>(modifiers: impl Iterator<Item = &'a str>) -> Vec<String> {
    ordered(modifiers.filter(|modifier| NOT_API.contains(modifier) && *modifier != "partial"))
}

fn ordered<'a>(modifiers: impl Iterator<Item = &'a str>) -> Vec<String> {
    let rank = |word: &str| ORDER.iter().position(|known| *known == word).unwrap_or(ORDER.len());
    let mut words: Vec<String> = modifiers.map(str::to_owned).collect();
    words.sort_by(|a, b| (rank(a), a).cmp(&(rank(b), b)));
    words.dedup();
    words
}

/// Returns a signature with `words` instead of its written leading modifiers.
pub fn signature(written: &str, modifiers: &[String], words: &[String]) -> String {
    let rest = after_modifiers(written, modifiers);
    if words.is_empty() {
        rest.to_owned()
    } else {
        format!("{} {rest}", words.join(" "))
    }
}

/// Returns the text after the leading modifiers.
pub fn after_modifiers<'a>(written: &'a str, modifiers: &[String]) -> &'a str {
    let mut rest = written.trim_start();
    while let Some((word, tail)) = rest.split_once(' ') {
        if !modifiers.iter().any(|modifier| modifier == word) {
            break;
        }
        rest = tail.trim_start();
    }
    rest
}

/// Whether a member's position among the others is part of its meaning: true of fields (layout, initialization order) and of other members
/// with an initializer.
pub fn order_counts(member: &Member) -> bool {
    match member.kind {
        MemberKind::Field => true,
        MemberKind::Property | MemberKind::Event => has_initialiser(&member.body),
        _ => false,
    }
}

/// Whether a body is (or ends with) an initializer, not an expression body or accessors.
fn has_initialiser(body: &str) -> bool {
    let behind = body
        .rfind('}')
        .map_or(body, |at| {
            if body.trim_start().starts_with('{') {
                &body[at + 1..]
            } else {
                body
            }
        })
        .trim_start();
    behind.starts_with('=') && !behind.starts_with("=>")
}

/// Replaces each run of white space with one space and trims the ends.
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token_texts(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn accessibility_in_effect() {
        for (written, encloser, expected) in [
            ("", None, Access::Internal),
            ("", Some(TypeKind::Class), Access::Private),
            ("", Some(TypeKind::Interface), Access::Public),
            ("internal protected", None, Access::ProtectedInternal),
            ("private protected", None, Access::PrivateProtected),
            ("file sealed", None, Access::File),
        ] {
            assert_eq!(type_access(&token_texts(written), encloser), expected, "{written}");
        }
    }

    #[test]
    fn written_order_of_modifiers_is_forgotten() {
        let modifiers = token_texts("async public static");
        let api = api_modifiers(modifiers.iter().map(String::as_str));
        assert_eq!(
            signature("static async public Task Run()", &modifiers, &api),
            "public static Task Run()"
        );
        assert_eq!(impl_modifiers(modifiers.iter().map(String::as_str)), ["async"]);
    }

    #[test]
    fn a_ref_return_is_no_modifier() {
        assert_eq!(
            signature("public ref readonly int At(int i)", &token_texts("public"), &token_texts("public")),
            "public ref readonly int At(int i)"
        );
    }

    #[test]
    fn initialisers() {
        for (body, expected) in [
            ("= 5;", true),
            ("=> 5;", false),
            ("{ get { return 1; } }", false),
            ("{ get { return field; } } = 5;", true),
            ("", false),
        ] {
            assert_eq!(has_initialiser(body), expected, "{body}");
        }
    }
}
