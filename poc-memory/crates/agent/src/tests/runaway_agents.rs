//! Checks that agents that run endlessly and models that become more expensive never exceed a limit.
//! `POC_MEMORY_RUNAWAY` sets the number of random scenarios, `POC_MEMORY_SEED` the seed. The models count the
//! spending themselves, independently of the ledger.

use super::hostile_replies::Dice;
use super::world::{World, parse};
use crate::definition::Definition;
use crate::ledger::{Run, Status, StatusReason};
use crate::model::{CallCost, CallError, CallFailure, Model, Reply, Request};
use crate::run::{RunOptions, Trigger, run_among};
use chrono_tz::Tz;
use parking_lot::Mutex;
use poc_graph::rng::SeededRng;
use poc_graph::time::{Span, Timestamp};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Number of runs per scenario.
const RUNS: usize = 30;

/// Tolerance of comparisons of sums of dollars.
const CENT: f64 = 1e-9;

/// The limits of the operator and the agent file.
#[derive(Debug)]
struct Caps {
    per_run: Option<f64>,
    per_day: Option<f64>,
    all_agents: f64,
    runs: u32,
    attempts: u32,
    repair: u32,
    actions: usize,
    links: usize,
    weights: usize,
    tokens: usize,
    minutes: i64,
}

fn caps(dice: &Dice) -> Caps {
    let dollars = |below: usize| dice.below(below) as f64 / 100.0;
    Caps {
        per_run: (!dice.one_in(3)).then(|| dollars(300)),
        per_day: (!dice.one_in(3)).then(|| dollars(900)),
        all_agents: dollars(1500),
        runs: dice.below(8) as u32,
        attempts: 1 + dice.below(6) as u32,
        repair: dice.below(4) as u32,
        actions: 1 + dice.below(12),
        links: 1 + dice.below(8),
        weights: 1 + dice.below(8),
        tokens: 1500 + dice.below(3000),
        minutes: 1 + dice.below(20) as i64,
    }
}

fn definition(caps: &Caps) -> Definition {
    let money =
        |name: &str, max: Option<f64>| max.map_or(String::new(), |max| format!("{name} = {max:.2}\n"));
    let text = format!(
        "[query]\npipeline = \"all | type:episodic | sort:timestamp asc\"\n\
         [freshness]\nwindow = \"1s\"\n\
         [prompt]\ninline = \"{{{{ NODES }}}}\"\nplaceholders = [\"NODES\"]\nmax-tokens = {}\n\
         [execution]\nmodel = \"default\"\nactions = [\"link-add\", \"weight\"]\ntimeout = \"{}m\"\n\
         [limits]\nmax-actions = {}\nlink-add.max = {}\nweight.max = {}\n\
         [budget]\nmax-runs-per-day = {}\n{}{}\
         [retry]\nattempts = {}\nrepair = {}\n\
         [schedule]\ntimezone = \"Europe/Vienna\"\n",
        caps.tokens,
        caps.minutes,
        caps.actions,
        caps.links,
        caps.weights,
        caps.runs,
        money("max-usd-per-run", caps.per_run),
        money("max-usd-per-day", caps.per_day),
        caps.attempts,
        caps.repair,
    );
    parse(&text).unwrap_or_else(|errors| panic!("{errors:?}"))
}

/// A model whose calls cost as much as is allowed.
struct GreedyModel<'a> {
    dice: &'a Dice,
    /// Maximum cost of one attempt; `None` when unknown.
    max: Option<f64>,
    /// The allowed and the actual cost of every call.
    calls: Mutex<Vec<RecordedCall>>,
}

#[derive(Clone, Debug, PartialEq)]
struct RecordedCall {
    attempts: u32,
    dollars: f64,
    timeout: Span,
    tokens: usize,
}

impl Model for GreedyModel<'_> {
    fn call(&self, request: &Request<'_>) -> Result<Reply, CallFailure> {
        // The last attempt may succeed; each costs at most the announced maximum.
        let attempts = 1 + self.dice.below(request.attempts as usize) as u32;
        let bill = |_| CallCost {
            tokens_in: Some(1000),
            tokens_out: Some(1000),
            cost: self.max.map(|max| if self.dice.one_in(2) { max } else { max / 2.0 }),
            estimated: self.dice.one_in(2),
        };
        let spent: Vec<CallCost> = (0..attempts).map(bill).collect();
        self.calls.lock().push(RecordedCall {
            attempts: request.attempts,
            dollars: spent.iter().filter_map(|spent| spent.cost).sum(),
            timeout: request.timeout,
            tokens: (request.system.chars().count() + request.prompt.chars().count()) / 4,
        });
        let failed = |error| Err(CallFailure { error, spent: spent.clone() });
        match self.dice.below(9) {
            0 => failed(CallError::Down("down".into())),
            1 => failed(CallError::TimedOut(request.timeout)),
            2 => failed(CallError::Cut),
            3 => failed(CallError::Refused("no".into())),
            4 | 5 => Ok(Reply { text: "more, more".into(), spent, ..Reply::default() }),
            _ => Ok(Reply { text: wishes(self.dice, request).to_string(), spent, ..Reply::default() }),
        }
    }

    fn max_cost(&self, _: &Request<'_>) -> Option<f64> {
        self.max
    }
}

