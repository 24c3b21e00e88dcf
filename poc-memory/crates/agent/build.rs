//! Embeds the bundled agents, the files that their tests quote, their prompts and the demo notes into the library. The
//! build fails when an agent has no prompt.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let mut source = String::new();
    for (table, folder, extensions, within) in [
        ("AGENTS", "agents", &["toml"][..], ""),
        ("QUOTED", "agents/tests", &["json", "jsonl"], "tests/"),
        ("PROMPTS", "prompts", &["md"], ""),
        ("DEMO_NOTES", "defaults/demo", &["md"], ""),
    ] {
        let folder = root.join(folder);
        println!("cargo::rerun-if-changed={}", folder.display());
        writeln!(source, "pub(super) const {table}: &[BundledFile] = &[")?;
        for file in files(&folder, extensions)? {
            let name = format!("{within}{}", file.file_name().unwrap_or_default().to_string_lossy());
            let path = file.display().to_string();
            writeln!(source, "    BundledFile {{ name: {name:?}, text: include_str!({path:?}) }},")?;
            if table == "AGENTS" {
                let prompt = template(&fs::read_to_string(&file)?);
                if !prompt.as_ref().is_some_and(|name| root.join("prompts").join(name).is_file()) {
                    return Err(format!("agents/{name} has no prompt of its own in prompts/").into());
                }
            }
        }
        writeln!(source, "];")?;
    }
    fs::write(Path::new(&env::var("OUT_DIR")?).join("embedded.rs"), source)?;
    Ok(())
}

/// The files of a folder with one of some extensions, by name.
fn files(folder: &Path, extensions: &[&str]) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|found| extensions.iter().any(|known| found == *known)) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// The value of the line `template = "…"`.
fn template(agent: &str) -> Option<String> {
    let line = agent.lines().find_map(|line| line.trim().strip_prefix("template"))?;
    Some(line.trim_start().strip_prefix('=')?.trim().trim_matches('"').to_owned())
}
