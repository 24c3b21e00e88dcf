mod quotes;
mod rename_sample;
mod scene;

use super::rename::front;
use super::split::split;
use super::*;
use crate::reply;
use poc_config::Config;
use poc_graph::time::{Span, Timestamp};
use poc_graph::{Node, NodeType, testing};
use proptest::prelude::*;
use scene::{ALL, Scene, rows, scene};

const SPLIT: (&str, &str) = ("B-tree split", "The split of a full page goes through the journal.");
const SOUP: (&str, &str) = ("Lunch", "Lentil soup with lemon, bread and butter.");

/// Two notes with these bodies that share these names, and a third note.
fn sharing(one: &str, other: &str, names: &[&str]) -> Scene {
    scene(&[("One", one), ("Two", other), SOUP]).sharing(1, 2, names).like(3, 2, 0.99)
}

#[test]
fn nodes_that_share_two_names_are_linked() {
    let (one, other) = ("Lin met Ann at the harbour.", "When Ann was ill, Lin took her place.");
    assert_eq!(sharing(one, other, &["ann", "lin"]).links(), ["both mention `ann`, `lin` | N1 | N2 | 0.4"]);
    // One name in common is often a coincidence.
    assert!(sharing(one, other, &["ann"]).links().is_empty());
    assert!(sharing(one, "Soup again.", &["ann", "lin"]).links().is_empty());
    assert!(scene(&[("One", one), ("Two", other)]).pair(1, 2, 0.99).links().is_empty());
}

#[test]
fn one_identifier_or_a_name_of_several_words_is_enough_for_a_link() {
    let links = |one: &str, other: &str, names: &[&str]| sharing(one, other, names).links();
    assert_eq!(
        links("The crash was INC-412.", "INC-412 is fixed.", &["inc-412"]),
        ["both mention `inc-412` | N1 | N2 | 0.4"]
    );
    assert_eq!(
        links("We asked Vera Lindqvist.", "The list for Vera Lindqvist is done.", &["vera", "lindqvist"]),
        ["both mention `vera lindqvist` | N1 | N2 | 0.4"]
    );
    // Numbers and short identifiers are often versions, sizes or years.
    assert!(links("Built in 1963.", "In 1963 it rained.", &["1963"]).is_empty());
    assert!(links("Paper in A4.", "The folder takes A4.", &["a4"]).is_empty());
}

#[test]
fn amounts_and_parts_of_identifiers_are_no_reason_for_a_link() {
    let links = |one: &str, other: &str, names: &[&str]| sharing(one, other, names).links();
    assert_eq!(
        links("We opened INC-412 at night.", "In the morning INC-412 was closed.", &["inc-412", "inc"]),
        ["both mention `inc-412` | N1 | N2 | 0.4"]
    );
    assert!(links("A 128-bit hash.", "Numbers of 128-bit precision.", &["128-bit"]).is_empty());
    assert!(links("It takes 12 ns/iter.", "The old code took 90 ns/iter.", &["ns/iter"]).is_empty());
    assert!(links("Read as_of first.", "The field as_of is new.", &["as_of"]).is_empty());
}

#[test]
fn settings_and_options_that_both_notes_use_are_no_reason_for_a_link() {
    let links = |one: &str, other: &str, name: &str| sharing(one, other, &[name]).links();
    assert!(links("The night run reads limit:20.", "Search with limit:20 is slow.", "limit:20").is_empty());
    assert!(links("Run eval --Top_K 5.", "We measured it with top_k=9.", "top_k").is_empty());
    assert_eq!(
        links("Run eval --top_k 5.", "A small top_k loses recall.", "top_k"),
        ["both mention `top_k` | N1 | N2 | 0.4"]
    );
}

