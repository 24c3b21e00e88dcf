use super::*;
use crate::Definition;
use crate::DefinitionContext;
use crate::EntryState;
use poc_config::Config;
use poc_config::paths::Paths;
use poc_graph::Trust;
use poc_graph::rng::SeededRng;
use poc_graph::time::ManualClock;
use poc_notes::testing::with_hash_embedder;
use poc_notes::{Draft, insert};
use poc_store::Table;
use proptest::prelude::*;

struct World {
    home: tempfile::TempDir,
    memory: Memory,
    clock: Arc<ManualClock>,
    scheduler: Scheduler,
    catalog: Arc<Catalog>,
    pending: BTreeMap<String, DueRun>,
}

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

fn world(agents: &[(&str, &str)]) -> World {
    let home = poc_graph::testing::folder();
    let clock = Arc::new(ManualClock::new(at("2026-11-21T00:00:00Z")));
    let memory = open(home.path(), clock.clone(), 1);
    let catalog = Arc::new(catalog(&memory, agents));
    let (scheduler, pending) = (Scheduler::default(), BTreeMap::new());
    World { home, memory, clock, scheduler, catalog, pending }
}

/// Opens the memory with a new random source, and thus a new instance id.
fn open(home: &std::path::Path, clock: Arc<ManualClock>, opening: u64) -> Memory {
    let mut config = with_hash_embedder(Config::defaults().unwrap());
    config.agents.keep_rows = 3;
    config.agents.catch_up_spread = Span(0);
    let rng = Arc::new(SeededRng::new(opening));
    Memory::open_temporary(Paths::in_folder(home), config, clock, rng).unwrap()
}

fn tick(memory: &Memory) -> Tick {
    Tick::now(memory, Tz::Europe__Berlin)
}

/// Agents by name and schedule; a schedule may be followed by further lines of the file.
fn catalog(memory: &Memory, agents: &[(&str, &str)]) -> Catalog {
    let names = memory.names.load();
    let context = DefinitionContext { config: &memory.config, names: &names, template: &|_| unreachable!() };
    let entry = |(name, schedule): &(&str, &str)| {
        let text = format!(
            "query.pipeline = \"all\"\nprompt.inline = \"{{{{ NODES }}}}\"\n\
             prompt.placeholders = [\"NODES\"]\nexecution.model = \"default\"\n\
             execution.actions = [\"link-add\"]\nschedule.timezone = \"UTC\"\nexecution.schedule = {schedule}\n"
        );
        let definition = Definition::parse(name, name, &text, &context).unwrap();
        let definition = Some(Arc::new(definition));
        let since = memory.now();
        ((*name).to_owned(), CatalogEntry { definition, state: EntryState::Ok, errors: Vec::new(), since })
    };
    Catalog { agents: agents.iter().map(entry).collect(), ..Catalog::default() }
}

impl World {
    /// The slots returned at an instant; `None` when no agent was polled.
    fn poll(&mut self, now: &str) -> Option<Vec<String>> {
        self.clock.set(at(now));
        if !self.scheduler.needs_poll(&self.memory, &self.catalog) {
            return None;
        }
        let slots =
            self.scheduler.poll(&self.memory, self.catalog.clone(), tick(&self.memory), &self.pending);
        self.pending.extend(slots.iter().map(|slot| (slot.agent.clone(), slot.clone())));
        Some(slots.into_iter().map(|slot| format!("{} {}", slot.agent, slot.trigger)).collect())
    }

    fn rows(&self) -> Vec<(String, Status, Option<StatusReason>)> {
        let rows = ledger::rows(&self.memory, None, usize::MAX).unwrap();
        rows.into_iter().map(|row| (row.agent, row.status, row.reason)).collect()
    }
}

fn slot(agent: &str, time: &str) -> DueRun {
    DueRun { agent: agent.into(), trigger: Trigger::Slot(at(time)), late: false }
}

