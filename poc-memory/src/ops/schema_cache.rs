//! JSON Schemas that calls are compared with. Each is generated once, because that takes longer than to decode a call.

use parking_lot::Mutex;
use serde_json::Value;
use std::any::TypeId;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The schemas of types, as far as they were needed.
pub(crate) struct SchemaCache(Mutex<BTreeMap<TypeId, Arc<Value>>>);

impl SchemaCache {
    pub(crate) const fn new() -> SchemaCache {
        SchemaCache(Mutex::new(BTreeMap::new()))
    }

    /// The schema of a type. `generate` is called the first time.
    pub(crate) fn schema_of<T: 'static>(&self, generate: impl FnOnce() -> Value) -> Arc<Value> {
        let mut schemas = self.0.lock();
        Arc::clone(schemas.entry(TypeId::of::<T>()).or_insert_with(|| Arc::new(generate())))
    }
}
