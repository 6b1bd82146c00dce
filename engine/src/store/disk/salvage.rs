//! What can still be read of a database that was set aside. Every row proves itself by its check, so that those that are reached can be taken
//! over. Graphs, stamps and what was laid out are not among them: half of them would be wrong, and a build finds them out again.

use super::frame;
use super::schema::{self, Table};
use super::session::{Closing, Fault, guarded};
use redb::{Builder, Database, ReadableDatabase};
use std::fs;
use std::ops::Bound;
use std::path::Path;

/// What holds for itself, row by row: first what others refer to.
const TAKEN: [Table; 12] = [
    schema::BLOB_DATA,
    schema::BLOCKS,
    schema::BLOBS,
    schema::ACTIONS,
    schema::LAST_USE,
    schema::VIEWS,
    schema::HISTORY,
    schema::PINS,
    schema::CORRECTIONS,
    schema::BUILDS,
    schema::LEDGER,
    schema::REMARKS,
];

/// Rows are handed over in batches of so many bytes.
const BATCH: usize = 4 << 20;

/// In a table with more places that cannot be read than this, the rest is left.
const MOST_DAMAGES: usize = 1000;

type Row = (Vec<u8>, Vec<u8>);

/// Takes over what is sound of one database into another, an empty one. How many rows; damage only makes them fewer.
///
/// # Errors
/// When the other cannot be written.
pub(super) fn take_over(from: &Path, into: &Path, cache_bytes: usize) -> Result<u64, Fault> {
    let Ok(source) = guarded(|| open(from, cache_bytes)) else {
        return Ok(0);
    };
    let target = guarded(|| Ok(Closing::new(Builder::new().set_cache_size(cache_bytes).open(into)?)))?;
    let mut count = 0;
    for table in TAKEN {
        let walk = Walk {
            source: &**source.database,
            table,
        };
        walk.sound_rows(|rows| {
            count += rows.len() as u64;
            guarded(|| insert_rows(&target, table, rows))
        })?;
    }
    Ok(count)
}

/// A database to read, and the copy that it is in, if it is in one.
struct Source {
    database: Closing<Box<dyn ReadableDatabase>>,
    _copy: Option<tempfile::NamedTempFile>,
}

/// As it is; or, where it has to be repaired or lost its end, a copy of it, with zeros in the place of the end. It itself stays what it is.
fn open(path: &Path, cache_bytes: usize) -> Result<Source, redb::Error> {
    let mut builder = Builder::new();
    builder.set_cache_size(cache_bytes);
    if let Ok(database) = guarded(|| Ok(builder.open_read_only(path)?)) {
        return Ok(Source {
            database: Closing::new(Box::new(database)),
            _copy: None,
        });
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    let copy = tempfile::Builder::new().prefix(COPY).tempfile_in(folder)?;
    let length = fs::copy(path, copy.path())?;
    let repaired = guarded(|| Ok(builder.open(copy.path())?)).or_else(|fault| {
        let wanted = match &fault {
            Fault::Damaged(why) => wanted_length(why).filter(|wanted| *wanted < length * 2 + ROOM),
            _ => None,
        };
        let Some(wanted) = wanted else { return Err(fault) };
        copy.as_file().set_len(wanted)?;
        guarded(|| Ok(builder.open(copy.path())?))
    });
    let database: Box<dyn ReadableDatabase> = match repaired {
        Ok(database) => Box::new(database),
        Err(_) => Box::new(builder.open_read_only(copy.path())?),
    };
    Ok(Source {
        database: Closing::new(database),
        _copy: Some(copy),
    })
}

/// How long a file that lost its end was, as redb says when it meets it.
fn wanted_length(why: &str) -> Option<u64> {
    let behind = why.split("layout_len=").nth(1)?;
    let end = behind.find(|c: char| !c.is_ascii_digit()).unwrap_or(behind.len());
    behind[..end].parse().ok()
}

/// A file that claims to have been longer by more than as much again, and this, is not believed.
const ROOM: u64 = 16 << 20;

/// What a copy to read from is called, with something random behind it.
const COPY: &str = "store.redb.copy-";

fn insert_rows(target: &Database, table: Table, rows: &[Row]) -> Result<(), redb::Error> {
    let mut txn = target.begin_write()?;
    txn.set_quick_repair(true);
    {
        let mut copies = txn.open_table(table.definition())?;
        for (key, value) in rows {
            copies.insert(&key[..], &value[..])?;
        }
    }
    txn.commit()?;
    Ok(())
}

/// A walk over a table of which pages may be damaged.
struct Walk<'s> {
    source: &'s dyn ReadableDatabase,
    table: Table,
}

