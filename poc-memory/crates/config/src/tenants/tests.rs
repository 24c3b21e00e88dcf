//! The section `[tenant-schema]`: which tenants and which schemas are accepted.

use super::*;
use crate::Config;

fn load(text: &str) -> Result<TenantSchema> {
    Config::layered(Some(("config.toml", text)), std::iter::empty()).map(|config| config.tenant_schema)
}

const SCHEMA: &str = r#"
    [tenant-schema]
    description = "A user, or a team and its project"
    one-of = [["user"], ["team", "project"]]
    keys.app = { description = "The application", enum = ["chat", "mail"], required = true }
    keys.user = { pattern = "^[a-z]+$" }
    keys.team = { pattern = "^t", enum = ["t1", "t2"] }
    keys.project = {}
"#;

#[test]
fn a_value_may_be_spelled_with_composed_or_decomposed_characters() {
    for rules in [
        "{ enum = [\"Andr\u{e9}\"], pattern = \"^.{5}$\" }",
        "{ enum = [\"Andre\u{301}\"], pattern = \"^.{6}$\" }",
    ] {
        let schema = load(&format!("[tenant-schema]\nkeys.user = {rules}")).unwrap();
        for user in ["Andr\u{e9}", "Andre\u{301}"] {
            assert_eq!(schema.validate(&Tuple::new([("user", user)]).unwrap()), Ok(()), "{user:?}: {rules}");
        }
        assert!(schema.validate(&Tuple::new([("user", "Andre")]).unwrap()).is_err());
    }
}

