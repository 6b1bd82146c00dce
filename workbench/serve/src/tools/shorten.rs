//! Limits the length of answers: shortens a longer one step by step, and says what was left out and how to get it.
//!
//! First drops `message` and requested `data`, then halves the longest list or the longest text, whichever is larger, until the answer fits.

use super::answer_form::{Form, MOST};
use engine::values::codes::ErrorCode;
use engine::values::diagnostic::Diagnostic;
use methods::catalog::{MethodEntry, reference};
use methods::code::Code;
use methods::failed::Failed;
use methods::render::Style;
use producers::llm::tokens;
use serde_json::Value;

/// Byte limit above which an answer is not tokenized. A token has at least one byte, and hardly any text has more than eight bytes per token.
const SURELY_TOO_LONG: usize = 8 * MOST;

/// Limit of steps; each drops half of a list or text.
const STEPS: usize = 200;

/// Field that lists what was left out; no answer has a field of that name.
const SHORTENED: &str = "shortened";

/// Field that repeats the answer as text.
const AGAIN: &str = "message";

/// An answer that fits in the form that is sent.
#[derive(Debug)]
pub struct ShortenedAnswer {
    /// Text for people and models.
    pub text: String,
    /// Data for programs, from which the text is formatted.
    pub data: Value,
    /// Number of items before and after, if a page lost items: its information about the next page is then wrong.
    pub cut: Option<(usize, usize)>,
}

/// Returns the limit for a page that must shrink from `had` items to `fitting`. A page with this limit states where the next page starts.
/// Returns `None` if the limit cannot be smaller.
pub fn smaller(entry: &MethodEntry, arguments: &Value, (had, fitting): (usize, usize)) -> Option<usize> {
    let schema = (entry.arguments)();
    let usual = &schema.as_value()["properties"]["limit"]["default"];
    let limit = arguments["limit"].as_u64().or(usual.as_u64())?;
    // The page may count items differently from the limit, and the limit may exceed the number of items.
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let smaller = (limit.min(had) * fitting / had.max(1)).max(1);
    (smaller < limit).then_some(smaller)
}

/// Shortens an answer until it fits in the form that is sent. Fails when the answer cannot be shortened enough, or not formatted.
pub fn shorten(entry: &MethodEntry, mut data: Value, form: Form) -> Result<ShortenedAnswer, Failed> {
    let mut text = (entry.text)(&data, Style::plain()).map_err(|error| Failed::bug(&error))?;
    let mut left = LeftOut::default();
    let had = on_page(entry, &data);
    for _ in 0..STEPS {
        let remarks = left.remarks(entry);
        if is_small_enough(&text, &data, form, &remarks) {
            if !remarks.is_empty() {
                text = format!("{}\n\n{}\n", text.trim_end(), remarks.join("\n"));
                mark(&mut data, remarks);
            }
            let fitting = on_page(entry, &data);
            let cut = (fitting < had).then_some((had, fitting));
            return Ok(ShortenedAnswer { text, data, cut });
        }
        let Some(shorter) = left.leave_out_next(entry, &data) else {
            break;
        };
        text = (entry.text)(&shorter, Style::plain()).map_err(|error| Failed::bug(&error))?;
        data = shorter;
    }
    let why = Diagnostic::error(ErrorCode::E_TOO_LONG, "the answer is too long, even when shortened");
    Err(Failed::new(Code::Limit, why.hint("ask about less at once")))
}

/// Counts the items of the paged lists.
fn on_page(entry: &MethodEntry, data: &Value) -> usize {
    let lists = entry.pages.iter().filter_map(|list| data[*list].as_array());
    lists.map(Vec::len).sum()
}

fn is_small_enough(text: &str, data: &Value, form: Form, remarks: &[String]) -> bool {
    let mut all = match form {
        Form::Text => text.to_owned(),
        Form::Structured => data.to_string(),
    };
    remarks.iter().for_each(|remark| all.push_str(remark));
    all.len() <= MOST || (all.len() <= SURELY_TOO_LONG && tokens::o200k(&all) <= MOST)
}

