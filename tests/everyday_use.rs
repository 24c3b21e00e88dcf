//! What a person types: short commands, names as one remembers them, and output that fits.

use crate::support::{CommandResult, World};
use serde_json::{Value, json};

fn keys(answer: &Value) -> Vec<&str> {
    answer["results"].as_array().unwrap().iter().map(|hit| hit["key"].as_str().unwrap()).collect()
}

/// A memory with notes in folders, two of them with the same base name.
fn world() -> World {
    let world = World::new();
    for (key, title, body) in [
        ("people/lin", "Lin", "Lin repairs the ferry and lives near the harbour."),
        ("places/harbour", "Harbour", "The harbour has two quays. Lin works there."),
        ("places/quay", "Quay", "The quay is closed until Friday."),
        ("teams/quay", "Quay team", "Four people look after the cranes."),
    ] {
        world.json(&["insert", "--key", key, "--title", title, "--body", body, "-k", "port"]);
    }
    world
}

#[test]
fn an_empty_memory_says_what_to_do_first() {
    let mut world = World::new();
    let lines: [&[&str]; 8] = [
        &["search", "soup"],
        &["search", "-p", "all"],
        &["query", "soup"],
        &["list"],
        &["recall", "soup"],
        &["retrieve", "soup"],
        &["explore", "soup"],
        &["tags"],
    ];
    let first = "the memory has no notes yet: `poc-memory insert 'The first note'` stores one";
    for line in lines {
        let shown = world.run(line);
        assert!(shown.status == 0 && shown.stdout.contains(first), "{line:?}: {shown:?}");
        // The answer in JSON has no other fields than usual.
        let answer = world.run(&[&["--json"], line].concat());
        assert!(!answer.stdout.contains("no notes yet"), "{line:?}: {answer:?}");
    }
    world.start_daemon();
    assert!(world.run(&["search", "soup"]).stdout.starts_with(&format!("nothing found\n{first}")));
    world.json(&["insert", "The first note"]);
    for line in [&["search", "soup", "-p", "match"][..], &["list", "-t", "daily"], &["tags"]] {
        let shown = world.run(line);
        assert!(shown.status == 0 && !shown.stdout.contains("no notes yet"), "{line:?}: {shown:?}");
    }
    // A tenant has its own notes, and its own command to store one.
    let of_tenant = world.run(&["--tenant", "user=ann", "list"]);
    let command = "`poc-memory --tenant user=ann insert 'The first note'`";
    assert!(of_tenant.stdout.contains(command), "{of_tenant:?}");
    // A memory with notes that no search finds is not empty.
    let of_bob = |line: &[&str]| world.json(&[&["--tenant", "user=bob"], line].concat());
    of_bob(&["insert", "--title", "Tea", "--key", "old"]);
    of_bob(&["insert", "--title", "Coffee", "--key", "new", "--supersedes", "old"]);
    of_bob(&["delete", "new"]);
    assert_eq!(world.run(&["--tenant", "user=bob", "list"]).stdout, "no notes\n");
    world.stop_daemon();
}

#[test]
fn the_number_of_hits_is_set_with_n_or_limit() {
    let world = world();
    for option in [["-n", "1"], ["--limit", "1"], ["-k", "1"], ["--top-k", "1"]] {
        let found = world.json(&[&["search", "the", "harbour"], option.as_slice()].concat());
        assert_eq!(keys(&found), ["places/harbour"], "{option:?}");
    }
    assert_eq!(world.json(&["search", "-p", "all", "-n", "2"])["left_out"], 2);
    // The former options of other commands stay aliases.
    let former = [
        ("retrieve", "--top-k"),
        ("retrieve", "-k"),
        ("recall", "-k"),
        ("recall", "--k"),
        ("explore", "--target-count"),
    ];
    for (command, former) in former {
        for option in ["-n", "--limit", former] {
            let found = world.json(&[command, "the harbour", option, "1"]);
            assert_eq!(found["results"].as_array().unwrap().len(), 1, "{command} {option}");
        }
    }
}

