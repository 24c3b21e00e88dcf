//! Opens files that are read to their end. Only regular files are accepted: opening a pipe waits for a
//! writer, and a device may have no end.

use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Opens a file without blocking, even if a pipe or device has just replaced it.
///
/// # Errors
/// Those of the system, and `InvalidInput` if it is not a regular file.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK.bits() as i32;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(ErrorKind::InvalidInput, "it is not a regular file")),
    }
}

/// Reads a file whole.
///
/// # Errors
/// Those of [`open`] and of reading.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::make_pipe;

    #[test]
    fn only_regular_files_are_opened_and_a_pipe_does_not_block() {
        let folder = poc_graph::testing::folder();
        let path = folder.path().join("note.md");
        std::fs::write(&path, "text").unwrap();
        assert_eq!(read(&path).unwrap(), b"text");
        std::fs::remove_file(&path).unwrap();
        assert_eq!(open(&path).unwrap_err().kind(), ErrorKind::NotFound);
        // Nobody writes to it.
        make_pipe(&path);
        assert_eq!(open(&path).unwrap_err().kind(), ErrorKind::InvalidInput);
        assert_eq!(open(folder.path()).unwrap_err().kind(), ErrorKind::InvalidInput);
    }
}
