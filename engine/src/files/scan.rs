//! Scanning: lists one directory and examines one file, and handles the irregularities of file systems.
//!
//! Knows the source sets and the ignore rules in force, not the tree. Nothing here depends on the order of directory entries.

use super::globs::{GlobReach, Globs};
use super::ignores::{EXCLUDE_FILE, Ignores, MAX_RULES_LEN, RULE_FILES, RuleTexts};
use super::listing::{DIR_SETTLED, DIR_UNREADABLE, DirectoryRow, LINK, Listing, REFUSED, RULES, SETTLED, UNREADABLE};
use super::packed::PackedFile;
use super::read::{Hashed, Root, error_text};
use super::stamp::Stamp;
use crate::values::codes::ErrorCode;
use crate::values::diagnostic::Diagnostic;
use crate::values::digest::Digest;
use os::errors::SystemError;
use os::folders::Folder;
use os::info::{FileInfo, FileKind};
use std::sync::Arc;

/// Placeholder for a missing digest.
const NOTHING: Digest = Digest([0; 32]);

/// State that a directory inherits from its parents.
#[derive(Clone)]
pub(crate) struct Context {
    pub(crate) reach: GlobReach,
    pub(crate) ignores: Option<Arc<Ignores>>,
}

pub(crate) struct Scan<'a> {
    pub(crate) root: &'a Root,
    pub(crate) globs: &'a Globs,
    pub(crate) fingerprint: u64,
    pub(crate) now: i64,
}

pub(crate) struct ScannedDirectory {
    pub(crate) listing: Listing,
    /// Indexes of files whose content must be examined.
    pub(crate) pending: Vec<usize>,
    /// Context of each kept subdirectory.
    pub(crate) contexts: Vec<Context>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    pub(crate) stated: usize,
    /// Files with several names, which may change without any change of their directory.
    pub(crate) linked: Vec<String>,
}

impl ScannedDirectory {
    /// Sets the source sets of a rule file, which is read already. Returns false if there is no rule file `name`.
    fn adopt_rule_file(&mut self, name: &str, sets: u64) -> bool {
        if !RULE_FILES.contains(&name) {
            return false;
        }
        let Some(index) = self.listing.files.iter().position(|entry| entry.name == name) else {
            return false;
        };
        let entry = &mut self.listing.files[index];
        entry.word = sets;
        if entry.digest == NOTHING && entry.flags & UNREADABLE == 0 {
            entry.flags = RULES;
            self.pending.push(index);
        }
        true
    }

    /// Adds a file, which must be examined unless the recorded stamp is equal.
    fn add_file(&mut self, mut entry: PackedFile, stamp: Option<Stamp>, old: Option<&DirectoryRow<'_>>) {
        let known = old.and_then(|row| row.files.find_name(&entry.name).map(|index| row.files.entry(index)));
        match known {
            Some(known) if known.flags & !RULES == SETTLED && stamp == Some(known.stamp) => {
                (entry.flags, entry.stamp, entry.digest) = (SETTLED, known.stamp, known.digest);
            }
            known => {
                // Keep the known state until the file is examined: a link's target may be unchanged.
                if let Some(known) = known {
                    (entry.flags, entry.stamp, entry.digest) = (known.flags & !RULES, known.stamp, known.digest);
                }
                self.pending.push(self.listing.files.len());
            }
        }
        self.listing.files.push(entry);
    }

    fn sort_files(&mut self) {
        let files = &mut self.listing.files;
        if files.is_sorted_by(|a, b| a.name < b.name) {
            return;
        }
        let pending: Vec<String> = self.pending.iter().map(|index| files[*index].name.clone()).collect();
        files.sort_by_cached_key(|entry| entry.name.clone());
        self.pending = pending
            .iter()
            .filter_map(|name| files.binary_search_by(|entry| entry.name.cmp(name)).ok())
            .collect();
    }
}

