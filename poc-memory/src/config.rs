//! What the operator may tune: compiled defaults, then `config.toml`, then the environment.
//!
//! Defaults live in `defaults/config.toml` and nowhere else; no field here has one of its own.

use crate::error::{At, Error, Result};
use crate::time::Span;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use toml::{Table, Value};

/// The compiled-in defaults, with a comment on every line that needs one.
pub const DEFAULTS: &str = include_str!("../../defaults/config.toml");

/// Prefix of the environment's layer: `POC_MEMORY__SECTION__KEY=value`.
const ENVIRONMENT: &str = "POC_MEMORY__";

macro_rules! section {
    ($(#[$doc:meta])* $name:ident { $($(#[$fdoc:meta])* $field:ident: $type:ty),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case", deny_unknown_fields)]
        pub struct $name { $($(#[$fdoc])* pub $field: $type),+ }
    };
}

section!(
    /// All of it.
    Config {
        /// Which embedder turns text into vectors.
        embedder: Embedder,
        /// The text index.
        text: Text,
        /// The vector index.
        vectors: Vectors,
        /// The op `insert`.
        insert: Insert,
        /// The op `import`.
        import: Import,
        /// Weights and their decay.
        weight: Weight,
        /// Nodes.
        nodes: Nodes,
        /// The op `search`.
        search: Search,
        /// Agents as a whole.
        agents: Agents,
        /// The daemon.
        daemon: Daemon,
        /// Calls of language models.
        calls: Calls,
        /// The model that is none.
        heuristic: Heuristic,
        /// Models by the names agents use.
        models: BTreeMap<String, Model>,
        /// Providers by the names models use.
        providers: BTreeMap<String, Provider>,
    }
);
section!(
    /// Which embedder.
    Embedder {
        /// `hash`.
        kind: String,
        /// Length of a vector.
        dimensions: usize,
    }
);
section!(
    /// The text index.
    Text {
        /// BM25's saturation.
        k1: f64,
        /// BM25's length normalisation, 0–1.
        b: f64,
        /// Snowball language, or `none`.
        language: String,
    }
);
section!(
    /// The vector index.
    Vectors {
        /// Vectors below which every search is exact.
        exact_below: usize,
        /// HNSW links per element (M).
        connectivity: usize,
        /// HNSW candidates when adding (ef_construction).
        expansion_add: usize,
        /// HNSW candidates when searching (ef).
        expansion_search: usize,
        /// Words in a passage.
        passage_words: usize,
        /// Words from the start of one passage to the next.
        passage_stride: usize,
    }
);
section!(
    /// The op `insert`.
    Insert {
        /// Keyword edges per keyword.
        keyword_edges: usize,
        /// Least cosine of a keyword edge.
        keyword_min_cosine: f64,
        /// Nearest nodes considered for semantic edges.
        semantic_pool: usize,
        /// Least cosine of a semantic edge.
        semantic_min_cosine: f64,
        /// MMR's λ among them, 0–1.
        semantic_lambda: f64,
        /// Bytes of title, body and keywords a node may have.
        max_node_bytes: usize,
    }
);
section!(
    /// The op `import`.
    Import {
        /// Notes per transaction.
        chunk: usize,
    }
);
section!(
    /// Weights and their decay.
    Weight {
        /// Least weight.
        floor: f64,
        /// Greatest weight.
        cap: f64,
        /// λ of exponential decay, per second.
        decay: f64,
        /// Factor on λ by category.
        category: CategoryDecay,
    }
);
section!(
    /// Factors on the decay of each category.
    CategoryDecay {
        /// For `core`.
        core: f64,
        /// For `general`.
        general: f64,
        /// For `technical`.
        technical: f64,
        /// For `observation`.
        observation: f64,
        /// For `task`.
        task: f64,
    }
);
section!(
    /// Nodes.
    Nodes {
        /// Types beside the built-in ones.
        types: Vec<String>,
    }
);
section!(
    /// The op `search`.
    Search {
        /// Stages behind the terms when none are given.
        pipeline: String,
    }
);
section!(
    /// Agents as a whole.
    Agents {
        /// Runs of different agents at the same time.
        max_concurrent_runs: usize,
        /// Runs per agent whose prompt and reply are kept.
        keep_bodies: usize,
        /// Runs per agent whose row is kept.
        keep_rows: usize,
        /// Link candidates shown with each node of a prompt.
        candidates: usize,
        /// Least cosine of a candidate.
        candidate_min_cosine: f64,
        /// Characters of a candidate's text in a prompt.
        candidate_chars: usize,
        /// How long rendering a prompt may take.
        render_timeout: Span,
        /// Bytes a rendered prompt may have.
        render_max_bytes: usize,
    }
);
section!(
    /// The daemon.
    Daemon {
        /// Greatest frame on the socket.
        max_frame_bytes: usize,
        /// Connections at once.
        max_connections: usize,
        /// Requests at once on one connection.
        max_in_flight: usize,
        /// How long either side of a connection may take to say hello.
        handshake_timeout: Span,
        /// How long running work may go on at shutdown.
        shutdown_grace: Span,
        /// Quiet time after a file event before a reload.
        reload_quiet: Span,
        /// A reload starts at most this long after the first event.
        reload_latest: Span,
        /// A scan happens this often without any event.
        reload_poll: Span,
        /// How often the scheduler looks for due work.
        heartbeat: Span,
    }
);
section!(
    /// Calls of language models.
    Calls {
        /// Until a connection stands.
        connect_timeout: Span,
        /// Bytes an answer may have.
        max_answer_bytes: usize,
        /// Tokens a model may write, where the provider wants a limit.
        max_output_tokens: usize,
        /// Wait before the second attempt; it doubles with each further one.
        backoff: Span,
        /// The longest such wait.
        backoff_max: Span,
    }
);
section!(
    /// The model that is none: what it takes for alike, for busy and for trivial.
    Heuristic {
        /// Least cosine of a link.
        link_min_cosine: f64,
        /// A link's cosine is at most this far below that of the node's best candidate.
        link_within: f64,
        /// From this cosine on, a link needs no word in common.
        link_sure_cosine: f64,
        /// Links a node gets in one run.
        links_per_node: usize,
        /// Links in one run.
        max_links: usize,
        /// A node with this many neighbours is a hub and gets no more.
        hub_degree: u32,
        /// Least similarity of two notes of which one repeats the other.
        twin_min_similarity: f64,
        /// A chosen node with this many neighbours gains weight …
        busy_degree: u32,
        /// … until it weighs this much.
        busy_weight: f64,
        /// A text of fewer characters, without links or keywords, is trivial.
        trivial_chars: usize,
        /// Only when the node is at least this old.
        trivial_age: Span,
        /// What a weight gains or loses.
        weight_step: f64,
    }
);

/// A model an agent may name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Model {
    /// Name of the provider that serves it.
    pub provider: String,
    /// What the provider calls it.
    pub id: String,
    /// US dollars per million input tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_price: Option<f64>,
    /// US dollars per million output tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_price: Option<f64>,
    /// Tokens a prompt and its reply may have together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<usize>,
}

/// The ways a model can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProviderKind {
    /// No language model: similarity and structure of the graph alone.
    Heuristic,
    /// The Messages API of Anthropic.
    Anthropic,
    /// Any server that speaks OpenAI's chat completions.
    Openai,
    /// A program: prompt on its standard input, reply on its standard output.
    Command,
    /// Recorded replies.
    Replay,
}

/// Where models come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Provider {
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
    /// Folder of recorded replies of a `replay` provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replies: Option<String>,
}

impl Config {
    /// The defaults alone.
    pub fn defaults() -> Result<Config> {
        Config::layered(None, std::iter::empty())
    }

    /// Defaults, then the file if it exists, then the environment.
    pub fn load(file: &Path) -> Result<Config> {
        let name = file.display().to_string();
        let text = match std::fs::read_to_string(file) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(Error::config(format!("cannot be read: {error}")).file(name)),
        };
        Config::layered(text.as_deref().map(|text| (name.as_str(), text)), std::env::vars())
    }

    /// Defaults, then the text of a file with its name, then variables.
    pub fn layered(
        file: Option<(&str, &str)>,
        variables: impl Iterator<Item = (String, String)>,
    ) -> Result<Config> {
        let mut merged: Table = parse("defaults/config.toml", DEFAULTS)?;
        if let Some((name, text)) = file {
            let layer: Table = parse(name, text)?;
            merge(&mut merged, layer);
            deserialize(merged.clone()).map_err(|problem| problem.place(name, text))?;
        }
        for (variable, value) in variables {
            if let Some(path) = variable.strip_prefix(ENVIRONMENT) {
                let path: Vec<String> =
                    path.split("__").map(|part| part.to_lowercase().replace('_', "-")).collect();
                put(&mut merged, &path, scalar(&value));
                deserialize(merged.clone()).map_err(|problem| problem.in_variable(&variable))?;
            }
        }
        let config =
            deserialize(merged).map_err(|problem| problem.place("defaults/config.toml", DEFAULTS))?;
        config.check()?;
        Ok(config)
    }

    /// The node types this store knows.
    pub fn node_types(&self) -> impl Iterator<Item = &str> {
        crate::graph::NodeType::BUILT_IN.into_iter().chain(self.nodes.types.iter().map(String::as_str))
    }

    fn check(&self) -> Result<()> {
        for (name, model) in &self.models {
            if !self.providers.contains_key(&model.provider) {
                return Err(Error::config(format!(
                    "model `{name}` names the provider `{}`, which is not configured",
                    model.provider
                ))
                .hint(format!("add a section `[providers.{}]`", model.provider))
                .field(format!("models.{name}.provider")));
            }
        }
        Ok(())
    }
}

