//! Files that are compiled into the program: bundled agents, prompts and the notes of the demo.

mod files {
    use super::BundledFile;

    include!(concat!(env!("OUT_DIR"), "/embedded.rs"));
}

/// A file that is compiled into the program.
#[derive(Clone, Copy, Debug)]
pub struct BundledFile {
    /// Its path in the folder of its kind.
    pub name: &'static str,
    /// Its content.
    pub text: &'static str,
}

/// Bundled agents, such as `linker.toml`.
pub fn agents() -> &'static [BundledFile] {
    files::AGENTS
}

/// The file in the `agents` folder with the file names of the bundled agents that `init` wrote, one per line.
/// A listed agent whose file is missing was removed by a person and stays removed.
pub const WRITTEN_AGENTS: &str = ".bundled";

/// Bundled prompt templates, such as `linker.md`.
pub fn prompts() -> &'static [BundledFile] {
    files::PROMPTS
}

/// Files that the tests of bundled agents refer to, such as `tests/linker.jsonl`.
pub fn test_files() -> &'static [BundledFile] {
    files::QUOTED
}

/// Notes of the demo, in Markdown with front matter.
pub fn demo_notes() -> &'static [BundledFile] {
    files::DEMO_NOTES
}
