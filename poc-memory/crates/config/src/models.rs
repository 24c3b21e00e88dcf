//! The settings for language models: how they are called, the models and their providers.

use super::section::section;
use poc_graph::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

section!(
    /// How language models are called.
    CallsConfig {
        /// Time limit for establishing a connection.
        connect_timeout: Span,
        /// Time limit between two parts of a response.
        read_timeout: Span,
        /// Maximum size of a response, in bytes.
        max_answer_bytes: usize,
        /// Maximum number of tokens in a reply, for providers that require a limit.
        max_output_tokens: usize,
        /// Delay before the second attempt; it doubles with each further attempt.
        backoff: Span,
        /// Maximum delay between attempts.
        backoff_max: Span,
        /// How long a provider is not called automatically after it refused the key or reported missing credit.
        leave_alone: Span,
    }
);
section!(
    /// The heuristic model, which uses no language model.
    HeuristicConfig {
        /// Minimum number of names that two notes must share to be linked. One shared name is enough if it is an
        /// identifier or has several words.
        link_names: usize,
        /// Strength of its links, 0–1.
        link_strength: f64,
        /// Maximum number of new links per note in one run.
        links_per_node: usize,
        /// Maximum number of new links in one run.
        max_links: usize,
        /// Number of neighbours from which a note is a hub and gets no further links.
        hub_degree: u32,
        /// Minimum similarity of two notes, 0–1, from which one counts as a duplicate of the other.
        twin_min_similarity: f64,
        /// Minimum number of related episodes from which an overview is created.
        transfer_episodes: usize,
        /// Maximum number of overviews created in one run.
        transfer_max: usize,
        /// Maximum share of all notes that an agent's overviews may make up, 0–1.
        transfer_share: f64,
        /// Minimum length, in characters, of a section that becomes a note of its own.
        split_min_chars: usize,
        /// Maximum number of parts created in one run.
        split_max_parts: usize,
    }
);

/// A model that agents may use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ModelConfig {
    /// Name of the provider that serves it.
    pub provider: String,
    /// The provider's name for the model; for a `candle` provider the model file.
    pub id: String,
    /// Price of a million input tokens, in US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_price: Option<f64>,
    /// Price of a million output tokens, in US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_price: Option<f64>,
    /// Price of a million tokens written to the provider's prompt cache, in US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_price: Option<f64>,
    /// Price of a million tokens read from the prompt cache, in US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read_price: Option<f64>,
    /// Size of the context, in tokens: the maximum for prompt and reply together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<usize>,
}

/// The kinds of providers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProviderKind {
    /// No language model: uses only similarity and the structure of the graph.
    Heuristic,
    /// The Messages API of Anthropic.
    Anthropic,
    /// Any server with OpenAI's chat completions API.
    Openai,
    /// The server of llama.cpp.
    LlamaCpp,
    /// Ollama's native API.
    Ollama,
    /// A program that reads the prompt from its standard input and writes the reply to its standard output.
    Command,
    /// Recorded replies, for tests.
    Replay,
    /// A GGUF file that runs in this process.
    Candle,
}

/// A provider of models.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ProviderConfig {
    /// The kind of the provider.
    pub kind: ProviderKind,
    /// Base URL of the HTTP API.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// Environment variable with the API key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_env: Option<String>,
    /// File with the API key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_file: Option<String>,
    /// For `command`: the program and its arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
    /// For `command`: names of further environment variables passed to the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env: Option<Vec<String>>,
    /// For `replay`: the folder of recorded replies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replies: Option<String>,
    /// For `candle`: the tokenizer file, if the model files contain no tokenizer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokenizer: Option<String>,
    /// For `candle`: the sampling temperature; 0 always selects the most likely token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// For `candle`: maximum number of tokens in a reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<usize>,
    /// For `candle`: number of threads per model; 0 for one per core.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<usize>,
    /// Maximum number of concurrent calls; unlimited by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<usize>,
}
