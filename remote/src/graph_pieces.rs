//! The graph of a bundle, in pieces: the rows of a whole graph, then for each later tree the rows that changed. A later piece replaces rows of
//! earlier ones.

use crate::blobs::NotTaken;
use crate::bundle::{GraphAddress, RowPieces};
use crate::cache_counters::ServerFault;
use crate::connection::Connection;
use crate::names::BlobName;
use crate::piece::{self, BundlePiece};
use crate::server::Server;
use engine::seams::remote::{GraphRow, PREFIX, WrongRemoteAnswer, prefix};
use engine::values::digest::Digest;
use minicbor::bytes::{ByteArray, ByteVec};
use minicbor::{Decode, Encode};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Limit of the rows in a piece, in bytes before compression.
const PIECE: usize = 4 << 20;
/// The same of the first piece, from which readers measure how fast the server is.
const FIRST: usize = 160 << 10;
/// Maximum number of pieces; beyond, the whole graph is sent again.
const MOST: usize = 64;
/// Number of pieces read together.
const AT_ONCE: usize = 8;

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

impl WrittenRow {
    fn len(&self) -> usize {
        self.key.len() + self.body.as_ref().map_or(0, |body| body.len())
    }

    fn to_digest(&self) -> RowDigest {
        RowDigest {
            table: self.table,
            key: self.key.clone(),
            len: self.len(),
            digest: self.body.as_ref().map(|body| ByteArray::from(digest_of(body))),
        }
    }
}

/// A row without its body.
#[derive(Encode, Decode)]
struct RowDigest {
    #[n(0)]
    table: u8,
    #[n(1)]
    key: ByteVec,
    /// Length of key and body in bytes.
    #[n(2)]
    len: usize,
    /// `None` removes the row.
    #[n(3)]
    digest: Option<ByteArray<PREFIX>>,
}

/// Returns the prefix of a body's digest.
fn digest_of(body: &[u8]) -> [u8; PREFIX] {
    prefix(&Digest::of(body))
}

/// Rows by table and key.
type Rows = BTreeMap<(u8, Vec<u8>), Vec<u8>>;

/// Rows of an earlier graph.
#[derive(Default)]
struct EarlierRows {
    /// Prefixes of the digests of bodies, by table and key.
    digests: BTreeMap<(u8, Vec<u8>), [u8; PREFIX]>,
    /// Length of all rows in its pieces, also of those that later pieces replace.
    len: usize,
}

impl EarlierRows {
    /// Returns the changes from these rows to `rows`, in order.
    fn changes(mut self, rows: &[GraphRow]) -> Vec<WrittenRow> {
        let mut changes = Vec::new();
        for row in rows {
            let before = self.digests.remove(&(row.table, row.key.clone()));
            if before != Some(digest_of(&row.body)) {
                changes.push(WrittenRow {
                    table: row.table,
                    key: row.key.clone().into(),
                    body: Some(row.body.clone().into()),
                });
            }
        }
        changes.extend(self.digests.into_keys().map(|(table, key)| WrittenRow {
            table,
            key: key.into(),
            body: None,
        }));
        changes
    }
}

/// Splits rows into pieces.
fn split_rows(rows: Vec<WrittenRow>) -> Vec<Vec<WrittenRow>> {
    let mut pieces: Vec<Vec<WrittenRow>> = Vec::new();
    let mut bytes = usize::MAX;
    for row in rows {
        let limit = if pieces.len() == 1 { FIRST } else { PIECE };
        if bytes >= limit {
            pieces.push(Vec::new());
            bytes = 0;
        }
        bytes += row.len();
        pieces.last_mut().expect("invariant: the first row begins a piece").push(row);
    }
    pieces
}