#[test]
fn boilerplate_in_both_notes_is_no_reason_for_a_link() {
    let names = ["recorded", "keeper", "mira", "petra"];
    for (one, other) in [
        ("The pump failed.\nRecorded by Keeper-3000", "The roof leaks.\nRecorded by Keeper-3001"),
        ("Attendees: Mira, Petra\nThe pump failed.", "The roof leaks.\nAttendees: Petra, Mira"),
        ("The pump failed. Totally agree, says Mira Petra.", "Lunch. Totally agree, says Mira Petra!"),
        ("Mira: the pump. Petra: yes.", "Petra: the roof. Mira: no."),
    ] {
        assert!(sharing(one, other, &names).links().is_empty(), "{one}");
    }
    let (one, other) = ("Mira told Petra about the pump.", "Petra wants Mira to come.\nRecorded by Keeper");
    assert_eq!(sharing(one, other, &names).links().len(), 1);
}

#[test]
fn a_title_of_a_person_is_no_name_and_belongs_to_one() {
    let links = |one: &str, other: &str, names: &[&str]| sharing(one, other, names).links();
    for title in ["Mrs", "Mr", "Dr", "Frau", "Señora"] {
        let name = title.to_lowercase().replace('ñ', "n");
        let (one, other) = (format!("Ann met {title} Novak."), format!("For {title} Kubo, Ann was ill."));
        assert!(links(&one, &other, &[&name, "ann"]).is_empty(), "{title}");
    }
    assert_eq!(
        links("We met Mrs Novak.", "The list for Mrs Novak is done.", &["mrs", "novak"]),
        ["both mention `mrs novak` | N1 | N2 | 0.4"]
    );
    // A title does not make another name of it.
    assert_eq!(
        links("Then Mrs Novak met Lin.", "When Lin came, Dr Novak left.", &["novak", "lin"]),
        ["both mention `novak`, `lin` | N1 | N2 | 0.4"]
    );
}

#[test]
fn a_word_in_different_names_is_no_reason_for_a_link() {
    let links = |one: &str, other: &str| sharing(one, other, &["lin", "museum"]).links();
    let cold = "Then Lin said the Museum Hall is cold.";
    assert!(links("We asked Lin about the Museum Shop.", cold).is_empty());
    assert!(links("We asked Lin. Museum Shop and Natural History Museum are closed.", cold).is_empty());
    // The same word beside it, also if it is not among the names.
    let both = ["both mention `lin`, `museum` | N1 | N2 | 0.4"];
    assert_eq!(links("We asked Lin about the Museum Hall.", cold), both);
    // The word alone is a name, also beside the first word of a sentence, a day, or a sign.
    for alone in [
        "We asked Lin about the Museum.",
        "Lin works there. Our Museum is closed.",
        "Lin went to the Museum Monday.",
        "Lin likes the Museum, Shop or not.",
        "Lin likes the Museum Shop. The Museum is closed.",
    ] {
        assert_eq!(links(alone, cold), both, "{alone}");
    }
    let (one, other) = ("Then Lin saw Ann's Garden.", "We like Lin and Ann's Kitchen.");
    assert_eq!(sharing(one, other, &["lin", "ann"]).links(), ["both mention `lin`, `ann` | N1 | N2 | 0.4"]);
}

#[test]
fn common_names_are_no_reason_for_a_link() {
    const WHERE: [&str; 12] = [
        "yard", "hall", "garden", "attic", "lift", "kitchen", "library", "tower", "cellar", "shop", "tram",
        "pool",
    ];
    let bodies: Vec<String> = WHERE.iter().map(|place| format!("In the {place}, Mira saw Petra.")).collect();
    let texts: Vec<(&str, &str)> = bodies.iter().map(|body| ("", body.as_str())).collect();
    assert!(scene(&texts).sharing(1, 2, &["mira", "petra"]).links().is_empty());
    assert_eq!(scene(&texts[..3]).sharing(1, 2, &["mira", "petra"]).links().len(), 1);
}

