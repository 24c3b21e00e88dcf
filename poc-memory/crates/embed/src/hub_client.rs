//! Downloads a model from the hub into the cache, only when a person asks for it and only from configured hosts.

use super::hub_cache::{HubCache, HubName, is_commit};
use poc_config::endpoint::{self, EndpointError};
use poc_graph::error::{Error, Result};
use reqwest::blocking::{Client, Response};
use reqwest::header::{AUTHORIZATION, HeaderMap, LOCATION};
use reqwest::{StatusCode, Url};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The files that are downloaded for a model of the BERT family, and whether each is required.
const FILES: &[(&str, bool)] = &[
    ("config.json", true),
    ("tokenizer.json", false),
    ("vocab.txt", false),
    ("tokenizer_config.json", false),
    ("sentence_bert_config.json", false),
    ("1_Pooling/config.json", false),
    // The weights come last, so that their presence implies that all other files are there.
    ("model.safetensors", true),
];

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum time without receiving data.
const READ_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum number of redirects.
const MAX_REDIRECTS: usize = 5;
/// Maximum size of the hub's response about a model, in bytes.
const MAX_RESPONSE_BYTES: u64 = 16 << 20;
/// Size of the buffer for received data, in bytes.
const BUFFER_BYTES: usize = 1 << 16;