/// Returns the path of `name` in `directory`.
pub(crate) fn join(directory: &str, name: &str) -> String {
    if directory.is_empty() {
        name.to_owned()
    } else {
        format!("{directory}/{name}")
    }
}

fn unreadable(path: &str, what: &str, error: SystemError) -> Diagnostic {
    Diagnostic::warning(
        ErrorCode::W_SOURCE_UNREADABLE,
        format!("{what} cannot be read: {}", error_text(error)),
    )
    .at(path, 0, 0)
    .hint("make it readable, or exclude it from the source sets")
}

/// Returns the diagnostic for a name that is not UTF-8 or contains a line break.
pub(crate) fn not_text(directory: &str, name: &str) -> Diagnostic {
    Diagnostic::warning(
        ErrorCode::W_SOURCE_NAME,
        "a file is skipped: its name is not UTF-8, or contains a line break",
    )
    .at(join(directory, name), 0, 0)
    .hint("rename it, or exclude it from the source sets")
}

pub(crate) fn unreadable_directory(path: &str, error: SystemError) -> Diagnostic {
    unreadable(if path.is_empty() { "." } else { path }, "a directory", error)
}

impl Scan<'_> {
    /// Lists a directory again. Keeps digests of `old` for files with equal, settled stamps. `None`: it no longer exists.
    pub(crate) fn list_directory(&self, path: &str, outer: &Context, old: Option<&DirectoryRow<'_>>) -> Option<ScannedDirectory> {
        let mut found = ScannedDirectory {
            listing: Listing {
                fingerprint: self.fingerprint,
                ..Listing::default()
            },
            pending: Vec::new(),
            contexts: Vec::new(),
            diagnostics: Vec::new(),
            stated: 1,
            linked: Vec::new(),
        };
        match self.list_into(&mut found, path, outer, old) {
            Ok(()) => Some(found),
            // The scan does not follow a link in its place. Its parent has changed, too, and reports it.
            Err(SystemError::NOT_FOUND | SystemError::NO_FOLDER | SystemError::LINK) => None,
            Err(error) => {
                let listing = Listing {
                    flags: DIR_UNREADABLE,
                    fingerprint: self.fingerprint,
                    ..Listing::default()
                };
                Some(ScannedDirectory {
                    listing,
                    pending: Vec::new(),
                    contexts: Vec::new(),
                    diagnostics: vec![unreadable_directory(path, error)],
                    stated: 1,
                    linked: Vec::new(),
                })
            }
        }
    }

    fn list_into(
        &self,
        found: &mut ScannedDirectory,
        path: &str,
        outer: &Context,
        old: Option<&DirectoryRow<'_>>,
    ) -> Result<(), SystemError> {
        let folder = self.root.folder.open_folder(if path.is_empty() { "." } else { path })?;
        // Read the stamp before the names: the next scan then detects a change in between.
        let listing = &mut found.listing;
        listing.stamp = Stamp::from_info(&FileInfo::from_handle(&folder)?);
        listing.flags = if listing.stamp.settled(self.now) { DIR_SETTLED } else { 0 };
        let names = self.read_names(&folder, listing, path, outer)?;
        let rules = self.rules(
            path,
            |name| names.binary_search_by(|probe| probe.0.as_str().cmp(name)).is_ok(),
            &mut found.diagnostics,
        );
        let ignores = Ignores::extend(outer.ignores.clone(), path, &rules.0, &mut found.diagnostics);
        let ignored = |path: &str, is_dir| ignores.as_ref().is_some_and(|ignores| ignores.ignored(path, is_dir));
        found.stated += rules.1.len();
        found.listing.files = rules.1;

        for (name, mut kind) in names {
            let whole = join(path, &name);
            let mut stamp = None;
            if kind == FileKind::Unknown {
                let Ok(info) = folder.info_of(&name) else { continue };
                kind = info.kind();
                stamp = Some(Stamp::from_info(&info));
            }
            if kind == FileKind::Folder {
                let reach = self.globs.reach_in_directory(&outer.reach, &name, &whole, || ignored(&whole, true));
                if reach.alive() {
                    found.listing.subdirs.push(name);
                    found.contexts.push(Context {
                        reach,
                        ignores: ignores.clone(),
                    });
                }
                continue;
            }
            let sets = self.globs.sets_of(&outer.reach, &whole, || ignored(&whole, false));
            if sets == 0 {
                continue;
            }
            if found.adopt_rule_file(&name, sets) {
                continue;
            }
            let entry = PackedFile {
                name,
                flags: 0,
                word: sets,
                stamp: Stamp::default(),
                digest: NOTHING,
            };
            if kind == FileKind::File && stamp.is_none() {
                found.stated += 1;
                // Skip a file that is gone by now: the directory has changed again and is listed again.
                let Ok(info) = folder.info_of(&entry.name) else { continue };
                if info.links > 1 {
                    found.linked.push(whole);
                }
                stamp = Some(Stamp::from_info(&info));
            }
            found.add_file(entry, stamp, old);
        }
        found.sort_files();
        Ok(())
    }

    /// Reads the names in a folder, sorted; notes the names that are no text.
    fn read_names(
        &self,
        folder: &Folder,
        listing: &mut Listing,
        path: &str,
        outer: &Context,
    ) -> Result<Vec<(String, FileKind)>, SystemError> {
        let mut names = Vec::new();
        for item in folder.entries()? {
            let item = item?;
            match item.name().to_str() {
                // Sets are lists with one name per line, so a name with a line break would become two files that do not exist.
                Some(name) if !name.contains(['\n', '\r']) => names.push((name.to_owned(), item.kind())),
                _ => self.note_not_text(listing, path, &item.name().to_string_lossy(), item.kind(), outer),
            }
        }
        names.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        listing.not_text.sort_unstable();
        Ok(names)
    }

    /// Returns the context below a directory whose listing is still valid.
    pub(crate) fn context_below(&self, path: &str, outer: &Context, row: &DirectoryRow<'_>, diagnostics: &mut Vec<Diagnostic>) -> Context {
        let rules = self.rules(path, |name| row.files.find_name(name).is_some(), diagnostics);
        Context {
            reach: outer.reach.clone(),
            ignores: Ignores::extend(outer.ignores.clone(), path, &rules.0, diagnostics),
        }
    }

    /// Returns the context of a subdirectory; `inner` is that of the directory with its own rules added.
    pub(crate) fn subdirectory_context(&self, inner: &Context, path: &str, name: &str) -> Context {
        let ignored = || inner.ignores.as_ref().is_some_and(|ignores| ignores.ignored(path, true));
        Context {
            reach: self.globs.reach_in_directory(&inner.reach, name, path, ignored),
            ignores: inner.ignores.clone(),
        }
    }

    /// Returns the sets, as bits, that a regular file of this path would be in.
    pub(crate) fn sets_of_file(&self, path: &str) -> u64 {
        let mut context = Context {
            reach: self.globs.reach_at_root(),
            ignores: None,
        };
        let (mut directory, mut rest) = ("", path);
        loop {
            let rules = self.rules(directory, |_| true, &mut Vec::new());
            context.ignores = Ignores::extend(context.ignores, directory, &rules.0, &mut Vec::new());
            let Some((name, below)) = rest.split_once('/') else {
                let ignored = || context.ignores.as_ref().is_some_and(|ignores| ignores.ignored(path, false));
                return self.globs.sets_of(&context.reach, path, ignored);
            };
            directory = &path[..path.len() - below.len() - 1];
            context = self.subdirectory_context(&context, directory, name);
            rest = below;
        }
    }

    fn note_not_text(&self, listing: &mut Listing, path: &str, name: &str, kind: FileKind, outer: &Context) {
        let whole = join(path, name);
        let wanted = match kind {
            FileKind::Folder => self.globs.reach_in_directory(&outer.reach, name, &whole, || false).alive(),
            _ => self.globs.sets_of(&outer.reach, &whole, || false) != 0,
        };
        if wanted {
            listing.not_text.push(name.to_owned());
        }
    }

    /// Reads the rule files of a directory; returns their texts and entries. Does not follow links (neither does git).
    fn rules(&self, path: &str, exists: impl Fn(&str) -> bool, diagnostics: &mut Vec<Diagnostic>) -> (RuleTexts, Vec<PackedFile>) {
        let mut texts = [None, None, None];
        let mut entries = Vec::new();
        if !self.globs.any_honours_ignores() {
            return (texts, entries);
        }
        for (text, name) in texts.iter_mut().zip([RULE_FILES[0], RULE_FILES[1], EXCLUDE_FILE]) {
            let whole = join(path, name);
            let looked = if name == EXCLUDE_FILE { path.is_empty() } else { exists(name) };
            let Ok((stamp, kind)) = (if looked {
                self.root.stat(&whole)
            } else {
                Err(SystemError::NOT_FOUND)
            }) else {
                continue;
            };
            if kind != FileKind::File {
                continue;
            }
            let settled = if stamp.settled(self.now) { SETTLED } else { 0 };
            let (flags, digest) = match self.root.read_source_file(&whole, MAX_RULES_LEN + 1) {
                Ok(bytes) if bytes.len() > MAX_RULES_LEN => {
                    diagnostics.push(oversize(&whole));
                    (RULES | settled, NOTHING)
                }
                Ok(bytes) => {
                    let digest = Digest::of(&bytes);
                    *text = Some(bytes);
                    (RULES | settled, digest)
                }
                Err(error) => {
                    diagnostics.push(unreadable(&whole, "an ignore file", error));
                    (RULES | UNREADABLE, NOTHING)
                }
            };
            entries.push(PackedFile {
                name: name.to_owned(),
                flags,
                word: 0,
                stamp,
                digest,
            });
        }
        (texts, entries)
    }

    /// Updates one entry from its content. Returns whether bytes were hashed.
    pub(crate) fn examine(&self, directory: &str, entry: &mut PackedFile, diagnostics: &mut Vec<Diagnostic>) -> bool {
        let path = join(directory, &entry.name);
        let rule_flags = entry.flags & RULES;
        let empty = |flags| (rule_flags | flags, Stamp::default(), NOTHING);
        let set = |entry: &mut PackedFile, (flags, stamp, digest)| (entry.flags, entry.stamp, entry.digest) = (flags, stamp, digest);
        let link = match self.root.stat(&path) {
            Ok((_, FileKind::Link)) => LINK,
            Ok((stamp, FileKind::File)) => {
                if stamp == entry.stamp && entry.flags & !RULES == SETTLED {
                    return false;
                }
                0
            }
            // The file was removed since it was listed, or is a directory now. Its parent has changed again, and the next scan lists it.
            Err(SystemError::NOT_FOUND) | Ok((_, FileKind::Folder)) => {
                set(entry, empty(REFUSED));
                return false;
            }
            Ok(_) => {
                diagnostics.push(special(&path));
                set(entry, empty(REFUSED));
                return false;
            }
            Err(error) => {
                diagnostics.push(unreadable(&path, "a file", error));
                set(entry, empty(UNREADABLE));
                return false;
            }
        };
        if link != 0 {
            match self.link_target(&path, diagnostics) {
                Some(stamp) if stamp == entry.stamp && entry.flags & !RULES == LINK | SETTLED => return false,
                Some(_) => {}
                None => {
                    set(entry, empty(LINK | REFUSED));
                    return false;
                }
            }
        }
        match self.root.hash(&path) {
            Ok(Hashed::Steady(stamp, digest)) => {
                let settled = if stamp.settled(self.now) { SETTLED } else { 0 };
                // The entry of an unsettled file with an equal digest stays unchanged.
                set(entry, (rule_flags | link | settled, stamp, digest));
                true
            }
            Ok(Hashed::Moving(stamp, digest)) => {
                diagnostics.push(
                    Diagnostic::warning(ErrorCode::W_SOURCE_MOVING, "a file keeps changing while it is read")
                        .at(&path, 0, 0)
                        .hint("build again when whatever writes it has finished"),
                );
                set(entry, (rule_flags | link, stamp, digest));
                true
            }
            Ok(Hashed::NotAFile) => {
                diagnostics.push(special(&path));
                set(entry, empty(link | REFUSED));
                false
            }
            Err(error) => {
                diagnostics.push(unreadable(&path, "a file", error));
                set(entry, empty(link | UNREADABLE));
                false
            }
        }
    }

    /// Returns the stamp of a link's target; `None`, with a diagnostic, if it leads to no file in the workspace.
    fn link_target(&self, path: &str, diagnostics: &mut Vec<Diagnostic>) -> Option<Stamp> {
        let written = self
            .root
            .folder
            .link_target(path)
            .map(|target| target.to_string_lossy().into_owned());
        let written = written.unwrap_or_default();
        let refuse = |message: &str, hint: &str| {
            Diagnostic::warning(ErrorCode::W_SOURCE_LINK, message)
                .at(path, 0, 0)
                .found(written.clone())
                .hint(hint)
        };
        let target = match self.root.resolve_below(path) {
            Ok(target) => target,
            Err(SystemError::ELSEWHERE) => {
                diagnostics.push(refuse(
                    "a symbolic link that leads out of the workspace is not followed",
                    "copy the file into the workspace, or exclude the link from the source sets",
                ));
                return None;
            }
            Err(SystemError::LINK) => {
                diagnostics.push(refuse("a symbolic link that leads back to itself is skipped", "remove the link"));
                return None;
            }
            // Editors use dangling links as locks: worth a note, not a warning.
            Err(error) => {
                let message = format!("a symbolic link leads nowhere: {}", error_text(error));
                let diagnostic = refuse(&message, "remove the link, or create its target");
                diagnostics.push(Diagnostic {
                    severity: crate::values::diagnostic::Severity::Note,
                    ..diagnostic
                });
                return None;
            }
        };
        if target
            .components()
            .any(|part| super::globs::NEVER.iter().any(|never| part.as_os_str() == *never))
        {
            diagnostics.push(refuse(
                "a symbolic link into '.git' or '.cortex' is not followed",
                "remove the link",
            ));
            return None;
        }
        let info = self.root.folder.info_of(&target).ok()?;
        match info.kind() {
            FileKind::File => Some(Stamp::from_info(&info)),
            // The scan does not follow links to directories, so that it scans no tree twice and enters no loop.
            FileKind::Folder => None,
            _ => {
                diagnostics.push(special(path));
                None
            }
        }
    }
}