#[test]
fn no_agent_is_polled_before_it_is_due() {
    let mut world = world(&[("daily", "\"daily at 03:30\""), ("asked", "\"on-demand\"")]);
    assert_eq!(world.poll("2026-11-21T00:00:00Z"), Some(vec![]));
    assert_eq!(
        next_run(&world.memory, &world.catalog, Tz::UTC).unwrap(),
        Some(("daily".into(), at("2026-11-21T03:30:00Z")))
    );
    assert_eq!(world.poll("2026-11-21T03:29:59Z"), None);
    assert_eq!(world.poll("2026-11-21T03:30:00Z"), Some(vec!["daily 2026-11-21T03:30:00.000Z".to_owned()]));
    assert_eq!(world.poll("2026-11-21T03:30:01Z"), None);
    // When the clock goes back, agents are polled, but nothing fires again.
    assert_eq!(world.poll("2026-11-21T03:29:00Z"), Some(vec![]));
    assert_eq!(world.poll("2026-11-21T03:30:00Z"), Some(vec![]));
    assert_eq!(world.rows(), []);
}

#[test]
fn a_slot_is_polled_again_after_a_failed_ledger_read() {
    let mut world = world(&[("daily", "\"daily at 03:30\"")]);
    world.poll("2026-11-21T00:00:00Z");
    let write = |memory: &Memory, bytes: Option<Vec<u8>>| {
        let cause = memory.cause("test", "test");
        memory.store.transact(cause, |tx| tx.put_raw(Table::AgentStates, b"daily", bytes.clone())).unwrap();
    };
    write(&world.memory, Some(b"no record at all".to_vec()));
    assert_eq!(world.poll("2026-11-21T03:30:00Z"), Some(vec![]));
    write(&world.memory, None);
    assert_eq!(world.poll("2026-11-21T03:30:09Z"), None);
    assert_eq!(world.poll("2026-11-21T03:30:10Z"), Some(vec!["daily 2026-11-21T03:30:00.000Z".to_owned()]));
}

#[test]
fn changes_are_scanned_again_after_a_failed_ledger_read() {
    let mut world = world(&[("reader", "\"on-change\"")]);
    world.poll("2026-11-21T00:00:00Z");
    let mut draft = Draft::new("manual", Trust::User);
    (draft.title, draft.body) = (Some("A note".into()), Some("about page splits".into()));
    insert::insert(&world.memory, draft, world.memory.cause("manual", "insert")).unwrap();
    let replace = |memory: &Memory, bytes: Option<Vec<u8>>| {
        let replaced = memory.store.transact(memory.cause("test", "test"), |tx| {
            let before = tx.get_raw(Table::AgentStates, b"reader")?;
            tx.put_raw(Table::AgentStates, b"reader", bytes.clone())?;
            Ok(before)
        });
        replaced.unwrap().value
    };
    let state = replace(&world.memory, Some(b"no record at all".to_vec()));
    assert_eq!(world.poll("2026-11-21T00:00:01Z"), None, "something has just changed");
    assert_eq!(world.poll("2026-11-21T00:01:00Z"), Some(vec![]));
    replace(&world.memory, state);
    world.memory.store.settle();
    assert_eq!(world.poll("2026-11-21T00:01:10Z"), Some(vec!["reader 2026-11-21T00:01:10.000Z".to_owned()]));
}

#[test]
fn a_slot_waits_while_the_file_of_its_agent_is_missing() {
    let mut world = world(&[("daily", "\"daily at 03:30\"")]);
    let file = world.memory.paths.agents().join("daily.toml");
    std::fs::create_dir_all(world.memory.paths.agents()).unwrap();
    let save = || std::fs::write(&file, "").unwrap();
    let delete = || std::fs::remove_file(&file).unwrap();
    save();
    world.poll("2026-11-21T00:00:00Z");
    delete();
    assert_eq!(world.poll("2026-11-21T03:30:00Z"), Some(vec![]));
    assert_eq!(world.poll("2026-11-21T03:30:01Z"), None);
    save();
    assert_eq!(world.poll("2026-11-21T03:30:02Z"), Some(vec!["daily 2026-11-21T03:30:00.000Z".to_owned()]));
    // The file is deleted before the run starts.
    delete();
    let due = slot("daily", "2026-11-21T03:30:00Z");
    let start =
        || run_due(&world.memory, &world.catalog, &due, tick(&world.memory), &RunOptions::default()).unwrap();
    assert_eq!(start(), None);
    assert_eq!(world.rows(), []);
    save();
    assert_eq!(start().and_then(|row| row.slot()), Some(at("2026-11-21T03:30:00Z")));
}

