//! Does what is due, so many agents at a time, each on a thread of its own.

use crate::shared::Shared;
use poc_agent::agenda::{self, Slot};
use poc_agent::due::Moment;
use poc_agent::ledger::{self, RowOutcome, Run, Status};
use poc_agent::run::Options;
use poc_agent::schedule::local_zone;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::task::{Id, JoinError, JoinSet};

/// What a run gets to end after it was stopped.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Runs that were begun and have not ended.
pub(super) struct Executor {
    shared: Arc<Shared>,
    runs: JoinSet<()>,
    /// The agent of each.
    agents: HashMap<Id, String>,
    pending: BTreeMap<String, Slot>,
    /// Those that wait for a place or have one: a thread each.
    threads: Arc<Semaphore>,
    /// Runs that are caught up go one after the other, so that a start after a long absence is
    /// not a rush.
    late: Arc<Semaphore>,
}

impl Executor {
    pub(super) fn new(shared: &Arc<Shared>) -> Executor {
        Executor {
            shared: shared.clone(),
            runs: JoinSet::new(),
            agents: HashMap::new(),
            pending: BTreeMap::new(),
            threads: Arc::new(Semaphore::new(shared.memory.config.agents.max_concurrent_runs.max(1))),
            late: Arc::new(Semaphore::new(1)),
        }
    }

    /// Slots that were handed out and have not ended.
    pub(super) fn pending(&self) -> BTreeMap<String, Slot> {
        self.pending.clone()
    }

    /// Runs a slot as soon as there is a place.
    pub(super) fn start(&mut self, slot: Slot) {
        let (shared, threads, caught_up) = (self.shared.clone(), self.threads.clone(), self.late.clone());
        let (cancellation, models) = (self.shared.calls.clone(), self.shared.models.clone());
        let options = Options { cancellation, models, ..Options::default() };
        let agent = slot.agent.clone();
        self.pending.insert(agent.clone(), slot.clone());
        let run = self.runs.spawn(async move {
            let _turn = if slot.late { caught_up.acquire_owned().await.ok() } else { None };
            let _thread = threads.acquire_owned().await.ok();
            // Nothing is claimed any more: the slot is caught up after the next start.
            if !shared.is_stopping() {
                work(shared, slot, options).await;
            }
        });
        self.agents.insert(run.id(), agent);
    }

    /// Waits until a run ends and says whose; for ever when there is none.
    pub(super) async fn ended(&mut self) -> Option<String> {
        match self.runs.join_next_with_id().await {
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
        self.shared.calls.cancel();
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

    /// However it ended: an agent that stayed pending would never run again.
    fn forget(&mut self, ended: Result<(Id, ()), JoinError>) -> Option<String> {
        let id = match ended {
            Ok((id, ())) => id,
            Err(error) => {
                tracing::error!("a run ended unexpectedly: {error}");
                error.id()
            }
        };
        let agent = self.agents.remove(&id)?;
        self.pending.remove(&agent);
        Some(agent)
    }
}

/// One run, to its end. What it does wrong stays its own.
async fn work(shared: Arc<Shared>, slot: Slot, options: Options) {
    let Slot { agent, trigger, .. } = slot.clone();
    let running = shared.clone();
    let ran = tokio::task::spawn_blocking(move || {
        let place = running.run_limiter.slot(&running.memory, &options.cancellation);
        if place.is_none() || running.is_stopping() {
            return Ok(None);
        }
        // The definition as it stands when the run begins goes with it to its end.
        let catalog = running.catalog.load_full();
        let moment = Moment::now(&running.memory, local_zone());
        agenda::carry_out(&running.memory, &catalog, &slot, moment, &options)
    });
    let message = match ran.await {
        Ok(Ok(row)) => return row.iter().for_each(tell),
        Ok(Err(error)) => return tracing::error!(agent, slot = %trigger, "a run failed: {error}"),
        Err(error) => error.to_string(),
    };
    tracing::error!(agent, slot = %trigger, "a run failed: {message}");
    super::blocking("recording a failed run", move || {
        let failed = RowOutcome { status: Status::Failed, reason: None, message: Some(message) };
        ledger::leave(&shared.memory, &agent, trigger, failed)
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
