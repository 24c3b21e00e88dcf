//! REST of the real daemon, over TCP.

mod described;
mod limits;
mod origin_guard;
mod same;

use crate::support::World;
use crate::support::http::{Http, ON};
use serde_json::Value;
use std::process::Command;

#[test]
fn the_example_of_the_guide_works() {
    if Command::new("curl").arg("--version").output().is_err() {
        eprintln!("skipped: the example of docs/rest.md needs curl");
        return;
    }
    let (world, http) = world("");
    let guide = include_str!("../docs/rest.md");
    let block = guide.split("```sh\n").find(|block| block.starts_with("curl")).unwrap();
    let script = block.split("```").next().unwrap().replace("127.0.0.1:9977", &http.address);
    let output =
        Command::new("bash").args(["-ec", &script]).env("POC_MEMORY_HOME", world.home()).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<Value> =
        serde_json::Deserializer::from_str(&said).into_iter().map(Result::unwrap).collect();
    assert_eq!(answers.len(), 2, "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!((&answers[0]["key"], &answers[1]["results"][0]["key"]), (&"kettle".into(), &"kettle".into()));
}

/// A world whose daemon serves REST with these additional settings.
fn world(settings: &str) -> (World, Http) {
    let mut world = World::new();
    world.write("config.toml", &format!("{ON}{settings}"));
    world.start_daemon();
    let http = Http::of(&world);
    (world, http)
}
