//! New keys for a fixed sample of notes as programs and people write them. Each note lists the keys that a
//! reader would accept. Every other proposal is wrong, and so is every proposal for a note without acceptable
//! keys.

use super::scene::{Scene, scene};
use crate::definition::ActionKind;
use poc_graph::{NodeType, title_of};

struct Sample {
    key: &'static str,
    /// Empty if it is the first line of the text.
    title: &'static str,
    body: &'static str,
    kind: &'static str,
    author: Option<&'static str>,
    /// The keys that a reader would accept.
    good: &'static [&'static str],
}

const NOTE: Sample = Sample { key: "", title: "", body: "", kind: "semantic", author: None, good: &[] };
const EPISODE: Sample = Sample { kind: "episodic", ..NOTE };

/// Turns of a conversation, with and without the speaker.
const CHAT: [Sample; 12] = [
    Sample {
        key: "thanks-mel-it-is-much-appreciated-your-beautiful-words-really-bring-me-home",
        body: "Thanks, Mel! It is much appreciated. Your beautiful words really bring me home every time.",
        ..EPISODE
    },
    Sample {
        key: "5e1f0c9a7b3d4421",
        body: "Wow, that painting is amazing! The colours really bring it to life. How long did it take you?",
        ..EPISODE
    },
    Sample {
        key: "msg-6f0d2c1be7a94d55",
        body: "Yeah, totally agree. Kids learn so much more when they are outside with friends.",
        author: Some("Caroline"),
        ..EPISODE
    },
    Sample {
        key: "untitled-14",
        body: "Good luck with the interview tomorrow, you will be great! Tell me how it went.",
        author: Some("Jon"),
        ..EPISODE
    },
    Sample {
        key: "chat-8ac41f77e0d2",
        body: "Last week I went camping with the family by the lake. We roasted marshmallows and told stories.",
        author: Some("Melanie"),
        ..EPISODE
    },
    Sample {
        key: "hey-gina-how-are-you-doing-it-has-been-such-a-long-time-since-we-talked-about-the-store",
        body: "Hey Gina, how are you doing? It has been such a long time since we talked about the store.",
        ..EPISODE
    },
    Sample {
        key: "9b2c77aa01ff",
        body: "Sorry to hear that. Losing a job is hard, but it may open a door to something better.",
        ..EPISODE
    },
    Sample {
        key: "conv-30/d4c3b2a190ef",
        body: "I started a dance studio because dancing was always my passion. What about you?",
        author: Some("Jon"),
        ..EPISODE
    },
    Sample { key: "untitled-15", body: "ok will do, thx", ..EPISODE },
    Sample {
        key: "that-sounds-like-so-much-fun-i-would-love-to-see-pictures-of-your-trip-some-time-soon",
        body: "That sounds like so much fun! I would love to see pictures of your trip some time soon.",
        ..EPISODE
    },
    Sample {
        key: "session#7f3e9d2c4b1a",
        body: "Take care, Deborah. Yoga on the beach next week then, same place.",
        author: Some("Jolene"),
        ..EPISODE
    },
    Sample {
        key: "4c1d8e90ab77",
        body: "Did you watch the game last night? Unbelievable finish, I could not sleep afterwards.",
        ..EPISODE
    },
];

/// Notes of days and meetings.
const DATED: [Sample; 9] = [
    Sample {
        key: "2026-11-07-the-journal-now-replays-a-split-of-the-b-tree-after-a-crash-of-the-storage-engine",
        title: "The journal now replays a split of the B-tree",
        body: "After a crash of the storage engine the journal replays a split of the B-tree as one entry.",
        good: &["2026-11-07-journal-replays-split-b-tree"],
        ..EPISODE
    },
    Sample {
        key: "journal/2026-03-14",
        title: "Saturday",
        body: "Planted beans and peas. The rain barrel leaks again.",
        ..EPISODE
    },
    Sample {
        key: "daily/2026-10-02-b7a0c4d1e2f3",
        title: "Power cut in the machine room",
        body: "The second supply took over after eleven seconds, and two machines had restarted by then.",
        good: &["daily/2026-10-02-power-cut-machine-room"],
        ..EPISODE
    },
    Sample {
        key: "2026-09-30-untitled",
        title: "Retrospective of the portal release",
        body: "The release slipped twice because nobody owned the certificate.",
        good: &["2026-09-30-retrospective-portal-release"],
        ..EPISODE
    },
    Sample { key: "2026-05-11-note", body: "Nothing much today.", ..EPISODE },
    Sample { key: "2026-05", title: "May", body: "Two releases, one outage.", kind: "monthly", ..NOTE },
    Sample {
        key: "meetings/2026-08-19-we-talked-for-a-long-time-about-many-different-things-and-then-went-home",
        title: "We talked for a long time about many different things",
        body: "No decision was made.",
        ..EPISODE
    },
    Sample {
        key: "2026-06-01-a4f09b12",
        title: "Standup",
        body: "Ann is ill, Jonas has the pager.",
        ..EPISODE
    },
    Sample {
        key: "log:20260412093000",
        title: "Backup of the night failed",
        body: "The disk was full of core dumps.",
        good: &[],
        ..EPISODE
    },
];

