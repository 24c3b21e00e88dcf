//! Forecast of a run that would start now. Nothing is written and no model is called.

use super::{RunAttempt, RunOptions, models};
use crate::Definition;
use crate::action;
use crate::budget::BudgetStatus;
use crate::ledger::{Run, StatusReason};
use crate::model::Model;
use crate::permit::Permit;
use crate::prompt;
use crate::selection::{self, PromptExtent, Scope, SelectionOutcome};
use poc_graph::error::Result;
use poc_notes::Memory;
use std::cell::RefCell;

/// The forecast of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Forecast {
    /// Number of nodes that would be in the prompt.
    pub nodes: usize,
    /// Number of these nodes whose text would be cut.
    pub cut: usize,
    /// Number of these nodes that are protected, that is, may not be superseded.
    pub protected: usize,
    /// Estimated tokens of the prompt, at four characters per token.
    pub tokens: usize,
    /// Maximum US dollars of one attempt of the first call; `None` when unknown or free.
    pub max: Option<f64>,
    /// Number of the agent's runs that began today.
    pub runs: u32,
    /// Cost of these runs in US dollars, plus reservations of runs in progress.
    pub day: f64,
    /// Cost in US dollars of the runs of all agents today, plus reservations.
    pub all_agents: f64,
    /// Number of the agent's runs for the tenant that began today, counting each batch.
    pub tenant_runs: u32,
    /// Cost of these runs in US dollars, plus reservations of runs in progress.
    pub tenant_day: f64,
    /// Obstacles, each with its stable code and a message.
    pub obstacles: Vec<(StatusReason, String)>,
}

/// Forecasts a scheduled run that would start now.
///
/// # Errors
/// Those of the store. Errors of the pipeline or template are obstacles.
pub fn forecast(memory: &Memory, definition: &Definition, options: &RunOptions) -> Result<Forecast> {
    let models = models(memory, definition, options);
    let opened: Vec<_> = models.iter().map(|(name, model)| (*name, model.as_ref())).collect();
    let (scope, unattended) = (Scope::Stale, true);
    let call_in_progress = RefCell::default();
    let attempt =
        RunAttempt { memory, definition, models: &opened, unattended, scope, options, call_in_progress };
    let row = Run::new_running(memory, &definition.name, None);
    let budget_status = attempt.budget_status(&row)?;
    let BudgetStatus { runs, day, all_agents, tenant_runs, tenant_day, .. } = budget_status;
    let mut forecast = Forecast { runs, day, all_agents, tenant_runs, tenant_day, ..Forecast::default() };
    forecast.obstacles.extend(attempt.no_model());
    let refusal = budget_status.refuses_a_run().or_else(|| budget_status.used_up_by_tenant());
    forecast.obstacles.extend(refusal.map(|why| (StatusReason::OverBudget, why)));
    let context = attempt.context();
    match selection::select(memory, definition, scope, context) {
        Ok(SelectionOutcome::Selected(mut selection)) => {
            match prompt::render(memory, definition, &mut selection, context) {
                Ok(prompt) => {
                    forecast.nodes = selection.selected().count();
                    forecast.cut =
                        selection.selected().filter(|handle| handle.shown == PromptExtent::Cut).count();
                    forecast.protected =
                        Permit::new(memory, definition, definition.mode, &selection)?.protected();
                    forecast.tokens = prompt.tokens();
                    let schema = action::schema(&definition.execution.actions);
                    let request = attempt.request(&selection, &prompt, &schema);
                    let max = opened.first().and_then(|(_, model)| model.max_cost(&request));
                    forecast.max = max.filter(|max| *max > 0.0);
                    if let Err(error) = budget_status.allows(max, 1) {
                        let known =
                            forecast.obstacles.iter().any(|(reason, _)| *reason == StatusReason::OverBudget);
                        let obstacle = (StatusReason::OverBudget, error.to_string());
                        forecast.obstacles.extend((!known).then_some(obstacle));
                    }
                }
                Err(error) => forecast.obstacles.push((StatusReason::InvalidConfig, error.line())),
            }
        }
        Ok(SelectionOutcome::Nothing(reason, why)) => forecast.obstacles.push((reason, why)),
        Err(error) => forecast.obstacles.push((StatusReason::InvalidConfig, error.line())),
    }
    Ok(forecast)
}

impl RunAttempt<'_> {
    /// Why no model would reply; `None` if one would. Each of them lacks something, such as a key, or its provider is
    /// suspended.
    fn no_model(&self) -> Option<(StatusReason, String)> {
        let RunAttempt { memory, options, .. } = self;
        let obstacle = |(name, model): &(&str, &dyn Model)| match options.models.open(&memory.config, name) {
            Err(missing) => Some((StatusReason::InvalidConfig, missing.line())),
            Ok(_) => model.suspension(memory.now()).map(|why| (StatusReason::ProviderDown, why)),
        };
        let obstacles: Vec<_> = self.models.iter().map(obstacle).collect::<Option<_>>()?;
        // If a model is only suspended, the obstacle is temporary, because a suspension ends by itself.
        let (reason, _) = obstacles
            .iter()
            .find(|(reason, _)| *reason == StatusReason::ProviderDown)
            .or(obstacles.first())?;
        let why: Vec<&str> = obstacles.iter().map(|(_, why)| why.as_str()).collect();
        Some((*reason, why.join("; ")))
    }
}
