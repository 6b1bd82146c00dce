//! Messages on a stream of bytes: one a line, or behind a `Content-Length` header as the Language Server Protocol and StreamJsonRpc have it.
//! Which of them a peer uses is told by its first byte, and it is answered in kind.

use std::io;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};

/// No message is longer, in bytes. What a longer one holds is passed over.
pub const LONGEST: usize = 4 << 20;

/// No line of a header is longer, in bytes.
const HEADER: u64 = 1024;

/// How messages are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// One a line.
    Lines,
    /// `Content-Length: N`, an empty line, N bytes.
    Headers,
}

/// What came.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame {
    /// A message.
    Message(Vec<u8>),
    /// A message that was too long, of at least so many bytes; it was passed over.
    TooLong(usize),
    /// Bytes after which no message can be made out any more.
    Garbage(&'static str),
    /// The peer is done.
    End,
}

/// Reads messages.
#[derive(Debug)]
pub struct Reader<R> {
    from: BufReader<R>,
    framing: Option<Framing>,
    /// Bytes of a message that was too long, still to be passed over.
    rest: u64,
}

impl<R: AsyncRead + Unpin> Reader<R> {
    /// Over a stream of which nothing is known yet.
    pub fn new(from: R) -> Self {
        Self {
            from: BufReader::new(from),
            framing: None,
            rest: 0,
        }
    }

    /// How the peer writes; lines before it has written anything.
    pub fn framing(&self) -> Framing {
        self.framing.unwrap_or(Framing::Lines)
    }

    /// Waits until something comes. White space between messages is passed over. Whether anything does.
    ///
    /// # Errors
    /// When the stream breaks.
    pub async fn ready(&mut self) -> io::Result<bool> {
        let mut rest = (&mut self.from).take(std::mem::take(&mut self.rest));
        tokio::io::copy_buf(&mut rest, &mut tokio::io::sink()).await?;
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

    /// The next message; to be called when something came.
    ///
    /// # Errors
    /// When the stream breaks.
    pub async fn next(&mut self) -> io::Result<Frame> {
        match self.framing() {
            Framing::Lines => self.line().await,
            Framing::Headers => self.behind_header().await,
        }
    }

    async fn line(&mut self) -> io::Result<Frame> {
        let mut line = Vec::new();
        let mut passed = 0;
        loop {
            let bytes = self.from.fill_buf().await?;
            if bytes.is_empty() {
                // The last line may do without its end.
                return Ok(match (passed, line.is_empty()) {
                    (0, true) => Frame::End,
                    (0, false) => Frame::Message(line),
                    (passed, _) => Frame::TooLong(passed),
                });
            }
            let (taken, ended) = match bytes.iter().position(|byte| *byte == b'\n') {
                Some(at) => (at + 1, true),
                None => (bytes.len(), false),
            };
            if passed == 0 && line.len() + taken <= LONGEST + 1 {
                line.extend_from_slice(&bytes[..taken]);
            } else {
                passed += std::mem::take(&mut line).len() + taken;
            }
            self.from.consume(taken);
            if ended {
                return Ok(if passed > 0 { Frame::TooLong(passed) } else { Frame::Message(line) });
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
                return self.body(length).await;
            }
            let line = std::str::from_utf8(line).unwrap_or_default();
            let Some((name, value)) = line.split_once(':') else {
                return Ok(Frame::Garbage("a line of the header has no colon"));
            };
            if name.trim().eq_ignore_ascii_case("content-length") {
                match value.trim().parse::<usize>() {
                    Ok(value) => length = Some(value),
                    Err(_) => return Ok(Frame::Garbage("the Content-Length is no number")),
                }
            }
        }
        Ok(Frame::Garbage("the header has too many lines"))
    }

    async fn body(&mut self, length: usize) -> io::Result<Frame> {
        let mut body = Vec::new();
        if length > LONGEST {
            // Told at once; what is to come is passed over before the next message.
            self.rest = length as u64;
            return Ok(Frame::TooLong(length));
        }
        let mut rest = (&mut self.from).take(length as u64);
        // Grows with what comes, not with what is promised.
        rest.read_to_end(&mut body).await?;
        Ok(if body.len() < length { Frame::End } else { Frame::Message(body) })
    }
}

/// Writes one message.
///
/// # Errors
/// When the stream breaks.
pub async fn write<W: AsyncWrite + Unpin>(to: &mut W, framing: Framing, message: &[u8]) -> io::Result<()> {
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

    /// All that is read from some bytes, given in pieces of so many.
    fn read(bytes: &[u8], piece: usize) -> Vec<Frame> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("runtime");
        runtime.block_on(async {
            let (mut there, here) = tokio::io::duplex(piece);
            let bytes = bytes.to_vec();
            let writing = async move {
                // Who has read enough reads no further.
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
    fn what_is_too_long_is_passed_over() {
        let long = vec![b'x'; LONGEST + 2];
        let lines = [b"{".as_slice(), &long, b"\n{}\n"].concat();
        assert_eq!(read(&lines, 65536), [Frame::TooLong(LONGEST + 4), message("{}\n")]);
        let headers = [
            format!("Content-Length: {}\r\n\r\n", long.len()).as_bytes(),
            &long,
            b"Content-Length: 2\r\n\r\n{}",
        ]
        .concat();
        assert_eq!(read(&headers, 65536), [Frame::TooLong(long.len()), message("{}")]);
    }

    #[test]
    fn odd_headers_and_half_messages() {
        assert_eq!(
            read(b"Content-Length: x\r\n\r\n", 64),
            [Frame::Garbage("the Content-Length is no number")]
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
        assert_eq!(read(b"Content-Length: 99999999999\r\n\r\n{}", 64), [Frame::TooLong(99_999_999_999)]);
        assert_eq!(read(b"{\"last\":1}", 64), [message("{\"last\":1}")]);
    }
}
