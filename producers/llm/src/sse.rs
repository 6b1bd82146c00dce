//! Incremental parser of server-sent events; input may be split anywhere.

/// Takes pieces and returns events.
#[derive(Default)]
pub(super) struct Events {
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    after_return: bool,
}

impl Events {
    /// Passes every event that ends in this piece to `event`, until one returns `false`.
    pub(super) fn feed<E>(&mut self, piece: &[u8], mut event: impl FnMut(&[u8]) -> Result<bool, E>) -> Result<bool, E> {
        for &byte in piece {
            let follows = std::mem::replace(&mut self.after_return, byte == b'\r');
            match byte {
                b'\n' if follows => {}
                b'\n' | b'\r' => {
                    if !self.end_line(&mut event)? {
                        return Ok(false);
                    }
                }
                other => self.line.push(other),
            }
        }
        Ok(true)
    }

    /// Passes on the event that the end of the stream left open: many servers omit the last empty line.
    pub(super) fn flush_open_event<E>(&mut self, mut event: impl FnMut(&[u8]) -> Result<bool, E>) -> Result<bool, E> {
        self.end_line(&mut event)?;
        self.end_line(&mut event)
    }

    fn end_line<E>(&mut self, event: &mut impl FnMut(&[u8]) -> Result<bool, E>) -> Result<bool, E> {
        if self.line.is_empty() {
            let data = std::mem::take(&mut self.data);
            return if std::mem::take(&mut self.has_data) {
                event(&data)
            } else {
                Ok(true)
            };
        }
        if let Some(value) = self.line.strip_prefix(b"data:") {
            if self.has_data {
                self.data.push(b'\n');
            }
            self.data.extend_from_slice(value.strip_prefix(b" ").unwrap_or(value));
            self.has_data = true;
        }
        self.line.clear();
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn events(pieces: &[&[u8]]) -> Vec<String> {
        let (mut events, mut found) = (Events::default(), Vec::new());
        let mut keep = |data: &[u8]| {
            found.push(String::from_utf8_lossy(data).into_owned());
            Ok::<bool, ()>(true)
        };
        for piece in pieces {
            events.feed(piece, &mut keep).expect("kept");
        }
        events.flush_open_event(&mut keep).expect("kept");
        found
    }

    #[test]
    fn events_are_read_as_the_standard_says() {
        let text = b": hello\nevent: a\ndata: one\n\ndata:two\r\ndata: three\r\n\r\nid: 7\n\nretry\n\ndata\n\ndata: \r\rdata: open";
        assert_eq!(events(&[text]), ["one", "two\nthree", "", "open"]);
    }

    #[test]
    fn reading_stops_when_told() {
        let mut events = Events::default();
        let mut seen = 0;
        let went_on = events.feed(b"data: 1\n\ndata: 2\n\n", |_| {
            seen += 1;
            Ok::<bool, ()>(false)
        });
        assert_eq!((went_on, seen), (Ok(false), 1));
    }

    proptest! {
        #[test]
        fn it_does_not_matter_where_pieces_are_cut(
            lines in prop::collection::vec(("(data: |data:|: |event: |)", "[a-zé☃ ]{0,6}", "(\n|\r|\r\n|\n\n|\r\n\r\n)"), 0..12),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
        ) {
            let text: String = lines.iter().map(|(field, value, end)| format!("{field}{value}{end}")).collect();
            let bytes = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).chain([0, bytes.len()]).collect();
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|ends| &bytes[ends[0]..ends[1]]).collect();
            prop_assert_eq!(events(&pieces), events(&[bytes]));
        }
    }
}
