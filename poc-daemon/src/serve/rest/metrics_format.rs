//! The two text formats of metrics: OpenMetrics 1.0, and the text format 0.0.4 of Prometheus, which older
//! collectors and people with a browser or `curl` read. A request chooses with `Accept` (RFC 9110, section
//! 12.5.1).

use super::accept;
use super::service_resources::{OPEN_METRICS, PROMETHEUS_TEXT};
use axum::http::HeaderMap;
use std::collections::HashSet;

/// A format in which metrics are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MetricsFormat {
    OpenMetrics,
    Prometheus,
}

impl MetricsFormat {
    /// OpenMetrics if a request names it and does not prefer `text/plain`.
    pub(super) fn of(headers: &HeaderMap) -> MetricsFormat {
        let (open, plain) = (
            accept::quality(headers, "application/openmetrics-text"),
            accept::quality(headers, "text/plain"),
        );
        if open > 0.0 && open >= plain { MetricsFormat::OpenMetrics } else { MetricsFormat::Prometheus }
    }

    /// The media type of the format.
    pub(super) fn media_type(self) -> &'static str {
        match self {
            MetricsFormat::OpenMetrics => OPEN_METRICS,
            MetricsFormat::Prometheus => PROMETHEUS_TEXT,
        }
    }

    /// A text of OpenMetrics in this format.
    pub(super) fn text(self, open_metrics: String) -> String {
        match self {
            MetricsFormat::OpenMetrics => open_metrics,
            MetricsFormat::Prometheus => prometheus_text(&open_metrics),
        }
    }
}

/// Converts OpenMetrics to the Prometheus text format, in which the `HELP` and `TYPE` comments of a counter use the
/// sample name (with `_total`), and there is no `# EOF`.
fn prometheus_text(open_metrics: &str) -> String {
    let comment = |line: &str| -> Option<(String, String, String)> {
        let mut words = line.strip_prefix("# ")?.splitn(3, ' ').map(str::to_owned);
        Some((words.next()?, words.next()?, words.next().unwrap_or_default()))
    };
    let counters: HashSet<String> = open_metrics
        .lines()
        .filter_map(comment)
        .filter(|(word, _, kind)| word == "TYPE" && kind == "counter")
        .map(|(_, name, _)| name)
        .collect();
    let mut text = String::with_capacity(open_metrics.len());
    for line in open_metrics.lines().filter(|line| *line != "# EOF") {
        match comment(line).filter(|(_, name, _)| counters.contains(name)) {
            Some((word, name, rest)) => text.push_str(&format!("# {word} {name}_total {rest}")),
            None => text.push_str(line),
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;
    use axum::http::header::ACCEPT;

    #[test]
    fn open_metrics_is_written_only_on_request() {
        let check = |accept: &[&'static str], expected: MetricsFormat| {
            let mut headers = HeaderMap::new();
            accept.iter().for_each(|value| {
                headers.append(ACCEPT, HeaderValue::from_static(value));
            });
            assert_eq!(MetricsFormat::of(&headers), expected, "{accept:?}");
        };
        use MetricsFormat::{OpenMetrics, Prometheus};
        check(&[], Prometheus);
        check(&["*/*"], Prometheus);
        check(&["text/plain"], Prometheus);
        check(&["text/html,application/xhtml+xml,*/*;q=0.8"], Prometheus);
        check(&["application/openmetrics-text"], OpenMetrics);
        // Prometheus 2 and 3.
        check(
            &["application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.4,*/*;q=0.2"],
            OpenMetrics,
        );
        check(
            &["text/plain;version=0.0.4;q=0.5, application/openmetrics-text; version=1.0.0; q=0.4"],
            Prometheus,
        );
        check(&["text/plain;q=0.1", "Application/OpenMetrics-Text"], OpenMetrics);
        check(&["application/openmetrics-text;q=0"], Prometheus);
    }

    #[test]
    fn comments_of_counters_name_their_samples() {
        let open = "# HELP calls Calls of ops.\n# TYPE calls counter\ncalls_total{op=\"a b\"} 3\n\
                    # HELP nodes Live notes.\n# TYPE nodes gauge\nnodes 7\n# EOF\n";
        let expected = "# HELP calls_total Calls of ops.\n# TYPE calls_total counter\ncalls_total{op=\"a b\"} 3\n\
                        # HELP nodes Live notes.\n# TYPE nodes gauge\nnodes 7\n";
        assert_eq!(MetricsFormat::Prometheus.text(open.to_owned()), expected);
        assert_eq!(MetricsFormat::OpenMetrics.text(open.to_owned()), open);
    }
}
