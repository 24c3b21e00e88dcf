//! What the heuristic model quotes from messages.

use super::scene::{ALL, Scene, scene};
use crate::quotation;
use poc_graph::{Node, NodeType, testing};
use proptest::prelude::*;
use serde_json::{Value, json};

const MAX_CHARS: usize = 600;

/// Messages `N1`, `N2`, … of one session, each with its authors and its text.
fn messages(of: &[(&str, &str)]) -> Scene {
    let texts: Vec<(&str, &str)> = of.iter().map(|(_, body)| ("", *body)).collect();
    let mut scene = scene(&texts);
    for (node, (author, _)) in scene.nodes.iter_mut().zip(of) {
        (node.node_type, node.author) = (NodeType("episodic".into()), Some((*author).into()));
    }
    scene.sessions = vec![(1..=of.len()).collect()];
    scene
}

/// Adds a quotation that was derived from the first message.
fn with_derived(mut scene: Scene, title: &str, body: &str) -> Scene {
    let number = scene.nodes.len() + 1;
    scene.nodes.push(quotation_note(number, title, body));
    scene.derived.push((number, 1));
    scene
}

/// The note of a quotation, as the agent stores it.
fn quotation_note(number: usize, title: &str, body: &str) -> Node {
    let key = poc_graph::quotation_key(title, body);
    let (title, body, provenance) = (title.into(), body.into(), "agent:quotations".into());
    Node { key, title, body, provenance, ..testing::node(number as u64) }
}

/// The quotations of a reply: the sources, the title, the body.
fn quotations(reply: &Value) -> Vec<[String; 3]> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let rows = reply["insert"].as_array().unwrap();
    rows.iter().map(|row| ["sources", "title", "body"].map(|field| text(&row[field]))).collect()
}

/// The bodies of the quotations of these messages.
fn bodies(of: &[(&str, &str)]) -> Vec<String> {
    quotations(&messages(of).quotations(MAX_CHARS)).into_iter().map(|[_, _, body]| body).collect()
}

#[test]
fn a_statement_is_quoted_with_its_speaker_the_day_and_the_question_before_it() {
    let scene = messages(&[
        ("Ann", "Hey Ben! Where did you move to last spring?"),
        ("Ben", "Good to hear from you! We moved to Lisbon in April. Nice weather here."),
    ]);
    let reply = scene.quotations(MAX_CHARS);
    assert_eq!(
        quotations(&reply),
        [[
            r#"["N2"]"#,
            "Ben, 1 January 1970, asked “Where did you move to last spring?”",
            "“We moved to Lisbon in April.”"
        ]]
    );
    assert_eq!(reply["insert"][0]["reason"], "Ben says this in the first person");
    assert_eq!(reply["supersede"], json!([]));
    assert_eq!(reply["notes"], "Proposed from similarity and structure alone: 1 quotation.");
    // Other agents quote no messages.
    assert_eq!(scene.answer(&ALL)["insert"], json!([]));
}

#[test]
fn an_agent_that_extracts_facts_gets_no_action() {
    let (hello, long) = ("Hello. I moved to Lisbon in May.", "I moved to Lisbon in May. ".repeat(100));
    let scene = messages(&[("Ann", hello), ("Ann", hello), ("Ann", &long)]).pair(1, 2, 1.0);
    let reply = scene.facts();
    assert_eq!((&reply["insert"], &reply["supersede"]), (&json!([]), &json!([])));
    assert_eq!(reply["notes"], "Only a language model can state facts; `poc-memory setup model` finds one.");
}

#[test]
fn of_a_turn_with_an_assistant_only_the_person_is_quoted() {
    let scene = messages(&[
        (
            "User, Claude",
            "User: Where are the notes of the trip?\n\nClaude: I have put them into the folder. Do you want me to open it?",
        ),
        (
            "User, Claude",
            "User: Yes please. I keep my photos there as well.\n\nClaude: I have opened the folder for you. Enjoy!",
        ),
    ]);
    assert_eq!(
        quotations(&scene.quotations(MAX_CHARS)),
        [[
            r#"["N2"]"#,
            "User, 1 January 1970, asked “Do you want me to open it?”",
            "“I keep my photos there as well.”"
        ]]
    );
}

