//! Random manifests: a selection of rules that cover every feature of a rule, each with its producer's parameters.

use proptest::prelude::*;
use std::collections::BTreeSet;
use std::fmt::Write;

/// A rule of the catalogue: name, required rules, target, `each`, producer, inputs (`%` is one of `choices`), `out`.
struct Entry {
    name: &'static str,
    needs: &'static [&'static str],
    text: &'static str,
    uses: &'static str,
    inputs: &'static str,
    choices: &'static [&'static str],
    out: &'static str,
}

const DOCS: &str = "each = { d = \"glob:docs/**/*.txt\" }";

const CATALOGUE: [Entry; 28] = [
    Entry {
        name: "clean",
        needs: &[],
        text: "//doc/{d}:clean",
        uses: "strip",
        inputs: "own = \"//files/{d}:bytes\"",
        choices: &[],
        out: "\"clean/{d}\"",
    },
    Entry {
        name: "upper",
        needs: &["clean"],
        text: "//doc/{d}:upper",
        uses: "upper",
        inputs: "own = \"%\"",
        choices: &["//files/{d}:bytes", "//doc/{d}:clean"],
        out: "\"upper/{d}.up\"",
    },
    Entry {
        name: "safe",
        needs: &["upper"],
        text: "//doc/{d}:safe",
        uses: "fragile",
        inputs: "own = \"%\"",
        choices: &["//files/{d}:bytes", "//doc/{d}:clean", "//doc/{d}:upper"],
        out: "\"safe/{d}\"",
    },
    Entry {
        name: "links",
        needs: &["clean"],
        text: "//doc/{d}:links",
        uses: "links",
        inputs: "own = \"%\"",
        choices: &["//files/{d}:bytes", "//doc/{d}:clean"],
        out: "",
    },
    Entry {
        name: "join",
        needs: &["links", "safe"],
        text: "//doc/{d}:join",
        uses: "concat",
        inputs: "own = \"//doc/{d}:clean\"\nmore = { each = \"//doc/{d}:links\", target = \"%\" }",
        choices: &[
            "//doc/{item}:clean", "//doc/{item}:upper", "//doc/{item}:safe", "//doc/{item}:links",
        ],
        out: "\"join/{d}\"",
    },
    Entry {
        name: "deep",
        needs: &["links"],
        text: "//doc/{d}:deep",
        uses: "concat",
        inputs: "own = \"//doc/{d}:clean\"\nmore = { each = \"//doc/{d}:links\", target = \"//doc/{item}:deep\" }",
        choices: &[],
        out: "",
    },
    Entry {
        name: "named",
        needs: &["clean"],
        text: "//doc/{d}:named",
        uses: "named",
        inputs: "own = \"//doc/{d}:clean\"",
        choices: &[],
        out: "\"named/{d}\"",
    },
    Entry {
        name: "slow",
        needs: &["upper"],
        text: "//doc/{d}:slow",
        uses: "slow",
        inputs: "own = \"//doc/{d}:upper\"",
        choices: &[],
        out: "\"slow/{d}\"",
    },
    Entry {
        name: "table",
        needs: &["clean"],
        text: "//index:table",
        uses: "table",
        inputs: "all = { each = \"%\", target = \"//doc/{item}:clean\" }",
        choices: &["glob:docs/**/*.txt", "sources:docs"],
        out: "",
    },
    Entry {
        name: "row",
        needs: &["table"],
        text: "//key/{k}:row",
        uses: "concat",
        inputs: "rows = { table = \"//index:table\", each = [\"{k}\"] }",
        choices: &[],
        out: "{ path = \"rows/{v}/{k}.txt\", v = { each = \"//index:table\", row = \"{k}\", field = \"value\" } }",
    },
    Entry {
        name: "chase",
        needs: &["row"],
        text: "//key/{k}:chase",
        uses: "concat",
        inputs: "own = \"//key/{k}:row\"\nmore = { each = \"//index:table\", row = \"{k}\", field = \"list\", target = \"//key/{item}:%\" }",
        choices: &["row", "chase"],
        out: "",
    },
    Entry {
        name: "rows",
        needs: &["row"],
        text: "//all:rows",
        uses: "concat",
        inputs: "rows = { each = \"//index:table\", target = \"//key/{item}:row\" }",
        choices: &[],
        out: "\"rows.txt\"",
    },
    Entry {
        name: "alpha",
        needs: &["row"],
        text: "//fixed:alpha",
        uses: "concat",
        inputs: "row = \"//key/alpha:row\"",
        choices: &[],
        out: "\"alpha.txt\"",
    },
    Entry {
        name: "over",
        needs: &["alpha"],
        text: "//over:alpha",
        uses: "upper",
        inputs: "row = \"//fixed:alpha\"",
        choices: &[],
        out: "",
    },
    Entry {
        name: "digests",
        needs: &["table"],
        text: "//all:digests",
        uses: "digests",
        inputs: "table = { node = \"//index:table\", digest = true }",
        choices: &[],
        out: "\"digests.txt\"",
    },
    Entry {
        name: "settings",
        needs: &[],
        text: "//fixed:settings",
        uses: "fragile",
        inputs: "own = \"//files/conf/settings.txt:bytes\"",
        choices: &[],
        out: "\"settings.txt\"",
    },
    Entry {
        name: "pick",
        needs: &["links", "upper"],
        text: "//pick/{p}:pick",
        uses: "concat",
        inputs: "own = \"//doc/{p}:upper\"",
        choices: &[],
        out: "\"pick/{p}\"",
    },
    Entry {
        name: "picked",
        needs: &["pick"],
        text: "//fixed:picked",
        uses: "concat",
        inputs: "own = \"//pick/docs/b.txt:pick\"",
        choices: &[],
        out: "\"picked.txt\"",
    },
    Entry {
        name: "overpicked",
        needs: &["picked"],
        text: "//over:picked",
        uses: "concat",
        inputs: "own = \"//fixed:picked\"",
        choices: &[],
        out: "",
    },
    Entry {
        name: "first",
        needs: &["clean"],
        text: "//fixed:first",
        uses: "concat",
        inputs: "own = \"//doc/docs/a.txt:clean\"",
        choices: &[],
        out: "",
    },
    Entry {
        name: "every",
        needs: &["safe"],
        text: "//all:safe",
        uses: "concat",
        inputs: "all = { each = \"sources:docs\", target = \"//doc/{item}:safe\" }",
        choices: &[],
        out: "\"every.txt\"",
    },
    Entry {
        name: "listed",
        needs: &["row"],
        text: "//list/{l}:row",
        uses: "named",
        inputs: "row = \"//key/{l}:row\"",
        choices: &[],
        out: "",
    },
    Entry {
        name: "own",
        needs: &["clean"],
        text: "//doc/{d}:own",
        uses: "table",
        inputs: "text = \"//doc/{d}:clean\"",
        choices: &[],
        out: "",
    },
    Entry {
        name: "gather",
        needs: &["links", "own"],
        text: "//doc/{d}:gather",
        uses: "concat",
        inputs: "rows = { each = \"//doc/{d}:links\", table = \"//doc/{item}:own\", keys = % }",
        choices: &["[\"alpha\", \"beta\"]", "\"//doc/{d}:own\""],
        out: "\"gather/{d}\"",
    },
    Entry {
        name: "trail",
        needs: &["clean", "table"],
        text: "//doc/{d}:trail",
        uses: "trail",
        inputs: "own = \"%\"\nrows = { table = \"//index:table\", asked = true }",
        choices: &["//doc/{d}:clean", "//files/{d}:bytes"],
        out: "\"trail/{d}\"",
    },
    Entry {
        name: "tally",
        needs: &["clean"],
        text: "//index:tally",
        uses: "tally",
        inputs: "all = { each = \"%\", target = \"//doc/{item}:clean\" }",
        choices: &["glob:docs/**/*.txt", "sources:docs"],
        out: "",
    },
    Entry {
        name: "tallied",
        needs: &["tally"],
        text: "//fixed:tallied",
        uses: "digests",
        inputs: "rows = { table = \"//index:tally\", each = [\"alpha\", \"beta\"] }",
        choices: &[],
        out: "\"tallied.txt\"",
    },
    Entry {
        name: "joined",
        needs: &["clean", "table"],
        text: "//index:joined",
        uses: "joined",
        inputs: "main = \"//index:table\"\nall = { each = \"%\", target = \"//doc/{item}:clean\" }",
        choices: &["glob:docs/**/*.txt", "sources:docs"],
        out: "\"joined.txt\"",
    },
];

