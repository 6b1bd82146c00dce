//! Changes the parameters of a method or a constructor: adds, removes, reorders, renames. Its overrides, implementations, bases, parts, calls and
//! references in documentation change with it, or nothing changes.
//!
//! Every place is marked in its text before any change, so that calls in arguments of calls move with these, and the places of the member's uses
//! after the change are known.

mod arguments;
mod checks;
mod declarations;
mod marks;
mod wanted;

use super::family::Family;
use super::places::FileTexts;
use super::{Obstacles, Plan, RenameRequest, Rewritten, Spot, unread_uses, with_files};
use crate::code_text::lines::line_and_column;
use crate::rename::directives;
use crate::symbols::contents::Layout;
use crate::symbols::hierarchy::implementations;
use crate::symbols::index::{Symbols, simple_name};
use crate::symbols::locations::all_declarations;
use crate::symbols::meaning::Candidate;
use crate::symbols::outputs::Outputs;
use crate::symbols::overloads::{self, parameter_types};
use crate::symbols::resolve::{Options, resolve};
use crate::symbols::usages::{Subject, usages};
use declarations::{parameter_names, parameters_behind};
use engine::planning::symbol::name_of;
use engine::seams::world::World;
use engine::values::label::halves;
use marks::{Marked, PlaceKind};
use producers::csharp::lexer::lex;
use producers::csharp::members::ParameterRow;
use producers::csharp::usages::{Place, UseKind};
use std::collections::{BTreeMap, BTreeSet};
use wanted::WantedParameter;

/// A validated change, before its places are known.
struct SignatureChange {
    own: Vec<ParameterRow>,
    wanted: Vec<WantedParameter>,
    family: Family,
    is_constructor: bool,
}

/// Plans new parameters for a member; `request.new` is their list.
///
/// # Errors
/// Outer: when outputs cannot be read; inner: the obstacles.
pub fn change_signature<O: Outputs>(
    outputs: &mut O,
    symbols: &Symbols,
    world: &dyn World,
    request: RenameRequest<'_>,
) -> Result<Result<Plan, Obstacles>, O::Error> {
    let mut way = Obstacles::default();
    let Some(change) = change_of(outputs, (symbols, world), request, &mut way)? else {
        return Ok(Err(way));
    };
    let renamed = change.paths_afterwards();
    check_clashes(outputs, symbols, &change, &renamed, &mut way)?;
    let mut texts = FileTexts::new(world);
    let mut marked = Marked::default();
    let names = mark_declarations(outputs, symbols, &change, (&mut texts, &mut marked), &mut way)?;
    mark_uses(outputs, symbols, (&change, request), (&mut texts, &mut marked), &mut way)?;
    directives::refuse_flawed(request, &change.family.old, &mut texts, &mut way);
    for place in unread_uses(world, request.candidate, &change.family) {
        way.add_obstacle(place);
    }
    let layout = Layout::from_outputs(outputs)?;
    let (mut files, mut expected, mut left, mut places) = (Vec::new(), BTreeSet::new(), Vec::new(), 0);
    for (file, marks) in &marked.files {
        let Some(before) = texts.text_of(file) else {
            way.add_obstacle(format!("{file}: it cannot be read as text"));
            continue;
        };
        let made = marks::rewrite(before, marks, &change, &names);
        for (at, why) in made.refused {
            let (line, column) = line_and_column(before, at);
            way.add_obstacle(format!("{file}:{line}:{column}: {why}"));
        }
        for (at, argument) in made.dropped {
            let line = line_and_column(before, at).0;
            left.push(format!("{file}:{line}: `{argument}` is no longer passed"));
        }
        for at in made.uses {
            let (line, column) = line_and_column(&made.text, at);
            let small = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
            expected.insert((file.clone(), small(line), small(column)));
        }
        if made.text != before {
            request.check_file(file, before, &layout, &mut way);
            places += made.changed;
            files.push(Rewritten::of(file, before, made.text));
        }
    }
    checks::check_texts(outputs, &files, &mut way)?;
    Ok(way.result(Plan {
        renamed,
        files,
        places,
        left,
        expected,
    }))
}