/// Adds the remarks to the data, and marks its state as incomplete.
fn mark(data: &mut Value, remarks: Vec<String>) {
    if let Some(state) = data.get_mut("state").and_then(Value::as_object_mut) {
        state.insert("complete".to_owned(), false.into());
    }
    if let Some(fields) = data.as_object_mut() {
        fields.insert(SHORTENED.to_owned(), remarks.into());
    }
}

/// Parts that were left out so far.
#[derive(Default)]
struct LeftOut {
    looked_for_data: bool,
    data: bool,
    /// Lists by place, with their numbers of items before and after.
    lists: Vec<(String, usize, usize)>,
    /// Texts by place, with their numbers of lines before.
    texts: Vec<(String, usize)>,
}

impl LeftOut {
    /// Leaves out the next part; `None` if none is left.
    fn leave_out_next(&mut self, entry: &MethodEntry, data: &Value) -> Option<Value> {
        if !self.looked_for_data {
            self.looked_for_data = true;
            let mut without = data.clone();
            let again = without.as_object_mut().and_then(|fields| fields.remove(AGAIN)).is_some();
            let had = drop_data(&mut without);
            if (again || had) && (entry.text)(&without, Style::plain()).is_ok() {
                self.data = had;
                return Some(without);
            }
        }
        let mut heaviest = Heaviest::default();
        weigh(data, &mut String::new(), &mut heaviest);
        let mut shorter = data.clone();
        let list = heaviest
            .list
            .filter(|(weight, _)| *weight > heaviest.text.as_ref().map_or(0, |(weight, _)| *weight));
        if let Some((_, place)) = list {
            let items = shorter.pointer_mut(&place)?.as_array_mut()?;
            let had = items.len();
            items.truncate(had / 2);
            self.note_list(place, had, had / 2);
        } else {
            let (_, place) = heaviest.text?;
            let Value::String(text) = shorter.pointer_mut(&place)? else {
                return None;
            };
            let had = match self.texts.iter().find(|(known, _)| *known == place) {
                Some((_, had)) => *had,
                None => {
                    let had = text.lines().count();
                    self.texts.push((place, had));
                    had
                }
            };
            *text = cut_in_half(text, had)?;
        }
        (entry.text)(&shorter, Style::plain()).is_ok().then_some(shorter)
    }

    fn note_list(&mut self, place: String, had: usize, has: usize) {
        match self.lists.iter_mut().find(|(known, ..)| *known == place) {
            Some((.., now)) => *now = has,
            None => self.lists.push((place, had, has)),
        }
    }

    /// Returns the remarks about the parts left out.
    fn remarks(&self, entry: &MethodEntry) -> Vec<String> {
        const NARROWER: [(&str, &str); 2] = [("symbols", "fewer symbols"), ("lines", "fewer lines")];
        let arguments = reference::argument_names(entry);
        let fewer = NARROWER.into_iter().filter(|(name, _)| arguments.iter().any(|own| own == name));
        let fewer: Vec<&str> = fewer.map(|(_, fewer)| fewer).collect();
        let more = match fewer.as_slice() {
            [] => "ask about less at once for the rest".to_owned(),
            fewer => format!("ask for {} at once", fewer.join(" or ")),
        };
        let data = self.data.then(|| "[left out: data; ask for one symbol at a time]".to_owned());
        let lists = self.lists.iter().map(|(place, had, has)| {
            let name = place.trim_start_matches('/').replace('/', ".");
            format!("[left out: {} of {had} in '{name}'; {more}]", had - has)
        });
        let texts = (!self.texts.is_empty()).then(|| format!("[left out: lines of long texts, where it says so; {more}]"));
        data.into_iter().chain(lists).chain(texts).collect()
    }
}

/// Drops all `data` fields; returns whether there were any.
fn drop_data(value: &mut Value) -> bool {
    match value {
        Value::Object(fields) => {
            let had = fields.remove("data").is_some();
            fields.values_mut().fold(had, |had, field| drop_data(field) || had)
        }
        Value::Array(items) => {
            let mut had = false;
            for item in items {
                had |= drop_data(item);
            }
            had
        }
        _ => false,
    }
}

