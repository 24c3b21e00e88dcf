//! Checks that the folders exist, belong to the user, are private and writable, and have free disk space.

use super::{CheckResult, CheckState};
use poc_config::Config;
use poc_config::paths::Paths;
use poc_config::token_files;
use poc_graph::error::Result;
use std::collections::BTreeMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const CHECK: &str = "folders";
/// Minimum free space in bytes: two log segments.
const MIN_FREE_BYTES: u64 = 128 << 20;
/// How messages about the free space of a disk begin, also those of the daemon.
const DISK: &str = "the disk of ";

/// The diagnostics. `config` are the settings, if they can be read.
pub(crate) fn check(paths: &Paths, config: Option<&Config>) -> Vec<CheckResult> {
    let folders = paths.folders();
    let mut results: Vec<CheckResult> = folders.iter().filter_map(|folder| check_folder(folder)).collect();
    results.extend(check_tokens(paths, config));
    results.extend(check_secret(&paths.socket()));
    results.extend(low_disks(&folders));
    if results.is_empty() {
        let shown: Vec<String> = folders.iter().map(|folder| format!("`{}`", folder.display())).collect();
        results.push(CheckResult::new(CHECK, CheckState::Ok, shown.join(", ")));
    }
    results
}

/// The problem of a folder, if any.
fn check_folder(folder: &Path) -> Option<CheckResult> {
    let name = folder.display();
    let failed = |message: String| Some(CheckResult::new(CHECK, CheckState::Failed, message));
    let metadata = match std::fs::metadata(folder) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Some(CheckResult::new(
                CHECK,
                CheckState::Note,
                format!("`{name}` is made when it is first needed"),
            ));
        }
        Err(error) => return failed(format!("`{name}` cannot be examined: {error}")),
    };
    if !metadata.is_dir() {
        return failed(format!("`{name}` is not a folder"));
    }
    if let Err(error) = tempfile::tempfile_in(folder) {
        return failed(format!("`{name}` cannot be written to: {error}"));
    }
    check_owner(folder, &metadata, "700")
}

/// A warning for each disk with little free space, which names the folders on it.
fn low_disks(folders: &[PathBuf]) -> Vec<CheckResult> {
    let mut disks: BTreeMap<u64, (u64, Vec<String>)> = BTreeMap::new();
    for folder in folders {
        let (Ok(metadata), Ok(disk)) = (std::fs::metadata(folder), rustix::fs::statvfs(folder)) else {
            continue;
        };
        let free = disk.f_bavail.saturating_mul(disk.f_frsize);
        if free < MIN_FREE_BYTES {
            let (_, names) = disks.entry(metadata.dev()).or_insert((free, Vec::new()));
            names.push(format!("`{}`", folder.display()));
        }
    }
    let warning = |(free, names): (u64, Vec<String>)| {
        let message = format!("{DISK}{} has {} MiB left", names.join(", "), free >> 20);
        CheckResult::new(CHECK, CheckState::Warning, message)
            .hint("free disk space: without it, the store becomes read-only")
    };
    disks.into_values().map(warning).collect()
}

/// Whether a message of this check names the disk that another message is about.
pub(super) fn is_about_same_disk(own: &CheckResult, other: &CheckResult) -> bool {
    let folder = other.message.strip_prefix(DISK).and_then(|rest| rest.split('`').nth(1));
    let names = own.message.strip_prefix(DISK).filter(|_| own.check == CHECK);
    names.zip(folder).is_some_and(|(names, folder)| names.contains(&format!("`{folder}`")))
}

/// The problem of a private file, if any; an absent file has none.
fn check_secret(file: &Path) -> Option<CheckResult> {
    check_owner(file, &std::fs::metadata(file).ok()?, "600")
}

