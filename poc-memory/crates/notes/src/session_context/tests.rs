use super::scope::{Membership, ProjectNotes};
use super::*;
use crate::testing::{TestMemory, draft};
use crate::{Draft, Memory, derivation, insert};
use poc_config::{Config, GateKind, HookGate, HookScope};
use poc_embed::Embedder;
use poc_graph::error::Result;
use poc_graph::{Category, Delta, EdgeKind, Ix, State, Trust, View, testing};
use poc_rank::gate::Verdict;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const OWN: &str = "project:github.com/ann/journal";
const OTHER: &str = "project:github.com/ann/shop";

fn memory(scope: HookScope) -> TestMemory {
    let mut config = Config::defaults().unwrap();
    config.hooks.scope = scope;
    config.hooks.gate = HookGate::Weak;
    TestMemory::with(config)
}

fn session(own_notes: &[String]) -> SessionFilter<'_> {
    SessionFilter { project: Some("github.com/ann/journal"), own_notes }
}

/// The keys of the notes of a briefing, by part.
fn parts(memory: &TestMemory, session: SessionFilter<'_>) -> Vec<(BriefingPart, Vec<String>)> {
    let keys = |notes: Vec<ContextNote>| notes.into_iter().map(|note| note.node.key).collect();
    briefing(memory, session).unwrap().parts.into_iter().map(|(part, notes)| (part, keys(notes))).collect()
}

fn note(memory: &TestMemory, key: &str, body: &str, keywords: &[&str], change: impl FnOnce(&mut Draft)) {
    let keywords = keywords.iter().map(|word| (*word).to_owned()).collect();
    let mut draft = Draft { key: Some(key.into()), keywords: Some(keywords), ..draft(body) };
    change(&mut draft);
    let actor = draft.provenance.clone();
    insert::insert(memory, draft, memory.cause(&actor, "insert")).unwrap();
}

/// Makes a note a turn of a session with Claude Code.
fn turn(draft: &mut Draft) {
    draft.node_type = Some("episodic".into());
    draft.author = Some("User, Claude".into());
}

#[test]
fn a_briefing_shows_decisions_and_open_work_of_the_last_sessions() {
    let memory = memory(HookScope::Person);
    let say = |key: &str, body: &str, keywords: &[&str]| {
        note(&memory, key, body, keywords, turn);
        memory.clock.advance(poc_graph::time::Span::HOUR);
    };
    // The oldest of six sessions is not searched.
    say("claude-code/s0/0", "User: Decision: no cache.\n\nClaude: OK", &[OWN]);
    say("claude-code/s1/0", "User: We decided to use NATS.\n\nClaude: Noted.", &[OWN]);
    say("codex/s2/0", "User: Is the retry done?\n\nClaude: TODO the backoff is missing.", &[OWN]);
    say("claude-code/s3/0", "User: Decision: the till is a queue.\n\nClaude: OK", &[OTHER]);
    say("claude-code/s4/0", "User: We decided to use NATS.\n\nClaude: As before.", &[OWN]);
    say("claude-code/s4/sub/1", "User: Which port?\n\nClaude: 7443", &[OWN]);
    say("claude-code/s5/0", "User: and the log?\n\nClaude: It is text.", &[OWN]);
    say("claude-code/s6/0", "User: the queue?\n\nClaude: Decision: use `dlq`. Still open: alerts.", &[OWN]);
    say("claude-code/s6/1", "User: commit this\n\nClaude: Committed.", &[OWN]);
    say("claude-code/s6/2", "User: thanks\n\nClaude: Bye", &[OWN]);
    note(&memory, "wal", "Log first", &[OWN, "decision"], |_| {});
    let briefing = briefing(&memory, session(&[])).unwrap();
    let shown: Vec<(BriefingPart, Vec<(&str, &str)>)> = briefing
        .parts
        .iter()
        .map(|(part, notes)| {
            (*part, notes.iter().map(|note| (note.node.key.as_str(), note.text.as_str())).collect())
        })
        .collect();
    let end = "User: the queue? Claude: Decision: use `dlq`. Still open: alerts.";
    assert_eq!(
        shown,
        [
            // What the end of the last session shows is not repeated.
            (BriefingPart::LastSession, vec![("claude-code/s6/0", end)]),
            (BriefingPart::Open, vec![("codex/s2/0", "TODO the backoff is missing.")]),
            (BriefingPart::Decisions, vec![("wal", ""), ("claude-code/s4/0", "We decided to use NATS.")]),
        ]
    );
}

