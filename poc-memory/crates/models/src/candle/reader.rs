//! Reading a large file with an end in sight.

use super::watch::Watch;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};

/// Reads of fewer bytes are over before anybody could want them to end.
const SHORT: usize = 4096;

/// A file that stops being read when its call has to end.
pub(super) struct Reader<'a> {
    file: BufReader<File>,
    /// Asked for at every string, so it is not asked of the system.
    at: u64,
    watch: &'a Watch<'a>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(file: File, watch: &'a Watch<'a>) -> Self {
        Reader { file: BufReader::new(file), at: 0, watch }
    }
}

impl Read for Reader<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if bytes.len() > SHORT {
            self.watch.look().map_err(io::Error::other)?;
        }
        let count = self.file.read(bytes)?;
        self.at += count as u64;
        Ok(count)
    }
}

impl Seek for Reader<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.at = self.file.seek(to)?;
        Ok(self.at)
    }

    fn stream_position(&mut self) -> io::Result<u64> {
        Ok(self.at)
    }
}
