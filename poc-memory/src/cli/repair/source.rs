//! The sources of a repair, as `--from` names them.

use clap::ValueEnum;
use poc_store::RepairSource;
use serde::Serialize;

/// The source of a repair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(in crate::cli) enum RepairFrom {
    /// The records, and every readable change of the log
    Records,
    /// Every readable change of the log, also after the damage
    SoundLog,
    /// The log up to the damage
    Log,
}

impl RepairFrom {
    /// The name for the source of a repair of the store.
    pub(super) fn of(source: RepairSource) -> RepairFrom {
        match source {
            RepairSource::Records => RepairFrom::Records,
            RepairSource::IntactLog => RepairFrom::SoundLog,
            RepairSource::Log => RepairFrom::Log,
        }
    }

    /// The source of a repair of the store.
    pub(super) fn source(self) -> RepairSource {
        match self {
            RepairFrom::Records => RepairSource::Records,
            RepairFrom::SoundLog => RepairSource::IntactLog,
            RepairFrom::Log => RepairSource::Log,
        }
    }

    /// The value of `--from`.
    pub(super) fn name(self) -> &'static str {
        match self {
            RepairFrom::Records => "records",
            RepairFrom::SoundLog => "sound-log",
            RepairFrom::Log => "log",
        }
    }

    /// A description for a person.
    pub(super) fn description(self) -> &'static str {
        match self {
            RepairFrom::Records => "the records, and every readable change of the log",
            RepairFrom::SoundLog => "every readable change of the log, also after the damage",
            RepairFrom::Log => "the log up to the damage",
        }
    }
}
