//! Denied access (seed 000 §16): paths out of the workspace, and unreadable files.

use crate::desk::Desk;
use crate::failed::Failed;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use workbench::location::MANIFEST;

/// Error codes for a name that resolves to nothing here.
const NO_NAME: [ErrorCode; 7] = [
    ErrorCode::E_LABEL,
    ErrorCode::E_NO_FILE,
    ErrorCode::E_SYMBOL,
    ErrorCode::SymbolNotFound,
    ErrorCode::E_NO_TARGET,
    ErrorCode::E_NAME,
    ErrorCode::E_NO_PACK,
];

/// Most files offered in place of a denied one.
const MOST_OFFERED: usize = 5;

/// Converts a failure to `AccessDenied` where a path leads out of the workspace, or a file cannot be read. A path that leads out is answered with the
/// files of that name in the workspace.
pub fn as_access_denied(failed: Failed, desk: &mut Desk<'_>) -> Failed {
    denied_with(failed, |path| namesakes(desk, path))
}

fn denied_with(mut failed: Failed, mut namesakes: impl FnMut(&str) -> Vec<String>) -> Failed {
    for why in &mut failed.diagnostics {
        // A failure with a place in the manifest concerns the manifest.
        let is_asked = why.place.as_ref().is_none_or(|place| place.file != MANIFEST);
        if is_asked && NO_NAME.iter().any(|code| why.code == *code) && symbol_of(why).is_some_and(is_outside) {
            "this path leads out of the workspace".clone_into(&mut why.message);
            why.hint = Some("name a type, a member, a pack, a label or a path inside the workspace".to_owned());
        } else if why.code != ErrorCode::E_READ && (why.code != ErrorCode::E_PATH || why.place.is_some()) {
            continue;
        }
        why.code = ErrorCode::AccessDenied.into();
        let path = symbol_of(why).filter(|path| is_outside(path)).map(str::to_owned);
        why.candidates = path.map(|path| namesakes(&path)).unwrap_or_default();
        if let Some(first) = why.candidates.first() {
            why.hint = Some(format!("{first} has this name, lies inside the workspace and may be read"));
        }
    }
    failed
}

/// Returns the files of the workspace with the same name as the requested one.
fn namesakes(desk: &mut Desk<'_>, symbol: &str) -> Vec<String> {
    let name = |path: &str| path.rsplit(['/', '\\']).next().map(str::to_owned);
    let requested = name(symbol.rsplit_once(':').map_or(symbol, |(path, _)| path));
    let Ok((_, session)) = desk.open_to_read() else {
        return Vec::new();
    };
    let files = session.sources.files().into_iter().map(|(path, _)| path);
    files.filter(|path| name(path) == requested).take(MOST_OFFERED).collect()
}

/// Returns the requested symbol or path.
fn symbol_of(why: &Diagnostic) -> Option<&str> {
    let excerpt = why.excerpt.as_ref().map(|excerpt| &excerpt.text);
    excerpt.or(why.found.as_ref()).or(why.label.as_ref()).map(String::as_str)
}

/// Whether a text is a path that is not below the workspace.
pub fn is_outside(text: &str) -> bool {
    text.starts_with('/') && !text.starts_with("//") || text.split('/').any(|part| part == "..")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::Code;

    fn code(why: Diagnostic) -> String {
        denied_with(Failed::new(Code::Usage, why), |_| Vec::new())
            .diagnostics
            .remove(0)
            .code
    }

    #[test]
    fn only_paths_that_lead_out_of_the_workspace_are_denied() {
        let missing = |found: &str| code(Diagnostic::error("SymbolNotFound", "no such name").found(found));
        for out in ["../x", "/etc/passwd", "a/../../b", "//files/../x:bytes", ".."] {
            assert_eq!(missing(out), "AccessDenied", "{out}");
        }
        assert_eq!(code(Diagnostic::error("E_NAME", "no name of a pack").found("../x")), "AccessDenied");
        let declared = Diagnostic::error("E_NAME", "no name of a tag").found("..").at(MANIFEST, 3, 1);
        assert_eq!(code(declared), "E_NAME");
        for within in ["NodeStroe", "//types/NodeStroe:outline", "a..b", "src/x.cs", "Node/*"] {
            assert_eq!(missing(within), "SymbolNotFound", "{within}");
        }
        assert_eq!(
            code(Diagnostic::error("E_READ", "a.cs cannot be read").at("a.cs", 0, 0)),
            "AccessDenied"
        );
        assert_eq!(
            code(Diagnostic::error("E_PATH", "'../a' leads out of the workspace")),
            "AccessDenied"
        );
        let manifest = Diagnostic::error("E_PATH", "no path below the workspace").at("cortex.toml", 3, 1);
        assert_eq!(code(manifest), "E_PATH");
    }
}
