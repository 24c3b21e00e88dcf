//! The sections of the settings, field by field.

use super::{EdgesConfig, QueryConfig, RecallConfig, ReinforceConfig, RerankConfig, RestConfig, RetrieveConfig, TenantSchema, WriteConfig};
use poc_graph::StructureOptions;
use poc_graph::error::{ErrorLocation, Error, Result};
use poc_graph::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

macro_rules! section {
    ($(#[$doc:meta])* $name:ident { $($(#[$fdoc:meta])* $field:ident: $type:ty),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "kebab-case", deny_unknown_fields)]
        pub struct $name { $($(#[$fdoc])* pub $field: $type),+ }
    };
}

section!(
    /// All of it.
    Config {
        /// Which embedder turns text into vectors.
        embedder: EmbedderConfig,
        /// Where `embed fetch` downloads models from.
        hub: HubConfig,
        /// The text index.
        text: TextConfig,
        /// The vector index.
        vectors: VectorsConfig,
        /// What is derived from the graph as a whole.
        structure: StructureConfig,
        /// The op `insert`.
        insert: InsertConfig,
        /// From which cosine on notes count as alike, by kind of embedder, which cosines belong to;
        /// `default` is for all others.
        cosines: BTreeMap<String, CosinesConfig>,
        /// The op `import`.
        import: ImportConfig,
        /// Weights and their decay.
        weight: WeightConfig,
        /// Weights of associative edges.
        edges: EdgesConfig,
        /// The op `write`.
        write: WriteConfig,
        /// The op `recall`.
        recall: RecallConfig,
        /// The ops `reinforce`, `demote` and `mark`.
        reinforce: ReinforceConfig,
        /// Nodes.
        nodes: NodesConfig,
        /// The op `search`.
        search: SearchConfig,
        /// Finding by meaning and by words together.
        retrieve: RetrieveConfig,
        /// What judges the best notes again.
        rerank: RerankConfig,
        /// The op `query`.
        query: QueryConfig,
        /// The op `explore`.
        explore: ExploreConfig,
        /// The op `changes`.
        changes: ChangesConfig,
        /// The op `view`.
        view: ViewConfig,
        /// The op `consolidate`.
        consolidate: ConsolidateConfig,
        /// Pipelines by the names they are used under: `@NAME`.
        pipelines: BTreeMap<String, SavedPipeline>,
        /// The Model Context Protocol.
        mcp: McpConfig,
        /// What tenants may be called.
        tenant_schema: TenantSchema,
        /// Agents as a whole.
        agents: AgentsConfig,
        /// What all agents together may spend.
        budget: BudgetConfig,
        /// The daemon.
        daemon: DaemonConfig,
        /// The memory over HTTP.
        rest: RestConfig,
        /// Calls of language models.
        calls: CallsConfig,
        /// The model that is none.
        heuristic: HeuristicConfig,
        /// Models by the names agents use.
        models: BTreeMap<String, ModelConfig>,
        /// Providers by the names models use.
        providers: BTreeMap<String, ProviderConfig>,
    }
);
section!(
    /// Which embedder.
    EmbedderConfig {
        /// `static`, `candle`, `http` or `hash`.
        kind: String,
        /// Of `static` a table of one's own, empty for the bundled one; of `candle` the folder of the model
        /// or its name on the hub; of `http` its name.
        model: String,
        /// Of `http`: the address in front of `/embeddings`.
        url: String,
        /// Of `http`: the variable that holds the key; empty when it takes none.
        key_env: String,
        /// Length of a vector of `hash` and of `http`.
        dimensions: usize,
    }
);
section!(
    /// The Hugging Face hub, or another that speaks as it does.
    HubConfig {
        /// Its address.
        url: String,
        /// The hosts it may send on to for what is large.
        hosts: Vec<String>,
    }
);
section!(
    /// From which cosine on notes count as alike, −1 to 1.
    CosinesConfig {
        /// Least cosine of a keyword edge.
        keyword: f64,
        /// Least cosine of a semantic edge.
        semantic: f64,
        /// Least cosine of a link candidate.
        candidate: f64,
        /// Least cosine of a link that the heuristic model proposes.
        link: f64,
        /// Such a link's cosine is at most this far below that of the node's best candidate.
        link_within: f64,
        /// From this cosine on, such a link needs no word in common.
        link_sure: f64,
        /// Least cosine of a pair of `interference-pairs` that names none.
        interference: f64,
        /// From this cosine on, it pairs nodes of one community, too.
        twin: f64,
    }
);

impl Config {
    /// The cosines of the embedder in use.
    pub fn cosines(&self) -> Result<&CosinesConfig> {
        let kind = &self.embedder.kind;
        self.cosines.get(kind).or_else(|| self.cosines.get("default")).ok_or_else(|| {
            Error::config(format!("there are no cosines for the embedder `{kind}`"))
                .hint("add a section `[cosines.default]`")
                .field("cosines")
        })
    }
}

section!(
    /// The text index.
    TextConfig {
        /// BM25's saturation.
        k1: f64,
        /// BM25's length normalisation, 0–1.
        b: f64,
        /// How often a term of a title counts where title and body are one text.
        title_weight: f64,
        /// Snowball language, or `none`.
        language: String,
    }
);
section!(
    /// The vector index.
    VectorsConfig {
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
    /// What is derived from the graph as a whole.
    StructureConfig {
        /// Dimensions of the spectral embedding, 1–64.
        dimensions: usize,
        /// Live nodes and edges together up to which derived structure is computed when it is asked
        /// for.
        exact_below: usize,
        /// Share of the edges that may have changed since a larger graph was computed, 0–1.
        max_drift: f64,
        /// How long the graph must not have changed before the daemon computes it anew.
        refresh_quiet: Span,
    }
);

impl StructureConfig {
    /// What decides whether something is computed.
    pub fn options(&self) -> StructureOptions {
        let StructureConfig { dimensions, exact_below, max_drift, .. } = *self;
        StructureOptions { dimensions, exact_below, max_drift }
    }
}

section!(
    /// The op `insert`.
    InsertConfig {
        /// Keyword edges per keyword.
        keyword_edges: usize,
        /// Nearest nodes considered for semantic edges.
        semantic_pool: usize,
        /// MMR's λ among them, 0–1.
        semantic_lambda: f64,
        /// Bytes of title, body and keywords a node may have.
        max_node_bytes: usize,
        /// Notes one call may store.
        max_notes: usize,
    }
);
section!(
    /// The op `import`.
    ImportConfig {
        /// Notes per transaction.
        chunk: usize,
    }
);
section!(
    /// Weights and their decay.
    WeightConfig {
        /// Least weight.
        floor: f64,
        /// Greatest weight.
        cap: f64,
        /// λ of exponential decay, per second.
        decay: f64,
        /// Factor on λ by category.
        category: CategoryDecayConfig,
    }
);
section!(
    /// Factors on the decay of each category.
    CategoryDecayConfig {
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
    NodesConfig {
        /// Types beside the built-in ones.
        types: Vec<String>,
    }
);
section!(
    /// The op `search`.
    SearchConfig {
        /// Stages behind the terms when none are given.
        pipeline: SavedPipeline,
    }
);
section!(
    /// The op `consolidate`.
    ConsolidateConfig {
        /// How long after its date a note is deleted for good.
        keep_expired: Span,
    }
);
section!(
    /// The op `changes`.
    ChangesConfig {
        /// Changes shown when no other number is asked for.
        limit: usize,
    }
);
section!(
    /// The op `view`.
    ViewConfig {
        /// Notes shown when no other number is asked for.
        limit: usize,
        /// Edges shown when no other number is asked for.
        max_edges: usize,
    }
);
section!(
    /// The op `explore`.
    ExploreConfig {
        /// Hops.
        depth: usize,
        /// Ways that go on after each hop.
        beam: usize,
        /// Notes after which no further hop is made.
        target_count: usize,
        /// Weight of meaning beside the strength of an edge.
        alpha: f64,
        /// What a hop leaves of a score, 0–1.
        gamma: f64,
        /// MMR's λ, and how much likeness to the way so far counts against a step, 0–1.
        mmr_lambda: f64,
    }
);
section!(
    /// The Model Context Protocol.
    McpConfig {
        /// Whether a model may delete notes for good.
        delete: bool,
        /// Whether the daemon serves it over HTTP, at the address of `[rest]`.
        http: bool,
        /// Sessions at once over HTTP.
        max_sessions: usize,
        /// How long a session may say nothing.
        session_timeout: Span,
    }
);

section!(
    /// Agents as a whole.
    AgentsConfig {
        /// Runs of different agents at the same time.
        max_concurrent_runs: usize,
        /// How long what is caught up is spread over.
        catch_up_spread: Span,
        /// How long notes are left alone before agents run that go by changes.
        change_quiet: Span,
        /// How long after the first change these run at the latest.
        change_latest: Span,
        /// Runs per agent whose prompt and reply are kept.
        keep_bodies: usize,
        /// Runs per agent whose row is kept.
        keep_rows: usize,
        /// Link candidates shown with each node of a prompt.
        candidates: usize,
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
    DaemonConfig {
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
        /// How long nothing must have been written before the daemon saves what the next start would
        /// have to take from the log.
        checkpoint_quiet: Span,
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
    CallsConfig {
        /// Until a connection stands.
        connect_timeout: Span,
        /// Between two pieces of an answer that has begun.
        read_timeout: Span,
        /// Bytes an answer may have.
        max_answer_bytes: usize,
        /// Tokens a model may write, where the provider wants a limit.
        max_output_tokens: usize,
        /// Wait before the second attempt; it doubles with each further one.
        backoff: Span,
        /// The longest such wait.
        backoff_max: Span,
        /// How long a provider that is not paid any more, or refused the key, is not asked by itself.
        leave_alone: Span,
    }
);
section!(
    /// The model that is none: what it takes for alike, for busy and for trivial.
    HeuristicConfig {
        /// Below it, the least weight of the rare words in common; 1 is one word no third note has.
        link_min_shared: f64,
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
        /// Episodes that must have something in common to be brought together.
        transfer_episodes: usize,
        /// Overviews in one run.
        transfer_max: usize,
        /// Share of the memory that an agent's overviews may have.
        transfer_share: f64,
        /// Characters a section must have to become a note.
        split_min_chars: usize,
        /// Parts in one run.
        split_max_parts: usize,
    }
);

/// A pipeline with a name. Whether its text is one is not checked here: a mistake in it must not
/// keep the program from anything else.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "String", into = "String")]
pub struct SavedPipeline {
    /// Its text.
    pub text: String,
    /// Where it is saved.
    pub at: ErrorLocation,
}

impl From<String> for SavedPipeline {
    fn from(text: String) -> Self {
        SavedPipeline { text, at: ErrorLocation::default() }
    }
}

impl From<SavedPipeline> for String {
    fn from(saved: SavedPipeline) -> Self {
        saved.text
    }
}

section!(
    /// What all agents together may spend.
    BudgetConfig {
        /// US dollars of the runs that begin on one day.
        max_usd_per_day: f64,
    }
);

/// A model an agent may name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ModelConfig {
    /// Name of the provider that serves it.
    pub provider: String,
    /// What the provider calls it; of a `candle` provider its file.
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

/// Where models come from.
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
    /// Environment variables that a `command` provider gets beside the usual ones, by their names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env: Option<Vec<String>>,
    /// Folder of recorded replies of a `replay` provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replies: Option<String>,
    /// File with the tokens of a `candle` provider's models, when theirs have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokenizer: Option<String>,
    /// How far a `candle` provider's models stray from what they find likeliest; 0 is not at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Tokens a `candle` provider's models may write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<usize>,
    /// Threads of each of a `candle` provider's models; 0 is one for each core.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<usize>,
    /// Calls at the same time; without it as many as there are runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<usize>,
}