#[test]
fn the_name_of_a_note_that_both_notes_link_to_is_no_reason_for_a_link() {
    let with_links = |(one, other): (&str, &str), key: &str, names: &[&str], links: &[(usize, usize)]| {
        let mut scene = sharing(one, other, names);
        scene.nodes[2].key = key.into();
        scene.edges = links.to_vec();
        scene.links()
    };
    let incident = ("The crash was INC-412.", "INC-412 is fixed.");
    let link = ["both mention `inc-412` | N1 | N2 | 0.4"];
    for key in ["INC-412", "incidents/inc-412", "inc-412-crash"] {
        let links = |links: &[(usize, usize)]| with_links(incident, key, &["inc-412"], links);
        assert!(links(&[(1, 3), (2, 3)]).is_empty(), "{key}");
        // A note to which only one of them links does not connect them, nor does a note that links to one of them.
        assert_eq!(links(&[(1, 3)]), link);
        assert_eq!(links(&[(1, 3), (3, 2)]), link);
    }
    assert_eq!(with_links(incident, "engine", &["inc-412"], &[(1, 3), (2, 3)]), link);
    let (one, other) = ("Vera Lindqvist closed INC-412.", "When INC-412 began, we asked Vera Lindqvist.");
    assert_eq!(
        with_links((one, other), "inc-412", &["inc-412", "vera", "lindqvist"], &[(1, 3), (2, 3)]),
        ["both mention `vera lindqvist` | N1 | N2 | 0.4"]
    );
}

#[test]
fn hubs_and_already_linked_nodes_get_no_new_link() {
    let mut texts = vec![("Crash", "The crash was INC-412.")];
    texts.resize(33, SOUP);
    texts.push(("Fix", "INC-412 is fixed."));
    let mut scene = scene(&texts).sharing(34, 1, &["inc-412"]);
    assert_eq!(scene.links().len(), 1);
    scene = scene.edge(1, 34);
    assert!(scene.links().is_empty());
    scene.edges = (2..32).map(|other| (1, other)).collect();
    assert!(scene.links().is_empty());
}

#[test]
fn dissimilar_nodes_get_no_action() {
    let answer = scene(&[SPLIT, SOUP]).like(1, 2, 0.44).answer(&ALL);
    assert_eq!(
        answer,
        json!({"supersede": [], "link-add": [], "weight": [], "insert": [],
               "notes": "Similarity and structure suggest no action."})
    );
}

#[test]
fn a_note_contained_in_a_longer_one_is_superseded() {
    let policy = "Retry with backoff and full jitter, at most five attempts. The first wait is 200 ms.";
    let longer = format!("{policy} See the incident.");
    let scene = scene(&[("Retry policy", policy), ("Retries", &longer)]).pair(1, 2, 0.97);
    assert_eq!(
        scene.supersedes(),
        ["`n2` contains all its sentences and more, with the same numbers and names (cosine 0.97) | N1 | N2"]
    );
    // A reply that supersedes one of the nodes does not link them.
    assert_eq!(scene.answer(&ALL)["link-add"], json!([]));
}

#[test]
fn the_newer_of_two_equal_notes_is_kept() {
    let policy = "Retry with backoff and full jitter, and never for more than five attempts.";
    let scene = scene(&[("Retry", policy), ("Retry", policy)]).pair(2, 1, 1.0);
    assert_eq!(
        scene.supersedes(),
        ["`n2` contains all its sentences, with the same numbers and names (cosine 1.00) | N1 | N2"]
    );
}

