//! Projects without MSBuild: what `.csproj`, `.props`, `.targets` and solutions say, evaluated the way MSBuild documents it.
//!
//! Nodes, each a pure function: `//projects/F:xml` (the elements of one project file) and `:skeleton` (the same without items);
//! `//index:projects` (which projects there are and which files each reads: properties and imports only, so that it never moves for an
//! item); `//projects/P:evaluation` (properties and operations on items for every target framework); `:files` (the operations run over
//! the set of source paths), `:project` (the facts that readers want), `:defines`; `//index:references` (what each sees);
//! `//index:files` (which project owns each file, and which files none has).
//!
//! SDKs, packages and the machine are not looked at: what MSBuild and the SDKs set is written down in [`msbuild`] and [`sdk`], everything else that would come from
//! outside the workspace is empty. What cannot be evaluated is a diagnostic with its place.

pub mod condition;
pub mod evaluate;
pub mod expression;
pub mod facts;
pub mod files;
pub mod framework;
pub mod function;
pub mod glob;
pub mod index;
pub mod items;
pub mod msbuild;
pub mod operation;
pub mod params;
pub mod path;
pub mod producers;
pub mod report;
pub mod sdk;
pub mod solution;
pub mod string;
#[cfg(test)]
mod tests;
pub mod tree;
pub mod xml;

pub use producers::register;