#[test]
fn a_new_catalog_is_polled_at_once() {
    let mut world = world(&[]);
    assert_eq!(world.poll("2026-11-21T00:00:00Z"), Some(vec![]));
    world.catalog = Arc::new(catalog(&world.memory, &[("often", "\"every 10s\"")]));
    assert_eq!(world.poll("2026-11-21T00:00:01Z"), Some(vec![]));
    assert_eq!(world.poll("2026-11-21T00:00:10Z"), Some(vec!["often 2026-11-21T00:00:10.000Z".to_owned()]));
}

#[test]
fn a_slot_that_is_not_run_leaves_a_row() {
    let mut world = world(&[("often", "\"every 1h\""), ("off", "\"daily at 01:30\"\nenabled = false")]);
    world.poll("2026-11-21T00:00:00Z");
    assert_eq!(world.poll("2026-11-21T01:00:00Z"), Some(vec!["often 2026-11-21T01:00:00.000Z".to_owned()]));
    // It has not started yet when its next slot comes.
    assert_eq!(world.poll("2026-11-21T02:00:00Z"), Some(vec![]));
    // Now it has started.
    let slot = Some(at("2026-11-21T01:00:00Z"));
    ledger::claim(&world.memory, ledger::Run::new_running(&world.memory, "often", slot)).unwrap();
    assert_eq!(world.poll("2026-11-21T03:00:00Z"), Some(vec![]));
    let mut rows = world.rows();
    rows.reverse();
    rows.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(
        rows,
        [
            ("off".to_owned(), Status::Skipped, Some(StatusReason::Disabled)),
            ("often".to_owned(), Status::Missed, Some(StatusReason::CaughtUp)),
            ("often".to_owned(), Status::Running, None),
            ("often".to_owned(), Status::Skipped, Some(StatusReason::Overlap)),
        ]
    );
}

#[test]
fn a_slot_due_while_another_is_pending_leaves_a_row() {
    let mut world = world(&[("often", "\"every 1h\""), ("gone", "\"every 1h\"")]);
    world.poll("2026-11-21T00:00:00Z");
    assert_eq!(world.poll("2026-11-21T01:00:00Z").map(|slots| slots.len()), Some(2));
    let now = Arc::new(catalog(&world.memory, &[("often", "\"every 1h\"\nenabled = false")]));
    for agent in ["often", "gone"] {
        let slot = slot(agent, "2026-11-21T01:00:00Z");
        let carry = || run_due(&world.memory, &now, &slot, tick(&world.memory), &RunOptions::default());
        let row = carry().unwrap().unwrap();
        let reason = if agent == "gone" { StatusReason::InvalidConfig } else { StatusReason::Disabled };
        assert_eq!((row.status, row.reason), (Status::Skipped, Some(reason)));
        assert_eq!(carry().unwrap(), None);
    }
    // After a day in the queue, the slot is outside the window.
    let slot = slot("often", "2026-11-21T02:00:00Z");
    world.clock.set(at("2026-11-22T03:00:00Z"));
    let row =
        run_due(&world.memory, &world.catalog, &slot, tick(&world.memory), &RunOptions::default()).unwrap();
    assert_eq!(
        row.map(|row| (row.status, row.reason)),
        Some((Status::Missed, Some(StatusReason::OutsideWindow)))
    );
}