/// Programs name copies after the original, in whatever order they are imported.
#[test]
fn of_a_note_and_its_copy_the_original_is_kept() {
    let soup = "Lentil soup with lemon and mint takes twenty minutes and keeps for three months.";
    let is_first_kept = |keys: [&str; 2]| {
        let mut scene = scene(&[("Soup", soup), ("Soup", soup)]).pair(1, 2, 1.0);
        named(&mut scene, &keys);
        scene.supersedes().join("\n").ends_with("N2 | N1")
    };
    for copy in ["recipes/Soup copy", "Soup (1)", "archive/soup-2"] {
        assert!(is_first_kept(["recipes/Soup", copy]) && !is_first_kept([copy, "recipes/Soup"]), "{copy}");
    }
    // `soups` is another name, so that the newer note is kept.
    assert!(!is_first_kept(["soup", "soups"]) && !is_first_kept(["soups", "soup"]));
}

#[test]
fn notes_that_differ_in_a_detail_are_not_superseded() {
    let kept = |a: (&str, &str), b: (&str, &str)| {
        assert!(scene(&[a, b]).pair(1, 2, 0.99).supersedes().is_empty(), "{a:?} {b:?}");
    };
    let long =
        |what: &str| format!("The deployment of the billing service {what} on Friday and nobody was called.");
    kept(("a", &long("failed")), ("b", &long("succeeded")));
    kept(("a", &long("works")), ("b", &long("does not work")));
    kept(("Error 4021", &long("failed")), ("Error 4027", &long("failed")));
    kept(("a", &long("failed")), ("b", &format!("{} See INC-7.", long("failed"))));
    kept(("a", &long("`x > y` held")), ("b", &long("`x < y` held")));
    kept(("Call Anna", "Done."), ("Buy milk", "Done."));
    kept(("a", ""), ("b", ""));

    let same = long("failed");
    let mut days = scene(&[("Standup", &same), ("Standup", &same)]).pair(1, 2, 1.0);
    assert_eq!(days.supersedes().len(), 1);
    days.nodes[0].author = Some("anna".into());
    assert!(days.supersedes().is_empty());
    days.nodes[0].author = None;
    for node in &mut days.nodes {
        node.node_type = NodeType("daily".into());
    }
    assert!(days.supersedes().is_empty());
}

#[test]
fn weights_stay_as_they_are() {
    let mut scene = scene(&[("ok", "fine"), SPLIT]);
    scene.now = Timestamp(0).plus(Span(Span::DAY.0 * 45));
    scene.nodes.extend((3..=12).map(testing::node));
    scene.edges = (3..=12).map(|other| (1, other)).collect();
    assert_eq!(scene.answer(&[ActionKind::Weight])["weight"], json!([]));
}

fn named(scene: &mut Scene, keys: &[&str]) {
    for (node, key) in scene.nodes.iter_mut().zip(keys) {
        node.key = (*key).into();
    }
}

#[test]
fn a_new_key_has_all_words_of_a_linked_name() {
    let text = "New note about [[Kenji Mori]] and #osaka";
    let mut scene = scene(&[(text, text)]);
    named(&mut scene, &["Inbox/New"]);
    scene.nodes[0].keywords = vec!["osaka".into()];
    let proposed = rows(&scene.answer(&[ActionKind::Supersede]), "supersede").concat();
    assert!(proposed.contains("Inbox/kenji-mori-osaka"), "{proposed}");
}

