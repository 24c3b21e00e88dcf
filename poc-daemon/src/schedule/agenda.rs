//! When each agent has to be looked at next, so that an idle daemon looks at nothing.

use poc_memory::agent::due::{self, Decision, Moment, Past};
use poc_memory::agent::ledger::{self, Status};
use poc_memory::agent::schedule::local_zone;
use poc_memory::agent::{Catalog, Entry};
use poc_memory::memory::Memory;
use poc_memory::time::{Span, Timestamp};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A slot that is looked at this late is still on time; a slow heartbeat needs more.
const TOLERANCE: Span = Span::MINUTE;

/// A slot that is to be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) agent: String,
    pub(super) at: Timestamp,
    /// Whether it is caught up.
    pub(super) late: bool,
}

/// The next instant of every agent that runs by itself, as of the last look.
#[derive(Default)]
pub(super) struct Agenda {
    catalog: Option<Arc<Catalog>>,
    looked: Timestamp,
    next: BTreeMap<String, Timestamp>,
}

impl Agenda {
    /// Whether anything can be due: an instant has come, agents changed or the clock went back.
    pub(super) fn asks(&self, catalog: &Arc<Catalog>, now: Timestamp) -> bool {
        self.is_stale(catalog, now) || self.next.values().any(|next| *next <= now)
    }

    /// The agent that runs next, and when.
    pub(super) fn next(&self) -> Option<(String, Timestamp)> {
        let entry = |agent| self.catalog.as_ref()?.agents.get(agent)?.definition.as_ref();
        // The slots of a disabled agent come too: to leave their rows.
        let runs = |agent| entry(agent).is_some_and(|definition| definition.enabled);
        self.next
            .iter()
            .filter(|(agent, _)| runs(agent.as_str()))
            .min_by_key(|(_, next)| **next)
            .map(|(agent, next)| (agent.clone(), *next))
    }

    /// Looks at the agents whose instant has come: writes the rows of what is not run and returns
    /// what is. `pending` are slots that were handed out and may have no row yet.
    pub(super) fn look(
        &mut self,
        memory: &Memory,
        catalog: Arc<Catalog>,
        now: Timestamp,
        pending: &BTreeMap<String, Timestamp>,
    ) -> Vec<Slot> {
        let tolerance = TOLERANCE.max(Span(memory.config.daemon.heartbeat.0.saturating_mul(2)));
        let moment = Moment { now, zone: local_zone(), tolerance };
        let mut asked = self.take(catalog, &moment);
        let past: BTreeMap<String, Past> = asked
            .agents
            .keys()
            .filter_map(|agent| Some((agent.clone(), past(memory, agent, pending.get(agent))?)))
            .collect();
        asked.agents.retain(|agent, _| past.contains_key(agent));
        let decisions = due::due(&asked, &past, moment);
        decisions.into_iter().filter_map(|decision| settle(memory, decision)).collect()
    }

    /// The agents whose instant has come, with the instants after it noted.
    fn take(&mut self, catalog: Arc<Catalog>, moment: &Moment) -> Catalog {
        let all = self.is_stale(&catalog, moment.now);
        let come = |agent: &String| all || self.next.get(agent).is_some_and(|next| *next <= moment.now);
        let agents: BTreeMap<String, Entry> = catalog
            .agents
            .iter()
            .filter(|(agent, _)| come(agent))
            .map(|(agent, entry)| (agent.clone(), entry.clone()))
            .collect();
        if all {
            self.next.clear();
        }
        for (agent, entry) in &agents {
            let definition = entry.definition.as_ref();
            match definition.and_then(|definition| due::next(agent, definition, moment.now, moment.zone)) {
                Some(next) => self.next.insert(agent.clone(), next),
                None => self.next.remove(agent),
            };
        }
        (self.looked, self.catalog) = (moment.now, Some(catalog));
        Catalog { agents, problems: Vec::new() }
    }

    fn is_stale(&self, catalog: &Arc<Catalog>, now: Timestamp) -> bool {
        now < self.looked || self.catalog.as_ref().is_none_or(|known| !Arc::ptr_eq(known, catalog))
    }
}

/// What is known of an agent; `None` when the ledger cannot be read, which leaves its slots for
/// the next look.
fn past(memory: &Memory, agent: &str, pending: Option<&Timestamp>) -> Option<Past> {
    match ledger::state(memory, agent) {
        Ok(state) => {
            let mut past = Past::from(state);
            pending.into_iter().for_each(|slot| past.claim(*slot));
            Some(past)
        }
        Err(error) => {
            tracing::error!(agent, "the ledger cannot be read: {error}");
            None
        }
    }
}