/// The first problem is reported, in the order unknown key, value, pattern, required key, sets.
#[test]
fn the_first_problem_is_reported() {
    let schema = load(SCHEMA).unwrap();
    let report = |pairs: &str| -> String {
        let pairs = pairs.split_whitespace().map(|pair| pair.split_once('=').unwrap());
        let tuple = Tuple::new(pairs).unwrap();
        let before = tuple.clone();
        let result = schema.validate(&tuple);
        assert_eq!(tuple, before);
        match result {
            Ok(()) => format!("{tuple}: ok"),
            Err(error) => {
                let at = error.at.clone().unwrap();
                assert_eq!(at.expected.as_ref(), Some(&schema.json_schema()));
                let (code, hint) = (error.code.name(), error.hint.clone().unwrap());
                format!("{tuple}: {code} {at} {:?}: {}; {hint}", at.got, error.message)
            }
        }
    };
    let cases = [
        "app=chat user=ann",
        "app=mail team=t1 project=x",
        "colour=red app=no user=UPPER",
        "usr=ann",
        "app=no user=UPPER",
        "app=chat team=x1",
        "user=UPPER",
        "app=chat user=UPPER",
        "user=ann",
        "user=ann team=t1 project=x",
        "",
        "app=chat",
        "app=chat team=t1",
        "app=chat user=ann team=t2 project=x",
        "app=chat user=ann team=t2",
    ];
    let all: Vec<String> = cases.iter().map(|case| report(case)).collect();
    insta::assert_snapshot!(all.join("\n"), @r#"
    app=chat user=ann: ok
    app=mail project=x team=t1: ok
    app=no colour=red user=UPPER: tenant_unknown_key `tenant.colour` Some("red"): the schema defines no key `colour`; the keys are `app`, `project`, `team`, `user`
    usr=ann: tenant_unknown_key `tenant.usr` Some("ann"): the schema defines no key `usr`; did you mean `user`?
    app=no user=UPPER: tenant_enum_mismatch `tenant.app` Some("no"): `no` is none of the values of `app`; the values are `chat`, `mail`
    app=chat team=x1: tenant_enum_mismatch `tenant.team` Some("x1"): `x1` is none of the values of `team`; the values are `t1`, `t2`
    user=UPPER: tenant_pattern_mismatch `tenant.user` Some("UPPER"): `UPPER` does not match the pattern of `user`; the pattern is `^[a-z]+$`
    app=chat user=UPPER: tenant_pattern_mismatch `tenant.user` Some("UPPER"): `UPPER` does not match the pattern of `user`; the pattern is `^[a-z]+$`
    user=ann: tenant_missing_required `tenant.app` None: the tenant has no value for the key `app`; give `app=VALUE`
    project=x team=t1 user=ann: tenant_missing_required `tenant.app` None: the tenant has no value for the key `app`; give `app=VALUE`
    default: tenant_missing_required `tenant.app` None: the tenant has no value for the key `app`; give `app=VALUE`
    app=chat: tenant_one_of_no_match `tenant` Some("app=chat"): the tenant has none of the required sets of keys; give all keys of one set: `user`; `team`, `project`
    app=chat team=t1: tenant_one_of_no_match `tenant` Some("app=chat team=t1"): the tenant has none of the required sets of keys; give all keys of one set: `user`; `team`, `project`
    app=chat project=x team=t2 user=ann: tenant_one_of_multiple_match `tenant` Some("app=chat project=x team=t2 user=ann"): the tenant has more than one of the alternative sets of keys; give the keys of only one set: `user`; `team`, `project`
    app=chat team=t2 user=ann: ok
    "#);
}

#[test]
fn a_schema_without_keys_accepts_every_tenant() {
    let schema = Config::defaults().unwrap().tenant_schema;
    schema.validate(&Tuple::default()).unwrap();
    schema.validate(&Tuple::new([("any", "thing")]).unwrap()).unwrap();
    assert!(!schema.requires_tenant() && load(SCHEMA).unwrap().requires_tenant());
    assert!(!load("[tenant-schema.keys.user]").unwrap().requires_tenant());
}

#[test]
fn the_schema_is_converted_to_json_schema() {
    insta::assert_snapshot!(format!("{:#}", load(SCHEMA).unwrap().json_schema()), @r#"
    {
      "type": "object",
      "description": "A user, or a team and its project",
      "properties": {
        "app": {
          "type": "string",
          "description": "The application",
          "enum": [
            "chat",
            "mail"
          ]
        },
        "project": {
          "type": "string"
        },
        "team": {
          "type": "string",
          "pattern": "^t",
          "enum": [
            "t1",
            "t2"
          ]
        },
        "user": {
          "type": "string",
          "pattern": "^[a-z]+$"
        }
      },
      "required": [
        "app"
      ],
      "additionalProperties": false,
      "oneOf": [
        {
          "required": [
            "user"
          ]
        },
        {
          "required": [
            "team",
            "project"
          ]
        }
      ]
    }
    "#);
}

#[test]
fn an_invalid_schema_is_refused_with_its_location() {
    let texts = [
        "keys.user.pattern = \"[\"",
        "keys.user.enum = []",
        "keys.user.enum = [\"a\", \"a\"]",
        "keys.user.enum = [\" a\"]",
        "keys.user = { enum = [\"A\"], pattern = \"^[a-z]$\" }",
        "keys.\"a=b\" = {}",
        "keys.\" a\" = {}",
        "keys.user.requird = true",
        "keys.user.required = \"yes\"",
        "keys.user = {}\none-of = [[\"usr\"]]",
        "keys.user = {}\none-of = [[]]",
        "keys.user = {}\none-of = [[\"user\", \"user\"]]",
        "keys.user = {}\none-of = [[\"user\"], [\"user\"]]",
        "one-of = [[\"user\"]]",
    ];
    let report = |text: &&str| {
        let error = load(&format!("[tenant-schema]\n{text}")).unwrap_err();
        assert_eq!(error.code, Code::InvalidConfig);
        format!("{error}\n  {}", error.hint.as_deref().unwrap_or_default())
    };
    insta::assert_snapshot!(texts.iter().map(report).collect::<Vec<_>>().join("\n"), @r#"
    config.toml:2:11: `tenant-schema.keys.user.pattern`: the value is not a regular expression: unclosed character class
      
    config.toml:2:11: `tenant-schema.keys.user.enum`: `user` has no allowed values
      list the allowed values, or leave `enum` out
    config.toml:2:11: `tenant-schema.keys.user.enum`: `a` is listed twice
      list every value once
    config.toml:2:11: `tenant-schema.keys.user.enum`: ` a` is not a valid value
      leave the space out
    config.toml:2:15: `tenant-schema.keys.user.enum`: `A` does not match the `pattern` of its key
      leave it out, or change `pattern`
    config.toml:2:6: `tenant-schema.keys.a=b`: the tenant's key `a=b` has a character that no key may have
      a key has neither `=` nor control characters
    config.toml:2:6: `tenant-schema.keys. a`: ` a` is not a valid key name
      leave the space out
    config.toml:2:11: `tenant-schema.keys.user.requird`: unknown key `requird`
      did you mean `required`?
    config.toml:2:11: `tenant-schema.keys.user.required`: cannot be the text "yes"
      give `true` or `false`
    config.toml:3:1: `tenant-schema.one-of`: a set names the key `usr`, which does not exist
      did you mean `user`?
    config.toml:3:1: `tenant-schema.one-of`: one of the sets is empty
      name the keys that belong together
    config.toml:3:1: `tenant-schema.one-of`: a set names a key twice
      name every key once
    config.toml:3:1: `tenant-schema.one-of`: two sets are the same
      leave one of them out
    config.toml:2:1: `tenant-schema.one-of`: a set names the key `user`, which does not exist
      add a section `[tenant-schema.keys.user]`
    "#);
}
