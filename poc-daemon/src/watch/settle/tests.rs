use super::*;
use poc_agent::{Context, Definition};
use poc_config::Config;
use poc_graph::time::Timestamp;
use poc_search::query::Names;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// The folder as it stands, what is shown of it, and the time.
struct World {
    files: BTreeMap<String, String>,
    folder: bool,
    settings: Option<String>,
    settling: Settling,
    shown: Catalog,
    /// Files that are missing as the catalog tells it.
    missing: BTreeSet<String>,
    now: Instant,
}

fn world() -> World {
    World {
        files: BTreeMap::new(),
        folder: true,
        settings: None,
        settling: Settling::default(),
        shown: Catalog::default(),
        missing: BTreeSet::new(),
        now: Instant::now(),
    }
}

impl World {
    /// Writes a file: a good one when the words are the pipeline of an agent.
    fn write(&mut self, name: &str, pipeline: &str) {
        self.files.insert(name.to_owned(), pipeline.to_owned());
    }

    fn found(&self) -> Found {
        let config = Config::defaults().unwrap();
        let names = Names::of(&config);
        let context = Context { config: &config, names: &names, template: &|_| unreachable!() };
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
                Err(errors) => match self.shown.agents.get(name).and_then(|entry| entry.definition.clone()) {
                    Some(good) => (Some(good), EntryState::LastGood, errors),
                    None => (None, EntryState::Invalid, errors),
                },
            };
            (name.clone(), Entry { definition, state, errors, since })
        };
        let agents = if self.folder { self.files.iter().map(entry).collect() } else { BTreeMap::new() };
        let problems = if self.folder { Vec::new() } else { vec!["the folder is gone".to_owned()] };
        let catalog = Catalog { agents, problems, missing: self.missing.clone() };
        Found { catalog, folder: self.folder, settings: self.settings.clone() }
    }

    /// Looks after some time and tells the news, and what is open.
    fn look(&mut self, after_millis: u64) -> String {
        self.look_with(after_millis, false)
    }

    fn look_with(&mut self, after_millis: u64, sure: bool) -> String {
        self.now += Duration::from_millis(after_millis);
        let found = self.found();
        let settled = self.settling.settle(&self.shown, found, sure, self.now);
        self.shown = settled.catalog;
        let mut words: Vec<String> = settled
            .news
            .into_iter()
            .map(|news| match news {
                News::Broken(name, last_good, errors) => {
                    let at = errors[0].at.clone().unwrap();
                    format!("broken {name} (last good: {last_good}) line {}", at.line.unwrap())
                }
                other => format!("{other:?}"),
            })
            .collect();
        words.extend(settled.open.doubt.then(|| "look again".to_owned()));
        words.extend(settled.open.gone.then(|| "wait for it".to_owned()));
        words.join("; ")
    }

    fn states(&self) -> String {
        let states = self.shown.agents.iter().map(|(name, entry)| format!("{name} {:?}", entry.state));
        states.collect::<Vec<_>>().join(", ")
    }
}

#[test]
fn a_file_comes_changes_and_goes() {
    let mut world = world();
    world.write("linker", "all");
    assert_eq!(world.look(0), "Added(\"linker\")");
    assert_eq!(world.look(30_000), "");
    world.write("linker", "all | limit:3");
    assert_eq!(world.look(1000), "Changed(\"linker\")");
    world.files.clear();
    world.missing.insert("linker".into());
    assert_eq!(world.look(1000), "wait for it");
    assert_eq!(world.look(1000), "wait for it");
    assert_eq!(world.states(), "linker Ok");
    world.missing.clear();
    assert_eq!(world.look(1000), "Retired(\"linker\")");
    assert_eq!(world.states(), "");
}

#[test]
fn the_doubt_of_one_file_is_not_believed_of_another() {
    let mut world = world();
    world.write("linker", "all");
    world.write("other", "all");
    world.look(0);
    world.write("linker", "al");
    assert_eq!(world.look(1000), "look again");
    // Half written at the second look of the first one.
    world.write("other", "al");
    assert_eq!(world.look(250), "broken linker (last good: true) line 2; look again");
    world.write("other", "all | limit:2");
    assert_eq!(world.look(100), "Changed(\"other\")");
}

#[test]
fn a_file_that_is_replaced_is_never_gone() {
    let mut world = world();
    world.write("linker", "all");
    world.look(0);
    let text = world.files.remove("linker").unwrap();
    world.missing.insert("linker".into());
    assert_eq!(world.look(1000), "wait for it");
    world.write("linker", &text);
    world.missing.clear();
    assert_eq!(world.look(500), "");
}

#[test]
fn an_error_counts_at_the_second_look() {
    let mut world = world();
    world.write("linker", "all");
    world.write("other", "all");
    world.look(0);
    world.write("linker", "al");
    world.write("other", "all | limit:1");
    // What is good takes effect at once.
    assert_eq!(world.look(1000), "Changed(\"other\"); look again");
    assert_eq!(world.states(), "linker Ok, other Ok");
    assert_eq!(world.look(250), "broken linker (last good: true) line 2");
    assert_eq!(world.states(), "linker LastGood, other Ok");
    assert_eq!(world.look(30_000), "");
    world.write("linker", "all");
    assert_eq!(world.look(1000), "Mended(\"linker\")");
}

#[test]
fn a_half_written_file_is_no_news() {
    let mut world = world();
    world.write("linker", "al");
    assert_eq!(world.look(0), "look again");
    assert_eq!(world.states(), "");
    world.write("linker", "all");
    assert_eq!(world.look(250), "Added(\"linker\")");
    // The next error has a second look of its own.
    world.write("linker", "al");
    assert_eq!(world.look(60_000), "look again");
}

#[test]
fn a_file_that_was_never_good_is_shown() {
    let mut world = world();
    world.write("linker", "al");
    world.look(0);
    assert_eq!(world.look(250), "broken linker (last good: false) line 2");
    assert_eq!(world.states(), "linker Invalid");
}

#[test]
fn a_vanished_folder_changes_nothing_and_is_told() {
    let mut world = world();
    world.write("linker", "all");
    world.look(0);
    world.folder = false;
    assert_eq!(world.look(1000), "look again");
    assert_eq!(world.look(250), "Problem(\"the folder is gone\")");
    assert_eq!(world.look(3_600_000), "");
    assert_eq!(world.states(), "linker Ok");
    world.folder = true;
    assert_eq!(world.look(1000), "Solved(\"the folder is gone\")");
    // Back without the file: now it is gone, after its grace.
    world.folder = false;
    world.look(1000);
    world.look(250);
    world.folder = true;
    world.files.clear();
    world.missing.insert("linker".into());
    assert_eq!(world.look(10_000), "Solved(\"the folder is gone\"); wait for it");
    world.missing.clear();
    assert_eq!(world.look(2000), "Retired(\"linker\")");
}

#[test]
fn a_person_who_asks_gets_an_answer_at_once() {
    let mut world = world();
    world.write("linker", "all");
    world.write("other", "al");
    assert_eq!(world.look_with(0, true), "Added(\"linker\"); broken other (last good: false) line 2");
    world.files.clear();
    assert_eq!(world.look_with(0, true), "Retired(\"linker\"); Retired(\"other\")");
}

#[test]
fn settings_that_cannot_take_effect_are_told() {
    let mut world = world();
    world.settings = Some("restart".into());
    assert_eq!(world.look(0), "look again");
    assert_eq!(world.look(250), "Problem(\"restart\")");
    assert_eq!(world.look(30_000), "");
    world.settings = None;
    assert_eq!(world.look(1000), "Solved(\"restart\")");
}
