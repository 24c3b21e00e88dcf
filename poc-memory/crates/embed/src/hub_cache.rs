//! Finds models by their Hugging Face names in the local hub cache.
//!
//! The cache is shared with Hugging Face's own tools: `models--ORG--NAME/refs/main` contains the revision, and
//! `snapshots/REVISION` contains its files. This module downloads nothing; see [`super::hub_client`].

use poc_config::paths;
use poc_graph::error::{Error, Result};
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The default revision.
const MAIN: &str = "main";

/// Maximum number of bytes in the owner or the name of a model.
const MAX_NAME_BYTES: usize = 96;

/// Why a model cannot be found in the cache.
#[derive(Debug, thiserror::Error)]
enum HubCacheError {
    #[error("`{0}` is not the name of a model")]
    InvalidName(String),
    #[error("the hub cache folder cannot be determined")]
    NoFolder,
    /// The path of the cache or of a model cannot be used. The text says why.
    #[error("{0}")]
    Path(String),
    #[error("no model is named")]
    NoModel,
    #[error("`{0}` is neither an absolute path nor a hub name")]
    NeitherPathNorName(String),
    #[error("the model `{name}` is not in `{}`", root.display())]
    NotCached { name: HubName, root: PathBuf },
}

impl From<HubCacheError> for Error {
    fn from(error: HubCacheError) -> Error {
        let message = error.to_string();
        match error {
            HubCacheError::InvalidName(_) => Error::invalid(message)
                .hint("write ORG/NAME, such as `sentence-transformers/all-MiniLM-L6-v2`"),
            HubCacheError::NoFolder => Error::config(message).hint("set `HF_HOME` or `HOME` to a folder"),
            HubCacheError::Path(_) => Error::config(message),
            HubCacheError::NoModel | HubCacheError::NeitherPathNorName(_) => Error::config(message).hint(
                "give its folder as an absolute path or with `~/` in front, or its name on the hub as ORG/NAME",
            ),
            HubCacheError::NotCached { name, .. } => {
                Error::config(message).hint(format!("`poc-memory embed fetch {name}` downloads it"))
            }
        }
    }
}

/// The name of a model on the hub: `ORG/NAME`, or `ORG/NAME@REVISION`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubName {
    /// The organisation or user.
    pub owner: String,
    /// The name of the model.
    pub name: String,
    /// A branch, a tag or a commit; `main` by default.
    pub revision: String,
}

impl FromStr for HubName {
    type Err = Error;

    fn from_str(text: &str) -> Result<HubName> {
        let is_part = |part: &str| {
            let is_known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
            (1..=MAX_NAME_BYTES).contains(&part.len()) && part.chars().all(is_known) && !part.starts_with('.')
        };
        let (path, revision) = text.split_once('@').unwrap_or((text, MAIN));
        match path.split_once('/') {
            Some((owner, name)) if is_part(owner) && is_part(name) && is_part(revision) => {
                Ok(HubName { owner: owner.into(), name: name.into(), revision: revision.into() })
            }
            _ => Err(HubCacheError::InvalidName(text.to_owned()).into()),
        }
    }
}

impl fmt::Display for HubName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let HubName { owner, name, revision } = self;
        match revision.as_str() {
            MAIN => write!(f, "{owner}/{name}"),
            _ => write!(f, "{owner}/{name}@{revision}"),
        }
    }
}

/// The local hub cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubCache {
    root: PathBuf,
}

impl HubCache {
    /// The cache of Hugging Face's tools: `HF_HUB_CACHE`, `HF_HOME/hub`, or `huggingface/hub` below `XDG_CACHE_HOME` or
    /// `~/.cache`.
    ///
    /// # Errors
    /// `invalid_config` if none of these variables is set, not even `HOME`.
    pub fn from_env(variable: &dyn Fn(&str) -> Option<String>) -> Result<HubCache> {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let root = set("HF_HUB_CACHE")
            .or_else(|| set("HUGGINGFACE_HUB_CACHE"))
            .or_else(|| Some(set("HF_HOME")?.join("hub")))
            .or_else(|| Some(set("XDG_CACHE_HOME")?.join("huggingface/hub")))
            .or_else(|| Some(set("HOME")?.join(".cache/huggingface/hub")));
        let home = variable("HOME");
        let root = root.ok_or(HubCacheError::NoFolder)?;
        // Hugging Face's tools also expand `~`.
        match root.to_str().filter(|root| root.starts_with("~/")) {
            Some(root) => {
                Ok(HubCache { root: paths::named(root, home.as_deref()).map_err(HubCacheError::Path)? })
            }
            None => Ok(HubCache { root }),
        }
    }

    /// The folder of a model.
    pub(super) fn folder(&self, name: &HubName) -> PathBuf {
        self.root.join(format!("models--{}--{}", name.owner, name.name))
    }

