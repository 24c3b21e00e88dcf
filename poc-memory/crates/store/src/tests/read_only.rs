//! Stores that are read-only because they are damaged or because their log was changed. The functions here make a store
//! and damage it at random.

mod changed_log;
mod open_damaged;
mod quarantine;
mod repair;

use super::*;
use proptest::prelude::*;

/// Notes, one for each transaction.
const COUNT: u64 = 40;
const SEGMENT: u64 = 2000;

/// A closed store. Its records and its view contain the first `checkpoint` transactions.
struct ClosedStore {
    folder: TempDir,
    checkpoint: u64,
    /// Segment, first byte and last byte of each record of the log.
    locations: Vec<(PathBuf, u64, u64)>,
}

fn closed_store(checkpoint: u64) -> ClosedStore {
    let folder = poc_graph::testing::folder();
    let limits = LogLimits { segment: SEGMENT, ..LogLimits::default() };
    let options = StoreOptions { limits, buffer: 4000, engine: with_small_tables, ..StoreOptions::default() };
    let store = open_in(&folder, options).unwrap();
    let mut locations = Vec::new();
    for number in 1..=COUNT {
        put(&store, number);
        let newest = segment_files(&folder).pop().unwrap();
        let begin = locations.last().filter(|(path, _, _)| *path == newest).map_or(24, |(_, _, end)| *end);
        let end = fs::metadata(&newest).unwrap().len();
        locations.push((newest, begin, end));
        if number == checkpoint {
            store.checkpoint().unwrap();
        }
    }
    drop(store);
    ClosedStore { folder, checkpoint, locations }
}

/// One thing that happens to a store.
#[derive(Clone, Debug)]
enum StoreDamage {
    /// A byte of a segment changes.
    Flip(prop::sample::Index, prop::sample::Index),
    /// A segment loses its end.
    Truncate(prop::sample::Index, prop::sample::Index),
    DeleteSegment(prop::sample::Index),
    DeleteLog,
    FlipView(prop::sample::Index),
    DeleteView,
    FlipRecords(prop::sample::Index, prop::sample::Index),
    DeleteRecords,
    DeleteHead,
}

fn damage() -> impl Strategy<Value = StoreDamage> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        5 => (index(), index()).prop_map(|(segment, at)| StoreDamage::Flip(segment, at)),
        3 => (index(), index()).prop_map(|(segment, at)| StoreDamage::Truncate(segment, at)),
        2 => index().prop_map(StoreDamage::DeleteSegment),
        1 => Just(StoreDamage::DeleteLog),
        1 => index().prop_map(StoreDamage::FlipView),
        1 => Just(StoreDamage::DeleteView),
        1 => (index(), index()).prop_map(|(file, at)| StoreDamage::FlipRecords(file, at)),
        1 => Just(StoreDamage::DeleteRecords),
        1 => Just(StoreDamage::DeleteHead),
    ]
}

/// What is left untouched.
struct IntactParts {
    records: bool,
    view: bool,
    /// The number of the last acknowledged transaction.
    head: bool,
}

impl IntactParts {
    fn of(made: &ClosedStore) -> IntactParts {
        IntactParts { records: made.checkpoint > 0, view: made.checkpoint > 0, head: true }
    }
}

fn apply(damage: &StoreDamage, made: &ClosedStore, intact: &mut IntactParts) {
    let folder = made.folder.path();
    let flip = |path: &Path, at: &prop::sample::Index, used: fn(&[u8]) -> usize| {
        let Ok(mut bytes) = fs::read(path) else { return };
        if !bytes.is_empty() {
            let at = at.index(used(&bytes).max(1));
            bytes[at] ^= 0x10;
            fs::write(path, bytes).unwrap();
        }
    };
    let segments = || if folder.join("log").exists() { segment_files(&made.folder) } else { Vec::new() };
    match damage {
        StoreDamage::Flip(segment, at) => {
            if let Some(path) = segments().get(segment.index(COUNT as usize) % segments().len().max(1)) {
                flip(path, at, <[u8]>::len);
            }
        }
        StoreDamage::Truncate(segment, at) => {
            if let Some(path) = segments().get(segment.index(COUNT as usize) % segments().len().max(1)) {
                let bytes = fs::read(path).unwrap();
                fs::write(path, &bytes[..at.index(bytes.len() + 1)]).unwrap();
            }
        }
        StoreDamage::DeleteSegment(segment) => {
            if let Some(path) = segments().get(segment.index(COUNT as usize) % segments().len().max(1)) {
                fs::remove_file(path).unwrap();
            }
        }
        StoreDamage::DeleteLog => drop(fs::remove_dir_all(folder.join("log"))),
        StoreDamage::FlipView(at) => {
            flip(&folder.join("view"), at, <[u8]>::len);
            intact.view = false;
        }
        StoreDamage::DeleteView => {
            fs::remove_file(folder.join("view")).ok();
            intact.view = false;
        }
        StoreDamage::FlipRecords(file, at) => {
            let records = folder.join("records");
            let all: Vec<PathBuf> = if records.exists() { files(&records) } else { Vec::new() };
            if let Some(path) = all.get(file.index(all.len().max(1))) {
                // Most of sled's file is zeros.
                flip(path, at, |bytes| bytes.iter().rposition(|&byte| byte != 0).unwrap_or(0));
            }
            intact.records = false;
        }
        StoreDamage::DeleteRecords => {
            fs::remove_dir_all(folder.join("records")).ok();
            intact.records = false;
        }
        StoreDamage::DeleteHead => {
            fs::remove_file(folder.join(log_head::NAME)).ok();
            intact.head = false;
        }
    }
}

/// A copy of a store's files.
fn copied(folder: &Path) -> TempDir {
    let copy = poc_graph::testing::folder();
    for (path, bytes) in bytes_of_files(folder) {
        let target = copy.path().join(path.strip_prefix(folder).unwrap());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::write(target, bytes).unwrap();
    }
    copy
}

fn repaired(folder: &TempDir, source: RepairSource) -> String {
    Repair::of(folder.path(), false).unwrap().unwrap().run(source, Timestamp(9), &["index"]).unwrap().replaced
}
