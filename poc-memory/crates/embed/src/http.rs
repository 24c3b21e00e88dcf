//! Vectors by a server: `POST URL/embeddings`, as OpenAI has it and Ollama, vLLM, llama.cpp and others do.

use super::Embedder;
use poc_config::server::{self, Unfit};
use poc_graph::error::{Error, Result};
use poc_graph::retry::{Backoff, retry};
use poc_rank::cosine::normalize;
use reqwest::blocking::{Client, Response};
use reqwest::{StatusCode, Url};
use serde::Deserialize;
use serde_json::json;
use std::io::Read;
use std::time::Duration;

/// Texts in a request.
const BATCH: usize = 64;
/// Attempts of a request that may yet succeed.
const ATTEMPTS: u32 = 4;
const BACKOFF: Backoff = Backoff { first: Duration::from_millis(500), max: Duration::from_secs(2) };
const CONNECT: Duration = Duration::from_secs(10);
/// For a whole answer.
const TIMEOUT: Duration = Duration::from_secs(120);
/// Bytes an answer may have: thousands of numbers for each text of a batch, as text.
const LONGEST: u64 = 64 << 20;
/// Characters of a refusal that are told.
const TOLD: usize = 200;

/// The embedder `http`.
pub struct HttpEmbedder {
    name: String,
    model: String,
    address: Url,
    key: Option<String>,
    dimensions: usize,
}

/// What the server answers.
#[derive(Deserialize)]
struct Answer {
    data: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    index: usize,
    embedding: Vec<f32>,
}

/// Why there is no answer, and whether to ask again.
struct Trouble {
    problem: String,
    again: bool,
}

impl HttpEmbedder {
    /// With the server, the model and the variable of the key that the settings name. Asks nothing yet.
    pub fn new(
        config: &poc_config::Embedder,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<HttpEmbedder> {
        let wrong = |message: String, hint: &str, field: &str| {
            Error::config(message).hint(hint).field(format!("embedder.{field}"))
        };
        let base = server::address(&config.url).map_err(|unfit| match unfit {
            Unfit::NoAddress => {
                let hint = "give one such as `http://127.0.0.1:11434/v1`";
                wrong(format!("`{}` is not an address", config.url), hint, "url")
            }
            Unfit::Secret => {
                let hint = "a key belongs into the variable named by `key-env`";
                wrong("the address holds a user or a password".into(), hint, "url")
            }
        })?;
        if config.model.is_empty() {
            let hint = "give one such as `nomic-embed-text`";
            return Err(wrong("the server is to be asked for no model".into(), hint, "model"));
        }
        let key = match config.key_env.as_str() {
            "" => None,
            name => Some(variable(name).filter(|key| !key.trim().is_empty()).ok_or_else(|| {
                wrong(
                    format!("the variable `{name}` is not set"),
                    "set it to the key of the server",
                    "key-env",
                )
            })?),
        };
        let address = server::below(&base, "embeddings");
        let name = format!("http-{}-{}", config.dimensions, config.model);
        Ok(HttpEmbedder { name, model: config.model.clone(), address, key, dimensions: config.dimensions })
    }

    fn client(&self) -> Result<Client> {
        let client = server::client(&self.address).connect_timeout(CONNECT).timeout(TIMEOUT);
        client.build().map_err(|error| Error::internal(format!("no HTTP client can be made: {error}")))
    }

    #[expect(clippy::disallowed_methods, reason = "a server that is busy tells nobody when it is free")]
    fn batch(&self, client: &Client, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        let before_retry = |failures: u32, trouble: Trouble| {
            if trouble.again && failures < ATTEMPTS {
                std::thread::sleep(BACKOFF.delay(failures));
                Ok(())
            } else {
                Err(trouble.problem)
            }
        };
        retry(|| self.ask(client, texts), before_retry).map_err(|problem| {
            let problem = match &self.key {
                Some(key) => problem.replace(key.as_str(), "…"),
                None => problem,
            };
            Error::unavailable(format!("`{}` gives no vectors: {problem}", self.address))
                .hint("`[embedder]` in the settings says which server and model are asked")
        })
    }

    fn ask(&self, client: &Client, texts: &[&str]) -> Result<Vec<Vec<f32>>, Trouble> {
        let stop = |problem: String| Trouble { problem, again: false };
        let retry = |error: reqwest::Error| Trouble { problem: error.without_url().to_string(), again: true };
        let mut request = client
            .post(self.address.clone())
            .json(&json!({"model": self.model, "input": texts, "encoding_format": "float"}));
        if let Some(key) = &self.key {
            request = request.bearer_auth(key);
        }
        let response = request.send().map_err(retry)?;
        let status = response.status();
        let body = read(response)?;
        if !status.is_success() {
            let said: String = String::from_utf8_lossy(&body).trim().chars().take(TOLD).collect();
            let again = status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error();
            return Err(Trouble { problem: format!("{status}: {said}"), again });
        }
        let answer: Answer = serde_json::from_slice(&body)
            .map_err(|error| stop(format!("its answer is no list of embeddings: {error}")))?;
        let mut vectors = vec![Vec::new(); texts.len()];
        for Item { index, mut embedding } in answer.data {
            if embedding.len() != self.dimensions {
                let (found, wanted) = (embedding.len(), self.dimensions);
                return Err(stop(format!(
                    "its vectors have {found} numbers, `embedder.dimensions` says {wanted}"
                )));
            }
            if !embedding.iter().all(|value| value.is_finite()) {
                return Err(stop("a vector has values that are not finite".into()));
            }
            normalize(&mut embedding);
            if let Some(slot) = vectors.get_mut(index) {
                *slot = embedding;
            }
        }
        match vectors.iter().any(Vec::is_empty) {
            true => Err(stop(format!("it gave fewer than {} vectors", texts.len()))),
            false => Ok(vectors),
        }
    }
}

fn read(response: Response) -> Result<Vec<u8>, Trouble> {
    let mut body = Vec::new();
    response
        .take(LONGEST + 1)
        .read_to_end(&mut body)
        .map_err(|error| Trouble { problem: error.to_string(), again: true })?;
    if body.len() as u64 > LONGEST {
        return Err(Trouble { problem: format!("its answer is longer than {LONGEST} bytes"), again: false });
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
        // Servers refuse what is blank; it has the zero vector.
        let told: Vec<usize> = (0..texts.len())
            .filter(|&at| texts.get(at).is_some_and(|text| !text.trim().is_empty()))
            .collect();
        if told.is_empty() {
            return Ok(vectors);
        }
        // On a thread of its own: the client must not wait where others take turns.
        let made = std::thread::scope(|scope| {
            let work = || -> Result<Vec<Vec<f32>>> {
                let client = self.client()?;
                let mut made = Vec::with_capacity(told.len());
                for batch in told.chunks(BATCH) {
                    let batch: Vec<&str> = batch.iter().filter_map(|&at| texts.get(at).copied()).collect();
                    made.extend(self.batch(&client, &batch)?);
                }
                Ok(made)
            };
            scope
                .spawn(work)
                .join()
                .unwrap_or_else(|_| Err(Error::internal("the call of the embedder panicked")))
        })?;
        for (at, vector) in told.into_iter().zip(made) {
            if let Some(slot) = vectors.get_mut(at) {
                *slot = vector;
            }
        }
        Ok(vectors)
    }
}

#[cfg(test)]
mod tests;
