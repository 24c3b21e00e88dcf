//! Models that live as long as the process: what a model has learnt of its server, how many calls of a
//! provider go on at once, and which providers are left alone for a while.

use super::gate::{Gate, Right};
use super::http::Quiet;
use super::key::{Key, environment};
use super::{CallError, Failed, Model, Reached, Reply, Request};
use crate::config::{self, Config};
use crate::error::Result;
use crate::time::{Span, Timestamp};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// The models of a process. Copies of it are the same.
#[derive(Clone, Default)]
pub struct Models(Arc<Home>);

#[derive(Default)]
struct Home {
    models: Mutex<BTreeMap<String, Open>>,
    accounts: Mutex<BTreeMap<String, (Access, Arc<Account>)>>,
    /// Models of tests, in the place of those of the settings.
    #[cfg(test)]
    stand_ins: Mutex<BTreeMap<String, Arc<dyn Model>>>,
}

/// A model and what it was made from.
struct Open {
    settings: config::Model,
    calls: config::Calls,
    heuristic: config::Heuristic,
    account: Arc<Account>,
    model: Arc<Kept>,
}

/// What opens a provider: when it becomes another, what was known of the one before is over.
type Access = (config::Provider, Option<Key>);

impl fmt::Debug for Models {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.models.lock().keys()).finish()
    }
}

impl Models {
    /// The model with a name from the settings: the one that was opened before, unless its settings or
    /// its key have become others. Calls nobody.
    ///
    /// # Errors
    /// As [`super::open`].
    pub fn open(&self, config: &Config, name: &str) -> Result<Arc<dyn Model>> {
        #[cfg(test)]
        if let Some(model) = self.0.stand_ins.lock().get(name) {
            return Ok(model.clone());
        }
        let found =
            config.models.get(name).and_then(|model| Some((model, config.providers.get(&model.provider)?)));
        let Some((settings, provider)) = found else {
            return Ok(super::open(config, name)?.into());
        };
        let account = self.account(&settings.provider, provider);
        let mut models = self.0.models.lock();
        if let Some(open) = models.get(name)
            && Arc::ptr_eq(&open.account, &account)
            && (&open.settings, &open.calls) == (settings, &config.calls)
            && open.heuristic == config.heuristic
        {
            return Ok(open.model.clone());
        }
        let model = Arc::new(Kept {
            inner: super::open_heeding(config, name, &account.quiet)?,
            provider: settings.provider.clone(),
            account: account.clone(),
            concurrency: provider.concurrency,
            leave: config.calls.leave_alone,
        });
        let (calls, heuristic) = (config.calls.clone(), config.heuristic.clone());
        models.insert(
            name.to_owned(),
            Open { settings: settings.clone(), calls, heuristic, account, model: model.clone() },
        );
        Ok(model)
    }

    /// Has a model of a test answer to a name.
    #[cfg(test)]
    pub(in crate::agent) fn stand_in(&self, name: &str, model: Arc<dyn Model>) {
        self.0.stand_ins.lock().insert(name.to_owned(), model);
    }

    /// The providers that are left alone at an instant, one line each.
    pub fn left_alone(&self, config: &Config, now: Timestamp) -> Vec<String> {
        let accounts = self.0.accounts.lock();
        let line = |(provider, (_, account)): (&String, &(Access, Arc<Account>))| {
            account.left_alone(provider, config.calls.leave_alone, now)
        };
        accounts.iter().filter_map(line).collect()
    }

    fn account(&self, name: &str, provider: &config::Provider) -> Arc<Account> {
        let access = (provider.clone(), Key::find(provider, &environment).ok().flatten());
        let mut accounts = self.0.accounts.lock();
        match accounts.get(name) {
            Some((before, account)) if *before == access => account.clone(),
            _ => {
                let account = Arc::<Account>::default();
                accounts.insert(name.to_owned(), (access, account.clone()));
                account
            }
        }
    }
}

/// What the process knows of a provider.
#[derive(Default)]
struct Account {
    gate: Arc<Gate>,
    /// When it wants no calls.
    quiet: Quiet,
    trouble: Mutex<Option<Trouble>>,
}

/// Why a provider is left alone, and since when.
#[derive(Clone)]
struct Trouble {
    since: Timestamp,
    why: String,
}

impl Account {
    fn left_alone(&self, provider: &str, span: Span, now: Timestamp) -> Option<String> {
        let trouble = self.trouble.lock().clone()?;
        let until = trouble.since.plus(span);
        // After a clock that went back nobody waits longer than from now on.
        let over = now >= until || now < trouble.since;
        (!over).then(|| format!("`{provider}` is left alone until {until}: {}", trouble.why))
    }

    /// Leaves the provider alone from now on; whether there is anything new to tell. The same trouble after
    /// a later try is no news.
    fn close(&self, now: Timestamp, why: &str) -> bool {
        let before = self.trouble.lock().replace(Trouble { since: now, why: why.to_owned() });
        before.is_none_or(|before| before.why != why)
    }

    fn open(&self, provider: &str) {
        if self.trouble.lock().take().is_some() {
            tracing::info!(provider, "answers again");
        }
    }
}

/// A model behind what the process knows of its provider.
struct Kept {
    inner: Box<dyn Model>,
    provider: String,
    account: Arc<Account>,
    concurrency: Option<usize>,
    leave: Span,
}

impl Model for Kept {
    fn call(&self, request: &Request<'_>) -> Result<Reply, Failed> {
        let _place = match self.concurrency {
            Some(most) => {
                Some(self.account.gate.enter(most, Right::Usual, request.stop).ok_or(CallError::Stopped)?)
            }
            None => None,
        };
        let outcome = self.inner.call(request);
        match &outcome {
            Ok(_) | Err(Failed { error: CallError::Refused(_) | CallError::Cut, .. }) => {
                self.account.open(&self.provider);
            }
            Err(Failed { error: CallError::NoCredit(why) | CallError::KeyRefused(why), .. }) => {
                let (provider, span) = (&self.provider, self.leave);
                if self.account.close(request.now, why) {
                    let until = "or until its settings or its key change";
                    tracing::warn!(provider, "left alone for {span}, {until}: {why}");
                }
            }
            Err(_) => {}
        }
        outcome
    }

    fn most(&self, request: &Request<'_>) -> Option<f64> {
        self.inner.most(request)
    }

    fn reach(&self, timeout: Span) -> Result<Reached, CallError> {
        self.inner.reach(timeout)
    }

    fn left_alone(&self, now: Timestamp) -> Option<String> {
        self.account.left_alone(&self.provider, self.leave, now)
    }
}

#[cfg(test)]
mod tests;