/// Validates a request; `None` if there are obstacles already.
fn change_of<O: Outputs>(
    outputs: &mut O,
    (symbols, world): (&Symbols, &dyn World),
    request: RenameRequest<'_>,
    way: &mut Obstacles,
) -> Result<Option<SignatureChange>, O::Error> {
    let candidate = request.candidate;
    let is_constructor = candidate.kind == "constructor";
    way.refuse_inherited(candidate);
    if candidate.kind != "method" && !is_constructor {
        way.add_obstacle(format!("a {} has no parameters that can be changed here", candidate.kind));
    }
    if candidate.member_name() == Some("Main") {
        way.add_obstacle(format!("{}: it may be the entry point of a program", candidate.path));
    }
    if symbols.is_generated(candidate.key()) {
        way.add_obstacle(format!("{} is generated", candidate.key()));
    }
    if !way.0.is_empty() {
        return Ok(None);
    }
    let rows = overloads::read_overloads(outputs, &[candidate.key()])?.into_iter().flatten();
    let mut own = rows.filter(|one| Some(one.key.as_str()) == candidate.member());
    let Some(own) = own.next().map(|one| one.parameters) else {
        way.add_obstacle(format!("{}: its parameters are not known", candidate.path));
        return Ok(None);
    };
    if own.first().is_some_and(|one| one.this) {
        checks::check_block(
            outputs,
            &with_files(symbols, &candidate.path),
            own.len(),
            &mut FileTexts::new(world),
            way,
        )?;
        if !way.0.is_empty() {
            return Ok(None);
        }
    }
    let wanted = match wanted::parse_wanted(request.new, &own) {
        Ok(wanted) => wanted,
        Err(why) => {
            way.add_obstacle(why);
            return Ok(None);
        }
    };
    let is_same = wanted.len() == own.len()
        && (0..)
            .zip(&wanted)
            .all(|(at, one)| *one == WantedParameter::Kept { from: at, renamed: None });
    if is_same {
        way.add_obstacle(format!("{} has these parameters already", candidate.path));
        return Ok(None);
    }
    let family = match is_constructor {
        true => Family {
            paths: BTreeSet::from([candidate.path.clone()]),
            old: simple_name(candidate.key()).to_owned(),
            is_type: false,
        },
        false => Family::from_symbol(outputs, symbols, candidate, way)?,
    };
    let change = SignatureChange {
        own,
        wanted,
        family,
        is_constructor,
    };
    if is_constructor {
        let mut texts = FileTexts::new(world);
        checks::check_primary(outputs, symbols, candidate, &mut texts, way)?;
        if change.own.is_empty() {
            checks::check_type_arguments(outputs, symbols, request, &mut texts, way)?;
        }
    }
    if is_constructor && change.own.iter().all(|one| one.optional || one.params) && change.asks_for_more() {
        // An heir may call the constructor implicitly.
        let heirs = implementations(outputs, symbols, &Candidate::from_path(candidate.key(), &[]), true)?;
        for heir in heirs {
            way.add_obstacle(format!("{} may call it without writing so", heir.path));
        }
    }
    Ok(Some(change))
}

impl SignatureChange {
    /// Returns the old names of renamed parameters if the change does nothing else: code that writes none of them stays right.
    fn names_that_only_change(&self) -> Option<BTreeSet<&str>> {
        let mut names = BTreeSet::new();
        for (at, wanted) in self.wanted.iter().enumerate() {
            match wanted {
                WantedParameter::Kept { from, renamed } if *from == at => {
                    names.extend(renamed.iter().map(|_| self.own[at].name.trim_start_matches('@')));
                }
                _ => return None,
            }
        }
        (self.wanted.len() == self.own.len()).then_some(names)
    }

    /// Whether callers must pass a new argument.
    fn asks_for_more(&self) -> bool {
        self.wanted
            .iter()
            .any(|one| matches!(one, WantedParameter::Added(added) if !added.is_optional))
    }

    /// Returns the paths of the changed members, before and after.
    fn paths_afterwards(&self) -> BTreeMap<String, String> {
        let afterwards = |path: &String| {
            let Some((key, member)) = halves(path) else { return path.clone() };
            let types = parameter_types(member);
            let kinds = self.wanted.iter().map(|one| match one {
                WantedParameter::Kept { from, .. } => types.get(*from).copied().unwrap_or_default(),
                WantedParameter::Added(added) => added.kind.as_str(),
            });
            format!("{key}#{}({})", name_of(member), kinds.collect::<Vec<_>>().join(","))
        };
        self.family.paths.iter().map(|path| (path.clone(), afterwards(path))).collect()
    }
}