/// The problems of the files with tokens. The daemon serves nothing over HTTP while one of them cannot be used, and does
/// not start if REST or MCP is to be served.
fn check_tokens(paths: &Paths, config: Option<&Config>) -> Vec<CheckResult> {
    let failed = config.map(|config| token_files::start_problems(paths, config)).unwrap_or_default();
    if !failed.is_empty() {
        return failed.iter().map(|error| CheckResult::of(CHECK, CheckState::Failed, error)).collect();
    }
    let is_page_enabled = config.is_some_and(|config| config.page.enabled);
    let consequence = if is_page_enabled { ": the page cannot be opened" } else { "" };
    let files = [paths.token(), paths.model_token(), paths.read_token()];
    let check = |(file, token): (PathBuf, Result<Option<String>>)| match token {
        Ok(_) => check_secret(&file),
        Err(error) => {
            let result = CheckResult::of(CHECK, CheckState::Warning, &error);
            Some(CheckResult { message: format!("{}{consequence}", result.message), ..result })
        }
    };
    files.into_iter().zip(token_files::read(paths)).filter_map(check).collect()
}

/// Whether other users may read or write it.
fn is_open(metadata: &Metadata) -> bool {
    metadata.mode() & 0o077 != 0
}

fn check_owner(path: &Path, metadata: &Metadata, mode: &str) -> Option<CheckResult> {
    let name = path.display();
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Some(CheckResult::new(
            CHECK,
            CheckState::Warning,
            format!("`{name}` belongs to another user"),
        ));
    }
    is_open(metadata).then(|| {
        CheckResult::new(CHECK, CheckState::Warning, format!("other users may read `{name}`"))
            .hint(format!("`chmod {mode} '{name}'`"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn private_folders_are_ok_and_a_socket_that_others_can_use_is_a_warning() {
        let home = poc_graph::testing::folder();
        let paths = Paths::in_folder(&home.path().join("memory"));
        let states = |paths| check(paths, None).iter().map(|result| result.state).collect::<Vec<_>>();
        assert!(
            states(&paths).iter().all(|state| *state == CheckState::Note),
            "the folder does not exist yet"
        );
        paths.create().unwrap();
        assert_eq!(states(&paths), [CheckState::Ok]);
        std::fs::write(paths.socket(), "").unwrap();
        std::fs::set_permissions(paths.socket(), Permissions::from_mode(0o644)).unwrap();
        assert_eq!(states(&paths), [CheckState::Warning]);
    }

    #[test]
    fn a_token_that_others_can_read_fails_only_if_the_daemon_serves_http() {
        let home = poc_graph::testing::folder();
        let paths = Paths::in_folder(&home.path().join("memory"));
        paths.create().unwrap();
        std::fs::write(paths.token(), "x".repeat(64)).unwrap();
        std::fs::set_permissions(paths.token(), Permissions::from_mode(0o644)).unwrap();
        let open = format!("{}: other users may read the token", paths.token().display());
        for (settings, state, consequence) in [
            ("rest.enabled = true", CheckState::Failed, ": a daemon that serves HTTP does not start"),
            ("mcp.http = true", CheckState::Failed, ": a daemon that serves HTTP does not start"),
            ("", CheckState::Warning, ": the page cannot be opened"),
            ("page.enabled = false", CheckState::Warning, ""),
        ] {
            let config = Config::layered(Some(("config.toml", settings)), std::iter::empty()).unwrap();
            let found = check(&paths, Some(&config));
            let [result] = &found[..] else { panic!("{settings}: {found:?}") };
            assert_eq!(
                (result.state, &result.message),
                (state, &format!("{open}{consequence}")),
                "{settings}"
            );
            assert!(result.hint.as_deref().unwrap().starts_with("delete the file"), "{found:?}");
        }
        assert_eq!(check(&paths, None)[0].message, open, "the settings cannot be read");
        std::fs::set_permissions(paths.token(), Permissions::from_mode(0o600)).unwrap();
        assert_eq!(check(&paths, None)[0].state, CheckState::Ok);
    }

    #[test]
    fn a_file_in_place_of_a_folder_fails() {
        let home = poc_graph::testing::folder();
        let file = home.path().join("memory");
        std::fs::write(&file, "").unwrap();
        assert_eq!(check_folder(&file).unwrap().state, CheckState::Failed);
    }
}
