//! Salvage of a database that is set aside. Every row proves its soundness by its check, so all reachable ones can be copied. Graphs, stamps and
//! the list of laid-out files are left out: half of them would be wrong, and a build restores them.

use super::frame;
use super::open_database::{Closing, Fault, guarded};
use super::schema::{self, Table};
use redb::{Builder, Database, ReadableDatabase};
use std::fs;
use std::ops::Bound;
use std::path::Path;

/// Tables whose rows are valid by themselves, sorted so that rows precede those that refer to them.
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

/// Size in bytes of a batch of rows.
const BATCH: usize = 4 << 20;

/// Maximum number of unreadable places in a table; beyond them, the rest is skipped.
const MOST_DAMAGES: usize = 1000;

type RawRow = (Vec<u8>, Vec<u8>);

/// Copies all sound rows of one database into another, empty one; returns their number. Damage only reduces it.
pub(super) fn take_over(from: &Path, into: &Path, cache_bytes: usize) -> Result<u64, Fault> {
    let Ok(source) = guarded(|| open_padded(from, cache_bytes)) else {
        return Ok(0);
    };
    let target = guarded(|| Ok(Closing::new(Builder::new().set_cache_size(cache_bytes).open(into)?)))?;
    let mut count = 0;
    for table in TAKEN {
        let walk = TableWalk {
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

/// A database opened for reading, and its temporary copy, if it needed one.
struct OpenedDatabase {
    database: Closing<Box<dyn ReadableDatabase>>,
    _copy: Option<tempfile::NamedTempFile>,
}

/// Opens the database itself; if it needs repair or lost its end, opens a copy padded with zeros. Never changes the original.
fn open_padded(path: &Path, cache_bytes: usize) -> Result<OpenedDatabase, redb::Error> {
    let mut builder = Builder::new();
    builder.set_cache_size(cache_bytes);
    if let Ok(database) = guarded(|| Ok(builder.open_read_only(path)?)) {
        return Ok(OpenedDatabase {
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
    Ok(OpenedDatabase {
        database: Closing::new(database),
        _copy: Some(copy),
    })
}

/// Parses the original length of a file that lost its end from redb's error message.
fn wanted_length(why: &str) -> Option<u64> {
    let behind = why.split("layout_len=").nth(1)?;
    let end = behind.find(|c: char| !c.is_ascii_digit()).unwrap_or(behind.len());
    behind[..end].parse().ok()
}

/// Additional bytes allowed: a file that claims more than twice its length plus this is not trusted.
const ROOM: u64 = 16 << 20;

/// Prefix of the temporary copy's name, before a random suffix.
const COPY: &str = "store.redb.copy-";

fn insert_rows(target: &Database, table: Table, rows: &[RawRow]) -> Result<(), redb::Error> {
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

/// A walk over a table with possibly damaged pages.
struct TableWalk<'s> {
    source: &'s dyn ReadableDatabase,
    table: Table,
}

impl TableWalk<'_> {
    /// Passes every sound reachable row to `take`, in batches: up to the first damage, then from after it up to the next, and so on.
    fn sound_rows(&self, mut take: impl FnMut(&[RawRow]) -> Result<(), Fault>) -> Result<(), Fault> {
        let mut at = Point::FIRST;
        for _ in 0..MOST_DAMAGES {
            let (Some(low), Some(high)) = (self.next_reached(at, true), self.next_reached(Point::LAST, false)) else {
                break;
            };
            let mut last: Option<Vec<u8>> = None;
            let end = loop {
                let from = last.as_deref().map_or(Bound::Included(low.key()), Bound::Excluded);
                let run = self.read_run(from, high);
                take(&run.rows)?;
                last = run.last.or(last);
                if run.end != End::Batch {
                    break run.end;
                }
            };
            let met = last.map_or(low, |last| Point::from_key(&last).max(low));
            match met.shifted(0, true) {
                Some(beyond) if end == End::Damage && beyond <= high => at = beyond,
                _ => break,
            }
        }
        Ok(())
    }

    /// Finds the nearest point, up or down from here, whose page can be read: in steps of doubled width, then by bisection.
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
            let Some(table) = schema::open_table_to_read(&txn, self.table)? else {
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

    /// Reads the sound rows between two places, up to a batch.
    fn read_run(&self, from: Bound<&[u8]>, to: Point) -> RowRun {
        let mut run = RowRun::default();
        let ended = guarded(|| {
            let txn = self.source.begin_read()?;
            let Some(table) = schema::open_table_to_read(&txn, self.table)? else {
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
                run.last = Some(key.to_vec());
                if frame::verified_body(self.table.name, key, value).is_ok() {
                    bytes += key.len() + value.len();
                    run.rows.push((key.to_vec(), value.to_vec()));
                }
                if bytes >= BATCH {
                    return Ok(End::Batch);
                }
            }
            Ok(End::Whole)
        });
        run.end = ended.unwrap_or(End::Damage);
        run
    }
}

/// Consecutive rows.
#[derive(Default)]
struct RowRun {
    rows: Vec<RawRow>,
    /// The last key reached, sound or not.
    last: Option<Vec<u8>>,
    end: End,
}

/// Reason why a run of rows ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum End {
    /// It reached the end of the range.
    #[default]
    Whole,
    Batch,
    Damage,
}

/// A position among the keys of a table: their first [`BITS`] bits as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Point([u8; LENGTH]);

const LENGTH: usize = 64;
const BITS: usize = LENGTH * 8;

impl Point {
    const FIRST: Self = Self([0; LENGTH]);
    const LAST: Self = Self([0xff; LENGTH]);

    fn from_key(key: &[u8]) -> Self {
        let mut point = Self::FIRST;
        let shared = key.len().min(LENGTH);
        point.0[..shared].copy_from_slice(&key[..shared]);
        point
    }

    /// Returns the first key at this position.
    fn key(&self) -> &[u8] {
        let zeros = self.0.iter().rev().take_while(|byte| **byte == 0).count();
        &self.0[..LENGTH - zeros]
    }

    /// Moves by two to the power of `bit` positions, up or down; `None` beyond the ends.
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
