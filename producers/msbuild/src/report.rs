//! Diagnostics of evaluation: one per construct and place, limited in number.

use super::properties::Files;
use super::xml::Element;
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::{Diagnostic, Severity};
use rustc_hash::FxHashSet;
use std::cell::RefCell;
use std::collections::BTreeSet;

/// Maximum number of diagnostics of one project; one more reports that others exist.
const MOST: usize = 100;

/// Maximum number of diagnostics of all projects together.
const MOST_MERGED: usize = 2000;

/// Maximum length of a quoted construct, in characters.
const QUOTED: usize = 160;

/// Diagnostics of one evaluation. Uses interior mutability, because expansion only borrows its other data.
#[derive(Debug, Default)]
pub struct Report {
    found: RefCell<BTreeSet<Diagnostic>>,
    unset: RefCell<BTreeSet<Unset>>,
}

/// A condition or an import that reads an unset property of the build tools.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Unset {
    file: String,
    line: u32,
    property: String,
    construct: String,
}

/// A line of a file, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot<'a> {
    /// Path relative to the workspace.
    pub file: &'a str,
    /// Line from 1.
    pub line: u32,
}

impl<'a> Spot<'a> {
    pub fn first_line(file: &'a str) -> Self {
        Self { file, line: 1 }
    }
}

impl Report {
    /// Adds a warning: a construct has less effect than intended.
    pub fn warn(&self, code: ErrorCode, spot: Spot<'_>, message: impl Into<String>, construct: &str) {
        self.add_finding(Severity::Warning, code, spot, message.into(), construct);
    }

    /// Adds a note: useful information without a fault.
    pub fn add_note(&self, code: ErrorCode, spot: Spot<'_>, message: impl Into<String>, construct: &str) {
        self.add_finding(Severity::Note, code, spot, message.into(), construct);
    }

    /// Records that a construct reads an unset property of the build tools.
    pub fn unset(&self, property: &str, spot: Spot<'_>, construct: &str) {
        let mut unset = self.unset.borrow_mut();
        if unset.len() < MOST {
            unset.insert(Unset {
                file: spot.file.to_owned(),
                line: spot.line,
                property: property.to_owned(),
                construct: construct.to_owned(),
            });
        }
    }

    /// Warns about the recorded properties that no file sets: build tools set them, so their values are missing here.
    pub fn warn_of_unset(&self, files: &Files<'_>) {
        let unset = self.unset.take();
        let mut set = FxHashSet::default();
        if !unset.is_empty() {
            files.values().for_each(|file| properties_set(file, &mut set));
        }
        for one in unset.into_iter().filter(|one| !set.contains(&one.property.to_ascii_lowercase())) {
            let message = format!("nothing in the workspace sets {}; assuming it is empty", one.property);
            let spot = Spot {
                file: &one.file,
                line: one.line,
            };
            self.warn(ErrorCode::CS_PROJECT_PROPERTY, spot, message, &one.construct);
        }
    }

    fn add_finding(&self, severity: Severity, code: ErrorCode, spot: Spot<'_>, message: String, construct: &str) {
        let mut diagnostic = Diagnostic::new(severity, code, message).at(spot.file, spot.line, 0);
        if !construct.is_empty() {
            diagnostic = diagnostic.found(construct.trim().chars().take(QUOTED).collect::<String>());
        }
        self.insert(diagnostic);
    }

    fn insert(&self, mut diagnostic: Diagnostic) {
        let mut found = self.found.borrow_mut();
        if found.len() > MOST {
            return;
        }
        if found.len() == MOST {
            let more = "there are more constructs that cannot be evaluated";
            let place = diagnostic.place.take().map(|place| place.file).unwrap_or_default();
            diagnostic = Diagnostic::new(diagnostic.severity, ErrorCode::CS_PROJECT_MORE, more).at(place, 0, 0);
        }
        found.insert(diagnostic);
    }

    /// Merges the diagnostics of another report. Keeps one of several about the same place, even if they quote different text.
    pub fn merge(&self, other: Self) {
        self.unset.borrow_mut().extend(other.unset.into_inner());
        let mut found = self.found.borrow_mut();
        for diagnostic in other.found.into_inner() {
            let same = |known: &Diagnostic| {
                known.code == diagnostic.code && known.place == diagnostic.place && known.message == diagnostic.message
            };
            let first = Diagnostic {
                place: diagnostic.place.clone(),
                ..Diagnostic::new(diagnostic.severity, diagnostic.code.as_str(), diagnostic.message.as_str())
            };
            // Severity, code, message and place are compared first, so equal diagnostics are adjacent.
            if found.len() < MOST_MERGED && !found.range(first..).next().is_some_and(same) {
                found.insert(diagnostic);
            }
        }
    }

    /// Merges the diagnostics about a property's value. A property that only describes an assembly or a package affects no compilation.
    pub fn take_over_of_property(&self, other: Self, property: &str) {
        self.unset.borrow_mut().extend(other.unset.into_inner());
        for mut diagnostic in other.found.into_inner() {
            if diagnostic.code == ErrorCode::CS_PROJECT_FUNCTION.as_str() {
                diagnostic.message.push_str(", in the property ");
                diagnostic.message.push_str(property);
                if only_describes(property) {
                    diagnostic.severity = Severity::Note;
                }
            }
            self.insert(diagnostic);
        }
    }

    /// Returns all diagnostics, sorted.
    pub fn into_diagnostics(self) -> Vec<Diagnostic> {
        self.found.into_inner().into_iter().collect()
    }
}

/// Whether a property only describes an assembly or a package: its title, authors or version. No compilation reads such a property.
#[rustfmt::skip]
fn only_describes(property: &str) -> bool {
    let name = property.to_ascii_lowercase();
    let describes = ["package", "repository", "assemblytitle", "assemblyversion"];
    describes.iter().any(|start| name.starts_with(start))
        || matches!(
            name.as_str(),
            "authors" | "company" | "copyright" | "description" | "fileversion" | "informationalversion"
            | "neutrallanguage" | "product" | "sourcerevisionid" | "title" | "trademark" | "version" | "versionprefix"
            | "versionsuffix"
        )
}

/// Collects the lower-cased names of all properties that a file sets.
fn properties_set(element: &Element, found: &mut FxHashSet<String>) {
    for child in &element.children {
        if element.is_named("PropertyGroup") {
            found.insert(child.name.to_ascii_lowercase());
        } else {
            properties_set(child, found);
        }
    }
}
