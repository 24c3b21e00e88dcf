//! A memory in a temporary folder with a manual clock and a seeded random source, and scripted models.

use crate::Definition;
use crate::DefinitionContext;
use crate::ledger::Run;
use crate::model::{CallFailure, Model, Reply, Request};
use crate::run::{RunOptions, Trigger, run_with};
use parking_lot::Mutex;
use poc_config::Config;
use poc_config::paths::Paths;
use poc_graph::diagnostic::FileDiagnostic;
use poc_graph::error::{Error, Result};
use poc_graph::rng::SeededRng;
use poc_graph::time::{ManualClock, Timestamp};
use poc_graph::{NodeId, Trust};
use poc_notes::recall::{self, RecallUpdate, RetrievedPair};
use poc_notes::testing::with_hash_embedder;
use poc_notes::{Draft, Memory, insert};
use poc_search::query::Names;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;

/// A memory in a temporary folder.
pub struct World {
    pub memory: Memory,
    pub clock: Arc<ManualClock>,
    pub home: tempfile::TempDir,
}

impl World {
    pub fn new() -> World {
        World::with(|_| {})
    }

    /// Like [`World::new`], in a folder that `prepare` fills first.
    pub fn with(prepare: impl FnOnce(&std::path::Path)) -> World {
        let config = with_hash_embedder(Config::defaults().unwrap());
        World::with_config(config, prepare)
    }

    /// A world with the default embedder of users, which has real word vectors and takes longer to open.
    pub fn with_default_embedder() -> World {
        World::with_config(Config::defaults().unwrap(), |_| {})
    }

    fn with_config(config: Config, prepare: impl FnOnce(&std::path::Path)) -> World {
        let home = poc_graph::testing::folder();
        prepare(home.path());
        let clock = Arc::new(ManualClock::new(Timestamp::parse("2026-11-21T08:00:00Z").unwrap()));
        let memory = open(home.path(), config, clock.clone());
        World { memory, clock, home }
    }

    /// Opens the same folder again, as another process would.
    pub fn reopen(self) -> World {
        let World { memory, clock, home } = self;
        drop(memory);
        let config = with_hash_embedder(Config::defaults().unwrap());
        let memory = open(home.path(), config, clock.clone());
        World { memory, clock, home }
    }

    /// Stores an imported episodic note, which agents may re-weight.
    pub fn note(&self, key: &str, body: &str) -> NodeId {
        self.draft(Draft { node_type: Some("episodic".into()), ..draft(key, body) })
    }

    pub fn draft(&self, draft: Draft) -> NodeId {
        insert::insert(&self.memory, draft, self.memory.cause("test", "insert")).unwrap().id
    }

    /// A person edits a note.
    pub fn edit(&self, key: &str, body: &str) {
        edit(&self.memory, key, body);
    }

