//! Small documents that tell overhead, filler and canaries apart, for each form and layout that a
//! schedule uses: what stands around a canary differs between layouts, and costs tokens too.

use super::{Order, PlannedProbe, Role, Schedule};
use canary_gen::document::SMALLEST_STRIDE;
use canary_gen::{Form, Layout};

/// A longer document averages better, but costs tokens: so much of the window, and never more than this.
const LONG_SHARE: u64 = 8;
const LONG_TOKENS: u64 = 4_000;
const SHORT_TOKENS: u64 = 200;
/// Calibration needs the count, not the answer.
const ANSWER_TOKENS: u32 = 4;

/// One step a document.
pub(super) fn steps(
    order: &Order,
    main: &Schedule,
    needed: impl Fn(Form, Layout) -> bool,
) -> Vec<Vec<PlannedProbe>> {
    let seed = order.seed.child("calibration");
    let mut kinds: Vec<(Form, Layout)> = Vec::new();
    for probe in main.steps.iter().flatten() {
        let known = |(form, layout): &(Form, Layout)| {
            *form == probe.form && layout.as_str() == probe.layout.as_str()
        };
        if !kinds.iter().any(known) && needed(probe.form, probe.layout) {
            kinds.push((probe.form, probe.layout));
        }
    }
    kinds
        .into_iter()
        .flat_map(|(form, layout)| {
            documents(layout, order.context_tokens)
                .into_iter()
                .map(move |made| (form, made))
        })
        .enumerate()
        .map(|(index, (form, (tokens, layout)))| {
            vec![PlannedProbe {
                tenant: index % order.tenants.max(1),
                role: Role::Calibration,
                tokens,
                layout,
                form,
                seed: seed.child_number("document", index as u64),
                max_answer_tokens: ANSWER_TOKENS,
            }]
        })
        .collect()
}

/// Lengths and layouts that differ as much as possible in what they hold.
fn documents(layout: Layout, context_tokens: u64) -> Vec<(u64, Layout)> {
    let long = (context_tokens / LONG_SHARE).clamp(SHORT_TOKENS, LONG_TOKENS);
    let sparse = |stride_tokens| Layout::Sparse { stride_tokens };
    match layout {
        // How many tokens a canary takes varies: few canaries in the short ones, which tell the overhead,
        // and two of these.
        Layout::Sparse { .. } => vec![
            (SHORT_TOKENS, sparse(SHORT_TOKENS as u32)),
            (SHORT_TOKENS, sparse(SHORT_TOKENS as u32)),
            (long, sparse(u32::try_from(long).unwrap_or(u32::MAX))),
            (long / 2, sparse(SMALLEST_STRIDE)),
        ],
        Layout::Dense => vec![(SHORT_TOKENS, Layout::Dense), (long, Layout::Dense)],
    }
}
