//! The console blocks of the documents print what the documents show.

use crate::support::{World, transcript};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The guides in `docs/`; each has a test below.
const GUIDES: [&str; 16] = [
    "agents.md",
    "assistants.md",
    "configuration.md",
    "daemon.md",
    "importing.md",
    "measuring.md",
    "models.md",
    "notes-and-vaults.md",
    "operations.md",
    "page.md",
    "profiles-and-sync.md",
    "rest.md",
    "scale.md",
    "search.md",
    "shared-log.md",
    "vaults.md",
];

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Runs the console blocks of a document in a world of its own.
fn run(document: &str) {
    let world = World::new();
    // `doctor` warns of a home that others may read.
    std::fs::set_permissions(world.home(), std::fs::Permissions::from_mode(0o700)).unwrap();
    transcript::run(&top().join(document), &world);
}

#[test]
fn the_readme_prints_what_it_shows() {
    run("README.md");
}

#[test]
fn the_guide_to_vaults_prints_what_it_shows() {
    run("docs/vaults.md");
}

#[test]
fn the_guide_to_agents_prints_what_it_shows() {
    run("docs/agents.md");
}

#[test]
fn the_guide_to_assistants_prints_what_it_shows() {
    run("docs/assistants.md");
}

#[test]
fn the_guide_to_configuration_prints_what_it_shows() {
    run("docs/configuration.md");
}

#[test]
fn the_guide_to_the_daemon_prints_what_it_shows() {
    run("docs/daemon.md");
}

#[test]
fn the_guide_to_the_daemon_names_the_sections_that_need_no_restart() {
    let guide = std::fs::read_to_string(top().join("docs/daemon.md")).unwrap();
    let paragraph = guide.lines().find(|line| line.starts_with("Settings that are read at each request"));
    let (list, _) = paragraph.unwrap().split_once("; of `[mcp]`").unwrap();
    let mut named: Vec<&str> = list.split("`[").skip(1).filter_map(|rest| rest.split(']').next()).collect();
    named.sort_unstable();
    let mut reloaded = poc_config::RELOADED_SECTIONS;
    reloaded.sort_unstable();
    assert_eq!(named, reloaded);
}

#[test]
fn the_guide_to_importing_prints_what_it_shows() {
    run("docs/importing.md");
}

#[test]
fn the_guide_to_measuring_prints_what_it_shows() {
    run("docs/measuring.md");
}

#[test]
fn the_guide_to_models_prints_what_it_shows() {
    run("docs/models.md");
}

#[test]
fn the_guide_to_notes_and_vaults_prints_what_it_shows() {
    run("docs/notes-and-vaults.md");
}

#[test]
fn the_guide_to_operations_prints_what_it_shows() {
    run("docs/operations.md");
}

#[test]
fn the_guide_to_the_page_prints_what_it_shows() {
    run("docs/page.md");
}

#[test]
fn the_guide_to_profiles_and_sync_prints_what_it_shows() {
    run("docs/profiles-and-sync.md");
}

#[test]
fn the_guide_to_rest_prints_what_it_shows() {
    run("docs/rest.md");
}

#[test]
fn the_page_about_scale_prints_what_it_shows() {
    run("docs/scale.md");
}

#[test]
fn the_guide_to_search_prints_what_it_shows() {
    run("docs/search.md");
}

#[test]
fn the_guide_to_shared_logs_prints_what_it_shows() {
    run("docs/shared-log.md");
}

#[test]
fn every_guide_has_a_test_and_a_bounded_length() {
    let mut guides: Vec<String> = std::fs::read_dir(top().join("docs"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".md"))
        .collect();
    guides.sort();
    assert_eq!(guides, GUIDES);
    let guides = guides.iter().map(|guide| (format!("docs/{guide}"), 200));
    let others = [("README.md", 150), ("ARCHITECTURE.md", 250), ("CONTRIBUTING.md", 120)];
    let others = others.map(|(document, limit)| (document.to_owned(), limit));
    for (document, limit) in guides.chain(others).chain(decisions().map(|decision| (decision, 60))) {
        let lines = std::fs::read_to_string(top().join(&document)).unwrap().lines().count();
        assert!(lines <= limit, "{document} has {lines} lines, more than {limit}");
    }
}

/// The recorded decisions.
fn decisions() -> impl Iterator<Item = String> {
    let entries = std::fs::read_dir(top().join("docs/adr")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    names.filter(|name| name != "README.md").map(|name| format!("docs/adr/{name}"))
}

#[test]
fn a_decision_has_its_context_and_its_consequences() {
    for decision in decisions() {
        let text = std::fs::read_to_string(top().join(&decision)).unwrap();
        let headings: Vec<&str> = text.lines().filter(|line| line.starts_with('#')).collect();
        let number = decision.trim_start_matches("docs/adr/").get(..3).unwrap();
        assert!(
            headings.first().is_some_and(|title| title.starts_with(&format!("# {number}: "))),
            "{decision}"
        );
        let required = ["## Context", "## Decision", "## Consequences"];
        assert!(headings[1..].starts_with(&required), "{decision}");
        assert!(headings[4..].iter().all(|heading| *heading == "## Alternatives"), "{decision}");
    }
}

/// Links between the documents lead to existing files and headings.
#[test]
fn links_in_the_documents_have_targets() {
    let guides = GUIDES.iter().map(|guide| format!("docs/{guide}"));
    let others = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "RELIABILITY.md", "CHANGELOG.md"];
    for document in guides.chain(others.map(str::to_owned)).chain(decisions()) {
        let path = top().join(&document);
        let text = std::fs::read_to_string(&path).unwrap();
        // Every second part is a block of code, or code in a line.
        let prose: String = text.split("\n```").step_by(2).collect();
        let prose: String = prose.split('`').step_by(2).collect();
        for link in prose.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if link.contains("://") {
                continue;
            }
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { path.clone() } else { path.parent().unwrap().join(file) };
            assert!(target.exists(), "{document} links to {link}, which does not exist");
            let has_heading = |text: String| text.lines().any(|line| anchor(line) == Some(heading.into()));
            let found = heading.is_empty() || std::fs::read_to_string(&target).is_ok_and(has_heading);
            assert!(found, "{document} links to {link}, which has no such heading");
        }
    }
}

/// The anchor that a Markdown heading gets.
fn anchor(line: &str) -> Option<String> {
    let heading = line.starts_with('#').then(|| line.trim_start_matches('#').trim().to_lowercase())?;
    let kept = heading.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
    Some(kept.collect::<String>().replace(' ', "-"))
}
