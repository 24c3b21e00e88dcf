//! Does what is due, so many agents at a time, each on a thread of its own.

use super::agenda::Slot;
use crate::shared::Shared;
use poc_memory::agent::ledger::{self, Reason, Run, Status};
use poc_memory::agent::run::{self, Options, Trigger};
use poc_memory::time::Timestamp;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::task::{JoinError, JoinSet};

/// What a run gets to end after it was stopped.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Runs that were begun and have not ended.
pub(super) struct Executor {
    shared: Arc<Shared>,
    runs: JoinSet<String>,
    pending: BTreeMap<String, Timestamp>,
    /// Runs at the same time.
    places: Arc<Semaphore>,
    /// Runs that are caught up go one after the other, so that a start after a long absence is
    /// not a rush.
    late: Arc<Semaphore>,
}

impl Executor {
    pub(super) fn new(shared: &Arc<Shared>) -> Executor {
        Executor {
            shared: shared.clone(),
            runs: JoinSet::new(),
            pending: BTreeMap::new(),
            places: Arc::new(Semaphore::new(shared.memory.config.agents.max_concurrent_runs.max(1))),
            late: Arc::new(Semaphore::new(1)),
        }
    }

    /// Slots that were handed out and have not ended.
    pub(super) fn pending(&mut self) -> BTreeMap<String, Timestamp> {
        while let Some(ended) = self.runs.try_join_next() {
            self.forget(ended);
        }
        self.pending.clone()
    }

    /// Runs a slot as soon as there is a place.
    pub(super) fn start(&mut self, slot: Slot) {
        let (shared, places, caught_up) = (self.shared.clone(), self.places.clone(), self.late.clone());
        let options = Options { stop: self.shared.calls.clone(), ..Options::default() };
        self.pending.insert(slot.agent.clone(), slot.at);
        self.runs.spawn(async move {
            let _turn = if slot.late { caught_up.acquire_owned().await.ok() } else { None };
            let _place = places.acquire_owned().await.ok();
            // Nothing is claimed any more: the slot is caught up after the next start.
            if !shared.is_stopping() {
                work(shared, slot.agent.clone(), slot.at, options).await;
            }
            slot.agent
        });
    }

    /// Waits until a run ends; for ever when there is none.
    pub(super) async fn ended(&mut self) {
        match self.runs.join_next().await {
            Some(ended) => self.forget(ended),
            None => std::future::pending().await,
        }
    }

    /// Waits until every run has ended; when the grace is over, stops them and marks what does not
    /// end even then.
    pub(super) async fn drain(mut self) {
        let grace = self.shared.memory.config.daemon.shutdown_grace;
        if self.all_end_within(grace.std()).await {
            return;
        }
        self.shared.calls.stop();
        if self.all_end_within(LAST_WORDS).await {
            return;
        }
        let shared = self.shared.clone();
        let message = format!("the daemon stopped and waited {grace} for it");
        super::blocking("marking interrupted runs", move || {
            for row in ledger::abandon(&shared.memory, |_| true, Status::Interrupted, &message)? {
                tracing::warn!(agent = row.agent, run = %row.id, "interrupted: {message}");
            }
            Ok(())
        })
        .await;
        self.runs.detach_all();
    }

    async fn all_end_within(&mut self, wait: Duration) -> bool {
        let all = async { while self.runs.join_next().await.is_some() {} };
        tokio::time::timeout(wait, all).await.is_ok()
    }

    fn forget(&mut self, ended: Result<String, JoinError>) {
        match ended {
            Ok(agent) => {
                self.pending.remove(&agent);
            }
            Err(error) => tracing::error!("a run ended unexpectedly: {error}"),
        }
    }
}

/// One run, to its end. What it does wrong stays its own.
async fn work(shared: Arc<Shared>, agent: String, slot: Timestamp, options: Options) {
    // The definition as it stands when the run begins goes with it to its end.
    let entry = shared.catalog.load().agents.get(&agent).and_then(|entry| entry.definition.clone());
    let Some(definition) = entry else {
        tracing::info!(agent, "not run: its file is gone");
        return;
    };
    if !definition.enabled {
        // Switched off while it waited for its place.
        super::blocking("recording a skipped slot", move || {
            ledger::leave(&shared.memory, &agent, slot, (Status::Skipped, Some(Reason::Disabled)), None)
        })
        .await;
        return;
    }
    let running = shared.clone();
    let ran = tokio::task::spawn_blocking(move || {
        run::run(&running.memory, &definition, Trigger::Slot(slot), &options)
    })
    .await;
    let message = match ran {
        Ok(Ok(row)) => return tell(&row),
        Ok(Err(error)) => error.to_string(),
        Err(error) => error.to_string(),
    };
    tracing::error!(agent, %slot, "a run failed: {message}");
    // A run that got as far as its claim has ended its row itself.
    super::blocking("recording a failed run", move || {
        ledger::leave(&shared.memory, &agent, slot, (Status::Failed, None), Some(message))
    })
    .await;
}

fn tell(row: &Run) {
    let applied = row.applied().count();
    let rejected = row.actions.len().saturating_sub(applied);
    tracing::info!(
        agent = row.agent,
        run = %row.id,
        applied,
        rejected,
        "{}{}{}",
        row.status.name(),
        row.reason.map(|reason| format!(": {}", reason.name())).unwrap_or_default(),
        row.message.as_ref().map(|message| format!(": {message}")).unwrap_or_default(),
    );
}