#[test]
fn a_briefing_sorts_the_notes_of_a_project() {
    let memory = memory(HookScope::Person);
    note(&memory, "claude-code/aa/0", "User: the port?\n\nClaude: 7443", &[OWN], turn);
    memory.clock.advance(poc_graph::time::Span::HOUR);
    note(&memory, "claude-code/aa/1", "User: thanks\n\nClaude: bye", &[OWN], turn);
    memory.clock.advance(poc_graph::time::Span::HOUR);
    note(&memory, "fact", "The port is 7443", &[OWN], |draft| draft.provenance = "agent:facts".into());
    note(&memory, "wal", "Log first", &[OWN, "decision"], |_| {});
    note(&memory, "todo", "Measure splits", &[OWN], |draft| draft.category = Some(Category::Task));
    note(&memory, "page", "Pages have 4 KiB", &[OWN], |_| {});
    note(&memory, "fish", "I use fish", &[], |draft| draft.category = Some(Category::Core));
    note(&memory, "lunch", "Dumplings", &["decision"], |_| {});
    note(&memory, "till", "A queue", &[OTHER, "decision"], |_| {});
    let of = |part, keys: &[&str]| (part, keys.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>());
    let own = ["claude-code/bb/".to_owned()];
    assert_eq!(
        parts(&memory, session(&own)),
        [
            of(BriefingPart::LastSession, &["claude-code/aa/0"]),
            of(BriefingPart::Open, &["todo"]),
            of(BriefingPart::Decisions, &["wal"]),
            of(BriefingPart::Standing, &["fish"]),
            of(BriefingPart::Found, &["fact"]),
            of(BriefingPart::Recent, &["page"]),
        ]
    );
    // In a folder without a project, the notes without a project are shown.
    assert_eq!(
        parts(&memory, SessionFilter::default()),
        [of(BriefingPart::Decisions, &["lunch"]), of(BriefingPart::Standing, &["fish"]),]
    );
}

#[test]
fn a_derived_note_belongs_to_the_project_that_its_sources_come_from() {
    let memory = memory(HookScope::Person);
    let notes: [(&str, &str, &[&str]); 5] = [
        ("till", "The till is a queue", &[OTHER]),
        ("fact", "Payments wait in line", &[]),
        ("digest", "How money arrives", &[]),
        ("wal", "Log first", &[OWN]),
        ("free", "I use fish", &[]),
    ];
    for (key, body, keywords) in notes {
        note(&memory, key, body, keywords, |_| {});
    }
    let id = |key: &str| {
        let view = memory.store.view();
        view.find_key(key).and_then(|ix| view.id(ix)).unwrap()
    };
    let derive = |note: &str, source: &str| {
        let (note, source) = (id(note), id(source));
        memory
            .store
            .transact(memory.cause("manual", "link"), |tx| {
                derivation::add_sources(tx, note, &[source], "manual", "", memory.now())
            })
            .unwrap();
    };
    let memberships = || {
        let view = memory.store.view();
        let projects = ProjectNotes::of(&view, session(&[]), HookScope::Person);
        ["fact", "digest", "free"].map(|key| projects.membership(view.find_key(key).unwrap()))
    };
    derive("digest", "fact");
    assert_eq!(memberships(), [Membership::Unlabelled; 3]);
    derive("fact", "till");
    assert_eq!(memberships(), [Membership::Other, Membership::Other, Membership::Unlabelled]);
    derive("digest", "wal");
    assert_eq!(memberships(), [Membership::Other, Membership::Own, Membership::Unlabelled]);
}

#[test]
fn the_gate_of_query_decides_whether_a_prompt_gets_notes() {
    let memory = memory(HookScope::Person);
    note(&memory, "gateway", "The gateway listens on port 7443.", &[OWN], |_| {});
    let ask = |prompt: &str, known: bool| prompt_context(&memory, session(&[]), prompt, &|_| known).unwrap();
    let found = ask("which port does the gateway listen on?", false);
    assert_eq!((found.verdict, found.notes.len(), found.all_known), (Verdict::Strong, 1, false));
    let known = ask("which port does the gateway listen on?", true);
    assert_eq!((known.notes.len(), known.all_known), (0, true));
    let missed = ask("how do penguins sleep?", false);
    assert_eq!((missed.verdict, missed.notes.len(), missed.all_known), (Verdict::Miss, 0, false));
}

