//! Composes the text of a window from the cards of its types, within a budget of characters (seed 000 §8).
//!
//! Order: pinned types as they were pinned, at most three fifths of the budget; then viewed types as they entered; last those of the active pack. So
//! earlier text keeps its place, and a provider's prompt cache keeps the unchanged beginning. Chosen are the types viewed last, where types of the
//! active pack count one and a half times.
//!
//! If pinned types do not fit, their sections are left out, the least important of all first: no summary takes the place of another type's outline,
//! and no section that of a more important one that is too long. If an outline does not fit, its type and all types pinned after it are left out
//! until there is room. Any other type first loses its own sections, the least important first; then it is left out.

use super::state::Window;
use super::window_size::Room;
use std::collections::{BTreeMap, BTreeSet};

/// Sections of summaries, the most important first (seed 000 §8); others come after these.
const SECTIONS: [&str; 4] = ["ROLE", "LIFECYCLE", "LIMITATIONS", "RECOMMENDATIONS"];
/// Weight of a type of the active pack, in percent.
const PACK_PERCENT: u64 = 150;
/// Room for the note about left-out types, in percent of the budget.
const TOLD_PERCENT: usize = 10;

/// The facts about a type that the window can show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Card {
    /// Outline of the type.
    pub outline: String,
    /// Sections of the type's summary, by name.
    pub sections: Vec<(String, String)>,
    /// A remark about the summary, for instance that it is stale.
    pub remark: Option<String>,
}

impl Card {
    /// Creates a card from an outline and, if there is one, the text of a summary.
    pub fn from_outline(outline: &str, summary: Option<&str>) -> Self {
        Self {
            outline: outline.trim_end().to_owned(),
            sections: summary.map(sections).unwrap_or_default(),
            remark: None,
        }
    }

    /// Returns the text with the `section_count` most important sections.
    fn shortened_text(&self, section_count: usize) -> String {
        let mut text = format!("{}\n", self.outline);
        if section_count > 0
            && let Some(remark) = &self.remark
        {
            text.push_str(&format!("({remark})\n"));
        }
        for (name, body) in self.ordered().take(section_count) {
            text.push_str(&format!("{name}:\n{body}\n"));
        }
        text.push('\n');
        text
    }

    fn ordered(&self) -> impl Iterator<Item = &(String, String)> {
        let mut ordered: Vec<&(String, String)> = self.sections.iter().collect();
        ordered.sort_by_key(|(name, _)| rank(name));
        ordered.into_iter()
    }

    /// Returns the rank of the section after the first `section_count`; `None` if there is none.
    fn next(&self, section_count: usize) -> Option<usize> {
        self.ordered().nth(section_count).map(|(name, _)| rank(name))
    }

    /// Returns as much of the card as fits, and the number of sections left out.
    fn fitting(&self, room: usize) -> Option<(String, usize)> {
        let all = self.sections.len();
        (0..=all).rev().find_map(|section_count| {
            let text = self.shortened_text(section_count);
            (length(&text) <= room).then_some((text, all - section_count))
        })
    }
}

/// Returns the rank of a section; 0 is the most important.
fn rank(name: &str) -> usize {
    SECTIONS.iter().position(|known| *known == name).unwrap_or(SECTIONS.len())
}

/// Splits a summary into sections: a line with a name in capitals and a colon begins one.
fn sections(summary: &str) -> Vec<(String, String)> {
    let mut sections: Vec<(String, String)> = Vec::new();
    for line in summary.lines() {
        let name = line
            .strip_suffix(':')
            .filter(|name| !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || c == '_'));
        match (name, sections.last_mut()) {
            (Some(name), _) => sections.push((name.to_owned(), String::new())),
            (None, Some((_, body))) => {
                body.push_str(line);
                body.push('\n');
            }
            (None, None) => {}
        }
    }
    for (_, body) in &mut sections {
        body.truncate(body.trim_end().len());
    }
    sections.retain(|(_, body)| !body.is_empty());
    sections
}

/// A composed window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Composed {
    pub text: String,
    /// Types shown, in order.
    pub shown: Vec<String>,
    /// Types or sections that were cut or left out, and why; one sentence each.
    pub cut: Vec<String>,
    /// Characters of the pinned types.
    pub pinned_chars: usize,
    /// Limit of characters of pinned types.
    pub pinned_room: usize,
}

/// Returns the types that a window may show: pinned ones, viewed ones, and those of the active pack.
pub fn candidate_types(window: &Window, pack: &[String]) -> BTreeSet<String> {
    let pinned = window.pinned.iter().map(|pin| &pin.path);
    let recent = window.recent.iter().map(|recent| &recent.path);
    pinned.chain(recent).chain(pack).cloned().collect()
}

