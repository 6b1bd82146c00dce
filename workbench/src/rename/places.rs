//! Places of a name in declarations and uses, and the texts with the new name.

use super::family::Family;
use super::{Obstacles, Planning, Rewritten, SourceFile, Spot};
use crate::code_text::encoding::{LARGEST, decode};
use crate::code_text::lines::split;
use crate::symbols::locations::all_declarations;
use crate::symbols::meaning::Candidate;
use crate::symbols::outputs::Outputs;
use crate::symbols::overloads;
use crate::symbols::resolve::{Options, resolve};
use crate::symbols::usages::{Subject, Usages, UseDoubt, usages_of_all};
use engine::seams::world::World;
use engine::values::label::halves;
use memchr::memmem::Finder;
use producers::csharp::usages::Place;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// The texts of files, each read once.
pub(super) struct FileTexts<'w> {
    pub(super) world: &'w dyn World,
    read: BTreeMap<String, Option<String>>,
}

impl<'w> FileTexts<'w> {
    pub(super) fn new(world: &'w dyn World) -> Self {
        Self {
            world,
            read: BTreeMap::new(),
        }
    }

    /// Reads a file.
    pub(super) fn read_text(&mut self, file: &str) -> Option<&str> {
        let world = self.world;
        self.read.entry(file.to_owned()).or_insert_with(|| text_of(world, file)).as_deref()
    }

    /// Reads the C# files of `sources` that contain a word; returns their paths in order.
    pub(super) fn read_naming(&mut self, sources: &[SourceFile], word: &str) -> Vec<String> {
        let (world, known) = (self.world, &self.read);
        let finder = Finder::new(word);
        let read = |file: &String| {
            let text = match known.get(file) {
                Some(text) => text.clone()?,
                None => {
                    let bytes = world.read_at_most(file, LARGEST).ok()?;
                    // Decode only files whose bytes contain the word: an ASCII word has the same bytes in all encodings but UTF-16.
                    if word.is_ascii() && !bytes.contains(&0) && finder.find(&bytes).is_none() {
                        return None;
                    }
                    decode(&bytes).ok()?.0
                }
            };
            text.contains(word).then(|| (file.clone(), text))
        };
        let of_language = sources.par_iter().map(|(file, _)| file).filter(|file| file.ends_with(".cs"));
        let naming: Vec<(String, String)> = of_language.filter_map(read).collect();
        let files: Vec<String> = naming.iter().map(|(file, _)| file.clone()).collect();
        self.read.extend(naming.into_iter().map(|(file, text)| (file, Some(text))));
        files
    }

    /// Returns a file that was read before.
    pub(super) fn text_of(&self, file: &str) -> Option<&str> {
        self.read.get(file)?.as_deref()
    }

    /// Returns the identifier at a place, with its byte offset.
    pub(super) fn identifier_at(&mut self, (file, line, column): &Spot) -> Option<(usize, String)> {
        let text = self.read_text(file)?;
        let start = start_of_line(text, *line)?;
        let rest = &text[start..];
        let at = rest.char_indices().nth(*column as usize - 1)?.0;
        let at = at + usize::from(rest[at..].starts_with('@'));
        let word: String = rest[at..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        Some((start + at, word))
    }
}

fn text_of(world: &dyn World, file: &str) -> Option<String> {
    decode(&world.read_at_most(file, LARGEST).ok()?).ok().map(|(text, _)| text)
}

/// Returns the byte offset of a line; texts have no byte order mark.
fn start_of_line(text: &str, line: u32) -> Option<usize> {
    let before: usize = split(text).take(line.checked_sub(1)? as usize).map(str::len).sum();
    (before <= text.len()).then_some(before)
}

/// The changed and unchanged places of a rename.
#[derive(Default)]
pub(super) struct ChangedPlaces {
    /// Byte offsets of the name in files, with whether it is the short name of an attribute.
    at: BTreeMap<String, BTreeMap<usize, bool>>,
    /// Certain uses.
    uses: BTreeSet<Spot>,
    /// Places that may be uses and stay unchanged.
    pub(super) left: Vec<String>,
}

/// Ending of attribute names, which uses may omit.
const ATTRIBUTE: &str = "Attribute";

impl ChangedPlaces {
    pub(super) fn add_place(&mut self, file: &str, at: usize, is_short: bool) {
        self.at.entry(file.to_owned()).or_default().insert(at, is_short);
    }