#[test]
fn longer_notes_of_no_project_do_not_displace_the_note_of_the_project() {
    let memory = memory(HookScope::Person);
    for number in 0..20 {
        let body = format!("Lunch {number} was soup with bread.");
        note(&memory, &format!("filler-{number}"), &body, &[], |_| {});
    }
    for number in 0..8 {
        let body = format!("Table {number} is kept in records. The table of a pairing is kept sorted, too.");
        note(&memory, &format!("docs/{number}"), &body, &[], |_| {});
    }
    let ask = || {
        let found =
            prompt_context(&memory, session(&[]), "where is the pairing table kept?", &|_| false).unwrap();
        found.notes.into_iter().map(|note| note.node.key).collect::<Vec<_>>()
    };
    assert!(ask().iter().all(|key| key.starts_with("docs/")) && !ask().is_empty(), "{:?}", ask());
    note(&memory, "other", "User: lunch?\n\nClaude: Soup with bread.", &[OWN], turn);
    assert!(!ask().contains(&"other".to_owned()), "the gate calls it a miss");
    let body = "User: which file?\n\nClaude: The pairing table is stored in `devices.toml`.";
    note(&memory, "claude-code/aa/1", body, &[OWN], turn);
    let keys = ask();
    assert!(keys[0] == "claude-code/aa/1" && keys[1].starts_with("docs/") && keys.len() <= 5, "{keys:?}");
}

/// An embedder that counts its calls.
struct CountingEmbedder {
    inner: Arc<dyn Embedder>,
    calls: AtomicUsize,
}

impl Embedder for CountingEmbedder {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn dimensions(&self) -> usize {
        self.inner.dimensions()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.inner.embed(texts)
    }

    fn contextual(&self) -> bool {
        self.inner.contextual()
    }
}

#[test]
fn a_prompt_is_embedded_once_although_the_gate_is_asked_again_about_the_project() {
    for gate in GateKind::ALL {
        let mut config = Config::defaults().unwrap();
        (config.hooks.scope, config.hooks.gate, config.query.gate) =
            (HookScope::Person, HookGate::Weak, gate);
        let memory = TestMemory::with(config);
        note(&memory, "gateway", "The gateway listens on port 7443.", &[], |_| {});
        note(&memory, "till", "The till listens on port 7444.", &[OWN], |_| {});
        let inner = memory.embedder.clone();
        let embedder = Arc::new(CountingEmbedder { inner, calls: AtomicUsize::new(0) });
        let counted = Memory { embedder: embedder.clone(), ..Memory::clone(&memory) };
        for prompt in ["The gateway listens on port 7443.", "how do penguins sleep?"] {
            prompt_context(&counted, session(&[]), prompt, &|_| false).unwrap();
            assert_eq!(embedder.calls.swap(0, Ordering::Relaxed), 1, "{gate:?}: {prompt}");
        }
    }
}

#[test]
fn an_identifier_leads_to_its_note_where_the_gate_is_not_sure() {
    let mut config = Config::defaults().unwrap();
    config.hooks.gate = HookGate::Strong;
    let memory = TestMemory::with(config);
    note(&memory, "cause", "EQX-4021 came from this: the certificate had expired.", &[OWN], |_| {});
    for number in 0..20 {
        note(
            &memory,
            &number.to_string(),
            &format!("EQX-{} is closed, see the log", 100 + number),
            &[OWN],
            |_| {},
        );
    }
    let keys = |prompt: &str| {
        let found = prompt_context(&memory, session(&[]), prompt, &|_| false).unwrap();
        found.notes.into_iter().map(|note| note.node.key).collect::<Vec<_>>()
    };
    let asked = "EQX-4021 is back since this morning, does somebody remember what happened the last time?";
    assert_eq!(keys(asked).first().map(String::as_str), Some("cause"));
    assert!(!keys(&asked.replace("4021", "4022")).contains(&"cause".to_owned()));
    assert!(keys("is something back since this morning?").is_empty());
}

#[test]
fn a_repeated_instruction_gets_no_notes_but_a_question_does() {
    let memory = memory(HookScope::Person);
    for (key, title, answer) in [("0", "run the tests", "All pass."), ("1", "which port is free?", "7443.")] {
        note(&memory, key, &format!("User: {title}\n\nClaude: {answer}"), &[OWN], |draft| {
            draft.title = Some(title.into());
            draft.node_type = Some("episodic".into());
        });
    }
    let found = |prompt| {
        let found = prompt_context(&memory, session(&[]), prompt, &|_| false).unwrap();
        (found.notes.len(), found.is_repeated)
    };
    assert_eq!(found("Run the tests "), (0, true));
    assert!(!found("which port is free?").1);
    assert!(found("which port is free?").0 >= 1);
    assert!(found("run the tests of the port, which pass?").0 >= 1);
}

