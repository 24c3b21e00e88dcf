//! The project that a folder belongs to.
//!
//! It is the repository that contains the folder, or the folder itself. Notes of a project have its label as a
//! keyword ([`poc_graph::project_name`]).

use crate::regular_file;
use poc_graph::PROJECT_PREFIX;
use std::path::{Path, PathBuf};
use unicode_normalization::UnicodeNormalization;

/// A project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// The root of the repository, or the folder if it is in none.
    pub root: PathBuf,
    /// Its name in the form of a keyword, without the prefix: the remote of the repository without scheme and user
    /// (`github.com/ann/proj`), or the path of the root.
    pub name: String,
}

impl Project {
    /// The project of a folder, which need not exist any more. `None` for a relative path, for `/`, and for
    /// the home folder, where people start assistants without a project. Reads `.git/config` and starts no
    /// process.
    pub fn of(folder: &Path) -> Option<Project> {
        Project::with_home(folder, std::env::var_os("HOME").map(PathBuf::from).as_deref())
    }

    /// The project of a folder inside a repository; `None` for all other folders.
    pub fn of_repository(folder: &Path) -> Option<Project> {
        Project::of(folder).filter(|project| config_of(&project.root.join(".git")).is_some())
    }

    /// Like [`Project::of`], with this home folder.
    fn with_home(folder: &Path, home: Option<&Path>) -> Option<Project> {
        if !folder.is_absolute() {
            return None;
        }
        let repository = folder.ancestors().find_map(|root| Some((root, config_of(&root.join(".git"))?)));
        let (root, remote) = match repository {
            Some((root, config)) => (root, remote(&config)),
            None => (folder, None),
        };
        let is_unnamed = remote.is_none() && (root.parent().is_none() || Some(root) == home);
        if is_unnamed {
            return None;
        }
        let name = remote.unwrap_or_else(|| root.to_string_lossy().into_owned());
        Some(Project { root: root.to_owned(), name: keyword_form(&name)? })
    }

    /// Its label: the keyword of its notes.
    pub fn keyword(&self) -> String {
        format!("{PROJECT_PREFIX}{}", self.name)
    }
}

/// A name in the form of a keyword: without commas and control characters, in lower case.
fn keyword_form(name: &str) -> Option<String> {
    let name: String = name.chars().filter(|c| *c != ',' && !c.is_control()).collect();
    let is_end = |c: char| c == '/' || c.is_whitespace();
    let name: String = name.trim_start().trim_end_matches(is_end).to_lowercase().nfc().collect();
    (!name.is_empty()).then_some(name)
}

/// The configuration of the repository with this `.git`; `None` if there is none. In a worktree and in a submodule,
/// `.git` is a file that names the folder; a worktree has the configuration of its repository.
fn config_of(git: &Path) -> Option<String> {
    let folder = match text_of(git) {
        Some(text) => {
            let named = text.lines().find_map(|line| line.strip_prefix("gitdir:"))?.trim().to_owned();
            git.parent()?.join(named)
        }
        None if git.is_dir() => git.to_owned(),
        None => return None,
    };
    let shared = text_of(&folder.join("commondir"));
    let folder = shared.map_or_else(|| folder.clone(), |named| folder.join(named.trim()));
    // A repository without a configuration has no remote.
    Some(text_of(&folder.join("config")).unwrap_or_default())
}

/// The text of a regular file; `None` if it cannot be read. Pipes are not opened, because a hook must not wait for
/// them.
fn text_of(path: &Path) -> Option<String> {
    String::from_utf8(regular_file::read(path).ok()?).ok()
}

/// The remote in a configuration of Git: `origin`, or the first one.
fn remote(config: &str) -> Option<String> {
    let mut section = String::new();
    let mut first = None;
    for line in config.lines().map(str::trim) {
        if line.starts_with('[') {
            line.clone_into(&mut section);
        } else if section.starts_with("[remote ")
            && let Some((key, url)) = line.split_once('=')
            && key.trim() == "url"
            && let Some(name) = without_scheme(url.trim().trim_matches('"'))
        {
            if section == "[remote \"origin\"]" {
                return Some(name);
            }
            first.get_or_insert(name);
        }
    }
    first
}

