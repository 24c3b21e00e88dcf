//! API keys of providers.

use super::environment::{Environment, path_of};
use poc_agent::model::Secret;
use poc_config::ProviderConfig;
use reqwest::header::HeaderValue;
use std::fmt;

/// An API key. It has no `Display`, its `Debug` hides the secret, and it can only be used as a header.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct ApiKey {
    secret: Secret,
    origin: KeySource,
}

/// Where a key comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum KeySource {
    /// An environment variable.
    Variable(String),
    /// A file.
    File(String),
}

impl fmt::Display for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeySource::Variable(name) => write!(f, "the variable `{name}`"),
            KeySource::File(path) => write!(f, "the file `{path}`"),
        }
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key").field("origin", &self.origin).finish_non_exhaustive()
    }
}

impl ApiKey {
    /// The key of a provider, or `None` when its settings name no key. The variable takes precedence over the file.
    ///
    /// # Errors
    /// A phrase that says how to fix it, when the settings name a key that is missing or malformed.
    pub(super) fn find(
        provider: &ProviderConfig,
        environment: Environment<'_>,
    ) -> Result<Option<ApiKey>, String> {
        if let Some(name) = &provider.key_env
            && let Some(secret) = environment(name)
        {
            return ApiKey::new(secret, KeySource::Variable(name.clone())).map(Some);
        }
        if let Some(path) = &provider.key_file {
            let file = path_of(path, environment)?;
            let secret = poc_config::files::read_text(&file)
                .map_err(|error| format!("the key file `{path}` cannot be read: {error}"))?;
            return ApiKey::new(secret, KeySource::File(path.clone())).map(Some);
        }
        match &provider.key_env {
            Some(name) => Err(format!("set `{name}`")),
            None => Ok(None),
        }
    }

    fn new(secret: String, origin: KeySource) -> Result<ApiKey, String> {
        let secret = secret.trim().to_owned();
        if secret.is_empty() {
            return Err(format!("{origin} is empty; put the key there"));
        }
        if secret.bytes().any(|byte| !(b'!'..=b'~').contains(&byte)) {
            return Err(format!("{origin} contains more than a key; put one word of ASCII characters there"));
        }
        Ok(ApiKey { secret: Secret::new(secret), origin })
    }

    pub(super) fn origin(&self) -> &KeySource {
        &self.origin
    }

    /// A header value of `prefix` and the key, marked as sensitive so that no log shows it.
    pub(super) fn header(&self, prefix: &str) -> Option<HeaderValue> {
        let mut value = HeaderValue::from_str(&format!("{prefix}{}", self.secret.expose())).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// A hash of the key and its origin.
    pub(super) fn fingerprint(&self) -> blake3::Hash {
        let origin = self.origin.to_string();
        let mut hasher = blake3::Hasher::new();
        hasher.update(&(origin.len() as u64).to_le_bytes()).update(origin.as_bytes());
        hasher.update(self.secret.expose().as_bytes()).finalize()
    }

    /// The secret, to remove it from texts that are stored or shown.
    pub(super) fn secret(&self) -> &Secret {
        &self.secret
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;
    use poc_config::ProviderKind;

    fn provider(variable: Option<&str>, file: Option<&str>) -> ProviderConfig {
        ProviderConfig {
            key_env: variable.map(str::to_owned),
            key_file: file.map(str::to_owned),
            ..testing::provider(ProviderKind::Openai)
        }
    }

    #[test]
    fn a_key_is_never_shown() {
        let key = ApiKey::new("sk-secret\n".into(), KeySource::Variable("K".into())).unwrap();
        let header = key.header("Bearer ").unwrap();
        assert_eq!(header.as_bytes(), b"Bearer sk-secret");
        for shown in [
            format!("{key:?}"),
            format!("{header:?}"),
            key.secret().redact("you sent sk-secret"),
            key.origin().to_string(),
        ] {
            assert!(!shown.contains("sk-secret"), "{shown}");
        }
    }

    #[test]
    fn the_variable_takes_precedence_over_the_file() {
        let folder = poc_graph::testing::folder();
        let path = folder.path().join("key");
        std::fs::write(&path, "from-file\n").unwrap();
        let both = provider(Some("K"), path.to_str());
        let find = |provider: &ProviderConfig, value: Option<&str>| {
            let key = ApiKey::find(provider, &|_| value.map(str::to_owned));
            key.map(|key| key.map(|key| key.secret.expose().to_owned()))
        };
        assert_eq!(find(&both, Some("from-variable")), Ok(Some("from-variable".into())));
        assert_eq!(find(&both, None), Ok(Some("from-file".into())));
        assert_eq!(find(&provider(None, None), None), Ok(None));
        assert_eq!(find(&provider(Some("K"), None), None), Err("set `K`".into()));
        assert!(find(&provider(None, Some("/nowhere/key")), None).unwrap_err().contains("/nowhere/key"));
        let two_words = find(&provider(Some("K"), None), Some("two words")).unwrap_err();
        assert!(!two_words.contains("two"), "{two_words}");
    }
}