#[test]
fn the_found_passage_of_a_long_note_is_shown() {
    let memory = memory(HookScope::Person);
    let filler = "Nothing of interest happens in this sentence. ".repeat(120);
    let body = format!("{filler}The gateway listens on port 7443. {filler}");
    note(&memory, "long", &body, &[OWN], |_| {});
    let found = prompt_context(&memory, session(&[]), "gateway listens on port", &|_| false).unwrap();
    let text = &found.notes[0].text;
    assert!(text.starts_with("… ") && text.contains("7443") && text.chars().count() <= 1600, "{text}");
}

/// The membership of a note by its definition.
fn naive_membership(view: &View, ix: Ix) -> Membership {
    let by_labels = |ix: Ix| {
        let labels: Vec<&str> = view.keywords(ix).iter().map(|number| view.keyword_name(*number)).collect();
        match (labels.contains(&OWN), labels.contains(&OTHER)) {
            (true, _) => Membership::Own,
            (_, true) => Membership::Other,
            _ => Membership::Unlabelled,
        }
    };
    if by_labels(ix) != Membership::Unlabelled {
        return by_labels(ix);
    }
    let (mut next, mut seen, mut found) = (vec![ix], BTreeSet::from([ix]), Vec::new());
    while let Some(note) = next.pop() {
        for source in view.sources(note) {
            match by_labels(source) {
                Membership::Unlabelled if seen.insert(source) => next.push(source),
                membership => found.push(membership),
            }
        }
    }
    let of_sources = [Membership::Own, Membership::Other].into_iter().find(|wanted| found.contains(wanted));
    of_sources.unwrap_or(Membership::Unlabelled)
}

/// Random notes: the index of a project label, and whether the note belongs to the session, is quarantined and is open.
fn notes() -> impl Strategy<Value = Vec<(usize, bool, bool, bool)>> {
    proptest::collection::vec((0usize..4, any::<bool>(), any::<bool>(), any::<bool>()), 1..12)
}

#[test]
fn a_prompt_about_another_passage_of_a_long_note_gets_that_passage() {
    let memory = memory(HookScope::Person);
    let filler = "Nothing of interest happens in this sentence. ".repeat(120);
    let body = format!("The gateway listens on port 7443. {filler}Lunch on Fridays is dumplings.");
    note(&memory, "long", &body, &[OWN], |_| {});
    let ask = |prompt: &str, known: &[ContextNote]| {
        let is_known = |note: &ContextNote| known.contains(note);
        prompt_context(&memory, session(&[]), prompt, &is_known).unwrap().notes
    };
    let long = |notes: Vec<ContextNote>| notes.into_iter().find(|note| note.node.key == "long");
    let first = long(ask("the gateway listens on which port?", &[])).unwrap();
    assert!(first.text.contains("7443") && !first.is_whole, "{}", first.text);
    let shown = [first];
    assert_eq!(long(ask("the gateway listens on which port?", &shown)), None);
    let last = long(ask("lunch on Fridays is dumplings?", &shown)).unwrap();
    assert!(last.text.contains("dumplings") && !last.is_whole, "{}", last.text);
    note(&memory, "short", "The gateway was painted green.", &[OWN], |_| {});
    let short = ask("the gateway was painted green?", &[]);
    let short = short.into_iter().find(|note| note.node.key == "short").unwrap();
    assert!(short.is_whole, "{}", short.text);
}

#[test]
fn a_briefing_says_which_notes_it_shows_in_full() {
    let memory = memory(HookScope::Person);
    let said = "User: Which bolts?\n\nClaude: They come from Ulm. Still open: call Bob.";
    note(&memory, "claude-code/s1/0", said, &[OWN], turn);
    memory.clock.advance(poc_graph::time::Span::HOUR);
    note(&memory, "claude-code/s2/0", "User: the log?\n\nClaude: It is text.", &[OWN], turn);
    note(&memory, "long", &"Log first. ".repeat(60), &[OWN, "decision"], |_| {});
    note(&memory, "wal", "Log first", &[OWN, "decision"], |_| {});
    let parts = briefing(&memory, session(&[])).unwrap().parts;
    let notes = parts.iter().flat_map(|(_, notes)| notes);
    let mut shown: Vec<(&str, bool)> = notes.map(|note| (note.node.key.as_str(), note.is_whole)).collect();
    shown.sort_unstable();
    // Only a sentence of the first session is quoted.
    let expected = [("claude-code/s1/0", false), ("claude-code/s2/0", true), ("long", false), ("wal", true)];
    assert_eq!(shown, expected);
}

