//! A sentence model run in this process, on every core.
//!
//! Texts are sorted by length and run in small batches, so that little of a batch is filling; each core
//! takes one batch after another with a thread of its own, which beats all cores on one batch.

use super::Embedder;
use super::bert::Bert;
use crate::error::{Error, Result};
use parking_lot::Mutex;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Texts in a batch: more gain nothing.
const BATCH: usize = 8;

/// The embedder `candle`.
pub struct CandleEmbedder {
    name: String,
    model: Bert,
    // Of one thread each.
    cores: Vec<ThreadPool>,
}

impl CandleEmbedder {
    /// With the model in a folder.
    pub fn open(folder: &Path) -> Result<CandleEmbedder> {
        let model = Bert::open(folder)?;
        let count = std::thread::available_parallelism().map_or(1, usize::from);
        let cores = (0..count).map(|number| {
            let pool =
                ThreadPoolBuilder::new().num_threads(1).thread_name(move |_| format!("embed-{number}"));
            pool.build().map_err(|error| {
                Error::internal(format!("no thread can be started for the embedder: {error}"))
            })
        });
        let cores = cores.collect::<Result<_>>()?;
        let name = format!("candle-{}-{}", model.dimensions, model.revision);
        Ok(CandleEmbedder { name, model, cores })
    }
}

impl Embedder for CandleEmbedder {
    fn name(&self) -> &str {
        &self.name
    }
    fn dimensions(&self) -> usize {
        self.model.dimensions
    }
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        let mut vectors = vec![vec![0.0; self.model.dimensions]; texts.len()];
        // Place and tokens; a blank text has the zero vector.
        let mut waiting = Vec::with_capacity(texts.len());
        for (place, text) in texts.iter().enumerate().filter(|(_, text)| !text.trim().is_empty()) {
            waiting.push((place, self.model.tokens(text)?));
        }
        // The longest first: a short one at the end keeps no core waiting.
        waiting.sort_by_key(|(_, tokens)| std::cmp::Reverse(tokens.len()));
        let batches: Vec<_> = waiting.chunks(BATCH).collect();
        let next = AtomicUsize::new(0);
        let done = Mutex::new(Ok(Vec::with_capacity(waiting.len())));
        let work = || {
            while let Some(batch) = batches.get(next.fetch_add(1, Ordering::Relaxed)) {
                let tokens: Vec<&[u32]> = batch.iter().map(|(_, tokens)| tokens.as_slice()).collect();
                let made = self.model.vectors(&tokens);
                let mut done = done.lock();
                match (made, done.as_mut()) {
                    (Ok(made), Ok(all)) => all.extend(batch.iter().map(|(place, _)| *place).zip(made)),
                    (Err(error), Ok(_)) => *done = Err(error),
                    (_, Err(_)) => break,
                }
            }
        };
        std::thread::scope(|scope| {
            for core in self.cores.iter().take(batches.len()) {
                scope.spawn(|| core.install(work));
            }
        });
        for (place, vector) in done.into_inner()? {
            if let Some(slot) = vectors.get_mut(place) {
                *slot = vector;
            }
        }
        Ok(vectors)
    }
}