/// Number of rules in the catalogue.
pub const RULES: usize = CATALOGUE.len();

/// A random manifest.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Enabled rules, as a bit set.
    pub on: u32,
    /// Producers that keep their outputs, as a bit set.
    pub keep: u32,
    /// Output path of each rule: 0 for none, 1 and 2 for different paths.
    pub out: [u8; RULES],
    /// Input choice of each rule.
    pub choice: [u8; RULES],
    /// The prefix parameter.
    pub prefix: [u8; RULES],
}

impl Shape {
    /// Returns a strategy for any shape.
    pub fn any() -> impl Strategy<Value = Self> {
        let bits = || prop_oneof![Just(u32::MAX), any::<u32>()];
        let bytes = |below: u8| proptest::array::uniform28(0..below);
        (bits(), bits(), bytes(3), bytes(4)).prop_map(|(on, keep, out, choice)| Self {
            on,
            keep,
            out,
            choice,
            prefix: [0; RULES],
        })
    }

    /// Returns the manifest's text.
    pub fn text(&self) -> String {
        let mut text = "[workspace]\nname = \"model\"\n[sources.docs]\ninclude = [\"docs/**/*.txt\"]\n".to_owned();
        let mut there: BTreeSet<&str> = BTreeSet::new();
        for (at, entry) in CATALOGUE.iter().enumerate() {
            if self.on >> at & 1 == 0 || !entry.needs.iter().all(|need| there.contains(need)) {
                continue;
            }
            there.insert(entry.name);
            let Entry {
                name, text: target, uses, ..
            } = entry;
            let keep = self.keep >> at & 1 == 1;
            let _ = writeln!(
                text,
                "[producer.{name}]\nuses = \"{uses}\"\nkeep = {keep}\nparams.prefix = \"{}\"",
                self.prefix[at]
            );
            let _ = writeln!(text, "[[rule]]\ntarget = \"{target}\"\nproducer = \"{name}\"");
            let each = match *target {
                target if target.contains("{d}") => DOCS,
                target if target.contains("{k}") => "each = { k = \"//index:table\" }",
                target if target.contains("{p}") => "each = { p = \"//doc/docs/a.txt:links\" }",
                target if target.contains("{l}") => "each = { l = [\"alpha\", \"beta\"] }",
                _ => "",
            };
            let _ = writeln!(text, "{each}");
            match (self.out[at], entry.out) {
                (0, _) | (_, "") => {}
                (1, out) => drop(writeln!(text, "out = {out}")),
                (_, out) => drop(writeln!(text, "out = {}", out.replacen('"', "\"moved/", 1))),
            }
            let choice = entry
                .choices
                .get(usize::from(self.choice[at]) % entry.choices.len().max(1))
                .copied()
                .unwrap_or_default();
            let _ = writeln!(text, "[rule.inputs]\n{}", entry.inputs.replace('%', choice));
        }
        if there.is_empty() {
            // A workspace without rules has no targets to request.
            return Self { on: 1, ..self.clone() }.text();
        }
        text
    }
}
