//! `backup`, which also lists and checks generations without opening a memory.

use super::command_context::CommandContext;
use super::local::LocalCommand;
use super::{call_value, progress};
use crate::ops::{self, BackupOutput, Op as _, Progress, Terminal, second, size, table};
use poc_graph::error::{Error, Exit, Result};
use poc_graph::json;
use poc_graph::time::Timestamp;
use poc_notes::backup::{self, BackupCallbacks, BackupGeneration};
use serde::Serialize;
use std::path::Path;

/// Back up this memory into a folder, as one more generation, or into one file
///
/// A generation has the log with all notes, history, visits and runs of all tenants up to one transaction,
/// the settings, agents, prompts, and the prompts and replies of past runs. Commands and the daemon may write
/// while it runs. Files that the folder already has are not copied again (they become hard links),
/// and everything is read back and compared. `restore` restores a generation or an earlier state.
///
/// A new path that ends in `.tar` is one file: a tar archive of one generation, written whole and replaced by the next
/// backup to it. Its disk needs free space of twice its size.
///
/// Left out: indexes and everything else that is rebuilt from the log, the tokens and sign-in sessions of REST and the
/// page, keys of providers (they are in the environment), logs, what `setup` wrote, positions in transcripts, and other
/// profiles.
#[derive(Debug, clap::Args)]
pub(super) struct Backup {
    #[command(flatten)]
    request: ops::Backup,
    /// List the generations of the folder or file. Only manifests are read: a `complete` generation has all files with
    /// their lengths, a `damaged` one lacks some or failed its last check, and an archive is `not checked`
    #[arg(long, conflicts_with_all = ["keep", "verify"])]
    list: bool,
    /// Check every file of every generation
    #[arg(long, conflicts_with = "keep")]
    verify: bool,
}

/// The answer of `backup`.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum BackupAnswer {
    /// A generation was written.
    Written(BackupOutput),
    /// The generations, newest first.
    Listed { generations: Vec<GenerationOutput> },
}

/// A generation.
#[derive(Debug, Serialize)]
pub(super) struct GenerationOutput {
    generation: String,
    /// Sequence number of the last transaction.
    seq: u64,
    /// When the backup began.
    at: Timestamp,
    /// Number of live notes of all tenants; absent if the manifest is damaged.
    #[serde(skip_serializing_if = "Option::is_none")]
    notes: Option<u64>,
    /// Total size of all files in bytes, including those that other generations share; absent if the manifest
    /// is damaged.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_bytes: Option<u64>,
    /// Whether every file was read and checked.
    verified: bool,
    #[serde(skip)]
    is_archive: bool,
    /// Damaged and missing files, one line each.
    problems: Vec<String>,
}

impl GenerationOutput {
    fn of(generation: &BackupGeneration) -> GenerationOutput {
        let manifest = generation.manifest.as_ref();
        let mut problems = generation.known_problems();
        problems.extend(manifest.err().cloned());
        GenerationOutput {
            generation: generation.name.clone(),
            seq: generation.seq,
            at: generation.at,
            notes: manifest.ok().map(|manifest| manifest.notes),
            total_bytes: manifest.ok().map(|manifest| manifest.bytes()),
            verified: false,
            is_archive: generation.path.is_file(),
            problems,
        }
    }

    fn state(&self) -> &'static str {
        match (self.problems.is_empty(), self.verified) {
            (false, _) => "damaged",
            (true, true) => "ok",
            (true, false) if self.is_archive => "not checked",
            (true, false) => "complete",
        }
    }
}

impl LocalCommand for Backup {
    const NAME: &'static str = "backup";
    type Output = BackupAnswer;

    fn run(self, context: &CommandContext) -> Result<BackupAnswer> {
        let path = &self.request.path;
        if self.list {
            let generations = backup::generations(path)?.iter().map(GenerationOutput::of).collect();
            return Ok(BackupAnswer::Listed { generations });
        }
        if self.verify {
            return verify(path, context);
        }
        let op = ops::find(Self::NAME).ok_or_else(|| Error::internal("there is no op `backup`"))?;
        let answer = call_value(context, op, json::encode(&self.request)?)?;
        let output: BackupOutput = json::decode_answer(Self::NAME, &answer)?;
        if let Some(notice) = ops::Backup::notice(&output) {
            tracing::warn!("{notice}");
        }
        Ok(BackupAnswer::Written(output))
    }

    fn show(answer: &BackupAnswer, terminal: &Terminal) -> String {
        match answer {
            BackupAnswer::Written(output) => ops::Backup::show(output, terminal),
            BackupAnswer::Listed { generations } if generations.is_empty() => "no backups\n".to_owned(),
            BackupAnswer::Listed { generations } => generation_table(generations, terminal),
        }
    }

    fn exit(answer: &BackupAnswer) -> Exit {
        match answer {
            BackupAnswer::Listed { generations }
                if generations.iter().any(|generation| !generation.problems.is_empty()) =>
            {
                Exit::Failed
            }
            _ => Exit::Ok,
        }
    }
}

