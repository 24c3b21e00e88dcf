//! The settings, in three layers: built-in defaults, then `config.toml`, then the environment.
//!
//! `defaults/config.toml` is the only place with default values; the fields here have none.

pub mod atomic_write;
pub mod bounds;
mod daemon;
mod defaults;
pub mod endpoint;
mod error_recovery;
pub mod files;
#[cfg(any(fuzzing, test))]
pub mod fuzzing;
mod history;
mod hooks;
mod layer;
mod learning;
mod load;
mod models;
mod origin;
mod page;
pub mod paths;
mod pattern;
mod reload;
mod rest;
mod retrieval;
mod saved_pipeline;
pub mod schedule;
mod schema;
mod section;
mod sections;
mod serde_message;
mod store;
mod tenants;
pub mod token_files;
pub mod toml_document;

pub use daemon::{
    AgentsConfig, BudgetConfig, DaemonConfig, McpConfig, NotifyConfig, RunnableAgents, ToolSet,
};
pub use defaults::DEFAULTS;
pub use history::HistoryRetention;
pub use hooks::{HookGate, HookScope, HooksConfig, TranscriptsConfig};
pub use learning::{
    CategoryDecayConfig, EdgeDecayConfig, EdgesConfig, RecallConfig, ReinforceConfig, WeightConfig,
    WriteConfig,
};
pub use load::{SettingsCheck, SettingsWithMistakes};
pub use models::{CallsConfig, HeuristicConfig, ModelConfig, ProviderConfig, ProviderKind};
pub use origin::{DEFAULT_ORIGIN, Setting, settings, settings_with_mistakes};
pub use page::PageConfig;
pub use pattern::Pattern;
pub use reload::RELOADED_SECTIONS;
pub use rest::RestConfig;
pub use retrieval::{
    FusedConfig, Fusion, GateConfig, GateKind, QueryConfig, RankFusionConfig, RerankConfig, RetrieveConfig,
    ScoreFusionConfig, TwoPathConfig,
};
pub use saved_pipeline::SavedPipeline;
pub use schema::schema;
pub use sections::*;
pub use store::{CopyStartSetting, StoreConfig};
pub use tenants::{TenantKey, TenantSchema};
