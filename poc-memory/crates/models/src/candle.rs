//! A model in this process: a GGUF file, run by candle on the processor, its reply held to the permitted
//! actions token by token.
//!
//! The file is read with the first call and kept until it becomes another.

mod chat;
mod family;
mod file;
mod grammar;
mod pick;
mod pieces;
mod reader;
mod vocabulary;
mod watch;
mod write;

use super::environment::{Environment, path_of};
use super::usage::Usage;
use family::Network;
use file::{Gguf, Stamp};
use parking_lot::Mutex;
use poc_agent::model::{CallError, CallFailure, PrioritySemaphore, Model, Reply, Request, Priority, CallCost};
use poc_config::{Calls, Provider};
use poc_embed::guarded;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::path::PathBuf;
use std::sync::Arc;
use vocabulary::Vocabulary;
use watch::Watch;
use write::Job;

/// The provider `candle`.
pub(super) struct Candle {
    model: poc_config::Model,
    file: PathBuf,
    tokenizer: Option<PathBuf>,
    temperature: f64,
    threads: usize,
    most: usize,
    /// A model remembers one text at a time, so calls come one after another.
    gate: Arc<PrioritySemaphore>,
    kept: Mutex<Option<Loaded>>,
}

/// A file that was read.
struct Loaded {
    stamp: Stamp,
    context: usize,
    network: Box<dyn Network>,
    vocabulary: Vocabulary,
    threads: ThreadPool,
}

impl Candle {
    /// The model with the head of its file looked at; an error is one line that would help.
    pub(super) fn new(
        model: poc_config::Model,
        provider: &Provider,
        calls: &Calls,
        environment: Environment<'_>,
    ) -> Result<Candle, String> {
        let file = path_of(&model.id, environment)?;
        let tokenizer = provider.tokenizer.as_deref().map(|path| path_of(path, environment)).transpose()?;
        let kind = file::tokenizer(&file)?;
        vocabulary::find(&file, kind.as_deref(), tokenizer.as_deref())?;
        Ok(Candle {
            file,
            tokenizer,
            temperature: provider.temperature.unwrap_or(0.0),
            threads: provider.threads.unwrap_or(0),
            most: provider.max_tokens.unwrap_or(usize::MAX).min(calls.max_output_tokens),
            model,
            gate: Arc::default(),
            kept: Mutex::default(),
        })
    }

    fn load(&self, watch: &Watch<'_>) -> Result<Loaded, String> {
        let gguf = Gguf::open(&self.file, watch)?;
        let stamp = gguf.stamp;
        let context = gguf.context().min(self.model.context.unwrap_or(usize::MAX));
        let vocabulary = Vocabulary::read(&gguf, self.tokenizer.as_deref())?;
        let network = gguf.load(context, watch)?;
        let threads = ThreadPoolBuilder::new()
            .num_threads(self.threads)
            .thread_name(|number| format!("candle-{number}"))
            .build()
            .map_err(|error| format!("no threads can be started for `{}`: {error}", self.model.id))?;
        tracing::info!(file = %self.file.display(), context, "a local model was read");
        Ok(Loaded { stamp, context, network, vocabulary, threads })
    }

    /// What was read before, unless the file has become another.
    fn loaded(&self, kept: Option<Loaded>, watch: &Watch<'_>) -> Result<Loaded, CallError> {
        let now = file::stamp(&self.file).map_err(CallError::Setup)?;
        match kept.filter(|loaded| loaded.stamp == now) {
            Some(loaded) => Ok(loaded),
            None => self.load(watch).map_err(|error| watch.look().err().unwrap_or(CallError::Setup(error))),
        }
    }

    fn answer(&self, request: &Request<'_>, usage: &mut Usage) -> Result<String, CallError> {
        let _place = self.gate.enter(1, Priority::Background, request.cancellation).ok_or(CallError::Stopped)?;
        let watch = Watch::new(request.timeout, request.cancellation);
        watch.look()?;
        let mut kept = self.kept.lock();
        let mut loaded = self.loaded(kept.take(), &watch)?;
        let outcome = self.say(&mut loaded, request, &watch, usage);
        // What panicked is in no state to go on with.
        let (outcome, whole) = match outcome {
            Ok(outcome) => (outcome, true),
            Err(error) => (Err(CallError::Setup(error)), false),
        };
        *kept = whole.then_some(loaded);
        outcome
    }

    /// Has the model read the prompt and write; the outer error is a panic of candle's.
    fn say(
        &self,
        loaded: &mut Loaded,
        request: &Request<'_>,
        watch: &Watch<'_>,
        usage: &mut Usage,
    ) -> Result<Result<String, CallError>, String> {
        let Loaded { context, network, vocabulary, threads, .. } = loaded;
        let schema = grammar::schema(request);
        let closing = grammar::closing(&schema);
        let prompt = match vocabulary.prompt(request) {
            Ok(prompt) => prompt,
            Err(error) => return Ok(Err(CallError::Setup(error))),
        };
        let room = context.saturating_sub(prompt.len()).min(self.most);
        if room < 2 * closing {
            let (tokens, id) = (prompt.len(), &self.model.id);
            let least = 2 * closing;
            return Ok(Err(CallError::Setup(format!(
                "the prompt of {tokens} tokens leaves {room} of the {context} tokens of `{id}` for an answer, which takes {least}; lower `max-tokens` in the agent's `[prompt]`"
            ))));
        }
        let (temperature, chance) = (self.temperature, request.chance);
        let name = &self.model.id;
        let job = Job { name, prompt: &prompt, schema: &schema, closing, room, temperature, chance, watch };
        threads.install(|| {
            guarded(|| {
                let written = write::write(network.as_mut(), vocabulary, &job, usage);
                network.forget();
                Ok(written)
            })
            .map_err(|error| format!("`{name}` cannot be run: {error}"))
        })
    }
}

impl Model for Candle {
    fn most(&self, _: &Request<'_>) -> Option<f64> {
        // With prices of its owner's the bill is known when all is written.
        self.model.input_price.is_none().then_some(0.0)
    }

    fn call(&self, request: &Request<'_>) -> Result<Reply, CallFailure> {
        let mut usage = Usage::default();
        let outcome = self.answer(request, &mut usage);
        let spent = match usage == Usage::default() {
            true => Vec::new(),
            // A machine of one's own costs nothing unless the settings say otherwise.
            false => {
                let spent = usage.spent(&self.model, 1.0, 1.0);
                vec![CallCost { cost: spent.cost.or(Some(0.0)), ..spent }]
            }
        };
        match outcome {
            Ok(text) => Ok(Reply { structured: None, text, spent }),
            Err(error) => Err(CallFailure { error, spent }),
        }
    }
}

#[cfg(test)]
mod tests;
