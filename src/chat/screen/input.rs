//! The editor of a question: text, cursor and history. Pure: a state and an action give the next state. It does not depend on a terminal; the
//! width matters only for moves between rows.

use super::cells::clusters;
use super::layout::layout;

/// Edit action of a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Inserts typed or pasted text.
    Insert(String),
    /// Moves by a cluster.
    Left,
    Right,
    WordLeft,
    WordRight,
    /// Moves by a row; beyond the first and last row, shows earlier and later questions.
    Up,
    Down,
    /// Shows earlier and later questions, from any row.
    Earlier,
    Later,
    /// Moves to the beginning and the end of the line.
    Home,
    End,
    /// Moves to the beginning and the end of the text.
    Start,
    Finish,
    /// Deletes before and after the cursor.
    Backspace,
    Delete,
    DeleteWordLeft,
    DeleteWordRight,
    /// Deletes to the beginning and the end of the line.
    DeleteHome,
    DeleteEnd,
    /// Inserts the last deleted text at the cursor.
    PutBack,
    /// Reverts the last change.
    Undo,
}

/// Limit of states that can be restored.
const UNDOS: usize = 200;
/// Limit of a question, in bytes.
pub const LONGEST: usize = 64 << 10;

/// A text with its cursor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Input {
    text: String,
    /// Byte before which the cursor is; always between two clusters.
    cursor: usize,
    /// Cell that moves between rows aim at.
    goal: Option<usize>,
    deleted: String,
    /// Whether the last insertion was cut at the limit.
    is_cut: bool,
    undos: Vec<(String, usize)>,
    /// Earlier questions, oldest first.
    history: Vec<String>,
    /// Index of the recalled question, and the unfinished text that it replaced.
    recalled: Option<(usize, String)>,
}

