//! The models of a process. Each model is built once. Models of the same provider share its state: the pause
//! it requested, the number of calls in progress, and whether it is suspended.

use super::heuristic::Heuristic;
use super::retry_after::RetryAfter;
use super::semaphore::{Priority, PrioritySemaphore, SemaphorePermit};
use super::{CallError, CallFailure, Model, ProbeOutcome, Reply, Request};
use parking_lot::Mutex;
use poc_config::schedule::local_minute;
use poc_config::{Config, ProviderKind};
use poc_graph::cancellation::CancellationToken;
use poc_graph::error::{Error, Result};
use poc_graph::similar;
use poc_graph::time::{Span, Timestamp};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Builds models from settings. This trait keeps this crate independent of the kinds of providers.
pub trait ModelFactory: Send + Sync {
    /// Hash of the provider's API key; `None` without a key. When it changes, the models of the provider are
    /// rebuilt.
    fn credentials(&self, provider: &poc_config::ProviderConfig) -> Option<blake3::Hash>;

    /// Builds a model that respects and extends the pause of its provider. Sends no request.
    ///
    /// # Errors
    /// A hint of one line when something is missing, such as an unset key.
    fn build(&self, settings: ModelSettings<'_>, retry_after: &RetryAfter) -> Result<Box<dyn Model>, String>;
}

/// The settings that a model is built from.
#[derive(Clone, Copy, Debug)]
pub struct ModelSettings<'a> {
    /// All settings.
    pub config: &'a Config,
    /// The model's configured name.
    pub name: &'a str,
    /// The model.
    pub model: &'a poc_config::ModelConfig,
    /// Its provider.
    pub provider: &'a poc_config::ProviderConfig,
}

/// The models of a process. Clones share them.
#[derive(Clone)]
pub struct ModelRegistry(Arc<RegistryState>);

struct RegistryState {
    factory: Arc<dyn ModelFactory>,
    models: Mutex<BTreeMap<String, CachedModel>>,
    providers: Mutex<BTreeMap<String, (ProviderAccess, Arc<ProviderState>)>>,
}

/// A model and what it was built from.
struct CachedModel {
    settings: poc_config::ModelConfig,
    calls: poc_config::CallsConfig,
    heuristic: Option<HeuristicSettings>,
    provider: Arc<ProviderState>,
    model: Arc<GuardedModel>,
}

/// The settings that a heuristic model keeps. Some of them can change while a daemon runs.
type HeuristicSettings = (poc_config::HeuristicConfig, poc_config::ScoreFusionConfig);

/// Settings and key of a provider. When they change, its state is reset.
type ProviderAccess = (poc_config::ProviderConfig, Option<blake3::Hash>);

impl fmt::Debug for ModelRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.models.lock().keys()).finish()
    }
}

impl Default for ModelRegistry {
    /// A registry that builds only the heuristic model.
    fn default() -> ModelRegistry {
        ModelRegistry::new(Arc::new(HeuristicFactory))
    }
}

impl ModelRegistry {
    /// An empty registry that builds models with `factory`.
    pub fn new(factory: Arc<dyn ModelFactory>) -> ModelRegistry {
        ModelRegistry(Arc::new(RegistryState {
            factory,
            models: Mutex::default(),
            providers: Mutex::default(),
        }))
    }

    /// The model with a configured name. It is rebuilt when its settings or its key have changed. Sends no
    /// request.
    ///
    /// # Errors
    /// `invalid_config` when no model has this name, or when something is [missing](Self::missing).
    pub fn open(&self, config: &Config, name: &str) -> Result<Arc<dyn Model>> {
        let settings = find(config, name).map_err(|absent| match absent {
            MissingSetting::Model(error) => error,
            MissingSetting::Provider(help) => not_callable(name, help),
        })?;
        let provider = self.provider(&settings.model.provider, settings.provider);
        let heuristic = (settings.provider.kind == ProviderKind::Heuristic)
            .then(|| (config.heuristic.clone(), config.retrieve.scores.clone()));
        let mut models = self.0.models.lock();
        if let Some(cached) = models.get(name)
            && Arc::ptr_eq(&cached.provider, &provider)
            && (&cached.settings, &cached.calls) == (settings.model, &config.calls)
            && cached.heuristic == heuristic
        {
            return Ok(cached.model.clone());
        }
        let built = self.0.factory.build(settings, &provider.retry_after);
        let model = Arc::new(GuardedModel {
            inner: built.map_err(|help| not_callable(name, help))?,
            provider_name: settings.model.provider.clone(),
            provider: provider.clone(),
            concurrency: settings.provider.concurrency,
            suspension: config.calls.leave_alone,
        });
        let (settings, calls) = (settings.model.clone(), config.calls.clone());
        let cached = CachedModel { settings, calls, heuristic, provider, model: model.clone() };
        models.insert(name.to_owned(), cached);
        Ok(model)
    }