/// Leaves the row of what is not run; returns what is.
fn settle(memory: &Memory, decision: Decision) -> Option<Slot> {
    match decision {
        Decision::Run { agent, slot, late } => Some(Slot { agent, at: slot, late }),
        Decision::Skip { agent, slots, missed, reason } => {
            let status = if missed { Status::Missed } else { Status::Skipped };
            let message = (slots.count > 1).then(|| slots.to_string());
            match ledger::leave(memory, &agent, slots.last, (status, Some(reason)), message) {
                Ok(_) => tracing::info!(agent, "{}: {}, {slots}", status.name(), reason.name()),
                Err(error) => tracing::error!(agent, "{slots} left no row: {error}"),
            }
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use poc_memory::agent::ledger::Reason;
    use poc_memory::agent::{Context, Definition, EntryState};
    use poc_memory::chance::SeededChance;
    use poc_memory::config::Config;
    use poc_memory::paths::Paths;
    use poc_memory::time::ManualClock;

    struct World {
        _home: tempfile::TempDir,
        memory: Memory,
        clock: Arc<ManualClock>,
        agenda: Agenda,
        catalog: Arc<Catalog>,
        pending: BTreeMap<String, Timestamp>,
    }

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    fn world(agents: &[(&str, &str)]) -> World {
        let home = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::new(at("2026-11-21T00:00:00Z")));
        let config = Config::defaults().unwrap();
        let paths = Paths::in_folder(home.path());
        let memory = Memory::open(paths, config, clock.clone(), Arc::new(SeededChance::new(1))).unwrap();
        let catalog = Arc::new(catalog(&memory, agents));
        let (agenda, pending) = (Agenda::default(), BTreeMap::new());
        World { _home: home, memory, clock, agenda, catalog, pending }
    }

    /// Agents by name and schedule; a schedule may be followed by further lines of the file.
    fn catalog(memory: &Memory, agents: &[(&str, &str)]) -> Catalog {
        let names = memory.names.load();
        let context = Context { config: &memory.config, names: &names, template: &|_| unreachable!() };
        let entry = |(name, schedule): &(&str, &str)| {
            let text = format!(
                "query.pipeline = \"all\"\nprompt.inline = \"{{{{ NODES }}}}\"\n\
                 prompt.placeholders = [\"NODES\"]\nexecution.model = \"default\"\n\
                 execution.actions = [\"link-add\"]\nschedule.timezone = \"UTC\"\nexecution.schedule = {schedule}\n"
            );
            let definition = Definition::parse(name, name, &text, &context).unwrap();
            let definition = Some(Arc::new(definition));
            let since = memory.now();
            ((*name).to_owned(), Entry { definition, state: EntryState::Ok, errors: Vec::new(), since })
        };
        Catalog { agents: agents.iter().map(entry).collect(), problems: Vec::new() }
    }

    impl World {
        /// The slots handed out at an instant; `None` when nothing was looked at.
        fn look(&mut self, now: &str) -> Option<Vec<String>> {
            self.clock.set(at(now));
            if !self.agenda.asks(&self.catalog, at(now)) {
                return None;
            }
            let slots = self.agenda.look(&self.memory, self.catalog.clone(), at(now), &self.pending);
            self.pending.extend(slots.iter().map(|slot| (slot.agent.clone(), slot.at)));
            Some(slots.into_iter().map(|slot| format!("{} {}", slot.agent, slot.at)).collect())
        }

        fn rows(&self) -> Vec<(String, Status, Option<Reason>)> {
            let rows = ledger::rows(&self.memory, None, usize::MAX).unwrap();
            rows.into_iter().map(|row| (row.agent, row.status, row.reason)).collect()
        }
    }

    #[test]
    fn nothing_is_looked_at_before_its_instant() {
        let mut world = world(&[("daily", "\"daily at 03:30\""), ("asked", "\"on-demand\"")]);
        assert_eq!(world.look("2026-11-21T00:00:00Z"), Some(vec![]));
        assert_eq!(world.agenda.next(), Some(("daily".into(), at("2026-11-21T03:30:00Z"))));
        assert_eq!(world.look("2026-11-21T03:29:59Z"), None);
        assert_eq!(
            world.look("2026-11-21T03:30:00Z"),
            Some(vec!["daily 2026-11-21T03:30:00.000Z".to_owned()])
        );
        assert_eq!(world.look("2026-11-21T03:30:01Z"), None);
        // The clock goes back: it is looked at, and nothing fires again.
        assert_eq!(world.look("2026-11-21T03:29:00Z"), Some(vec![]));
        assert_eq!(world.look("2026-11-21T03:30:00Z"), Some(vec![]));
        assert_eq!(world.rows(), []);
    }

    #[test]
    fn other_agents_are_looked_at_at_once() {
        let mut world = world(&[]);
        assert_eq!(world.look("2026-11-21T00:00:00Z"), Some(vec![]));
        world.catalog = Arc::new(catalog(&world.memory, &[("often", "\"every 10s\"")]));
        assert_eq!(world.look("2026-11-21T00:00:01Z"), Some(vec![]));
        assert_eq!(
            world.look("2026-11-21T00:00:10Z"),
            Some(vec!["often 2026-11-21T00:00:10.000Z".to_owned()])
        );
    }

    #[test]
    fn what_is_not_run_leaves_its_row() {
        let mut world = world(&[("often", "\"every 1h\""), ("off", "\"daily at 01:30\"\nenabled = false")]);
        world.look("2026-11-21T00:00:00Z");
        assert_eq!(
            world.look("2026-11-21T01:00:00Z"),
            Some(vec!["often 2026-11-21T01:00:00.000Z".to_owned()])
        );
        // It has not begun yet, and its next slot comes.
        assert_eq!(world.look("2026-11-21T02:00:00Z"), Some(vec![]));
        let mut rows = world.rows();
        rows.sort_by(|a, b| a.0.cmp(&b.0));
        assert_eq!(
            rows,
            [
                ("off".to_owned(), Status::Skipped, Some(Reason::Disabled)),
                ("often".to_owned(), Status::Skipped, Some(Reason::Overlap)),
            ]
        );
    }
}
