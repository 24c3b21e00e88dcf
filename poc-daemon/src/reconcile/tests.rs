use super::*;
use poc_agent::{Definition, DefinitionContext};
use poc_config::Config;
use poc_graph::time::Timestamp;
use poc_search::query::Names;
use std::collections::BTreeSet;
use std::time::Duration;

/// The agents' folder, the catalog in use, and the time.
struct World {
    files: BTreeMap<String, String>,
    folder_exists: bool,
    settings: Option<String>,
    reconciler: Reconciler,
    current: Catalog,
    /// Missing files within their grace period, as the catalog reports them.
    missing: BTreeSet<String>,
    now: Instant,
}

fn world() -> World {
    World {
        files: BTreeMap::new(),
        folder_exists: true,
        settings: None,
        reconciler: Reconciler::default(),
        current: Catalog::default(),
        missing: BTreeSet::new(),
        now: Instant::now(),
    }
}

impl World {
    /// Writes the file of an agent, which is valid if `pipeline` is.
    fn write(&mut self, name: &str, pipeline: &str) {
        self.files.insert(name.to_owned(), pipeline.to_owned());
    }

    fn scan(&self) -> CatalogSnapshot {
        let config = Config::defaults().unwrap();
        let names = Names::of(&config);
        let context = DefinitionContext { config: &config, names: &names, template: &|_| unreachable!() };
        let entry = |(name, pipeline): (&String, &String)| {
            let text = format!(
                "[query]\npipeline = \"{pipeline}\"\n[prompt]\ninline = \"{{{{ NODES }}}}\"\n\
                 placeholders = [\"NODES\"]\n[execution]\nmodel = \"default\"\nactions = [\"link-add\"]\n"
            );
            let file = format!("agents/{name}.toml");
            let parsed = Definition::parse(name, &file, &text, &context);
            let since = Timestamp(0);
            let (definition, state, errors) = match parsed {
                Ok(definition) => (Some(Arc::new(definition)), EntryState::Ok, Vec::new()),
                Err(errors) => match self.current.agents.get(name).and_then(|entry| entry.definition.clone())
                {
                    Some(good) => (Some(good), EntryState::LastGood, errors),
                    None => (None, EntryState::Invalid, errors),
                },
            };
            (name.clone(), CatalogEntry { definition, state, errors, since })
        };
        let agents =
            if self.folder_exists { self.files.iter().map(entry).collect() } else { BTreeMap::new() };
        let problems = if self.folder_exists { Vec::new() } else { vec!["the folder is gone".to_owned()] };
        let catalog = Catalog { agents, problems, missing: self.missing.clone(), ..Catalog::default() };
        CatalogSnapshot { catalog, folder_exists: self.folder_exists, settings: self.settings.clone() }
    }

    /// Scans after some time. Returns the events and what is pending.
    fn scan_after(&mut self, after_millis: u64) -> String {
        self.scan_confirmed(after_millis, false)
    }

    fn scan_confirmed(&mut self, after_millis: u64, confirmed: bool) -> String {
        self.now += Duration::from_millis(after_millis);
        let scan = self.scan();
        let reconciled = self.reconciler.reconcile(&self.current, scan, confirmed, self.now);
        self.current = Arc::unwrap_or_clone(reconciled.catalog);
        let mut words: Vec<String> = reconciled
            .events
            .into_iter()
            .map(|event| match event {
                CatalogEvent::Broken { agent, last_valid_in_use, errors } => {
                    format!(
                        "broken {agent} (last good: {last_valid_in_use}) line {}",
                        errors[0].line.unwrap()
                    )
                }
                CatalogEvent::Agent(change) => format!("{change:?}"),
                other => format!("{other:?}"),
            })
            .collect();
        words.extend(reconciled.pending.error.then(|| "scan again".to_owned()));
        words.extend(reconciled.pending.missing.then(|| "wait for the file".to_owned()));
        words.join("; ")
    }

    fn states(&self) -> String {
        let states = self.current.agents.iter().map(|(name, entry)| format!("{name} {:?}", entry.state));
        states.collect::<Vec<_>>().join(", ")
    }
}

#[test]
fn a_file_is_added_changed_and_deleted() {
    let mut world = world();
    world.write("linker", "all");
    assert_eq!(world.scan_after(0), "Added(\"linker\")");
    assert_eq!(world.scan_after(30_000), "");
    world.write("linker", "all | limit:3");
    assert_eq!(world.scan_after(1000), "Changed(\"linker\")");
    world.files.clear();
    world.missing.insert("linker".into());
    assert_eq!(world.scan_after(1000), "wait for the file");
    assert_eq!(world.scan_after(1000), "wait for the file");
    assert_eq!(world.states(), "linker Ok");
    world.missing.clear();
    assert_eq!(world.scan_after(1000), "Retired(\"linker\")");
    assert_eq!(world.states(), "");
}

