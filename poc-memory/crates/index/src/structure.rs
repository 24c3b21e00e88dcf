//! Saves the structures derived from the whole graph in a file with a checksum, so that opening a large store need not
//! compute them again.

use crate::error::IndexError;
use poc_graph::error::Result;
use poc_graph::{SavedStructure, StructureOptions};
use poc_store::atomic_file::{self, Fingerprint};
use std::fs;
use std::path::{Path, PathBuf};

/// The version of the format. It must be incremented when the encoding or the meaning of [`SavedStructure`] changes.
const FORMAT: u32 = 2;

const NAME: &str = "latest";

fn file(directory: &Path) -> PathBuf {
    directory.join(NAME)
}

fn fingerprint(format: u32, options: &StructureOptions) -> Fingerprint {
    Fingerprint::of(&format!("structure of the graph, format {format}, {} dimensions", options.dimensions))
}

/// Writes the structure to a separate directory, replacing an earlier one. `seq` is the last transaction that it
/// includes.
///
/// # Errors
/// `read_only` if the disk is full or fails, and `unavailable` if the file cannot be written for another reason.
pub fn write(directory: &Path, options: &StructureOptions, seq: u64, saved: &SavedStructure) -> Result<()> {
    let bytes = postcard::to_stdvec(saved)
        .map_err(|problem| IndexError::Encode { what: "structure of the graph", problem })?;
    atomic_file::write(&file(directory), fingerprint(FORMAT, options), seq, &[&bytes])?;
    delete_obsolete_files(directory);
    Ok(())
}

/// Deletes the files left behind by an interrupted write.
fn delete_obsolete_files(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_name() != NAME {
            // A failure only wastes space, and the next write tries again.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Reads the structure; `None` if it is missing or damaged, or has another format or other settings.
pub fn read(directory: &Path, options: &StructureOptions) -> Option<SavedStructure> {
    let (_, bytes) = atomic_file::read(&file(directory), fingerprint(FORMAT, options))?;
    match postcard::take_from_bytes(&bytes) {
        Ok((saved, [])) => Some(saved),
        _ => None,
    }
}

/// The path of the file in a directory if the file exists and is damaged.
pub fn damaged_file(directory: &Path) -> Option<PathBuf> {
    Some(file(directory)).filter(|file| atomic_file::is_damaged(file))
}

#[cfg(test)]
mod tests {
    use super::*;
    use poc_graph::testing::view;

    const OPTIONS: StructureOptions = StructureOptions { dimensions: 4, exact_below: 0, max_drift: 0.5 };

    fn saved() -> SavedStructure {
        let graph = view(5, &[(0, 1, 0.5), (1, 2, 0.5), (3, 4, 0.5)]);
        graph.refresh(&OPTIONS);
        SavedStructure::of(&graph, &OPTIONS).unwrap()
    }

    #[test]
    fn a_saved_structure_is_read_only_with_the_same_settings() {
        let folder = poc_graph::testing::folder();
        let directory = folder.path().join("structure");
        assert!(read(&directory, &OPTIONS).is_none());
        let saved = saved();
        write(&directory, &OPTIONS, 1, &saved).unwrap();
        // Nodes without a score have NaN, which is not equal to itself, so the debug output is compared.
        let again = read(&directory, &OPTIONS).unwrap();
        assert_eq!(format!("{again:?}"), format!("{saved:?}"));
        assert!(read(&directory, &StructureOptions { dimensions: 5, ..OPTIONS }).is_none());
        // These settings affect only how the structure is used.
        assert!(read(&directory, &StructureOptions { exact_below: 9, max_drift: 0.1, ..OPTIONS }).is_some());
    }

    #[test]
    fn a_damaged_file_is_not_loaded() {
        let folder = poc_graph::testing::folder();
        write(folder.path(), &OPTIONS, 1, &saved()).unwrap();
        let original = fs::read(file(folder.path())).unwrap();
        let refused = |bytes: &[u8]| {
            fs::write(file(folder.path()), bytes).unwrap();
            read(folder.path(), &OPTIONS).is_none()
        };
        assert!(!refused(&original));
        for at in 0..original.len() {
            assert!(refused(&original[..at]), "cut to {at} bytes");
            let mut flipped = original.clone();
            flipped[at] ^= 1 << (at % 8);
            assert!(refused(&flipped), "byte {at}");
        }
        assert!(refused(&[original.as_slice(), b"0"].concat()));
    }

    #[test]
    fn a_file_with_other_content_is_not_loaded() {
        let folder = poc_graph::testing::folder();
        let bytes = postcard::to_stdvec(&saved()).unwrap();
        let refused = |fingerprint, parts: &[&[u8]]| {
            atomic_file::write(&file(folder.path()), fingerprint, 1, parts).unwrap();
            read(folder.path(), &OPTIONS).is_none()
        };
        let own = fingerprint(FORMAT, &OPTIONS);
        assert!(!refused(own, &[&bytes]));
        assert!(refused(fingerprint(FORMAT - 1, &OPTIONS), &[&bytes]));
        assert!(refused(Fingerprint::of("text index"), &[&bytes]));
        // A valid checksum over invalid content.
        assert!(refused(own, &[&bytes, b"more"]));
        assert!(refused(own, &[&bytes[..bytes.len() - 1]]));
    }

    #[test]
    fn files_of_an_interrupted_write_are_deleted() {
        let folder = poc_graph::testing::folder();
        fs::write(folder.path().join(".tmp"), "half").unwrap();
        write(folder.path(), &OPTIONS, 1, &saved()).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(read(folder.path(), &OPTIONS).is_some());
    }
}