    /// Whether one of `signs` follows the changed name `old` at some place of a file.
    pub(super) fn is_followed_by(&self, file: &str, text: &str, old: &str, signs: &[char]) -> bool {
        let mut places = self.at.get(file).into_iter().flat_map(BTreeMap::keys);
        places.any(|at| text.get(at + old.len()..).is_some_and(|rest| rest.trim_start().starts_with(signs)))
    }

    pub(super) fn has(&self, file: &str, at: usize) -> bool {
        self.at.get(file).is_some_and(|places| places.contains_key(&at))
    }

    pub(super) fn files(&self) -> impl Iterator<Item = &String> {
        self.at.keys()
    }

    /// Returns all changed places, with byte offsets.
    pub(super) fn places(&self) -> impl Iterator<Item = (&String, usize)> {
        self.at.iter().flat_map(|(file, places)| places.keys().map(move |at| (file, *at)))
    }

    pub(super) fn len(&self) -> usize {
        self.at.values().map(BTreeMap::len).sum()
    }

    /// Returns the positions of the uses after the rename: changes before them on the same line shift their columns.
    pub(super) fn expected_spots(&self, family: &Family, new: &str, texts: &FileTexts<'_>) -> BTreeSet<Spot> {
        let count = |text: &str| text.chars().count() as i64;
        let moved = |(file, line, column): &Spot| {
            let spot = (file.clone(), *line, *column);
            let (Some(text), Some(places)) = (texts.text_of(file), self.at.get(file)) else {
                return spot;
            };
            let Some(start) = start_of_line(text, *line) else { return spot };
            let own = text[start..]
                .char_indices()
                .nth(*column as usize - 1)
                .map_or(start, |(at, _)| start + at);
            let grown = places.range(start..own).map(|(_, is_short)| {
                let (old, new) = names_as_written(family, new, *is_short);
                count(new) - count(old)
            });
            let column = i64::from(*column) + grown.sum::<i64>();
            (file.clone(), *line, u32::try_from(column).unwrap_or(1))
        };
        self.uses.iter().map(moved).collect()
    }

    /// Returns the changed files.
    pub(super) fn rewritten(&self, family: &Family, new: &str, texts: &FileTexts<'_>, way: &mut Obstacles) -> Vec<Rewritten> {
        let mut files = Vec::new();
        for (file, places) in &self.at {
            let Some(before) = texts.text_of(file) else {
                way.add_obstacle(format!("{file}: it cannot be read as text"));
                continue;
            };
            let mut after = before.to_owned();
            for (at, is_short) in places.iter().rev() {
                let (old, written) = names_as_written(family, new, *is_short);
                if *is_short && without_ending(new) == new {
                    way.add_obstacle(format!(
                        "{file}: an attribute is written [{old}] here; only a name that ends in '{ATTRIBUTE}' can be shortened like this"
                    ));
                }
                after.replace_range(*at..at + old.len(), written);
            }
            files.push(Rewritten::of(file, before, after));
        }
        files
    }
}

/// Returns the old and the new name as written at a place.
fn names_as_written<'n>(family: &'n Family, new: &'n str, is_short: bool) -> (&'n str, &'n str) {
    match is_short {
        true => (without_ending(&family.old), without_ending(new)),
        false => (&family.old, new),
    }
}

fn without_ending(name: &str) -> &str {
    name.strip_suffix(ATTRIBUTE).filter(|short| !short.is_empty()).unwrap_or(name)
}

