//! The manifest of a generation: what it contains, with a checksum for every file.
//!
//! `manifest.json` is JSON. `manifest.b3` has the BLAKE3 of `manifest.json` in the format of `b3sum`, so that damage of
//! the manifest itself is noticed.

use super::files::{self, BackupFile};
use poc_graph::error::{Error, Result};
use poc_graph::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::path::{Component, Path};

/// The format of generations with the whole log.
const WHOLE: u32 = 1;
/// The format of generations whose log was compacted. It is the newest format that this release reads.
const COMPACTED: u32 = 2;

pub(super) const FILE: &str = "manifest.json";
pub(super) const CHECKSUM: &str = "manifest.b3";

/// The manifest: the contents of a generation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupManifest {
    /// Version of this format.
    pub format: u32,
    /// Identifies the log by its first transaction: 32 hexadecimal digits.
    pub store: String,
    /// Sequence number of the last transaction.
    pub seq: u64,
    /// When the backup began. All earlier transactions are in it.
    pub at: Timestamp,
    /// Number of the generation in its folder, from 1; 0 if an earlier release wrote it. It orders
    /// generations, because clocks may be wrong.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub number: u64,
    /// Number of live notes of all tenants at about that time.
    pub notes: u64,
    /// The segments of the log, in order.
    pub log: Vec<BackupSegment>,
    /// Sequence number of the last transaction that a compaction deleted from the log; earlier states are not
    /// in this generation. 0 if the log is complete.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub base: u64,
    /// All other files, sorted by path.
    pub files: Vec<BackupFile>,
}

/// A segment of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupSegment {
    /// The file.
    pub file: BackupFile,
    /// First sequence number.
    pub first: u64,
    /// Last sequence number.
    pub last: u64,
    /// Checksum of the last record, as in the log.
    pub checksum: u32,
}

/// The only field with the same meaning in all formats.
#[derive(Deserialize)]
struct AnyFormat {
    format: u32,
}

impl BackupManifest {
    /// A manifest without files.
    pub(super) fn new(store: String, seq: u64, base: u64, at: Timestamp, notes: u64) -> BackupManifest {
        let format = if base == 0 { WHOLE } else { COMPACTED };
        BackupManifest { format, store, seq, at, number: 0, notes, base, log: Vec::new(), files: Vec::new() }
    }

    /// Whether it contains the state after a transaction.
    pub(super) fn has(&self, seq: u64) -> bool {
        (self.base.max(1)..=self.seq).contains(&seq)
    }

    /// All files.
    pub fn all_files(&self) -> impl Iterator<Item = &BackupFile> {
        self.log.iter().map(|segment| &segment.file).chain(&self.files)
    }

    /// Total length of all files in bytes.
    pub fn bytes(&self) -> u64 {
        self.all_files().fold(0, |sum, file| sum.saturating_add(file.bytes))
    }

    /// Names the first transaction that is in no segment; `None` if the segments form a log without gaps.
    pub(super) fn gap(&self) -> Option<String> {
        // A compacted log begins with transactions that contain the state after its base.
        let first = self.log.first().map_or(1, |segment| segment.first);
        let mut next = if self.base > 0 && first <= self.base { first } else { 1 };
        for segment in &self.log {
            if segment.first != next {
                break;
            }
            next = segment.last.saturating_add(1);
        }
        (next != self.seq.saturating_add(1)).then(|| format!("the log lacks change {next}"))
    }

    /// Whether another generation has the same content.
    pub(super) fn same_content(&self, other: &BackupManifest) -> bool {
        (&self.store, self.seq, &self.log, &self.files) == (&other.store, other.seq, &other.log, &other.files)
    }

    /// Writes the manifest into a generation, durably.
    pub(super) fn write(&self, folder: &Path) -> Result<()> {
        let mut text = serde_json::to_vec_pretty(self)
            .map_err(|error| Error::internal(format!("the manifest cannot be encoded: {error}")))?;
        text.push(b'\n');
        files::write(&folder.join(FILE), &text)?;
        let checksum = format!("{}  {FILE}\n", blake3::hash(&text).to_hex());
        files::write(&folder.join(CHECKSUM), checksum.as_bytes())
    }

    /// The manifest of a generation, or what is wrong with it.
    pub(super) fn read(folder: &Path) -> Result<BackupManifest, String> {
        let read = |name: &str| {
            std::fs::read(folder.join(name)).map_err(|error| format!("`{name}` cannot be read: {error}"))
        };
        BackupManifest::parse(&read(FILE)?, &read(CHECKSUM)?)
    }

    /// The manifest in the content of its two files, or what is wrong with it.
    pub(super) fn parse(text: &[u8], checksum: &[u8]) -> Result<BackupManifest, String> {
        if checksum != format!("{}  {FILE}\n", blake3::hash(text).to_hex()).as_bytes() {
            return Err(format!("`{FILE}` or `{CHECKSUM}` is damaged"));
        }
        let wrong = |error: serde_json::Error| format!("`{FILE}` cannot be read: {error}");
        let AnyFormat { format } = serde_json::from_slice(text).map_err(wrong)?;
        if format > COMPACTED {
            return Err(format!(
                "it has format {format}, this release reads formats up to {COMPACTED}: use a newer release"
            ));
        }
        let manifest: BackupManifest = serde_json::from_slice(text).map_err(wrong)?;
        if let Some(file) = manifest.all_files().find(|file| !file.is_inside()) {
            return Err(format!("`{FILE}` lists `{}`, which is outside the backup", file.path));
        }
        Ok(manifest)
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl BackupFile {
    /// Whether the path stays within the folder of the generation.
    fn is_inside(&self) -> bool {
        Path::new(&self.path).components().all(|part| matches!(part, Component::Normal(_)))
    }
}