#[test]
fn a_new_key_is_the_date_and_the_words_of_the_title() {
    let long = "2026-11-07-the-journal-now-replays-a-split-of-the-b-tree-after-a-crash-of-the-engine";
    let text = "The journal replays the torn split of a page after a crash";
    let mut scene =
        scene(&[(text, ""), (text, ""), ("Soup", "Lentil soup with lemon, bread and butter."), ("x", "")]);
    named(&mut scene, &[long, "work/untitled-2", "b0ab338c-91f2", "note"]);
    insta::assert_snapshot!(rows(&scene.answer(&[ActionKind::Supersede]), "supersede").join("\n"), @r"
    the key is generated; these words name what the note is about | N1 |  | 2026-11-07-journal-replays-torn-split-page
    the key is generated; these words name what the note is about | N2 |  | work/journal-replays-torn-split-page
    ");
    // One word is not enough. Chosen keys stay, and with pairs in the selection all keys stay.
    named(&mut scene, &["journal-replay", "page-split", "soup", "x"]);
    assert!(scene.supersedes().is_empty());
    named(&mut scene, &[long]);
    assert!(scene.pair(1, 2, 0.3).supersedes().is_empty());
}

#[test]
fn the_part_of_a_key_before_the_generated_part_stays() {
    let check = |key: &str, kept: Option<&str>| assert_eq!(front(key).as_deref(), kept, "{key}");
    check("untitled-3", Some(""));
    check("work/untitled-2", Some("work/"));
    check("people/lin/3f9a1c0b7d2e", Some("people/lin/"));
    check("2026-11-07-b0ab338c", Some("2026-11-07-"));
    check("daily/2026-11-07-untitled", Some("daily/2026-11-07-"));
    check("inc-90412-b0ab338c-91f2", Some("inc-90412-"));
    check("recipe-b0ab338c", Some("recipe-"));
    check("note-b0ab338c", Some(""));
    check("session#7f3e9d2c4b1a", Some("session#"));
    check("550e8400-e29b-41d4-a716-446655440000", Some(""));
    let long = "the-journal-now-replays-a-split-of-the-b-tree-after-a-crash-of-the-engine";
    check(long, Some(""));
    check(&format!("notes/{long}"), Some("notes/"));
    // These keys stay: keys with words after an id, chosen keys, plain dates, and keys that are long because
    // of their folders.
    for key in
        ["b0ab338c-retry-policy", "journal-replay", "people/lin", "journal/2026-03-14", "2026-11-07", ""]
    {
        check(key, None);
    }
    check("log:20260412093000", None);
    check(&format!("{}/readme", "folder/".repeat(9)), None);
}

const SECTION: &str = "Enough is said here about one thing alone that somebody could look for it by itself, \
    find it, read it to the end, and know what there is to know about it, without having read what stands \
    above or below. It has two sentences or three, and a number: 42.";

#[test]
fn a_long_note_is_split_at_its_headings() {
    let body = format!(
        "# Engine\n\nWhat it is.\n\n## Checkpoints\n{SECTION}\n\n```\n## no heading\n```\n\n## Owner\nAnn.\n\n## Compaction\n{SECTION}"
    );
    let mut scene = scene(&[("Engine", &body)]);
    scene.nodes[0].keywords = vec!["storage".into()];
    let may = [ActionKind::LinkAdd, ActionKind::Insert, ActionKind::Supersede];
    let answer = scene.answer(&may);
    let titles: Vec<&str> =
        answer["insert"].as_array().unwrap().iter().map(|row| row["title"].as_str().unwrap()).collect();
    assert_eq!(titles, ["Engine: Checkpoints", "Engine: Compaction"]);
    assert_eq!(answer["insert"][0]["sources"], json!(["N1"]));
    assert_eq!(answer["insert"][0]["key"], "", "it is made of the title");
    assert_eq!(
        answer["supersede"][0]["body"],
        "# Engine\n\nWhat it is.\n- Checkpoints\n\n## Owner\nAnn.\n- Compaction"
    );
    assert_eq!(answer["notes"], "Proposed from similarity and structure alone: 1 note to split.");

    scene.nodes[0].title = "Engine &mdash; everything about the storage of pages".into();
    let answer = scene.answer(&may);
    assert_eq!(
        [0_usize, 1].map(|at| &answer["insert"][at]["key"]),
        ["engine-checkpoints", "engine-compaction"]
    );

    for note_type in ["episodic", "daily"] {
        scene.nodes[0].node_type = NodeType(note_type.into());
        assert_eq!(scene.answer(&may)["insert"], json!([]));
    }
}

#[test]
fn narratives_and_step_lists_are_not_split() {
    let whole = |first: &str, second: &str| {
        let body = format!("## {first}\n{SECTION}\n## {second}\n{SECTION}");
        assert!(split(&body, (200, 4000)).is_none(), "{first}, {second}");
    };
    whole("Friday night", "The morning after");
    whole("Before", "2026-11-07");
    whole("Day 1", "Day 2");
    whole("1. Stop the engine", "2. Start it");
    whole("In November", "Later");
    whole("Summary of 2025", "Outlook");
    whole("Same", "Same");
    whole("Setup", "Step 2b: start it");
    whole("The storm", "Part IV");
    whole("Day zero", "Review");
    whole("Phase B", "Owners");
    whole("The week before", "Week after");
    whole("Session", "Notes");
    whole("Day of arrival", "Day of departure");
    whole("Then the engine stopped", "Repair");
    assert!(split(&format!("{SECTION}\n\n{SECTION}"), (200, 4000)).is_none());
    assert!(split("## A\nshort\n## B\nshort", (200, 4000)).is_none());
    assert!(split(&format!("## A\n{}\n## B\n{SECTION}", "x".repeat(4001)), (200, 4000)).is_none());
}

#[test]
fn a_heading_with_a_word_such_as_year_is_a_subject_unless_it_counts() {
    for heading in ["Year end", "Part numbers", "Session management", "Day trips", "Step-by-step guide"] {
        let (overview, parts) =
            split(&format!("## {heading}\n{SECTION}\n## Owners\n{SECTION}"), (200, 4000)).unwrap();
        assert_eq!(overview, format!("- {heading}\n- Owners"));
        assert_eq!(parts.len(), 2, "{heading}");
    }
}

#[test]
fn sentences_shared_by_three_sessions_are_quoted() {
    let texts = [
        ("Late", "The release slipped. Somebody had touched the importer of Lodestar on Monday."),
        ("Later", "Again the importer of Lodestar was changed before the release, and a day was lost."),
        ("Zones", "The importer of Lodestar read the wrong zone.\nNobody saw it."),
        ("Soup", "Lentil soup with lemon, bread and butter."),
    ];
    let more: Vec<(String, String)> =
        (0..200).map(|n| (format!("Other {n}"), format!("Something else, number {n}."))).collect();
    let mut all = texts.to_vec();
    all.extend(more.iter().map(|(title, body)| (title.as_str(), body.as_str())));
    let mut scene = scene(&all).like(1, 2, 0.6).like(3, 2, 0.5).like(4, 1, 0.2);
    for node in scene.nodes.iter_mut().take(4) {
        node.node_type = NodeType("episodic".into());
    }
    let may = [ActionKind::LinkAdd, ActionKind::Insert];
    let answer = scene.answer(&may);
    let row = &answer["insert"][0];
    insta::assert_snapshot!(
        format!("{}\n{}\n{}\n{}", row["title"].as_str().unwrap(), row["body"].as_str().unwrap(), row["reason"], row["sources"]), @r#"
    lodestar, importer: what 3 sessions say
    Quoted from sessions that have these words in common:

    - 1970-01-01, `n1`: “Somebody had touched the importer of Lodestar on Monday.”
    - 1970-01-01, `n2`: “Again the importer of Lodestar was changed before the release, and a day was lost.”
    - 1970-01-01, `n3`: “The importer of Lodestar read the wrong zone.”
    "3 similar sessions mention `lodestar`, `importer`"
    ["N1","N2","N3"]
    "#);
    assert_eq!(answer["insert"].as_array().unwrap().len(), 1);

    // The words of two of the sessions are in different sentences.
    let bodies = scene.nodes.iter().map(|node| node.body.clone()).collect::<Vec<_>>();
    scene.nodes[1].body = "Lodestar again. The importer was changed, and a day was lost.".into();
    assert_eq!(scene.answer(&may)["insert"], json!([]));
    scene.nodes[1].body.clone_from(&bodies[1]);

    // Three sessions that have an overview need no other, and two sessions are too few.
    scene.nodes.push(Node { node_type: NodeType("semantic".into()), ..testing::node(999) });
    scene.edges = vec![(999, 1), (999, 2), (999, 3)];
    assert_eq!(scene.answer(&may)["insert"], json!([]));
    scene.edges.clear();
    assert_eq!(scene.answer(&may)["insert"].as_array().unwrap().len(), 1);
    scene.nodes[2].node_type = NodeType("semantic".into());
    assert_eq!(scene.answer(&may)["insert"], json!([]));
}

#[test]
fn overviews_stay_a_small_share_of_the_memory() {
    let texts = vec![("Late", "Yesterday the importer of Lodestar was late."); 40];
    let mut scene = scene(&texts);
    scene.candidates = (2..=40).map(|at| (at, "N1".to_owned(), 0.9, Vec::new())).collect();
    for node in &mut scene.nodes {
        node.node_type = NodeType("episodic".into());
    }
    // The allowed share of forty notes is less than one note.
    assert_eq!(scene.answer(&[ActionKind::Insert])["insert"], json!([]));
}

/// The runs of digits in a text, computed independently.
fn numbers(node: &Node) -> BTreeSet<String> {
    let text = format!("{} {}", node.title, node.body);
    text.split(|c: char| !c.is_ascii_digit()).filter(|run| !run.is_empty()).map(str::to_owned).collect()
}

fn any_text() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "the", "journal", "page", "42", "BRK-4021", "BRK-4027", "not", "splits.", "merges.", "Résumé",
        "\n- ", "`x`",
    ]);
    prop::collection::vec(word, 0..14).prop_map(|words| words.join(" "))
}

