//! Files that are compiled into the program: bundled agents, prompts and the notes of the demo.

mod files {
    include!(concat!(env!("OUT_DIR"), "/embedded.rs"));
}

/// Bundled agents: file name (`linker.toml`) and text.
pub fn agents() -> &'static [(&'static str, &'static str)] {
    files::AGENTS
}

/// The file in the `agents` folder with the file names of the bundled agents that `init` wrote, one per line.
/// A listed agent whose file is missing was removed by a person and stays removed.
pub const WRITTEN_AGENTS: &str = ".bundled";

/// Bundled prompt templates: file name (`linker.md`) and text.
pub fn prompts() -> &'static [(&'static str, &'static str)] {
    files::PROMPTS
}

/// Files that the tests of bundled agents refer to: file name (`tests/linker.jsonl`) and text.
pub fn test_files() -> &'static [(&'static str, &'static str)] {
    files::QUOTED
}

/// Notes of the demo: file name and Markdown with front matter.
pub fn demo_notes() -> &'static [(&'static str, &'static str)] {
    files::DEMO_NOTES
}