    /// Why the model with this name cannot be called with the current settings and environment, for example an
    /// unset key, with a hint; `None` when nothing is known to be missing. Sends no request.
    pub fn missing(&self, config: &Config, name: &str) -> Option<String> {
        match find(config, name) {
            Ok(settings) => self.0.factory.build(settings, &RetryAfter::default()).err(),
            Err(MissingSetting::Model(error)) => {
                Some(format!("{}; {}", error.message, error.hint.unwrap_or_default()))
            }
            Err(MissingSetting::Provider(help)) => Some(help),
        }
    }

    /// Why the provider of the model with this name is suspended at `now`; `None` when it is not.
    pub fn suspension_of(&self, config: &Config, name: &str, now: Timestamp) -> Option<String> {
        let provider = &config.models.get(name)?.provider;
        let providers = self.0.providers.lock();
        self.suspension_of_provider(config, provider, providers.get(provider)?, now)
    }

    /// The providers that are suspended at `now`, one line each.
    pub fn suspension(&self, config: &Config, now: Timestamp) -> Vec<String> {
        let providers = self.0.providers.lock();
        let suspended = providers
            .iter()
            .filter_map(|(name, provider)| self.suspension_of_provider(config, name, provider, now));
        suspended.collect()
    }

    /// Why a provider is suspended at `now`; `None` when it is not, or when its settings or its key have changed since,
    /// because the next call then resets its state.
    fn suspension_of_provider(
        &self,
        config: &Config,
        name: &str,
        ((settings, key), state): &(ProviderAccess, Arc<ProviderState>),
        now: Timestamp,
    ) -> Option<String> {
        let why = state.suspension(name, config.calls.leave_alone, now)?;
        let current = config.providers.get(name)?;
        (current == settings && self.0.factory.credentials(current) == *key).then_some(why)
    }

    fn provider(&self, name: &str, provider: &poc_config::ProviderConfig) -> Arc<ProviderState> {
        let access = (provider.clone(), self.0.factory.credentials(provider));
        let mut providers = self.0.providers.lock();
        match providers.get(name) {
            Some((before, state)) if *before == access => state.clone(),
            _ => {
                let state = Arc::<ProviderState>::default();
                providers.insert(name.to_owned(), (access, state.clone()));
                state
            }
        }
    }
}

/// The missing settings of a model.
enum MissingSetting {
    /// The model itself.
    Model(Error),
    /// Its provider, with a hint.
    Provider(String),
}

fn find<'a>(config: &'a Config, name: &'a str) -> Result<ModelSettings<'a>, MissingSetting> {
    let model = config.models.get(name).ok_or_else(|| MissingSetting::Model(unknown_model(config, name)))?;
    let provider = config.providers.get(&model.provider).ok_or_else(|| {
        MissingSetting::Provider(format!("add a section `[providers.{}]` to config.toml", model.provider))
    })?;
    Ok(ModelSettings { config, name, model, provider })
}

fn unknown_model(config: &Config, name: &str) -> Error {
    let near = similar::closest(name, config.models.keys().map(String::as_str));
    let line = format!("`models.{name} = {{ provider = \"…\", id = \"…\" }}` at the top of config.toml");
    Error::config(format!("there is no model `{name}`")).hint(match near {
        Some(near) => format!("did you mean `{near}`? else put {line}"),
        None => format!("put {line}"),
    })
}

fn not_callable(name: &str, help: String) -> Error {
    Error::config(format!("the model `{name}` cannot be called as configured")).hint(help)
}

/// The factory of a registry without providers.
struct HeuristicFactory;

