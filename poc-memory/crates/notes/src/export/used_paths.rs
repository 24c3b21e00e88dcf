//! File names for keys.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

const PART_MAX_BYTES: usize = 120;

/// The paths used so far, in lower case, because some file systems are case-insensitive.
#[derive(Debug, Default)]
pub(super) struct UsedPaths {
    files: HashSet<String>,
    /// The folders of the files.
    folders: HashSet<String>,
}

impl UsedPaths {
    /// Reserves the path of a file; false if a file or folder has it already, or if one of its folders is a file.
    pub(super) fn reserve(&mut self, path: &Path) -> bool {
        let folders: Vec<String> = path.ancestors().skip(1).map(lower_case).collect();
        let path = lower_case(path);
        let is_free =
            !self.folders.contains(&path) && folders.iter().all(|folder| !self.files.contains(folder));
        if !is_free || !self.files.insert(path) {
            return false;
        }
        self.folders.extend(folders);
        true
    }

    /// An unused relative path for the file of a key that stays inside its folder on every file system.
    pub(super) fn path(&mut self, key: &str) -> PathBuf {
        let mut parts: Vec<String> = key.split('/').map(part).collect();
        let stem = parts.pop().unwrap_or_default();
        let mut folder = PathBuf::new();
        for mut name in parts {
            // The folder of a key like `a.md/b` may have the name of the file of another key.
            while self.files.contains(&lower_case(&folder.join(&name))) {
                name.push('_');
            }
            folder.push(name);
        }
        let mut path = folder.join(format!("{stem}.md"));
        let mut number = 2;
        while !self.reserve(&path) {
            path = folder.join(format!("{stem}-{number}.md"));
            number += 1;
        }
        path
    }
}

fn lower_case(path: &Path) -> String {
    path.to_string_lossy().to_lowercase()
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

    #[test]
    fn no_file_has_the_path_of_a_folder() {
        let mut names = UsedPaths::default();
        assert_eq!(names.path("a"), PathBuf::from("a.md"));
        assert_eq!(names.path("A.md/b"), PathBuf::from("A.md_/b.md"));
        assert_eq!(names.path("c.md/b"), PathBuf::from("c.md/b.md"));
        assert_eq!(names.path("c"), PathBuf::from("c-2.md"));
        assert!(!names.reserve(Path::new("a.md/b.md")), "`a.md` is a file");
        assert!(!names.reserve(Path::new("C.md")), "`c.md` is a folder");
    }

    poc_laws::laws! {
        #[test]
        fn paths_stay_in_the_folder_and_are_unique(
            keys in proptest::collection::vec(prop_oneof![".{0,200}", "(a|A|\\.md|/){0,5}"], 0..20),
        ) {
            let mut names = UsedPaths::default();
            let paths: Vec<PathBuf> = keys.iter().map(|key| names.path(key)).collect();
            for (index, path) in paths.iter().enumerate() {
                prop_assert!(path.components().all(|part| matches!(part, Component::Normal(_))), "{path:?}");
                let path = PathBuf::from(lower_case(path));
                let mut others = paths.iter().enumerate().filter(|(other, _)| *other != index);
                let is_apart = others.all(|(_, other)| !Path::new(&lower_case(other)).starts_with(&path));
                prop_assert!(is_apart, "{path:?} is also the path or a folder of another key");
            }
        }
    }
}
