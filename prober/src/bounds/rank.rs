//! Whether values are smaller than others: the rank-sum test, exact also where values are equal.
//!
//! H. B. Mann and D. R. Whitney, "On a test of whether one of two random variables is stochastically
//! larger than the other", Ann. Math. Statist. 18 (1947) 50-60: the sum of the ranks of a sample among all
//! values is compared with what it would be if chance alone had picked that sample out of them. Equal
//! values share the mean of their ranks, and the chances are those given which values are equal; they are
//! added up value by value (B. Streitberg and J. Röhmel, "Exact distributions for permutation and rank
//! tests: an introduction to some recently published algorithms", Statist. Software Newsl. 12 (1986)
//! 10-17: their shift algorithm, here on chances instead of counts, which would overflow).

use super::Probability;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

/// Values of each sample, at most. The work grows with the fourth power of it: 64 and 64 take 20 ms at
/// worst, 128 and 128 a third of a second and 50 MB.
pub const MOST_RANKED: usize = 128;

/// The p-value of "values of `sample` tend to be smaller than those of `than`": the chance of ranks as low
/// as those of `sample`, or lower, if it made no difference to any value which of the two it belongs to.
/// Right to twelve digits.
///
/// It assumes that what belongs to which was drawn at random, each order as likely as any other: for times
/// of answers, that the order of sending was shuffled as a whole, not in pairs or blocks. Nothing else:
/// times may drift, depend on each other and have any distribution. It is for one look at samples whose
/// sizes were fixed beforehand.
///
/// `None` where nothing can be told: a sample is empty, or has more than [`MOST_RANKED`] values. (A normal
/// approximation for these would be wrong most where it matters, at the smallest p-values.)
#[must_use]
pub fn faster(sample: &[u64], than: &[u64]) -> Option<Probability> {
    let sizes = 1..=MOST_RANKED;
    if !sizes.contains(&sample.len()) || !sizes.contains(&than.len()) {
        return None;
    }
    let mut all = [sample, than].concat();
    all.sort_unstable();
    let rank = |&value: &u64| doubled_rank(value, &all);
    let observed = sample.iter().map(rank).sum();
    let ranks: Vec<usize> = all.iter().map(rank).collect();
    let chance = chance_of_at_most(observed, sample.len(), &ranks);
    Some(Probability::saturating(chance))
}

/// Twice the mean rank, from 0 on, of the values equal to this one: a whole number also for an even number
/// of them.
fn doubled_rank(value: u64, ascending: &[u64]) -> usize {
    let below = ascending.partition_point(|&other| other < value);
    let not_above = ascending.partition_point(|&other| other <= value);
    (below + not_above).saturating_sub(1)
}

/// The chance that so many of the ranks, drawn at random, have a sum of `most` at most.
fn chance_of_at_most(most: usize, drawn: usize, ascending: &[usize]) -> f64 {
    // By how many of the ranks passed so far were drawn, and by their sum.
    let mut chances = vec![vec![0.0; most + 1]; drawn + 1];
    chances[0][0] = 1.0;
    for (passed, &rank) in ascending.iter().enumerate() {
        let left = ascending.len() - passed;
        // Fewer could not become `drawn` any more; and with all of them drawn, nothing changes.
        for already in (drawn.saturating_sub(left)..drawn.min(passed + 1)).rev() {
            let is_drawn = (drawn - already) as f64 / left as f64;
            // The ranks still to be drawn are not below this one, those passed not above it.
            let Some(room) = most.checked_sub((drawn - already) * rank) else {
                continue;
            };
            let highest = room.min(already * rank);
            let (without, with) = chances.split_at_mut(already + 1);
            let without = &mut without[already][..=highest];
            let with = &mut with[0][rank..];
            for (from, to) in without.iter().zip(with) {
                *to += is_drawn * from;
            }
            for chance in without {
                *chance *= 1.0 - is_drawn;
            }
        }
    }
    chances[drawn].iter().sum()
}
