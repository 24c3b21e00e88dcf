//! Embeddings from a server: `POST URL/embeddings`, the API of OpenAI, Ollama, vLLM, llama.cpp and others.

use super::Embedder;
use super::call_limiter::CallLimiter;
use poc_config::endpoint::{self, EndpointError};
use poc_graph::error::{Error, Result};
use poc_graph::plural;
use poc_graph::retry::{Backoff, retry};
use poc_graph::time::Span;
use poc_rank::cosine::normalize;
use reqwest::blocking::{Client, Response};
use reqwest::{StatusCode, Url};
use serde::Deserialize;
use serde_json::json;
use std::io::Read;
use std::time::{Duration, Instant};

/// Maximum number of texts per request.
const BATCH: usize = 64;
/// The maximum number of attempts per request.
const ATTEMPTS: u32 = 4;
/// The delays between attempts.
const BACKOFF: Backoff = Backoff { first: Span(500), max: Span(2000) };
/// Time limit for establishing a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum size of a response, in bytes: enough for thousands of decimal numbers per text of a batch.
const MAX_RESPONSE: u64 = 64 << 20;
/// Maximum number of characters quoted from an error response.
const MAX_EXCERPT: usize = 200;
/// Minimum length in bytes of a key that is removed from messages. A server on one's own machine accepts any key, so
/// people give it words such as `x`, which occur in every message.
const MIN_REMOVED_KEY: usize = 8;

/// The embedder `http`.
pub struct HttpEmbedder {
    name: String,
    model: String,
    address: Url,
    key: Option<String>,
    dimensions: usize,
    /// Time limit for one request, including all attempts.
    timeout: Duration,
    limiter: CallLimiter,
}

/// The response of the server.
#[derive(Deserialize)]
struct EmbeddingsResponse {
    data: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    index: usize,
    embedding: Vec<f32>,
}

/// Why a request failed, and whether another attempt could succeed.
struct RequestFailure {
    problem: String,
    is_transient: bool,
}

impl RequestFailure {
    /// The delay before another attempt; `None` if there should be none.
    fn retry_delay(&self, failures: u32, left: Duration) -> Option<Duration> {
        let delay = BACKOFF.delay(failures).std();
        (self.is_transient && failures < ATTEMPTS && delay < left).then_some(delay)
    }
}

/// Why the embedder cannot be created or return vectors.
#[derive(Debug, thiserror::Error)]
enum HttpEmbedderError {
    #[error("`{0}` is not an address")]
    NoAddress(String),
    #[error("the address contains a user or a password")]
    Credentials,
    #[error("no model is configured")]
    NoModel,
    /// The environment variable that should contain the key is not set.
    #[error("the variable `{0}` is not set")]
    NoKey(String),
    #[error("no HTTP client can be created: {0}")]
    Client(reqwest::Error),
    #[error("`{address}` returned no vectors: {problem}")]
    NoVectors { address: Url, problem: String },
    #[error(
        "`{address}` is busy: all of the {max} permitted requests are running, and none succeeded in time"
    )]
    Busy { address: Url, max: usize },
    #[error("the request of the embedder panicked")]
    Panicked,
}

impl From<HttpEmbedderError> for Error {
    fn from(error: HttpEmbedderError) -> Error {
        let message = error.to_string();
        match error {
            HttpEmbedderError::NoAddress(_) => Error::config(message)
                .hint("give one such as `http://127.0.0.1:11434/v1`")
                .field("embedder.url"),
            HttpEmbedderError::Credentials => Error::config(message)
                .hint("put the key into the environment variable that `key-env` names")
                .field("embedder.url"),
            HttpEmbedderError::NoModel => {
                Error::config(message).hint("give one such as `nomic-embed-text`").field("embedder.model")
            }
            HttpEmbedderError::NoKey(_) => {
                Error::config(message).hint("set it to the key of the server").field("embedder.key-env")
            }
            HttpEmbedderError::Client(_) | HttpEmbedderError::Panicked => Error::internal(message),
            HttpEmbedderError::Busy { .. } => {
                Error::unavailable(message).hint("try again later, or raise `embedder.concurrency`")
            }
            HttpEmbedderError::NoVectors { .. } => Error::unavailable(message)
                .hint("check the server and the model in `[embedder]` of the settings"),
        }
    }
}

