//! Secrets in the texts that a request stores.

use super::{Ctx, Principal};
use poc_graph::error::{Error, Result};
use poc_notes::secrets::{self, SecretCounts, scrub_in_place};
use serde_json::{Map, Value};

/// Finds secrets in texts to store. In the texts of a model, each is replaced by a placeholder. The texts of a person
/// stay as they are, because a person may keep a secret on purpose.
pub(super) struct SecretCheck {
    replaces: bool,
    found: SecretCounts,
}

impl SecretCheck {
    pub(super) fn of(ctx: &Ctx<'_>) -> SecretCheck {
        SecretCheck { replaces: ctx.actor == Principal::Model, found: SecretCounts::default() }
    }

    /// Checks a text.
    pub(super) fn text(&mut self, text: &mut String) {
        match self.replaces {
            true => scrub_in_place(text, &mut self.found),
            false => secrets::count(text, &mut self.found),
        }
    }

    /// Checks the texts of a JSON object.
    pub(super) fn object(&mut self, object: &mut Map<String, Value>, field: &str) -> Result<()> {
        let text = Value::Object(object.clone()).to_string();
        let mut checked = text.clone();
        self.text(&mut checked);
        if checked != text {
            *object = serde_json::from_str(&checked).map_err(|_| {
                Error::invalid("the object contains a secret that cannot be replaced")
                    .hint("leave the secret out")
                    .field(field)
            })?;
        }
        Ok(())
    }

    /// What was found, as a warning.
    pub(super) fn warning(&self) -> Option<String> {
        if self.replaces || self.found.is_empty() {
            return self.found.replaced_in_texts_of_model();
        }
        let kinds = self.found.kinds();
        Some(format!("the text seems to contain secrets ({kinds}), which search and assistants will show"))
    }
}

/// The warning of an answer as a line; empty if there is none.
pub(super) fn line(warning: Option<&String>) -> String {
    warning.map_or_else(String::new, |warning| format!("warning: {warning}\n"))
}
