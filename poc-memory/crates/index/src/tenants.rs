//! The indexes of all tenants, which follow the log together.
//!
//! Each tenant has its own index with its own files. The files of the default tenant are in the directory
//! itself, those of the others in subdirectories of `tenants`. A manifest records the transaction up to
//! which all of them are saved, and for each index the transaction of its last change. An index that has
//! not changed is not written again. An index that does not match the manifest starts empty, and only that
//! index is rebuilt.

use parking_lot::{Mutex, RwLock};
use poc_graph::error::{Error, Result};
use poc_graph::{Delta, Tenant};
use poc_store::Follower;
use poc_store::atomic_file::{self, Fingerprint};
use rustc_hash::{FxHashMap, FxHashSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

/// The number of unused indexes from which on those without readers are dropped.
const UNUSED_LIMIT: usize = 64;

/// The index of one tenant.
pub trait Index: Send + Sync {
    /// The name of the index in messages.
    const NAME: &'static str;
    /// An empty index with the same settings and its files in another directory. Its readers wait for
    /// [`Index::release`].
    fn empty_in(&self, directory: &Path) -> Self;
    /// Loads the saved files. Returns whether there were valid ones.
    fn load(&self) -> bool;
    /// Admits readers from now on.
    fn release(&self);
    /// The last applied transaction of the tenant; 0 while the index is being rebuilt.
    fn applied(&self) -> u64;
    /// Discards the content and the saved files.
    fn reset(&self) -> Result<()>;
    /// Applies a transaction. `seq` is 0 during a rebuild.
    fn apply(&self, seq: u64, deltas: &[Delta]) -> Result<()>;
    /// Saves the index if it has changed since it was last saved.
    fn checkpoint(&self) -> Result<()>;
}

/// The indexes of one kind, one per tenant.
pub struct PerTenant<I> {
    directory: PathBuf,
    main: Arc<I>,
    others: RwLock<Others<I>>,
    // The last transaction that is applied to all of them.
    applied: AtomicU64,
    // The tenants whose saved index was loaded.
    loaded: RwLock<FxHashSet<Tenant>>,
    saved: Mutex<Option<(u64, Manifest)>>,
}

/// For each tenant, the last transaction in its index.
type Manifest = Vec<(Tenant, u64)>;

/// The indexes of all tenants except the default one.
struct Others<I> {
    /// The indexes that have, or had, content.
    filled: FxHashMap<Tenant, Arc<I>>,
    /// Empty indexes that are still in use. Their readers see what is written later.
    unused: FxHashMap<Tenant, Weak<I>>,
    released: bool,
}

impl<I: Index> PerTenant<I> {
    /// Creates the set of indexes. `main` is the index of the default tenant, with its files in `directory`.
    pub fn new(main: I, directory: &Path) -> PerTenant<I> {
        PerTenant {
            directory: directory.to_owned(),
            main: Arc::new(main),
            others: RwLock::new(Others {
                filled: FxHashMap::default(),
                unused: FxHashMap::default(),
                released: false,
            }),
            applied: AtomicU64::new(0),
            loaded: RwLock::default(),
            saved: Mutex::default(),
        }
    }

    /// The index of a tenant. A tenant without any notes gets an empty index, which fills when it writes.
    pub fn of(&self, tenant: Tenant) -> Arc<I> {
        if tenant.is_default() {
            return self.main.clone();
        }
        if let Some(index) = self.others.read().find(tenant) {
            return index;
        }
        let mut others = self.others.write();
        match others.find(tenant) {
            Some(index) => index,
            None => {
                let index = self.create(&others, tenant);
                others.add_unused(tenant, &index);
                index
            }
        }
    }

    /// All indexes that have content, including that of the default tenant.
    pub fn all(&self) -> Vec<Arc<I>> {
        let others = self.others.read();
        std::iter::once(&self.main).chain(others.filled.values()).cloned().collect()
    }

    /// The index of a tenant for writing.
    fn get_or_create(&self, tenant: Tenant) -> Arc<I> {
        if tenant.is_default() {
            return self.main.clone();
        }
        if let Some(index) = self.others.read().filled.get(&tenant) {
            return index.clone();
        }
        let mut others = self.others.write();
        let index = others.find(tenant).unwrap_or_else(|| self.create(&others, tenant));
        others.unused.remove(&tenant);
        others.filled.insert(tenant, index.clone());
        index
    }

    fn create(&self, others: &Others<I>, tenant: Tenant) -> Arc<I> {
        let index = self.main.empty_in(&self.folders().join(tenant.to_string()));
        if others.released {
            index.release();
        }
        Arc::new(index)
    }

    fn folders(&self) -> PathBuf {
        self.directory.join("tenants")
    }

    fn manifest(&self) -> PathBuf {
        self.folders().join("manifest")
    }

    fn read_manifest(&self) -> Option<(u64, Manifest)> {
        let (seq, bytes) = atomic_file::read(&self.manifest(), fingerprint())?;
        Some((seq, postcard::from_bytes(&bytes).ok()?))
    }

    fn write_manifest(&self, seq: u64, manifest: &Manifest) -> Result<()> {
        let bytes = postcard::to_allocvec(manifest)
            .map_err(|error| Error::internal(format!("the list of tenants cannot be encoded: {error}")))?;
        atomic_file::write(&self.manifest(), fingerprint(), seq, &[&bytes])
    }
}

impl<I> Others<I> {
    fn find(&self, tenant: Tenant) -> Option<Arc<I>> {
        self.filled.get(&tenant).cloned().or_else(|| self.unused.get(&tenant)?.upgrade())
    }

    /// Remembers an empty index for as long as it is in use.
    fn add_unused(&mut self, tenant: Tenant, index: &Arc<I>) {
        // Amortized: either the map shrinks, or its capacity doubles.
        if self.unused.len() >= UNUSED_LIMIT && self.unused.len() == self.unused.capacity() {
            self.unused.retain(|_, index| index.strong_count() > 0);
        }
        self.unused.insert(tenant, Arc::downgrade(index));
    }
}

fn fingerprint() -> Fingerprint {
    Fingerprint::of("indexes of tenants 1")
}

impl<I: Index> Follower for PerTenant<I> {
    fn name(&self) -> &'static str {
        I::NAME
    }

    fn load(&self, last: u64) -> Result<()> {
        let saved = self.read_manifest();
        let (mut seq, manifest) = saved.clone().unwrap_or((0, vec![(Tenant::default(), 1)]));
        if seq > last {
            return self.reset();
        }
        for (tenant, at) in manifest {
            let index = self.get_or_create(tenant);
            if !index.load() {
                continue;
            }
            // After an interrupted checkpoint an index may be ahead of the manifest. That is harmless, because
            // applying a transaction twice has no effect.
            if (at..=last).contains(&index.applied()) {
                self.loaded.write().insert(tenant);
            } else {
                index.reset()?;
            }
        }
        if saved.is_none() && !self.lacks(Tenant::default()) {
            // A store from before there were tenants has no manifest: the file of the default tenant records
            // its own position. The other tenants are rebuilt.
            seq = self.main.applied();
        }
        self.applied.store(seq, Ordering::Release);
        *self.saved.lock() = saved;
        Ok(())
    }

    fn lacks(&self, tenant: Tenant) -> bool {
        !self.loaded.read().contains(&tenant)
    }

    fn release(&self) {
        let mut others = self.others.write();
        others.released = true;
        self.main.release();
        others.filled.values().for_each(|index| index.release());
        others.unused.values().filter_map(Weak::upgrade).for_each(|index| index.release());
    }

    fn applied(&self) -> u64 {
        self.applied.load(Ordering::Acquire)
    }

    fn reset(&self) -> Result<()> {
        atomic_file::remove(&self.manifest())?;
        *self.saved.lock() = None;
        self.loaded.write().clear();
        self.applied.store(0, Ordering::Release);
        for index in self.all() {
            index.reset()?;
        }
        match fs::remove_dir_all(self.folders()) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::internal(format!(
                "the folder `{}` cannot be removed: {error}",
                self.folders().display()
            ))),
            _ => Ok(()),
        }
    }

    fn apply(&self, seq: u64, tenant: Tenant, deltas: &[Delta]) -> Result<()> {
        if !deltas.is_empty() {
            self.get_or_create(tenant).apply(seq, deltas)?;
        }
        self.applied.fetch_max(seq, Ordering::AcqRel);
        Ok(())
    }

    fn checkpoint(&self) -> Result<()> {
        // The position is read before the indexes are saved. A later transaction is then either included in
        // the saved index or applied again after the next open.
        let seq = self.applied();
        let filled: Vec<(Tenant, Arc<I>)> =
            self.others.read().filled.iter().map(|(tenant, index)| (*tenant, index.clone())).collect();
        let mut manifest = Manifest::new();
        for (tenant, index) in std::iter::once((Tenant::default(), self.main.clone())).chain(filled) {
            let at = index.applied();
            index.checkpoint()?;
            manifest.push((tenant, at));
        }
        manifest.sort_unstable();
        let mut saved = self.saved.lock();
        if saved.as_ref().is_some_and(|(at, known)| *at == seq && *known == manifest) {
            return Ok(());
        }
        self.write_manifest(seq, &manifest)?;
        *saved = Some((seq, manifest));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TextField;
    use crate::TextIndex;
    use poc_config::Config;
    use poc_graph::testing::node;
    use poc_graph::time::Timestamp;
    use poc_graph::{Node, Tuple};
    use poc_store::{Cause, Store};
    use tempfile::TempDir;

    type Texts = PerTenant<TextIndex>;

    fn user(name: &str) -> Tuple {
        Tuple::new((!name.is_empty()).then_some(("user", name))).unwrap()
    }

    fn open(folder: &TempDir) -> (Store, Arc<Texts>) {
        let directory = folder.path().join("text");
        let main = TextIndex::closed(&directory, &Config::defaults().unwrap().text).unwrap();
        let texts = Arc::new(PerTenant::new(main, &directory));
        let store = Store::open(&folder.path().join("store"), "test", vec![texts.clone()]).unwrap();
        store.settle();
        (store, texts)
    }

    fn put(store: &Store, name: &str, number: u64) {
        let own = store.for_tenant(&user(name));
        let cause = Cause { at: Timestamp(7), actor: "manual".into(), run: None, op: "test".into() };
        own.transact(cause, |tx| tx.put_node(&Node { tenant: own.tenant(), ..node(number) })).unwrap();
    }

    /// The number of nodes that each of three tenants finds.
    fn found(texts: &Texts) -> [usize; 3] {
        ["", "ann", "bob"]
            .map(|name| texts.of(user(name).id()).search("title", TextField::Title, 99, &|_| true).len())
    }

    fn lacking(texts: &Texts) -> [bool; 3] {
        ["", "ann", "bob"].map(|name| texts.lacks(user(name).id()))
    }

    /// A closed store with saved indexes, in which the three tenants have one, two and three nodes.
    fn closed() -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        let (store, texts) = open(&folder);
        // An index requested before the first write sees the writes.
        let early = texts.of(user("ann").id());
        for (name, count) in [("", 1), ("ann", 2), ("bob", 3)] {
            (1..=count).for_each(|number| put(&store, name, number));
        }
        assert_eq!(early.search("title", TextField::Title, 99, &|_| true).len(), 2);
        assert_eq!(found(&texts), [1, 2, 3]);
        store.checkpoint().unwrap();
        folder
    }

    fn manifest(folder: &TempDir) -> PathBuf {
        folder.path().join("text").join("tenants").join("manifest")
    }

    fn file(folder: &TempDir, name: &str) -> PathBuf {
        let folders = folder.path().join("text").join("tenants");
        folders.join(user(name).id().to_string()).join("snapshot")
    }

    fn copy(from: &Path, to: &Path) {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let path = entry.unwrap().path();
            let to = to.join(path.file_name().unwrap());
            if path.is_dir() {
                copy(&path, &to);
            } else {
                fs::copy(&path, to).unwrap();
            }
        }
    }

    #[test]
    fn saved_indexes_are_loaded_and_only_changed_ones_are_written() {
        let folder = closed();
        let (store, texts) = open(&folder);
        assert_eq!((found(&texts), lacking(&texts)), ([1, 2, 3], [false; 3]));
        fs::write(file(&folder, "bob"), "as it was").unwrap();
        let before = fs::read(file(&folder, "ann")).unwrap();
        put(&store, "ann", 9);
        store.checkpoint().unwrap();
        assert_eq!(fs::read(file(&folder, "bob")).unwrap(), b"as it was");
        assert_ne!(fs::read(file(&folder, "ann")).unwrap(), before);
        let before = fs::metadata(manifest(&folder)).unwrap().modified().unwrap();
        store.checkpoint().unwrap();
        assert_eq!(fs::metadata(manifest(&folder)).unwrap().modified().unwrap(), before);
    }

    #[test]
    fn damaged_files_of_one_tenant_do_not_affect_others() {
        let garbage = |path: &Path| fs::write(path, "garbage").unwrap();
        let missing = |path: &Path| fs::remove_file(path).unwrap();
        for damage in [garbage as fn(&Path), missing] {
            let folder = closed();
            damage(&file(&folder, "ann"));
            let (_, texts) = open(&folder);
            assert_eq!((found(&texts), lacking(&texts)), ([1, 2, 3], [false, true, false]));
            let folder = closed();
            damage(&folder.path().join("text").join("snapshot"));
            let (_, texts) = open(&folder);
            assert_eq!((found(&texts), lacking(&texts)), ([1, 2, 3], [true, false, false]));
            // Without the manifest the file of the default tenant records its own position, as in stores from
            // before there were tenants.
            let folder = closed();
            damage(&manifest(&folder));
            let (store, texts) = open(&folder);
            assert_eq!((found(&texts), lacking(&texts)), ([1, 2, 3], [false, true, true]));
            put(&store, "bob", 9);
            assert_eq!(found(&texts), [1, 2, 4]);
        }
    }

    #[test]
    fn files_of_another_checkpoint_are_used_only_if_they_match_the_manifest() {
        let folder = closed();
        let (early, late) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        copy(folder.path(), early.path());
        let (store, _) = open(&folder);
        put(&store, "ann", 9);
        put(&store, "", 9);
        store.checkpoint().unwrap();
        drop(store);
        copy(folder.path(), late.path());
        // A checkpoint that was killed before it wrote its manifest.
        fs::copy(manifest(&early), manifest(&folder)).unwrap();
        let (store, texts) = open(&folder);
        assert_eq!((found(&texts), lacking(&texts)), ([2, 3, 3], [false; 3]));
        drop((store, texts));
        // A file of an earlier checkpoint.
        fs::copy(manifest(&late), manifest(&folder)).unwrap();
        fs::copy(file(&early, "ann"), file(&folder, "ann")).unwrap();
        let (store, texts) = open(&folder);
        assert_eq!((found(&texts), lacking(&texts)), ([2, 3, 3], [false, true, false]));
        drop((store, texts));
        // A truncated log with one file, and then with all files, of the removed transactions.
        fs::copy(file(&late, "ann"), file(&early, "ann")).unwrap();
        let (store, texts) = open(&early);
        assert_eq!((found(&texts), lacking(&texts)), ([1, 2, 3], [false, true, false]));
        drop((store, texts));
        copy(&late.path().join("text"), &early.path().join("text"));
        let (_, texts) = open(&early);
        assert_eq!((found(&texts), lacking(&texts)), ([1, 2, 3], [true; 3]));
    }

    #[test]
    fn unused_indexes_are_dropped() {
        let folder = closed();
        let (_, texts) = open(&folder);
        for number in 0..10_000 {
            texts.of(user(&format!("nobody{number}")).id());
        }
        assert_eq!(texts.all().len(), 3);
        assert!(texts.others.read().unused.len() < 1000, "{}", texts.others.read().unused.len());
    }
}
