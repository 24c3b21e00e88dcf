//! The OpenAPI document over HTTP, compared with what the daemon does.

use super::world;
use serde_json::Value;

#[test]
fn every_documented_operation_exists_and_requires_its_fields() {
    let (_world, http) = world("delete = true\n");
    let own = [("Host", http.address.as_str())];
    let document = http.send("GET /openapi.json", &own, b"").json();
    let mut operations = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        // A method that is not documented is rejected with a list of those that are.
        let described: Vec<String> =
            methods.as_object().unwrap().keys().map(|method| method.to_uppercase()).collect();
        let path = path.replace(['{', '}'], "");
        let refused = http.send(&format!("PATCH {path}"), &own, b"");
        assert_eq!(
            (refused.status, refused.header("allow")),
            (405, Some(described.join(", ").as_str())),
            "{path}"
        );
        for (method, operation) in methods.as_object().unwrap() {
            operations += 1;
            let answered = http.send(&format!("{} {path}", method.to_uppercase()), &own, b"");
            let open = operation["security"].as_array().is_some_and(Vec::is_empty);
            assert_eq!(answered.status == 401, !open, "{method} {path}: {answered:?}");
            let described = &operation["responses"][answered.status.to_string()];
            assert!(described.is_object(), "{method} {path}: {}", answered.status);
            // Without any field, a route with required fields names one.
            let body = (method == "post").then(|| Value::Object(Default::default()));
            let needed: Vec<&str> = operation["parameters"]
                .as_array()
                .into_iter()
                .flatten()
                .filter(|parameter| parameter["in"] == "query" && parameter["required"] == true)
                .map(|parameter| parameter["name"].as_str().unwrap())
                .collect();
            let answered = http.call(&format!("{} {path}", method.to_uppercase()), body.as_ref());
            assert!(
                operation["responses"][answered.status.to_string()].is_object(),
                "{method} {path}: {answered:?}"
            );
            if let Some(first) = needed.first() {
                assert_eq!(answered.status, 400, "{method} {path}: {answered:?}");
                assert_eq!(answered.json()["at"]["field"], *first);
            }
        }
    }
    assert!(operations > 20, "{operations}");
}

#[test]
fn the_page_needs_no_token() {
    let (_world, http) = world("");
    let page = http.send("GET /docs", &[("Host", &http.address)], b"");
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    assert!(page.header("content-security-policy").unwrap().starts_with("default-src 'none'"));
    assert!(page.body.contains("POST /v1/insert"));
}
