//! Scheduled agents with a manual clock and a scripted model.

use super::world::World;
use crate::Catalog;
use crate::CatalogEntry;
use crate::Definition;
use crate::DefinitionContext;
use crate::EntryState;
use crate::due_slots::{DueRun, Tick};
use crate::ledger::{self, Run};
use crate::model::{
    CallError, CallFailure, Model, ModelFactory, ModelRegistry, ModelSettings, Reply, Request, RetryAfter,
};
use crate::run::{RunOptions, Trigger};
use crate::scheduler::{self, Scheduler};
use chrono_tz::Tz;
use parking_lot::Mutex;
use poc_graph::error::Result;
use poc_graph::time::{Span, Timestamp};
use poc_search::query::Names;
use std::sync::Arc;

pub(super) type Answer = std::result::Result<Reply, CallFailure>;

type Respond = dyn FnMut(&Request<'_>) -> Answer + Send;

/// The model of every agent.
#[derive(Clone)]
struct RespondingModel {
    respond: Arc<Mutex<Box<Respond>>>,
    /// Maximum cost of a call; `None` when calls are free.
    max: Option<f64>,
}

impl Model for RespondingModel {
    fn call(&self, request: &Request<'_>) -> Answer {
        (self.respond.lock())(request)
    }

    fn max_cost(&self, _: &Request<'_>) -> Option<f64> {
        self.max
    }
}

impl ModelFactory for RespondingModel {
    fn credentials(&self, _: &poc_config::ProviderConfig) -> Option<blake3::Hash> {
        None
    }

    fn build(&self, _: ModelSettings<'_>, _: &RetryAfter) -> std::result::Result<Box<dyn Model>, String> {
        Ok(Box::new(self.clone()))
    }
}

pub(super) struct Fleet {
    pub(super) world: World,
    pub(super) catalog: Arc<Catalog>,
    pub(super) scheduler: Scheduler,
    pub(super) options: RunOptions,
}

/// A reply without actions.
pub(super) fn nothing() -> Answer {
    replying(r#"{"notes": "", "link-add": []}"#)
}

pub(super) fn replying(text: &str) -> Answer {
    Ok(Reply { text: text.into(), ..Reply::default() })
}

pub(super) fn fails() -> Answer {
    Err(CallError::Down("no answer".into()).into())
}

impl Fleet {
    /// Agents by name with the lines of their files after `[execution]`, and two notes.
    pub(super) fn new(
        agents: &[(&str, &str)],
        play: impl FnMut(&Request<'_>) -> Answer + Send + 'static,
    ) -> Fleet {
        let mut world = World::new();
        world.config().agents.catch_up_spread = Span(0);
        world.note("page-split", "about page splits");
        world.note("page-merge", "about page merges");
        Fleet::over(world, agents, play)
    }

    pub(super) fn over(
        world: World,
        agents: &[(&str, &str)],
        play: impl FnMut(&Request<'_>) -> Answer + Send + 'static,
    ) -> Fleet {
        Fleet::costing(world, agents, None, play)
    }

    /// With a model whose calls cost at most this many dollars.
    pub(super) fn costing(
        world: World,
        agents: &[(&str, &str)],
        max: Option<f64>,
        play: impl FnMut(&Request<'_>) -> Answer + Send + 'static,
    ) -> Fleet {
        let since = world.memory.now();
        let mut catalog = Catalog::default();
        for (name, more) in agents {
            catalog.agents.insert((*name).to_owned(), entry(definition(name, more), since));
        }
        let respond: Box<Respond> = Box::new(play);
        let models =
            ModelRegistry::new(Arc::new(RespondingModel { respond: Arc::new(Mutex::new(respond)), max }));
        let options = RunOptions { models, zone: Some(Tz::UTC), ..RunOptions::default() };
        Fleet { world, catalog: Arc::new(catalog), scheduler: Scheduler::default(), options }
    }

    /// Polls once.
    pub(super) fn tick(&mut self) -> Vec<Result<Option<Run>>> {
        let tick = Tick::now(&self.world.memory, Tz::UTC);
        self.scheduler.tick(&self.world.memory, &self.catalog, tick, &self.options)
    }

    /// Lets time pass, and runs a slot of an agent. Returns its row.
    pub(super) fn slot_after(&self, time: Span, agent: &str) -> Run {
        self.world.clock.advance(time);
        let memory = &self.world.memory;
        let due = DueRun { agent: agent.to_owned(), trigger: Trigger::Slot(memory.now()), late: false };
        let tick = Tick::now(memory, Tz::UTC);
        scheduler::run_due(memory, &self.catalog, &due, tick, &self.options).unwrap().unwrap()
    }

    /// Polls at regular intervals for some time.
    pub(super) fn pass(&mut self, time: Span, every: Span) {
        let end = self.world.memory.now().plus(time);
        while self.world.memory.now() < end {
            self.world.clock.advance(every);
            for outcome in self.tick() {
                outcome.unwrap();
            }
        }
    }

    pub(super) fn hours(&mut self, hours: i64) {
        self.pass(Span(hours * Span::HOUR.0), Span::MINUTE);
    }

    /// Continues in another process.
    pub(super) fn restart(self) -> Fleet {
        let config = self.world.memory.config.clone();
        let mut world = self.world.reopen();
        world.memory.config = config;
        world.memory.instance = format!("the instance at {}", world.memory.store.last_seq());
        ledger::interrupt_orphaned(&world.memory).unwrap();
        world.memory.store.settle();
        Fleet { world, scheduler: Scheduler::default(), ..self }
    }

    /// Edits an agent's file.
    pub(super) fn edit(&mut self, name: &str, more: &str) {
        let mut catalog = (*self.catalog).clone();
        let since = catalog.agents[name].since;
        catalog.agents.insert(name.into(), entry(definition(name, more), since));
        self.catalog = Arc::new(catalog);
    }

    pub(super) fn definition(&self, name: &str) -> Arc<Definition> {
        self.catalog.get(name).unwrap().clone()
    }

    /// Oldest first.
    pub(super) fn rows(&self) -> Vec<Run> {
        let mut rows = ledger::rows(&self.world.memory, None, usize::MAX).unwrap();
        rows.reverse();
        rows
    }

    /// The rows as text, oldest first: due time, trigger and outcome.
    pub(super) fn story(&self) -> String {
        let line = |row: &Run| {
            let at = row.scheduled_at.unwrap_or(row.started).to_string();
            let reason = row.reason.map_or(String::new(), |reason| format!(" {}", reason.name()));
            let (agent, occasion) = (&row.agent, row.trigger.name());
            format!("{} {agent} {occasion}: {}{reason}\n", &at[5..16], row.status.name())
        };
        self.rows().iter().map(line).collect()
    }
}

pub(super) fn entry(definition: Definition, since: Timestamp) -> CatalogEntry {
    CatalogEntry { definition: Some(Arc::new(definition)), state: EntryState::Ok, errors: Vec::new(), since }
}

pub(super) fn definition(name: &str, more: &str) -> Definition {
    let whole = more.starts_with("[query]").then(|| more.to_owned());
    let text = whole.unwrap_or_else(|| {
        format!(
            "[query]\npipeline = \"all | type:episodic | sort:timestamp asc\"\n\
         [prompt]\ninline = \"{{{{ NODES }}}}\"\nplaceholders = [\"NODES\"]\n\
         [execution]\nmodel = \"default\"\nactions = [\"link-add\"]\n{more}"
        )
    });
    let config = poc_config::Config::defaults().unwrap();
    let context =
        DefinitionContext { config: &config, names: &Names::of(&config), template: &|_| unreachable!() };
    Definition::parse(name, name, &text, &context).unwrap_or_else(|errors| panic!("{errors:?}"))
}
