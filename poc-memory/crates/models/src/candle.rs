//! A local model: a GGUF file that candle runs on the CPU in this process. A grammar limits the reply to the
//! permitted actions, token by token.
//!
//! The first call loads the file. The model stays in memory until the file changes.

mod cancellable_reader;
mod chat;
mod deadline;
mod family;
mod generate;
mod gguf;
mod grammar;
mod sample;
mod spelling;
mod vocabulary;

use super::environment::{Environment, path_of};
use super::usage::Usage;
use deadline::Deadline;
use family::Network;
use generate::GenerationJob;
use gguf::{FileStamp, Gguf, GgufError};
use parking_lot::Mutex;
use poc_agent::model::{
    CallCost, CallError, CallFailure, Model, Priority, PrioritySemaphore, Reply, Request,
};
use poc_config::{CallsConfig, ProviderConfig};
use poc_embed::catch_panics;
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};
use std::path::PathBuf;
use std::sync::Arc;
use vocabulary::{TokenVocabulary, VocabularyError};

/// The provider `candle`.
pub(super) struct Candle {
    model: poc_config::ModelConfig,
    file: PathBuf,
    tokenizer: Option<PathBuf>,
    temperature: f64,
    threads: usize,
    max_tokens: usize,
    /// Allows one call at a time, because the network has only one key-value cache.
    semaphore: Arc<PrioritySemaphore>,
    loaded: Mutex<Option<LoadedModel>>,
}

/// A model in memory.
struct LoadedModel {
    stamp: FileStamp,
    context: usize,
    network: Box<dyn Network>,
    vocabulary: TokenVocabulary,
    threads: ThreadPool,
}

