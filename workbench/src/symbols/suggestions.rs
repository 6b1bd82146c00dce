//! Suggestions for a name that means nothing: similarly spelled types and members.

use super::edit_distance::{MOST_EDITS, Word};
use super::index::simple_name;
use super::matching::{matches_end, outer_part, rank};
use super::outputs::Outputs;
use super::overloads;
use super::path::Segment;
use super::resolve::{Asking, MOST_OPENED, MemberCandidate, SHOWN, of_member, of_type};
use engine::values::case_folding::{folded, same};
use std::collections::BTreeSet;

/// Fewest characters of a name at the beginning of a longer one.
const LEAST_BEGINNING: usize = 3;

/// Fewest characters of a name inside of a longer one.
const LEAST_PART: usize = 4;

impl<O: Outputs> Asking<'_, O> {
    /// Returns suggestions, nearest first. `owners`: the types that the names before the last mean, and the last name.
    pub(super) fn suggestions(
        &mut self,
        owners: Option<(Vec<usize>, String)>,
        recent: &[String],
    ) -> Result<Vec<MemberCandidate>, O::Error> {
        let path = self.path;
        match owners {
            Some((types, name)) if !types.is_empty() => {
                self.owner = Some(types[0]).filter(|_| types.len() == 1);
                let near = self.near_members(&types, &name)?;
                match near.is_empty() {
                    true => self.declared_elsewhere(&name),
                    false => Ok(near),
                }
            }
            owners => {
                let whole = self.near_types(&path.segments, recent);
                match owners {
                    Some((_, name)) if path.member.is_some() => self.in_near_types(whole, &name),
                    // Without a `#`, the last name is more likely a type's.
                    Some((_, name)) if whole.is_empty() => {
                        let before = self.near_types(&path.segments[..path.segments.len() - 1], recent);
                        self.in_near_types(before, &name)
                    }
                    _ => Ok(whole),
                }
            }
        }
    }

    /// Returns members of that name in other types if these are few: extension methods, say.
    fn declared_elsewhere(&mut self, name: &str) -> Result<Vec<MemberCandidate>, O::Error> {
        let types = self.declaring(name);
        if types.len() > SHOWN {
            return Ok(Vec::new());
        }
        let mut found = self.members(&types, name)?;
        found.sort_by_cached_key(|found| self.rank(found));
        Ok(found)
    }

    /// Returns members of that name in similarly spelled types, or else the types.
    fn in_near_types(&mut self, near: Vec<MemberCandidate>, name: &str) -> Result<Vec<MemberCandidate>, O::Error> {
        let types: Vec<usize> = near.iter().take(MOST_OPENED).map(|found| found.at).collect();
        let found = self.members(&types, name)?;
        Ok(if found.is_empty() { near } else { found })
    }

    /// Returns types with similarly spelled simple names, nearest first.
    fn near_types(&self, names: &[Segment], recent: &[String]) -> Vec<MemberCandidate> {
        let symbols = self.symbols;
        let Some(last) = names.last() else { return Vec::new() };
        let word = Word::new(last.name.split('`').next().unwrap_or_default());
        let mut near: Vec<(usize, usize)> = (0..symbols.len())
            .filter_map(|at| Some((word.edits(simple_name(symbols.folded(at)))?, at)))
            .collect();
        // A written namespace limits suggestions to types in it, if there are any.
        if names.len() > 1 {
            let within = |at: &usize| matches_end(&names[..names.len() - 1], outer_part(symbols.key(*at)), false).is_some();
            if near.iter().any(|(_, at)| within(at)) {
                near.retain(|(_, at)| within(at));
            }
        }
        near.sort_by_cached_key(|(edits, at)| {
            let key = symbols.key(*at);
            let used = recent.iter().position(|path| path == key).unwrap_or(usize::MAX);
            (*edits, used, symbols.is_generated(key), rank(key, symbols.brief(*at).access))
        });
        near.into_iter().map(|(_, at)| of_type(at)).collect()
    }

    /// Returns similarly spelled members of types and their bases, nearest first.
    fn near_members(&mut self, types: &[usize], name: &str) -> Result<Vec<MemberCandidate>, O::Error> {
        let mut all: Vec<usize> = types.iter().copied().take(MOST_OPENED).collect();
        for &at in types.iter().take(MOST_OPENED) {
            let bases = self.symbols.bases(self.symbols.key(at)).into_iter();
            all.extend(bases.filter_map(|base| self.symbols.find(&base)));
        }
        all.truncate(4 * MOST_OPENED);
        let mut seen = BTreeSet::new();
        all.retain(|at| seen.insert(*at));
        let keys: Vec<&str> = all.iter().map(|&at| self.symbols.key(at)).collect();
        let rows = overloads::read_overloads(self.outputs, &keys)?;
        let word = Word::new(name);
        let mut near: Vec<(usize, usize, MemberCandidate)> = Vec::new();
        let mut taken = BTreeSet::new();
        for (place, (&at, rows)) in all.iter().zip(rows).enumerate() {
            for member in rows {
                // Other overloads of a known name are suggestions, too; identical declarations in a base are listed once.
                let edits = word.edits(&member.name).or_else(|| same(&member.name, name).then_some(0));
                let edits = edits.or_else(|| is_part(&member.name, name).then(|| MOST_EDITS + member.name.len().abs_diff(name.len())));
                if let Some(edits) = edits
                    && (place < types.len() || taken.insert(member.key.clone()))
                {
                    taken.insert(member.key.clone());
                    near.push((edits, place, of_member(at, member)));
                }
            }
        }
        near.sort_by_cached_key(|(edits, place, found)| (*edits, *place, self.rank(found)));
        Ok(near.into_iter().map(|(_, _, found)| found).collect())
    }
}