/// Checks whether a rule file still has the recorded content; returns the fresh entry if so.
pub(crate) fn rules_unchanged(root: &Root, now: i64, path: &str, entry: &PackedFile) -> Option<PackedFile> {
    let (stamp, kind) = root.stat(path).ok()?;
    let bytes = (kind == FileKind::File)
        .then(|| root.read_source_file(path, MAX_RULES_LEN + 1))?
        .ok()?;
    let settled = if stamp.settled(now) { SETTLED } else { 0 };
    let flags = entry.flags & !SETTLED | settled;
    (Digest::of(&bytes) == entry.digest).then(|| PackedFile {
        flags,
        stamp,
        ..entry.clone()
    })
}

fn oversize(path: &str) -> Diagnostic {
    Diagnostic::warning(
        ErrorCode::W_IGNORE_RULE,
        format!("an ignore file of more than {MAX_RULES_LEN} bytes is not used"),
    )
    .at(path, 0, 0)
    .hint("shorten it; its patterns can be joined by wildcards")
}

fn special(path: &str) -> Diagnostic {
    Diagnostic::warning(
        ErrorCode::W_SOURCE_SPECIAL,
        "neither a file nor a directory (a FIFO, socket or device): skipped",
    )
    .at(path, 0, 0)
    .hint("remove it, or exclude it from the source sets")
}
