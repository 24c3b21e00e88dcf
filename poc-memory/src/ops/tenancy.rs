//! The argument `tenant`, which selects a tenant's memory. All ops accept it on every surface, except those that work
//! on all tenants.

use poc_config::TenantSchema;
use poc_graph::Tuple;
use poc_graph::error::{Error, Result};
use serde_json::{Map, Value};

/// The name of the argument.
pub const FIELD: &str = "tenant";

/// The tenants whose notes an op works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TenantScope {
    /// One tenant: the one that the request names, or the default tenant.
    One,
    /// All tenants, or the one that the request names.
    AllOrOne,
    /// All tenants, or none because the op works on no notes. The op accepts no argument `tenant`.
    All,
}

impl TenantScope {
    /// Whether requests may name a tenant.
    pub fn accepts_tenant(self) -> bool {
        self != TenantScope::All
    }
}

/// Removes the tenant from the arguments of an op. It is the default tenant if they have none.
///
/// # Errors
/// `invalid_argument` with the field `tenant` or `tenant.KEY`, and the errors of
/// [`TenantSchema::validate`].
pub(super) fn take(op: &str, scope: TenantScope, args: &mut Value, schema: &TenantSchema) -> Result<Tuple> {
    let given = args.as_object_mut().and_then(|args| args.shift_remove(FIELD));
    let tuple = given.as_ref().map(decode).transpose()?.unwrap_or_default();
    match scope {
        TenantScope::One => schema.validate(&tuple)?,
        _ if tuple.is_default() => {}
        TenantScope::AllOrOne => schema.validate(&tuple)?,
        TenantScope::All => {
            return Err(Error::invalid(format!(
                "`{op}` applies to all tenants and does not accept `tenant`"
            ))
            .hint("leave the tenant out")
            .field(FIELD));
        }
    }
    Ok(tuple)
}

/// The tenant that an argument names.
///
/// # Errors
/// `invalid_argument` with the field `tenant` or `tenant.KEY`.
pub(crate) fn decode(given: &Value) -> Result<Tuple> {
    let pairs = match given {
        Value::Object(pairs) => pairs,
        _ => {
            return Err(Error::invalid("the tenant is not an object")
                .hint("write `{\"key\": \"value\"}`")
                .field(FIELD));
        }
    };
    let pair = |(key, value): (&'_ String, &'_ Value)| match value {
        Value::String(value) => Ok((key.clone(), value.clone())),
        _ => Err(Error::invalid(format!("the tenant's value for `{key}` is not text"))
            .hint("write `{\"key\": \"value\"}`")
            .field(format!("{FIELD}.{key}"))),
    };
    Tuple::new(pairs.iter().map(pair).collect::<Result<Vec<_>>>()?)
}

/// The name of a tenant in answers: `user=ann`; `None` for the default tenant.
pub(super) fn name(tenant: &Tuple) -> Option<String> {
    (!tenant.is_default()).then(|| tenant.to_string())
}

/// Adds a tenant to the arguments of a caller that is bound to it. For the default tenant, nothing is added.
///
/// # Errors
/// `invalid_argument` with the field `tenant` when the arguments name a tenant themselves.
pub fn bind(args: &mut Map<String, Value>, tenant: &Tuple) -> Result<()> {
    if args.contains_key(FIELD) {
        return Err(Error::invalid("this caller is bound to one tenant")
            .hint("leave the tenant out")
            .field(FIELD));
    }
    if !tenant.is_default() {
        let pairs = tenant.pairs().map(|(key, value)| (key.to_owned(), value.into()));
        args.insert(FIELD.to_owned(), Value::Object(pairs.collect()));
    }
    Ok(())
}

/// Checks that the schema allows the tenant that an argument names.
///
/// # Errors
/// `invalid_argument` with the field `tenant` or `tenant.KEY`, and the errors of [`TenantSchema::validate`].
pub fn check(given: &Value, schema: &TenantSchema) -> Result<()> {
    schema.validate(&decode(given)?)
}

/// Parses texts of the form `key=value` into the argument.
///
/// # Errors
/// `invalid_argument` when a text has no `=` or a key is repeated.
pub fn parse_pairs<S: AsRef<str>>(texts: &[S]) -> Result<Value> {
    let mut pairs = Map::new();
    for text in texts {
        let text = text.as_ref();
        let (key, value) = text.split_once('=').ok_or_else(|| {
            Error::invalid(format!("`{text}` is not a tenant")).hint("write `key=value`").field(FIELD)
        })?;
        let key = key.trim();
        if pairs.insert(key.to_owned(), value.into()).is_some() {
            // A repeated key gets the same error as in a JSON request.
            Tuple::new([(key, "x"), (key, "x")])?;
        }
    }
    Ok(Value::Object(pairs))
}

/// Adds the argument to the JSON Schema of a request. Only an op that works on one tenant may require it.
pub(crate) fn describe(request: &mut Map<String, Value>, schema: &TenantSchema, scope: TenantScope) {
    if let Value::Object(fields) = request.entry("properties").or_insert_with(|| Map::new().into()) {
        fields.insert(FIELD.into(), schema.json_schema());
    }
    if scope == TenantScope::One
        && schema.requires_tenant()
        && let Value::Array(required) = request.entry("required").or_insert_with(|| Value::Array(Vec::new()))
    {
        required.push(FIELD.into());
    }
}
