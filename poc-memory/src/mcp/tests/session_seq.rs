//! Tests of the change that the calls of a session wait for.

use super::*;
use crate::mcp::session_seq::{SEQ_KEY, SessionOpExecutor, SessionSeq};
use crate::ops;
use parking_lot::Mutex;
use rmcp::model::{MetaObject, RequestMetaObject};

/// Makes changes 10, 20, 30 and so on, and records for which change each request waits.
struct Changes {
    is_shared: bool,
    waited: Mutex<Vec<Value>>,
}

impl OpExecutor for Changes {
    fn call(&self, _: &'static OpDef, request: Value) -> Result<Value> {
        let mut waited = self.waited.lock();
        waited.push(request["min_seq"].clone());
        Ok(json!({"key": "kettle", "seq": 10 * waited.len()}))
    }

    fn offers(&self, _: Access) -> bool {
        true
    }

    fn tool_set(&self) -> ToolSet {
        ToolSet::Default
    }

    fn tenants(&self) -> Option<&TenantSchema> {
        None
    }

    fn shares_log(&self) -> bool {
        self.is_shared
    }
}

fn changes(is_shared: bool) -> Arc<Changes> {
    Arc::new(Changes { is_shared, waited: Mutex::default() })
}

fn meta(given: Value) -> RequestMetaObject {
    RequestMetaObject(MetaObject([(SEQ_KEY.to_owned(), given)].into_iter().collect()))
}

#[test]
fn calls_wait_for_what_the_session_has_seen_and_for_what_they_name() {
    let check = |is_shared: bool, waited: Value, seen: Option<Value>| {
        let (changes, session) = (changes(is_shared), SessionSeq::default());
        assert_eq!(session.meta(), None);
        let call = |meta: RequestMetaObject, request: Value| {
            let executor = SessionOpExecutor::new(changes.clone(), session.clone(), &meta, None).unwrap();
            executor.call(ops::find("link").unwrap(), request).unwrap();
        };
        call(RequestMetaObject::new(), json!({}));
        call(RequestMetaObject::new(), json!({}));
        call(meta(json!(7)), json!({}));
        call(meta(json!("70")), json!({"min_seq": 60}));
        call(RequestMetaObject::new(), json!({"min_seq": "80"}));
        assert_eq!(json!(*changes.waited.lock()), waited);
        assert_eq!(session.meta().map(|meta| Value::Object(meta.0)), seen);
    };
    check(true, json!([null, 10, 20, 70, 80]), Some(json!({"poc-memory/seq": 80})));
    // Without a shared log, a number may be left from a memory that a backup has replaced since.
    check(false, json!([null, null, 7, 70, 80]), None);
}

#[test]
fn what_is_not_the_number_of_a_change_is_refused() {
    let changes = changes(true);
    let new =
        |meta: RequestMetaObject| SessionOpExecutor::new(changes.clone(), SessionSeq::default(), &meta, None);
    let wrong =
        [json!(-1), json!(1.5), json!(1e20), json!("-1"), json!("soon"), json!(""), json!(null), json!({})];
    for wrong in wrong {
        let error = new(meta(wrong.clone())).err().unwrap();
        assert_eq!(error.code.name(), "invalid_argument", "{wrong}");
        assert_eq!(error.at.unwrap().field.as_deref(), Some(SEQ_KEY), "{wrong}");
        assert!(error.message.contains("is not the number of a change"), "{wrong}");
        let executor = new(RequestMetaObject::new()).unwrap();
        let error = executor.call(ops::find("link").unwrap(), json!({"min_seq": wrong})).unwrap_err();
        assert_eq!(error.at.unwrap().field.as_deref(), Some("min_seq"));
    }
    assert!(changes.waited.lock().is_empty());
}