/// Whether the longer of two names begins with the shorter or contains it.
fn is_part(one: &str, other: &str) -> bool {
    let (one, other) = (folded(one), folded(other));
    let (short, long) = if one.len() < other.len() { (one, other) } else { (other, one) };
    short.len() >= LEAST_BEGINNING && long.starts_with(&short) || short.len() >= LEAST_PART && long.contains(&short)
}

#[cfg(test)]
mod tests {
    use super::super::resolve::{Options, resolve};
    use super::super::samples::Sample;

    #[test]
    fn an_unknown_member_of_a_known_type_names_the_type_and_similar_members() {
        let text = "namespace N;
class Base { protected void Hold() { } }
class Store : Base { public void GetVolumesAsync() { } public void Get(int a) { } public void Zip() { } }
static class Extensions { public static void Shout(this Store store) { } }
";
        let mut sample = Sample::from_files(&[("a.cs", text)]);
        let symbols = sample.names();
        let (none, parameters) = (" has no member of this name", " has no member of this name with these parameters");
        for (symbol, message, hint) in [
            ("Store.GetVolumes", none, "did you mean N.Store#GetVolumesAsync()?"),
            ("Store.Volumes", none, "did you mean N.Store#GetVolumesAsync()?"),
            ("Store.GetAsync", none, "did you mean N.Store#Get(int)?"),
            ("N.Store#Holds", none, "did you mean N.Base#Hold()?"),
            ("Store.Get(string)", parameters, "did you mean N.Store#Get(int)?"),
            // A member of another type is suggested only if this type has nothing similar.
            ("Store.Shout", none, "did you mean N.Extensions#Shout(Store)?"),
            ("Store.Qqqq", none, "`cortex outline N.Store` lists its members"),
        ] {
            let found = resolve(&symbols, &mut sample, symbol, &Options::default()).expect("a resolution");
            let error = found.candidate().expect_err("no symbol").diagnostic;
            assert_eq!(
                (error.message.as_str(), error.hint.as_deref()),
                (format!("N.Store{message}").as_str(), Some(hint)),
                "{symbol}"
            );
        }
        let unknown = resolve(&symbols, &mut sample, "Nope.Shout", &Options::default()).expect("a resolution");
        let error = unknown.candidate().expect_err("no symbol").diagnostic;
        assert_eq!(error.message, "no type or member of this name is known");
    }
}
