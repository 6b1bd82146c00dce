//! Messages on a stream of bytes: one a line, or behind a `Content-Length` header as the Language Server Protocol and StreamJsonRpc have it.
//! Which of them a peer uses is told by its first byte, and it is answered in kind.

use std::io;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};

/// No message of a client of the service is longer, in bytes. What a longer one holds is passed over.
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
    /// A message that is too long. It is told at once; what is to come of it is passed over.
    TooLong {
        /// It has so many at least.
        bytes: usize,
        /// What came of it so far.
        begun: Vec<u8>,
    },
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
    /// No message is longer, in bytes.
    longest: usize,
    /// What of a message that was too long is still to be passed over.
    rest: Rest,
}

/// What is to come of a message that was too long.
#[derive(Clone, Copy, Debug, Default)]
enum Rest {
    #[default]
    Nothing,
    /// So many bytes.
    Bytes(u64),
    /// Everything up to the end of the line.
    Line,
}

impl<R: AsyncRead + Unpin> Reader<R> {
    /// Over a stream of which nothing is known yet.
    pub fn new(from: R) -> Self {
        Self {
            from: BufReader::new(from),
            framing: None,
            longest: LONGEST,
            rest: Rest::Nothing,
        }
    }

    /// Over a stream of which it is known that there is one message a line, and none longer than so many bytes.
    pub fn of_lines(from: R, longest: usize) -> Self {
        Self {
            framing: Some(Framing::Lines),
            longest,
            ..Self::new(from)
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
        self.pass_over().await?;
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

    /// Reads on to the end of a message that was too long, or of the stream, and keeps nothing.
    async fn pass_over(&mut self) -> io::Result<()> {
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
        loop {
            let bytes = self.from.fill_buf().await?;
            if bytes.is_empty() {
                // The last line may do without its end.
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
        if length > self.longest {
            // Told at once; what is to come is passed over before the next message.
            self.rest = Rest::Bytes(length as u64);
            return Ok(Frame::TooLong {
                bytes: length,
                begun: body,
            });
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

    /// By its header, of which more is not read.
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
    fn what_is_too_long_is_passed_over() {
        let long = vec![b'x'; LONGEST + 2];
        let lines = [b"{".as_slice(), &long, b"\n{}\n"].concat();
        let told = read(&lines, 65536);
        let [Frame::TooLong { bytes, begun }, next] = told.as_slice() else {
            panic!("{} frames", told.len())
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

    /// Nothing but what is too long has come yet: not its end, nor that of the stream.
    #[test]
    fn what_is_too_long_is_told_before_its_end() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("runtime");
        runtime.block_on(async {
            let (mut there, here) = tokio::io::duplex(65536);
            let mut reader = Reader::new(here);
            let long = vec![b'{'; LONGEST + 1];
            let (written, told) = tokio::join!(there.write_all(&long), async {
                assert!(reader.ready().await.expect("read"));
                reader.next().await.expect("read")
            });
            written.expect("written");
            assert!(matches!(told, Frame::TooLong { .. }), "{told:?}");
            there.write_all(b"}}\n[]\n").await.expect("written");
            assert!(reader.ready().await.expect("read"));
            assert_eq!(reader.next().await.expect("read"), message("[]\n"));
        });
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
        assert_eq!(read(b"Content-Length: 99999999999\r\n\r\n{}", 64), [too_long(99_999_999_999)]);
        assert_eq!(read(b"{\"last\":1}", 64), [message("{\"last\":1}")]);
    }
}