/// Why no client can be created, or why a model was not downloaded.
#[derive(Debug, thiserror::Error)]
enum FetchError {
    #[error("`{text}` is not an address")]
    NoAddress { text: String, field: &'static str },
    #[error("the address of the hub contains a user or a password")]
    Credentials { field: &'static str },
    #[error("no HTTP client can be created: {0}")]
    Client(reqwest::Error),
    #[error("no model can be downloaded from `{hub}`: {problem}")]
    NoModel { hub: Url, problem: String },
    #[error("the model `{model}` has no `{file}`")]
    MissingFile { model: HubName, file: &'static str },
    #[error("`{hub}` does not give access to `{path}` ({status})")]
    NotFound { hub: Url, path: String, status: StatusCode },
    #[error("`{hub}` redirects to `{scheme}://{host}`, which `hosts` does not contain")]
    UnknownHost { hub: Url, scheme: String, host: String },
    #[error("`{}` cannot be written: {source}", path.display())]
    Write { path: PathBuf, source: std::io::Error },
}

impl From<FetchError> for Error {
    fn from(error: FetchError) -> Error {
        let message = error.to_string();
        match error {
            FetchError::NoAddress { field, .. } | FetchError::Credentials { field } => {
                Error::config(message).hint("give one such as `https://huggingface.co`").field(field)
            }
            FetchError::Client(_) => Error::internal(message),
            FetchError::NoModel { .. } => {
                Error::unavailable(message).hint("check the address of the hub in `[hub]` of the settings")
            }
            FetchError::MissingFile { .. } => {
                Error::not_found(message).hint("use a model of the BERT family with safetensors weights")
            }
            FetchError::NotFound { .. } => {
                Error::not_found(message).hint("check the name; for a private or gated model, set `HF_TOKEN`")
            }
            FetchError::UnknownHost { host, .. } => Error::unavailable(message)
                .hint(format!("if you trust it, add \"{host}\" to `hosts` in `[hub]`"))
                .field("hub.hosts"),
            FetchError::Write { .. } => Error::unavailable(message),
        }
    }
}

/// A client for a hub.
pub struct HubClient {
    address: Url,
    // The hosts that the hub may redirect to.
    hosts: Vec<String>,
    key: Option<String>,
    client: Client,
}

/// A downloaded model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FetchedModel {
    /// The name of the model.
    pub model: String,
    /// The downloaded commit.
    pub revision: String,
    /// The folder with the model's files.
    pub folder: PathBuf,
    /// The number of bytes downloaded. Files that were already cached do not count.
    pub bytes: u64,
    /// The names of the model's files.
    pub files: Vec<String>,
}

/// The required part of the hub's response about a model.
#[derive(Deserialize)]
struct ModelInfo {
    sha: String,
    siblings: Vec<Sibling>,
}

#[derive(Deserialize)]
struct Sibling {
    rfilename: String,
}

impl HubClient {
    /// Creates a client for the configured hub, or for the one in `HF_ENDPOINT`. `HF_TOKEN` is sent only to this hub.
    ///
    /// # Errors
    /// `invalid_config` if the URL is invalid.
    pub fn new(
        config: &poc_config::HubConfig,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<HubClient> {
        let set = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let endpoint = set("HF_ENDPOINT");
        let (field, text) = match &endpoint {
            Some(endpoint) => ("HF_ENDPOINT", endpoint),
            None => ("hub.url", &config.url),
        };
        let address = endpoint::parse(text).map_err(|error| match error {
            EndpointError::NoAddress => FetchError::NoAddress { text: text.clone(), field },
            EndpointError::Credentials => FetchError::Credentials { field },
        })?;
        // The client follows no redirects; [`HubClient::get`] does, and only to configured hosts.
        let client =
            endpoint::client(&address).connect_timeout(CONNECT_TIMEOUT).timeout(READ_TIMEOUT).build();
        let client = client.map_err(FetchError::Client)?;
        Ok(HubClient { address, hosts: config.hosts.clone(), key: set("HF_TOKEN"), client })
    }

    /// Downloads the files of a model that are not yet in the cache. `progress` is called with the name of the file,
    /// the number of bytes received and the total.
    ///
    /// # Errors
    /// `not_found` if the hub does not have the model in the required form. `unavailable` if the hub cannot be reached,
    /// redirects to a host that is not configured, or sends data that does not match its announced size or hash.
    pub fn fetch(
        &self,
        name: &HubName,
        cache: &HubCache,
        progress: &mut dyn FnMut(&str, u64, Option<u64>),
    ) -> Result<FetchedModel> {
        let info = self.model_info(name)?;
        if !is_commit(&info.sha) {
            return Err(self.failure(format!("the commit `{}` of the model is not a valid name", info.sha)));
        }
        let has = |file: &str| info.siblings.iter().any(|sibling| sibling.rfilename == file);
        let wanted: Vec<&str> = FILES.iter().map(|(file, _)| *file).filter(|file| has(file)).collect();
        let missing =
            FILES.iter().find(|(file, is_required)| *is_required && !has(file)).map(|(file, _)| *file);
        let missing =
            missing.or_else(|| (!has("tokenizer.json") && !has("vocab.txt")).then_some("tokenizer.json"));
        if let Some(missing) = missing {
            return Err(FetchError::MissingFile { model: name.clone(), file: missing }.into());
        }
        let folder = cache.folder(name);
        let files = folder.join("snapshots").join(&info.sha);
        let mut bytes = 0;
        for file in &wanted {
            let path = files.join(file);
            if !path.is_file() {
                bytes += self.download(name, &info.sha, file, &path, progress)?;
            }
        }
        if name.revision != info.sha {
            let reference = folder.join("refs").join(&name.revision);
            make_parent(&reference)?;
            fs::write(&reference, &info.sha).map_err(|error| unwritable(&reference, error))?;
        }
        Ok(FetchedModel {
            model: name.to_string(),
            revision: info.sha,
            folder: files,
            bytes,
            files: wanted.into_iter().map(str::to_owned).collect(),
        })
    }

    fn model_info(&self, name: &HubName) -> Result<ModelInfo> {
        let HubName { owner, name: model, revision } = name;
        let (answer, _) = self.get(&["api", "models", owner, model, "revision", revision])?;
        let mut body = Vec::new();
        let read = answer.take(MAX_RESPONSE_BYTES).read_to_end(&mut body);
        read.map_err(|error| self.failure(error.to_string()))?;
        serde_json::from_slice(&body)
            .map_err(|error| self.failure(format!("its description of `{name}` cannot be read: {error}")))
    }

    fn download(
        &self,
        name: &HubName,
        commit: &str,
        file: &str,
        path: &Path,
        progress: &mut dyn FnMut(&str, u64, Option<u64>),
    ) -> Result<u64> {
        let mut parts = vec![name.owner.as_str(), &name.name, "resolve", commit];
        parts.extend(file.split('/'));
        let (mut answer, sum) = self.get(&parts)?;
        let length = answer.content_length();
        make_parent(path)?;
        // The file has another name until it is complete, so that no reader finds a partial file. The name is always the
        // same, because a killed download may leave gigabytes, which the next one overwrites. Other users and programs
        // may read the file, so it is not private.
        let partial = path.with_extension("incomplete");
        let mut to = File::create(&partial).map_err(|error| unwritable(&partial, error))?;
        let (mut done, mut hash, mut buffer) = (0, Sha256::new(), vec![0; BUFFER_BYTES]);
        let result = loop {
            progress(file, done, length);
            let count = match answer.read(&mut buffer) {
                Ok(0) => break Ok(()),
                Ok(count) => count,
                Err(error) => {
                    break Err(self.failure(format!("the download of `{file}` ended early: {error}")));
                }
            };
            let received = buffer.get(..count).unwrap_or_default();
            hash.update(received);
            done += count as u64;
            if let Err(error) = to.write_all(received) {
                break Err(unwritable(&partial, error));
            }
        };
        let found: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        let result = result.and_then(|()| match (length, sum) {
            (Some(length), _) if length != done => {
                Err(self.failure(format!("the download of `{file}` ended after {done} of {length} bytes")))
            }
            (_, Some(sum)) if sum != found => {
                Err(self.failure(format!("`{file}` has the SHA-256 {found}, but the hub announced {sum}")))
            }
            _ => to.sync_all().map_err(|error| unwritable(&partial, error)),
        });
        let result =
            result.and_then(|()| fs::rename(&partial, path).map_err(|error| unwritable(path, error)));
        if result.is_err() {
            // Failing to remove the partial file does no harm; the original error is returned below.
            let _ = fs::remove_file(&partial);
        }
        result.map(|()| done)
    }

    /// The response for a path, and the SHA-256 that its content should have, if the hub states it.
    fn get(&self, parts: &[&str]) -> Result<(Response, Option<String>)> {
        let mut url = self.address.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(parts);
        }
        let mut sum = None;
        for _ in 0..MAX_REDIRECTS {
            let mut request = self.client.get(url.clone());
            if let Some(key) = self.key.as_ref().filter(|_| url.origin() == self.address.origin()) {
                request = request.header(AUTHORIZATION, format!("Bearer {key}"));
            }
            let answer = request.send().map_err(|error| self.failure(error.without_url().to_string()))?;
            let status = answer.status();
            if url.origin() == self.address.origin() {
                sum = sum.or_else(|| sha256_header(answer.headers()));
            }
            if status.is_redirection() {
                url = self.redirect_target(&url, answer.headers())?;
                continue;
            }
            return match status {
                status if status.is_success() => Ok((answer, sum)),
                // The hub gives the same response for models that do not exist and for models that need another token.
                StatusCode::NOT_FOUND | StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                    let (hub, path) = (self.address.clone(), url.path().to_owned());
                    Err(FetchError::NotFound { hub, path, status }.into())
                }
                status => Err(self.failure(format!("{status} for `{}`", url.path()))),
            };
        }
        Err(self.failure("it redirects too many times"))
    }

    /// The target of a redirect. Fails if its host is not configured.
    fn redirect_target(&self, from: &Url, headers: &HeaderMap) -> Result<Url> {
        let to = headers.get(LOCATION).and_then(|to| to.to_str().ok()).and_then(|to| from.join(to).ok());
        let to = to.ok_or_else(|| self.failure("it redirects without a valid `Location`"))?;
        let host = to.host_str().unwrap_or_default();
        let is_allowed = to.origin() == self.address.origin()
            || to.scheme() == "https" && self.hosts.iter().any(|allowed| allowed == host);
        if is_allowed {
            return Ok(to);
        }
        let (scheme, host) = (to.scheme().to_owned(), host.to_owned());
        Err(FetchError::UnknownHost { hub: self.address.clone(), scheme, host }.into())
    }

    fn failure(&self, problem: impl Into<String>) -> Error {
        FetchError::NoModel { hub: self.address.clone(), problem: problem.into() }.into()
    }
}

/// The SHA-256 in the headers. For files in large file storage it is the entity tag.
fn sha256_header(headers: &HeaderMap) -> Option<String> {
    let header = |name: &str| {
        Some(headers.get(name)?.to_str().ok()?.trim_start_matches("W/").trim_matches('"').to_lowercase())
    };
    let is_sum = |sum: &String| sum.len() == 64 && sum.chars().all(|c| c.is_ascii_hexdigit());
    header("x-linked-etag").or_else(|| header("etag")).filter(is_sum)
}

fn make_parent(path: &Path) -> Result<()> {
    let parent = path.parent().unwrap_or(path);
    fs::create_dir_all(parent).map_err(|error| unwritable(parent, error))
}

fn unwritable(path: &Path, source: std::io::Error) -> Error {
    FetchError::Write { path: path.to_owned(), source }.into()
}

#[cfg(test)]
mod tests;
