//! Folders that somebody names, listened to without what is below them: which names in them moved, gathered into batches. Whoever is told looks
//! for himself, and says which folders count from then on: it may name too much, never too little.

use super::ears::{Ears, Heard};
use crate::files::scan::join;
use os::errors::SystemError;
use os::handles::AsFd;
use os::sockets::Stream;
use os::wait::wait_to_read;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What moves within so long of the first is one batch.
const BATCH: Duration = Duration::from_millis(200);

/// Files and folders below the root that moved; `None` when anything may have.
pub type Moved = Option<BTreeSet<String>>;

/// A lookout at work. Dropping it ends it.
pub struct Lookout {
    end: Option<Stream>,
    thread: Option<JoinHandle<()>>,
}

impl Lookout {
    /// Begins to listen. `told` is called at the beginning and after each batch, and gives the folders below `root` to listen to; for one that is
    /// not there the nearest above it is listened to.
    ///
    /// # Errors
    /// When the system cannot be listened to.
    pub fn start(root: &Path, told: impl FnMut(&Moved) -> BTreeSet<String> + Send + 'static) -> io::Result<Self> {
        let (end, ended) = Stream::pair()?;
        let mut watch = At {
            root: root.to_owned(),
            ears: Ears::new()?,
            folders: BTreeSet::new(),
            ended,
        };
        let thread = std::thread::Builder::new()
            .name("lookout".to_owned())
            .spawn(move || watch.run(told))?;
        Ok(Self {
            end: Some(end),
            thread: Some(thread),
        })
    }
}

impl Drop for Lookout {
    fn drop(&mut self) {
        self.end = None;
        if let Some(thread) = self.thread.take() {
            // One that panicked has said so.
            let _ = thread.join();
        }
    }
}

struct At {
    root: PathBuf,
    ears: Ears,
    folders: BTreeSet<String>,
    ended: Stream,
}

impl At {
    fn run(&mut self, mut told: impl FnMut(&Moved) -> BTreeSet<String>) {
        let mut moved = None;
        loop {
            // What moved in a folder before it was listened to is looked for as well.
            while self.listen(told(&moved)) {
                moved = None;
            }
            match self.batch() {
                Ok(Some(batch)) => moved = batch,
                Ok(None) | Err(_) => return,
            }
        }
    }

    /// Listens to these folders alone; whether they are others than before.
    fn listen(&mut self, wanted: BTreeSet<String>) -> bool {
        let wanted: BTreeSet<String> = wanted.iter().map(|folder| self.nearest(folder)).collect();
        for folder in self.folders.difference(&wanted) {
            self.ears.remove(folder);
        }
        // Some went with a folder above them, and come back.
        let heard: BTreeSet<String> = wanted
            .into_iter()
            .filter(|folder| self.ears.add(&self.root, folder).is_ok())
            .collect();
        std::mem::replace(&mut self.folders, heard.clone()) != heard
    }

    fn nearest(&self, folder: &str) -> String {
        let above = std::iter::successors(Some(folder), |folder| {
            let above = folder.rsplit_once('/').map_or("", |(above, _)| above);
            (!folder.is_empty()).then_some(above)
        });
        let mut there = above.filter(|folder| self.root.join(folder).is_dir());
        there.next().unwrap_or_default().to_owned()
    }

    /// The next batch; `None` at the end.
    fn batch(&mut self) -> Result<Option<Moved>, SystemError> {
        let mut moved = Some(BTreeSet::new());
        let mut ends = None;
        loop {
            let now = Instant::now();
            match ends {
                Some(end) if now >= end => return Ok(Some(moved)),
                end => {
                    if !self.wait(end.map(|end: Instant| end - now))? {
                        return Ok(None);
                    }
                }
            }
            let mut is_heard = false;
            self.ears.drain(|heard| {
                is_heard = true;
                match heard {
                    Heard::Name { directory, name, .. } => {
                        if let Some(moved) = &mut moved {
                            moved.insert(join(&directory, &name));
                        }
                    }
                    Heard::Lost | Heard::Gone(_) => moved = None,
                }
            })?;
            if is_heard && ends.is_none() {
                ends = Some(Instant::now() + BATCH);
            }
        }
    }

    /// Until something is heard, or the time is over; whether to go on.
    fn wait(&self, time: Option<Duration>) -> Result<bool, SystemError> {
        let [_, is_over] = wait_to_read([self.ears.fd(), self.ended.as_fd()], time)?;
        Ok(!is_over)
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use std::sync::mpsc;

    /// Longer than anything takes.
    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn what_moves_in_named_folders_is_told_and_nothing_else() {
        let temp = tempfile::tempdir().expect("folder");
        let root = temp.path().to_owned();
        std::fs::create_dir(root.join("b")).expect("folder");
        let (send, batches) = mpsc::channel();
        let folders = BTreeSet::from(["a/deep".to_owned(), "b".to_owned()]);
        let told = move |moved: &Moved| {
            send.send(moved.clone()).expect("somebody listens");
            folders.clone()
        };
        let lookout = Lookout::start(&root, told).expect("it begins");
        let next = || batches.recv_timeout(LONG).expect("a batch");
        // The second look is for what came before the ears.
        assert_eq!((next(), next()), (None, None));
        std::fs::write(root.join("b/one"), "1").expect("file");
        std::fs::rename(root.join("b/one"), root.join("b/two")).expect("renamed");
        let named = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>());
        assert_eq!(next(), named(&["b/one", "b/two"]));
        // Folders that come are listened to from then on, one by one.
        std::fs::create_dir_all(root.join("a/deep")).expect("folders");
        // Those that are there before the folder above them was heard to get them are looked for without a name.
        if let Some(moved) = next() {
            assert_eq!(Some(moved), named(&["a"]));
            assert_eq!(next(), None);
        }
        std::fs::write(root.join("unheard"), "1").expect("file");
        std::fs::write(root.join("a/deep/three"), "1").expect("file");
        assert_eq!(next(), named(&["a/deep/three"]));
        // One that goes may have taken anything with it.
        std::fs::remove_dir_all(root.join("b")).expect("removed");
        while next().is_some() {}
        drop(lookout);
        while batches.recv_timeout(LONG).is_ok() {}
        assert_eq!(batches.try_recv(), Err(mpsc::TryRecvError::Disconnected), "it has ended");
    }
}
