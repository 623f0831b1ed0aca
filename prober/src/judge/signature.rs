//! The signature of a finding: what it shows of the mechanism, in a few words. One defect makes findings of one
//! signature, whoever receives whose pages and however many.
//!
//! Left out is what is chance: which tenants, slots and lengths, how many canaries came out and in which order.

use super::{Finding, Seen};
use serde::{Deserialize, Serialize};

/// Where in a response canaries of somebody else stood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SeenIn {
    /// The answer's text.
    Text,
    /// The model's reasoning.
    Reasoning,
    /// The name or the arguments of a tool's call.
    ToolCall,
    /// A header or trailer.
    Header,
    /// Anything else: an error, a field that is no text.
    Elsewhere,
}

impl SeenIn {
    pub(super) fn of(seen: &Seen) -> Self {
        let place = seen.place.as_str();
        if place.starts_with("header ") || place.starts_with("trailer ") {
            Self::Header
        } else if place.contains("tool") || place.contains("function") {
            Self::ToolCall
        } else if place.contains("reasoning") || place.contains("thinking") {
            Self::Reasoning
        } else if seen.in_answer {
            Self::Text
        } else {
            Self::Elsewhere
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Reasoning => "reasoning",
            Self::ToolCall => "tool_call",
            Self::Header => "header",
            Self::Elsewhere => "elsewhere",
        }
    }
}

impl Finding {
    /// Its signature, of a leak with how its donor stands to the receiver.
    #[must_use]
    pub fn signature(&self, relation: Option<&str>) -> String {
        let one = match self {
            Self::Leak {
                seen_in,
                is_over_limit,
                ..
            } => {
                let relation = relation.unwrap_or("unknown");
                let length = if *is_over_limit {
                    "over_limit"
                } else {
                    "within_limit"
                };
                return format!("{relation}/{length}/{}", seen_in.as_str());
            }
            Self::LimitViolation { .. } => "answered",
            Self::UsageAnomaly {
                estimated,
                reported,
            } if reported > estimated => "more",
            Self::UsageAnomaly { .. } | Self::Truncation { .. } => "fewer",
            Self::SharedPrefixCache {
                cached_tokens: None,
                ..
            } => "faster",
            Self::SharedPrefixCache { .. } => "counted",
            Self::SharedResponse { .. } => "same_id",
            Self::Divergence { beside: true, .. } => "beside",
            Self::Divergence { beside: false, .. } => "after",
        };
        one.to_owned()
    }
}
