//! The quarantine: a folder to which damaged files are moved. They are never deleted automatically.

use super::disk::Disk;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The quarantine folder next to the log.
pub(super) struct QuarantineFolder {
    folder: PathBuf,
    disk: Arc<dyn Disk>,
}

impl QuarantineFolder {
    /// The quarantine of a store's directory. The folder is created on first use.
    pub(super) fn new(store: &Path, disk: Arc<dyn Disk>) -> Self {
        QuarantineFolder { folder: store.join("quarantine"), disk }
    }

    /// Moves a file or folder into the quarantine and returns its name there.
    pub(super) fn move_in(&self, path: &Path) -> io::Result<String> {
        let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let (name, target) = self.free_name(&name)?;
        fs::rename(path, target)?;
        self.sync()?;
        Ok(name)
    }

    /// Saves bytes to a file in the quarantine and returns its name.
    pub(super) fn save(&self, name: &str, bytes: &[u8]) -> io::Result<String> {
        let (name, target) = self.free_name(name)?;
        let write = || {
            let mut file = self.disk.create(&target)?;
            file.write_all(bytes)?;
            file.sync()
        };
        // Otherwise every attempt on a full disk would leave a file.
        write().inspect_err(|_| drop(fs::remove_file(&target)))?;
        self.sync()?;
        Ok(name)
    }

    /// A free name: `name`, with a number appended if it is taken.
    fn free_name(&self, name: &str) -> io::Result<(String, PathBuf)> {
        fs::create_dir_all(&self.folder)?;
        for number in 1u32.. {
            let name = if number == 1 { name.to_owned() } else { format!("{name}.{number}") };
            let path = self.folder.join(&name);
            match fs::symlink_metadata(&path) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((name, path)),
                // A file that is there would be replaced.
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::from(io::ErrorKind::AlreadyExists))
    }

    fn sync(&self) -> io::Result<()> {
        self.disk.sync_directory(&self.folder)?;
        self.folder.parent().map_or(Ok(()), |store| self.disk.sync_directory(store))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earlier_files_are_not_overwritten() {
        let folder = poc_graph::testing::folder();
        let quarantine = QuarantineFolder::new(folder.path(), Arc::new(crate::disk::SystemDisk));
        assert_eq!(quarantine.save("tail", b"one").unwrap(), "tail");
        assert_eq!(quarantine.save("tail", b"two").unwrap(), "tail.2");
        let records = folder.path().join("tail");
        fs::create_dir(&records).unwrap();
        assert_eq!(quarantine.move_in(&records).unwrap(), "tail.3");
        assert_eq!(fs::read(folder.path().join("quarantine/tail")).unwrap(), b"one");
        assert!(!records.exists());
    }
}
