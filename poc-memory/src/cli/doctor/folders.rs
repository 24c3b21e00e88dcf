//! The folders: made, ours, private, writable, and on a disk with room.

use super::{Finding, State};
use poc_config::paths::Paths;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const CHECK: &str = "folders";
/// Below this much room a store soon cannot write: two segments of its log.
const LEAST_ROOM: u64 = 128 << 20;

pub(super) fn check(paths: &Paths) -> Vec<Finding> {
    let folders = paths.folders();
    let mut findings: Vec<Finding> = folders.iter().filter_map(|folder| check_folder(folder)).collect();
    let secrets = [paths.token(), paths.read_token(), paths.socket()];
    findings.extend(secrets.iter().filter_map(|file| check_secret(file)));
    if findings.is_empty() {
        let shown: Vec<String> = folders.iter().map(|folder| format!("`{}`", folder.display())).collect();
        findings.push(Finding::new(CHECK, State::Ok, shown.join(", ")));
    }
    findings
}

/// What is wrong with a folder.
fn check_folder(folder: &Path) -> Option<Finding> {
    let name = folder.display();
    let failed = |message: String| Some(Finding::new(CHECK, State::Failed, message));
    let metadata = match std::fs::metadata(folder) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Some(Finding::new(
                CHECK,
                State::Note,
                format!("`{name}` is made when it is first needed"),
            ));
        }
        Err(error) => return failed(format!("`{name}` cannot be looked at: {error}")),
    };
    if !metadata.is_dir() {
        return failed(format!("`{name}` is no folder"));
    }
    if let Err(error) = tempfile::tempfile_in(folder) {
        return failed(format!("`{name}` cannot be written to: {error}"));
    }
    if let Some(finding) = check_owner(folder, &metadata, "700") {
        return Some(finding);
    }
    let room = rustix::fs::statvfs(folder).ok().map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize))?;
    (room < LEAST_ROOM).then(|| {
        Finding::new(CHECK, State::Warning, format!("the disk of `{name}` has {} MiB left", room >> 20))
            .hint("make room: a store that cannot write takes no more notes")
    })
}

/// What is wrong with a file that only its owner may use; nothing when it is not there.
fn check_secret(file: &Path) -> Option<Finding> {
    check_owner(file, &std::fs::metadata(file).ok()?, "600")
}

fn check_owner(path: &Path, metadata: &Metadata, mode: &str) -> Option<Finding> {
    let name = path.display();
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Some(Finding::new(CHECK, State::Warning, format!("`{name}` belongs to another user")));
    }
    (metadata.mode() & 0o077 != 0).then(|| {
        Finding::new(CHECK, State::Warning, format!("other users may look into `{name}`"))
            .hint(format!("`chmod {mode} '{name}'`"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_folder_that_others_may_read_is_told() {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::in_folder(&home.path().join("memory"));
        let states = |paths| check(paths).iter().map(|finding| finding.state).collect::<Vec<_>>();
        assert!(states(&paths).iter().all(|state| *state == State::Note), "nothing is there yet");
        paths.create().unwrap();
        assert_eq!(states(&paths), [State::Ok]);
        std::fs::write(paths.token(), "x").unwrap();
        std::fs::set_permissions(paths.token(), Permissions::from_mode(0o644)).unwrap();
        let found = check(&paths);
        assert_eq!((found.len(), found[0].state), (1, State::Warning));
        assert!(found[0].hint.as_deref().unwrap().starts_with("`chmod 600"), "{found:?}");
    }

    #[test]
    fn a_file_in_place_of_a_folder_is_told() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("memory");
        std::fs::write(&file, "").unwrap();
        assert_eq!(check_folder(&file).unwrap().state, State::Failed);
    }
}
