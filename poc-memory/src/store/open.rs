//! Opening a store: the lock, the log, the engine, the view, the followers, in this order.

use super::commit::{Commits, Committer, Followers};
use super::disk::{Disk, SystemDisk};
use super::engine::Engine;
use super::engine::sled::SledEngine;
use super::log::{self, Appender, Limits, Log};
use super::overlay::Overlay;
use super::quarantine::Quarantine;
use super::watchdog::guarded;
use super::{Building, Follower, Lock, Recovery, Store, catch_up};
use crate::error::{Error, Result};
use crate::graph::View;
use parking_lot::Mutex;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

type OpenEngine = fn(&Path) -> Result<Arc<dyn Engine>>;

/// What tests replace.
pub(super) struct Parts {
    pub(super) disk: Arc<dyn Disk>,
    pub(super) limits: Limits,
    pub(super) engine: OpenEngine,
    /// How long the engine may give no sign of life at open.
    pub(super) patience: Duration,
}

impl Default for Parts {
    fn default() -> Self {
        Parts {
            disk: Arc::new(SystemDisk),
            limits: Limits::default(),
            engine: |directory| Ok(Arc::new(SledEngine::open(directory)?)),
            patience: Duration::from_secs(60),
        }
    }
}

/// Opens the store in a directory.
pub(super) fn open(
    directory: &Path,
    embedder: &str,
    followers: Vec<Arc<dyn Follower>>,
    parts: Parts,
) -> Result<Store> {
    let log_directory = directory.join("log");
    log::check_format(&log_directory)?;
    let disk = parts.disk.clone();
    let made = std::fs::create_dir_all(&log_directory).and_then(|()| disk.sync_directory(directory));
    made.map_err(|error| Error::internal(format!("`{}` cannot be made: {error}", directory.display())))?;
    let lock = Lock::take(&directory.join("lock"))?;
    let quarantine = Quarantine::of(directory, disk.clone());
    let (log, mut notes) = log::recover(&log_directory, &quarantine, disk.as_ref())?;
    let log = Arc::new(log);
    let (engine, view) = open_engine(directory, &log, &parts, &quarantine, &mut notes)?;
    let mut unsaved = 0;
    for follower in &followers {
        unsaved = unsaved.max(catch_up::follower(follower.as_ref(), engine.as_ref(), &log, embedder)?);
    }
    let appender = Appender::new(log.clone(), disk, parts.limits)
        .map_err(|error| Error::internal(format!("the log cannot be opened: {error}")))?;
    let view = Arc::new(view);
    let commits = Arc::new(Commits::new(view.clone()));
    let followers = Arc::new(Followers::new(followers, unsaved));
    let committer = Committer {
        commits: commits.clone(),
        appender,
        engine: engine.clone(),
        followers: followers.clone(),
    };
    let committer = std::thread::Builder::new()
        .name("committer".into())
        .spawn(|| committer.run())
        .map_err(|error| Error::internal(format!("the committer cannot be started: {error}")))?;
    Ok(Store {
        building: Mutex::new(Building { view, overlay: Overlay::default() }),
        commits,
        committer: Some(committer),
        engine,
        log,
        followers,
        embedder: embedder.to_owned(),
        recovery: Recovery { notes },
        _lock: lock,
    })
}

/// Opens the engine, catches it up and reads the view out of it. Whatever goes wrong, a panic or a
/// hang included, its files are put away and it is rebuilt from the log, once.
fn open_engine(
    directory: &Path,
    log: &Arc<Log>,
    parts: &Parts,
    quarantine: &Quarantine,
    notes: &mut Vec<String>,
) -> Result<(Arc<dyn Engine>, View)> {
    let records = directory.join("records");
    let attempt = || {
        let (records, log, engine) = (records.clone(), log.clone(), parts.engine);
        guarded(parts.patience, move |pulse| {
            let beat = || pulse.beat();
            let engine = engine(&records)?;
            catch_up::engine(engine.as_ref(), &log, &beat)?;
            let view = catch_up::view(engine.as_ref(), log.last(), &beat)?;
            Ok((engine, view))
        })
    };
    let error = match attempt() {
        Ok(opened) => return Ok(opened),
        Err(error) => error,
    };
    if records.exists() {
        let name = quarantine
            .put_away(&records)
            .map_err(|error| Error::internal(format!("`records` cannot be put away: {error}")))?;
        notes.push(format!(
            "the record engine could not be used ({error}): it was moved to `quarantine/{name}` and rebuilt \
             from the log"
        ));
    }
    attempt()
}
