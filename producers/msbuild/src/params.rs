//! Parameters of `[producer.project]`: a workspace's settings that override its projects.

use super::properties::Settings;
use engine::seams::producer::{ParamError, Params};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Names of the parameters.
const KNOWN: [&str; 6] = ["tfm", "defines", "properties", "os", "solution", "projects"];
/// Names of the settings of one project.
const OF_PROJECT: [&str; 4] = ["tfm", "defines", "include", "exclude"];

/// Returns errors for unknown parameters, also in the tables of single projects.
fn unknown(params: &Params) -> impl Iterator<Item = ParamError> {
    let top = params.keys().filter(|name| !KNOWN.contains(&name.as_str()));
    let top = top.map(|name| ParamError::unknown_parameter(name, &KNOWN));
    let tables = params.get("projects").and_then(serde_json::Value::as_object).into_iter().flatten();
    let inner = tables.flat_map(|(path, table)| {
        let names = table.as_object().into_iter().flat_map(|table| table.keys());
        let wrong = names.filter(|name| !OF_PROJECT.contains(&name.as_str()));
        wrong.map(move |name| ParamError {
            param: format!("projects.{path}.{name}"),
            ..ParamError::unknown_parameter(name, &OF_PROJECT)
        })
    });
    top.chain(inner)
}

/// All parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProjectParams {
    /// The preferred framework for projects that target it; by default the newest.
    pub tfm: Option<String>,
    /// Additional symbols for all projects.
    pub defines: Vec<String>,
    /// Global properties (`Configuration`, …).
    pub properties: BTreeMap<String, String>,
    /// The operating system that conditions see: `linux`, `windows` or `osx`.
    pub os: Option<String>,
    /// The solution to which evaluation is limited.
    pub solution: Option<String>,
    /// Overrides by path of the project file.
    pub projects: BTreeMap<String, Override>,
}

/// Overrides for one project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Override {
    /// The framework, overriding the project's.
    pub tfm: Option<String>,
    pub defines: Vec<String>,
    /// Globs of additional compiled files, relative to the workspace.
    pub include: Vec<String>,
    /// Globs of files to exclude from compilation.
    pub exclude: Vec<String>,
}

impl ProjectParams {
    /// Reads parameters. Errors: all errors in them.
    pub fn from_params(params: &Params) -> Result<Self, Vec<ParamError>> {
        let error = |param: &str, message: String, hint: &str| {
            vec![ParamError {
                param: param.to_owned(),
                message,
                hint: Some(hint.to_owned()),
                unknown: false,
            }]
        };
        let unknown: Vec<ParamError> = unknown(params).collect();
        if !unknown.is_empty() {
            return Err(unknown);
        }
        let hint = "known are tfm, defines, properties, os, solution and projects (with tfm, defines, include and exclude for each)";
        // Parse key by key, so that the message names the invalid one.
        for (name, value) in params {
            let one: Params = [(name.clone(), value.clone())].into_iter().collect();
            if let Err(why) = serde_json::from_value::<Self>(one.into()) {
                return Err(error(name, format!("`{name}` cannot be read: {why}"), hint));
            }
        }
        let read: Self = serde_json::from_value(params.clone().into()).map_err(|why| error("project", why.to_string(), hint))?;
        if read.os.as_deref().is_some_and(|os| !["linux", "windows", "osx"].contains(&os)) {
            return Err(error(
                "os",
                "there is no such system".to_owned(),
                "write \"linux\", \"windows\" or \"osx\"",
            ));
        }
        Ok(read)
    }

    pub fn project(&self, path: &str) -> Option<&Override> {
        self.projects.get(path)
    }

    pub fn settings(&self, solution: Option<String>) -> Settings {
        Settings {
            globals: self.properties.clone(),
            os: self.os.clone().unwrap_or_else(|| "linux".to_owned()),
            solution,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_names_are_told_with_the_near_one_at_any_depth() {
        let read = |text: &str| {
            let params: Params = serde_json::from_str(text).expect("JSON");
            let errors = ProjectParams::from_params(&params).err().unwrap_or_default();
            let messages = errors
                .into_iter()
                .map(|error| format!("{}: {}", error.param, error.hint.unwrap_or_default()));
            messages.collect::<Vec<_>>()
        };
        assert!(read(r#"{"projects": {"A/A.csproj": {"include": ["x/**"]}}}"#).is_empty());
        assert_eq!(read(r#"{"proprties": {}}"#), ["proprties: did you mean 'properties'?"]);
        assert_eq!(
            read(r#"{"projects": {"A/A.csproj": {"inclde": ["x/**"]}}}"#),
            ["projects.A/A.csproj.inclde: did you mean 'include'?"]
        );
    }
}