fn any_cosine() -> impl Strategy<Value = f64> {
    prop_oneof![8 => 0.3f64..1.1, 1 => Just(f64::NAN), 1 => -2.0f64..2.0]
}

prop_compose! {
    fn any_scene()(texts in prop::collection::vec((any_text(), any_text()), 1..12))(
        candidates in prop::collection::vec((1..=texts.len(), 0..=texts.len() + 1, any_cosine(), 0usize..4), 0..40),
        pairs in prop::collection::vec((1..=texts.len(), 1..=texts.len(), any_cosine()), 0..20),
        edges in prop::collection::vec((1..=texts.len(), 1..=texts.len()), 0..20),
        texts in Just(texts),
        days in 0i64..90,
    ) -> Scene {
        let texts: Vec<(&str, &str)> = texts.iter().map(|(title, body)| (title.as_str(), body.as_str())).collect();
        let mut scene = scene(&texts);
        scene.candidates = candidates.into_iter().map(|(from, to, cosine, names)| {
            (from, format!("N{to}"), cosine, vec!["name".to_owned(); names])
        }).collect();
        scene.pairs = pairs;
        scene.edges = edges.into_iter().filter(|(a, b)| a != b).collect();
        scene.now = Timestamp(Span::DAY.0 * days);
        scene
    }
}

