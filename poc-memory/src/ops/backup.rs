//! `backup`

use super::text::{plural, second, size};
use super::{Access, Ctx, Op, Progress, TenantScope, Terminal, argument};
use poc_graph::error::{Code, Error, Result};
use poc_graph::time::Timestamp;
use poc_notes::backup::{self, BackupCallbacks};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Write a generation of this memory into a backup folder, or into one file: the log of all tenants, settings, agents,
/// prompts and the prompts and replies of past runs. Files that the folder already has are not copied again, and
/// everything is read back. Indexes, tokens, sign-in sessions, logs and other profiles are left out.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Backup {
    /// The backup folder: a new or empty one, or one with backups of this memory; or a file whose name ends in `.tar`,
    /// in which an earlier backup is replaced
    #[arg(value_name = "FOLDER|FILE", value_parser = argument::path)]
    #[serde(alias = "folder")]
    pub(crate) path: PathBuf,
    /// How many intact generations the folder keeps, 1 to 10,000; older ones are deleted. A file has one
    /// [default: `[backup] keep`]
    #[arg(long, value_name = "N")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) keep: Option<usize>,
}

/// The result of a backup.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct BackupOutput {
    /// Name of the generation: its last sequence number and its time.
    generation: String,
    /// Whether the newest generation has the same content already, so that nothing was written.
    unchanged: bool,
    /// Sequence number of the last transaction in the generation.
    seq: u64,
    /// When the backup began.
    at: Timestamp,
    /// Number of live notes of all tenants.
    notes: u64,
    /// Total size of all files of the generation in bytes.
    total_bytes: u64,
    /// Number of files that were copied into the backup.
    copied_files: u64,
    /// Total size of the copied files in bytes.
    copied_bytes: u64,
    /// Number of files that an earlier generation already had and that were linked, not copied.
    linked_files: u64,
    /// Total size of those files in bytes.
    linked_bytes: u64,
    /// Damaged or missing files of earlier generations, which were copied again.
    #[serde(default)]
    damaged: Vec<String>,
    /// Generations of the folder that are known to be damaged. They do not count towards `keep`.
    #[serde(default)]
    damaged_generations: Vec<String>,
    /// Old generations that were deleted because of `keep`.
    #[serde(default)]
    removed: Vec<String>,
    /// Generations with changes that this memory lacks, such as those of another copy of it. They are not deleted.
    #[serde(default)]
    diverged: Vec<String>,
    /// Paths that were left out because they are neither files nor folders.
    #[serde(default)]
    left_out: Vec<PathBuf>,
}

impl Op for Backup {
    const NAME: &'static str = "backup";
    const ACCESS: Access = Access::Person;
    const TENANT_SCOPE: TenantScope = TenantScope::All;
    const LONG_RUNNING: bool = true;
    const USES_SHUTDOWN_GRACE: bool = true;
    type Output = BackupOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<BackupOutput> {
        let memory = ctx.memory;
        let keep = argument::count("keep", self.keep, ("backup.keep", memory.config.backup.keep))?;
        let stop = ctx.host.calls();
        let callbacks = BackupCallbacks {
            progress: &|done, total| {
                let total = total.map(|total| total >> 20);
                (ctx.progress)(Progress { what: "MiB".into(), done: done >> 20, total });
            },
            check_cancelled: &|| match stop.is_cancelled() {
                true => {
                    Err(Error::new(Code::Unavailable, "the daemon is stopping: the backup was not completed"))
                }
                false => Ok(()),
            },
        };
        let (store, paths, now) = (&memory.store, &memory.paths, memory.now());
        let report = match backup::is_archive(&self.path)? {
            true if self.keep.is_some() => {
                return Err(Error::invalid("a backup in one file has only one generation")
                    .hint("leave `keep` out, or name a folder")
                    .field("keep"));
            }
            true => backup::create_archive(store, paths, &self.path, now, &callbacks)?,
            false => backup::create(store, paths, &self.path, keep, now, &callbacks)?,
        };
        let manifest = &report.manifest;
        Ok(BackupOutput {
            unchanged: report.unchanged,
            seq: manifest.seq,
            at: manifest.at,
            notes: manifest.notes,
            total_bytes: manifest.bytes(),
            copied_files: report.copied.files,
            copied_bytes: report.copied.bytes,
            linked_files: report.linked.files,
            linked_bytes: report.linked.bytes,
            damaged: report.damaged,
            damaged_generations: report.damaged_generations,
            removed: report.removed,
            diverged: report.diverged,
            left_out: report.left_out,
            generation: report.name,
        })
    }

    fn notice(output: &BackupOutput) -> Option<String> {
        let mut notices = Vec::new();
        if !output.damaged.is_empty() {
            notices.push(format!(
                "earlier backups had {}, copied again into this backup",
                plural(output.damaged.len() as u64, "damaged or missing file")
            ));
        }
        if let Some(first) = output.damaged_generations.first() {
            notices.push(format!(
                "{}, such as `{first}`, not counted as kept: `--verify` lists the damage",
                plural(output.damaged_generations.len() as u64, "damaged generation")
            ));
        }
        if let Some(first) = output.diverged.first() {
            notices.push(format!(
                "{} with changes that this memory lacks, such as `{first}`: back up each copy of a memory into a folder \
                 of its own",
                plural(output.diverged.len() as u64, "generation")
            ));
        }
        (!notices.is_empty()).then(|| notices.join("; "))
    }

    fn show(output: &BackupOutput, _: &Terminal) -> String {
        let state = format!(
            "change {}, {} in use, backed up {}",
            output.seq,
            plural(output.notes, "note"),
            second(output.at)
        );
        let mut text = match output.unchanged {
            true => format!("nothing has changed since {}: {state}\n", output.generation),
            false => format!(
                "{}: {state}\ncopied {} ({}), linked {} ({}), everything read back\n",
                output.generation,
                plural(output.copied_files, "file"),
                size(output.copied_bytes),
                plural(output.linked_files, "file"),
                size(output.linked_bytes)
            ),
        };
        for name in &output.removed {
            text.push_str(&format!("deleted {name}\n"));
        }
        for path in &output.left_out {
            text.push_str(&format!("left out {}\n", path.display()));
        }
        text
    }
}