poc_laws::laws! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn no_session_gets_notes_outside_its_scope(notes in notes(), scope in 0usize..3) {
        let scope = [HookScope::Project, HookScope::Person, HookScope::All][scope];
        let memory = memory(scope);
        let mut allowed = Vec::new();
        for (number, (label, mine, quarantined, open)) in notes.iter().enumerate() {
            let label = [None, Some(OWN), Some(OTHER), Some("project:/home/ann/other")][*label];
            let key = if *mine { format!("codex/bb/{number}") } else { format!("n{number}") };
            let mut keywords: Vec<&str> = label.into_iter().collect();
            keywords.extend(open.then_some("open"));
            note(&memory, &key, &format!("The gateway has port {number}"), &keywords, |draft| {
                if *quarantined {
                    draft.trust = Trust::Quarantined;
                }
            });
            let in_scope = match scope {
                HookScope::All => true,
                HookScope::Person => label.is_none() || label == Some(OWN),
                HookScope::Project => label == Some(OWN),
            };
            if in_scope && !mine && !quarantined {
                allowed.push(key);
            }
        }
        let own = ["codex/bb/".to_owned()];
        let found = prompt_context(&memory, session(&own), "which port has the gateway?", &|_| false).unwrap();
        let mut keys: Vec<String> = found.notes.iter().map(|note| note.node.key.clone()).collect();
        let membership = |key: &String| memory.find(key).unwrap().keywords.contains(&OWN.to_owned());
        prop_assert!(keys.is_sorted_by_key(|key| !membership(key)), "those of the project first: {keys:?}");
        prop_assert!(allowed.is_empty() || !keys.is_empty(), "{allowed:?}");
        keys.extend(parts(&memory, session(&own)).into_iter().flat_map(|(_, keys)| keys));
        for key in keys {
            prop_assert!(allowed.contains(&key), "{key} of {allowed:?}");
        }
    }

    /// Memberships equal those of the definition, also those of notes that are not live, which may be sources.
    #[test]
    fn memberships_and_the_notes_of_a_session_equal_their_definition(
        notes in proptest::collection::vec((0usize..4, 0usize..4, any::<bool>(), any::<bool>()), 1..8),
        derived in proptest::collection::vec((0u64..8, 0u64..8), 0..10),
        scope in 0usize..3,
        has_project in any::<bool>(),
    ) {
        let scope = [HookScope::Project, HookScope::Person, HookScope::All][scope];
        let mut view = View::new();
        for (number, (first, second, is_live, mine)) in (0u64..).zip(&notes) {
            let mut keywords: Vec<String> = [*first, *second]
                .into_iter()
                .filter_map(|label| ["decision", OWN, OTHER].get(label).map(|word| (*word).to_owned()))
                .collect();
            keywords.sort_unstable();
            keywords.dedup();
            let node = Node {
                keywords,
                key: if *mine { format!("codex/bb/{number}") } else { format!("n{number}") },
                state: if *is_live { State::Active } else { State::Superseded },
                ..testing::node(number)
            };
            view.apply(number + 1, &[Delta::Node(Arc::new(node))]);
        }
        let count = notes.len() as u64;
        let is_edge = |note: u64, source: u64| note.max(source) < count && note != source;
        for (note, source) in derived.into_iter().filter(|&(note, source)| is_edge(note, source)) {
            view.apply(view.seq + 1, &[Delta::from(testing::edge(note, source, EdgeKind::DerivedFrom, 1.0))]);
        }
        let own_notes = ["codex/bb/".to_owned()];
        let session = match has_project {
            true => session(&own_notes),
            false => SessionFilter { project: None, own_notes: &own_notes },
        };
        let projects = ProjectNotes::of(&view, session, scope);
        let (admitted, own_admitted) = (projects.admitted(), projects.own_admitted());
        for ix in 0..view.slots() {
            // Without a project of the session, all labels are those of other projects.
            let expected = match naive_membership(&view, ix) {
                Membership::Own if !has_project => Membership::Other,
                membership => membership,
            };
            prop_assert_eq!(projects.membership(ix), expected, "{}", view.key(ix));
            let is_in_scope = match scope {
                HookScope::All => true,
                HookScope::Person => expected != Membership::Other,
                HookScope::Project if has_project => expected == Membership::Own,
                HookScope::Project => expected == Membership::Unlabelled,
            };
            let is_admitted = is_in_scope && !view.key(ix).starts_with("codex/bb/");
            if view.is_live(ix) {
                let id = view.id(ix).unwrap();
                prop_assert_eq!(admitted.contains(id), is_admitted);
                if let Some(own) = &own_admitted {
                    prop_assert_eq!(own.contains(id), is_admitted && expected == Membership::Own);
                }
            }
        }
        let has_label = (0..view.slots()).any(|ix| naive_membership(&view, ix) == Membership::Own);
        prop_assert!(own_admitted.is_some() || !(has_project && has_label));
    }
}
