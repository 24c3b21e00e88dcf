//! Project labels: keywords of the form `project:NAME`.
//!
//! The name is the URL of a repository's remote without scheme and user (`github.com/ann/proj`), or a folder. The label
//! is an ordinary keyword, so it is in lower case, is exported and synchronised with its note, and needs no field of
//! its own.

/// The prefix of keywords that are project labels.
pub const PROJECT_PREFIX: &str = "project:";

/// The project that a keyword labels; `None` for other keywords.
pub fn project_name(keyword: &str) -> Option<&str> {
    keyword.strip_prefix(PROJECT_PREFIX).filter(|name| !name.is_empty())
}

/// Whether a keyword, as a person or a model writes it, is the label of a project.
pub fn is_project_label(keyword: &str) -> bool {
    project_name(&keyword.trim().to_lowercase()).is_some()
}

/// Whether `wanted` selects the project `name`: it is the name itself, its last components (`proj` or `ann/proj` for
/// `github.com/ann/proj`), or `*`. Both must be normalised like keywords.
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
        assert!(is_project_label(" Project:a"));
        assert!(!is_project_label("project: ") && !is_project_label("projects"));
    }
}