    /// The folder with the files of a model; `None` if the model is not in the cache.
    pub fn find(&self, name: &HubName) -> Option<PathBuf> {
        let folder = self.folder(name);
        let reference = std::fs::read_to_string(folder.join("refs").join(&name.revision)).ok();
        let commit = reference.as_deref().map_or(name.revision.as_str(), str::trim);
        let files = folder.join("snapshots").join(commit);
        // The commit comes from a file of the cache, which is not trusted.
        (is_commit(commit) && files.is_dir()).then_some(files)
    }
}

/// Whether a text can safely be used as the name of a snapshot's folder.
pub(super) fn is_commit(text: &str) -> bool {
    (1..=MAX_NAME_BYTES).contains(&text.len())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
        && !text.starts_with('.')
}

/// Resolves a model in the settings to its folder. The model is an absolute path, a path that starts with `~/`, or the
/// hub name of a cached model. `field` is the name of the setting, for errors.
///
/// # Errors
/// `invalid_config` if it is none of them.
pub(super) fn locate(model: &str, field: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<PathBuf> {
    let located = || -> Result<PathBuf> {
        if model.is_empty() {
            return Err(HubCacheError::NoModel.into());
        }
        if Path::new(model).is_absolute() || model.starts_with("~/") {
            return Ok(paths::named(model, variable("HOME").as_deref()).map_err(HubCacheError::Path)?);
        }
        let name: HubName =
            model.parse().map_err(|_: Error| HubCacheError::NeitherPathNorName(model.to_owned()))?;
        let cache = HubCache::from_env(variable)?;
        let found = cache.find(&name);
        Ok(found.ok_or(HubCacheError::NotCached { name, root: cache.root })?)
    };
    located().map_err(|error| error.field(field))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn model_names_need_an_owner() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(
                text.parse::<HubName>().ok().map(|name| name.to_string()).as_deref(),
                expected,
                "{text}"
            );
        };
        for name in ["sentence-transformers/all-MiniLM-L6-v2", "a/b@0f1e", "BAAI/bge-small-en-v1.5"] {
            check(name, Some(name));
        }
        check("a/b@main", Some("a/b"));
        for no_name in ["", "a", "a/", "/b", "a/b/c", "../b", "a/..", "a/b@", "a/b@../c", "a b/c", "a/b@x/y"]
        {
            check(no_name, None);
        }
    }

    #[test]
    fn the_cache_folder_matches_the_hub_tools() {
        let check = |set: &[(&str, &str)], expected: &str| {
            let variable = |name: &str| {
                set.iter().find(|(other, _)| *other == name).map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(HubCache::from_env(&variable).unwrap().root, Path::new(expected));
        };
        check(&[("HOME", "/h")], "/h/.cache/huggingface/hub");
        check(&[("HOME", "/h"), ("XDG_CACHE_HOME", "/c")], "/c/huggingface/hub");
        check(&[("HOME", "/h"), ("XDG_CACHE_HOME", "/c"), ("HF_HOME", "/f")], "/f/hub");
        check(&[("HOME", "/h"), ("HF_HOME", "~/f")], "/h/f/hub");
        check(&[("HF_HOME", "/f"), ("HF_HUB_CACHE", "/k")], "/k");
        check(&[("HOME", "/h"), ("HF_HUB_CACHE", "")], "/h/.cache/huggingface/hub");
        assert!(HubCache::from_env(&|_| None).is_err());
    }

    #[test]
    fn a_model_is_found_by_its_reference_or_its_commit() {
        let root = poc_graph::testing::folder();
        let home = root.path().display().to_string();
        let variable = |name: &str| (name == "HF_HUB_CACHE").then(|| home.clone());
        let find = |model: &str| locate(model, "embedder.model", &variable);
        let error = find("o/n").unwrap_err();
        assert!(error.message.starts_with("the model `o/n` is not in `"), "{error}");
        assert_eq!(error.hint.as_deref(), Some("`poc-memory embed fetch o/n` downloads it"));
        let files = root.path().join("models--o--n/snapshots/abc1");
        std::fs::create_dir_all(&files).unwrap();
        std::fs::create_dir_all(root.path().join("models--o--n/refs")).unwrap();
        assert_eq!(find("o/n@abc1").unwrap(), files);
        assert!(find("o/n").is_err());
        std::fs::write(root.path().join("models--o--n/refs/main"), "abc1\n").unwrap();
        assert_eq!(find("o/n").unwrap(), files);
        // A reference cannot point outside the cache.
        std::fs::write(root.path().join("models--o--n/refs/main"), "../../..").unwrap();
        assert!(find("o/n").is_err());
        assert_eq!(find("/tmp/m").unwrap(), Path::new("/tmp/m"));
        insta::assert_snapshot!(find("models").unwrap_err(), @"`embedder.model`: `models` is neither an absolute path nor a hub name");
    }
}
