//! The numbers of `stats`.

use super::*;

#[test]
fn stats_equal_a_count_by_hand() {
    let memory = filled();
    json(&memory, "insert -t Soup --supersedes btree");
    let mut counted = json(&memory, "stats");
    for measured in ["log_bytes", "record_bytes", "index_bytes", "average_weight", "as_of"] {
        assert!(!counted.as_object_mut().unwrap().shift_remove(measured).unwrap().is_null(), "{measured}");
    }
    let source = counted["graph"].as_object_mut().unwrap().shift_remove("source").unwrap();
    assert!(source.as_str().unwrap().starts_with("computed now in "), "{source}");
    insta::assert_snapshot!(serde_json::to_string(&counted).unwrap(), @r#"{"nodes":3,"live":2,"edges":4,"keywords":1,"by_type":{"episodic":1,"semantic":2},"by_state":{"active":2,"superseded":1},"by_edge_kind":{"keyword":1,"link":2,"supersedes":1},"by_tenant":{"default":3},"tenant_memory":{"loaded":0,"bytes":0,"limit":1073741824},"lags":{"mentions":0,"text":0,"vectors":0},"cosines":{"embedder":"hash-256-1","insert":{"count":3,"p25":0.025,"p50":0.045,"p75":0.515,"p90":0.515,"p95":0.515,"p99":0.515},"query":{"count":0,"p25":null,"p50":null,"p75":null,"p90":null,"p95":null,"p99":null}},"backlog":{},"graph":{"components":1,"largest":2,"isolated":0,"clustering":0.0,"path_length":1.0,"small_world":null,"degree_gini":0.0,"ages":{"communities":null,"embedding":null,"health":0,"outliers":null},"power_law_alpha":null,"power_law_least":null},"lag":0,"degraded":[]}"#);
    let (edges, lines) = (counted["edges"].as_u64().unwrap(), json(&memory, "export"));
    assert_eq!(lines["edges"].as_u64().unwrap(), edges);
    assert_eq!(lines["nodes"], counted["nodes"]);
}

#[test]
fn the_lines_of_stats_fit_the_terminal() {
    let memory = filled();
    let (op, answer) = call(&memory, "stats").unwrap();
    let output = (op.decode)(&answer).unwrap();
    let shown = |columns| output.show(&Terminal { columns, ..Terminal::default() }).to_string();
    let (narrow, wide) = (shown(Some(44)), shown(None));
    assert!(narrow.lines().all(|line| line.chars().count() <= 44), "{narrow}");
    assert!(narrow.lines().count() > wide.lines().count(), "{narrow}");
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(words(&narrow), words(&wide));
}
