//! Messages on a byte stream: one per line, or after a `Content-Length` header as in the Language Server Protocol and StreamJsonRpc.
//! The first byte of a peer decides the framing, also that of the answers.

use std::io;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};

/// Limit of a service client's message, in bytes. A longer message is skipped.
pub const LONGEST: usize = 4 << 20;

/// Limit of a header line, in bytes.
const HEADER: u64 = 1024;

/// Separation of messages in a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// One message per line.
    Lines,
    /// `Content-Length: N`, an empty line, N bytes.
    Headers,
}

/// Result of one read.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame {
    Message(Vec<u8>),
    /// A message that is too long. It is reported at once; the next read skips its rest.
    TooLong {
        /// Number of bytes that the message has at least.
        bytes: usize,
        /// The part of the message that was read.
        begun: Vec<u8>,
    },
    /// Bytes after which no message boundary can be found.
    Garbage(&'static str),
    End,
}

/// Reads messages.
#[derive(Debug)]
pub struct Reader<R> {
    from: BufReader<R>,
    framing: Option<Framing>,
    /// Limit of a message, in bytes.
    longest: usize,
    /// Unread part of a message that was too long.
    rest: Rest,
}

/// Unread part of a message that was too long.
#[derive(Clone, Copy, Debug, Default)]
enum Rest {
    #[default]
    Nothing,
    /// Number of bytes.
    Bytes(u64),
    /// Everything up to the end of the line.
    Line,
}

impl<R: AsyncRead + Unpin> Reader<R> {
    /// Reads from a stream of unknown framing.
    pub fn new(from: R) -> Self {
        Self {
            from: BufReader::new(from),
            framing: None,
            longest: LONGEST,
            rest: Rest::Nothing,
        }
    }

    /// Reads from a stream of one message per line, with a limit in bytes.
    pub fn of_lines(from: R, longest: usize) -> Self {
        Self {
            framing: Some(Framing::Lines),
            longest,
            ..Self::new(from)
        }
    }

    /// Returns the peer's framing; lines before the peer wrote anything.
    pub fn framing(&self) -> Framing {
        self.framing.unwrap_or(Framing::Lines)
    }

    /// Skips white space between messages and waits for the next byte. Returns whether one arrived before the end.
    pub async fn ready(&mut self) -> io::Result<bool> {
        self.skip_rest().await?;
        loop {
            let bytes = self.from.fill_buf().await?;
            if bytes.is_empty() {
                return Ok(false);
            }
            let blank = bytes.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            let first = bytes.get(blank).copied();
            self.from.consume(blank);
            if let Some(first) = first {
                let by_first = if matches!(first, b'C' | b'c') {
                    Framing::Headers
                } else {
                    Framing::Lines
                };
                self.framing.get_or_insert(by_first);
                return Ok(true);
            }
        }
    }

    /// Skips the rest of a message that was too long, up to its end or the end of the stream.
    async fn skip_rest(&mut self) -> io::Result<()> {
        match std::mem::take(&mut self.rest) {
            Rest::Nothing => {}
            Rest::Bytes(count) => {
                tokio::io::copy_buf(&mut (&mut self.from).take(count), &mut tokio::io::sink()).await?;
            }
            Rest::Line => loop {
                let bytes = self.from.fill_buf().await?;
                let (end, len) = (bytes.iter().position(|byte| *byte == b'\n'), bytes.len());
                self.from.consume(end.map_or(len, |end| end + 1));
                if end.is_some() || len == 0 {
                    break;
                }
            },
        }
        Ok(())
    }

    /// Reads the next message; call after [`Self::ready`].
    pub async fn next(&mut self) -> io::Result<Frame> {
        match self.framing() {
            Framing::Lines => self.read_json_line().await,
            Framing::Headers => self.behind_header().await,
        }
    }

    async fn read_json_line(&mut self) -> io::Result<Frame> {
        let mut line = Vec::new();
        loop {
            let bytes = self.from.fill_buf().await?;
            if bytes.is_empty() {
                // The last line may lack its line feed.
                return Ok(if line.is_empty() { Frame::End } else { Frame::Message(line) });
            }
            let (taken, ended) = match bytes.iter().position(|byte| *byte == b'\n') {
                Some(at) => (at + 1, true),
                None => (bytes.len(), false),
            };
            let length = line.len() + taken;
            let fits = length <= self.longest + usize::from(ended);
            if fits {
                line.extend_from_slice(&bytes[..taken]);
            }
            self.from.consume(taken);
            if !fits {
                self.rest = if ended { Rest::Nothing } else { Rest::Line };
                return Ok(Frame::TooLong {
                    bytes: length,
                    begun: line,
                });
            }
            if ended {
                return Ok(Frame::Message(line));
            }
        }
    }

    async fn behind_header(&mut self) -> io::Result<Frame> {
        let mut length = None;
        for _ in 0..16 {
            let mut line = Vec::new();
            let read = (&mut self.from).take(HEADER).read_until(b'\n', &mut line).await?;
            if read == 0 {
                return Ok(Frame::End);
            }
            let Some(line) = line.strip_suffix(b"\n") else {
                return Ok(Frame::Garbage("a line of the header is too long"));
            };
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.is_empty() {
                let Some(length) = length else {
                    return Ok(Frame::Garbage("the header names no Content-Length"));
                };
                return self.read_frame_body(length).await;
            }
            let line = std::str::from_utf8(line).unwrap_or_default();
            let Some((name, value)) = line.split_once(':') else {
                return Ok(Frame::Garbage("a line of the header has no colon"));
            };
            if name.trim().eq_ignore_ascii_case("content-length") {
                match value.trim().parse::<usize>() {
                    Ok(value) => length = Some(value),
                    Err(_) => return Ok(Frame::Garbage("the Content-Length is not a number")),
                }
            }
        }
        Ok(Frame::Garbage("the header has too many lines"))
    }