#[test]
fn a_tick_runs_the_due_slots() {
    let mut world = world(&[("often", "\"every 1h\""), ("daily", "\"daily at 03:30\"")]);
    let mut rows = Vec::new();
    for hour in 0..24 {
        world.clock.set(at("2026-11-21T00:00:00Z").plus(Span(hour * Span::HOUR.0)));
        let tick = tick(&world.memory);
        rows.extend(world.scheduler.tick(&world.memory, &world.catalog, tick, &RunOptions::default()));
    }
    let rows: Vec<Run> = rows.into_iter().map(|row| row.unwrap().unwrap()).collect();
    let of = |agent: &str| rows.iter().filter(|row| row.agent == agent).count();
    assert_eq!((of("often"), of("daily")), (23, 1));
    assert!(rows.iter().all(|row| row.reason == Some(StatusReason::TooFewResults)));
}

/// An event between two polls.
#[derive(Clone, Debug)]
enum Step {
    /// Time passes while the process polls regularly.
    Awake { seconds: i64, ticks: i64 },
    /// The process ends, and another one starts some time later.
    Down { minutes: i64 },
    /// The process is killed during the due runs.
    Killed,
    /// The clock is set.
    Set { minutes: i64 },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => (60..900i64, 5..20i64).prop_map(|(seconds, ticks)| Step::Awake { seconds, ticks }),
        1 => (1..600i64).prop_map(|minutes| Step::Down { minutes }),
        1 => Just(Step::Killed),
        1 => (-3_000..3_000i64).prop_map(|minutes| Step::Set { minutes }),
        // Back to before the last run.
        3 => (-150..-30i64).prop_map(|minutes| Step::Set { minutes }),
    ];
    proptest::collection::vec(step, 4..14)
}

poc_laws::laws! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// With only three rows kept, across process ends and clock changes, every due slot can be claimed, and no slot
    /// runs twice unless it was interrupted.
    #[test]
    fn no_slot_runs_twice_however_few_rows_are_kept(steps in steps()) {
        let World { home, mut memory, clock, mut scheduler, catalog, .. } =
            world(&[("often", "\"every 7m\""), ("daily", "\"daily at 02:30\"")]);
        let mut ran: BTreeMap<(String, Timestamp), usize> = BTreeMap::new();
        let mut killed: BTreeMap<(String, Timestamp), usize> = BTreeMap::new();
        let mut opening = 1;
        for step in steps {
            let mut kills = false;
            let (span, ticks) = match step {
                Step::Awake { seconds, ticks } => (Span(seconds * 1000), ticks),
                Step::Down { minutes } => (Span(minutes * Span::MINUTE.0), 1),
                Step::Killed => (Span(7 * Span::MINUTE.0), 1),
                Step::Set { minutes } => (Span(minutes * Span::MINUTE.0), 1),
            };
            if matches!(step, Step::Down { .. }) {
                drop(memory);
                opening += 1;
                memory = open(home.path(), clock.clone(), opening);
                ledger::interrupt_orphaned(&memory).unwrap();
            }
            for _ in 0..ticks {
                clock.set(memory.now().plus(span));
                if !scheduler.needs_poll(&memory, &catalog) {
                    continue;
                }
                for slot in scheduler.poll(&memory, catalog.clone(), tick(&memory), &BTreeMap::new()) {
                    let key = (slot.agent.clone(), slot.trigger.due_at().unwrap());
                    if matches!(step, Step::Killed) {
                        let row = ledger::Run::new_running(&memory, &slot.agent, slot.trigger.due_at());
                        let claimed = ledger::claim(&memory, row);
                        prop_assert!(claimed.is_ok(), "{claimed:?}");
                        *killed.entry(key).or_default() += 1;
                        kills = true;
                        continue;
                    }
                    let row = run_due(&memory, &catalog, &slot, tick(&memory), &RunOptions::default());
                    prop_assert!(matches!(row, Ok(Some(_))), "{row:?}");
                    *ran.entry(key).or_default() += 1;
                }
            }
            if kills {
                drop(memory);
                opening += 1;
                memory = open(home.path(), clock.clone(), opening);
                let interrupted = ledger::interrupt_orphaned(&memory).unwrap();
                prop_assert!(interrupted.iter().all(|row| row.status == Status::Interrupted));
                scheduler = Scheduler::default();
            }
        }
        prop_assert!(ran.values().all(|times| *times == 1), "{ran:?}");
        prop_assert!(killed.values().all(|times| *times <= 2), "{killed:?}");
    }
}