impl Input {
    /// Creates an empty text with earlier questions.
    pub fn new(history: Vec<String>) -> Self {
        Self {
            history,
            ..Self::default()
        }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the byte before which the cursor is.
    pub fn cursor(&self) -> usize {
        self.cursor
    }

    /// Takes the text, to ask it. Blank texts are not added to the history.
    pub fn take_text(&mut self) -> String {
        let text = std::mem::take(&mut self.text);
        if !text.trim().is_empty() && self.history.last() != Some(&text) {
            self.history.push(text.clone());
        }
        (self.cursor, self.goal, self.recalled) = (0, None, None);
        self.undos.clear();
        text
    }

    /// Replaces the name that begins at `start`; the cursor may be inside it.
    pub fn replace_name(&mut self, start: usize, text: &str) {
        let rest = &self.text[self.cursor..];
        let end = rest.find(|c: char| !(c.is_alphanumeric() || "_-/.".contains(c)));
        // A full stop at the end belongs to the sentence.
        let rest = rest[..end.unwrap_or(rest.len())].trim_end_matches('.');
        let end = self.cursor + rest.len();
        self.remember();
        self.splice(start, end, text);
    }

    /// Returns whether the last insertion was cut at the limit, and resets this.
    pub fn was_cut(&mut self) -> bool {
        std::mem::take(&mut self.is_cut)
    }

    /// Applies an action, in rows of `width` cells.
    pub fn apply(&mut self, action: &Action, width: usize) {
        if !matches!(action, Action::Up | Action::Down) {
            self.goal = None;
        }
        match action {
            Action::Insert(text) => self.insert(text),
            Action::Left => self.cursor = self.before(self.cursor),
            Action::Right => self.cursor = self.byte_after(self.cursor),
            Action::WordLeft => self.cursor = self.word_before(),
            Action::WordRight => self.cursor = self.word_after(),
            Action::Up => self.move_row(-1, width),
            Action::Down => self.move_row(1, width),
            Action::Earlier => self.recall(-1),
            Action::Later => self.recall(1),
            Action::Home => self.cursor = self.line_start(),
            Action::End => self.cursor = self.line_end(),
            Action::Start => self.cursor = 0,
            Action::Finish => self.cursor = self.text.len(),
            Action::Backspace => self.delete(self.before(self.cursor), self.cursor, false),
            Action::Delete => self.delete(self.cursor, self.byte_after(self.cursor), false),
            Action::DeleteWordLeft => self.delete(self.word_before(), self.cursor, true),
            Action::DeleteWordRight => self.delete(self.cursor, self.word_after(), true),
            Action::DeleteHome => self.delete(self.line_start(), self.cursor, true),
            Action::DeleteEnd => {
                let end = self.line_end();
                // At the end of a line, deletes the line end.
                let end = if end == self.cursor { self.byte_after(end) } else { end };
                self.delete(self.cursor, end, true);
            }
            Action::PutBack => {
                let deleted = self.deleted.clone();
                self.insert(&deleted);
            }
            Action::Undo => self.undo(),
        }
    }

    fn insert(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let room = LONGEST.saturating_sub(self.text.len());
        self.is_cut = text.len() > room;
        let text = &text[..text.floor_char_boundary(room)];
        if !text.is_empty() {
            self.remember();
            self.splice(self.cursor, self.cursor, text);
        }
    }

    fn delete(&mut self, from: usize, to: usize, keeps: bool) {
        if from == to {
            return;
        }
        self.remember();
        if keeps {
            self.text[from..to].clone_into(&mut self.deleted);
        }
        self.splice(from, to, "");
    }

    /// Replaces a range, and moves the cursor after the new text.
    fn splice(&mut self, from: usize, to: usize, text: &str) {
        self.text.replace_range(from..to, text);
        // The new text may join a cluster with the text after it, for example an accent; the cursor is never inside a cluster.
        let cursor = from + text.len();
        let stop = self.stops().find(|stop| *stop >= cursor);
        self.cursor = stop.unwrap_or(self.text.len());
    }

    fn remember(&mut self) {
        self.undos.push((self.text.clone(), self.cursor));
        if self.undos.len() > UNDOS {
            self.undos.remove(0);
        }
    }

    fn undo(&mut self) {
        if let Some((text, cursor)) = self.undos.pop() {
            (self.text, self.cursor) = (text, cursor);
        }
    }

    /// Returns the possible positions of the cursor.
    fn stops(&self) -> impl DoubleEndedIterator<Item = usize> {
        clusters(&self.text).map(|cluster| cluster.start).chain([self.text.len()])
    }

    fn before(&self, at: usize) -> usize {
        clusters(&self.text[..at]).next_back().map_or(0, |cluster| cluster.start)
    }

    fn byte_after(&self, at: usize) -> usize {
        clusters(&self.text[at..]).next().map_or(at, |cluster| at + cluster.end())
    }

    fn line_start(&self) -> usize {
        self.text[..self.cursor].rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        self.text[self.cursor..].find('\n').map_or(self.text.len(), |at| self.cursor + at)
    }

    /// Returns the beginning of the word before the cursor.
    fn word_before(&self) -> usize {
        let before = clusters(&self.text[..self.cursor]).rev();
        let mut found = (0, false);
        for cluster in before {
            let is_word = in_word(cluster.text);
            if found.1 && !is_word {
                return cluster.end();
            }
            found.1 |= is_word;
        }
        found.0
    }

    /// Returns the end of the word after the cursor.
    fn word_after(&self) -> usize {
        let mut seen = false;
        for cluster in clusters(&self.text[self.cursor..]) {
            let is_word = in_word(cluster.text);
            if seen && !is_word {
                return self.cursor + cluster.start;
            }
            seen |= is_word;
        }
        self.text.len()
    }

    fn move_row(&mut self, by: isize, width: usize) {
        let made = layout(&self.text, self.cursor, width);
        let (row, column) = made.cursor;
        let goal = *self.goal.get_or_insert(column);
        match row.checked_add_signed(by).filter(|row| *row < made.rows.len()) {
            Some(row) => self.cursor = made.byte_at_cell(&self.text, row, goal, width),
            None => self.recall(by),
        }
    }

    /// Shows the previous question (-1) or the next one.
    fn recall(&mut self, by: isize) {
        let (at, draft) = self.recalled.take().unwrap_or_else(|| (self.history.len(), self.text.clone()));
        let Some(to) = at.checked_add_signed(by).filter(|to| *to <= self.history.len()) else {
            self.recalled = (at < self.history.len()).then_some((at, draft));
            return;
        };
        self.remember();
        self.text = self.history.get(to).unwrap_or(&draft).clone();
        self.recalled = (to < self.history.len()).then_some((to, draft));
        self.cursor = self.text.len();
        self.goal = None;
    }
}

fn in_word(cluster: &str) -> bool {
    cluster.chars().any(|c| c.is_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::super::layout::tests_texts;
    use super::*;
    use proptest::prelude::*;

    /// Returns the text with a bar at the cursor, after actions in rows of nine cells.
    fn text_after(text: &str, actions: &[Action]) -> String {
        let mut input = Input::new(vec!["first".to_owned(), "second".to_owned()]);
        input.apply(&Action::Insert(text.to_owned()), 9);
        actions.iter().for_each(|action| input.apply(action, 9));
        format!("{}|{}", &input.text[..input.cursor], &input.text[input.cursor..])
    }

    #[test]
    fn the_cursor_moves_by_clusters_words_rows_and_lines() {
        use Action::*;
        assert_eq!(text_after("ae\u{301}👩‍👧", &[Left, Left]), "a|e\u{301}👩‍👧");
        assert_eq!(text_after("one two_3, four", &[WordLeft, WordLeft]), "one |two_3, four");
        assert_eq!(text_after("one two", &[Start, WordRight]), "one| two");
        assert_eq!(text_after("one\ntwo", &[Home]), "one\n|two");
        assert_eq!(text_after("one\ntwo", &[Up, Home, End]), "one|\ntwo");
        assert_eq!(text_after("中文字\nab", &[Up]), "中|文字\nab");
        // The cell survives a short line.
        assert_eq!(text_after("abcdef\nx\nabcdef", &[Left, Up, Up]), "abcde|f\nx\nabcdef");
        // A wrapped line has two rows: nine cells, then the rest.
        assert_eq!(text_after("one two three", &[Up]), "one t|wo three");
    }

    #[test]
    fn a_name_is_replaced_whole_and_what_has_no_room_is_told() {
        let mut input = Input::default();
        input.apply(&Action::Insert("see #NodeStoreOptions. More".to_owned()), 80);
        input.cursor = "see #NodeStore".len();
        input.replace_name(5, "NodeStoreTests");
        assert_eq!((input.text(), input.cursor()), ("see #NodeStoreTests. More", 19));
        assert!(!input.was_cut());
        input.apply(&Action::Insert("x".repeat(LONGEST)), 80);
        assert!(input.was_cut() && !input.was_cut() && input.text().len() == LONGEST);
    }

    #[test]
    fn deleted_text_can_be_put_back_and_undone() {
        use Action::*;
        assert_eq!(text_after("one two", &[DeleteWordLeft]), "one |");
        assert_eq!(text_after("one two", &[DeleteWordLeft, Start, PutBack]), "two|one ");
        assert_eq!(text_after("one\ntwo", &[DeleteHome, Backspace]), "one|");
        assert_eq!(text_after("one\ntwo", &[Start, DeleteEnd, DeleteEnd]), "|two");
        assert_eq!(text_after("one\ntwo", &[DeleteHome, Undo]), "one\ntwo|");
        assert_eq!(text_after("a", &[Insert("\u{301}b".to_owned()), Backspace, Backspace]), "|");
        assert_eq!(text_after("", &[Insert("a\r\nb\rc".to_owned())]), "a\nb\nc|");
    }

    #[test]
    fn up_recalls_earlier_questions_and_down_the_draft() {
        use Action::*;
        assert_eq!(text_after("draft", &[Up]), "second|");
        assert_eq!(text_after("draft", &[Up, Up, Up]), "first|");
        assert_eq!(text_after("draft", &[Up, Up, Down, Down, Down]), "draft|");
        assert_eq!(text_after("a\nb", &[Earlier]), "second|");
    }

    proptest! {
        #[test]
        fn no_action_leaves_the_cursor_within_a_cluster(steps in proptest::collection::vec((0_usize..18, tests_texts()), 0..20), width in 1_usize..40) {
            use Action::*;
            let all = [Left, Right, WordLeft, WordRight, Up, Down, Earlier, Later, Home, End, Start, Finish, Backspace, Delete, DeleteWordLeft, DeleteEnd, PutBack, Undo];
            let mut input = Input::new(vec!["中文\na".to_owned()]);
            for (at, text) in steps {
                input.apply(&Insert(text), width);
                input.apply(&all[at], width);
                prop_assert!(input.stops().any(|stop| stop == input.cursor));
                prop_assert!(!input.text.contains('\r'));
            }
        }
    }
}