impl Walk<'_> {
    /// Every sound row that can be reached, in batches: up to the first damage, from behind it up to the next, and so on.
    fn sound_rows(&self, mut take: impl FnMut(&[Row]) -> Result<(), Fault>) -> Result<(), Fault> {
        let mut at = Point::FIRST;
        for _ in 0..MOST_DAMAGES {
            let (Some(low), Some(high)) = (self.next_reached(at, true), self.next_reached(Point::LAST, false)) else {
                break;
            };
            let mut last: Option<Vec<u8>> = None;
            let end = loop {
                let from = last.as_deref().map_or(Bound::Included(low.key()), Bound::Excluded);
                let stretch = self.stretch(from, high);
                take(&stretch.rows)?;
                last = stretch.last.or(last);
                if stretch.end != End::Batch {
                    break stretch.end;
                }
            };
            let met = last.map_or(low, |last| Point::of(&last).max(low));
            match met.shifted(0, true) {
                Some(beyond) if end == End::Damage && beyond <= high => at = beyond,
                _ => break,
            }
        }
        Ok(())
    }

    /// The nearest point from here on, or back, whose page can be read: found by steps of doubled width, and then between the last two.
    fn next_reached(&self, from: Point, up: bool) -> Option<Point> {
        if self.is_reached(from) {
            return Some(from);
        }
        let wide = (0..BITS).find_map(|bit| from.shifted(bit, up).filter(|&to| self.is_reached(to)).map(|_| bit))?;
        let mut damaged = from;
        for bit in (0..wide).rev() {
            damaged = damaged.shifted(bit, up).filter(|&to| !self.is_reached(to)).unwrap_or(damaged);
        }
        damaged.shifted(0, up)
    }

    fn is_reached(&self, at: Point) -> bool {
        let tried = guarded(|| {
            let txn = self.source.begin_read()?;
            let Some(table) = schema::table(&txn, self.table)? else {
                return Ok(());
            };
            if let Some(row) = table
                .range::<&[u8]>((Bound::Included(at.key()), Bound::Included(&at.0[..])))?
                .next()
            {
                row?;
            }
            Ok(())
        });
        tried.is_ok()
    }

    /// The sound rows from one place to another, up to a batch of them.
    fn stretch(&self, from: Bound<&[u8]>, to: Point) -> Stretch {
        let mut stretch = Stretch::default();
        let ended = guarded(|| {
            let txn = self.source.begin_read()?;
            let Some(table) = schema::table(&txn, self.table)? else {
                return Ok(End::Whole);
            };
            let to = match to {
                Point::LAST => Bound::Unbounded,
                _ => Bound::Included(&to.0[..]),
            };
            let mut bytes = 0;
            for row in table.range::<&[u8]>((from, to))? {
                let (key, value) = row?;
                let (key, value) = (key.value(), value.value());
                stretch.last = Some(key.to_vec());
                if frame::open(self.table.name, key, value).is_ok() {
                    bytes += key.len() + value.len();
                    stretch.rows.push((key.to_vec(), value.to_vec()));
                }
                if bytes >= BATCH {
                    return Ok(End::Batch);
                }
            }
            Ok(End::Whole)
        });
        stretch.end = ended.unwrap_or(End::Damage);
        stretch
    }
}

/// Rows that follow each other.
#[derive(Default)]
struct Stretch {
    /// The sound ones.
    rows: Vec<Row>,
    /// The key that it came to, sound or not.
    last: Option<Vec<u8>>,
    end: End,
}

/// Why a stretch ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum End {
    /// It is as far as it was to go.
    #[default]
    Whole,
    /// It is long enough.
    Batch,
    /// It met damage.
    Damage,
}

/// A place among the keys of a table, as a number of [`BITS`] bits: what a key begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Point([u8; LENGTH]);

const LENGTH: usize = 64;
const BITS: usize = LENGTH * 8;

impl Point {
    const FIRST: Self = Self([0; LENGTH]);
    const LAST: Self = Self([0xff; LENGTH]);

    fn of(key: &[u8]) -> Self {
        let mut point = Self::FIRST;
        let shared = key.len().min(LENGTH);
        point.0[..shared].copy_from_slice(&key[..shared]);
        point
    }

    /// The first key that it is the place of.
    fn key(&self) -> &[u8] {
        let zeros = self.0.iter().rev().take_while(|byte| **byte == 0).count();
        &self.0[..LENGTH - zeros]
    }

    /// So many keys further up or down: two to the power of `bit`. `None` beyond the ends.
    fn shifted(mut self, bit: usize, up: bool) -> Option<Self> {
        let mut step = 1_u8 << (bit % 8);
        for byte in self.0[..LENGTH - bit / 8].iter_mut().rev() {
            let (sum, carries) = if up {
                byte.overflowing_add(step)
            } else {
                byte.overflowing_sub(step)
            };
            *byte = sum;
            if !carries {
                return Some(self);
            }
            step = 1;
        }
        None
    }
}