#[test]
fn words_with_stages_continue_from_the_plain_ranking() {
    let world = world();
    let plain = world.json(&["search", "who", "works", "at", "the", "harbour?", "-n", "4"]);
    let filtered =
        world.json(&["search", "who", "works", "at", "the", "harbour?", "-p", "type:semantic", "-n", "4"]);
    assert_eq!(keys(&plain), keys(&filtered));
    // If the pipeline has its own generator, the words become its text.
    let matched = world.json(&["search", "quay", "-p", "match", "-p", "limit:2"]);
    assert_eq!(keys(&matched), ["places/quay", "teams/quay"]);
    let refused = world.run(&["search", "quay", "-p", "all"]);
    assert!(refused.stderr.contains("`hybrid:`"), "{}", refused.stderr);
}

#[test]
fn hits_below_the_average_are_left_out_unless_a_number_is_given() {
    let world = world();
    let few = world.json(&["search", "ferry"]);
    let hits = few["results"].as_array().unwrap();
    assert!(hits.len() < 4 && hits.iter().all(|hit| hit["score"].as_f64().unwrap() >= 0.0), "{few:#}");
    assert_eq!(keys(&world.json(&["search", "ferry", "-n", "4"])).len(), 4);
    // Stages that filter and order the hits go on from the same hits.
    let mut plain = keys(&few);
    plain.sort_unstable();
    for stage in ["keyword:port", "sort:created"] {
        let found = world.json(&["search", "ferry", "-p", stage]);
        let mut found = keys(&found);
        found.sort_unstable();
        assert_eq!(found, plain, "{stage}");
    }
    let latest = world.json(&["search", "ferry", "-p", "sort:created asc | limit:1"]);
    assert_eq!(keys(&latest), ["people/lin"], "{latest:#}");
    assert_eq!(keys(&world.json(&["search", "ferry", "-p", "sort:created", "-n", "4"])).len(), 4);
}

#[test]
fn commands_in_answers_name_the_memory_of_the_call() {
    let world = World::new();
    world.json(&["profile", "create", "work"]);
    let shown = |command: &[&str]| world.run(&[&["--profile", "work"], command].concat()).stdout;
    for (command, named) in [
        (["agent", "run", "linker"].as_slice(), "`poc-memory --profile work insert`"),
        (&["vault", "list"], "`poc-memory --profile work vault add FOLDER`"),
        (&["pipeline", "list"], "`poc-memory --profile work search -p @recent`"),
        (&["doctor"], "`poc-memory --profile work daemon start`"),
    ] {
        let shown = shown(command);
        assert!(shown.contains(named), "{command:?}: {shown}");
    }
    for command in [["export"].as_slice(), &["export", "--output", "notes.jsonl"]] {
        let noticed = world.run(&[&["--profile", "work"], command].concat()).stderr;
        assert!(noticed.contains("`poc-memory --profile work backup`"), "{noticed}");
    }
}

#[test]
fn a_misspelt_keyword_is_named() {
    let world = world();
    let degraded = |command: &[&str]| world.json(command)["degraded"].clone();
    let problem = json!(["no note in use has the keyword `prot`; did you mean `port`?"]);
    assert_eq!(degraded(&["search", "-p", "keyword: Prot"]), problem);
    assert_eq!(degraded(&["search", "-p", "all | !keyword:prot"]), problem);
    assert_eq!(degraded(&["pipeline", "explain", "all | keyword:prot"]), problem);
    assert_eq!(degraded(&["search", "-p", "keyword:Port"]), json!([]));
    assert_eq!(degraded(&["search", "-p", "keyword:metallurgy"]), json!([]));
    assert_eq!(degraded(&["list", "--tag", "Prot"]), problem);
    assert_eq!(degraded(&["list", "--tag", "metallurgy"]), json!([]));
}

#[test]
fn a_filter_for_an_exact_age_is_named() {
    let world = world();
    let degraded = |command: &[&str]| world.json(command)["degraded"].clone();
    let problem = json!(["`age:7d` keeps only notes of exactly this age; did you mean `age:<7d`?"]);
    assert_eq!(degraded(&["search", "-p", "age:=7d"]), problem);
    assert_eq!(degraded(&["pipeline", "explain", "all | age:7d"]), problem);
    assert_eq!(degraded(&["search", "-p", "age:<7d | !created:7d | weight:1"]), json!([]));
}

