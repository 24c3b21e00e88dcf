//! Which settings take effect in a running daemon, and which take effect at its next start.

use super::daemon::McpConfig;
use super::sections::Config;
use std::collections::BTreeMap;
use toml::{Table, Value};

/// The sections that [`Config::reloaded`] takes from the new settings as a whole.
pub const RELOADED_SECTIONS: [&str; 21] = [
    "pipelines",
    "insert",
    "import",
    "write",
    "forget",
    "recall",
    "reinforce",
    "search",
    "retrieve",
    "query",
    "explore",
    "list",
    "tags",
    "backlinks",
    "stats",
    "duplicates",
    "changes",
    "view",
    "backup",
    "hooks",
    "notify",
];

/// The sections of which it takes only some keys, with these keys.
const RELOADED_KEYS: [(&str, &[&str]); 1] = [("mcp", &["tools", "delete", "forget"])];

impl Config {
    /// A hash of all settings except the saved pipelines.
    pub fn fingerprint(&self) -> String {
        let mut table = self.to_table();
        table.insert("pipelines".to_owned(), Value::Table(Table::new()));
        hash(table)
    }

    /// A hash of the settings that a daemon reads only when it starts. Two configurations with equal hashes need no
    /// restart.
    pub fn startup_fingerprint(&self) -> String {
        let mut table = self.to_table();
        for section in RELOADED_SECTIONS {
            table.remove(section);
        }
        for (section, keys) in RELOADED_KEYS {
            if let Some(section) = table.get_mut(section).and_then(Value::as_table_mut) {
                for key in keys {
                    section.remove(*key);
                }
            }
        }
        hash(table)
    }

    fn to_table(&self) -> Table {
        // Every setting can be expressed in TOML, because it was read from TOML.
        Table::try_from(self).unwrap_or_default()
    }

    /// These settings, updated with those of `new` that can change while a daemon runs because they are read for each
    /// request. For each other setting, the daemon has already opened, started or cached something that depends on it.
    #[must_use]
    pub fn reloaded(&self, new: &Config) -> Config {
        let new = new.clone();
        let McpConfig { tools, delete, forget, .. } = new.mcp;
        Config {
            pipelines: new.pipelines,
            insert: new.insert,
            import: new.import,
            write: new.write,
            forget: new.forget,
            recall: new.recall,
            reinforce: new.reinforce,
            search: new.search,
            retrieve: new.retrieve,
            query: new.query,
            explore: new.explore,
            list: new.list,
            tags: new.tags,
            backlinks: new.backlinks,
            stats: new.stats,
            duplicates: new.duplicates,
            changes: new.changes,
            view: new.view,
            backup: new.backup,
            hooks: new.hooks,
            notify: new.notify,
            mcp: McpConfig { tools, delete, forget, ..self.mcp.clone() },
            ..self.clone()
        }
    }

    /// The sorted keys of the settings that differ from those of `other`.
    pub fn differences(&self, other: &Config) -> Vec<String> {
        let (mut own, others) = (flat(self), flat(other));
        let mut keys: Vec<String> =
            others.iter().filter(|(key, _)| !own.contains_key(*key)).map(|(key, _)| key.clone()).collect();
        own.retain(|key, value| others.get(key) != Some(value));
        keys.extend(own.into_keys());
        keys.sort();
        keys
    }
}

fn hash(settings: Table) -> String {
    let text = Value::Table(settings).to_string();
    blake3::hash(text.as_bytes()).to_hex().as_str().chars().take(16).collect()
}

/// The settings by their dotted keys.
fn flat(config: &Config) -> BTreeMap<String, Value> {
    fn add(key: &str, value: Value, all: &mut BTreeMap<String, Value>) {
        match value {
            Value::Table(table) => {
                for (name, value) in table {
                    add(&if key.is_empty() { name } else { format!("{key}.{name}") }, value, all);
                }
            }
            value => drop(all.insert(key.to_owned(), value)),
        }
    }
    let mut all = BTreeMap::new();
    add("", Value::Table(config.to_table()), &mut all);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> Config {
        Config::layered(Some(("config.toml", text)), std::iter::empty()).unwrap()
    }

    #[test]
    fn settings_read_for_each_request_are_reloaded_and_the_others_are_named() {
        let before = config("");
        let after = config(
            "recall.k = 12\nmcp.forget = true\nmcp.http = true\nrest.enabled = true\nsearch.limit = 3\n\
             daemon.heartbeat = \"2s\"\npipelines.recent = \"all | limit:3\"\nproviders.new = { kind = \"heuristic\" }\n",
        );
        let live = before.reloaded(&after);
        assert_eq!((live.recall.k, live.search.limit, live.mcp.forget, live.mcp.http), (12, 3, true, false));
        let waiting = live.differences(&after);
        let (new, known): (Vec<String>, Vec<String>) =
            waiting.into_iter().partition(|key| key.starts_with("providers.new."));
        assert_eq!(known, ["daemon.heartbeat", "mcp.http", "rest.enabled"]);
        assert!(new.contains(&"providers.new.kind".to_owned()), "{new:?}");
        assert_eq!(after.differences(&after), [""; 0]);
        assert_eq!(before.reloaded(&before), before);
    }

    #[test]
    fn a_change_needs_a_restart_if_and_only_if_it_changes_the_startup_fingerprint() {
        let before = config("");
        let (mut at_once, mut at_start) = (0, 0);
        for (key, value) in flat(&before) {
            let other = match value {
                Value::Integer(number) => (number + 1).to_string(),
                Value::Float(number) => format!("{:?}", number * 0.99),
                Value::Boolean(flag) => (!flag).to_string(),
                _ => continue,
            };
            let text = format!("{key} = {other}\n");
            // Not every value is allowed.
            let Ok(after) = Config::layered(Some(("config.toml", text.as_str())), std::iter::empty()) else {
                continue;
            };
            let waiting = before.reloaded(&after).differences(&after);
            let same = before.startup_fingerprint() == after.startup_fingerprint();
            assert_eq!(same, waiting.is_empty(), "{text}{waiting:?}");
            // What depends on any setting must notice the change.
            assert_eq!(before.fingerprint() == after.fingerprint(), before == after, "{text}");
            match waiting.is_empty() {
                true => at_once += 1,
                false => at_start += 1,
            }
        }
        assert!(
            at_once > 20 && at_start > 20,
            "{at_once} settings take effect at once, {at_start} at the start"
        );
    }
}
