//! An agent whose model answers only once the test allows it, and the history of its runs. The tests of the daemon
//! include this file too.

use serde_json::Value;
use std::path::Path;

/// The settings of the model `slow`, which answers with no actions once the file `answer` exists in `home`.
pub(crate) fn settings(home: &Path) -> String {
    let home = home.display();
    format!(
        r#"
[agents]
max-concurrent-runs = 2
catch-up-spread = "0s"
[models.slow]
provider = "slow"
id = "slow"
[providers.slow]
kind = "command"
command = ["sh", "-c", "while [ -d {home} -a ! -e {home}/answer ]; do sleep 0.1; done; printf '{{\"notes\":\"\",\"link-add\":[]}}'"]
"#
    )
}

/// The file of an agent that reads all notes.
pub(crate) fn agent(model: &str, schedule: &str) -> String {
    format!(
        "[query]\npipeline = \"all\"\n[prompt]\ninline = \"{{{{ NODES }}}}\"\nplaceholders = [\"NODES\"]\n\
         [execution]\nmodel = \"{model}\"\nactions = [\"link-add\"]\nschedule = \"{schedule}\"\n\
         [freshness]\nwindow = \"1d\"\n"
    )
}

/// The slot, the status and the reason of each run in an answer of `agent history`, the latest run first.
pub(crate) fn runs(history: &Value) -> Vec<(String, String, String)> {
    let text = |run: &Value, field: &str| run[field].as_str().unwrap_or_default().to_owned();
    let runs = history["runs"].as_array().unwrap().iter();
    runs.map(|run| (text(run, "scheduled_at"), text(run, "status"), text(run, "reason"))).collect()
}

/// The number of runs with this status.
pub(crate) fn count(history: &Value, status: &str) -> usize {
    runs(history).iter().filter(|run| run.1 == status).count()
}
