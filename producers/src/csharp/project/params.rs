//! Parameters of `[producer.project]`: what a workspace may say over what its projects say.

use super::evaluate::Settings;
use engine::seams::producer::{ParamError, Params};
use serde::Deserialize;
use std::collections::BTreeMap;

/// All parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProjectParams {
    /// The framework to look at, for projects that target it; else the newest counts.
    pub tfm: Option<String>,
    /// Symbols that are defined in addition, in all projects.
    pub defines: Vec<String>,
    /// Global properties (`Configuration`, …).
    pub properties: BTreeMap<String, String>,
    /// The system that conditions see: `linux`, `windows` or `osx`.
    pub os: Option<String>,
    /// Only the projects of this solution.
    pub solution: Option<String>,
    /// Overrides by path of the project file.
    pub projects: BTreeMap<String, Override>,
}

/// What is said of one project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Override {
    /// The framework, whatever the project says.
    pub tfm: Option<String>,
    /// Symbols that are defined in addition.
    pub defines: Vec<String>,
    /// Globs of files that it compiles in addition, relative to the workspace.
    pub include: Vec<String>,
    /// Globs of files that it does not compile.
    pub exclude: Vec<String>,
}

impl ProjectParams {
    /// Reads parameters.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn read(params: &Params) -> Result<Self, Vec<ParamError>> {
        let error = |param: &str, message: String, hint: &str| {
            vec![ParamError {
                param: param.to_owned(),
                message,
                hint: Some(hint.to_owned()),
                unknown: false,
            }]
        };
        let hint = "known are tfm, defines, properties, os, solution and projects (with tfm, defines, include and exclude for each)";
        // Key by key, so that the message names the one that is wrong.
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

    /// What is said of one project.
    pub fn project(&self, path: &str) -> Option<&Override> {
        self.projects.get(path)
    }

    /// Settings of an evaluation.
    pub fn settings(&self, solution: Option<String>) -> Settings {
        Settings {
            globals: self.properties.clone(),
            os: self.os.clone().unwrap_or_else(|| "linux".to_owned()),
            solution,
        }
    }
}