/// Composes the text. Reports pinned and pack types without a card as unknown. `pack`: the types of the active pack in its order.
pub fn compose(window: &Window, cards: &BTreeMap<String, Card>, pack: &[String], room: Room) -> Composed {
    let max_chars = room.max_chars;
    let mut composing = Composing {
        cards,
        made: Composed {
            text: "# Prompt window\n\n".to_owned(),
            pinned_room: room.pinned(),
            ..Composed::default()
        },
        end: max_chars - max_chars * TOLD_PERCENT / 100,
    };
    composing.pinned(window);
    composing.recent(window, pack);
    composing.packed(window, pack);
    composing.append_cut_note(max_chars);
    composing.made
}

struct Composing<'c> {
    cards: &'c BTreeMap<String, Card>,
    made: Composed,
    /// Limit of characters of the text up to the note.
    end: usize,
}

impl Composing<'_> {
    fn pinned(&mut self, window: &Window) {
        if window.pinned.is_empty() {
            return;
        }
        self.made.text.push_str("## Pinned\n\n");
        let room = self.made.pinned_room.min(self.room());
        let mut used = 0;
        let mut full = false;
        // Each with the number of its sections that are shown.
        let mut chosen: Vec<(&str, &Card, usize)> = Vec::new();
        for pin in &window.pinned {
            let Some(card) = self.cards.get(&pin.path) else {
                self.made.cut.push(format!("{} is no longer known", pin.path));
                continue;
            };
            let outline = length(&card.shortened_text(0));
            full |= used + outline > room;
            if full {
                let why = "unpin something, or raise the budget";
                self.made.cut.push(format!("{} does not fit: {why}", pin.path));
                continue;
            }
            used += outline;
            chosen.push((&pin.path, card, 0));
        }
        let mut all_fit = true;
        for important in 0..=SECTIONS.len() {
            // A less important section does not use room that a more important one was too long for.
            if !all_fit {
                break;
            }
            for (_, card, section_count) in &mut chosen {
                while card.next(*section_count).is_some_and(|next| next <= important) {
                    let more = length(&card.shortened_text(*section_count + 1)) - length(&card.shortened_text(*section_count));
                    if used + more > room {
                        all_fit = false;
                        break;
                    }
                    used += more;
                    *section_count += 1;
                }
            }
        }
        for (path, card, section_count) in chosen {
            self.append_file(path, &card.shortened_text(section_count), card.sections.len() - section_count);
        }
        self.made.pinned_chars = used;
    }

    fn recent(&mut self, window: &Window, pack: &[String]) {
        let pinned = |path: &str| window.pinned.iter().any(|pin| pin.path == path);
        let first = window.recent.iter().map(|recent| recent.used).min().unwrap_or(0);
        let weight = |path: &String, used: u64| {
            let percent = if pack.contains(path) { PACK_PERCENT } else { 100 };
            (used - first + 1) * percent
        };
        let mut by_weight: Vec<_> = window.recent.iter().filter(|recent| !pinned(&recent.path)).collect();
        by_weight.sort_by(|a, b| {
            let weights = weight(&b.path, b.used).cmp(&weight(&a.path, a.used));
            weights.then_with(|| a.path.cmp(&b.path))
        });
        let heading = "## Recent\n\n";
        let mut room = self.room().saturating_sub(heading.len());
        let mut chosen = Vec::new();
        for recent in by_weight {
            match self.cards.get(&recent.path) {
                // A viewed type that no longer exists needs no mention.
                None => {}
                Some(card) => match card.fitting(room) {
                    Some((text, left_out)) => {
                        room -= length(&text);
                        chosen.push((recent.entered, &recent.path, text, left_out));
                    }
                    None => self.made.cut.push(format!("{} was read, and does not fit", recent.path)),
                },
            }
        }
        chosen.sort();
        if !chosen.is_empty() {
            self.made.text.push_str(heading);
        }
        for (_, path, text, left_out) in chosen {
            self.append_file(path, &text, left_out);
        }
    }

    fn packed(&mut self, window: &Window, pack: &[String]) {
        let rest: Vec<&String> = pack
            .iter()
            .filter(|path| !self.made.shown.contains(path) && !window.pinned.iter().any(|pin| pin.path == **path))
            .collect();
        let Some(name) = window.pack.as_ref().filter(|_| !rest.is_empty()) else {
            return;
        };
        let heading = format!("## Pack {name}\n\n");
        if length(&heading) > self.room() {
            return self.made.cut.push(format!("there is no room for pack {name}"));
        }
        self.made.text.push_str(&heading);
        for path in rest {
            self.add_type(path);
        }
    }

    fn room(&self) -> usize {
        self.end.saturating_sub(length(&self.made.text))
    }

    /// Adds a type as far as it fits.
    fn add_type(&mut self, path: &str) {
        let Some(card) = self.cards.get(path) else {
            self.made.cut.push(format!("{path} is no longer known"));
            return;
        };
        match card.fitting(self.room()) {
            Some((text, left_out)) => self.append_file(path, &text, left_out),
            None => self.made.cut.push(format!("{path} does not fit: raise the budget")),
        }
    }

    fn append_file(&mut self, path: &str, text: &str, left_out: usize) {
        self.made.text.push_str(text);
        self.made.shown.push(path.to_owned());
        if left_out > 0 {
            let all = self.cards.get(path).map_or(0, |card| card.sections.len());
            self.made
                .cut
                .push(format!("of the summary of {path} {} of {all} sections are shown", all - left_out));
        }
    }

    /// Appends the note about left-out types, at the end, so that no other text changes its position.
    fn append_cut_note(&mut self, max_chars: usize) {
        if self.made.cut.is_empty() {
            return;
        }
        let mut section = "## Left out\n\n".to_owned();
        let room = max_chars.saturating_sub(length(&self.made.text));
        for (at, line) in self.made.cut.iter().enumerate() {
            let line = format!("- {line}\n");
            let rest = format!("- and {} more\n", self.made.cut.len() - at);
            if length(&section) + length(&line) + length(&rest) > room {
                section.push_str(&rest);
                break;
            }
            section.push_str(&line);
        }
        if length(&section) <= room {
            self.made.text.push_str(&section);
        }
    }
}