#[test]
fn a_misspelt_agent_in_a_pipeline_is_named() {
    let world = world();
    let degraded = |command: &[&str]| world.json(command)["degraded"].clone();
    let problem = json!(["there is no agent `linkr`; did you mean `linker`?"]);
    assert_eq!(degraded(&["search", "-p", "not-visited:linkr,7d"]), problem);
    assert_eq!(degraded(&["pipeline", "explain", "all | !visited:linkr"]), problem);
    assert_eq!(degraded(&["search", "-p", "not-visited:linker"]), json!([]));
    // The agents of other programs have no files.
    assert_eq!(degraded(&["search", "-p", "not-visited:crawler"]), json!([]));
    world.json(&["visit", "linkr", "people/lin"]);
    assert_eq!(degraded(&["search", "-p", "not-visited:linkr,7d"]), json!([]));
}

#[test]
fn a_note_is_found_by_its_key_title_file_or_prefix_of_its_id() {
    let world = world();
    for name in ["people/lin", "People/Lin", "lin", "notes/people/lin.md", "LIN"] {
        assert_eq!(world.json(&["get", name])["key"], "people/lin", "{name}");
    }
    let id = world.json(&["get", "lin"])["id"].as_str().unwrap().to_owned();
    let prefix = id.get(..id.len() - 3).unwrap();
    assert_eq!(world.json(&["get", prefix])["key"], "people/lin");
    assert_eq!(world.json(&["link", "lin", "Harbour"])["to"], "places/harbour");
    assert_eq!(
        keys(&world.json(&["search", "-p", "neighbors:Lin", "-p", "linked-to:harbour"])),
        ["people/lin"; 0]
    );
    assert!(keys(&world.json(&["search", "-p", "neighbors:Lin"])).contains(&"places/harbour"));
    // A name that may mean two notes is refused.
    for command in [&["get", "quay"][..], &["link", "lin", "quay"], &["search", "-p", "neighbors:quay"]] {
        let refused = world.run(command);
        assert_eq!(refused.status, 2, "{command:?}: {}", refused.stderr);
        assert!(refused.stderr.contains("`places/quay`, `teams/quay`"), "{}", refused.stderr);
    }
    // A deletion needs the exact name.
    assert_eq!(world.run(&["delete", "LIN"]).status, 1);
}

#[test]
fn a_thought_is_added_in_few_words() {
    let world = World::new();
    assert_eq!(world.run(&["add", "the tide turns", "at noon"]).stdout.lines().count(), 1);
    let piped = world.run_with_input(&["add"], "Piped in.\nWith a second line.\n");
    assert_eq!(piped.status, 0, "{}", piped.stderr);
    let bodies: Vec<Value> = ["the-tide-turns-at-noon", "piped-in"]
        .iter()
        .map(|key| world.json(&["get", key])["body"].clone())
        .collect();
    assert_eq!(bodies, [json!("the tide turns at noon"), json!("Piped in.\nWith a second line.")]);
    // Without a text nothing is stored.
    assert_ne!(world.run_with_input(&["add"], "").status, 0);
    // The text is also read if other arguments describe the note, but not if it has a title.
    let idea = world.run_with_input(&["--json", "add", "--key", "idea", "--keyword", "plan"], "An idea.\n");
    assert_eq!(idea.status, 0, "{idea:?}");
    let note = world.json(&["get", "idea"]);
    assert_eq!((&note["body"], &note["keywords"]), (&json!("An idea."), &json!(["plan"])));
    world.run_with_input(&["add", "--key", "titled", "--title", "A title"], "Of the loop.\n");
    assert_eq!(world.json(&["get", "titled"])["body"], "");
    // An update takes its text from a pipe if it would change nothing else.
    let update = |more: &[&str], input: &str| {
        world.run_with_input(&[&["add", "--key", "idea", "--update"], more].concat(), input)
    };
    assert_eq!(update(&[], "A better idea.\n").status, 0);
    for change in [["--emotion", "3"], ["--clear", "keywords"]] {
        assert_eq!(update(&change, "Of the loop.\n").status, 0, "{change:?}");
    }
    assert_eq!(world.json(&["get", "idea"])["body"], "A better idea.");
    let nothing = update(&[], "");
    assert!(nothing.stderr.contains("there is nothing to change"), "{}", nothing.stderr);
    assert_eq!(world.run(&["add", "x", "--body", "y"]).status, 2);
}

