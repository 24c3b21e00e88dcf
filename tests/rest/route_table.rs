//! The table of routes in the guide is the table of the program.

use super::world;
use poc_memory::ops::{Method, OPS};
use std::collections::BTreeMap;

/// Method and path of a route, for the commands of the guide's table.
fn documented() -> BTreeMap<String, String> {
    let guide = include_str!("../../docs/rest.md");
    let section = guide.split("## Routes").nth(1).unwrap();
    let rows = section.lines().filter(|line| line.starts_with('|')).skip(2);
    let cell = |row: &str, at: usize| row.split('|').nth(at).unwrap().trim().replace('`', "");
    rows.map(|row| (cell(row, 3), format!("{} {}", cell(row, 1), cell(row, 2)))).collect()
}

#[test]
fn the_guide_lists_every_route_and_no_other() {
    let name = |method| match method {
        Method::Get => "GET",
        Method::Post => "POST",
        Method::Delete => "DELETE",
    };
    let served: BTreeMap<String, String> = OPS
        .iter()
        .filter_map(|op| {
            op.route.map(|route| (op.name.to_owned(), format!("{} {}", name(route.method), route.path)))
        })
        .collect();
    assert_eq!(documented(), served);
}

#[test]
fn paths_follow_the_names_of_ops() {
    for op in OPS {
        let Some(route) = op.route else { continue };
        let is_resource =
            ["/v1/nodes/", "/v1/agents", "/v1/runs"].iter().any(|start| route.path.starts_with(start));
        let is_kept =
            [("retrieve", "/v1/search"), ("search", "/v1/pipeline")].contains(&(op.name, route.path));
        let named = format!("/v1/{}", op.name.replace(' ', "/"));
        assert!(is_resource || is_kept || route.path == named, "`{}` is at {}", op.name, route.path);
    }
}

#[test]
fn former_paths_and_former_names_of_texts_are_still_answered() {
    let (_world, http) = world("");
    let same = |former: &str, now: &str| {
        let (former, now) = (http.call(former, None), http.call(now, None));
        let without_time = |answer: serde_json::Value| {
            let mut answer = answer;
            answer["as_of"] = serde_json::Value::Null;
            answer
        };
        assert_eq!((former.status, without_time(former.json())), (200, without_time(now.json())));
    };
    same("GET /v1/match?query=journal&signals_only=true", "GET /v1/query?text=journal&signals_only=true");
    same("GET /v1/schema/agent", "GET /v1/agent/schema");
    same("GET /v1/search?query=page+splits", "GET /v1/search?text=page+splits");
    same("GET /v1/pipeline?terms=page&terms=splits", "GET /v1/pipeline?text=page+splits");
    let reloaded = http.call("POST /v1/reload", Some(&serde_json::json!({})));
    assert_eq!(reloaded.status, 200, "{reloaded:?}");
    for op in OPS {
        if let (Some(path), Some(route)) = (op.former_path, op.route) {
            let described = include_str!("../../schema/openapi.json");
            assert!(path != route.path && !described.contains(&format!("\"{path}\"")), "{path}");
        }
    }
    let both = http.call("GET /v1/search?text=a&query=b", None);
    assert_eq!((both.status, both.json()["at"]["field"].as_str()), (400, Some("text")), "{both:?}");
}
