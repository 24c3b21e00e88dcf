//! Names the derived files that were damaged when they were read, and whose content is built again from the log.
//!
//! Nothing is lost with such a file, but its damage may be the first sign of a failing disk. A missing file and one of
//! an earlier format are built as well, and are not damaged.

use super::atomic_file::{self, FileState};
use parking_lot::Mutex;
use std::path::{Path, PathBuf};

/// The files that were found damaged since the store was opened.
#[derive(Debug, Default)]
pub struct RebuiltFiles(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Each file once.
    paths: Vec<PathBuf>,
    /// Those that were found since the last verification, which has reported the others.
    unreported: Vec<PathBuf>,
    /// Whether the list was read. Files that are added later are logged, because nobody may read it again.
    is_read: bool,
}

impl RebuiltFiles {
    /// Adds a file that was damaged. A file that is damaged again after a verification has reported it counts again.
    pub fn add(&self, path: PathBuf) {
        let mut state = self.0.lock();
        if state.unreported.contains(&path) {
            return;
        }
        if state.is_read {
            tracing::warn!("{}", message(&path));
        }
        if !state.paths.contains(&path) {
            state.paths.push(path.clone());
        }
        state.unreported.push(path);
    }

    /// Adds a file if it exists and its checksum is wrong.
    pub(super) fn add_if_damaged(&self, path: &Path) {
        match atomic_file::state(path) {
            FileState::Damaged => self.add(path.to_owned()),
            FileState::Unreadable(error) => {
                tracing::warn!("the file `{}` cannot be read: {error}", path.display());
            }
            FileState::Missing | FileState::Intact => {}
        }
    }

    /// The files that are known now, as sentences for people. Those that are found later are logged as warnings.
    pub(super) fn messages(&self) -> Vec<String> {
        let mut state = self.0.lock();
        state.is_read = true;
        state.paths.iter().map(|path| message(path)).collect()
    }

    /// The files that no verification has reported yet. The caller reports them.
    pub(super) fn take_unreported(&self) -> Vec<PathBuf> {
        std::mem::take(&mut self.0.lock().unreported)
    }
}

fn message(path: &Path) -> String {
    format!("the file `{}` was damaged, and its content is built again from the log", path.display())
}
