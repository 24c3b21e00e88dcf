//! Fills a store, and puts its files into the page cache or out of it.

use poc_bench::{graph, memory};
use poc_graph::Delta;
use std::fs::File;
use std::path::{Path, PathBuf};

const SEED: u64 = 7;

/// Fills a store in transactions of 1,000 notes, as an import does.
pub(super) fn fill(folder: &Path, nodes: usize) {
    let memory = memory::open(folder);
    let shape = graph::shape(nodes, SEED);
    let ids = graph::ids(nodes, SEED);
    let cause = || memory.cause("manual", "import");
    for chunk in chunks(graph::fields(&shape, &ids, SEED), 1000) {
        let written = memory.store.transact(cause(), |tx| {
            for delta in chunk.iter().flatten() {
                match delta {
                    Delta::Node(node) => {
                        let vector = memory.embedder.embed_one(&node.body)?;
                        tx.put_node(node)?;
                        tx.put_vectors(node.id, memory.embedder.name(), &[vector])?;
                    }
                    Delta::Activity(id, activity) => tx.put_activity(*id, activity)?,
                    Delta::Visit(agent, id, visit) => tx.put_visit(agent, *id, visit)?,
                    _ => {}
                }
            }
            Ok(())
        });
        written.unwrap();
    }
    for chunk in chunks(graph::edges(&shape, &ids), 10_000) {
        let written =
            memory.store.transact(cause(), |tx| chunk.iter().try_for_each(|edge| tx.put_edge(edge)));
        written.unwrap();
    }
}

fn chunks<T>(mut items: impl Iterator<Item = T>, size: usize) -> impl Iterator<Item = Vec<T>> {
    std::iter::from_fn(move || {
        let chunk: Vec<T> = items.by_ref().take(size).collect();
        (!chunk.is_empty()).then_some(chunk)
    })
}

/// All files of a folder.
pub(super) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in folder.read_dir().unwrap() {
        let entry = entry.unwrap();
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => files.extend(self::files(&entry.path())),
            kind if kind.is_file() => files.push(entry.path()),
            _ => {}
        }
    }
    files
}

/// Whether the files are in the page cache when the store is opened.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Cache {
    /// Only on disk. Other systems have no call that puts a file out of the cache.
    #[cfg(target_os = "linux")]
    Cold,
    /// In the page cache.
    Warm,
}

/// The states that can be measured, by name.
pub(super) const CACHES: &[(&str, Cache)] = &[
    #[cfg(target_os = "linux")]
    ("cold", Cache::Cold),
    ("warm", Cache::Warm),
];

/// Puts the files into the page cache or out of it. It first syncs what the last opening wrote, so that the next one
/// does not wait for that.
pub(super) fn settle(folder: &Path, cache: Cache) {
    for path in files(folder) {
        let mut file = File::open(path).unwrap();
        file.sync_all().unwrap();
        match cache {
            #[cfg(target_os = "linux")]
            Cache::Cold => rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap(),
            Cache::Warm => drop(std::io::copy(&mut file, &mut std::io::sink()).unwrap()),
        }
    }
}