/// Problems of a generation that are shown. An archive that is cut off lacks every file after the cut.
const SHOWN_PROBLEMS: usize = 10;

/// The generations as a table, then their problems. In a narrow terminal, the columns are left out that repeat parts of
/// the names of the generations.
fn generation_table(generations: &[GenerationOutput], terminal: &Terminal) -> String {
    let mut rows = vec![["GENERATION", "SEQ", "TIME", "NOTES", "SIZE", "STATE"].map(str::to_owned).to_vec()];
    for generation in generations {
        let unknown = || "-".to_owned();
        rows.push(vec![
            generation.generation.clone(),
            generation.seq.to_string(),
            second(generation.at),
            generation.notes.map_or_else(unknown, |notes| notes.to_string()),
            generation.total_bytes.map_or_else(unknown, size),
            generation.state().to_owned(),
        ]);
    }
    let mut text = table(&rows);
    if terminal.columns.is_some_and(|columns| text.lines().any(|line| line.chars().count() > columns)) {
        rows.iter_mut().for_each(|row| drop(row.drain(1..3)));
        text = table(&rows);
    }
    for generation in generations {
        let (name, problems) = (&generation.generation, &generation.problems);
        for problem in problems.iter().take(SHOWN_PROBLEMS) {
            text.push_str(&terminal.wrapped(&format!("{name}: {problem}"), 0));
        }
        let left_out = problems.len().saturating_sub(SHOWN_PROBLEMS);
        if left_out > 0 {
            text.push_str(&format!("{name}: … and {left_out} more: `--json` shows them all\n"));
        }
    }
    text
}

/// Reads every file of every generation.
fn verify(path: &Path, context: &CommandContext) -> Result<BackupAnswer> {
    let generations = backup::generations(path)?;
    if generations.is_empty() {
        return Err(backup::no_backups(path));
    }
    let bar = progress::Bar::new(&context.globals);
    let callbacks =
        BackupCallbacks { progress: &|done, total| show(&bar, done, total), check_cancelled: &|| Ok(()) };
    let checks = backup::verify(&generations, &callbacks)?;
    bar.clear();
    let checked = generations.iter().zip(checks);
    let generations = checked
        .map(|(generation, check)| GenerationOutput {
            verified: true,
            problems: check.problems,
            ..GenerationOutput::of(generation)
        })
        .collect();
    Ok(BackupAnswer::Listed { generations })
}

/// Shows the number of processed bytes.
pub(super) fn show(bar: &progress::Bar, done: u64, total: Option<u64>) {
    bar.show(&Progress { what: "MiB".into(), done: done >> 20, total: total.map(|total| total >> 20) });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn generation(problems: &[&str]) -> GenerationOutput {
        GenerationOutput {
            generation: "00000000000000000012-20261121T080000.000Z".into(),
            seq: 12,
            at: Timestamp::parse("2026-11-21T08:00:00Z").unwrap(),
            notes: Some(7),
            total_bytes: Some(2048),
            verified: false,
            is_archive: false,
            problems: problems.iter().map(|problem| (*problem).to_owned()).collect(),
        }
    }

    #[test]
    fn the_first_problems_of_a_generation_are_shown_and_the_others_counted() {
        let shown = |count: usize| {
            let generations = vec![generation(&vec!["`config.toml` is missing"; count])];
            Backup::show(&BackupAnswer::Listed { generations }, &Terminal::default())
        };
        assert_eq!(shown(SHOWN_PROBLEMS).matches("is missing").count(), SHOWN_PROBLEMS);
        assert!(!shown(SHOWN_PROBLEMS).contains("more"));
        let many = shown(SHOWN_PROBLEMS + 50);
        assert_eq!(many.matches("is missing").count(), SHOWN_PROBLEMS);
        assert!(many.ends_with("Z: … and 50 more: `--json` shows them all\n"), "{many}");
    }

    #[test]
    fn a_list_of_generations_fits_a_narrow_terminal() {
        let damage = "`log/00000000000000000001.log` has 100 bytes instead of 2048";
        let answer = BackupAnswer::Listed { generations: vec![generation(&[]), generation(&[damage])] };
        let narrow = Terminal { columns: Some(80), ..Terminal::default() };
        insta::assert_snapshot!(Backup::show(&answer, &narrow), @r"
        GENERATION                                 NOTES  SIZE     STATE
        00000000000000000012-20261121T080000.000Z  7      2.0 KiB  complete
        00000000000000000012-20261121T080000.000Z  7      2.0 KiB  damaged
        00000000000000000012-20261121T080000.000Z: `log/00000000000000000001.log` has
        100 bytes instead of 2048
        ");
        let wide = Backup::show(&answer, &Terminal::default());
        assert!(wide.starts_with("GENERATION                                 SEQ  TIME"), "{wide}");
        assert!(wide.ends_with(&format!("Z: {damage}\n")), "{wide}");
        assert_eq!(wide, Backup::show(&answer, &Terminal { columns: Some(120), ..Terminal::default() }));
    }
}
