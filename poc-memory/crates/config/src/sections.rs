//! The sections of the settings, field by field.

use super::daemon::{AgentsConfig, BudgetConfig, DaemonConfig, McpConfig, NotifyConfig};
use super::history::HistoryRetention;
use super::hooks::{HooksConfig, TranscriptsConfig};
use super::learning::{EdgesConfig, RecallConfig, ReinforceConfig, WeightConfig, WriteConfig};
use super::models::{CallsConfig, HeuristicConfig, ModelConfig, ProviderConfig, ProviderKind};
use super::page::PageConfig;
use super::rest::RestConfig;
use super::retrieval::{QueryConfig, RerankConfig, RetrieveConfig};
use super::saved_pipeline::SavedPipeline;
use super::schedule::Schedule;
use super::section::section;
use super::store::StoreConfig;
use super::tenants::TenantSchema;
use super::toml_document::unknown_name_hint;
use poc_graph::StructureOptions;
use poc_graph::error::{Error, Result};
use poc_graph::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

section!(
    /// All settings.
    Config {
        /// The embedder, which turns text into vectors.
        embedder: EmbedderConfig,
        /// The hub from which `embed fetch` downloads models.
        hub: HubConfig,
        /// The text index.
        text: TextConfig,
        /// The vector index.
        vectors: VectorsConfig,
        /// Structure derived from the graph as a whole.
        structure: StructureConfig,
        /// The op `insert`.
        insert: InsertConfig,
        /// Cosine thresholds by kind of embedder, because cosines of different embedders are not comparable;
        /// `default` applies to all others.
        cosines: BTreeMap<String, CosinesConfig>,
        /// The op `import`.
        import: ImportConfig,
        /// The weights of notes and their decay.
        weight: WeightConfig,
        /// The weights of associative edges and their decay.
        edges: EdgesConfig,
        /// The op `write`.
        write: WriteConfig,
        /// The op `forget`.
        forget: ForgetConfig,
        /// The op `recall`.
        recall: RecallConfig,
        /// The ops `reinforce`, `demote` and `mark`.
        reinforce: ReinforceConfig,
        /// The types of notes.
        nodes: NodesConfig,
        /// The op `search`.
        search: SearchConfig,
        /// Hybrid retrieval, which combines vector search and text search.
        retrieve: RetrieveConfig,
        /// The cross-encoder that rescores the best notes.
        rerank: RerankConfig,
        /// The op `query`.
        query: QueryConfig,
        /// The op `explore`.
        explore: ExploreConfig,
        /// The op `list`.
        list: ListConfig,
        /// The op `tags`.
        tags: TagsConfig,
        /// The op `backlinks`.
        backlinks: BacklinksConfig,
        /// The op `stats`.
        stats: StatsConfig,
        /// The op `duplicates`.
        duplicates: DuplicatesConfig,
        /// The op `changes`.
        changes: ChangesConfig,
        /// The op `view`.
        view: ViewConfig,
        /// The op `consolidate`.
        consolidate: ConsolidateConfig,
        /// The command `backup`.
        backup: BackupConfig,
        /// The history of the memory.
        history: HistoryConfig,
        /// The location of the log.
        store: StoreConfig,
        /// Saved pipelines by name, used as `@NAME`.
        pipelines: BTreeMap<String, SavedPipeline>,
        /// The server for the Model Context Protocol.
        mcp: McpConfig,
        /// Hooks of assistants, which add notes to a conversation.
        hooks: HooksConfig,
        /// The transcripts of assistants.
        transcripts: TranscriptsConfig,
        /// The keys and values that tenants may have.
        tenant_schema: TenantSchema,
        /// Settings shared by all agents.
        agents: AgentsConfig,
        /// The budget that all agents share.
        budget: BudgetConfig,
        /// The daemon process and its socket.
        daemon: DaemonConfig,
        /// Notifications to a person about problems of the daemon.
        notify: NotifyConfig,
        /// The REST interface.
        rest: RestConfig,
        /// The web page of the daemon.
        page: PageConfig,
        /// How language models are called.
        calls: CallsConfig,
        /// The heuristic model, which uses no language model.
        heuristic: HeuristicConfig,
        /// Language models, by the names that agents use.
        models: BTreeMap<String, ModelConfig>,
        /// Providers, by the names that models use.
        providers: BTreeMap<String, ProviderConfig>,
    }
);
section!(
    /// The embedder.
    EmbedderConfig {
        /// The kind of embedder: `static`, `candle`, `http` or `hash`.
        kind: String,
        /// For `static`: the file of a custom table, or empty for the built-in one. For `candle`: the folder of the
        /// model, or its name on the hub. For `http`: the name of the model.
        model: String,
        /// For `http`: the base URL, to which `/embeddings` is appended.
        url: String,
        /// For `http`: the environment variable with the API key; empty if none is needed.
        key_env: String,
        /// For `hash` and `http`: number of dimensions of a vector.
        dimensions: usize,
        /// For `http`: time limit for a request of up to 64 texts, including all attempts.
        timeout: Span,
        /// For `http`: maximum number of concurrent requests. Further requests wait, and fail if no other request
        /// succeeds within `timeout`.
        concurrency: usize,
    }
);
section!(
    /// The Hugging Face hub or a compatible server.
    HubConfig {
        /// The URL of the hub.
        url: String,
        /// Hosts to which the hub may redirect downloads of large files.
        hosts: Vec<String>,
    }
);
section!(
    /// Cosine thresholds, −1 to 1.
    CosinesConfig {
        /// Minimum cosine of a keyword edge.
        keyword: f64,
        /// Minimum cosine of a semantic edge.
        semantic: f64,
        /// Minimum cosine of a link candidate.
        candidate: f64,
        /// Minimum cosine of sessions that the heuristic model summarises together.
        link: f64,
        /// Default minimum cosine of `interference-pairs`.
        interference: f64,
        /// Cosine from which `interference-pairs` also includes pairs within one community.
        twin: f64,
    }
);