/// Tickets and decisions.
const TICKETS: [Sample; 8] = [
    Sample {
        key: "inc-90412-customers-could-not-log-in-for-forty-minutes-because-the-session-store-ran-full",
        title: "INC-90412: logins failed because the session store ran full",
        body: "Keys were never expired. The eviction policy is allkeys-lru now.",
        good: &["inc-90412-logins-failed-store-ran-full", "inc-90412-logins-failed-session-store-full"],
        ..NOTE
    },
    Sample {
        key: "c0ffee12-77ab-4d01",
        title: "BRK-4021: broker refuses clients with TLS 1.1",
        body: "The clients of the plant speak TLS 1.1. They get a listener of their own until March.",
        good: &["brk-4021-broker-refuses-clients-tls-1.1"],
        ..NOTE
    },
    Sample {
        key: "adr-0012-9f8e7d6c",
        title: "Retries use full jitter",
        body: "Backoff without jitter synchronises the clients, so that they come back together.",
        good: &["adr-0012-retries-full-jitter"],
        ..NOTE
    },
    Sample {
        key: "tickets/untitled-2",
        title: "Invoice PDF shows the wrong time zone",
        body: "Amounts are right. The date is that of the server.",
        good: &["tickets/invoice-pdf-shows-wrong-zone"],
        ..NOTE
    },
    Sample {
        key: "gh-1187-5b4a3c2d1e0f",
        title: "Parser accepts a trailing comma in lists",
        body: "Documented as a feature since nobody wants to break the files that use it.",
        good: &["gh-1187-parser-accepts-trailing-comma-lists"],
        ..NOTE
    },
    Sample { key: "todo/8f14e45f", title: "Call back", body: "Before noon.", kind: "semantic", ..NOTE },
    Sample {
        key: "5d41402abc4b2a76",
        title: "Follow up on last week's question",
        body: "Ruth wanted to know more. See the mail.",
        ..NOTE
    },
    Sample {
        key: "note-17",
        title: "Error 4027 when the disk is full",
        body: "The engine reports 4027 and goes read-only. Free space and restart it.",
        good: &["error-4027-disk-full"],
        ..NOTE
    },
];

/// Knowledge under ids, placeholders and whole sentences, in folders and without.
const KNOWLEDGE: [Sample; 16] = [
    Sample {
        key: "550e8400-e29b-41d4-a716-446655440000",
        title: "Rotation of the broker certificate",
        body: "Every March, by Petra. The old one stays valid for a week.",
        good: &["rotation-broker-certificate"],
        ..NOTE
    },
    Sample {
        key: "people/lin/3f9a1c0b7d2e",
        title: "Lin's allergy to peanuts",
        body: "Told us before the summer party. Severe.",
        good: &["people/lin/allergy-peanuts", "people/lin/lins-allergy-peanuts"],
        ..NOTE
    },
    Sample {
        key: "projects/atlas-migration-2026/untitled-3",
        title: "Cutover plan for the billing database",
        body: "Freeze at six, copy, compare sums, switch the alias.",
        good: &["projects/atlas-migration-2026/cutover-billing-database"],
        ..NOTE
    },
    Sample {
        key: "the-importer-of-invoices-reads-amounts-with-a-comma-as-thousands-and-nobody-noticed-it-for-a-year",
        body: "The importer of invoices reads amounts with a comma as thousands and nobody noticed it for a year. \
               The importer now takes the locale of the sender: amounts in invoices from Zurich use an apostrophe.",
        good: &["importer-invoices-amounts", "importer-invoices-reads-amounts"],
        ..NOTE
    },
    Sample {
        key: "untitled",
        title: "Sourdough starter feeding schedule",
        body: "Twice a day at 24 degrees, once a week in the fridge.",
        good: &["sourdough-starter-feeding-schedule"],
        ..NOTE
    },
    Sample {
        key: "recipes/new-document-2",
        title: "Lentil soup with lemon and mint",
        body: "Red lentils, cumin, a lemon, mint at the end.",
        good: &["recipes/lentil-soup-lemon-mint"],
        ..NOTE
    },
    Sample {
        key: "import/1763715600/readme",
        title: "Installation of the agent",
        body: "Unpack, run, done.",
        ..NOTE
    },
    Sample {
        key: "b0ab338c-retry-policy",
        title: "Where retries are allowed",
        body: "Only calls that may be repeated are retried.",
        ..NOTE
    },
    Sample {
        key: "doc-4b825dc642cb6eb9",
        title: "Raft leader election",
        body: "A follower becomes a candidate when it has not heard from the leader within its timeout.",
        good: &["raft-leader-election"],
        ..NOTE
    },
    Sample {
        key: "e3b0c44298fc1c14",
        title: "Why we love this place",
        body: "Good people, good coffee, and a door that is always open.",
        ..NOTE
    },
    Sample {
        key: "notes/memory-7",
        title: "Postgres 16 upgrade checklist",
        body: "Extensions first. Then the replicas, one at a time.",
        good: &["notes/postgres-16-upgrade-checklist"],
        ..NOTE
    },
    Sample {
        key: "da39a3ee5e6b4b0d",
        body: "There is a limit of 100 open connections for each tenant, and the pool of each worker holds ten.",
        ..NOTE
    },
    Sample {
        key: "infrastructure/networking/load-balancers/europe-west/how-we-drain-a-node-before-maintenance",
        title: "How we drain a node before maintenance",
        body: "Weight to zero, wait for the connections to end, take it out.",
        ..NOTE
    },
    Sample {
        key: "fd1e2d3c4b5a6978",
        title: "Grafana dashboards: owners",
        body: "Selim owns the storage boards, Ines the rest.",
        good: &["grafana-dashboards-owners"],
        ..NOTE
    },
    Sample {
        key: "somebody-should-really-look-into-this-one-day-because-it-keeps-happening-over-and-over-again",
        title: "Somebody should really look into this one day",
        body: "It keeps happening.",
        ..NOTE
    },
    Sample {
        key: "7c6a180b36896a0a",
        title: "Vaccination of the cat",
        body: "Due every May. The practice on Elm Street has the card.",
        good: &[],
        ..NOTE
    },
];