/// A problem with the path of the key it is about.
struct Problem {
    path: String,
    message: String,
}

impl Problem {
    /// The error, placed at the key in the text of the file.
    fn place(self, name: &str, text: &str) -> Error {
        let at = locate(text, &self.path).map_or_else(At::default, |offset| At::offset(text, offset));
        Error::config(self.message).at(At { file: Some(name.into()), field: Some(self.path), ..at })
    }

    fn in_variable(self, variable: &str) -> Error {
        Error::config(self.message).field(variable)
    }
}

fn parse(name: &str, text: &str) -> Result<Table> {
    toml::from_str(text).map_err(|error| {
        let at = error.span().map_or_else(At::default, |span| At::offset(text, span.start));
        Error::config(error.message().to_owned()).at(At { file: Some(name.into()), ..at })
    })
}

fn deserialize(table: Table) -> std::result::Result<Config, Problem> {
    serde_path_to_error::deserialize(Value::Table(table)).map_err(|error| {
        let mut path = error.path().to_string();
        let message = error.into_inner().message().to_owned();
        // Serde names the unknown key only in its message; the path stops at the table.
        if let Some(key) = message.strip_prefix("unknown field `").and_then(|rest| rest.split('`').next())
            && path.rsplit('.').next() != Some(key)
        {
            path = if path == "." { key.to_owned() } else { format!("{path}.{key}") };
        }
        Problem { path, message }
    })
}