/// Collects the declarations of the family, including all parts, and the constructors and finalizers of a type.
pub(super) fn find_declarations<O: Outputs>(planning: &mut Planning<'_, O>) -> Result<(), O::Error> {
    let Planning {
        outputs,
        symbols,
        family,
        texts,
        change,
        way,
        ..
    } = planning;
    let outputs = &mut **outputs;
    let mut candidates: Vec<Candidate> = Vec::new();
    for path in &family.paths {
        let key = halves(path).map_or(path.as_str(), |(key, _)| key);
        let Some(at) = symbols.find(key) else { continue };
        let files = symbols.type_row(at)?.files;
        candidates.push(Candidate::from_path(path, &files));
        if family.is_type {
            let own = overloads::read_overloads(outputs, &[key])?.into_iter().flatten();
            let bears = own.filter(|one| matches!(one.name.as_str(), ".ctor" | ".cctor" | "Finalize"));
            candidates.extend(bears.map(|one| Candidate::from_path(&format!("{key}#{}", one.key), &files)));
        }
    }
    for (candidate, spot) in all_declarations(outputs, &candidates.iter().collect::<Vec<_>>())? {
        let spot = (spot.file, spot.line, spot.column);
        match texts.identifier_at(&spot) {
            Some((at, word)) if word == family.old => change.add_place(&spot.0, at, false),
            // A constructor may be implicit.
            _ if family.is_type && halves(&candidate).is_some() => {}
            _ => way.add_obstacle(format!(
                "{}:{}: the name of {candidate} is not found in its declaration",
                spot.0, spot.1
            )),
        }
    }
    if change.at.is_empty() {
        way.add_obstacle("the present files do not declare it");
    }
    Ok(())
}

/// Collects the uses of the family; returns the places of its name outside of every type.
pub(super) fn find_uses<O: Outputs>(planning: &mut Planning<'_, O>) -> Result<BTreeSet<Spot>, O::Error> {
    let Planning {
        outputs,
        symbols,
        family,
        request,
        texts,
        change,
        way,
    } = planning;
    let outputs = &mut **outputs;
    let (mut certain, mut possible): (BTreeSet<Place>, BTreeMap<Place, UseDoubt>) = Default::default();
    let mut outside = BTreeSet::new();
    let mut subjects: Vec<Subject> = Vec::new();
    for path in &family.paths {
        match Subject::from_resolution(&resolve(symbols, outputs, path, &Options::default())?) {
            Ok(subject) => subjects.push(subject),
            Err(_) => way.add_obstacle(format!("cortex cannot distinguish the uses of {path} from those of another symbol")),
        }
    }
    for found in usages_of_all(outputs, symbols, &subjects, request.gaps)?
        .into_iter()
        .map(Usages::in_code)
    {
        found
            .unread
            .iter()
            .for_each(|label| way.add_obstacle(format!("{label} could not be built, and may use it")));
        for why in found.unseen {
            let sentence = format!("possible uses: {why}");
            match request.leave_possible {
                true if change.left.contains(&sentence) => {}
                true => change.left.push(sentence),
                false => way.add_obstacle(sentence),
            }
        }
        certain.extend(found.certain);
        possible.extend(found.possible);
    }
    for place in certain {
        let spot = (place.file.clone(), place.line, place.column);
        match texts.identifier_at(&spot) {
            Some((at, word)) if word == family.old => change.add_place(&place.file, at, false),
            Some((at, word)) if family.is_type && without_ending(&family.old) != family.old && word == without_ending(&family.old) => {
                change.add_place(&place.file, at, true);
            }
            // A use of a type may omit its name: `new()`, `this(…)`.
            _ if family.is_type => {}
            _ => way.add_obstacle(format!(
                "{}:{}: this code uses it without writing its name: {}",
                place.file, place.line, place.text
            )),
        }
        change.uses.insert(spot);
    }
    for (place, why) in possible {
        let spot = (place.file.clone(), place.line, place.column);
        if change.uses.contains(&spot) {
            continue;
        }
        match &why {
            UseDoubt::Through(path) if !family.has_member_of(path) => continue,
            UseDoubt::OutsideTypes => {
                outside.insert(spot);
                continue;
            }
            _ => {}
        }
        let sentence = format!("{}:{}: possible use, {why}: {}", place.file, place.line, place.text);
        match request.leave_possible {
            true => change.left.push(sentence),
            false => way.add_obstacle(sentence),
        }
    }
    Ok(outside)
}

impl Family {
    /// Whether the type of a path declares a member of the family.
    fn has_member_of(&self, path: &str) -> bool {
        let key = halves(path).map_or(path, |(key, _)| key);
        self.paths.iter().any(|own| halves(own).is_some_and(|(own, _)| own == key))
    }
}
