//! Renders prompts with the Jinja chat template of the model file.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, Error, ErrorKind, context};
use serde_json::Value;

/// Maximum number of steps of a template. Real templates take a few hundred per turn.
const FUEL: u64 = 1_000_000;

/// The turns as one text up to the start of the reply. When the template rejects system messages, the system prompt is
/// put in front of the first turn.
pub(super) fn render(
    template: &str,
    system: &str,
    turns: &[Value],
    bos: &str,
    eos: &str,
) -> Result<String, Error> {
    let mut jinja = Environment::new();
    // Templates are written for these settings of Hugging Face's transformers.
    jinja.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    jinja.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
    jinja.set_fuel(Some(FUEL));
    let raise = |message: String| Err::<String, _>(Error::new(ErrorKind::InvalidOperation, message));
    jinja.add_function("raise_exception", raise);
    jinja.add_template("chat", template)?;
    let chat = jinja.get_template("chat")?;
    let write = |messages: &[Value]| {
        chat.render(context! {
            messages => Serde(messages),
            bos_token => bos,
            eos_token => eos,
            add_generation_prompt => true,
            // The reply must be JSON from its first character, so there can be no thinking block.
            enable_thinking => false,
        })
    };
    if system.is_empty() {
        return write(turns);
    }
    let mut with_system = vec![serde_json::json!({"role": "system", "content": system})];
    with_system.extend_from_slice(turns);
    write(&with_system).or_else(|_| {
        let mut merged = turns.to_vec();
        if let Some(content) = merged.first_mut().and_then(|first| first.get_mut("content")) {
            let text = content.as_str().unwrap_or_default();
            *content = format!("{system}\n\n{text}").into();
        }
        write(&merged)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rendered(template: &str, system: &str) -> String {
        let turns = [
            json!({"role": "user", "content": " one "}),
            json!({"role": "assistant", "content": "two"}),
            json!({"role": "user", "content": "three"}),
        ];
        render(template, system, &turns, "<s>", "</s>").unwrap_or_else(|error| error.to_string())
    }

    #[test]
    fn templates_of_known_models_are_rendered() {
        // Qwen's, shortened.
        let chatml = "{%- if messages[0].role == 'system' %}\n    {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}\n{%- endif %}\n\
            {%- for message in messages %}\n    {%- if message.role != 'system' %}\n        {{- '<|im_start|>' + message.role + '\\n' + message.content.strip() + '<|im_end|>\\n' }}\n    {%- endif %}\n{%- endfor %}\n\
            {%- if add_generation_prompt %}\n    {{- '<|im_start|>assistant\\n' }}\n    {%- if enable_thinking is defined and enable_thinking is false %}\n        {{- '<think>\\n\\n</think>\\n\\n' }}\n    {%- endif %}\n{%- endif %}";
        insta::assert_snapshot!(rendered(chatml, "be kind"), @r"
        <|im_start|>system
        be kind<|im_end|>
        <|im_start|>user
        one<|im_end|>
        <|im_start|>assistant
        two<|im_end|>
        <|im_start|>user
        three<|im_end|>
        <|im_start|>assistant
        <think>

        </think>
        ");
        // A template without a system prompt, like those of Mistral and Gemma.
        let strict = "{{ bos_token }}{% for message in messages %}{% if message['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}\
            {% if message['role'] == 'user' %}[INST] {{ message['content'] | trim }} [/INST]{% else %}{{ message['content'] }}{{ eos_token }}{% endif %}{% endfor %}";
        assert_eq!(
            rendered(strict, "be kind"),
            "<s>[INST] be kind\n\n one [/INST]two</s>[INST] three [/INST]"
        );
        assert_eq!(rendered(strict, ""), "<s>[INST] one [/INST]two</s>[INST] three [/INST]");
    }

    #[test]
    fn a_template_that_fails_or_never_ends_is_an_error() {
        let turns = [json!({"role": "user", "content": "one"})];
        for template in ["{{ raise_exception('no') }}", "{% if %}", "{{ messages[0].content.nothing() }}"] {
            assert!(render(template, "", &turns, "", "").is_err(), "{template}");
        }
        let long = "{% for a in range(9999) %}{% for b in range(9999) %}{{ a }}{% endfor %}{% endfor %}";
        assert_eq!(render(long, "", &turns, "", "").unwrap_err().kind(), ErrorKind::OutOfFuel);
    }
}
