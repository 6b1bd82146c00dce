//! The graph of a bundle, in pieces: the rows of a whole graph, then for each later tree the rows that changed. A later piece replaces rows of
//! earlier ones.

use crate::account::Doubt;
use crate::blobs::NotTaken;
use crate::client::Inner;
use crate::names::Name;
use crate::piece::{self, Piece};
use crate::server::Server;
use crate::volume;
use engine::seams::remote::{GraphRow, Lie};
use minicbor::bytes::ByteVec;
use minicbor::{Decode, Encode};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Limit of the rows in a piece, in bytes before compression.
const PIECE: usize = 4 << 20;
/// Maximum number of pieces; beyond, the whole graph is sent again.
const MOST: usize = 64;

/// Address of a graph.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub(crate) struct GraphAddress {
    /// Hash function of the names.
    #[n(0)]
    pub function: i32,
    /// Its pieces, in the order in which they apply.
    #[n(1)]
    pieces: Vec<Piece>,
}

impl GraphAddress {
    /// Returns the address as the cache of this number hands it out.
    pub(crate) fn handed_out_by(&self, cache: u64) -> Vec<u8> {
        volume::handed_out_by(cache, self)
    }

    /// Decodes an address that the cache of this number handed out; `None` if another cache did.
    pub(crate) fn read(bytes: &[u8], cache: u64) -> Option<Self> {
        volume::read_address(bytes, cache)
    }

    /// Returns the names of its pieces, in order.
    fn names(&self) -> impl Iterator<Item = Name> {
        self.pieces.iter().map(Piece::name)
    }
}

#[derive(Clone, Encode, Decode)]
struct WrittenRow {
    #[n(0)]
    table: u8,
    #[n(1)]
    key: ByteVec,
    /// `None` removes the row.
    #[n(2)]
    body: Option<ByteVec>,
}

/// Rows by table and key.
type Rows = BTreeMap<(u8, Vec<u8>), Vec<u8>>;

/// Returns the bytes of rows, before compression.
fn len(rows: &[WrittenRow]) -> usize {
    rows.iter()
        .map(|row| row.key.len() + row.body.as_ref().map_or(0, |body| body.len()))
        .sum()
}

/// Returns the changes that make `rows` of earlier ones, in order.
fn difference(earlier: &Rows, rows: &[GraphRow]) -> Vec<WrittenRow> {
    let mut gone = earlier.clone();
    let mut changes = Vec::new();
    for row in rows {
        let before = gone.remove(&(row.table, row.key.clone()));
        if before.as_ref() != Some(&row.body) {
            changes.push(WrittenRow {
                table: row.table,
                key: row.key.clone().into(),
                body: Some(row.body.clone().into()),
            });
        }
    }
    changes.extend(gone.into_keys().map(|(table, key)| WrittenRow {
        table,
        key: key.into(),
        body: None,
    }));
    changes
}

/// Splits rows into pieces.
fn split(rows: Vec<WrittenRow>) -> Vec<Vec<WrittenRow>> {
    let mut pieces: Vec<Vec<WrittenRow>> = Vec::new();
    let mut bytes = usize::MAX;
    for row in rows {
        if bytes >= PIECE {
            pieces.push(Vec::new());
            bytes = 0;
        }
        bytes += len(std::slice::from_ref(&row));
        pieces.last_mut().expect("invariant: the first row begins a piece").push(row);
    }
    pieces
}

impl Inner {
    /// Reads a graph, and the bytes of all rows in its pieces; `None` if a piece is missing or damaged.
    fn graph_rows(&self, server: &Arc<Server>, address: &GraphAddress) -> Option<(Rows, usize)> {
        if address.function != server.terms.function.number() {
            return None;
        }
        let found = self.pieces(server, address.names());
        let (mut rows, mut bytes) = (Rows::new(), 0);
        for name in address.names() {
            let Some(read) = piece::decode::<Vec<WrittenRow>>(found.get(&name)?) else {
                self.account.lied_about(Lie::Undecodable, Doubt::Blob(name));
                return None;
            };
            bytes += len(&read);
            for row in read {
                match row.body {
                    Some(body) => rows.insert((row.table, row.key.into()), body.into()),
                    None => rows.remove(&(row.table, row.key.into())),
                };
            }
        }
        Some((rows, bytes))
    }

    /// Reads a graph, sorted by table and key; `None` if a piece is missing or damaged.
    pub(crate) fn read_graph(&self, server: &Arc<Server>, address: &GraphAddress) -> Option<Vec<GraphRow>> {
        let (rows, _) = self.graph_rows(server, address)?;
        let row = |((table, key), body): ((u8, Vec<u8>), Vec<u8>)| GraphRow { table, key, body };
        Some(rows.into_iter().map(row).collect())
    }

    /// Sends a graph: the rows that changed since an `earlier` one, or all. `None` if there are none, or the server does not keep them undamaged.
    pub(crate) fn send_graph(
        &self,
        server: &Arc<Server>,
        rows: &[GraphRow],
        earlier: Option<GraphAddress>,
    ) -> Result<Option<GraphAddress>, NotTaken> {
        if rows.is_empty() {
            return Ok(None);
        }
        let known = earlier.and_then(|address| Some((self.graph_rows(server, &address)?, address)));
        let all: usize = rows.iter().map(|row| row.key.len() + row.body.len()).sum();
        let (mut pieces, changes) = match known {
            Some(((earlier, bytes), address)) => {
                let changes = difference(&earlier, rows);
                // Readers pay for replaced rows too: beyond a third of them, send the whole graph.
                let is_worth_keeping = bytes + len(&changes) <= all + all / 2 && address.pieces.len() < MOST;
                match is_worth_keeping {
                    true => (address.pieces, changes),
                    false => (Vec::new(), difference(&Rows::new(), rows)),
                }
            }
            None => (Vec::new(), difference(&Rows::new(), rows)),
        };
        let changes = split(changes);
        let sent = self.send_pieces(server, changes.len(), &|at, number| piece::encode(&changes[at], number))?;
        for piece in sent {
            let Some((name, _)) = piece else { return Ok(None) };
            pieces.push(name.into());
        }
        Ok(Some(GraphAddress {
            function: server.terms.function.number(),
            pieces,
        }))
    }
}