    async fn read_frame_body(&mut self, length: usize) -> io::Result<Frame> {
        let mut body = Vec::new();
        if length > self.longest {
            // Reported at once; the next read skips the rest.
            self.rest = Rest::Bytes(length as u64);
            return Ok(Frame::TooLong {
                bytes: length,
                begun: body,
            });
        }
        let mut rest = (&mut self.from).take(length as u64);
        // The buffer grows with the bytes received, not with the announced length.
        rest.read_to_end(&mut body).await?;
        Ok(if body.len() < length { Frame::End } else { Frame::Message(body) })
    }
}

pub async fn write_message<W: AsyncWrite + Unpin>(to: &mut W, framing: Framing, message: &[u8]) -> io::Result<()> {
    match framing {
        Framing::Lines => {
            to.write_all(message).await?;
            to.write_all(b"\n").await?;
        }
        Framing::Headers => {
            to.write_all(format!("Content-Length: {}\r\n\r\n", message.len()).as_bytes())
                .await?;
            to.write_all(message).await?;
        }
    }
    to.flush().await
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads all frames of `bytes`, written in pieces of `piece` bytes.
    fn read(bytes: &[u8], piece: usize) -> Vec<Frame> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("runtime");
        runtime.block_on(async {
            let (mut there, here) = tokio::io::duplex(piece);
            let bytes = bytes.to_vec();
            let writing = async move {
                // The reader may close the stream before all bytes are written.
                let _ = there.write_all(&bytes).await;
                drop(there);
            };
            let reading = async move {
                let mut reader = Reader::new(here);
                let mut frames = Vec::new();
                while reader.ready().await.expect("read") {
                    let frame = reader.next().await.expect("read");
                    let ends = matches!(frame, Frame::Garbage(_) | Frame::End);
                    frames.push(frame);
                    if ends {
                        break;
                    }
                }
                frames
            };
            futures_join(writing, reading).await
        })
    }

    async fn futures_join<T>(one: impl Future<Output = ()>, other: impl Future<Output = T>) -> T {
        tokio::join!(one, other).1
    }

    fn message(text: &str) -> Frame {
        Frame::Message(text.as_bytes().to_vec())
    }

    /// Frame of a message whose header announces too many bytes; its body is not read.
    fn too_long(bytes: usize) -> Frame {
        Frame::TooLong { bytes, begun: Vec::new() }
    }

    #[test]
    fn both_framings_in_any_pieces() {
        for piece in [1, 2, 7, 4096] {
            assert_eq!(
                read(b"{\"a\":1}\n\r\n {\"b\":2}\n", piece),
                [message("{\"a\":1}\n"), message("{\"b\":2}\n")]
            );
            let headers = b"Content-Length: 2\r\n\r\n{}content-length:3\r\nContent-Type: x\r\n\r\n[1]";
            assert_eq!(read(headers, piece), [message("{}"), message("[1]")]);
        }
    }

    #[test]
    fn the_reader_skips_messages_that_are_too_long() {
        let long = vec![b'x'; LONGEST + 2];
        let lines = [b"{".as_slice(), &long, b"\n{}\n"].concat();
        let frames = read(&lines, 65536);
        let [Frame::TooLong { bytes, begun }, next] = frames.as_slice() else {
            panic!("{} frames", frames.len())
        };
        assert!(*bytes > LONGEST && begun.starts_with(b"{xx") && *next == message("{}\n"));
        let longest = [vec![b'x'; LONGEST], b"\n".to_vec()].concat();
        assert_eq!(read(&longest, 65536), [Frame::Message(longest)]);
        let headers = [
            format!("Content-Length: {}\r\n\r\n", long.len()).as_bytes(),
            &long,
            b"Content-Length: 2\r\n\r\n{}",
        ]
        .concat();
        assert_eq!(read(&headers, 65536), [too_long(long.len()), message("{}")]);
    }

    /// Only the oversized part has arrived: neither the end of the line nor the end of the stream.
    #[test]
    fn a_message_that_is_too_long_is_reported_before_it_ends() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("runtime");
        runtime.block_on(async {
            let (mut there, here) = tokio::io::duplex(65536);
            let mut reader = Reader::new(here);
            let long = vec![b'{'; LONGEST + 1];
            let (written, frame_read) = tokio::join!(there.write_all(&long), async {
                assert!(reader.ready().await.expect("read"));
                reader.next().await.expect("read")
            });
            written.expect("written");
            assert!(matches!(frame_read, Frame::TooLong { .. }), "{frame_read:?}");
            there.write_all(b"}}\n[]\n").await.expect("written");
            assert!(reader.ready().await.expect("read"));
            assert_eq!(reader.next().await.expect("read"), message("[]\n"));
        });
    }

    #[test]
    fn odd_headers_and_half_messages() {
        assert_eq!(
            read(b"Content-Length: x\r\n\r\n", 64),
            [Frame::Garbage("the Content-Length is not a number")]
        );
        assert_eq!(
            read(b"Content-Type: x\r\n\r\n{}", 64),
            [Frame::Garbage("the header names no Content-Length")]
        );
        assert_eq!(
            read(&[b"C".as_slice(), &[b'x'; 2000]].concat(), 64),
            [Frame::Garbage("a line of the header is too long")]
        );
        assert_eq!(read(b"Content-Length: 10\r\n\r\n{}", 64), [Frame::End]);
        assert_eq!(read(b"Content-Length: 99999999999\r\n\r\n{}", 64), [too_long(99_999_999_999)]);
        assert_eq!(read(b"{\"last\":1}", 64), [message("{\"last\":1}")]);
    }
}
