//! Machines that share a cache, with the producers and the manifest of their workspace.

use crate::toys::bench::{Bench, How, read_manifest};
use crate::toys::board::{Board, Latest, Pen};
use crate::toys::producers::registry;
use engine::build::sharing::Sharing;
use engine::seams::paid::Spent;
use engine::seams::producer::{Failure, Inputs, Output, Params, Pool, Producer, ProducerId};
use engine::seams::remote::Prefer;
use engine::values::digest::Digest;
use engine::values::tree::File;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A program whose output is a folder, with its name and sandbox level.
struct Press(&'static str, &'static str);

impl Producer for Press {
    fn id(&self) -> ProducerId {
        ProducerId::new(self.0, 1)
    }

    fn pool(&self, _: &Params) -> Pool {
        Pool::Slow
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let file = |bytes: &[u8]| File {
            program: false,
            bytes: bytes.into(),
        };
        let text = &inputs.single("text")?.bytes;
        let files = [
            ("deep/er/same", file(b"the same")),
            ("deep/text", file(text)),
            ("same", file(b"the same")),
        ];
        let mut made = Output::from_files(&files.map(|(path, file)| (path.to_owned(), file)).into()).expect("names");
        made.notes.insert("sandbox".to_owned(), self.1.to_owned());
        Ok(made)
    }
}

/// Lists the content of a folder.
struct Unfold;

impl Producer for Unfold {
    fn id(&self) -> ProducerId {
        ProducerId::new("unfold", 1)
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let files = inputs.single("folder")?.tree.as_ref().expect("a folder");
        let lines = files
            .iter()
            .map(|(path, file)| format!("{path}: {}\n", String::from_utf8_lossy(&file.bytes)));
        Ok(Output::new(lines.collect::<String>()))
    }
}

/// A paid producer that reports the previous answer it started from.
struct Patcher;

impl Producer for Patcher {
    fn id(&self) -> ProducerId {
        ProducerId::new("patcher", 1)
    }

    fn pool(&self, _: &Params) -> Pool {
        Pool::Paid
    }

    fn builds_on_previous(&self, _: &Params) -> bool {
        true
    }

    fn produce(&self, inputs: &Inputs<'_>) -> Result<Output, Failure> {
        let text = &inputs.single("text")?.bytes;
        let previous = inputs.previous.as_ref().map(|previous| {
            let [output, memo] = [&previous.output, &previous.memo].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
            format!("{output} made of {memo}")
        });
        Ok(Output {
            memo: Digest::of(text).short().into_bytes().into(),
            spent: Some(Spent::default()),
            ..Output::new(previous.unwrap_or_else(|| "new".to_owned()))
        })
    }
}

pub const MANIFEST: &str = r#"
[sources.all]
include = ["*.txt"]
[producer]
strip = { uses = "strip" }
passing = { uses = "upper", keep = false }
links = { uses = "links" }
concat = { uses = "concat" }
slow = { uses = "slow" }
pen = { uses = "pen" }
press = { uses = "press" }
unfold = { uses = "unfold" }
[[rule]]
target = "//lines/{file}:strip"
each = { file = "sources:all" }
producer = "strip"
inputs = { text = "//files/{file}:bytes" }
[[rule]]
target = "//lines/{file}:upper"
each = { file = "sources:all" }
producer = "passing"
inputs = { text = "//lines/{file}:strip" }
[[rule]]
target = "//index:links"
producer = "links"
inputs = { text = { each = "sources:all", target = "//lines/{item}:strip" } }
[[rule]]
target = "//links/{link}:text"
each = { link = "//index:links" }
producer = "concat"
inputs = { text = { each = "sources:all", target = "//lines/{item}:upper" } }
[[rule]]
target = "//all:slow"
producer = "slow"
inputs = { text = { each = "sources:all", target = "//lines/{item}:strip" } }
[[rule]]
target = "//all:folder"
producer = "press"
inputs = { text = "//all:slow" }
[[rule]]
target = "//all:unfolded"
producer = "unfold"
inputs = { folder = "//all:folder" }
[[rule]]
target = "//all:summary"
producer = "pen"
inputs = { text = "//all:slow" }
"#;

/// Returns a machine that shares a board; each machine has its own pen.
pub fn machine(board: Option<&Board>, pen: &Pen) -> Bench {
    machine_of(MANIFEST, board, pen)
}

pub fn machine_of(text: &str, board: Option<&Board>, pen: &Pen) -> Bench {
    let mut registry = registry(&BTreeMap::new());
    registry.add(pen.clone());
    registry.add(Press("press", "strict"));
    registry.add(Press("loose", "none"));
    registry.add(Unfold);
    registry.add(Patcher);
    let manifest = read_manifest(text, &registry);
    let mut bench = Bench::with(Arc::new(manifest), Digest::of(text.as_bytes()), registry);
    bench.sharing = board.map(|board| Sharing {
        cache: Arc::new(board.clone()),
        farm: None,
        nearby: Some(Arc::new(Latest)),
        prefer: Prefer::Fetch,
    });
    for number in 0..4 {
        bench.put(&format!("{number}.txt"), &format!("@link{number}\n# comment\ntext {number}\n"));
    }
    bench
}

/// A build without outputs for the caller: unstored outputs are not run again just to be read.
pub const UNREAD: How = How {
    keep_going: true,
    dry_run: false,
    outputs: false,
    stop_after: None,
    rebuilt: false,
    fresh: false,
};

/// Builds everything and stores it as one bundle, like a job for that purpose.
pub fn warm(bench: &Bench, board: &Board) {
    let built = bench.build(&["//..."]);
    board.warm(bench, &built);
}
