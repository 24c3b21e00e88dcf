//! Bounded pools of blocking work, one for each purpose.
//!
//! Blocking work runs on tokio's blocking threads. A pool limits how many of them one purpose may use, and
//! [`runtime`] starts a runtime with enough threads for all pools at once. A full pool therefore never delays
//! the work of another pool: requests are answered even while every model call hangs.

use parking_lot::Mutex;
use poc_config::Config;
use std::sync::Arc;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;

/// Minimum slots for requests, regardless of the connection limits.
const MIN_REQUESTS: usize = 16;

/// Maximum slots for requests. More threads would only compete for the same cores.
const MAX_REQUESTS: usize = 1024;

/// Slots for the daemon's own tasks. Each task waits for its work before it starts more, so one slot
/// for each is enough: schedule, reload, structure refresh, transcripts, vaults, recall updates, checkpoint,
/// compaction, verification, vector update, store log check, shared log maintenance, notifications, and the reload
/// after SIGHUP.
const BACKGROUND: usize = 14;

/// Blocking threads for libraries that use the runtime directly.
const RESERVED: usize = 8;

/// A limit on how much blocking work runs at the same time.
pub(crate) struct Pool {
    size: usize,
    slots: Arc<Semaphore>,
}

impl Pool {
    fn new(size: usize) -> Pool {
        Pool { size, slots: Arc::new(Semaphore::new(size)) }
    }

    /// Number of pieces of work that may run at the same time.
    #[cfg(test)]
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Runs `work` on a blocking thread as soon as a slot is free. Waiting work starts in the order
    /// in which it arrived. Once started, the work runs to its end, even if the caller stops waiting.
    ///
    /// # Errors
    /// An error message if the work panics.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, String> {
        // The semaphore is never closed, so acquiring a slot cannot fail.
        let slot = self.slots.clone().acquire_owned().await.ok();
        let result = Arc::new(Mutex::new(None));
        let done = result.clone();
        // Boxed, so that the code of a tokio task is compiled only once and not for each kind of work.
        let work: Box<dyn FnOnce() + Send> = Box::new(move || {
            let _slot = slot;
            *done.lock() = Some(work());
        });
        tokio::task::spawn_blocking(work).await.map_err(|error| error.to_string())?;
        let result = result.lock().take();
        result.ok_or_else(|| "the work has no result".to_owned())
    }
}

/// The pools of a daemon.
pub(crate) struct Pools {
    /// Requests that are answered from the memory alone.
    pub(crate) requests: Pool,
    /// Requests that may wait long for a model or for another machine.
    pub(crate) long_running: Pool,
    /// Scheduled runs of agents.
    pub(crate) agents: Pool,
    /// The daemon's own tasks, such as checkpoints.
    pub(crate) background: Pool,
}

impl Pools {
    /// Pools with sizes from the settings: one slot for each allowed connection, and one for each concurrent
    /// run of an agent.
    pub(crate) fn new(config: &Config) -> Pools {
        let connections = config.daemon.max_connections.saturating_add(config.rest.max_connections);
        let requests = connections.clamp(MIN_REQUESTS, MAX_REQUESTS);
        Pools {
            requests: Pool::new(requests),
            long_running: Pool::new(requests),
            agents: Pool::new(config.agents.max_concurrent_runs.max(1)),
            background: Pool::new(BACKGROUND),
        }
    }

    fn all(&self) -> [&Pool; 4] {
        [&self.requests, &self.long_running, &self.agents, &self.background]
    }
}

/// A runtime with a thread for every slot of every pool. Threads are started when they are needed.
///
/// # Errors
/// When the operating system refuses the threads of the runtime.
pub(crate) fn runtime(config: &Config) -> std::io::Result<Runtime> {
    Builder::new_multi_thread().enable_all().max_blocking_threads(threads(config)).build()
}

/// The blocking threads of a daemon.
pub(crate) fn threads(config: &Config) -> usize {
    Pools::new(config).all().iter().map(|pool| pool.size).sum::<usize>() + RESERVED
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    /// The settings with the smallest pools.
    fn config() -> Config {
        let mut config = Config::defaults().unwrap();
        config.daemon.max_connections = 1;
        config.rest.max_connections = 1;
        config.agents.max_concurrent_runs = 2;
        config
    }

    #[test]
    fn the_default_settings_have_the_default_number_of_threads_for_requests() {
        assert_eq!(Pools::new(&Config::defaults().unwrap()).requests.size, 512);
        assert_eq!(Pools::new(&config()).requests.size, MIN_REQUESTS);
    }

    #[test]
    fn a_pool_answers_while_all_others_are_full() {
        let runtime = runtime(&config()).unwrap();
        for free in 0..4 {
            let pools = Arc::new(Pools::new(&config()));
            let (started, starts) = mpsc::channel();
            let mut releases = Vec::new();
            for (index, pool) in pools.all().into_iter().enumerate().filter(|(index, _)| *index != free) {
                // Twice as much work as there are slots: the rest waits.
                for _ in 0..2 * pool.size {
                    let (release, released) = mpsc::channel::<()>();
                    let (pools, started) = (pools.clone(), started.clone());
                    releases.push(release);
                    runtime.spawn(async move {
                        let work = move || {
                            let _ = started.send(());
                            // Blocks until the sender is dropped.
                            let _ = released.recv();
                        };
                        let _ = pools.all()[index].run(work).await;
                    });
                }
                starts.iter().take(pool.size).for_each(drop);
            }
            assert_eq!(runtime.block_on(pools.all()[free].run(|| 7)).unwrap(), 7);
            assert!(starts.try_recv().is_err(), "a pool ran more work than it has slots");
        }
    }

    #[test]
    fn a_panic_gives_its_slot_back() {
        let runtime = runtime(&config()).unwrap();
        let pool = Pool::new(1);
        assert!(runtime.block_on(pool.run(|| panic!("boom"))).is_err());
        assert_eq!(runtime.block_on(pool.run(|| 7)).unwrap(), 7);
    }
}
