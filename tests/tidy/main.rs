//! Tidiness: the layering, sizes and words of the sources, checked from their text, and completeness of the book.

mod book;
mod layers;
mod names;
mod sizes;
mod sources;

#[test]
fn the_example_manifest_is_read() {
    let text = std::fs::read_to_string(sources::root().join("cortex.toml.example")).expect("the example");
    let source = engine::manifest::read::ManifestSource {
        name: "cortex.toml.example".to_owned(),
        text: &text,
    };
    let registry = workbench::workspace::registry(
        std::sync::Arc::new(producers::llm::Refusing),
        std::sync::Arc::new(producers::command::Nothing),
    );
    let loaded = engine::manifest::read::load(&source, None, &producers::rulesets::text, producers::rulesets::NAMES, &registry);
    if let Err(errors) = loaded {
        panic!("{errors:#?}");
    }
}
