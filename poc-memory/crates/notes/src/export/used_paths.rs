//! File names for keys.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

const PART_MAX_BYTES: usize = 120;

/// The paths used so far, in lower case, because some file systems are case-insensitive.
#[derive(Debug, Default)]
pub(super) struct UsedPaths(HashSet<String>);

impl UsedPaths {
    /// Reserves a path; false if it is already in use.
    pub(super) fn reserve(&mut self, path: &Path) -> bool {
        self.0.insert(path.to_string_lossy().to_lowercase())
    }

    /// An unused relative path for the file of a key that stays inside its folder on every file system.
    pub(super) fn path(&mut self, key: &str) -> PathBuf {
        let parts: Vec<String> = key.split('/').map(part).collect();
        let stem = parts.join("/");
        let mut path = format!("{stem}.md");
        let mut number = 2;
        while !self.0.insert(path.to_lowercase()) {
            path = format!("{stem}-{number}.md");
            number += 1;
        }
        path.into()
    }
}

/// One component of a path: letters, digits and a few other characters, neither hidden nor `..`.
fn part(text: &str) -> String {
    let mut part = String::new();
    for c in text.chars() {
        if part.len() + c.len_utf8() > PART_MAX_BYTES {
            break;
        }
        let plain = c.is_alphanumeric() || matches!(c, '-' | '_' | ' ' | '#' | '+' | '(' | ')' | '\'' | ',');
        part.push(if plain || (c == '.' && !part.is_empty()) { c } else { '_' });
    }
    let part = part.trim_end_matches(['.', ' ']);
    if part.is_empty() { "_".into() } else { part.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::path::Component;

    #[test]
    fn files_are_named_after_keys() {
        let mut names = UsedPaths::default();
        let mut check = |key: &str, path: &str| assert_eq!(names.path(key), PathBuf::from(path));
        check("journal#2026-11-21", "journal#2026-11-21.md");
        check("Journal#2026-11-21", "Journal#2026-11-21-2.md");
        check("notes/db/btree", "notes/db/btree.md");
        check("../../etc/passwd", "_/_/etc/passwd.md");
        check("a:b|c", "a_b_c.md");
        check("", "_.md");
    }

    poc_laws::laws! {
        #[test]
        fn paths_stay_in_the_folder_and_are_unique(keys in proptest::collection::vec(".{0,200}", 0..20)) {
            let mut names = UsedPaths::default();
            let mut seen = std::collections::BTreeSet::new();
            for key in keys {
                let path = names.path(&key);
                prop_assert!(path.components().all(|part| matches!(part, Component::Normal(_))), "{path:?}");
                prop_assert!(seen.insert(path));
            }
        }
    }
}
