//! Declares a section of the settings: a struct whose field `some_field` is the setting `some-field`. Unknown settings
//! are rejected. A file that declares sections must import `Serialize`, `Deserialize` and `JsonSchema`.

macro_rules! section {
    ($(#[$doc:meta])* $name:ident { $($(#[$fdoc:meta])* $field:ident: $type:ty),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "kebab-case", deny_unknown_fields)]
        pub struct $name { $($(#[$fdoc])* pub $field: $type),+ }
    };
}

pub(super) use section;
