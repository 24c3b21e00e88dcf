//! The file that leads a browser to its sign-in link. `poc-memory page` writes it, and the daemon deletes it when the
//! link no longer works.

use poc_config::files;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::runtime::Handle;

/// Deletes the file, whatever is in it. A failure is logged.
pub(crate) fn delete(path: &Path) {
    if let Err(error) = files::remove(path) {
        tracing::warn!("{}", error.line());
    }
}

/// Deletes the file if it leads to the link with this code: a later command may have replaced it.
pub(crate) fn delete_with_code(path: &Path, code: &str) {
    if files::read_text(path).is_ok_and(|text| text.contains(code)) {
        delete(path);
    }
}

/// Deletes the file if it still leads to the link with this code after `lifetime`. Must be called on a thread of the
/// runtime; elsewhere, the file stays until the next start.
pub(crate) fn delete_with_code_after(lifetime: Duration, path: PathBuf, code: String) {
    if let Ok(runtime) = Handle::try_current() {
        runtime.spawn(async move {
            tokio::time::sleep(lifetime).await;
            delete_with_code(&path, &code);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_deleted_only_with_its_own_code() {
        let folder = poc_graph::testing::folder();
        let path = folder.path().join("sign-in.html");
        delete_with_code(&path, "0123");
        std::fs::write(&path, "<a href=\"http://127.0.0.1:9977/sign-in/0123\">").unwrap();
        delete_with_code(&path, "4567");
        assert!(path.exists());
        delete_with_code(&path, "0123");
        assert!(!path.exists());
    }
}
