//! One index for every tenant, kept in step with the log together.
//!
//! Each tenant has an index of its own with files of its own: those of the default tenant in the
//! folder itself, those of the others in a folder each below `tenants`. Beside them one manifest says
//! up to which transaction all of them are saved, and at which transaction each was when it last
//! changed. An index that has not changed is not written again; one that does not fit the manifest
//! starts empty, and it alone is fed everything.

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

/// Indexes that may be remembered without a reader or anything in them before they are looked
/// through.
const UNUSED_LIMIT: usize = 64;

/// The index of one tenant.
pub trait Index: Send + Sync {
    /// What is indexed, in messages.
    const NAME: &'static str;
    /// An empty one with the same settings and files elsewhere, whose readers wait for
    /// [`Index::release`].
    fn empty_in(&self, directory: &Path) -> Self;
    /// Reads back what it has saved; whether there was anything that fits.
    fn load(&self) -> bool;
    /// Answers readers from now on.
    fn release(&self);
    /// The last transaction of the tenant in it; 0 while it was only fed everything.
    fn applied(&self) -> u64;
    /// Throws away what it holds and has saved.
    fn reset(&self) -> Result<()>;
    /// Takes in what a transaction did; `seq` is 0 while it is fed everything.
    fn apply(&self, seq: u64, deltas: &[Delta]) -> Result<()>;
    /// Saves what it holds, unless it is saved already.
    fn checkpoint(&self) -> Result<()>;
}

/// The indexes of one kind.
pub struct PerTenant<I> {
    directory: PathBuf,
    main: Arc<I>,
    others: RwLock<Others<I>>,
    // The last transaction that all of them reflect.
    applied: AtomicU64,
    // What was saved and read back whole.
    loaded: RwLock<FxHashSet<Tenant>>,
    saved: Mutex<Option<(u64, Manifest)>>,
}

/// Of each tenant the transaction its index was at.
type Manifest = Vec<(Tenant, u64)>;

/// Those of all tenants but the default one.
struct Others<I> {
    /// Those that hold something, or did.
    filled: FxHashMap<Tenant, Arc<I>>,
    /// Those that were only asked for: whoever did sees what comes in.
    unused: FxHashMap<Tenant, Weak<I>>,
    released: bool,
}

impl<I: Index> PerTenant<I> {
    /// The indexes of which `main` is that of the default tenant, with its files in `directory`.
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

    /// The index of a tenant; an empty one when there is none, which fills when the tenant writes.
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

    /// All that hold something.
    pub fn all(&self) -> Vec<Arc<I>> {
        let others = self.others.read();
        std::iter::once(&self.main).chain(others.filled.values()).cloned().collect()
    }

    /// The index of a tenant that holds something, or is about to.
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

    /// Remembers an index for as long as somebody has it.
    fn add_unused(&mut self, tenant: Tenant, index: &Arc<I>) {
        // Each time half of them are dropped, or there is room for as many again.
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
            // One saved by a checkpoint that was not finished may be ahead of the manifest, which does
            // no harm: what comes again changes nothing.
            if (at..=last).contains(&index.applied()) {
                self.loaded.write().insert(tenant);
            } else {
                index.reset()?;
            }
        }
        if saved.is_none() && !self.lacks(Tenant::default()) {
            // As it was before there were tenants: its own file says how far it is. Others are fed.
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
        // First asked, then saved: what comes in meanwhile is in what is saved or comes again.
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

    /// How many nodes each of three tenants finds.
    fn found(texts: &Texts) -> [usize; 3] {
        ["", "ann", "bob"]
            .map(|name| texts.of(user(name).id()).search("title", TextField::Title, 99, &|_| true).len())
    }

    fn lacking(texts: &Texts) -> [bool; 3] {
        ["", "ann", "bob"].map(|name| texts.lacks(user(name).id()))
    }

    /// A closed store in which the tenants have one, two and three nodes, with its indexes saved.
    fn closed() -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        let (store, texts) = open(&folder);
        // Whoever asked before there was anything sees what comes in.
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
    fn what_was_saved_is_read_and_only_what_has_changed_is_written() {
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
    fn damage_to_the_files_of_one_tenant_is_no_matter_of_others() {
        let garbage = |path: &Path| fs::write(path, "garbage").unwrap();
        let gone = |path: &Path| fs::remove_file(path).unwrap();
        for harm in [garbage as fn(&Path), gone] {
            let folder = closed();
            harm(&file(&folder, "ann"));
            let (_, texts) = open(&folder);
            assert_eq!((found(&texts), lacking(&texts)), ([1, 2, 3], [false, true, false]));
            let folder = closed();
            harm(&folder.path().join("text").join("snapshot"));
            let (_, texts) = open(&folder);
            assert_eq!((found(&texts), lacking(&texts)), ([1, 2, 3], [true, false, false]));
            // Without the manifest the default tenant's own file tells how far it is, as it did before
            // there were others.
            let folder = closed();
            harm(&manifest(&folder));
            let (store, texts) = open(&folder);
            assert_eq!((found(&texts), lacking(&texts)), ([1, 2, 3], [false, true, true]));
            put(&store, "bob", 9);
            assert_eq!(found(&texts), [1, 2, 4]);
        }
    }

    #[test]
    fn files_of_other_checkpoints_are_told_from_those_that_fit() {
        let folder = closed();
        let (early, late) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        copy(folder.path(), early.path());
        let (store, _) = open(&folder);
        put(&store, "ann", 9);
        put(&store, "", 9);
        store.checkpoint().unwrap();
        drop(store);
        copy(folder.path(), late.path());
        // A checkpoint that was killed in front of its manifest.
        fs::copy(manifest(&early), manifest(&folder)).unwrap();
        let (store, texts) = open(&folder);
        assert_eq!((found(&texts), lacking(&texts)), ([2, 3, 3], [false; 3]));
        drop((store, texts));
        // A file from before.
        fs::copy(manifest(&late), manifest(&folder)).unwrap();
        fs::copy(file(&early, "ann"), file(&folder, "ann")).unwrap();
        let (store, texts) = open(&folder);
        assert_eq!((found(&texts), lacking(&texts)), ([2, 3, 3], [false, true, false]));
        drop((store, texts));
        // A log that was cut, with one file, and with all files of what was cut off.
        fs::copy(file(&late, "ann"), file(&early, "ann")).unwrap();
        let (store, texts) = open(&early);
        assert_eq!((found(&texts), lacking(&texts)), ([1, 2, 3], [false, true, false]));
        drop((store, texts));
        copy(&late.path().join("text"), &early.path().join("text"));
        let (_, texts) = open(&early);
        assert_eq!((found(&texts), lacking(&texts)), ([1, 2, 3], [true; 3]));
    }

    #[test]
    fn who_only_asks_leaves_nothing_behind() {
        let folder = closed();
        let (_, texts) = open(&folder);
        for number in 0..10_000 {
            texts.of(user(&format!("nobody{number}")).id());
        }
        assert_eq!(texts.all().len(), 3);
        assert!(texts.others.read().unused.len() < 1000, "{}", texts.others.read().unused.len());
    }
}
