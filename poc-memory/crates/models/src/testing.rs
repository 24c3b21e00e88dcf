//! Settings for models under test.

use poc_config::{Provider, ProviderKind};

/// A provider of which nothing is said.
pub(super) fn provider(kind: ProviderKind) -> Provider {
    Provider {
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
