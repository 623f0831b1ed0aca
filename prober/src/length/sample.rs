//! Samples: documents that nobody is ever sent, counted so that a first real one comes near at once.

use super::words::{Costs, Known, count_together};
use super::{CountError, Counter};
use canary_gen::document::{SMALLEST_STRIDE, Summary};
use canary_gen::{
    Document, DocumentSpec, Form, KeyRing, Layout, ProbeNumber, Question, Seed, TenantNumber,
    TokenMeasure,
};

/// Lengths and strides, in tokens: most words of the filler, and enough canaries for an average.
const SAMPLES: [(u64, u32); 2] = [(6_000, 6_000), (4_000, SMALLEST_STRIDE)];

/// What was counted.
pub struct Sample {
    /// The documents' measures and lengths, the chat template taken to be as [`TokenMeasure::assumed`]
    /// has it.
    pub documents: Vec<(Summary, u64)>,
    /// What their words cost.
    pub known: Known,
}

/// Counts samples of a form and layout, with canaries of no real key.
///
/// # Errors
/// When words cannot be counted.
pub async fn sample(
    counter: &Counter,
    costs: Costs,
    form: Form,
    layout: Layout,
) -> Result<Sample, CountError> {
    let ring = KeyRing::from_root(&[0; 32]);
    let measure = TokenMeasure::assumed(form);
    let tenant = TenantNumber::new(0).ok_or(CountError::Counter)?;
    let probe = ProbeNumber::new(0).ok_or(CountError::Counter)?;
    let documents = SAMPLES.map(|(tokens, stride_tokens)| {
        let spec = DocumentSpec {
            // One seed for all: they begin with the same word.
            seed: Seed::from_number(0),
            tenant,
            probe,
            form,
            layout: match layout {
                Layout::Sparse { .. } | Layout::Plain => Layout::Sparse { stride_tokens },
                Layout::Dense => layout,
            },
            tokens,
            head: None,
            question: Question::One,
            closing: 0,
            measure,
        };
        Document::new(spec, ring.clone())
    });
    let (known, counts) = count_together(counter, costs, &documents).await?;
    let measured = documents.iter().zip(counts);
    let measured =
        measured.map(|(document, tokens)| (document.measure(), tokens + measure.overhead as u64));
    Ok(Sample {
        documents: measured.collect(),
        known,
    })
}
