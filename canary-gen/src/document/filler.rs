//! Filler that reads like business prose, from common short words (one token nearly everywhere).

use crate::seed::Choices;

const SUBJECTS: [&str; 40] = [
    "The supplier",
    "The board",
    "Our office",
    "The buyer",
    "The bank",
    "This branch",
    "The manager",
    "The driver",
    "Their agent",
    "The client",
    "The council",
    "Our partner",
    "The carrier",
    "The clerk",
    "The auditor",
    "The owner",
    "The agency",
    "The factory",
    "The store",
    "The engineer",
    "The team",
    "The director",
    "The lawyer",
    "The broker",
    "Our staff",
    "The farmer",
    "The builder",
    "The seller",
    "The tenant",
    "The company",
    "The market",
    "The union",
    "The chair",
    "The editor",
    "The group",
    "The captain",
    "The school",
    "The doctor",
    "The writer",
    "The city",
];
const VERBS: [&str; 40] = [
    "reviewed", "approved", "signed", "received", "ordered", "checked", "returned", "accepted",
    "prepared", "delayed", "offered", "shared", "updated", "closed", "opened", "changed",
    "followed", "noted", "raised", "reduced", "renewed", "moved", "saved", "covered", "handled",
    "improved", "recorded", "planned", "finished", "started", "expected", "measured", "tested",
    "sold", "bought", "paid", "kept", "found", "drafted", "sent",
];
const OBJECTS: [&str; 40] = [
    "the contract",
    "the budget",
    "the report",
    "the order",
    "the invoice",
    "the offer",
    "the price",
    "the schedule",
    "the plan",
    "the payment",
    "the delivery",
    "the lease",
    "the project",
    "the list",
    "the account",
    "the policy",
    "the sample",
    "the result",
    "the notice",
    "the record",
    "the claim",
    "the license",
    "the design",
    "the survey",
    "the loan",
    "the estimate",
    "the answer",
    "the letter",
    "the machine",
    "the material",
    "the building",
    "the service",
    "the training",
    "the agenda",
    "the proposal",
    "the summary",
    "the review",
    "the stock",
    "the site",
    "the forecast",
];
/// Adjuncts by their number of words, from one word on.
const ADJUNCTS: [&[&str]; 5] = [
    &[
        "today", "again", "early", "quickly", "later", "twice", "together", "quietly",
    ],
    &[
        "this week",
        "last month",
        "by mail",
        "on Monday",
        "on Friday",
        "at once",
        "in time",
        "as planned",
    ],
    &[
        "in the north",
        "after the meeting",
        "for the region",
        "with great care",
        "before the weekend",
        "at the office",
        "without further delay",
        "under new terms",
    ],
    &[
        "at the same time",
        "for the next quarter",
        "in line with policy",
        "with the whole team",
        "after a short delay",
        "on behalf of others",
        "at a fair price",
        "before the next review",
    ],
    &[
        "at the end of spring",
        "in the first half year",
        "with help from the bank",
        "as agreed in the meeting",
        "for the benefit of all",
        "because the terms were fair",
        "so that work could start",
        "under the terms of sale",
    ],
];
/// Whole sentences for gaps too short for the grammar, by their number of units from two on.
const SHORT: [&[&str]; 4] = [
    &["Agreed.", "Noted.", "Done.", "Approved."],
    &[
        "Stock held.",
        "Prices rose.",
        "Work started.",
        "Terms agreed.",
    ],
    &[
        "All went well.",
        "Sales were good.",
        "Nothing else changed.",
        "Demand stayed high.",
    ],
    &[
        "The terms are good.",
        "The price was fair.",
        "The work went well.",
        "The road was clear.",
    ],
];
/// The shortest sentence the grammar makes: subject, verb, object, full stop.
const GRAMMAR_UNITS: u64 = 6;
/// The longest sentence, in units.
const LONGEST_SENTENCE: u64 = 22;

/// The shortest filler there is, in units.
pub(super) const SHORTEST: u64 = 2;

/// Writes one sentence of at most `room` units (`room` at least [`SHORTEST`]) and returns its units.
/// What is left of `room` is either nothing or enough for another sentence, so that repeated calls
/// fill any room exactly.
pub(super) fn sentence(choices: &mut Choices, room: u64, text: &mut String) -> u64 {
    let mut units = choices.between(8, LONGEST_SENTENCE).min(room);
    if room - units == 1 {
        units = if units == LONGEST_SENTENCE {
            units - 1
        } else {
            units + 1
        };
    }
    if units < GRAMMAR_UNITS {
        text.push_str(choices.pick(SHORT[(units - SHORTEST) as usize]));
        return units;
    }
    text.push_str(choices.pick(&SUBJECTS));
    text.push(' ');
    text.push_str(choices.pick(&VERBS));
    text.push(' ');
    text.push_str(choices.pick(&OBJECTS));
    let mut rest = units - GRAMMAR_UNITS;
    while rest > 0 {
        let words = choices.between(1, rest.min(ADJUNCTS.len() as u64));
        text.push(' ');
        text.push_str(choices.pick(ADJUNCTS[words as usize - 1]));
        rest -= words;
    }
    text.push('.');
    units
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Seed;

    fn units_of(text: &str) -> u64 {
        text.split_whitespace().count() as u64 + text.matches('.').count() as u64
    }

    #[test]
    fn a_sentence_has_the_units_it_says_and_fits() {
        let mut choices = Seed::from_number(3).choices();
        for room in SHORTEST..60 {
            for _ in 0..50 {
                let mut text = String::new();
                let units = sentence(&mut choices, room, &mut text);
                assert_eq!(units, units_of(&text), "{text}");
                assert!(units <= room && room - units != 1, "{units} of {room}");
            }
        }
    }

    #[test]
    fn words_are_short_and_adjuncts_have_the_words_of_their_row() {
        for (row, adjuncts) in ADJUNCTS.iter().enumerate() {
            for adjunct in *adjuncts {
                assert_eq!(adjunct.split(' ').count(), row + 1, "{adjunct}");
            }
        }
        for (row, sentences) in SHORT.iter().enumerate() {
            for sentence in *sentences {
                assert_eq!(units_of(sentence), row as u64 + SHORTEST, "{sentence}");
            }
        }
        let phrases = SUBJECTS.iter().chain(&VERBS).chain(&OBJECTS);
        for word in phrases.flat_map(|phrase| phrase.split(' ')) {
            assert!(word.len() <= 9, "{word}");
        }
    }
}