impl HttpEmbedder {
    /// Creates an embedder for the configured server, model and key variable. Sends no request.
    pub fn new(
        config: &poc_config::EmbedderConfig,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<HttpEmbedder> {
        let base = endpoint::parse(&config.url).map_err(|error| match error {
            EndpointError::NoAddress => HttpEmbedderError::NoAddress(config.url.clone()),
            EndpointError::Credentials => HttpEmbedderError::Credentials,
        })?;
        if config.model.is_empty() {
            return Err(HttpEmbedderError::NoModel.into());
        }
        let key = match config.key_env.as_str() {
            "" => None,
            name => {
                let key = variable(name).filter(|key| !key.trim().is_empty());
                Some(key.ok_or_else(|| HttpEmbedderError::NoKey(name.to_owned()))?)
            }
        };
        let address = endpoint::join(&base, "embeddings");
        let name = format!("http-{}-{}", config.dimensions, config.model);
        Ok(HttpEmbedder {
            name,
            model: config.model.clone(),
            address,
            key,
            dimensions: config.dimensions,
            timeout: config.timeout.std(),
            // A request that is not answered within the timeout fails, so a limiter that waits less could give
            // up on a server that is healthy but slow.
            limiter: CallLimiter::new(config.concurrency, config.timeout.std()),
        })
    }

    fn client(&self) -> Result<Client> {
        let client = endpoint::client(&self.address).connect_timeout(CONNECT_TIMEOUT);
        Ok(client.build().map_err(HttpEmbedderError::Client)?)
    }

    /// The vectors of one batch of texts, in the order of the texts.
    #[expect(clippy::disallowed_methods, reason = "nothing reports when a busy server is free again")]
    fn embed_batch(&self, client: &Client, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        // The permit is per request, so that a caller with many requests does not starve the others.
        let permit = self.limiter.acquire().ok_or_else(|| HttpEmbedderError::Busy {
            address: self.address.clone(),
            max: self.limiter.max(),
        })?;
        let started = Instant::now();
        let left = || self.timeout.saturating_sub(started.elapsed());
        let before_retry =
            |failures: u32, failure: RequestFailure| match failure.retry_delay(failures, left()) {
                Some(delay) => {
                    std::thread::sleep(delay);
                    Ok(())
                }
                None => Err(failure.problem),
            };
        let vectors =
            retry(|| self.request_vectors(client, texts, left()), before_retry).map_err(|problem| {
                let problem = self.without_key(&problem);
                HttpEmbedderError::NoVectors { address: self.address.clone(), problem }
            })?;
        permit.succeed();
        Ok(vectors)
    }

    /// A text from the server, with the key replaced unless it is short.
    fn without_key(&self, text: &str) -> String {
        match &self.key {
            Some(key) if key.len() >= MIN_REMOVED_KEY => text.replace(key.as_str(), "…"),
            _ => text.to_owned(),
        }
    }

    /// Sends one request and checks the response.
    fn request_vectors(
        &self,
        client: &Client,
        texts: &[&str],
        timeout: Duration,
    ) -> Result<Vec<Vec<f32>>, RequestFailure> {
        let transient = |error: reqwest::Error| RequestFailure {
            problem: error.without_url().to_string(),
            is_transient: true,
        };
        let mut request = client
            .post(self.address.clone())
            .timeout(timeout)
            .json(&json!({"model": self.model, "input": texts, "encoding_format": "float"}));
        if let Some(key) = &self.key {
            request = request.bearer_auth(key);
        }
        let response = request.send().map_err(transient)?;
        let status = response.status();
        let body = read(response)?;
        if !status.is_success() {
            // The key is removed before the text is truncated, because half a key would not be recognised.
            let text = self.without_key(String::from_utf8_lossy(&body).trim());
            let excerpt: String = text.chars().take(MAX_EXCERPT).collect();
            let is_transient = status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error();
            return Err(RequestFailure { problem: format!("{status}: {excerpt}"), is_transient });
        }
        let answer: EmbeddingsResponse = serde_json::from_slice(&body)
            .map_err(|error| permanent(format!("its answer is not a list of embeddings: {error}")))?;
        self.vectors(answer, texts.len())
    }

    /// The normalised vectors of a response, in the order of the texts, of which there are `count`.
    fn vectors(&self, answer: EmbeddingsResponse, count: usize) -> Result<Vec<Vec<f32>>, RequestFailure> {
        let mut vectors = vec![Vec::new(); count];
        for Item { index, mut embedding } in answer.data {
            if embedding.len() != self.dimensions {
                let (found, wanted) = (embedding.len(), self.dimensions);
                return Err(permanent(format!(
                    "its vectors have {found} numbers, but `embedder.dimensions` is {wanted}"
                )));
            }
            if !embedding.iter().all(|value| value.is_finite()) {
                return Err(permanent("a vector has values that are not finite".into()));
            }
            normalize(&mut embedding);
            if let Some(slot) = vectors.get_mut(index) {
                *slot = embedding;
            }
        }
        match vectors.iter().any(Vec::is_empty) {
            true => Err(permanent(format!("it returned fewer than {}", plural(count as u64, "vector")))),
            false => Ok(vectors),
        }
    }
}

/// A failure that another attempt would not change.
fn permanent(problem: String) -> RequestFailure {
    RequestFailure { problem, is_transient: false }
}

/// Reads the body of a response.
fn read(response: Response) -> Result<Vec<u8>, RequestFailure> {
    let mut body = Vec::new();
    response
        .take(MAX_RESPONSE + 1)
        .read_to_end(&mut body)
        .map_err(|error| RequestFailure { problem: error.to_string(), is_transient: true })?;
    if body.len() as u64 > MAX_RESPONSE {
        return Err(permanent(format!("its answer is longer than {MAX_RESPONSE} bytes")));
    }
    Ok(body)
}

impl Embedder for HttpEmbedder {
    fn name(&self) -> &str {
        &self.name
    }
    fn dimensions(&self) -> usize {
        self.dimensions
    }
    fn contextual(&self) -> bool {
        true
    }
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        let mut vectors = vec![vec![0.0; self.dimensions]; texts.len()];
        // Servers reject blank texts, so they are left out and get the zero vector.
        let with_text: Vec<usize> = (0..texts.len())
            .filter(|&at| texts.get(at).is_some_and(|text| !text.trim().is_empty()))
            .collect();
        if with_text.is_empty() {
            return Ok(vectors);
        }
        // The call runs on a separate thread, because the blocking client must not run on a thread of an async
        // executor.
        let embedded = std::thread::scope(|scope| {
            let work = || -> Result<Vec<Vec<f32>>> {
                let client = self.client()?;
                let mut embedded = Vec::with_capacity(with_text.len());
                for batch in with_text.chunks(BATCH) {
                    let batch: Vec<&str> = batch.iter().filter_map(|&at| texts.get(at).copied()).collect();
                    embedded.extend(self.embed_batch(&client, &batch)?);
                }
                Ok(embedded)
            };
            scope.spawn(work).join().unwrap_or_else(|_| Err(HttpEmbedderError::Panicked.into()))
        })?;
        for (at, vector) in with_text.into_iter().zip(embedded) {
            if let Some(slot) = vectors.get_mut(at) {
                *slot = vector;
            }
        }
        Ok(vectors)
    }
}

#[cfg(test)]
mod tests;
