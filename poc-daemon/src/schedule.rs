//! Runs the agents that are due.
//!
//! A heartbeat wakes the loop. Each time it compares the clock with the next instant anything can
//! be due, which costs nothing; only then it asks the ledger and the pure
//! [`due`](poc_memory::agent::due::due), writes the rows of what is not run and hands the rest to
//! the executor.

mod executor;
mod heartbeat;

use crate::shared::Shared;
use executor::Executor;
use poc_memory::agent::due::{self, Decision, Moment, Past};
use poc_memory::agent::ledger::{self, Status};
use poc_memory::agent::schedule::local_zone;
use poc_memory::agent::{Catalog, Entry};
use poc_memory::error::Result;
use poc_memory::time::{Span, Timestamp};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// A slot that is looked at this late is still on time; a slow heartbeat needs more.
const TOLERANCE: Span = Span::MINUTE;

/// The heartbeat goes by the time of day and stands still while a clock that was set back catches
/// up with it. This wakes the loop all the same.
const WATCHDOG: Duration = Duration::from_secs(60);

/// Starts what is due until the daemon is to stop; returns when the last run it started has ended
/// or its grace is over.
pub(crate) async fn run(shared: Arc<Shared>) {
    let (recovered, this) = (shared.clone(), "recovery of interrupted runs");
    blocking(this, move || recover(&recovered)).await;
    let Some(mut heartbeat) = heartbeat::start(&shared).await else {
        shared.stop();
        return;
    };
    let mut executor = Executor::new(&shared);
    let mut agenda = Agenda::default();
    loop {
        tokio::select! {
            () = shared.stopped() => break,
            () = executor.ended() => continue,
            () = shared.wake.notified() => {}
            () = tokio::time::sleep(WATCHDOG) => {}
        }
        let catalog = shared.catalog.load_full();
        let now = shared.memory.now();
        if !agenda.asks(&catalog, now) {
            continue;
        }
        let pending = executor.pending();
        let asked = shared.clone();
        let (back, decided) = match blocking("a look at what is due", move || {
            let decided = agenda.decide(&asked, catalog, now, &pending);
            Ok((agenda, decided))
        })
        .await
        {
            Some(looked) => looked,
            None => (Agenda::default(), Vec::new()),
        };
        agenda = back;
        shared.state.lock().next = agenda.next();
        for (agent, slot, late) in decided {
            executor.start(agent, slot, late);
        }
    }
    heartbeat::stop(&mut heartbeat).await;
    executor.drain().await;
}

/// Runs blocking work beside the loop; what goes wrong is logged.
async fn blocking<T: Send + 'static>(
    what: &str,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Option<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(value)) => return Some(value),
        Ok(Err(error)) => tracing::error!("{what} failed: {error}"),
        Err(error) => tracing::error!("{what} failed: {error}"),
    }
    None
}

/// Ends the rows of runs that another process left in the middle.
fn recover(shared: &Shared) -> Result<()> {
    for row in ledger::interrupt_others(&shared.memory)? {
        tracing::warn!(agent = row.agent, run = %row.id, "a run was interrupted by the end of its process");
    }
    Ok(())
}

/// When each agent has to be looked at next.
#[derive(Default)]
struct Agenda {
    catalog: Option<Arc<Catalog>>,
    looked: Timestamp,
    next: BTreeMap<String, Timestamp>,
}

impl Agenda {
    /// Whether anything can be due: an instant has come, agents changed or the clock went back.
    fn asks(&self, catalog: &Arc<Catalog>, now: Timestamp) -> bool {
        self.is_stale(catalog, now) || self.next.values().any(|next| *next <= now)
    }

    fn is_stale(&self, catalog: &Arc<Catalog>, now: Timestamp) -> bool {
        now < self.looked || self.catalog.as_ref().is_none_or(|known| !Arc::ptr_eq(known, catalog))
    }

    /// The agent that is due next, and when.
    fn next(&self) -> Option<(String, Timestamp)> {
        self.next.iter().min_by_key(|(_, next)| **next).map(|(agent, next)| (agent.clone(), *next))
    }

    /// Writes the rows of what is not run and returns what is: agent, slot, whether it is late.
    /// `pending` are slots that were handed out and may have no row yet.
    fn decide(
        &mut self,
        shared: &Shared,
        catalog: Arc<Catalog>,
        now: Timestamp,
        pending: &BTreeMap<String, Timestamp>,
    ) -> Vec<(String, Timestamp, bool)> {
        let zone = local_zone();
        if self.is_stale(&catalog, now) {
            self.next.clear();
            self.next.extend(catalog.agents.keys().map(|agent| (agent.clone(), now)));
        }
        let asked: BTreeMap<String, Entry> = catalog
            .agents
            .iter()
            .filter(|(agent, _)| self.next.get(*agent).is_some_and(|next| *next <= now))
            .map(|(agent, entry)| (agent.clone(), entry.clone()))
            .collect();
        for (agent, entry) in &asked {
            let next = entry.definition.as_ref().and_then(|agent_of| due::next(agent, agent_of, now, zone));
            match next {
                Some(next) => self.next.insert(agent.clone(), next),
                None => self.next.remove(agent),
            };
        }
        let mut past = BTreeMap::new();
        for agent in asked.keys() {
            match ledger::rows(&shared.memory, Some(agent), usize::MAX) {
                Ok(rows) => {
                    let mut known = Past::of(&rows);
                    pending.get(agent).into_iter().for_each(|slot| known.claim(*slot));
                    past.insert(agent.clone(), known);
                }
                Err(error) => tracing::error!(agent, "the ledger cannot be read: {error}"),
            }
        }
        let agents = asked.into_iter().filter(|(agent, _)| past.contains_key(agent)).collect();
        let asked = Catalog { agents, problems: Vec::new() };
        let heartbeat = shared.memory.config.daemon.heartbeat;
        let tolerance = TOLERANCE.max(Span(heartbeat.0.saturating_mul(2)));
        self.looked = now;
        self.catalog = Some(catalog);
        due::due(&asked, &past, Moment { now, zone, tolerance })
            .into_iter()
            .filter_map(|decision| settle(shared, decision))
            .collect()
    }
}

/// Leaves the row of what is not run; returns what is.
fn settle(shared: &Shared, decision: Decision) -> Option<(String, Timestamp, bool)> {
    match decision {
        Decision::Run { agent, slot, late } => Some((agent, slot, late)),
        Decision::Skip { agent, slots, missed, reason } => {
            let status = if missed { Status::Missed } else { Status::Skipped };
            let message = (slots.count > 1).then(|| slots.to_string());
            match ledger::leave(&shared.memory, &agent, slots.last, (status, Some(reason)), message) {
                Ok(_) => tracing::info!(agent, "{}: {}, {slots}", status.name(), reason.name()),
                Err(error) => tracing::error!(agent, "{slots} left no row: {error}"),
            }
            None
        }
    }
}
