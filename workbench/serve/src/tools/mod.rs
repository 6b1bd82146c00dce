//! Methods as tools of a model: [`definitions`] lists the methods that are tools, alone or as an operation of a [`group`]. [`answer_form`] selects
//! text or data, [`shorten`] limits the length of an answer, [`tool_words`]
//! names tools in place of commands.

pub mod answer_form;
pub mod definitions;
pub mod group;
pub mod remarks;
pub mod resource_methods;
pub mod shorten;
mod tool_purposes;
pub mod tool_words;

pub fn first_sentence(text: &str) -> &str {
    let line = text.lines().next().unwrap_or_default();
    line.find(". ").map_or(line, |end| &line[..=end])
}
