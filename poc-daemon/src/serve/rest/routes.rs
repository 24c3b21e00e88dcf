//! Which path leads to what.

use super::answer::{self, Refusal};
use super::endpoint::{Endpoint, PathFields};
use super::mcp::{self, Mcp};
use super::{Rest, plain};
use axum::Router;
use axum::extract::Request;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, MethodRouter};
use poc_graph::error::{Error, Result};
use poc_graph::similar;
use poc_memory::ops::{self, Access, OPS, OpDef, Route};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The ops that are served, with their routes. An unknown name among those that are switched off
/// is an error.
pub(super) fn served(config: &poc_config::Rest) -> Result<Vec<(&'static OpDef, Route)>> {
    for name in &config.disabled {
        if ops::find(name).is_none_or(|op| op.route.is_none()) {
            let known = OPS.iter().filter(|op| op.route.is_some()).map(|op| op.name);
            let hint = match similar::to(name, known) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "write the name of a command, such as `insert` or `agent run`".to_owned(),
            };
            return Err(Error::config(format!("REST has no op `{name}`")).hint(hint).field("rest.disabled"));
        }
    }
    let on = |op: &&OpDef| allowed(op.access, config) && !config.disabled.iter().any(|name| name == op.name);
    Ok(OPS.iter().filter(on).filter_map(|op| Some((op, op.route?))).collect())
}

/// Whether REST may do such things.
fn allowed(access: Access, config: &poc_config::Rest) -> bool {
    match access {
        Access::Read | Access::Write | Access::Retract => true,
        Access::Destroy => config.delete,
        // For the command line and the socket alone.
        Access::Person => false,
    }
}

/// Everything that can be asked for. `rest` is told to every request.
pub(super) fn router(rest: &Arc<Rest>, mcp: Option<&Arc<Mcp>>) -> Result<Router> {
    let mut router = Router::new();
    let served = served(rest.config())?;
    if rest.config().enabled {
        let mut paths: BTreeMap<&str, Vec<Endpoint>> = BTreeMap::new();
        // Of a path where all is off as well, to say so.
        for route in OPS.iter().filter(|op| op.access != Access::Person).filter_map(|op| op.route) {
            paths.entry(route.path).or_default();
        }
        for (op, route) in &served {
            paths.entry(route.path).or_default().push(Endpoint::new(op, *route));
        }
        for (path, endpoints) in paths {
            router = router.route(path, methods(rest, path, endpoints));
        }
        router = plain::add(router, rest, &served);
    }
    if let Some(mcp) = mcp {
        router = mcp::add(router, rest, mcp);
    }
    let rest = rest.clone();
    Ok(router
        .fallback(|request: Request| async move { Refusal::no_route(request.uri().path()) })
        .layer(middleware::from_fn(move |request, next| enter(rest.clone(), request, next))))
}

/// What every request passes first and every answer last.
async fn enter(rest: Arc<Rest>, request: Request, next: Next) -> Response {
    let response = match rest.door.check(request.uri(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(refusal) => {
            tracing::debug!("a request was refused: {refusal}");
            refusal.into_response()
        }
    };
    rest.shared.metrics.answered(response.status().as_u16());
    answer::harden(response)
}

/// The methods of a path that leads to ops.
fn methods(rest: &Arc<Rest>, path: &str, endpoints: Vec<Endpoint>) -> MethodRouter {
    let mut methods = MethodRouter::new();
    let mut names = Vec::new();
    for endpoint in endpoints {
        let (filter, name) = filter(endpoint.route.method);
        names.push(name);
        let (rest, endpoint) = (rest.clone(), Arc::new(endpoint));
        methods = methods.on(filter, move |path: PathFields, request: Request| {
            let (rest, endpoint) = (rest.clone(), endpoint.clone());
            async move { endpoint.answer(&rest, path, request).await }
        });
    }
    let off = switched_off(path, &names);
    methods.fallback(async move |request: Request| {
        if let Some((_, op)) = off.iter().find(|(method, _)| *method == request.method().as_str()) {
            return Refusal::switched_off(op);
        }
        if names.is_empty() {
            return Refusal::no_route(request.uri().path());
        }
        Refusal::wrong_method(request.method().as_str(), &names.join(", "))
    })
}

/// The methods of a path that are switched off, with their ops.
fn switched_off(path: &str, on: &[&str]) -> Vec<(&'static str, &'static OpDef)> {
    let all = OPS.iter().filter_map(|op| Some((op, op.route?))).filter(|(_, route)| route.path == path);
    let methods = all.map(|(op, route)| (filter(route.method).1, op));
    methods.filter(|(method, _)| !on.contains(method)).collect()
}

fn filter(method: ops::Method) -> (MethodFilter, &'static str) {
    match method {
        ops::Method::Get => (MethodFilter::GET, "GET"),
        ops::Method::Post => (MethodFilter::POST, "POST"),
        ops::Method::Delete => (MethodFilter::DELETE, "DELETE"),
    }
}
