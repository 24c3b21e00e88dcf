//! The sections of the settings, field by field.

use super::daemon::{AgentsConfig, BudgetConfig, DaemonConfig, McpConfig, NotifyConfig};
use super::history::HistoryRetention;
use super::hooks::{HooksConfig, TranscriptsConfig};
use super::learning::{EdgesConfig, RecallConfig, ReinforceConfig, WeightConfig, WriteConfig};
use super::models::{CallsConfig, HeuristicConfig, ModelConfig, ProviderConfig};
use super::page::PageConfig;
use super::rest::RestConfig;
use super::retrieval::{QueryConfig, RerankConfig, RetrieveConfig};
use super::saved_pipeline::SavedPipeline;
use super::schedule::Schedule;
use super::section::section;
use super::store::StoreConfig;
use super::tenants::TenantSchema;
use poc_graph::StructureOptions;
use poc_graph::error::{Error, Result};
use poc_graph::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

section!(
    /// All settings.
    Config {
        /// Which embedder turns text into vectors.
        embedder: EmbedderConfig,
        /// Where `embed fetch` downloads models from.
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
        /// Weights and their decay.
        weight: WeightConfig,
        /// Weights of associative edges.
        edges: EdgesConfig,
        /// The op `write`.
        write: WriteConfig,
        /// The op `forget`.
        forget: ForgetConfig,
        /// The op `recall`.
        recall: RecallConfig,
        /// The ops `reinforce`, `demote` and `mark`.
        reinforce: ReinforceConfig,
        /// Nodes.
        nodes: NodesConfig,
        /// The op `search`.
        search: SearchConfig,
        /// Hybrid retrieval by meaning and by words.
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
        /// Where the log is.
        store: StoreConfig,
        /// Saved pipelines by name, used as `@NAME`.
        pipelines: BTreeMap<String, SavedPipeline>,
        /// The Model Context Protocol.
        mcp: McpConfig,
        /// What the hooks of assistants add to a conversation.
        hooks: HooksConfig,
        /// The transcripts of assistants.
        transcripts: TranscriptsConfig,
        /// Which keys and values tenants may have.
        tenant_schema: TenantSchema,
        /// Agents as a whole.
        agents: AgentsConfig,
        /// The budget of all agents together.
        budget: BudgetConfig,
        /// The daemon.
        daemon: DaemonConfig,
        /// Messages to a person about problems of the daemon.
        notify: NotifyConfig,
        /// The REST interface.
        rest: RestConfig,
        /// The page in the browser.
        page: PageConfig,
        /// Calls of language models.
        calls: CallsConfig,
        /// The heuristic model, which uses no language model.
        heuristic: HeuristicConfig,
        /// Models by the names agents use.
        models: BTreeMap<String, ModelConfig>,
        /// Providers by the names models use.
        providers: BTreeMap<String, ProviderConfig>,
    }
);
section!(
    /// The embedder.
    EmbedderConfig {
        /// `static`, `candle`, `http` or `hash`.
        kind: String,
        /// For `static` a table of your own, or empty for the bundled one; for `candle` the folder of the model
        /// or its name on the hub; for `http` the name of the model.
        model: String,
        /// For `http`: the base address, to which `/embeddings` is appended.
        url: String,
        /// For `http`: the environment variable with the API key; empty when none is needed.
        key_env: String,
        /// For `hash` and `http`: dimensions of a vector.
        dimensions: usize,
        /// For `http`: how long a request of up to 64 texts may take, with all its attempts.
        timeout: Span,
        /// For `http`: greatest number of concurrent requests. Further requests wait, and fail if no other
        /// request succeeds within `timeout`.
        concurrency: usize,
    }
);
section!(
    /// The Hugging Face hub or a compatible one.
    HubConfig {
        /// Its address.
        url: String,
        /// Hosts to which it may redirect downloads of large files.
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
        /// Minimum cosine of sessions that the heuristic model summarizes together.
        link: f64,
        /// Minimum cosine of `interference-pairs` when the call gives none.
        interference: f64,
        /// From this cosine on, it also pairs notes of the same community.
        twin: f64,
    }
);

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
}