#[test]
fn notes_keywords_and_backlinks_are_listed() {
    let world = world();
    world.json(&[
        "insert",
        "--key",
        "log",
        "--type",
        "daily",
        "--body",
        "Nothing new.",
        "-k",
        "log",
        "-k",
        "port",
    ]);
    let notes = |arguments: &[&str]| -> Vec<String> {
        let listed = world.json(&[&["list"], arguments].concat());
        listed["notes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|note| note["key"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(notes(&["-n", "2"]).len(), 2);
    assert_eq!(notes(&[])[0], "log");
    assert_eq!(notes(&["--type", "daily"]), ["log"]);
    assert_eq!(notes(&["--tag", "port", "-k", "log"]), ["log"]);
    assert!(notes(&["--tag", "nobody-has-it"]).is_empty());
    assert!(world.run(&["list", "-n", "1"]).stdout.contains("4 more notes left out"));
    assert_eq!(
        world.json(&["tags"])["tags"],
        json!([{"keyword": "port", "notes": 5}, {"keyword": "log", "notes": 1}])
    );
    world.json(&["link", "places/quay", "lin", "--reason", "he closed it"]);
    let backlinks = world.json(&["backlinks", "lin"]);
    let found: Vec<(&str, &Value)> = backlinks["backlinks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|note| (note["key"].as_str().unwrap(), &note["by"]))
        .collect();
    assert!(found.contains(&("places/quay", &json!(["link"]))), "{backlinks:#}");
    assert_eq!(backlinks["key"], "people/lin");
    assert!(world.run(&["backlinks", "log"]).stdout.contains("no note leads to `log`"));
    world.json(&["link", "log", "lin"]);
    let two = world.json(&["backlinks", "lin", "-n", "1"]);
    let rest = two["left_out"].as_u64().unwrap();
    assert_eq!((two["backlinks"].as_array().unwrap().len(), &two["backlinks"][0]["key"]), (1, &json!("log")));
    assert!(rest >= 1, "{two:#}");
    let line = format!("{rest} more notes left out: `-n {}` shows all", rest + 1);
    let line = if rest == 1 { line.replace("notes", "note") } else { line };
    assert!(world.run(&["backlinks", "lin", "--limit", "1"]).stdout.contains(&line));
    assert_eq!(world.run(&["backlinks", "lin", "-n", "1001"]).status, 2);
}

#[test]
fn possible_duplicates_are_listed_with_their_differences() {
    let world = World::new();
    for (key, body) in [
        ("boil", "The kettle in the kitchen boils two litres of water in four minutes."),
        ("boil-again", "The kettle in the kitchen boils two litres of water in five minutes."),
        ("tram", "The last tram to the station leaves at midnight."),
    ] {
        world.json(&[
            "insert",
            "--key",
            key,
            "--title",
            if key == "tram" { "Tram" } else { "Kettle" },
            "--body",
            body,
        ]);
    }
    let pairs = world.json(&["duplicates"]);
    let pair = &pairs["pairs"][0];
    assert_eq!(pairs["pairs"].as_array().unwrap().len(), 1, "{pairs:#}");
    assert_eq!((&pair["older"]["key"], &pair["newer"]["key"]), (&json!("boil"), &json!("boil-again")));
    assert_eq!((&pair["only_older"], &pair["only_newer"]), (&json!(["four"]), &json!(["five"])));
    assert_eq!(pair["same_title"], true);
    // A note and its replacement are not a pair.
    world.json(&["supersede", "boil", "boil-again"]);
    assert_eq!(world.json(&["duplicates"])["pairs"], json!([]));
    // Neither are the notes of two days.
    for (key, body) in [
        ("daily/2026-11-05", "Swept the yard and fed the cat."),
        ("daily/2026-11-06", "Swept the yard and fed the dog."),
    ] {
        world.json(&["insert", "--key", key, "--title", "A day", "--body", body]);
    }
    for (key, day) in [("log/2026-02-06-08", "6"), ("log/2026-02-07-07", "7")] {
        let body = format!("Nightly backup of the harbour ledger, run {day} on host quay-1, no errors.");
        world.json(&["insert", "--key", key, "--title", "Backup log", "--body", &body]);
    }
    assert_eq!(world.json(&["duplicates"])["pairs"], json!([]));
    // Pairs with different numbers are only counted.
    for pump in ["7", "8"] {
        let body = format!("The bilge pump {pump} was greased and its float switch was tested by Lin.");
        world.json(&["insert", "--key", &format!("pump-{pump}"), "--title", "Pump", "--body", &body]);
    }
    let pairs = world.json(&["duplicates"]);
    assert_eq!((&pairs["pairs"], &pairs["with_different_identifiers"]), (&json!([]), &json!(1)), "{pairs:#}");
    let shown = world.run(&["duplicates"]).stdout;
    assert!(shown.contains("1 more pair with different numbers, dates or identifiers"), "{shown}");
    let pairs = world.json(&["duplicates", "--all"]);
    assert_eq!(
        (&pairs["pairs"][0]["older"]["key"], &pairs["pairs"][0]["different_identifiers"]),
        (&json!("pump-7"), &json!(true))
    );
}

#[test]
fn undo_without_a_number_reverts_the_last_change_made_by_hand() {
    let world = world();
    world.json(&["insert", "--key", "wrong", "--body", "A mistake."]);
    // A question counts a use and is not a change.
    assert_eq!(world.json(&["query", "people/lin"])["hit"], "STRONG");
    // A run that only reads notes changes none.
    let run = world.json(&["agent", "run", "linker"]);
    assert!(
        !run["visited"].as_array().unwrap().is_empty() && run["applied"].as_array().unwrap().is_empty(),
        "{run:#}"
    );
    assert_eq!(world.json(&["changes", "-n", "1"])["changes"][0]["op"], "insert");
    let undone = world.json(&["undo"]);
    assert_eq!(world.json_with_status(&["get", "wrong"], 1)["error"]["code"], "not_found");
    // The number of the undo restores the note.
    world.json(&["undo", &undone["changes"][0].to_string()]);
    assert_eq!(world.json(&["get", "wrong"])["body"], "A mistake.");
    // The line that names the number names the profile, too.
    world.run(&["--profile", "five", "insert", "--key", "wrong", "--body", "A mistake."]);
    let shown = world.run(&["--profile", "five", "delete", "wrong"]).stdout;
    assert!(shown.contains("`poc-memory --profile five undo "), "{shown}");
    assert_eq!(World::new().json_with_status(&["undo"], 1)["error"]["code"], "not_found");
}

#[test]
fn a_fresh_note_has_the_weight_one() {
    let world = world();
    assert_eq!(keys(&world.json(&["search", "-p", "weight:>=1"])).len(), 4);
    assert_eq!(keys(&world.json(&["search", "-p", "weight:<1"])), [""; 0]);
}

#[test]
fn a_question_about_another_person_or_number_is_not_certain() {
    let world = World::new();
    for body in [
        "Marta paid the invoice 4711 for the crane on Monday.",
        "Jonas sails to Lisbon every summer.",
        "The crane lifts forty tonnes.",
    ] {
        world.json(&["insert", "--body", body]);
    }
    let verdict = |text: &str| world.json(&["query", text, "--signals-only"]);
    assert_eq!(verdict("who paid the invoice 4711 for the crane?")["hit"], "STRONG");
    let number = verdict("who paid the invoice 4712 for the crane?");
    assert_ne!(number["hit"], "STRONG", "{number:#}");
    let person = verdict("when did Jonas pay the invoice 4711 for the crane on Monday?");
    assert_eq!(
        (&person["hit"], &person["decided_by"]),
        (&json!("WEAK"), &json!("other-subject")),
        "{person:#}"
    );
    assert_eq!(person["missing"], json!(["jonas"]));
}

#[test]
fn a_question_about_another_thing_or_day_is_not_certain() {
    let world = World::new();
    for body in [
        "Marta operates the crane in the north yard.",
        "On Tuesdays, the visitors park behind the church in Lisbon.",
        "Bob cooks soup for the guests of the harbour.",
        "The invoice for the paint was paid by Ann.",
        "We sail to the island every summer.",
    ] {
        world.json(&["insert", "--body", body]);
    }
    let verdict = |text: &str| world.json(&["query", text, "--signals-only"]);
    assert_eq!(verdict("who operates the crane in the north yard?")["hit"], "STRONG");
    assert_eq!(verdict("where do the visitors park in lisbon on Tuesdays?")["hit"], "STRONG");
    for (question, missing) in [
        ("who operates the ferry in the north yard?", "ferry"),
        ("who operates the lathe in the north yard?", "lathe"),
        ("when did jonas operate the crane in the north yard?", "jonas"),
        ("where do the visitors park in lisbon on Fridays?", "fridays"),
    ] {
        let other = verdict(question);
        assert_ne!(other["hit"], "STRONG", "{question}: {other:#}");
        assert_eq!(other["missing"], json!([missing]), "{question}: {other:#}");
    }
}

#[test]
fn settings_are_changed_one_at_a_time() {
    let world = World::new();
    world.write("config.toml", "# Mine.\n[retrieve]\ntop-k = 5 # few\n");
    let text = || std::fs::read_to_string(world.home().join("config.toml")).unwrap();
    let set = world.json(&["config", "set", "retrieve.top-k", "3"]);
    assert_eq!((&set["value"], &set["changed"]), (&json!(3), &json!(true)));
    assert_eq!(text(), "# Mine.\n[retrieve]\ntop-k = 3 # few\n");
    let refused = world.json_with_status(&["config", "set", "retrieve.top-k", "many"], 2);
    assert_eq!(refused["error"]["at"]["field"], "retrieve.top-k", "{refused:#}");
    assert_eq!(text(), "# Mine.\n[retrieve]\ntop-k = 3 # few\n");
    world.json(&["config", "set", "consolidate.schedule", "weekly on monday"]);
    assert!(text().ends_with("[consolidate]\nschedule = \"weekly on monday\"\n"), "{}", text());
    let unset = world.json(&["config", "set", "retrieve.top-k", "--unset"]);
    assert_eq!((&unset["value"], &unset["origin"]), (&json!(8), &json!("default")));
    for command in [&["config", "set", "retrieve.topk", "--unset"][..], &["config", "unset", "retrieve.topk"]]
    {
        let unknown = world.json_with_status(command, 2);
        assert_eq!(unknown["error"]["code"], "invalid_argument", "{unknown:#}");
        assert_eq!(unknown["error"]["hint"], "did you mean `retrieve.top-k`?", "{unknown:#}");
    }
    // Several mistakes are repaired one after the other.
    world.write("config.toml", "[retrieve]\ntop-k = 0\n[list]\nlimit = \"ten\"\n");
    let set = world.json(&["config", "set", "list.limit", "3"]);
    assert_eq!((&set["value"], &set["mistakes"][0]["at"]["field"]), (&json!(3), &json!("retrieve.top-k")));
    let shown = world.run(&["config", "unset", "list.limit"]).stdout;
    assert!(shown.contains("mistakes are repaired:\n") && shown.contains("cannot be 0"), "{shown}");
    let unset = world.json(&["config", "unset", "retrieve.top-k"]);
    assert_eq!((&unset["value"], &unset["mistakes"]), (&json!(8), &json!(null)));
}

#[test]
fn a_profile_is_deleted_with_everything_in_it() {
    let world = World::new();
    world.json(&["profile", "create", "work"]);
    world.json(&["--profile", "work", "add", "a thought"]);
    let refused = world.json_with_status(&["profile", "delete", "work"], 2);
    assert_eq!(refused["error"]["at"]["field"], "yes", "{refused:#}");
    world.json(&["profile", "delete", "work", "--yes"]);
    assert_eq!(world.json(&["profile", "list"])["profiles"].as_array().unwrap().len(), 1);
    assert_eq!(
        world.json_with_status(&["profile", "delete", "work", "--yes"], 1)["error"]["code"],
        "not_found"
    );
    assert_eq!(
        world.json_with_status(&["profile", "delete", "default", "--yes"], 2)["error"]["at"]["field"],
        "name"
    );
}

#[test]
fn commands_in_hints_can_be_run_as_they_are() {
    let world = World::new();
    world.json(&["profile", "create", "work"]);
    let hint = world.run(&["--profile", "work", "get", "no such note"]).stderr;
    assert!(hint.contains("`poc-memory --profile work search 'no such note'`"), "{hint}");
    let mistyped = world.run(&["--profile", "wrok", "list"]).stderr;
    assert!(mistyped.contains("`work`"), "{mistyped}");
}

#[test]
fn times_are_shown_in_local_time() {
    let world = world();
    let run = |zone: &str| -> CommandResult {
        let ran = world.command("poc-memory").args(["get", "lin"]).env("TZ", zone).output().unwrap();
        CommandResult {
            status: ran.status.code().unwrap(),
            stdout: String::from_utf8(ran.stdout).unwrap(),
            stderr: String::from_utf8(ran.stderr).unwrap(),
        }
    };
    let created = |zone: &str| -> String {
        let text = run(zone).stdout;
        text.lines().find_map(|line| line.strip_prefix("created    ")).unwrap().to_owned()
    };
    assert!(created("UTC").ends_with('Z'), "{}", created("UTC"));
    assert!(created("Asia/Kolkata").ends_with("+05:30"), "{}", created("Asia/Kolkata"));
    let mistyped = run("Europe/Viena");
    assert!(mistyped.stdout.contains("created    "), "{}", mistyped.stdout);
    let warning =
        "`TZ` is `Europe/Viena`, which is not the name of a time zone: schedules and printed times use `";
    assert_eq!(mistyped.stderr.matches(warning).count(), 1, "{}", mistyped.stderr);
    assert!(mistyped.stderr.contains("did you mean `Europe/Vienna`?"), "{}", mistyped.stderr);
    assert!(!run("Europe/Vienna").stderr.contains("TZ"));
    // Programs get UTC.
    assert!(world.json(&["get", "lin"])["created"].as_str().unwrap().ends_with('Z'));
}

#[test]
fn colors_are_for_terminals() {
    let world = world();
    assert!(!world.run(&["search", "harbour"]).stdout.contains('\u{1b}'));
    let colored = world.run(&["search", "harbour", "--color", "always"]).stdout;
    assert!(colored.contains("\u{1b}[36mplaces/harbour\u{1b}[0m"), "{colored:?}");
}

fn agent_names(world: &World) -> Vec<String> {
    let listed = world.json(&["agent", "list"]);
    let agents = listed["agents"].as_array().unwrap().iter();
    agents.map(|agent| agent["name"].as_str().unwrap().to_owned()).collect()
}

/// The folder of agents was filled by a version that did not have `quotations`.
#[test]
fn a_new_bundled_agent_is_added_to_an_existing_memory() {
    let world = World::new();
    world.run(&["init"]);
    let agents = world.home().join("agents");
    std::fs::remove_file(agents.join("quotations.toml")).unwrap();
    let written = std::fs::read_to_string(agents.join(".bundled")).unwrap();
    std::fs::write(agents.join(".bundled"), written.replace("quotations.toml\n", "")).unwrap();
    assert!(agent_names(&world).contains(&"quotations".to_owned()));
    world.run(&["init"]);
    assert!(agents.join("quotations.toml").exists());
    assert!(agent_names(&world).contains(&"quotations".to_owned()));
}

#[test]
fn removed_bundled_agents_stay_removed() {
    let world = World::new();
    world.run(&["init"]);
    std::fs::remove_file(world.home().join("agents/linker.toml")).unwrap();
    let names = || agent_names(&world);
    assert!(!names().contains(&"linker".to_owned()), "{:?}", names());
    world.run(&["init"]);
    assert!(!world.home().join("agents/linker.toml").exists());
    assert!(!names().contains(&"linker".to_owned()));
    world.run(&["init", "--restore-agents"]);
    assert!(names().contains(&"linker".to_owned()));
}
