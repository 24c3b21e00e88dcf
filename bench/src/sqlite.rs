//! SQLite as a peer: the same nodes in an in-memory table, with an index on every column that a filter reads. Derived
//! values (degrees, clustering, communities, outlier scores, decayed weights) are stored in columns, so that SQLite
//! does not have to compute them.

use crate::graph::NOW;
use poc_config::Config;
use poc_graph::{Communities, Outliers, State, View};
use poc_rank::decay;
use rusqlite::{Connection, params};

/// An in-memory database with the nodes of a view; the row id is the index.
pub struct Sqlite(Connection);

const SCHEMA: &str = "
CREATE TABLE nodes (
    ix INTEGER PRIMARY KEY, key TEXT, key_len INT, body_len INT, type TEXT, provenance TEXT, live INT,
    state TEXT, expires INT, weight REAL, created INT, modified INT, version INT,
    emotion REAL, interval INT, replayed INT, degree INT, clustering REAL, outlier REAL, community INT,
    category TEXT
);
CREATE TABLE visits (agent TEXT, node INT, at INT, version INT, PRIMARY KEY (agent, node)) WITHOUT ROWID;
CREATE TABLE keywords (word TEXT, node INT, PRIMARY KEY (word, node)) WITHOUT ROWID;
CREATE TABLE edges (a INT, b INT, PRIMARY KEY (a, b)) WITHOUT ROWID;
";

const INDEXES: &str = "
CREATE INDEX by_key ON nodes (key);
CREATE INDEX by_key_len ON nodes (key_len);
CREATE INDEX by_body_len ON nodes (body_len);
CREATE INDEX by_type ON nodes (type);
CREATE INDEX by_provenance ON nodes (provenance);
CREATE INDEX by_state ON nodes (state);
CREATE INDEX by_category ON nodes (category);
CREATE INDEX by_weight ON nodes (weight);
CREATE INDEX by_created ON nodes (created);
CREATE INDEX by_modified ON nodes (modified);
CREATE INDEX by_degree ON nodes (degree);
CREATE INDEX by_community ON nodes (community);
ANALYZE;
";

/// The condition for nodes that are live and not expired.
pub const LIVE: &str = "live AND (expires IS NULL OR expires > :now)";

/// The priority of the stage `sort:priority`, with its factors in the same order.
pub const PRIORITY: &str = "CASE WHEN outlier IS NULL THEN 1.0 - clustering ELSE MIN(outlier / 3.0, 3.0) END \
     * CASE WHEN replayed IS NULL THEN 3.0 \
     ELSE MAX(0.0, MIN(5.0, (:now - replayed) / (86400000.0 * MAX(interval, 1)))) END \
     * (1.0 + emotion / 10.0)";

impl Sqlite {
    /// A database filled from a view.
    pub fn new(view: &View, config: &Config, communities: &Communities, outliers: &Outliers) -> Sqlite {
        let mut connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(SCHEMA).unwrap();
        let transaction = connection.transaction().unwrap();
        {
            let mut node = transaction
                .prepare("INSERT INTO nodes VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)")
                .unwrap();
            let mut visit = transaction.prepare("INSERT INTO visits VALUES ('linker', ?, ?, ?)").unwrap();
            let mut word = transaction.prepare("INSERT OR IGNORE INTO keywords VALUES (?, ?)").unwrap();
            let mut edge = transaction.prepare("INSERT INTO edges VALUES (?, ?)").unwrap();
            for ix in 0..view.slots() {
                let state = view.state(ix).unwrap();
                node.execute(params![
                    ix,
                    view.key(ix),
                    view.key_len(ix),
                    view.body_len(ix),
                    view.type_name(ix),
                    view.provenance_name(ix),
                    State::is_live(state),
                    state.name(),
                    view.expires(ix).map(|at| at.0),
                    decay::weight_at(view, ix, &config.weight, NOW),
                    view.created(ix).0,
                    view.modified(ix).0,
                    view.version(ix),
                    view.emotion(ix),
                    view.replay_interval(ix),
                    view.replayed(ix).map(|at| at.0),
                    view.degree(ix),
                    view.clustering(ix),
                    outliers.of(ix),
                    communities.of(ix),
                    view.category(ix).name(),
                ])
                .unwrap();
                if let Some(seen) = view.visit("linker", ix) {
                    visit.execute(params![ix, seen.at.0, seen.version]).unwrap();
                }
                for &number in view.keywords(ix) {
                    word.execute(params![view.keyword_name(number), ix]).unwrap();
                }
                for near in view.merged_edges(ix) {
                    edge.execute(params![ix, near.ix]).unwrap();
                }
            }
        }
        transaction.commit().unwrap();
        connection.execute_batch(INDEXES).unwrap();
        Sqlite(connection)
    }

    /// The first column of the rows of a query. `:now` is bound to the time of the graph.
    pub fn ask(&self, query: &str) -> Vec<u32> {
        let mut statement = self.0.prepare_cached(query).unwrap();
        let bound: &[(&str, &dyn rusqlite::ToSql)] = &[(":now", &NOW.0)];
        let bound = if query.contains(":now") { bound } else { &[] };
        statement.query_map(bound, |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    }
}