/// A reply that links all nodes and changes all weights.
fn wishes(dice: &Dice, request: &Request<'_>) -> Value {
    let names: Vec<&String> = request.selection.handles.iter().map(|handle| &handle.name).collect();
    let link =
        |_| json!({"reason": "more", "from": dice.pick(&names), "to": dice.pick(&names), "strength": 0.5});
    let weight = |name: &&String| json!({"reason": "more", "node": name, "delta": 0.1});
    let links: Vec<Value> = (0..dice.below(60)).map(link).collect();
    json!({"notes": "", "link-add": links, "weight": names.iter().map(weight).collect::<Vec<_>>()})
}

fn world() -> World {
    let world = World::new();
    for number in 0..12 {
        world.note(&format!("note-{number}"), &"page splits and journals. ".repeat(8));
    }
    world
}

fn day(at: Timestamp, zone: Tz) -> String {
    at.utc().unwrap().with_timezone(&zone).date_naive().to_string()
}

fn applied(run: &Run, verb: &str) -> usize {
    run.applied_actions().filter(|action| action.summary.starts_with(verb)).count()
}

/// One scenario: two agents with the same limits and two models each, for several days. Returns how often each
/// limit took effect.
fn scenario(seed: u64) -> [usize; 3] {
    let dice = Dice(SeededRng::new(seed));
    let caps = caps(&dice);
    let mut world = world();
    world.config().budget.max_usd_per_day = caps.all_agents;
    let mut definition = definition(&caps);
    let options = RunOptions { zone: Some(Tz::UTC), force: true, ..RunOptions::default() };
    let (mut of_agent, mut of_all, mut begun) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    let mut held = [0; 3];
    for _ in 0..RUNS {
        let at = world.memory.now();
        definition.name = dice.pick(&["one", "two"]).to_string();
        let models: Vec<GreedyModel<'_>> = (0..2)
            .map(|_| GreedyModel {
                dice: &dice,
                max: (!dice.one_in(8)).then(|| dice.below(120) as f64 / 100.0),
                calls: Mutex::default(),
            })
            .collect();
        let among: Vec<(&str, &dyn Model)> =
            ["a", "b"].into_iter().zip(models.iter().map(|model| model as _)).collect();
        let row = run_among(&world.memory, &definition, &among, Trigger::Manual, &options).unwrap();
        let calls: Vec<RecordedCall> = models.iter().flat_map(|model| model.calls.lock().clone()).collect();
        let dollars: f64 = calls.iter().map(|call| call.dollars).sum();
        let context = format!("seed {seed}: {caps:?}\n{row:?}\n{calls:?}");

        assert!(calls.len() <= caps.repair as usize + 2, "{context}");
        assert!(calls.iter().all(|call| (1..=caps.attempts).contains(&call.attempts)), "{context}");
        assert!(calls.iter().all(|call| call.timeout == definition.execution.timeout), "{context}");
        assert!(calls.iter().all(|call| call.tokens <= caps.tokens), "{context}");
        assert!((row.cost.unwrap_or(0.0) - dollars).abs() < CENT, "{context}");
        assert!(caps.per_run.is_none_or(|max| dollars <= max + CENT), "{context}");
        let own = (definition.name.clone(), day(at, Tz::Europe__Vienna));
        let today: &mut f64 = of_agent.entry(own.clone()).or_default();
        *today += dollars;
        assert!(dollars == 0.0 || caps.per_day.is_none_or(|max| *today <= max + CENT), "{context}");
        let all: &mut f64 = of_all.entry(day(at, Tz::UTC)).or_default();
        *all += dollars;
        assert!(dollars == 0.0 || *all <= caps.all_agents + CENT, "{context}");
        let runs: &mut u32 = begun.entry(own).or_default();
        *runs += u32::from(row.status != Status::Skipped);
        assert!(caps.runs == 0 || *runs <= caps.runs, "{context}");
        assert!(row.applied_actions().count() <= caps.actions, "{context}");
        assert!(applied(&row, "link") <= caps.links, "{context}");
        assert!(row.applied_actions().count() - applied(&row, "link") <= caps.weights, "{context}");

        held[0] += usize::from(row.reason == Some(StatusReason::OverBudget));
        held[1] +=
            row.actions.iter().filter(|action| action.refusal_code.as_deref() == Some("over-limit")).count();
        held[2] += usize::from(row.status == Status::Ok || row.status == Status::Partial);
        world.clock.advance(Span(dice.below(5 * Span::HOUR.0 as usize) as i64));
    }
    held
}

#[test]
fn no_budget_or_limit_is_ever_exceeded() {
    let setting = |name: &str, usual| std::env::var(name).map_or(usual, |text| text.parse().unwrap());
    let (count, seed) = (setting("POC_MEMORY_RUNAWAY", 40), setting("POC_MEMORY_SEED", 0));
    let held = (seed..seed + count).map(scenario).fold([0; 3], |[a, b, c], [x, y, z]| [a + x, b + y, c + z]);
    let [over_budget, over_limit, done] = held;
    println!(
        "{count} scenarios of {RUNS} runs from seed {seed}: {over_budget} runs held back by money or number, {over_limit} actions by limits, {done} runs did something"
    );
    // Each limit took effect in some runs.
    assert!(held.iter().all(|held| *held as u64 >= count), "{held:?}");
}