fn length(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(size: usize) -> Card {
        let summary =
            "# Semantic: X\nROLE:\n- role\nLIFECYCLE:\n- life\nEDGE_CASES:\n- edge\nLIMITATIONS:\n- limits\nRECOMMENDATIONS:\n- advice\n";
        Card::from_outline(&"o".repeat(size), Some(summary))
    }

    fn window(pinned: &[&str], recent: &[&str]) -> Window {
        let mut window = Window::default();
        for path in pinned {
            window.pin(path);
        }
        recent.iter().for_each(|path| window.touch(path));
        window
    }

    fn cards(sizes: &[(&str, usize)]) -> BTreeMap<String, Card> {
        sizes.iter().map(|(path, size)| ((*path).to_owned(), card(*size))).collect()
    }

    #[test]
    fn sections_go_in_their_order() {
        let whole = card(10).fitting(1000).expect("it fits");
        assert_eq!(
            whole.0,
            "oooooooooo\nROLE:\n- role\nLIFECYCLE:\n- life\nLIMITATIONS:\n- limits\nRECOMMENDATIONS:\n- advice\nEDGE_CASES:\n- edge\n\n"
        );
        let lengths: Vec<usize> = (0..=5)
            .map(|section_count| length(&card(10).shortened_text(section_count)))
            .collect();
        for room in 0..200 {
            let section_count = lengths.iter().rposition(|length| *length <= room);
            assert_eq!(card(10).fitting(room).map(|(_, left_out)| 5 - left_out), section_count, "{room}");
        }
    }

    #[test]
    fn pins_take_three_fifths_and_stop_there() {
        let cards = cards(&[("A", 400), ("B", 400), ("C", 10), ("R", 100)]);
        let made = compose(&window(&["A", "B", "C"], &["R"]), &cards, &[], Room::new(1000));
        assert_eq!(made.shown, ["A", "R"], "{made:?}");
        assert!(
            made.pinned_chars <= 600 && made.cut.iter().any(|line| line.starts_with("B does not fit")),
            "{made:?}"
        );
        assert!(
            made.cut.iter().any(|line| line.starts_with("C does not fit")),
            "nothing new is pinned until there is room"
        );
    }

    #[test]
    fn sections_of_all_pins_go_before_an_outline_of_one() {
        let (window, cards) = (window(&["A", "B", "C"], &[]), cards(&[("A", 100), ("B", 100), ("C", 100)]));
        let lengths: Vec<usize> = (0..=5)
            .map(|section_count| length(&card(100).shortened_text(section_count)))
            .collect();
        let count = |text: &str, word: &str| text.matches(word).count();
        let names = ["ROLE:", "LIFECYCLE:", "LIMITATIONS:", "RECOMMENDATIONS:", "EDGE_CASES:"];
        for budget in 200..1000 {
            let made = compose(&window, &cards, &[], Room::new(budget));
            let shown: Vec<usize> = names.iter().map(|name| count(&made.text, name)).collect();
            let outlines = (made.pinned_room / lengths[0]).min(3);
            assert_eq!(made.shown.len(), outlines, "{budget}: every outline that fits: {made:?}");
            // All shown types get a section before any gets the next, which is longer.
            assert!(
                shown[..4].windows(2).all(|two| two[1] == 0 || two[0] == outlines),
                "{budget}: {shown:?}, outlines and sections take {lengths:?}"
            );
            assert!(made.pinned_chars <= made.pinned_room, "{budget}");
        }
        let made = compose(&window, &cards, &[], Room::new(3 * lengths[1] * 100 / 60 + 1));
        assert_eq!(
            (made.shown.len(), count(&made.text, "ROLE:"), count(&made.text, "LIFECYCLE:")),
            (3, 3, 0),
            "{made:?}"
        );
    }

    #[test]
    fn no_section_of_a_pin_outlives_a_more_important_one_of_another() {
        let long = "# Semantic: A\nROLE:\n- role\nLIFECYCLE:\n- LONG\nLIMITATIONS:\n- limits\n".replace("LONG", &"x".repeat(200));
        let cards = BTreeMap::from([
            ("A".to_owned(), Card::from_outline("outline", Some(&long))),
            ("B".to_owned(), card(10)),
        ]);
        let made = compose(&window(&["A", "B"], &[]), &cards, &[], Room::new(300));
        let count = |word: &str| made.text.matches(word).count();
        assert_eq!(
            (count("ROLE:"), count("LIFECYCLE:"), count("LIMITATIONS:"), count("EDGE_CASES:")),
            (2, 1, 0, 0),
            "{made:?}"
        );
    }

    #[test]
    fn the_budget_holds_whatever_is_wanted() {
        let sizes: Vec<(String, usize)> = (0..30).map(|number| (format!("T{number}"), number * 37 % 500)).collect();
        let cards: BTreeMap<String, Card> = sizes.iter().map(|(path, size)| (path.clone(), card(*size))).collect();
        let names: Vec<&str> = sizes.iter().map(|(path, _)| path.as_str()).collect();
        let pack: Vec<String> = names[20..].iter().map(|name| (*name).to_owned()).collect();
        for budget in (0..6000).step_by(97) {
            let mut window = window(&names[..5], &names[3..25]);
            window.pack = Some("p".to_owned());
            let made = compose(&window, &cards, &pack, Room::new(budget));
            assert!(
                length(&made.text) <= budget.max("# Prompt window\n\n## Pinned\n\n## Pack p\n\n".len()),
                "{budget}: {}",
                length(&made.text)
            );
            let all: BTreeSet<&String> = made.shown.iter().collect();
            assert_eq!(all.len(), made.shown.len(), "nothing is shown twice");
        }
    }

    #[test]
    fn shown_cards_stay_where_they_were() {
        let cards = cards(&[("A", 50), ("B", 60), ("C", 70), ("P", 80)]);
        let mut window = window(&["P"], &["A", "B"]);
        let before = compose(&window, &cards, &[], Room::new(10_000)).text;
        window.touch("A");
        assert_eq!(
            compose(&window, &cards, &[], Room::new(10_000)).text,
            before,
            "looking again moves nothing"
        );
        window.touch("C");
        let after = compose(&window, &cards, &[], Room::new(10_000)).text;
        assert!(after.starts_with(before.trim_end()), "{after}");
    }

    #[test]
    fn a_type_of_the_active_pack_counts_more() {
        let cards = cards(&[("A", 200), ("B", 200), ("C", 200)]);
        let window = window(&[], &["A", "B", "C"]);
        let shown = |pack: &[String]| compose(&window, &cards, pack, Room::new(800)).shown;
        assert_eq!(shown(&[]), ["B", "C"]);
        assert_eq!(shown(&["A".to_owned()]), ["B", "C"], "weights 1.5, 2, 3");
        let later = {
            let mut window = window.clone();
            window.touch("A");
            window.touch("B");
            window.touch("C");
            window
        };
        // Used at 4, 5 and 6: weights 1.5 × 1, 2, 3, because moments count from the first.
        assert_eq!(compose(&later, &cards, &["B".to_owned()], Room::new(800)).shown, ["B", "C"]);
    }

    #[test]
    fn a_type_that_is_gone_is_told_where_it_was_pinned() {
        let made = compose(&window(&["Gone"], &["GoneToo"]), &BTreeMap::new(), &[], Room::new(1000));
        assert_eq!(made.cut, ["Gone is no longer known"]);
        assert!(made.text.ends_with("## Left out\n\n- Gone is no longer known\n"), "{}", made.text);
    }
}
