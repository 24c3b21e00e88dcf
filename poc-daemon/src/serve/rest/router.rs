//! Builds the router from the `ROUTE` of each op in `OPS`, the service resources, the page and MCP.

use super::answer::{self, HttpError};
use super::mcp::{self, Mcp};
use super::op_route::{OpRoute, PathFields};
use super::{RestContext, cors, page, service_routes};
use axum::Router;
use axum::extract::Request;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, MethodRouter, any};
use poc_graph::error::{Error, Result};
use poc_graph::similar;
use poc_memory::ops::{self, Access, OPS, OpDef, Route};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The ops that are served, with their routes.
///
/// # Errors
/// `invalid_config` when the settings switch off an unknown op.
pub(super) fn enabled_ops(config: &poc_config::RestConfig) -> Result<Vec<(&'static OpDef, Route)>> {
    for name in &config.disabled {
        if ops::find(name).is_none_or(|op| op.route.is_none()) {
            let known = OPS.iter().filter(|op| op.route.is_some()).map(|op| op.name);
            let hint = match similar::closest(name, known) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "write the name of a command, such as `insert` or `agent run`".to_owned(),
            };
            return Err(Error::config(format!("REST has no op `{name}`")).hint(hint).field("rest.disabled"));
        }
    }
    let on = |op: &&OpDef| allowed(op.access, config) && !is_disabled(op, config);
    Ok(OPS.iter().filter(on).filter_map(|op| Some((op, op.route?))).collect())
}

/// Whether the settings name an op as disabled.
fn is_disabled(op: &OpDef, config: &poc_config::RestConfig) -> bool {
    config.disabled.iter().any(|name| name == op.name)
}

/// Whether REST serves ops with this access to programs.
fn allowed(access: Access, config: &poc_config::RestConfig) -> bool {
    match access {
        Access::Read | Access::Write | Access::Retract => true,
        Access::Destroy => config.delete,
        // Authorisation later restricts these to sessions of a person.
        Access::Person => true,
    }
}

/// The router of everything that is served over HTTP.
pub(super) fn router(rest: &Arc<RestContext>, mcp: Option<&Arc<Mcp>>) -> Result<Router> {
    let mut router = Router::new();
    let served = enabled_ops(rest.config())?;
    let has_page = rest.state.memory.config.page.enabled;
    if rest.config().enabled || has_page {
        let mut paths: BTreeMap<&str, Vec<OpRoute>> = BTreeMap::new();
        // A path whose ops are all switched off is routed as well, so that its error can say so.
        for route in OPS.iter().filter_map(|op| op.route) {
            paths.entry(route.path).or_default();
        }
        for (op, route) in &served {
            paths.entry(route.path).or_default().push(OpRoute::new(op, *route));
        }
        // A person may still delete on the page what the settings forbid programs to delete.
        let is_for_people =
            |op: &&OpDef| has_page && !allowed(op.access, rest.config()) && !is_disabled(op, rest.config());
        for (op, route) in OPS.iter().filter(is_for_people).filter_map(|op| Some((op, op.route?))) {
            paths.entry(route.path).or_default().push(OpRoute::new(op, route).for_people());
        }
        // Paths of release 0.1, which are no longer documented.
        for (op, route) in &served {
            if let Some(path) = op.former_path {
                paths.entry(path).or_default().push(OpRoute::new(op, *route));
            }
        }
        for (path, op_routes) in paths {
            router = router.route(path, methods(rest, path, op_routes));
        }
    }
    if rest.config().enabled {
        router = service_routes::add(router, rest, &served);
    }
    if has_page {
        router = page::add(router, rest);
    }
    router = match mcp {
        Some(mcp) => mcp::add(router, rest, mcp),
        None => router.route(mcp::PATH, any(async || HttpError::mcp_disabled())),
    };
    let (rest, context) = (rest.clone(), rest.clone());
    router = router.fallback(async move |request: Request| {
        let document =
            has_page.then(|| page::not_found::document(request.method(), request.uri(), request.headers()));
        document
            .flatten()
            .unwrap_or_else(|| HttpError::no_route(request.uri().path(), context.config()).into_response())
    });
    if let Some(cors) = cors::layer(rest.config()) {
        // This layer runs inside the guard, which has already checked host and origin.
        router = router.layer(cors);
    }
    Ok(router.layer(middleware::from_fn(move |request, next| guard(rest.clone(), request, next))))
}

/// The middleware of all routes: guards the request, counts the response and adds its headers.
async fn guard(rest: Arc<RestContext>, request: Request, next: Next) -> Response {
    let (uri, headers) = (request.uri(), request.headers());
    // The code in the path is the permission, so the link may be opened from any page. It only starts a
    // session.
    let checked = match page::is_sign_in_link(request.method(), uri) {
        true => rest.origin_guard.check_host(uri, headers).map(drop),
        false => rest.origin_guard.check(uri, headers),
    };
    let response = match checked {
        Ok(()) => next.run(request).await,
        Err(error) => {
            tracing::debug!("a request was refused: {error}");
            error.into_response()
        }
    };
    rest.state.metrics.count_answer(response.status().as_u16());
    answer::harden(response)
}

/// The methods of a path with ops.
fn methods(rest: &Arc<RestContext>, path: &str, op_routes: Vec<OpRoute>) -> MethodRouter {
    let mut methods = MethodRouter::new();
    let mut names = Vec::new();
    for op_route in op_routes {
        let (filter, name) = filter(op_route.route.method);
        names.push(name);
        let (rest, op_route) = (rest.clone(), Arc::new(op_route));
        methods = methods.on(filter, move |path: PathFields, request: Request| {
            let (rest, op_route) = (rest.clone(), op_route.clone());
            async move { op_route.answer(&rest, path, request).await }
        });
    }
    let (off, rest) = (disabled_routes(path, &names), rest.clone());
    methods.fallback(async move |request: Request| {
        if let Some((_, op)) = off.iter().find(|(method, _)| *method == request.method().as_str()) {
            return HttpError::disabled(op, rest.config());
        }
        if names.is_empty() {
            return HttpError::no_route(request.uri().path(), rest.config());
        }
        HttpError::wrong_method(request.method().as_str(), &names.join(", "))
    })
}

/// The methods of a path that are switched off, with their ops.
fn disabled_routes(path: &str, on: &[&str]) -> Vec<(&'static str, &'static OpDef)> {
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
