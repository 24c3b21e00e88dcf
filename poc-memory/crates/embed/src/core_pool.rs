//! Distributes work on texts among the cores.
//!
//! Texts are sorted by length and divided into batches with about the same number of tokens. Each core has its own
//! thread and processes one batch after another, which is faster than using all cores for each batch.

use parking_lot::Mutex;
use poc_graph::error::{Error, Result};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Maximum number of tokens in a batch, unless a single text is longer. Larger batches are not faster.
const BATCH: usize = 256;

/// The operating system cannot start another thread.
#[derive(Debug, thiserror::Error)]
#[error("no thread can be started for the embedder: {0}")]
struct ThreadError(rayon::ThreadPoolBuildError);

impl From<ThreadError> for Error {
    fn from(error: ThreadError) -> Error {
        Error::internal(error.to_string())
    }
}

/// A pool with one thread per core.
pub(super) struct CorePool {
    // One pool per core, each with one thread.
    pools: Vec<ThreadPool>,
}

impl CorePool {
    /// Creates a pool for all cores that this process may use.
    pub(super) fn new() -> Result<CorePool> {
        let count = std::thread::available_parallelism().map_or(1, usize::from);
        let pools = (0..count).map(|number| {
            let pool =
                ThreadPoolBuilder::new().num_threads(1).thread_name(move |_| format!("embed-{number}"));
            pool.build().map_err(ThreadError)
        });
        Ok(CorePool { pools: pools.collect::<Result<_, _>>()? })
    }

    /// Runs `work` on batches of texts and returns one result per text, in the order of the texts. `tokens` returns the
    /// length of a text in tokens.
    pub(super) fn map_batches<T: Sync, M: Send>(
        &self,
        texts: &[T],
        tokens: impl Fn(&T) -> usize,
        work: impl Fn(&[&T]) -> Result<Vec<M>> + Sync,
    ) -> Result<Vec<M>> {
        let mut waiting: Vec<(usize, &T)> = texts.iter().enumerate().collect();
        // Long texts come first, so that the last batches are short and all cores finish at about the same time.
        waiting.sort_by_key(|(_, text)| std::cmp::Reverse(tokens(text)));
        let batches: Vec<&[(usize, &T)]> = batches(&waiting, |(_, text)| tokens(text)).collect();
        let next = AtomicUsize::new(0);
        let collected = Mutex::new(Ok(Vec::with_capacity(texts.len())));
        let run = || {
            while let Some(batch) = batches.get(next.fetch_add(1, Ordering::Relaxed)) {
                let texts: Vec<&T> = batch.iter().map(|(_, text)| *text).collect();
                let results = work(&texts);
                let mut collected = collected.lock();
                match (results, collected.as_mut()) {
                    (Ok(results), Ok(all)) => all.extend(batch.iter().map(|(index, _)| *index).zip(results)),
                    (Err(error), Ok(_)) => *collected = Err(error),
                    (_, Err(_)) => break,
                }
            }
        };
        std::thread::scope(|scope| {
            for pool in self.pools.iter().take(batches.len()) {
                scope.spawn(|| pool.install(run));
            }
        });
        let mut collected: Vec<(usize, M)> = collected.into_inner()?;
        collected.sort_by_key(|(index, _)| *index);
        Ok(collected.into_iter().map(|(_, results)| results).collect())
    }
}

/// Splits the items into batches of about the same number of tokens.
fn batches<T>(mut items: &[T], tokens: impl Fn(&T) -> usize) -> impl Iterator<Item = &[T]> {
    std::iter::from_fn(move || {
        let mut sum = 0;
        let fit = items.iter().take_while(|item| {
            sum += tokens(item);
            sum <= BATCH
        });
        let (batch, rest) = items.split_at_checked(fit.count().max(1))?;
        items = rest;
        Some(batch)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    poc_laws::laws! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        /// Each text is embedded once and keeps its position, and no batch exceeds the limit.
        #[test]
        fn each_text_gets_its_own_vector(lengths in proptest::collection::vec(0usize..400, 0..40)) {
            let texts: Vec<(usize, usize)> = lengths.iter().copied().enumerate().collect();
            let work = |batch: &[&(usize, usize)]| {
                let sum: usize = batch.iter().map(|(_, length)| length).sum();
                assert!(batch.len() == 1 || sum <= BATCH);
                Ok(batch.iter().map(|(index, _)| *index).collect())
            };
            let results = CorePool::new().unwrap().map_batches(&texts, |(_, length)| *length, work).unwrap();
            prop_assert_eq!(results, (0..lengths.len()).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_error_of_a_batch_is_returned() {
        let work = |batch: &[&usize]| match batch.contains(&&3) {
            true => Err(Error::internal("three")),
            false => Ok(vec![(); batch.len()]),
        };
        let texts: Vec<usize> = (0..9).collect();
        assert_eq!(CorePool::new().unwrap().map_batches(&texts, |_| 300, work).unwrap_err().message, "three");
    }
}