fn sample() -> (Scene, Vec<&'static Sample>) {
    let all: Vec<&Sample> = CHAT.iter().chain(&DATED).chain(&TICKETS).chain(&KNOWLEDGE).collect();
    let titles: Vec<String> = all
        .iter()
        .map(|note| if note.title.is_empty() { title_of(note.body).unwrap() } else { note.title.to_owned() })
        .collect();
    let texts: Vec<(&str, &str)> =
        titles.iter().zip(&all).map(|(title, note)| (title.as_str(), note.body)).collect();
    let mut scene = scene(&texts);
    for (node, note) in scene.nodes.iter_mut().zip(&all) {
        node.key = note.key.to_owned();
        node.node_type = NodeType(note.kind.to_owned());
        node.author = note.author.map(str::to_owned);
    }
    (scene, all)
}

/// Each proposed key with the note it is for.
fn proposals(scene: &Scene, all: &[&'static Sample]) -> Vec<(&'static Sample, String)> {
    let answer = scene.answer(&[ActionKind::Supersede]);
    let rows = answer["supersede"].as_array().unwrap().iter();
    let note = |handle: &str| all[handle[1..].parse::<usize>().unwrap() - 1];
    rows.map(|row| (note(row["node"].as_str().unwrap()), row["key"].as_str().unwrap().to_owned())).collect()
}

#[test]
fn at_most_one_new_key_in_ten_is_wrong() {
    let (scene, all) = sample();
    let proposed = proposals(&scene, &all);
    let wrong: Vec<String> = proposed
        .iter()
        .filter(|(note, key)| !note.good.contains(&key.as_str()))
        .map(|(note, key)| format!("{} -> {key}", note.key))
        .collect();
    assert!(wrong.len() * 10 <= proposed.len(), "{wrong:#?} of {}", proposed.len());
    // Proposing nothing would be correct but useless, so a minimum number of proposals is required.
    let nameable = all.iter().filter(|note| !note.good.is_empty()).count();
    let right = proposed.len() - wrong.len();
    println!("{right} of {nameable} notes with a subject named, {} wrong, {} notes", wrong.len(), all.len());
    assert!(right * 4 >= nameable * 3, "{right} of {nameable}");
}

#[test]
fn speech_gets_no_key_and_the_kept_part_of_a_key_is_never_dropped() {
    let (scene, all) = sample();
    for (note, key) in proposals(&scene, &all) {
        assert!(!CHAT.iter().any(|turn| turn.key == note.key), "{} -> {key}", note.key);
        let folder = note.key.rfind('/').map_or("", |at| &note.key[..=at]);
        assert!(key.starts_with(folder), "{} -> {key}", note.key);
        let name = &note.key[folder.len()..];
        let date = name.get(..10).filter(|date| poc_graph::time::Timestamp::parse(date).is_ok());
        assert!(key[folder.len()..].starts_with(date.unwrap_or_default()), "{} -> {key}", note.key);
    }
}
