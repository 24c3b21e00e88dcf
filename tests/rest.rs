//! REST of the real daemon, over TCP.

mod limits;
mod openapi;
mod origin_guard;
mod route_table;
mod same_answers;

use crate::support::World;
use crate::support::http::{Http, ON};
use serde_json::Value;

/// Runs the requests of the example's `curl` commands without needing `curl`.
#[test]
fn the_example_of_the_guide_works() {
    let (_world, http) = world("");
    let guide = include_str!("../docs/rest.md");
    let block = guide.split("```sh\n").find(|block| block.starts_with("curl")).unwrap();
    let script = block.split("```").next().unwrap().replace("\\\n", " ");
    let answers: Vec<Value> = script.lines().map(|line| run_curl(&http, line)).collect();
    assert_eq!(answers.len(), 2, "{script}");
    let scripts = guide.split("```sh\n").filter_map(|block| block.split("```").next());
    let script = scripts.into_iter().find(|script| script.contains("If-Match")).unwrap().replace("\\\n", " ");
    assert_eq!(run_curl(&http, script.trim())["version"], 2);
    assert_eq!((&answers[0]["key"], &answers[1]["results"][0]["key"]), (&"kettle".into(), &"kettle".into()));
}

/// Sends the request that a `curl` command describes. Knows only the options that the guide uses.
fn run_curl(http: &Http, line: &str) -> Value {
    let words = shell_words(line);
    let mut words = words.iter().map(String::as_str);
    assert_eq!(words.next(), Some("curl"), "{line}");
    let (mut path, mut headers, mut data, mut query) =
        (String::new(), Vec::new(), String::new(), String::new());
    let mut is_get = false;
    while let Some(word) = words.next() {
        let mut value = || words.next().unwrap_or_else(|| panic!("`{word}` has no value: {line}"));
        match word {
            "-sS" => {}
            "-G" => is_get = true,
            "-H" => headers.push(value().split_once(": ").unwrap()),
            "-d" => data = value().to_owned(),
            "--data-urlencode" => {
                let (name, text) = value().split_once('=').unwrap();
                query = format!("{name}={}&", text.replace(' ', "+").replace('?', "%3F"));
            }
            url => path = url.strip_prefix("http://127.0.0.1:9977").expect(url).to_owned(),
        }
    }
    let full = format!("Bearer {}", http.full);
    let read = format!("Bearer {}", http.read);
    let mut sent = vec![("Host", http.address.as_str())];
    for (name, value) in headers {
        let value = match value {
            "Bearer $(cat $POC_MEMORY_HOME/token)" => full.as_str(),
            "Bearer $(cat $POC_MEMORY_HOME/token-read)" => read.as_str(),
            value => value,
        };
        sent.push((name, value));
    }
    let answered = match is_get {
        true => http.send(&format!("GET {path}?{query}{data}"), &sent, b""),
        false => http.send(&format!("POST {path}"), &sent, data.as_bytes()),
    };
    assert!((200..300).contains(&answered.status), "{line}: {answered:?}");
    answered.json()
}

/// The words of a shell command with quotes of both kinds, without escapes.
fn shell_words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let (mut quote, mut is_open) = (None, false);
    for c in line.chars() {
        match quote {
            Some(end) if c == end => quote = None,
            None if c == '\'' || c == '"' => (quote, is_open) = (Some(c), true),
            None if c.is_whitespace() => {
                if is_open {
                    words.push(std::mem::take(&mut word));
                }
                is_open = false;
            }
            _ => {
                word.push(c);
                is_open = true;
            }
        }
    }
    if is_open {
        words.push(word);
    }
    words
}

/// A world whose daemon serves REST with these additional settings.
fn world(settings: &str) -> (World, Http) {
    let mut world = World::new();
    world.write("config.toml", &format!("{ON}{settings}"));
    world.start_daemon();
    let http = Http::of(&world);
    (world, http)
}