poc_laws::laws! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn a_split_keeps_every_line(lines in prop::collection::vec(prop::sample::select(vec![
        "## Locks", "## Pages", "# Top", "### Deep", "```", "One line of text.", "- item 42", "", "## Locks of pages",
    ]), 0..30)) {
        let body = lines.join("\n");
        let Some((overview, parts)) = split(&body, (10, 4000)) else { return Ok(()) };
        prop_assert!(parts.len() >= 2);
        let mut left: Vec<String> = overview.lines().map(str::to_owned).collect();
        for part in &parts {
            left.extend(part.body.lines().map(str::to_owned));
            left.push(format!("## {}", part.title));
            left.push(format!("### {}", part.title));
        }
        for line in lines.iter().filter(|line| !line.is_empty()) {
            let at = left.iter().position(|other| other == line);
            prop_assert!(at.is_some(), "{line:?} is lost:\n{overview}");
            left.swap_remove(at.unwrap());
        }
    }

    #[test]
    fn a_new_key_is_short_and_unused(titles in prop::collection::vec(any_text(), 1..8), dated in any::<bool>()) {
        let texts: Vec<(&str, &str)> = titles.iter().map(|title| (title.as_str(), "")).collect();
        let mut scene = scene(&texts);
        for (at, node) in scene.nodes.iter_mut().enumerate() {
            node.key = format!("{}untitled-{at}", if dated { "2026-11-07-" } else { "" });
        }
        let answer = scene.answer(&[ActionKind::Supersede]);
        let mut keys = BTreeSet::new();
        for row in answer["supersede"].as_array().unwrap() {
            let key = row["key"].as_str().unwrap();
            prop_assert!(keys.insert(key.to_owned()), "{key} twice");
            prop_assert!(key.chars().count() < 60 && !scene.nodes.iter().any(|node| node.key == key), "{key}");
            // An identifier such as `brk-4021` is one word.
            let name = key.trim_start_matches("2026-11-07-").replace("brk-", "brk");
            let words = name.split('-').count();
            prop_assert!((2..=7).contains(&words), "{key}");
            prop_assert!(words >= 3 || dated || name.contains(|c: char| c.is_ascii_digit()), "{key}");
            prop_assert!(!name.split('-').any(|word| ["the", "not"].contains(&word)), "{key}");
            prop_assert_eq!(key.starts_with("2026-11-07-"), dated);
        }
    }

    #[test]
    fn every_reply_of_the_heuristic_model_is_valid(scene in any_scene(), may in prop::sample::subsequence(ALL.to_vec(), 0..=4)) {
        let settings = Config::defaults().unwrap().heuristic;
        let selection = scene.selection();
        let answer = scene.answer(&may);
        prop_assert_eq!(&answer, &scene.answer(&may));
        let handle = |row: &Value, field: &str| {
            selection.get(row[field].as_str().unwrap()).unwrap_or_else(|| panic!("unknown handle: {row}"))
        };
        let none = Vec::new();
        let rows = |action: &str| answer.get(action).map_or(&none, |rows| rows.as_array().unwrap());
        prop_assert_eq!(answer.as_object().unwrap().len(), may.len() + 1);

        let mut links = BTreeMap::new();
        prop_assert!(rows("link-add").len() <= settings.max_links);
        for row in rows("link-add") {
            prop_assert!(may.contains(&ActionKind::LinkAdd));
            let (from, to) = (handle(row, "from"), handle(row, "to"));
            prop_assert_ne!(from.node.id, to.node.id);
            prop_assert!(!selection.view.are_adjacent(from.ix, to.ix));
            prop_assert!((0.01..=1.0).contains(&row["strength"].as_f64().unwrap()));
            for end in [&from.name, &to.name] {
                *links.entry(end.clone()).or_insert(0) += 1;
            }
        }
        prop_assert!(links.values().all(|count| *count <= settings.links_per_node));
        prop_assert!(rows("weight").is_empty());
        prop_assert!(rows("insert").is_empty() || may.contains(&ActionKind::Insert));
        let read = reply::read(&Reply { text: answer.to_string(), ..Reply::default() }, &may);
        prop_assert!(read.is_ok(), "{read:?}");
        let mut touched = BTreeSet::new();
        for row in rows("supersede") {
            prop_assert!(may.contains(&ActionKind::Supersede));
            let node = handle(row, "node");
            if row["by"] == "" {
                prop_assert!(touched.insert(node.node.id));
                continue;
            }
            let by = handle(row, "by");
            prop_assert_ne!(node.node.id, by.node.id);
            prop_assert_eq!(numbers(&node.node), numbers(&by.node));
            prop_assert!(touched.insert(node.node.id) && touched.insert(by.node.id));
            prop_assert!(!links.contains_key(&node.name));
        }
    }
}
