//! Projects without MSBuild: evaluates `.csproj`, `.props`, `.targets` and solutions as MSBuild documents it.
//!
//! Nodes, each a pure function: `//projects/F:xml` (the elements of one project file) and `:skeleton` (the same without items);
//! `//index:projects` (all projects and the files that each reads: properties and imports only, so item edits never change it);
//! `//projects/P:evaluation` (properties and item operations for every target framework); `:files` (the operations run over the set of source
//! paths), `:project` (the facts for readers), `:defines`; `//index:references` (the projects that each project sees); `//index:files` (the project
//! that owns each file, and the files without an owner).
//!
//! Evaluation reads no SDK, no package and no setting of the machine: [`well_known_properties`] and [`sdk`] list the properties of MSBuild and the SDKs;
//! all else from outside the workspace is empty. Text that cannot be evaluated gives a diagnostic with its place.

pub mod condition;
pub mod evaluate;
pub mod expression;
pub mod facts;
pub mod files;
pub mod framework;
pub mod glob;
pub mod index;
pub mod items;
pub mod operation;
pub mod package_publishers;
pub mod packages;
pub mod params;
pub mod path;
pub mod producers;
pub mod properties;
pub mod report;
pub mod sdk;
pub mod solution;
#[cfg(test)]
mod tests;
pub mod tree;
pub mod well_known_properties;
pub mod xml;

pub use producers::register_projects;
