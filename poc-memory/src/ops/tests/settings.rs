//! Defaults and bounds in the request schemas match the settings.

use super::*;
use poc_config::{Config, bounds};
use poc_search::retrieve::MAX_HITS;
use serde_json::json;

#[test]
fn defaults_and_bounds_of_requests_are_those_of_the_settings() {
    let settings = serde_json::to_value(Config::defaults().unwrap()).unwrap();
    let fields = [
        ("recall", "k", "recall.k"),
        ("recall", "hops", "recall.hops"),
        ("recall", "oversample", "recall.oversample"),
        ("retrieve", "top_k", "retrieve.top-k"),
        ("explore", "depth", "explore.depth"),
        ("explore", "beam", "explore.beam"),
        ("explore", "target_count", "explore.target-count"),
        ("changes", "limit", "changes.limit"),
        ("view", "limit", "view.limit"),
        ("view", "max_edges", "view.max-edges"),
    ];
    for (op, field, setting) in fields {
        let schema = (find(op).unwrap().request_schema)().to_value();
        let property = &schema["properties"][field];
        let bounds = bounds::of(setting);
        assert_eq!(
            property["default"],
            settings.pointer(&format!("/{}", setting.replace('.', "/"))).cloned().unwrap()
        );
        assert_eq!(property["minimum"], json!(bounds.start()), "{op} {field}");
        assert_eq!(property["maximum"], json!(bounds.end()), "{op} {field}");
        // The description names the upper bound, and the lower bound where it is not obvious.
        let description = property["description"].as_str().unwrap().replace(',', "");
        assert!(description.contains(&bounds.end().to_string()), "{op} {field}: {description}");
    }
    assert_eq!(*bounds::of("retrieve.top-k").end(), MAX_HITS);
}
