//! Property functions: `$(Name.Method(…))`, `$([Type]::Member(…))` and chains of them. A function not listed here is an error that names it.
//!
//! Functions see no state of the machine: no environment, clock or file contents.

use super::string::parse_decimal;
use super::{Scope, closing, is_name};
use super::{regex, string};
use crate::framework::Framework;
use crate::path::{absolute, file_name, folder_of_path, in_workspace, relative, rooted, stem_and_extension};

/// Maximum number of calls in a chain.
const LONGEST_CHAIN: usize = 64;

/// Result of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Text, number or boolean.
    Text(String),
    /// An array of texts.
    List(Vec<String>),
}

impl Value {
    /// Converts the value to a property's text.
    pub fn into_text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::List(list) => list.join(";"),
        }
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Self {
        Self::Text(if truth { "True" } else { "False" }.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// Evaluates the text between `$(` and `)`. Errors: the name of an unknown function.
pub fn evaluate(scope: &Scope<'_>, body: &str, depth: u32) -> Result<Value, String> {
    let (mut value, mut rest) = if let Some(inner) = body.strip_prefix('[') {
        let (class, rest) = inner.split_once(']').ok_or("an unclosed type name")?;
        let rest = rest.strip_prefix("::").ok_or("a type without a member")?;
        let (member, arguments, rest) = evaluate_call(scope, rest, depth)?;
        (static_member(scope, class.trim(), &member, &arguments.unwrap_or_default())?, rest)
    } else {
        let end = body.find(['.', '[']).ok_or_else(|| format!("the expression '{}'", shorten(body)))?;
        let name = body[..end].trim();
        if !is_name(name) {
            return Err(format!("the expression '{}'", shorten(body)));
        }
        (Value::Text(scope.property(name)), &body[end..])
    };
    for _ in 0..LONGEST_CHAIN {
        rest = rest.trim_start();
        if rest.is_empty() {
            return Ok(value);
        }
        if let Some(inner) = rest.strip_prefix('[') {
            let (index, after) = inner.split_once(']').ok_or("an unclosed index")?;
            let index: usize = scope
                .expand_at(index.trim(), depth)
                .parse()
                .map_err(|_| "an index that is no number")?;
            value = match value {
                Value::List(list) => list.get(index).cloned().ok_or("an index beyond the end")?.into(),
                Value::Text(text) => text.chars().nth(index).ok_or("an index beyond the end")?.to_string().into(),
            };
            rest = after;
        } else {
            let after = rest.strip_prefix('.').ok_or_else(|| format!("'{}' after a value", shorten(rest)))?;
            let (member, arguments, after) = evaluate_call(scope, after, depth)?;
            value = string::evaluate_member(value, &member, arguments.as_deref())?;
            rest = after;
        }
    }
    Err("a chain of so many calls".to_owned())
}

/// Parses a member's name and optional arguments; also returns the remaining text.
#[allow(clippy::type_complexity)]
fn evaluate_call<'t>(scope: &Scope<'_>, text: &'t str, depth: u32) -> Result<(String, Option<Vec<String>>, &'t str), String> {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let Some(inner) = rest.trim_start().strip_prefix('(') else {
        return Ok((name.to_owned(), None, rest));
    };
    let close = closing(inner).ok_or("an unclosed parenthesis")?;
    let arguments = split_arguments(&inner[..close])
        .into_iter()
        .map(|argument| scope.expand_at(argument, depth))
        .collect();
    Ok((name.to_owned(), Some(arguments), &inner[close + 1..]))
}

/// Splits arguments at commas outside quotes and parentheses, without their own quotes.
fn split_arguments(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth, mut quote) = (Vec::new(), 0, 0_u32, None);
    for (at, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            (Some(open), _) if open == byte => quote = None,
            (Some(_), _) => {}
            (None, b'\'' | b'"' | b'`') => quote = Some(byte),
            (None, b'(') => depth += 1,
            (None, b')') => depth = depth.saturating_sub(1),
            (None, b',') if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    if !(parts.is_empty() && text.trim().is_empty()) {
        parts.push(&text[start..]);
    }
    parts
        .into_iter()
        .map(|part| {
            let part = part.trim();
            let quoted = part.len() >= 2 && part.starts_with(['\'', '"', '`']) && part.as_bytes()[0] == part.as_bytes()[part.len() - 1];
            if quoted { &part[1..part.len() - 1] } else { part }
        })
        .collect()
}

fn static_member(scope: &Scope<'_>, class: &str, member: &str, arguments: &[String]) -> Result<Value, String> {
    let class = class.strip_prefix("System.").unwrap_or(class);
    let first = arguments.first().map_or("", String::as_str);
    let second = arguments.get(1).map_or("", String::as_str);
    let unknown = || Err(format!("the function [{class}]::{member}"));
    match class.to_ascii_lowercase().as_str() {
        "msbuild" => return msbuild(scope, member, arguments),
        "io.path" => return path_function(scope, member, arguments),
        "text.regularexpressions.regex" => return regex::evaluate_regex(&member.to_ascii_lowercase(), arguments).map_or_else(unknown, Ok),
        _ => {}
    }
    // `get_OSX()` calls the property `OSX` as a method.
    let member = member.strip_prefix("get_").unwrap_or(member);
    let lower = format!("{class}.{member}").to_ascii_lowercase();
    Ok(match lower.as_str() {
        "string.isnullorempty" => first.is_empty().into(),
        "string.isnullorwhitespace" => first.trim().is_empty().into(),
        "string.copy" | "string.new" | "version.parse" | "version.new" | "int32.parse" | "int64.parse" | "convert.tostring"
        | "convert.toint32" | "boolean.parse" | "char.tostring" => first.into(),
        "string.concat" => arguments.concat().into(),
        "string.join" => arguments.get(1..).unwrap_or_default().join(first).into(),
        "string.equals" => (first == second).into(),
        "string.compare" => string::order(first.cmp(second)),
        "string.format" => string::format(first, arguments.get(1..).unwrap_or_default()).into(),
        "string.empty" => "".into(),
        "io.file.exists" => scope.exists(first).into(),
        "io.directory.exists" => scope.exists(first).into(),
        "io.directory.getparent" => Value::Text(folder_of_path(absolute(&project_folder(scope), first).trim_end_matches('/')).to_owned()),
        // The environment is no fact of the workspace: no variable is set.
        "environment.getenvironmentvariable" | "environment.expandenvironmentvariables" => "".into(),
        "environment.newline" => "\n".into(),
        "environment.is64bitprocess" | "environment.is64bitoperatingsystem" => true.into(),
        "runtime.interopservices.osplatform.linux" => "linux".into(),
        "runtime.interopservices.osplatform.windows" => "windows".into(),
        "runtime.interopservices.osplatform.osx" => "osx".into(),
        "runtime.interopservices.osplatform.create" => first.into(),
        "runtime.interopservices.runtimeinformation.isosplatform" => is_os(scope, first).into(),
        "runtime.interopservices.runtimeinformation.osarchitecture" | "runtime.interopservices.runtimeinformation.processarchitecture" => {
            "X64".into()
        }
        "operatingsystem.iswindows" => is_os(scope, "windows").into(),
        "operatingsystem.islinux" => is_os(scope, "linux").into(),
        "operatingsystem.ismacos" => is_os(scope, "osx").into(),
        _ => return unknown(),
    })
}

/// Whether the operating system that conditions see has this name.
fn is_os(scope: &Scope<'_>, name: &str) -> bool {
    let name = name.trim();
    let name = if name.eq_ignore_ascii_case("macos") { "osx" } else { name };
    name.eq_ignore_ascii_case(scope.os)
}

fn project_folder(scope: &Scope<'_>) -> String {
    scope.properties.get("MSBuildProjectDirectory").to_owned()
}

fn path_function(scope: &Scope<'_>, member: &str, arguments: &[String]) -> Result<Value, String> {
    let first = arguments.first().map_or("", String::as_str).replace('\\', "/");
    Ok(match member.to_ascii_lowercase().as_str() {
        "combine" | "join" => {
            let mut whole = String::new();
            for part in arguments.iter().map(|part| part.replace('\\', "/")) {
                if part.starts_with('/') {
                    whole = part;
                } else if !part.is_empty() {
                    if !whole.is_empty() && !whole.ends_with('/') {
                        whole.push('/');
                    }
                    whole.push_str(&part);
                }
            }
            whole.into()
        }
        "getfilename" => file_name(&first).into(),
        "getfilenamewithoutextension" => stem_and_extension(&first).0.into(),
        "getextension" => stem_and_extension(&first).1.into(),
        "hasextension" => (!stem_and_extension(&first).1.is_empty()).into(),
        "getdirectoryname" => folder_of_path(&first).into(),
        "getfullpath" => {
            let base = arguments.get(1).cloned().unwrap_or_else(|| project_folder(scope));
            let trailing = if first.ends_with('/') { "/" } else { "" };
            format!("{}{trailing}", absolute(&base, &first).trim_end_matches('/')).into()
        }
        "changeextension" => {
            let (stem, _) = stem_and_extension(&first);
            let extension = arguments.get(1).map_or("", String::as_str).trim_start_matches('.');
            let home = folder_of_path(&first);
            let name = if extension.is_empty() {
                stem.to_owned()
            } else {
                format!("{stem}.{extension}")
            };
            if home.is_empty() {
                name.into()
            } else {
                format!("{home}/{name}").into()
            }
        }
        "ispathrooted" => first.starts_with('/').into(),
        "getpathroot" => if first.starts_with('/') { "/" } else { "" }.into(),
        "getrelativepath" => relative(
            &absolute(&project_folder(scope), &first),
            &absolute(&project_folder(scope), &arguments.get(1).cloned().unwrap_or_default()),
        )
        .into(),
        "directoryseparatorchar" | "altdirectoryseparatorchar" => "/".into(),
        "pathseparator" => ":".into(),
        _ => return Err(format!("the function [System.IO.Path]::{member}")),
    })
}

fn msbuild(scope: &Scope<'_>, member: &str, arguments: &[String]) -> Result<Value, String> {
    let first = arguments.first().map_or("", String::as_str);
    let second = arguments.get(1).map_or("", String::as_str);
    let arithmetic = |compute: fn(f64, f64) -> f64| match (parse_decimal(first), parse_decimal(second)) {
        (Some(a), Some(b)) => Ok(Value::Text(compute(a, b).to_string())),
        _ => Err(format!("[MSBuild]::{member} of '{}' and '{}'", shorten(first), shorten(second))),
    };
    let versions = |holds: fn(std::cmp::Ordering) -> bool| match (string::version(first), string::version(second)) {
        (Some(a), Some(b)) => Ok(Value::from(holds(a.cmp(&b)))),
        _ => Err(format!("[MSBuild]::{member} of '{}' and '{}'", shorten(first), shorten(second))),
    };
    let framework = || Framework::from_moniker(first);
    let joined = || arguments.join("/");
    Ok(match member.to_ascii_lowercase().as_str() {
        "add" => arithmetic(|a, b| a + b)?,
        "subtract" => arithmetic(|a, b| a - b)?,
        "multiply" => arithmetic(|a, b| a * b)?,
        "divide" => arithmetic(|a, b| a / b)?,
        "modulo" => arithmetic(|a, b| a % b)?,
        "valueordefault" => if first.is_empty() { second } else { first }.into(),
        "ensuretrailingslash" if first.is_empty() || first.ends_with(['/', '\\']) => first.into(),
        "ensuretrailingslash" => format!("{first}/").into(),
        "makerelative" => {
            let home = project_folder(scope);
            relative(&absolute(&home, first), &absolute(&home, second)).into()
        }
        "normalizepath" => absolute(&project_folder(scope), &joined()).into(),
        "normalizedirectory" => format!("{}/", absolute(&project_folder(scope), &joined())).into(),
        "getdirectorynameoffileabove" => {
            let from = absolute(&project_folder(scope), first);
            scope.tree.folder_of_file_above(&from, second).unwrap_or_default().into()
        }
        "getpathoffileabove" => {
            let from = if second.is_empty() {
                rooted(folder_of_path(scope.spot.file))
            } else {
                absolute(&project_folder(scope), second)
            };
            let found = in_workspace(&from).and_then(|_| scope.tree.folder_of_file_above(&from, first));
            found.map(|folder| format!("{folder}/{first}")).unwrap_or_default().into()
        }
        "isosplatform" => is_os(scope, first).into(),
        "isosunixlike" => (!is_os(scope, "windows")).into(),
        "versionequals" => versions(std::cmp::Ordering::is_eq)?,
        "versionnotequals" => versions(std::cmp::Ordering::is_ne)?,
        "versiongreaterthan" => versions(std::cmp::Ordering::is_gt)?,
        "versiongreaterthanorequals" => versions(std::cmp::Ordering::is_ge)?,
        "versionlessthan" => versions(std::cmp::Ordering::is_lt)?,
        "versionlessthanorequals" => versions(std::cmp::Ordering::is_le)?,
        "istargetframeworkcompatible" => framework()
            .zip(Framework::from_moniker(second))
            .is_some_and(|(target, other)| target.runs(&other))
            .into(),
        "gettargetframeworkidentifier" => framework().map_or("Unsupported", |found| found.identifier()).into(),
        "gettargetframeworkversion" => framework().map(|found| found.version_text()).unwrap_or_default().into(),
        "gettargetplatformidentifier" => framework().map(|found| found.platform).unwrap_or_default().into(),
        "gettargetplatformversion" => framework().map(|found| found.platform_version).unwrap_or_default().into(),
        "escape" => first
            .replace('%', "%25")
            .replace(';', "%3B")
            .replace('*', "%2A")
            .replace('?', "%3F")
            .into(),
        "unescape" => super::unescape(first).into(),
        "arefeaturesenabled" => true.into(),
        "isrunningfromvisualstudio" => false.into(),
        "getregistryvalue"
        | "getregistryvaluefromview"
        | "getcurrenttoolsdirectory"
        | "gettoolsdirectory32"
        | "gettoolsdirectory64"
        | "getmsbuildextensionspath"
        | "getmsbuildsdkspath"
        | "getprogramfiles32"
        | "getvsinstallroot" => "".into(),
        _ => return Err(format!("the function [MSBuild]::{member}")),
    })
}

fn shorten(text: &str) -> String {
    text.chars().take(60).collect()
}
