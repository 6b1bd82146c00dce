//! Undeclared simple names, and discards.

use super::Flow;
use crate::code::ast::Name;

impl Flow<'_, '_> {
    /// Whether a simple name is a discard: `_` where no variable and no member has that name. A type may be named `_`.
    pub(super) fn is_discard(&self, name: &Name) -> bool {
        let is_blank = name.word.text == "_" && name.args.is_empty();
        is_blank && self.find_local("_").is_none() && self.around.iter().all(|own| self.seen(own, "_").is_empty())
    }

    /// Records that a name after an undeclared simple name refers to no member of the workspace: the simple name is a type of a package, or
    /// a namespace. Records nothing in partial types, where a source generator may declare the simple name as a member of any type, and
    /// nothing after a name in lower case, which may be that of a variable.
    pub(super) fn note_undeclared(&mut self, segments: &[Name], name: &Name) {
        let [only] = segments else { return };
        if !only.word.text.starts_with(char::is_uppercase) {
            return;
        }
        let mut levels = self.around.iter().flat_map(|own| self.world.levels(own));
        let has_partial = levels.any(|level| {
            let line = level.key().and_then(|key| self.world.type_line(key));
            line.is_some_and(|line| line.is_partial)
        });
        if !has_partial && !self.is_open_scope() && !self.resolver.is_declared(&only.word.text) {
            self.record_non_member(name.word.place);
        }
    }
}
