//! The daemon acknowledges a write only after the log that contains it was synced, as its system calls show.

use crate::support::World;
use std::collections::HashMap;

/// The number of clients that write at the same time, so that one sync is for several writes.
const CLIENTS: usize = 4;

/// The number of acknowledgements if `POC_MEMORY_ACKNOWLEDGEMENTS` asks for none.
const ACKNOWLEDGEMENTS: usize = 60;

/// The number of acknowledgements that `POC_MEMORY_ACKNOWLEDGEMENTS` asks for.
fn asked() -> Option<usize> {
    std::env::var("POC_MEMORY_ACKNOWLEDGEMENTS").ok().map(|count| count.parse().unwrap())
}

/// A system call: the numbers of the lines at which it began and ended, and its name and arguments.
struct Call {
    began: usize,
    ended: usize,
    text: String,
}

/// The calls of a trace in the order of their ends. A call during which another thread did something takes two lines.
fn calls(trace: &str) -> Vec<Call> {
    let mut unfinished: HashMap<&str, (usize, &str)> = HashMap::new();
    let mut calls = Vec::new();
    for (at, line) in trace.lines().enumerate() {
        let Some((thread, text)) = line.split_once(' ') else { continue };
        let text = text.trim_start();
        if let Some(begun) = text.strip_suffix("<unfinished ...>") {
            unfinished.insert(thread, (at, begun));
        } else if text.starts_with("<...") {
            if let Some((began, begun)) = unfinished.remove(thread) {
                calls.push(Call { began, ended: at, text: format!("{begun}{text}") });
            }
        } else {
            calls.push(Call { began: at, ended: at, text: text.to_owned() });
        }
    }
    calls
}

/// What is wrong with the acknowledgement of the note with a key; `None` if it followed a sync of the log.
fn violation(calls: &[Call], key: &str) -> Option<String> {
    // Keys end in a letter, so that none is the beginning of another.
    let is_log = |call: &&Call| call.text.contains("/store/log/");
    let written =
        calls.iter().find(|call| is_log(call) && call.text.starts_with("write(") && call.text.contains(key));
    let sent = calls.iter().find(|call| call.text.starts_with("send") && call.text.contains(key));
    let (Some(written), Some(sent)) = (written, sent) else {
        return Some(format!("`{key}`: written {}, acknowledged {}", written.is_some(), sent.is_some()));
    };
    let is_sync = |call: &&Call| call.text.starts_with("fdatasync(") || call.text.starts_with("fsync(");
    let mut syncs = calls.iter().filter(is_sync).filter(is_log).filter(|call| call.text.ends_with("= 0"));
    let is_synced = syncs.any(|sync| written.ended < sync.began && sync.ended < sent.began);
    (!is_synced).then(|| {
        format!("`{key}` was written in line {} and acknowledged in line {}", written.ended, sent.began)
    })
}

#[test]
fn every_acknowledgement_follows_a_sync_of_the_log() {
    let mut world = World::new();
    if !world.start_traced_daemon("trace") {
        assert_eq!(asked(), None, "the acknowledgements cannot be traced: install `strace`");
        return;
    }
    let each = asked().unwrap_or(ACKNOWLEDGEMENTS).div_ceil(CLIENTS);
    let key = |client: usize, number: usize| format!("note-{client}-{number}-x");
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let world = &world;
            scope.spawn(move || {
                for number in 0..each {
                    let key = key(client, number);
                    world.json(&["insert", "--key", &key, "--body", &format!("The text of {key}.")]);
                }
            });
        }
    });
    let trace = world.stop_traced_daemon("trace");
    let calls = calls(&trace);
    let keys = (0..CLIENTS).flat_map(|client| (0..each).map(move |number| key(client, number)));
    let violations: Vec<String> = keys.filter_map(|key| violation(&calls, &key)).collect();
    assert!(violations.is_empty(), "{} of {}: {violations:#?}", violations.len(), CLIENTS * each);
}

#[test]
fn acknowledgements_before_a_sync_are_noticed() {
    let calls = |lines: &[&str]| calls(&lines.join("\n"));
    let (write, sync, send) = (
        r#"7 write(12</m/store/log/1.log>, "key-x"..., 40) = 40"#,
        "7 fdatasync(12</m/store/log/1.log>) = 0",
        r#"9 sendto(24<socket:[3]>, "key-x", 5, MSG_NOSIGNAL, NULL, 0) = 5"#,
    );
    assert_eq!(violation(&calls(&[write, sync, send]), "key-x"), None);
    for wrong in [
        [write, send, sync],
        [sync, write, send],
        [write, "7 fdatasync(12</m/store/log/1.log>) = -1 EIO", send],
        [write, "7 fdatasync(13</m/store/head>) = 0", send],
    ] {
        assert!(violation(&calls(&wrong), "key-x").is_some(), "{wrong:?}");
    }
    // The sync ends too late, or begins too early.
    let [begun, ended] =
        ["7 fdatasync(12</m/store/log/1.log> <unfinished ...>", "7 <... fdatasync resumed>) = 0"];
    assert!(violation(&calls(&[write, begun, send, ended]), "key-x").is_some());
    assert!(violation(&calls(&[begun, &write.replace("7 ", "8 "), ended, send]), "key-x").is_some());
    assert_eq!(violation(&calls(&[write, begun, ended, send]), "key-x"), None);
}