/// Why a model cannot be loaded.
#[derive(Debug, thiserror::Error)]
enum LoadError {
    #[error(transparent)]
    Gguf(#[from] GgufError),
    #[error(transparent)]
    Vocabulary(#[from] VocabularyError),
    #[error("no threads can be started for `{model}`: {source}")]
    Threads { model: String, source: ThreadPoolBuildError },
}

impl Candle {
    /// The model, once the header of its file has been checked.
    ///
    /// # Errors
    /// One line that says what is wrong with the file or its tokenizer.
    pub(super) fn new(
        model: poc_config::ModelConfig,
        provider: &ProviderConfig,
        calls: &CallsConfig,
        environment: Environment<'_>,
    ) -> Result<Candle, String> {
        let file = path_of(&model.id, environment)?;
        let tokenizer = provider.tokenizer.as_deref().map(|path| path_of(path, environment)).transpose()?;
        let kind = gguf::tokenizer(&file).map_err(|error| error.to_string())?;
        vocabulary::locate(&file, kind.as_deref(), tokenizer.as_deref())
            .map_err(|error| error.to_string())?;
        Ok(Candle {
            file,
            tokenizer,
            temperature: provider.temperature.unwrap_or(0.0),
            threads: provider.threads.unwrap_or(0),
            max_tokens: provider.max_tokens.unwrap_or(usize::MAX).min(calls.max_output_tokens),
            model,
            semaphore: Arc::default(),
            loaded: Mutex::default(),
        })
    }

    fn load(&self, deadline: &Deadline<'_>) -> Result<LoadedModel, LoadError> {
        let gguf = Gguf::open(&self.file, deadline)?;
        let stamp = gguf.stamp;
        let context = gguf.context().min(self.model.context.unwrap_or(usize::MAX));
        let vocabulary = TokenVocabulary::read(&gguf, self.tokenizer.as_deref())?;
        let network = gguf.load(context, deadline)?;
        let threads = ThreadPoolBuilder::new()
            .num_threads(self.threads)
            .thread_name(|number| format!("candle-{number}"))
            .build()
            .map_err(|source| LoadError::Threads { model: self.model.id.clone(), source })?;
        tracing::info!(file = %self.file.display(), context, "a local model was read");
        Ok(LoadedModel { stamp, context, network, vocabulary, threads })
    }

    /// The model in memory, or a newly loaded one when the file has changed.
    fn reuse_or_load(
        &self,
        loaded: Option<LoadedModel>,
        deadline: &Deadline<'_>,
    ) -> Result<LoadedModel, CallError> {
        let current = gguf::file_stamp(&self.file).map_err(|error| CallError::Setup(error.to_string()))?;
        match loaded.filter(|loaded| loaded.stamp == current) {
            Some(loaded) => Ok(loaded),
            None => self.load(deadline).map_err(|error| {
                deadline.check().err().unwrap_or_else(|| CallError::Setup(error.to_string()))
            }),
        }
    }

    fn answer(&self, request: &Request<'_>, usage: &mut Usage) -> Result<String, CallError> {
        let _permit =
            self.semaphore.enter(1, Priority::Background, request.cancellation).ok_or(CallError::Stopped)?;
        let deadline = Deadline::new(request.timeout, request.cancellation);
        deadline.check()?;
        let mut slot = self.loaded.lock();
        let mut loaded = self.reuse_or_load(slot.take(), &deadline)?;
        let outcome = self.generate(&mut loaded, request, &deadline, usage);
        // After a panic the state of the model is unknown, so it is dropped.
        let (outcome, reusable) = match outcome {
            Ok(outcome) => (outcome, true),
            Err(error) => (Err(CallError::Setup(error)), false),
        };
        *slot = reusable.then_some(loaded);
        outcome
    }

    /// Reads the prompt and generates the reply. The outer error is a panic inside candle.
    fn generate(
        &self,
        loaded: &mut LoadedModel,
        request: &Request<'_>,
        deadline: &Deadline<'_>,
        usage: &mut Usage,
    ) -> Result<Result<String, CallError>, String> {
        let LoadedModel { context, network, vocabulary, threads, .. } = loaded;
        let schema = grammar::schema(request);
        let closing_tokens = grammar::closing_tokens(&schema);
        let prompt = match vocabulary.prompt(request) {
            Ok(prompt) => prompt,
            Err(error) => return Ok(Err(CallError::Setup(error.to_string()))),
        };
        let reply_tokens = context.saturating_sub(prompt.len()).min(self.max_tokens);
        if reply_tokens < 2 * closing_tokens {
            let (tokens, id) = (prompt.len(), &self.model.id);
            let needed = 2 * closing_tokens;
            return Ok(Err(CallError::Setup(format!(
                "the prompt of {tokens} tokens leaves {reply_tokens} of the {context} tokens of `{id}` for an answer, which takes {needed}; lower `max-tokens` in the agent's `[prompt]`"
            ))));
        }
        let (temperature, rng) = (self.temperature, request.rng);
        let name = &self.model.id;
        let job = GenerationJob {
            name,
            prompt: &prompt,
            schema: &schema,
            closing_tokens,
            max_tokens: reply_tokens,
            temperature,
            rng,
            deadline,
        };
        threads.install(|| {
            catch_panics(|| {
                let reply = generate::generate(network.as_mut(), vocabulary, &job, usage);
                network.clear_cache();
                Ok(reply)
            })
            .map_err(|error| format!("`{name}` cannot be run: {error}"))
        })
    }
}

impl Model for Candle {
    fn context(&self) -> Option<usize> {
        // The context length is in the header of the file, which can be read quickly.
        let head = Gguf::open(&self.file, &Deadline::never()).ok()?;
        Some(head.context().min(self.model.context.unwrap_or(usize::MAX)))
    }

    fn max_cost(&self, _: &Request<'_>) -> Option<f64> {
        // When the settings name prices, the cost is only known after the call.
        self.model.input_price.is_none().then_some(0.0)
    }

    fn call(&self, request: &Request<'_>) -> Result<Reply, CallFailure> {
        let mut usage = Usage::default();
        let outcome = self.answer(request, &mut usage);
        let spent = match usage == Usage::default() {
            true => Vec::new(),
            // A local model costs nothing unless the settings name prices.
            false => {
                let spent = usage.spent(&self.model, 1.0, 1.0);
                vec![CallCost { cost: spent.cost.or(Some(0.0)), ..spent }]
            }
        };
        match outcome {
            Ok(text) => Ok(Reply { text, spent, ..Reply::default() }),
            Err(error) => Err(CallFailure { error, spent }),
        }
    }
}

#[cfg(test)]
mod tests;