/// Adds obstacles for other members of the same name with the new parameters.
fn check_clashes<O: Outputs>(
    outputs: &mut O,
    symbols: &Symbols,
    change: &SignatureChange,
    renamed: &BTreeMap<String, String>,
    way: &mut Obstacles,
) -> Result<(), O::Error> {
    for (before, after) in renamed {
        let (Some((key, old)), Some((_, new))) = (halves(before), halves(after)) else {
            continue;
        };
        if old == new {
            continue;
        }
        let plain = |member: &str| member.replace(' ', "");
        let others = overloads::read_overloads(outputs, &[key])?.into_iter().flatten();
        for other in others.filter(|other| other.key != old && plain(&other.key) == plain(new)) {
            let place = all_declarations(outputs, &[&with_files(symbols, &format!("{key}#{}", other.key))])?;
            let at = place.first().map_or_else(String::new, |(_, at)| format!("{at}: "));
            way.add_obstacle(format!("{at}there is a {key}#{} already", other.key));
        }
    }
    let _ = change;
    Ok(())
}

/// Marks the declarations; returns for each parameter its names in them.
fn mark_declarations<O: Outputs>(
    outputs: &mut O,
    symbols: &Symbols,
    change: &SignatureChange,
    (texts, marked): (&mut FileTexts<'_>, &mut Marked),
    way: &mut Obstacles,
) -> Result<Vec<BTreeSet<String>>, O::Error> {
    let candidates: Vec<Candidate> = change.family.paths.iter().map(|path| with_files(symbols, path)).collect();
    let mut names: Vec<BTreeSet<String>> = vec![BTreeSet::new(); change.own.len()];
    for (path, spot) in all_declarations(outputs, &candidates.iter().collect::<Vec<_>>())? {
        let spot: Spot = (spot.file, spot.line, spot.column);
        let place = format!("{}:{}:{}", spot.0, spot.1, spot.2);
        let found = texts.identifier_at(&spot).filter(|(_, word)| *word == change.family.old);
        let list = found.and_then(|(at, _)| Some((at, parameters_behind(texts.text_of(&spot.0)?, at)?)));
        let Some((at, list)) = list.filter(|(_, list)| list.pieces.len() == change.own.len()) else {
            way.add_obstacle(format!("{place}: the parameters of {path} are not found in its declaration"));
            continue;
        };
        let text = texts.text_of(&spot.0).unwrap_or_default();
        for (all, name) in names.iter_mut().zip(parameter_names(text, &list)) {
            all.insert(name);
        }
        marked.mark_place(&spot.0, at, PlaceKind::Declaration);
    }
    if marked.files.is_empty() {
        way.add_obstacle("the present files do not declare it");
    }
    Ok(names)
}

/// Marks the uses; those that cannot change are obstacles.
fn mark_uses<O: Outputs>(
    outputs: &mut O,
    symbols: &Symbols,
    (change, request): (&SignatureChange, RenameRequest<'_>),
    (texts, marked): (&mut FileTexts<'_>, &mut Marked),
    way: &mut Obstacles,
) -> Result<(), O::Error> {
    let (mut certain, mut called, mut possible) = (BTreeSet::new(), BTreeSet::new(), BTreeMap::new());
    let owner = simple_name(request.candidate.key());
    for path in &change.family.paths {
        let found = resolve(symbols, outputs, path, &Options::default())?;
        let Ok(subject) = Subject::from_resolution(&found) else {
            way.add_obstacle(format!("cortex cannot distinguish the uses of {path} from those of another symbol"));
            continue;
        };
        let found = usages(outputs, symbols, &subject, request.gaps)?;
        for label in found.unread {
            way.add_obstacle(format!("{label} could not be built, and may use it"));
        }
        for why in found.unseen {
            way.add_obstacle(format!("possible uses: {why}"));
        }
        certain.extend(found.certain);
        called.extend(found.called);
        possible.extend(found.possible);
    }
    for place in &certain {
        let position = format!("{}:{}:{}", place.file, place.line, place.column);
        let spot: Spot = (place.file.clone(), place.line, place.column);
        let Some((at, word)) = texts.identifier_at(&spot) else {
            way.add_obstacle(format!("{position}: this use is not found in the file: {}", place.text));
            continue;
        };
        let text = texts.text_of(&place.file).unwrap_or_default();
        match mark_of(text, at, place, called.contains(place)) {
            // A conversion operator to the type contains its name, but does not call the constructor.
            Some(PlaceKind::Call { .. }) if change.is_constructor && is_behind_operator(text, at) => {
                marked.mark_place(&place.file, at, PlaceKind::Stays)
            }
            _ if !change.is_constructor && word != change.family.old => {
                way.add_obstacle(format!("{position}: this code uses it without writing its name: {}", place.text));
            }
            Some(PlaceKind::Call { .. }) => {
                let is_on_value = change.own.first().is_some_and(|one| one.this) && follows_value(text, at, owner);
                marked.mark_place(&place.file, at, PlaceKind::Call { is_on_value });
            }
            Some(mark) => marked.mark_place(&place.file, at, mark),
            None => way.add_obstacle(format!("{position}: it is named here without a call: {}", place.text)),
        }
    }
    let renamed = change.names_that_only_change();
    for (place, why) in possible {
        let spot: Spot = (place.file.clone(), place.line, place.column);
        let at = texts.identifier_at(&spot).map(|(at, _)| at);
        let text = at.and_then(|at| texts.text_of(&place.file)?.get(at..));
        let is_untouched = renamed
            .as_ref()
            .zip(text)
            .is_some_and(|(names, text)| !labels_argument(text, names));
        if !certain.contains(&place) && !is_untouched {
            way.add_obstacle(format!(
                "{}:{}:{}: possible use, {why}: {}",
                place.file, place.line, place.column, place.text
            ));
        }
    }
    Ok(())
}

/// Whether the statement that begins a text gives an argument one of these names: `name: value`.
fn labels_argument(text: &str, names: &BTreeSet<&str>) -> bool {
    let end = text.find(';').unwrap_or(text.len());
    let text = &text[..end];
    let tokens = lex(text).tokens;
    let words = tokens.iter().map(|token| token.text(text).trim_start_matches('@'));
    words
        .clone()
        .zip(words.skip(1))
        .any(|(name, colon)| colon == ":" && names.contains(name))
}

/// Returns the mark of a use; `None` if it names the member as a value.
fn mark_of(text: &str, at: usize, place: &Place, is_called: bool) -> Option<PlaceKind> {
    match place.kind {
        UseKind::Cref => Some(PlaceKind::Reference),
        UseKind::Override | UseKind::Implement => Some(PlaceKind::Stays),
        UseKind::Call | UseKind::Construct => Some(PlaceKind::Call { is_on_value: false }),
        _ if is_called => Some(PlaceKind::Call { is_on_value: false }),
        _ => is_in_nameof(text, at).then_some(PlaceKind::Stays),
    }
}

/// Whether a name follows a value and a dot, and not the declaring type.
fn follows_value(text: &str, at: usize, owner: &str) -> bool {
    let Some(head) = text[..at].trim_end().strip_suffix('.') else {
        return false;
    };
    let head = head.strip_suffix('?').unwrap_or(head).trim_end();
    let word = head
        .rfind(|c: char| !(c.is_alphanumeric() || c == '_'))
        .map_or(head, |end| &head[end..]);
    word.trim_start_matches(|c: char| !(c.is_alphanumeric() || c == '_')) != owner
}

/// Whether a type name, possibly qualified, follows `operator`: it is the target of a conversion.
fn is_behind_operator(text: &str, at: usize) -> bool {
    let is_in_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | ':' | '@');
    let head = text[..at].trim_end_matches(is_in_name).trim_end();
    let before = head.strip_suffix("checked").map_or(head, str::trim_end);
    before
        .strip_suffix("operator")
        .is_some_and(|rest| rest.ends_with(char::is_whitespace))
}

/// Whether a name is in `nameof(…)`.
fn is_in_nameof(text: &str, at: usize) -> bool {
    let head = text[..at].trim_end_matches(|c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '<' | '>' | ',' | ' ' | ':'));
    head.strip_suffix('(').is_some_and(|head| head.trim_end().ends_with("nameof"))
}

#[cfg(test)]
mod tests;