#[test]
fn an_unconfirmed_error_of_one_file_does_not_confirm_another() {
    let mut world = world();
    world.write("linker", "all");
    world.write("other", "all");
    world.scan_after(0);
    world.write("linker", "al");
    assert_eq!(world.scan_after(1000), "scan again");
    // This file is half written when the first file is scanned again.
    world.write("other", "al");
    assert_eq!(world.scan_after(250), "broken linker (last good: true) line 2; scan again");
    world.write("other", "all | limit:2");
    assert_eq!(world.scan_after(100), "Changed(\"other\")");
}

#[test]
fn a_file_that_is_replaced_is_never_retired() {
    let mut world = world();
    world.write("linker", "all");
    world.scan_after(0);
    let text = world.files.remove("linker").unwrap();
    world.missing.insert("linker".into());
    assert_eq!(world.scan_after(1000), "wait for the file");
    world.write("linker", &text);
    world.missing.clear();
    assert_eq!(world.scan_after(500), "");
}

#[test]
fn an_error_counts_at_the_second_scan() {
    let mut world = world();
    world.write("linker", "all");
    world.write("other", "all");
    world.scan_after(0);
    world.write("linker", "al");
    world.write("other", "all | limit:1");
    // A valid file takes effect at once.
    assert_eq!(world.scan_after(1000), "Changed(\"other\"); scan again");
    assert_eq!(world.states(), "linker Ok, other Ok");
    assert_eq!(world.scan_after(250), "broken linker (last good: true) line 2");
    assert_eq!(world.states(), "linker LastGood, other Ok");
    assert_eq!(world.scan_after(30_000), "");
    world.write("linker", "all");
    assert_eq!(world.scan_after(1000), "Valid(\"linker\")");
}

#[test]
fn a_half_written_file_causes_no_event() {
    let mut world = world();
    world.write("linker", "al");
    assert_eq!(world.scan_after(0), "scan again");
    assert_eq!(world.states(), "");
    world.write("linker", "all");
    assert_eq!(world.scan_after(250), "Added(\"linker\")");
    // The next error needs a second scan again.
    world.write("linker", "al");
    assert_eq!(world.scan_after(60_000), "scan again");
}

#[test]
fn a_file_that_was_never_valid_is_listed() {
    let mut world = world();
    world.write("linker", "al");
    world.scan_after(0);
    assert_eq!(world.scan_after(250), "broken linker (last good: false) line 2");
    assert_eq!(world.states(), "linker Invalid");
}

#[test]
fn a_missing_folder_changes_no_agent_and_is_reported() {
    let mut world = world();
    world.write("linker", "all");
    world.scan_after(0);
    world.folder_exists = false;
    assert_eq!(world.scan_after(1000), "scan again");
    assert_eq!(world.scan_after(250), "Problem(\"the folder is gone\")");
    assert_eq!(world.scan_after(3_600_000), "");
    assert_eq!(world.states(), "linker Ok");
    world.folder_exists = true;
    assert_eq!(world.scan_after(1000), "Solved(\"the folder is gone\")");
    // The folder exists again without the file, so the agent is retired after its grace period.
    world.folder_exists = false;
    world.scan_after(1000);
    world.scan_after(250);
    world.folder_exists = true;
    world.files.clear();
    world.missing.insert("linker".into());
    assert_eq!(world.scan_after(10_000), "Solved(\"the folder is gone\"); wait for the file");
    world.missing.clear();
    assert_eq!(world.scan_after(2000), "Retired(\"linker\")");
}

#[test]
fn a_requested_reload_takes_effect_at_once() {
    let mut world = world();
    world.write("linker", "all");
    world.write("other", "al");
    assert_eq!(world.scan_confirmed(0, true), "Added(\"linker\"); broken other (last good: false) line 2");
    world.files.clear();
    assert_eq!(world.scan_confirmed(0, true), "Retired(\"linker\"); Retired(\"other\")");
}

#[test]
fn settings_that_cannot_take_effect_are_reported() {
    let mut world = world();
    world.settings = Some("restart".into());
    assert_eq!(world.scan_after(0), "scan again");
    assert_eq!(world.scan_after(250), "Problem(\"restart\")");
    assert_eq!(world.scan_after(30_000), "");
    world.settings = None;
    assert_eq!(world.scan_after(1000), "Solved(\"restart\")");
}
