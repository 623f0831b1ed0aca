//! Which server's manners an endpoint has.

use std::{fmt, str::FromStr};

/// A server to be like: how answers, streams, refusals, metrics and its other paths look. The engine
/// behind is the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    /// SGLang: refusals without an `error` object, `/server_info`, `/metrics` with `sglang:` names.
    #[default]
    Sglang,
    /// vLLM: `/version`, `/tokenize`, `/metrics` with `vllm:` names.
    Vllm,
    /// llama.cpp's server: `timings`, `/props`, `/slots`, `/metrics` with `llamacpp:` names.
    LlamaCpp,
    /// OpenAI's API: nothing but models and chat, an `x-request-id` with every answer.
    OpenAi,
}

impl Shape {
    /// Every shape.
    pub const ALL: [Self; 4] = [Self::Sglang, Self::Vllm, Self::LlamaCpp, Self::OpenAi];

    /// The name on the command line.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sglang => "sglang",
            Self::Vllm => "vllm",
            Self::LlamaCpp => "llamacpp",
            Self::OpenAi => "openai",
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A text that names no shape.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown shape `{0}` (known shapes: sglang, vllm, llamacpp, openai)")]
pub struct UnknownShape(String);

impl FromStr for Shape {
    type Err = UnknownShape;

    fn from_str(text: &str) -> Result<Self, UnknownShape> {
        let named = Self::ALL.into_iter().find(|shape| shape.as_str() == text);
        named.ok_or_else(|| UnknownShape(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_is_known_by_its_name_and_the_refusal_of_another_names_all() {
        for shape in Shape::ALL {
            assert_eq!(shape.as_str().parse(), Ok(shape));
            let refused = "tgi".parse::<Shape>().expect_err("no shape").to_string();
            assert!(refused.contains(shape.as_str()), "{refused}");
        }
    }
}
