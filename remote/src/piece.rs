//! Pieces: the blobs that bundles consist of, compressed CBOR of one format. If a server has a damaged copy of a piece, the piece is written again
//! with another number, and so under another name.

use crate::names::BlobName;
use minicbor::{Decode, Encode};
use std::io::Read;

/// Format of pieces and of bundles. Others are not read.
const SCHEMA: u32 = 3;
/// Limit of a piece before compression, in bytes.
pub(crate) const LONGEST: u64 = 256 << 20;
/// Compression level: a sixth smaller than level 3, for half a second per 50 MiB. Pieces are written once and read often.
const LEVEL: i32 = 9;

/// A piece as a server names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct BundlePiece {
    #[n(0)]
    #[cbor(with = "minicbor::bytes")]
    hash: [u8; 32],
    #[n(1)]
    len: u64,
}

impl From<BlobName> for BundlePiece {
    fn from(name: BlobName) -> Self {
        Self {
            hash: name.hash,
            len: name.len,
        }
    }
}

impl BundlePiece {
    pub(crate) fn piece_name(&self) -> BlobName {
        BlobName {
            hash: self.hash,
            len: self.len,
        }
    }
}

/// A piece as written.
#[derive(Encode, Decode)]
#[cbor(map)]
struct Written<T> {
    #[n(0)]
    schema: u32,
    /// Changes the piece's name.
    #[n(1)]
    number: u32,
    #[n(2)]
    content: T,
}

pub(crate) fn encode_piece<T: Encode<()>>(content: &T, number: u32) -> Vec<u8> {
    let written = Written {
        schema: SCHEMA,
        number,
        content,
    };
    compress(&minicbor::to_vec(&written).expect("invariant: memory takes every byte"))
}

/// Decodes the content of a piece; `None` if it cannot be decoded to its last byte, or has another format. Memory grows only with the data, not with
/// announced lengths.
pub(crate) fn decode_piece<T: for<'b> Decode<'b, ()>>(bytes: &[u8]) -> Option<T> {
    let mut whole = Vec::new();
    let mut reader = zstd::Decoder::with_buffer(bytes).ok()?.take(LONGEST + 1);
    reader.read_to_end(&mut whole).ok().filter(|len| *len as u64 <= LONGEST)?;
    let mut decoder = minicbor::Decoder::new(&whole);
    let written: Written<T> = decoder.decode().ok()?;
    (decoder.position() == whole.len() && written.schema == SCHEMA).then_some(written.content)
}

pub(crate) fn compress(bytes: &[u8]) -> Vec<u8> {
    zstd::bulk::compress(bytes, LEVEL).expect("invariant: memory takes every byte")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_form_is_not_read() {
        let written = |schema: u32| {
            let written = Written {
                schema,
                number: 0,
                content: "text",
            };
            compress(&minicbor::to_vec(&written).unwrap())
        };
        assert_eq!(decode_piece::<String>(&written(SCHEMA)).as_deref(), Some("text"));
        assert_eq!(decode_piece::<String>(&written(SCHEMA + 1)), None);
        assert_eq!(decode_piece::<u32>(&written(SCHEMA)), None, "of another content");
    }
}