/// Host and path of the address of a remote. `None` for a remote on this machine; the project then has the path of its
/// folder as its name.
///
/// The user is left out, because it may contain a password and differs between clones of one repository.
fn without_scheme(url: &str) -> Option<String> {
    let (authority, path) = match url.split_once("://") {
        Some(("file", _)) => return None,
        Some((_, rest)) => rest.split_once('/')?,
        // `git@github.com:ann/proj.git`
        None if !url.starts_with(['/', '.']) => url.split_once(':')?,
        None => return None,
    };
    let host = authority.rsplit('@').next()?.split(':').next()?;
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    (!host.is_empty() && !path.is_empty()).then(|| format!("{host}/{path}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::make_pipe;
    use proptest::prelude::*;

    #[test]
    fn the_addresses_of_one_repository_have_one_name() {
        for url in [
            "https://github.com/ann/proj.git",
            "https://github.com/ann/proj/",
            "https://ann:secret@github.com/ann/proj.git",
            "ssh://git@github.com:22/ann/proj.git",
            "git@github.com:ann/proj.git",
            "github.com:ann/proj",
        ] {
            assert_eq!(without_scheme(url).as_deref(), Some("github.com/ann/proj"), "{url}");
        }
        for url in ["/srv/git/proj.git", "../proj", "file:///srv/proj", "https://github.com", ""] {
            assert_eq!(without_scheme(url), None, "{url}");
        }
    }

    #[test]
    fn a_folder_in_a_repository_belongs_to_its_remote() {
        let folder = poc_graph::testing::folder();
        let inner = folder.path().join("src/deep");
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::create_dir(folder.path().join(".git")).unwrap();
        let root = folder.path().to_owned();
        let project = || Project::with_home(&inner, None).unwrap();
        let by_path = root.to_string_lossy().to_lowercase();
        assert_eq!(project(), Project { root: root.clone(), name: by_path });
        let config = "[core]\n\tbare = false\n[remote \"fork\"]\n\turl = git@host.org:bob/Proj.git\n\
                      [remote \"origin\"]\n\turl = https://github.com/Ann/Proj.git\n";
        std::fs::write(root.join(".git/config"), config).unwrap();
        assert_eq!(project(), Project { root: root.clone(), name: "github.com/ann/proj".into() });
        assert_eq!(project().keyword(), "project:github.com/ann/proj");
        std::fs::write(root.join(".git/config"), config.replace("origin", "upstream")).unwrap();
        assert_eq!(project().name, "host.org/bob/proj");
        assert_eq!(Project::of_repository(&inner), Some(project()));
        std::fs::remove_dir_all(root.join(".git")).unwrap();
        assert_eq!(Project::of_repository(&inner), None);
    }

    /// Nothing writes to these pipes, so opening one would block forever.
    #[test]
    fn a_pipe_is_not_opened() {
        let folder = poc_graph::testing::folder();
        std::fs::create_dir(folder.path().join("inner")).unwrap();
        make_pipe(&folder.path().join("inner/.git"));
        assert_eq!(Project::of_repository(&folder.path().join("inner")), None);
        std::fs::create_dir(folder.path().join(".git")).unwrap();
        make_pipe(&folder.path().join(".git/config"));
        assert!(Project::of_repository(folder.path()).is_some());
    }

    #[test]
    fn a_worktree_belongs_to_its_repository() {
        let folder = poc_graph::testing::folder();
        let (main, tree) = (folder.path().join("main"), folder.path().join("tree"));
        let of_tree = main.join(".git/worktrees/tree");
        std::fs::create_dir_all(&of_tree).unwrap();
        std::fs::create_dir(&tree).unwrap();
        std::fs::write(main.join(".git/config"), "[remote \"origin\"]\nurl = git@host.org:a/b\n").unwrap();
        std::fs::write(of_tree.join("commondir"), "../..\n").unwrap();
        std::fs::write(tree.join(".git"), format!("gitdir: {}\n", of_tree.display())).unwrap();
        assert_eq!(
            Project::with_home(&tree, None).unwrap(),
            Project { root: tree, name: "host.org/a/b".into() }
        );
    }

    #[test]
    fn a_folder_outside_of_repositories_is_a_project_except_for_the_home() {
        let home = Path::new("/nowhere/ann");
        let name =
            |folder: &str| Project::with_home(Path::new(folder), Some(home)).map(|project| project.name);
        assert_eq!(name("/nowhere/ann/My Notes, old"), Some("/nowhere/ann/my notes old".into()));
        assert_eq!(name("/nowhere/ann"), None);
        assert_eq!(name("/"), None);
        assert_eq!(name("notes"), None);
    }

    poc_laws::laws! {
        #[test]
        fn a_label_is_always_a_keyword_as_it_is_stored(folder in "/[a-zA-Z ,é\u{301}/\t.-]{1,40}") {
            if let Some(project) = Project::with_home(Path::new(&folder), None) {
                let stored = crate::keyword_normalization::normalize(&[project.keyword()]);
                prop_assert_eq!(stored.unwrap(), [project.keyword()]);
            }
        }
    }
}
