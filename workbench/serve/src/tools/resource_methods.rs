//! Methods that only resources need: the types of the workspace page by page, and existing packs. They run like other methods.

use engine::values::table::Table;
use methods::catalog::{Effect, Method, MethodEntry, entry};
use methods::desk::Desk;
use methods::failed::Failed;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Number of types per page.
pub const PAGE: usize = 200;

/// Method that lists types.
pub static TYPES: MethodEntry = entry::<Types>();
pub static PACK: MethodEntry = entry::<Pack>();

/// List the types of the workspace.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
pub struct Types {
    /// Last type of the previous page.
    #[serde(default)]
    pub after: Option<String>,
}

/// A page of types.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Page {
    /// Their names, in order.
    pub types: Vec<String>,
    /// Whether further pages exist.
    pub more: bool,
}

impl Method for Types {
    const NAME: &'static str = "types";
    const EFFECT: Effect = Effect::Looks;
    type Answer = Page;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Page, Failed> {
        let bytes = desk.output_of_label("//index:types")?.bytes;
        let table = Table::open(&bytes).ok_or_else(|| Failed::bug(&"//index:types is not a table"))?;
        // Keys are sorted.
        let mut rest = table
            .keys()
            .skip_while(|key| self.after.as_deref().is_some_and(|after| *key <= after))
            .map(str::to_owned);
        let types = rest.by_ref().take(PAGE).collect();
        Ok(Page {
            types,
            more: rest.next().is_some(),
        })
    }

    fn text(answer: &Page) -> String {
        answer.types.join("\n")
    }
}

/// Print a pack.
#[derive(Debug, clap::Args, Serialize, Deserialize, JsonSchema)]
pub struct Pack {
    /// Its name.
    pub name: String,
}

/// The text of a pack.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Laid {
    /// The pack as Markdown.
    pub text: String,
}

impl Method for Pack {
    const NAME: &'static str = "pack";
    const EFFECT: Effect = Effect::Looks;
    type Answer = Laid;

    fn answer(&self, desk: &mut Desk<'_>) -> Result<Laid, Failed> {
        let shown = desk.output_of_label(&format!("//packs/{}:pack", self.name))?;
        Ok(Laid {
            text: String::from_utf8_lossy(&shown.bytes).into_owned(),
        })
    }

    fn text(answer: &Laid) -> String {
        answer.text.clone()
    }
}