impl ModelFactory for HeuristicFactory {
    fn credentials(&self, _: &poc_config::ProviderConfig) -> Option<blake3::Hash> {
        None
    }

    fn build(&self, settings: ModelSettings<'_>, _: &RetryAfter) -> Result<Box<dyn Model>, String> {
        let ModelSettings { config, model, provider, .. } = settings;
        match provider.kind {
            ProviderKind::Heuristic => Ok(Box::new(Heuristic::new(config)?)),
            _ => {
                Err(format!("this build does not include the provider `{}`; use `heuristic`", model.provider))
            }
        }
    }
}

/// State of a provider in this process.
#[derive(Default)]
struct ProviderState {
    /// Limits the number of calls in progress.
    semaphore: Arc<PrioritySemaphore>,
    /// The pause it requested.
    retry_after: RetryAfter,
    suspension: Mutex<Option<Suspension>>,
}

/// Why a provider is suspended, and since when.
#[derive(Clone)]
struct Suspension {
    since: Timestamp,
    why: String,
}

impl ProviderState {
    fn suspension(&self, provider: &str, span: Span, now: Timestamp) -> Option<String> {
        let suspension = self.suspension.lock().clone()?;
        let until = suspension.since.plus(span);
        // A suspension that starts in the future was set while the clock was ahead; it does not count.
        let is_over = now >= until || now < suspension.since;
        (!is_over)
            .then(|| format!("`{provider}` is suspended until {}: {}", local_minute(until), suspension.why))
    }

    /// Suspends the provider from now on. Returns whether the reason is new, so that repeated failures are
    /// logged once.
    fn suspend(&self, now: Timestamp, why: &str) -> bool {
        let before = self.suspension.lock().replace(Suspension { since: now, why: why.to_owned() });
        before.is_none_or(|before| before.why != why)
    }

    fn clear_suspension(&self, provider: &str) {
        if self.suspension.lock().take().is_some() {
            tracing::info!(provider, "the provider answers again");
        }
    }

    /// Waits until fewer than `max` calls of the provider are in progress.
    fn enter(
        &self,
        max: Option<usize>,
        cancellation: &CancellationToken,
    ) -> Result<Option<SemaphorePermit>, CallError> {
        let enter =
            |max| self.semaphore.enter(max, Priority::Background, cancellation).ok_or(CallError::Stopped);
        max.map(enter).transpose()
    }
}

/// A model that respects the state of its provider.
struct GuardedModel {
    inner: Box<dyn Model>,
    provider_name: String,
    provider: Arc<ProviderState>,
    concurrency: Option<usize>,
    /// How long the provider is suspended after it refused the key or has no credit left.
    suspension: Span,
}

impl Model for GuardedModel {
    fn call(&self, request: &Request<'_>) -> Result<Reply, CallFailure> {
        let _place = self.provider.enter(self.concurrency, request.cancellation)?;
        let outcome = self.inner.call(request);
        match &outcome {
            Ok(_) | Err(CallFailure { error: CallError::Refused(_) | CallError::Cut, .. }) => {
                self.provider.clear_suspension(&self.provider_name);
            }
            Err(CallFailure { error: CallError::NoCredit(why) | CallError::KeyRefused(why), .. }) => {
                let (provider, span) = (&self.provider_name, self.suspension);
                if self.provider.suspend(request.now, why) {
                    let until = "or until its settings or its key change";
                    tracing::warn!(provider, "the provider is suspended for {span}, {until}: {why}");
                }
            }
            Err(_) => {}
        }
        outcome
    }

    fn max_cost(&self, request: &Request<'_>) -> Option<f64> {
        self.inner.max_cost(request)
    }

    fn context(&self) -> Option<usize> {
        self.inner.context()
    }

    fn is_language_model(&self) -> bool {
        self.inner.is_language_model()
    }

    fn probe(&self, timeout: Span) -> Result<ProbeOutcome, CallError> {
        self.inner.probe(timeout)
    }

    fn list(&self, timeout: Span) -> Result<Vec<String>, CallError> {
        self.inner.list(timeout)
    }

    fn suspension(&self, now: Timestamp) -> Option<String> {
        self.provider.suspension(&self.provider_name, self.suspension, now)
    }
}

#[cfg(test)]
mod tests;
