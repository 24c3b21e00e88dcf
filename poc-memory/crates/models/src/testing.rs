//! Settings for models under test.

use poc_config::{ProviderConfig, ProviderKind};

/// A provider of a kind, with all other settings unset.
pub(super) fn provider(kind: ProviderKind) -> ProviderConfig {
    ProviderConfig {
        kind,
        base_url: None,
        key_env: None,
        key_file: None,
        command: None,
        env: None,
        replies: None,
        tokenizer: None,
        temperature: None,
        max_tokens: None,
        threads: None,
        concurrency: None,
    }
}