    pub fn file(&self, path: &str, text: &str) {
        let path = self.home.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub fn run(&self, definition: &Definition, model: &dyn Model) -> Run {
        run_with(&self.memory, definition, model, Trigger::Manual, &RunOptions::default()).unwrap()
    }

    /// The whole graph except visits, as text.
    pub fn graph(&self) -> String {
        let store = &self.memory.store;
        let view = store.view();
        let mut text = String::new();
        // A note that is deleted and restored gets another slot.
        let ids: BTreeSet<NodeId> = (0..view.slots()).filter_map(|ix| view.id(ix)).collect();
        for id in ids {
            let Some(node) = store.node(id).unwrap() else { continue };
            let mut edges = store.edges(node.id).unwrap();
            edges.sort_by_key(|edge| (edge.src, edge.kind, edge.dst));
            writeln!(text, "{node:?}\n  {:?}\n  {edges:?}", store.activity(node.id).unwrap()).unwrap();
            writeln!(text, "  {:?}", self.memory.vectors.of(node.id)).unwrap();
        }
        text
    }

    /// Records recalls that used all live notes, followed an edge from each note to the next, and retrieved
    /// every pair together.
    pub fn learn(&self) {
        let view = self.memory.store.view();
        let used: Vec<NodeId> =
            (0..view.slots()).filter(|&ix| view.is_live(ix)).filter_map(|ix| view.id(ix)).collect();
        let followed = used.windows(2).map(|pair| (pair[0], pair[1])).collect();
        let pairs = used.iter().flat_map(|&a| used.iter().map(move |&b| (a, b)));
        let pairs: Vec<_> = pairs.filter(|(a, b)| a < b).collect();
        let record = |update: &RecallUpdate| recall::record(&self.memory, "manual", update).unwrap();
        record(&RecallUpdate { used, pairs: Vec::new(), followed });
        for (a, b) in pairs {
            record(&RecallUpdate {
                pairs: vec![RetrievedPair { a, b, gain: 0.5 }],
                ..RecallUpdate::default()
            });
        }
        recall::flush(&self.memory).unwrap();
    }

    /// The configuration, for changes.
    pub fn config(&mut self) -> &mut Config {
        Arc::make_mut(&mut self.memory.config)
    }

    /// Sets the minimum cosine of candidates in prompts.
    pub fn candidates_from(&mut self, cosine: f64) {
        self.config().cosines.values_mut().for_each(|cosines| cosines.candidate = cosine);
    }

    pub fn weight(&self, id: NodeId) -> f64 {
        self.memory.store.activity(id).unwrap().unwrap().weight
    }
}

fn open(home: &std::path::Path, config: Config, clock: Arc<ManualClock>) -> Memory {
    Memory::open_temporary(Paths::in_folder(home), config, clock, Arc::new(SeededRng::new(7))).unwrap()
}

pub fn draft(key: &str, body: &str) -> Draft {
    let mut draft = Draft::new("import:test", Trust::User);
    (draft.key, draft.title, draft.body) = (Some(key.into()), Some(key.replace('-', " ")), Some(body.into()));
    draft
}

pub fn edit(memory: &Memory, key: &str, body: &str) {
    let change = Draft { update: true, ..draft(key, body) };
    insert::insert(memory, change, memory.cause("manual", "insert")).unwrap();
}

/// An agent with these actions and further lines of its file.
pub fn agent(actions: &str, more: &str) -> Definition {
    let text = format!(
        "[query]\npipeline = \"all | type:episodic | sort:timestamp asc\"\n\
         [prompt]\ninline = \"{{{{ NODES }}}}\"\nplaceholders = [\"NODES\"]\n\
         [execution]\nmodel = \"default\"\nactions = [{actions}]\n{more}"
    );
    parse(&text).unwrap_or_else(|errors| panic!("{errors:?}"))
}

/// An agent that links, with the model `first` and the fallback model `second`, each called once per run.
pub fn agent_with_fallback() -> Definition {
    let mut definition = agent("\"link-add\"", "[retry]\nattempts = 1\n");
    definition.execution.model = "first".into();
    definition.execution.fallback = vec!["second".into()];
    definition
}

/// The calls of a run: the model, and whether the cost is estimated.
pub fn calls(run: &Run) -> Vec<(&str, bool)> {
    run.calls.iter().map(|call| (call.model.as_str(), call.estimated)).collect()
}

/// The diagnostics, each with its hint on a line of its own.
pub fn report(diagnostics: &[FileDiagnostic]) -> String {
    let hint = |hint: &String| format!("\n  {hint}");
    let line = |one: &FileDiagnostic| format!("{one}{}\n", one.hint.as_ref().map_or_else(String::new, hint));
    diagnostics.iter().map(line).collect()
}

/// The definition in the text of an agent file.
pub fn parse(text: &str) -> Result<Definition, Vec<FileDiagnostic>> {
    let template = |name: &str| Err(Error::config(format!("the template `{name}` is missing")));
    let config = Config::defaults().unwrap();
    let context = DefinitionContext { config: &config, names: &Names::of(&config), template: &template };
    Definition::parse("tester", "agents/tester.toml", text, &context)
}

/// A model that returns the given replies in order and can run code during a call.
pub struct ScriptedModel<'a> {
    replies: Mutex<Vec<Result<Reply, CallFailure>>>,
    during_call: Box<dyn Fn(&Request<'_>) + Send + Sync + 'a>,
    pub prompts: Mutex<Vec<String>>,
}

impl<'a> ScriptedModel<'a> {
    pub fn new(replies: Vec<Result<Reply, CallFailure>>) -> ScriptedModel<'a> {
        ScriptedModel {
            replies: Mutex::new(replies.into_iter().rev().collect()),
            during_call: Box::new(|_| {}),
            prompts: Mutex::default(),
        }
    }

    /// A model with one reply, a JSON value.
    pub fn replying(value: Value) -> ScriptedModel<'a> {
        ScriptedModel::new(vec![Ok(Reply { text: value.to_string(), ..Reply::default() })])
    }

    /// A model with one reply without actions.
    pub fn doing_nothing(actions: &[&str]) -> ScriptedModel<'a> {
        let mut value = json!({"notes": ""});
        actions.iter().for_each(|action| value[*action] = json!([]));
        ScriptedModel::replying(value)
    }

    pub fn during_call(mut self, act: impl Fn(&Request<'_>) + Send + Sync + 'a) -> ScriptedModel<'a> {
        self.during_call = Box::new(act);
        self
    }
}

impl Model for ScriptedModel<'_> {
    fn call(&self, request: &Request<'_>) -> Result<Reply, CallFailure> {
        (self.during_call)(request);
        self.prompts.lock().push(format!("{}\n{}", request.system, request.prompt));
        self.replies.lock().pop().expect("the model was called once too often")
    }
}

/// A model whose reply is a function of the request.
pub struct FnModel<F>(pub F);

impl<F: Fn(&Request<'_>) -> Value + Send + Sync> Model for FnModel<F> {
    fn call(&self, request: &Request<'_>) -> Result<Reply, CallFailure> {
        Ok(Reply { text: (self.0)(request).to_string(), ..Reply::default() })
    }
}

/// The handle of the node with a key; `N999` when it is not in the prompt.
pub fn handle(request: &Request<'_>, key: &str) -> String {
    let found = request.selection.handles.iter().find(|handle| handle.node.key == key);
    found.map_or("N999".into(), |handle| handle.name.clone())
}

/// Each action of a run with its outcome.
pub fn outcomes(run: &Run) -> Vec<String> {
    let outcome = |row: &crate::ledger::ActionRecord| {
        let outcome = row.refusal_code.clone().unwrap_or_else(|| "applied".into());
        format!("{}: {outcome}", row.summary)
    };
    run.actions.iter().map(outcome).collect()
}