impl EmbedderConfig {
    /// The kinds of embedders.
    const KINDS: [&str; 4] = ["static", "candle", "http", "hash"];

    /// Checks that the kind of embedder exists.
    pub(super) fn check(&self) -> Result<()> {
        if EmbedderConfig::KINDS.contains(&self.kind.as_str()) {
            return Ok(());
        }
        let hint = unknown_name_hint(&self.kind, EmbedderConfig::KINDS.into_iter(), "the embedders are");
        Err(Error::config(format!("unknown embedder `{}`", self.kind)).hint(hint).field("embedder.kind"))
    }
}

impl NodesConfig {
    /// Checks that pipelines can name the types.
    pub(super) fn check(&self) -> Result<()> {
        let wrong = |message: String, hint| Err(Error::config(message).hint(hint).field("nodes.types"));
        let is_special = |char: char| {
            char.is_whitespace() || char.is_control() || matches!(char, ':' | ',' | '|' | '"' | '\'' | '`')
        };
        for name in &self.types {
            if name.is_empty() {
                return wrong("the name of a type is empty".to_owned(), "give a name such as `decision`");
            }
            if name.contains(is_special) {
                let hint = "leave out spaces, quotes and the characters `:`, `,` and `|`";
                return wrong(format!("`{}` cannot be the name of a type", name.escape_debug()), hint);
            }
        }
        Ok(())
    }
}

impl Config {
    /// The thresholds for the configured embedder.
    pub fn cosines(&self) -> Result<&CosinesConfig> {
        let kind = &self.embedder.kind;
        self.cosines.get(kind).or_else(|| self.cosines.get("default")).ok_or_else(|| {
            Error::config(format!("there are no cosine thresholds for the embedder `{kind}`"))
                .hint("add a section `[cosines.default]`")
                .field("cosines")
        })
    }

    /// Whether the model with a configured name is no language model.
    pub fn is_heuristic(&self, model: &str) -> bool {
        let provider = self.models.get(model).and_then(|model| self.providers.get(&model.provider));
        provider.is_some_and(|provider| provider.kind == ProviderKind::Heuristic)
    }
}

section!(
    /// The text index.
    TextConfig {
        /// BM25 parameter k1: how slowly repeated terms saturate.
        k1: f64,
        /// BM25 parameter b: the degree of length normalisation, 0–1.
        b: f64,
        /// How many times a term of the title counts where title and body are indexed as one text.
        title_weight: f64,
        /// Language of the Snowball stemmer, or `none`.
        language: String,
    }
);
section!(
    /// The vector index.
    VectorsConfig {
        /// Number of vectors up to which every search is exact.
        exact_below: usize,
        /// Number of links per element in the HNSW index (M).
        connectivity: usize,
        /// Number of candidates when adding to the HNSW index (ef_construction).
        expansion_add: usize,
        /// Number of candidates when searching the HNSW index (ef).
        expansion_search: usize,
        /// Number of words in a passage.
        passage_words: usize,
        /// Number of words from the start of one passage to the start of the next.
        passage_stride: usize,
    }
);
section!(
    /// Values derived from the graph as a whole, such as communities.
    StructureConfig {
        /// Dimensions of the spectral embedding, 1–64.
        dimensions: usize,
        /// Number of live notes plus edges up to which derived values are always computed for the current graph.
        exact_below: usize,
        /// In a larger graph: share of changed edges, 0–1, from which derived values are recomputed.
        max_drift: f64,
        /// How long the graph must be unchanged before the daemon recomputes derived values.
        refresh_quiet: Span,
    }
);