impl Connection {
    /// Reads some pieces of a graph, in order; `None` if one is missing or damaged.
    fn graph_pieces<T: for<'b> Decode<'b, ()>>(
        &self,
        server: &Arc<Server>,
        address: &GraphAddress,
        which: fn(&RowPieces) -> BundlePiece,
        is_worth: &dyn Fn(u64) -> bool,
    ) -> Option<Vec<T>> {
        if address.function != server.terms.function.protocol_number() {
            return None;
        }
        let names: Vec<BlobName> = address.pieces.iter().map(|piece| which(piece).piece_name()).collect();
        // The first one shows how fast the server is.
        let (first, others) = names.split_at(names.len().min(1));
        let mut left: u64 = names.iter().map(|name| name.len).sum();
        let mut all = Vec::new();
        for names in std::iter::once(first).chain(others.chunks(AT_ONCE)) {
            if !is_worth(left) {
                return None;
            }
            let found = self.pieces(server, names.iter().copied());
            for name in names {
                let Some(read) = piece::decode_piece::<Vec<T>>(found.get(name)?) else {
                    self.counters
                        .count_wrong_answer_about(WrongRemoteAnswer::Undecodable, ServerFault::Blob(*name));
                    return None;
                };
                left = left.saturating_sub(name.len);
                all.extend(read);
            }
        }
        Some(all)
    }

    /// Reads a graph, sorted by table and key; `None` if a piece is missing or damaged, or `is_worth` refuses the remaining bytes.
    pub(crate) fn read_graph(&self, server: &Arc<Server>, address: &GraphAddress, is_worth: &dyn Fn(u64) -> bool) -> Option<Vec<GraphRow>> {
        let mut rows = Rows::new();
        for row in self.graph_pieces::<WrittenRow>(server, address, |piece| piece.rows, is_worth)? {
            match row.body {
                Some(body) => rows.insert((row.table, row.key.into()), body.into()),
                None => rows.remove(&(row.table, row.key.into())),
            };
        }
        let row = |((table, key), body): ((u8, Vec<u8>), Vec<u8>)| GraphRow { table, key, body };
        Some(rows.into_iter().map(row).collect())
    }

    /// Reads the digests of a graph's rows; `None` if a piece is missing or damaged.
    fn earlier_rows(&self, server: &Arc<Server>, address: &GraphAddress) -> Option<EarlierRows> {
        let mut earlier = EarlierRows::default();
        for row in self.graph_pieces::<RowDigest>(server, address, |piece| piece.digests, &|_| true)? {
            earlier.len = earlier.len.saturating_add(row.len);
            match row.digest {
                Some(digest) => earlier.digests.insert((row.table, row.key.into()), digest.into()),
                None => earlier.digests.remove(&(row.table, row.key.into())),
            };
        }
        Some(earlier)
    }

    /// Sends a graph: the rows that changed since an `earlier` one, whose pieces the server has, or all. `None` if there are no rows, or the server's
    /// copies are damaged.
    pub(crate) fn send_graph(
        &self,
        server: &Arc<Server>,
        rows: &[GraphRow],
        earlier: Option<GraphAddress>,
    ) -> Result<Option<GraphAddress>, NotTaken> {
        if rows.is_empty() {
            return Ok(None);
        }
        let all: usize = rows.iter().map(|row| row.key.len() + row.body.len()).sum();
        let known = earlier.and_then(|address| {
            let earlier = self.earlier_rows(server, &address)?;
            let len = earlier.len;
            let changes = earlier.changes(rows);
            // Readers pay for replaced rows too: beyond a third of them, send the whole graph.
            let is_worth_keeping = len + changes.iter().map(WrittenRow::len).sum::<usize>() <= all + all / 2 && address.pieces.len() < MOST;
            is_worth_keeping.then_some((address.pieces, changes))
        });
        let (mut pieces, changes) = known.unwrap_or_else(|| (Vec::new(), EarlierRows::default().changes(rows)));
        let changes = split_rows(changes);
        let write = |at: usize, number: u32| match (&changes[at / 2], at % 2) {
            (rows, 0) => piece::encode_piece(rows, number),
            (rows, _) => piece::encode_piece(&rows.iter().map(WrittenRow::to_digest).collect::<Vec<_>>(), number),
        };
        for sent in self.send_pieces(server, changes.len() * 2, &write)?.as_chunks().0 {
            let [Some((rows, _)), Some((digests, _))] = sent else {
                return Ok(None);
            };
            pieces.push(RowPieces {
                rows: (*rows).into(),
                digests: (*digests).into(),
            });
        }
        Ok(Some(GraphAddress {
            function: server.terms.function.protocol_number(),
            pieces,
        }))
    }
}
