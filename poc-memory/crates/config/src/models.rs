//! The settings of language models: how they are called, which there are, who provides them.

use super::section::section;
use poc_graph::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

section!(
    /// Calls of language models.
    CallsConfig {
        /// Time to establish a connection.
        connect_timeout: Span,
        /// Time between two pieces of an answer.
        read_timeout: Span,
        /// Bytes an answer may have.
        max_answer_bytes: usize,
        /// Tokens a model may write, for providers that require a limit.
        max_output_tokens: usize,
        /// Wait before the second attempt; it doubles with each further one.
        backoff: Span,
        /// Longest wait between attempts.
        backoff_max: Span,
        /// How long a provider that refused the key or reported missing credit is not called automatically.
        leave_alone: Span,
    }
);
section!(
    /// Thresholds of the heuristic model.
    HeuristicConfig {
        /// Minimum number of names that linked notes share, unless one of them is an identifier or has several words.
        link_names: usize,
        /// Strength of its links.
        link_strength: f64,
        /// Greatest number of new links of a note in one run.
        links_per_node: usize,
        /// Greatest number of new links in one run.
        max_links: usize,
        /// A note with this many neighbours is a hub and gets no further links.
        hub_degree: u32,
        /// Minimum similarity of two notes of which one repeats the other.
        twin_min_similarity: f64,
        /// Minimum number of related episodes to create an overview of.
        transfer_episodes: usize,
        /// Greatest number of overviews in one run.
        transfer_max: usize,
        /// Greatest share of all notes that an agent's overviews may make up.
        transfer_share: f64,
        /// Characters a section must have to become a note.
        split_min_chars: usize,
        /// Greatest number of parts in one run.
        split_max_parts: usize,
    }
);

/// A model an agent may name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ModelConfig {
    /// Name of the provider that serves it.
    pub provider: String,
    /// The provider's name of the model; for a `candle` provider the model file.
    pub id: String,
    /// US dollars per million input tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_price: Option<f64>,
    /// US dollars per million output tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_price: Option<f64>,
    /// US dollars per million tokens written to the provider's prompt cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_price: Option<f64>,
    /// US dollars per million tokens read from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read_price: Option<f64>,
    /// Tokens a prompt and its reply may have together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<usize>,
}

/// The ways a model can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProviderKind {
    /// No language model: similarity and structure of the graph alone.
    Heuristic,
    /// The Messages API of Anthropic.
    Anthropic,
    /// Any server that speaks OpenAI's chat completions.
    Openai,
    /// The server of llama.cpp.
    LlamaCpp,
    /// Ollama's own interface.
    Ollama,
    /// A program: prompt on its standard input, reply on its standard output.
    Command,
    /// Recorded replies.
    Replay,
    /// A GGUF file, run in this process.
    Candle,
}

/// A provider of models.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ProviderConfig {
    /// How it is reached.
    pub kind: ProviderKind,
    /// Root of its HTTP interface.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// Environment variable that holds its key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_env: Option<String>,
    /// File that holds its key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_file: Option<String>,
    /// Program and arguments of a `command` provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
    /// Names of further environment variables that a `command` provider gets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env: Option<Vec<String>>,
    /// Folder of recorded replies of a `replay` provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replies: Option<String>,
    /// Tokenizer file of a `candle` provider's models, when the model files contain none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokenizer: Option<String>,
    /// Sampling temperature of a `candle` provider's models; 0 always takes the likeliest token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Tokens a `candle` provider's models may write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<usize>,
    /// Threads of each model of a `candle` provider; 0 is one per core.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<usize>,
    /// Greatest number of concurrent calls; unlimited by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<usize>,
}