/// The byte offset of the key with a dotted path.
fn locate(text: &str, path: &str) -> Option<usize> {
    let document = toml::de::DeTable::parse(text).ok()?;
    let mut table = document.get_ref();
    let mut offset = None;
    for part in path.split('.') {
        let (key, value) = table.iter().find(|(key, _)| key.get_ref().as_ref() == part)?;
        offset = Some(key.span().start);
        match value.get_ref() {
            toml::de::DeValue::Table(inner) => table = inner,
            _ => break,
        }
    }
    offset
}

fn merge(into: &mut Table, layer: Table) {
    for (key, value) in layer {
        match (into.get_mut(&key), value) {
            (Some(Value::Table(inner)), Value::Table(layer)) => merge(inner, layer),
            (_, value) => {
                into.insert(key, value);
            }
        }
    }
}

fn put(table: &mut Table, path: &[String], value: Value) {
    match path {
        [] => {}
        [key] => {
            table.insert(key.clone(), value);
        }
        [key, rest @ ..] => {
            let inner = table.entry(key.clone()).or_insert_with(|| Value::Table(Table::new()));
            if let Value::Table(inner) = inner {
                put(inner, rest, value);
            }
        }
    }
}

/// A variable's text as the TOML value it spells, else as a string.
fn scalar(text: &str) -> Value {
    toml::from_str::<Table>(&format!("value = {text}"))
        .ok()
        .and_then(|mut table| table.remove("value"))
        .unwrap_or_else(|| Value::String(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(text: &str) -> Result<Config> {
        Config::layered(Some(("config.toml", text)), std::iter::empty())
    }

    #[test]
    fn the_defaults_are_complete() {
        Config::defaults().unwrap();
    }

    #[test]
    fn a_file_changes_only_what_it_names() {
        let config = with("[text]\nk1 = 1.2\n").unwrap();
        assert_eq!((config.text.k1, config.text.b), (1.2, 0.4));
    }

    #[test]
    fn an_unknown_key_is_placed() {
        let error = with("[text]\nk1 = 1.2\nlangauge = \"german\"\n").unwrap_err();
        let at = error.at.clone().unwrap();
        assert_eq!((at.line, at.column, at.file.as_deref()), (Some(3), Some(1), Some("config.toml")));
        assert!(error.message.contains("langauge"), "{error}");
    }

    #[test]
    fn the_environment_comes_last() {
        let variables = [("POC_MEMORY__VECTORS__EXACT_BELOW".to_owned(), "7".to_owned())];
        let config =
            Config::layered(Some(("c", "[vectors]\nexact-below = 9\n")), variables.into_iter()).unwrap();
        assert_eq!(config.vectors.exact_below, 7);
    }
}