impl StructureConfig {
    /// The settings that decide whether derived structure is reused or computed.
    pub fn options(&self) -> StructureOptions {
        let StructureConfig { dimensions, exact_below, max_drift, .. } = *self;
        StructureOptions { dimensions, exact_below, max_drift }
    }
}

section!(
    /// The op `insert`.
    InsertConfig {
        /// Maximum number of keyword edges per keyword.
        keyword_edges: usize,
        /// Number of nearest notes considered for semantic edges.
        semantic_pool: usize,
        /// MMR's λ for choosing among the nearest notes, 0–1; 1 ignores their diversity.
        semantic_lambda: f64,
        /// Maximum size of a note, in bytes of title, body and keywords.
        max_node_bytes: usize,
        /// Maximum number of keywords of a note. The index is searched for each of them.
        max_keywords: usize,
        /// Maximum number of notes that one call may store.
        max_notes: usize,
    }
);
section!(
    /// The op `import`.
    ImportConfig {
        /// Number of notes per transaction.
        chunk: usize,
    }
);
section!(
    /// The types of notes.
    NodesConfig {
        /// Types in addition to the built-in ones.
        types: Vec<String>,
    }
);
section!(
    /// The op `search`.
    SearchConfig {
        /// Stages appended to the words of a query that has no stages.
        pipeline: SavedPipeline,
        /// Number of notes found by a query with words and stages, unless the stages or the query set another number.
        limit: usize,
        /// Minimum score of a hit if the query has neither stages nor a number of notes. The first hit is always kept.
        min_score: f64,
        /// Maximum number of characters of a question and of a pipeline.
        max_question_chars: usize,
    }
);
section!(
    /// The op `forget`.
    ForgetConfig {
        /// Minimum age of messages that a call deletes by date. Younger ones are deleted only individually, unless a
        /// person asks for recent ones.
        min_age: Span,
    }
);
section!(
    /// The op `consolidate`.
    ConsolidateConfig {
        /// When the daemon consolidates all tenants, in the format of an agent's schedule; `on-demand` disables it.
        schedule: String,
        /// How long expired notes are kept before they are deleted permanently.
        keep_expired: Span,
    }
);

impl ConsolidateConfig {
    /// The name from which unspecified times of the schedule are derived, as an agent's name is for its schedule.
    pub const NAME: &str = "consolidate";

    /// The parsed schedule.
    ///
    /// # Errors
    /// `invalid_config` if the setting is not a schedule or is `on-change`.
    pub fn schedule(&self) -> Result<Schedule> {
        let field = "consolidate.schedule";
        match Schedule::parse_timed(&self.schedule, Self::NAME).map_err(|error| error.field(field))? {
            Schedule::OnChange => Err(Error::config("`on-change` is for agents only")
                .hint("write a schedule such as `daily`, or `on-demand` for never")
                .field(field)),
            schedule => Ok(schedule),
        }
    }
}

section!(
    /// The command `backup`.
    BackupConfig {
        /// Number of generations that a backup folder keeps.
        keep: usize,
    }
);
section!(
    /// The history of the memory.
    HistoryConfig {
        /// How much history a compaction keeps: `all`, or a duration.
        keep: HistoryRetention,
    }
);
section!(
    /// The op `list`.
    ListConfig {
        /// Default number of notes shown.
        limit: usize,
    }
);
section!(
    /// The op `tags`.
    TagsConfig {
        /// Default number of keywords shown.
        limit: usize,
    }
);
section!(
    /// The op `backlinks`.
    BacklinksConfig {
        /// Default number of notes shown.
        limit: usize,
    }
);
section!(
    /// The op `stats`.
    StatsConfig {
        /// Default number of tenants listed.
        limit: usize,
    }
);
section!(
    /// The op `duplicates`.
    DuplicatesConfig {
        /// Default number of pairs shown.
        limit: usize,
        /// Minimum Jaccard similarity of the words of a pair, 0–1: the shared words as a share of all words of both
        /// notes.
        min_words: f64,
    }
);
section!(
    /// The op `changes`.
    ChangesConfig {
        /// Default number of changes shown.
        limit: usize,
    }
);
section!(
    /// The op `view`.
    ViewConfig {
        /// Default number of notes shown.
        limit: usize,
        /// Default maximum number of edges shown.
        max_edges: usize,
    }
);
section!(
    /// The op `explore`.
    ExploreConfig {
        /// Maximum number of hops.
        depth: usize,
        /// Number of paths kept after each hop (beam width).
        beam: usize,
        /// Number of notes found after which no further hop is made.
        target_count: usize,
        /// Weight of similarity relative to the strength of an edge, 0–1.
        alpha: f64,
        /// Factor by which a score is multiplied at each hop, 0–1.
        gamma: f64,
        /// MMR's λ, 0–1, which is also the penalty for similarity to the path so far.
        mmr_lambda: f64,
    }
);
