//! The pages of the book, which the program contains.

macro_rules! book {
    ($($topic:literal),* $(,)?) => {
        /// Pages of the book by topic.
        pub const BOOK: &[(&str, &str)] = &[$(($topic, include_str!(concat!("../docs/", $topic, ".md")))),*];
    };
}

book![
    "agents", "architecture", "chat", "ci", "commands", "contexts", "csharp", "editing", "embeddings", "errors", "glossary", "growth",
    "history", "install", "invariants", "labels", "languages", "limits", "manifest", "measurements", "methods", "packs", "page",
    "programs", "questions", "reference", "remote", "security", "seeds", "services", "store", "summaries", "tour", "watching", "worktrees",
];

#[cfg(test)]
mod tests {
    use super::BOOK;
    use methods::render::Style;
    use methods::render::page::format_page;
    use std::collections::BTreeSet;
    use std::path::Path;

    #[test]
    fn every_page_of_the_book_is_a_topic() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
        let files = std::fs::read_dir(folder).expect("docs").map(|entry| entry.expect("entry").path());
        let pages = files.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
        let names: BTreeSet<String> = pages
            .map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned())
            .collect();
        let topics: BTreeSet<String> = BOOK.iter().map(|(topic, _)| (*topic).to_owned()).collect();
        let others: BTreeSet<String> = names.difference(&topics).cloned().collect();
        assert_eq!(others, BTreeSet::from(["README".to_owned(), "SUMMARY".to_owned()]));
    }

    #[test]
    fn every_page_of_the_book_fits_where_words_do() {
        for (topic, markdown) in BOOK {
            let text = format_page(markdown, 80, Style::plain());
            let long = text
                .lines()
                .filter(|line| !line.starts_with("    ") && line.chars().count() > 100)
                .count();
            assert!(long < 3, "{topic}: {long} lines are longer than the terminal");
        }
    }
}
