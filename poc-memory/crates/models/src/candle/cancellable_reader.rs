//! Reads large files with a deadline.

use super::deadline::Deadline;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};

/// Minimum size in bytes of a read that checks the deadline.
const MIN_CHECKED_BYTES: usize = 4096;

/// A file whose reads fail after the deadline.
pub(super) struct CancellableReader<'a> {
    file: BufReader<File>,
    /// Current position, kept here because candle asks for it at every string and a system call each time
    /// would be slow.
    position: u64,
    deadline: &'a Deadline<'a>,
}

impl<'a> CancellableReader<'a> {
    pub(super) fn new(file: File, deadline: &'a Deadline<'a>) -> Self {
        CancellableReader { file: BufReader::new(file), position: 0, deadline }
    }
}

impl Read for CancellableReader<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if bytes.len() > MIN_CHECKED_BYTES {
            self.deadline.check().map_err(io::Error::other)?;
        }
        let count = self.file.read(bytes)?;
        self.position += count as u64;
        Ok(count)
    }
}

impl Seek for CancellableReader<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.position = self.file.seek(to)?;
        Ok(self.position)
    }

    fn stream_position(&mut self) -> io::Result<u64> {
        Ok(self.position)
    }
}