section!(
    /// The text index.
    TextConfig {
        /// BM25's saturation.
        k1: f64,
        /// BM25's length normalisation, 0–1.
        b: f64,
        /// How many times a title term counts where title and body are indexed as one text.
        title_weight: f64,
        /// Snowball language, or `none`.
        language: String,
    }
);
section!(
    /// The vector index.
    VectorsConfig {
        /// Up to this many vectors, every search is exact.
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
        /// Up to this many live notes and edges together, derived structure is always computed for the current
        /// graph.
        exact_below: usize,
        /// Share of the edges of a larger graph that may have changed before its structure is recomputed, 0–1.
        max_drift: f64,
        /// How long the graph must be unchanged before the daemon recomputes its structure.
        refresh_quiet: Span,
    }
);

impl StructureConfig {
    /// The options that decide whether derived structure is reused or computed.
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
        /// Nearest notes considered for semantic edges.
        semantic_pool: usize,
        /// MMR's λ when choosing among them, 0–1.
        semantic_lambda: f64,
        /// Bytes of title, body and keywords a note may have.
        max_node_bytes: usize,
        /// Keywords a note may have. The index is searched for each of them.
        max_keywords: usize,
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
    /// Nodes.
    NodesConfig {
        /// Types beside the built-in ones.
        types: Vec<String>,
    }
);
section!(
    /// The op `search`.
    SearchConfig {
        /// Stages appended to the terms when the query has no stages.
        pipeline: SavedPipeline,
        /// Notes of a search with words and stages, unless the stages or the query set another number.
        limit: usize,
        /// Minimum score of a hit when the query has no stages and no number of notes. The first hit is always kept.
        min_score: f64,
        /// Characters that a question, or a pipeline, may have.
        max_question_chars: usize,
    }
);
section!(
    /// The op `forget`.
    ForgetConfig {
        /// Messages younger than this are deleted only one by one, unless a person asks for recent ones.
        min_age: Span,
    }
);
section!(
    /// The op `consolidate`.
    ConsolidateConfig {
        /// When the daemon consolidates all tenants, as the schedule of an agent; `on-demand` disables it.
        schedule: String,
        /// How long expired notes are kept before they are permanently deleted.
        keep_expired: Span,
    }
);

impl ConsolidateConfig {
    /// Derives the times that the schedule leaves open, as the name of an agent does for the agent.
    pub const NAME: &str = "consolidate";

    /// The parsed schedule.
    ///
    /// # Errors
    /// `invalid_config` when it is not a schedule, or is `on-change`.
    pub fn schedule(&self) -> Result<Schedule> {
        let field = "consolidate.schedule";
        match Schedule::parse(&self.schedule, Self::NAME).map_err(|error| error.field(field))? {
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
        /// How many generations a backup folder keeps.
        keep: usize,
    }
);
section!(
    /// The history of the memory.
    HistoryConfig {
        /// How much of it a compaction keeps.
        keep: HistoryRetention,
    }
);
section!(
    /// The op `list`.
    ListConfig {
        /// Notes shown when no other number is asked for.
        limit: usize,
    }
);
section!(
    /// The op `tags`.
    TagsConfig {
        /// Keywords shown when no other number is asked for.
        limit: usize,
    }
);
section!(
    /// The op `duplicates`.
    DuplicatesConfig {
        /// Pairs shown when no other number is asked for.
        limit: usize,
        /// Minimum share of words that both notes of a pair have, of those that either has, 0–1.
        min_words: f64,
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
        /// Paths kept after each hop.
        beam: usize,
        /// No further hop is made once this many notes are found.
        target_count: usize,
        /// Weight of the meaning relative to the strength of an edge.
        alpha: f64,
        /// The factor a score is multiplied by at each hop, 0–1.
        gamma: f64,
        /// MMR's λ, and the penalty for similarity to the path so far, 0–1.
        mmr_lambda: f64,
    }
);