#[test]
fn each_person_of_a_turn_is_quoted_and_later_lines_belong_to_the_one_before() {
    let text =
        "Ann: Hello.\nI painted the kitchen on Sunday.\nBen: Well done! We bought paint for the hall, too.";
    let scene = messages(&[("Ann, Ben", text)]);
    assert_eq!(
        quotations(&scene.quotations(MAX_CHARS)),
        [
            [r#"["N1"]"#, "Ann, 1 January 1970", "“I painted the kitchen on Sunday.”"],
            [r#"["N1"]"#, "Ben, 1 January 1970", "“We bought paint for the hall, too.”"],
        ]
    );
}

#[test]
fn assistants_are_not_quoted() {
    let text = "Done. I moved the files to the folder.";
    assert_eq!(bodies(&[("Ann", text)]), ["“I moved the files to the folder.”"]);
    for speaker in ["Assistant", "claude", "GPT", "Codex"] {
        assert!(bodies(&[(speaker, text)]).is_empty(), "{speaker}");
    }
    let turn = "User: Hello. I keep my photos in the folder.\n\nSam: Done. I moved the files to the folder.";
    assert_eq!(bodies(&[("User, Sam", turn)]), ["“I keep my photos in the folder.”"]);
    let mut scene = messages(&[("Ann", text)]);
    scene.nodes[0].author = None;
    assert!(quotations(&scene.quotations(MAX_CHARS)).is_empty());
    scene.nodes[0].author = Some("Ann".into());
    scene.nodes[0].node_type = NodeType("semantic".into());
    assert!(quotations(&scene.quotations(MAX_CHARS)).is_empty());
}

#[test]
fn questions_remarks_code_quoted_lines_and_other_languages_are_left_out() {
    for text in [
        "Hello. Where did I put my old keys?",
        "Hello. I see it too!",
        "The harbour was closed on Friday. Nobody knows why.",
        "Hello.\n```\nI moved to Lisbon in April.\n```",
        "Hello.\n> I moved to Lisbon in April.",
        "Hello.\n| I moved to Lisbon in April. |",
        "Hello.\n`I moved to Lisbon in April.`",
        "Hallo. Ich bin im April nach Lissabon gezogen.",
        "Bonjour. Nous avons quitté Lisbonne en avril.",
    ] {
        assert!(bodies(&[("Ann", text)]).is_empty(), "{text}");
    }
    assert_eq!(
        bodies(&[("Ann", "Hello.\n```\nlet i = 1;\n```\nI’ve moved to Lisbon today.")]),
        ["“I’ve moved to Lisbon today.”"]
    );
}

#[test]
fn parts_of_a_message_are_joined_with_a_mark() {
    let text = "I moved to Lisbon in May. It rains a lot. We like the old tram.";
    assert_eq!(bodies(&[("Ann", text)]), ["“I moved to Lisbon in May. … We like the old tram.”"]);
}

#[test]
fn a_message_that_is_one_statement_is_quoted_only_if_it_answers_a_question() {
    let (question, answer) = ("Where did you move to?", "We moved to Lisbon in April.");
    let quoted = "“We moved to Lisbon in April.”";
    assert_eq!(bodies(&[("Ann", question), ("Ben", answer)]), [quoted]);
    assert!(bodies(&[("Ben", answer)]).is_empty());
    assert!(bodies(&[("Ann", "And you?"), ("Ben", answer)]).is_empty());
    // Nobody answers a question of their own, or one of another conversation.
    assert!(bodies(&[("Ben", question), ("Ben", answer)]).is_empty());
    let mut apart = messages(&[("Ann", question), ("Ben", answer)]);
    apart.sessions = vec![vec![1], vec![2]];
    assert!(quotations(&apart.quotations(MAX_CHARS)).is_empty());
    apart.sessions.clear();
    assert!(quotations(&apart.quotations(MAX_CHARS)).is_empty());
}

/// The messages between the two were read earlier.
#[test]
fn a_message_answers_only_the_message_before_it() {
    let (question, answer) = (("Ann", "Where did you move to?"), ("Ben", "We moved to Lisbon in April."));
    let mut scene = messages(&[question, ("Cid", "No idea."), answer]);
    assert!(quotations(&scene.quotations(MAX_CHARS)).is_empty());
    scene.nodes[1].node_type = NodeType("semantic".into());
    assert!(quotations(&scene.quotations(MAX_CHARS)).is_empty());
    assert_eq!(bodies(&[("Cid", "No idea."), question, answer]), ["“We moved to Lisbon in April.”"]);
}

#[test]
fn of_long_questions_the_last_ones_are_named() {
    let long = format!("Did you {}sleep? Where did you move to?", "really ".repeat(25));
    let scene = messages(&[("Ann", &long), ("Ben", "We moved to Lisbon in April.")]);
    let titles: Vec<String> =
        quotations(&scene.quotations(MAX_CHARS)).into_iter().map(|[_, title, _]| title).collect();
    assert_eq!(titles, ["Ben, 1 January 1970, asked “Where did you move to?”"]);
}

#[test]
fn a_quotation_has_at_most_the_permitted_characters() {
    let scene = messages(&[("Ann", "Hello. I moved to Lisbon in May. We like the old tram.")]);
    let quoted = |max: usize| {
        quotations(&scene.quotations(max)).into_iter().map(|[_, _, body]| body).collect::<Vec<_>>()
    };
    let both = "“I moved to Lisbon in May. We like the old tram.”";
    assert_eq!(quoted(both.chars().count()), [both]);
    assert_eq!(quoted(both.chars().count() - 1), ["“I moved to Lisbon in May.”"]);
    assert!(quoted(20).is_empty());
}

#[test]
fn a_message_is_quoted_once_and_again_after_an_edit() {
    let quoted = "“I moved to Lisbon in May.”";
    let scene = messages(&[("Ann", "Hello. I moved to Lisbon in May.")]);
    let mut scene = with_derived(scene, "Ann, 1 January 1970", quoted);
    let reply = scene.quotations(MAX_CHARS);
    assert_eq!((&reply["insert"], &reply["supersede"]), (&json!([]), &json!([])));

    scene.nodes[0].body = "Hello. I moved to Porto in May.".into();
    let reply = scene.quotations(MAX_CHARS);
    assert_eq!(quotations(&reply), [[r#"["N1"]"#, "Ann, 1 January 1970", "“I moved to Porto in May.”"]]);
    let replaced = json!({"reason": "the message no longer has this text", "node": "N2", "by": "N1", "key": "",
        "title": "", "body": "", "sources": []});
    assert_eq!(reply["supersede"], json!([replaced]));
}

#[test]
fn after_an_edit_of_what_one_speaker_says_only_this_is_quoted_again() {
    let text = |town: &str| {
        format!("Ann: Hello. I painted the kitchen on Sunday.\nBen: Nice. We moved to {town} in May.")
    };
    let scene = messages(&[("Ann, Ben", &text("Porto"))]);
    let scene = with_derived(scene, "Ann, 1 January 1970", "“I painted the kitchen on Sunday.”");
    let mut scene = with_derived(scene, "Ben, 1 January 1970", "“We moved to Porto in May.”");
    assert!(quotations(&scene.quotations(MAX_CHARS)).is_empty());
    scene.nodes[0].body = text("Lisbon");
    let reply = scene.quotations(MAX_CHARS);
    assert_eq!(quotations(&reply), [[r#"["N1"]"#, "Ben, 1 January 1970", "“We moved to Lisbon in May.”"]]);
    assert_eq!(reply["supersede"][0]["node"], "N3");
}

#[test]
fn facts_that_a_language_model_wrote_stay() {
    let scene = messages(&[("Ann", "Hello. I moved to Porto in May.")]);
    let mut scene = with_derived(scene, "Ann lives in Lisbon.", "She moved there in May.");
    scene.nodes[1].key = "ann-lives-in-lisbon".into();
    let reply = scene.quotations(MAX_CHARS);
    assert_eq!(quotations(&reply).len(), 1);
    assert_eq!(reply["supersede"], json!([]));
}

fn any_message() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec![
        "I ",
        "we moved ",
        "to Lisbon",
        ". ",
        "! ",
        "? ",
        "Ann: ",
        "Ben: ",
        "\n",
        "\n```\n",
        "> ",
        "“",
        "”",
        " … ",
        "Dr. ",
        "und ",
    ]);
    prop::collection::vec(part, 0..30).prop_map(|parts| parts.concat())
}

poc_laws::laws! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_quotation_has_only_text_of_its_message(texts in prop::collection::vec(any_message(), 1..4), max in 10usize..200) {
        let of: Vec<(&str, &str)> = texts.iter().map(|text| ("Ann, Ben", text.as_str())).collect();
        let mut scene = messages(&of);
        for [sources, title, body] in quotations(&scene.quotations(max)) {
            let number = (1..=of.len()).find(|number| sources == format!("[\"N{number}\"]")).unwrap();
            let message = scene.nodes[number - 1].clone();
            let quote = quotation_note(scene.nodes.len() + 1, &title, &body);
            prop_assert!(quotation::is_of(&body, &message), "{body} of {message:?}");
            prop_assert!(quote.body.chars().count() <= max);
            scene.derived.push((scene.nodes.len() + 1, number));
            scene.nodes.push(quote);
        }
        // The next reply adds nothing.
        let again = scene.quotations(max);
        prop_assert_eq!(&again["insert"], &json!([]));
        prop_assert_eq!(&again["supersede"], &json!([]));
    }
}
