//! Every console block of the documents does what the documents say.

use crate::support::{World, transcript};
use poc_memory::ops::{Method, OPS};
use std::path::Path;

#[test]
fn the_readme() {
    transcript::run(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md"), &World::new());
}

/// Rows of the README's table of paths: what is asked with, and the commands it stands for.
#[test]
fn the_paths_of_the_readme_are_those_of_the_commands() {
    let readme = include_str!("../README.md");
    let rows = readme.lines().filter(|line| {
        line.starts_with("| ") && line.contains("`GET /v1/")
            || line.starts_with("| ") && line.contains("`POST /v1/")
    });
    let quoted =
        |cell: &str| -> Vec<String> { cell.split('`').skip(1).step_by(2).map(str::to_owned).collect() };
    let mut checked = 0;
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split('|').collect();
        let (paths, commands) = (quoted(cells[1]), quoted(cells[2]));
        assert_eq!(paths.len(), commands.len(), "{row}");
        let mut method = "";
        for (path, command) in paths.iter().zip(&commands) {
            let path = match path.split_once(' ') {
                Some((said, path)) => {
                    method = if said == "GET" { "GET" } else { "POST" };
                    path
                }
                None => path,
            };
            let route = OPS.iter().find(|op| op.command == command).and_then(|op| op.route).unwrap();
            assert_eq!(route.path.replace("{node}", "KEY"), path, "{row}");
            assert_eq!(route.method == Method::Get, method == "GET", "{row}");
            checked += 1;
        }
    }
    assert!(checked > 10, "only {checked} paths were found");
}