/// Returns half of a text, cut at a line end, with a line that says how many of `had` lines are missing.
fn cut_in_half(text: &str, had: usize) -> Option<String> {
    const MARK: &str = "\n[… ";
    let fitting = text.rfind(MARK).map_or(text, |mark| &text[..mark]);
    let half = fitting.floor_char_boundary(fitting.len() / 2);
    if half == 0 {
        return None;
    }
    let end = fitting[..half].rfind('\n').unwrap_or(half);
    let fitting = &fitting[..end];
    if had < 2 {
        return Some(format!("{fitting}{MARK}the rest of the line left out]"));
    }
    Some(format!(
        "{fitting}{MARK}{} of {had} lines left out]",
        had.saturating_sub(fitting.lines().count())
    ))
}

/// The longest list of several items, and the longest text, each with its bytes and place.
#[derive(Default)]
struct Heaviest {
    list: Option<(usize, String)>,
    text: Option<(usize, String)>,
}

fn weigh(value: &Value, place: &mut String, heaviest: &mut Heaviest) -> usize {
    let end = place.len();
    let mut below = |key: &str, value: &Value, heaviest: &mut Heaviest| {
        place.push('/');
        place.push_str(&key.replace('~', "~0").replace('/', "~1"));
        let weight = weigh(value, place, heaviest);
        place.truncate(end);
        weight
    };
    let heavier = |weight: usize, known: &Option<(usize, String)>| known.as_ref().is_none_or(|(known, _)| weight > *known);
    match value {
        Value::Object(fields) => fields.iter().map(|(key, field)| key.len() + 4 + below(key, field, heaviest)).sum(),
        Value::Array(items) => {
            let each = items.iter().enumerate();
            let weight = each.map(|(at, item)| 1 + below(&at.to_string(), item, heaviest)).sum();
            if items.len() > 1 && heavier(weight, &heaviest.list) {
                heaviest.list = Some((weight, place.clone()));
            }
            weight
        }
        Value::String(text) => {
            if text.len() > 200 && heavier(text.len(), &heaviest.text) {
                heaviest.text = Some((text.len(), place.clone()));
            }
            text.len() + 2
        }
        _ => 8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use methods::catalog::{Effect, METHODS, Method, entry};
    use methods::desk::Desk;
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    #[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
    struct Asked {
        #[arg(long, default_value_t = 50)]
        #[serde(default = "default_tokens")]
        limit: usize,
        #[arg(long, default_value_t)]
        #[serde(default)]
        offset: usize,
    }

    fn default_tokens() -> usize {
        50
    }

    #[derive(Debug, Serialize, Deserialize, JsonSchema)]
    struct Found {
        state: Value,
        places: Vec<String>,
        texts: Vec<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        data: Option<Value>,
    }

    impl Method for Asked {
        const NAME: &'static str = "asked";
        const EFFECT: Effect = Effect::Looks;
        const PAGES: &'static [&'static str] = &["places"];
        type Answer = Found;

        fn answer(&self, _: &mut Desk<'_>) -> Result<Found, Failed> {
            Err(Failed::bug(&"nobody asks it"))
        }

        fn text(answer: &Found) -> String {
            format!("{}\n{}", answer.places.join("\n"), answer.texts.join("\n"))
        }
    }

    static ASKED: MethodEntry = entry::<Asked>();

    fn sample(places: usize, lines: usize, data: Option<Value>) -> Found {
        Found {
            state: serde_json::json!({"complete": true}),
            places: (0..places).map(|number| format!("src/File{number}.cs:{number}:7")).collect(),
            texts: vec![(0..lines).map(|number| format!("line {number} of a text\n")).collect()],
            data,
        }
    }

    fn structured_sample(places: usize, lines: usize, data: Option<Value>) -> ShortenedAnswer {
        let found = sample(places, lines, data);
        let answer = sent(&found, Form::Text);
        let structured = sent(&found, Form::Structured);
        assert!(tokens::o200k(&answer.text) <= MOST && tokens::o200k(&structured.data.to_string()) <= MOST);
        answer
    }

    fn sent(found: &Found, form: Form) -> ShortenedAnswer {
        let data = serde_json::to_value(found).expect("JSON");
        shorten(&ASKED, data, form).expect("it can be shortened")
    }

    #[test]
    fn a_short_answer_is_not_shortened() {
        let answer = structured_sample(3, 3, Some(Value::from("x")));
        assert_eq!(
            answer.text,
            "src/File0.cs:0:7\nsrc/File1.cs:1:7\nsrc/File2.cs:2:7\nline 0 of a text\nline 1 of a text\nline 2 of a text\n"
        );
        assert_eq!(
            (&answer.data["data"], &answer.data["state"]["complete"]),
            (&Value::from("x"), &Value::Bool(true))
        );
        assert_eq!((answer.data.get(SHORTENED), answer.cut), (None, None));
    }

    #[test]
    fn no_answer_has_a_field_that_is_written_over() {
        for entry in METHODS {
            let schema = (entry.answers)();
            assert!(schema.as_value()["properties"].get(SHORTENED).is_none(), "{}", entry.name);
        }
        let schema = (ASKED.answers)();
        assert!(schema.as_value()["properties"].get("places").is_some(), "fields stand there");
    }

    #[test]
    fn data_goes_first() {
        let answer = sent(&sample(10, 10, Some(Value::from("word ".repeat(100_000)))), Form::Structured);
        assert_eq!(answer.data.get("data"), None);
        assert_eq!(answer.data["places"].as_array().map(Vec::len), Some(10));
        assert!(
            answer.text.ends_with("\n\n[left out: data; ask for one symbol at a time]\n"),
            "{}",
            answer.text
        );
        assert_eq!(answer.data["state"]["complete"], false);
    }

    #[test]
    fn lists_are_shortened_and_counted() {
        let answer = structured_sample(5_000, 10, None);
        let fitting = answer.data["places"].as_array().map_or(0, Vec::len);
        assert!(fitting > 500, "{fitting} kept");
        let remark = format!(
            "[left out: {} of 5000 in 'places'; ask about less at once for the rest]",
            5_000 - fitting
        );
        assert!(
            answer.text.contains(&remark),
            "{remark} in {}",
            &answer.text[answer.text.len() - 300..]
        );
        assert_eq!(answer.data[SHORTENED][0], remark);
        assert!(answer.text.contains("line 9 of a text"), "the short text is whole");
        assert_eq!(answer.cut, Some((5_000, fitting)));
    }

    #[test]
    fn a_page_that_is_too_long_is_asked_for_again_with_fewer() {
        let limit = |asked: Value, cut| smaller(&ASKED, &asked, cut);
        let asked = |limit: usize| serde_json::json!({"limit": limit});
        assert_eq!(limit(asked(200), (200, 50)), Some(50));
        // Five items count as one.
        assert_eq!(limit(asked(200), (1_000, 500)), Some(100));
        assert_eq!(limit(asked(1_000_000), (200, 100)), Some(100));
        assert_eq!(limit(serde_json::json!({}), (200, 100)), Some(25));
        assert_eq!(limit(asked(3), (1_000, 2)), Some(1));
        assert_eq!(limit(asked(1), (1_000, 2)), None);
    }

    #[test]
    fn texts_are_cut_at_a_line() {
        let answer = structured_sample(10, 50_000, None);
        assert_eq!(answer.data["places"].as_array().map(Vec::len), Some(10));
        let text = answer.data["texts"][0].as_str().expect("a text");
        let (fitting, mark) = text.rsplit_once('\n').expect("lines");
        let lines = fitting.lines().count();
        assert!(lines > 500 && fitting.ends_with("of a text"), "{lines} lines");
        assert_eq!(mark, format!("[… {} of 50000 lines left out]", 50_000 - lines));
        assert!(answer.text.contains(mark) && answer.text.contains("[left out: lines of long texts"));
    }

    #[test]
    fn lines_without_an_end_and_crowds_of_lists_are_shortened_too() {
        let found = Found {
            state: Value::Null,
            places: vec!["漢字".repeat(200_000); 3],
            texts: vec!["x".to_owned(); 30_000],
            data: None,
        };
        assert!(tokens::o200k(&sent(&found, Form::Text).text) <= MOST);
        assert!(tokens::o200k(&sent(&found, Form::Structured).data.to_string()) <= MOST);
    }
}
