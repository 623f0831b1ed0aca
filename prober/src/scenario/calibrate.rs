//! Small documents that tell overhead, filler and canaries apart, for each form and layout that a
//! schedule uses: what stands around a canary differs between layouts, and costs tokens too.

use super::{Need, Order, PlannedProbe, Role, Schedule};
use canary_gen::document::SMALLEST_STRIDE;
use canary_gen::{Form, Layout};

/// Too short for a canary, so that nothing in it scatters: it tells the overhead.
const BARE_TOKENS: u64 = 48;
/// Prose with a single canary, which tells what prose costs: so much of the window, within these bounds.
const PROSE_SHARE: u64 = 8;
const PROSE_TOKENS: (u64, u64) = (200, 4_000);
/// Many canaries, which tell what they cost on average: so much of the window, at most so many tokens.
const MANY_SHARE: u64 = 64;
const MANY_TOKENS: u64 = 16_000;
/// Calibration needs the count, not the answer.
const ANSWER_TOKENS: u32 = 4;

/// One step a document.
pub(super) fn steps(
    order: &Order,
    main: &Schedule,
    need: impl Fn(Form, Layout) -> Need,
) -> Vec<Vec<PlannedProbe>> {
    let seed = order.seed.child("calibration");
    let mut has_template = false;
    main.kinds()
        .into_iter()
        .flat_map(|(form, layout)| {
            let mut documents = documents(layout, order.context_tokens);
            // The template is the same for all.
            documents.truncate(match need(form, layout) {
                Need::Nothing => 0,
                Need::Template => usize::from(!std::mem::replace(&mut has_template, true)),
                Need::Measure => documents.len(),
            });
            documents.into_iter().map(move |made| (form, made))
        })
        .enumerate()
        .map(|(index, (form, (tokens, layout)))| {
            let tenant = index % order.tenants.max(1);
            let seed = seed.child_number("document", index as u64);
            vec![PlannedProbe {
                layout,
                form,
                max_answer_tokens: ANSWER_TOKENS,
                ..PlannedProbe::new(order, tenant, Role::Calibration, tokens, seed)
            }]
        })
        .collect()
}

/// Lengths and layouts that differ as much as possible in what they hold.
fn documents(layout: Layout, context_tokens: u64) -> Vec<(u64, Layout)> {
    let (shortest, longest) = PROSE_TOKENS;
    let prose = (context_tokens / PROSE_SHARE).clamp(shortest, longest);
    let many = (context_tokens / MANY_SHARE).clamp(prose / 2, MANY_TOKENS);
    let sparse = |stride_tokens| Layout::Sparse { stride_tokens };
    match layout {
        Layout::Sparse { .. } | Layout::Plain => vec![
            (BARE_TOKENS, layout),
            (prose, sparse(u32::try_from(prose).unwrap_or(u32::MAX))),
            (many, sparse(SMALLEST_STRIDE)),
        ],
        Layout::Dense => vec![(BARE_TOKENS, layout), (many.max(prose), layout)],
    }
}
