//! The temporary files that killed processes have left in the folders of a memory.

use poc_config::atomic_write::delete_leftovers;
use poc_config::paths::Paths;
use poc_graph::time::{Span, Timestamp};
use std::path::PathBuf;

/// The age from which a temporary file is deleted. Another process may be writing a younger one.
const MIN_AGE: Span = Span::DAY;

/// Deletes them. A failure is logged.
pub(crate) fn delete(paths: &Paths, now: Timestamp) {
    for folder in folders(paths) {
        if let Err(error) = delete_leftovers(&folder, now.minus(MIN_AGE)) {
            tracing::warn!("temporary files in `{}` are not deleted: {error}", folder.display());
        }
    }
}

/// The folders whose files are written atomically. Each agent has one for its runs.
fn folders(paths: &Paths) -> Vec<PathBuf> {
    let runs = std::fs::read_dir(paths.runs()).into_iter().flatten();
    let of_agents = runs.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_dir());
    paths.folders().into_iter().chain([paths.agents()]).chain(of_agents).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn temporary_files_are_deleted_after_a_day() {
        let home = poc_graph::testing::folder();
        let paths = Paths::in_folder(home.path());
        paths.create().unwrap();
        let run_folder = paths.runs().join("linker");
        fs::create_dir_all(&run_folder).unwrap();
        let files = [paths.token(), run_folder.join("run")].map(|file| file.with_file_name(".poc-memory-1~"));
        for file in &files {
            fs::write(file, "half").unwrap();
            File::options()
                .write(true)
                .open(file)
                .unwrap()
                .set_modified(UNIX_EPOCH + Duration::from_secs(5))
                .unwrap();
        }
        delete(&paths, Timestamp(86_400_000));
        assert!(files.iter().all(|file| file.exists()));
        delete(&paths, Timestamp(86_410_000));
        assert!(!files.iter().any(|file| file.exists()));
    }
}
