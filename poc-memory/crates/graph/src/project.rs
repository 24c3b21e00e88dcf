//! Labels of projects: keywords of the form `project:NAME`.
//!
//! The name is the remote of a repository without scheme and user (`github.com/ann/proj`), or a folder. As a keyword
//! it is in lower case, is exported and synchronised with its note, and needs no field of its own.

/// What a keyword begins with if it is the label of a project.
pub const PROJECT_PREFIX: &str = "project:";

/// The name of the project that a keyword is the label of; `None` for other keywords.
pub fn project_name(keyword: &str) -> Option<&str> {
    keyword.strip_prefix(PROJECT_PREFIX).filter(|name| !name.is_empty())
}

/// Whether `wanted` selects a project: it is the name, its last components (`proj` or `ann/proj` for
/// `github.com/ann/proj`), or `*`. Both are in the form of a keyword.
pub fn is_project(name: &str, wanted: &str) -> bool {
    let is_end =
        || name.strip_suffix(wanted).is_some_and(|before| before.is_empty() || before.ends_with('/'));
    wanted == "*" || !wanted.is_empty() && is_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_is_selected_by_its_name_or_the_end_of_it() {
        for (name, wanted, expected) in [
            ("github.com/ann/proj", "github.com/ann/proj", true),
            ("github.com/ann/proj", "ann/proj", true),
            ("github.com/ann/proj", "proj", true),
            ("github.com/ann/proj", "*", true),
            ("github.com/ann/proj", "roj", false),
            ("github.com/ann/proj", "ann", false),
            ("github.com/ann/proj", "", false),
            ("/home/ann/proj", "proj", true),
        ] {
            assert_eq!(is_project(name, wanted), expected, "{name} {wanted}");
        }
    }

    #[test]
    fn only_keywords_with_the_prefix_are_labels() {
        assert_eq!(project_name("project:/home/ann/proj"), Some("/home/ann/proj"));
        assert_eq!(project_name("project:"), None);
        assert_eq!(project_name("projects"), None);
    }
}
