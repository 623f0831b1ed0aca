//! The phrases of the filler: common short words (one token nearly everywhere), cut to lengths of
//! which a machine copies each in two moves.

/// A phrase in a field of `WIDTH` bytes: the whole field is copied, a fixed length, and what lies
/// beyond the phrase is overwritten by the next one.
#[derive(Clone, Copy)]
pub(super) struct Phrase<const WIDTH: usize> {
    field: [u8; WIDTH],
    length: u8,
}

/// With its length, a short phrase fills 16 bytes …
pub(super) const SHORT_WIDTH: usize = 15;
/// … and a long one 32.
pub(super) const LONG_WIDTH: usize = 31;
/// A word or two.
pub(super) type Short = Phrase<SHORT_WIDTH>;
/// Up to five words.
pub(super) type Long = Phrase<LONG_WIDTH>;

impl<const WIDTH: usize> Phrase<WIDTH> {
    const NOTHING: Self = Self {
        field: [0; WIDTH],
        length: 0,
    };

    /// `lead` and `text`, which must fit together.
    const fn new(lead: &str, text: &str) -> Self {
        let mut phrase = Self::NOTHING;
        let parts = [lead.as_bytes(), text.as_bytes()];
        let mut part = 0;
        while part < parts.len() {
            let mut at = 0;
            while at < parts[part].len() {
                phrase.field[phrase.length as usize] = parts[part][at];
                phrase.length += 1;
                at += 1;
            }
            part += 1;
        }
        phrase
    }

    /// Writes the phrase at `at` and returns where it ends. `text` must go on for `WIDTH` bytes from there.
    #[inline]
    pub(super) fn put(&self, text: &mut [u8], at: usize) -> usize {
        text[at..at + WIDTH].copy_from_slice(&self.field);
        at + usize::from(self.length)
    }

    pub(super) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.field[..usize::from(self.length)]).expect("written from text")
    }
}

const fn phrases<const WIDTH: usize, const COUNT: usize>(
    lead: &str,
    texts: [&str; COUNT],
) -> [Phrase<WIDTH>; COUNT] {
    let mut phrases = [Phrase::NOTHING; COUNT];
    let mut index = 0;
    while index < COUNT {
        phrases[index] = Phrase::new(lead, texts[index]);
        index += 1;
    }
    phrases
}

pub(super) static SUBJECTS: [Short; 40] = phrases(
    "",
    [
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
    ],
);
/// With the space before them.
pub(super) static VERBS: [Short; 40] = phrases(
    " ",
    [
        "reviewed", "approved", "signed", "received", "ordered", "checked", "returned", "accepted",
        "prepared", "delayed", "offered", "shared", "updated", "closed", "opened", "changed",
        "followed", "noted", "raised", "reduced", "renewed", "moved", "saved", "covered",
        "handled", "improved", "recorded", "planned", "finished", "started", "expected",
        "measured", "tested", "sold", "bought", "paid", "kept", "found", "drafted", "sent",
    ],
);
/// With the space before them.
pub(super) static OBJECTS: [Short; 40] = phrases(
    " ",
    [
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
    ],
);
/// By their number of words, with the space before them. Those of no words stand for an adjunct that
/// is not there, so that every sentence has the same number of them and none is branched on.
pub(super) static ADJUNCTS: [[Long; 8]; 6] = [
    [Phrase::NOTHING; 8],
    phrases(
        " ",
        [
            "today", "again", "early", "quickly", "later", "twice", "together", "quietly",
        ],
    ),
    phrases(
        " ",
        [
            "this week",
            "last month",
            "by mail",
            "on Monday",
            "on Friday",
            "at once",
            "in time",
            "as planned",
        ],
    ),
    phrases(
        " ",
        [
            "in the north",
            "after the meeting",
            "for the region",
            "with great care",
            "before the weekend",
            "at the office",
            "without further delay",
            "under new terms",
        ],
    ),
    phrases(
        " ",
        [
            "at the same time",
            "for the next quarter",
            "in line with policy",
            "with the whole team",
            "after a short delay",
            "on behalf of others",
            "at a fair price",
            "before the next review",
        ],
    ),
    phrases(
        " ",
        [
            "at the end of spring",
            "in the first half year",
            "with help from the bank",
            "as agreed in the meeting",
            "for the benefit of all",
            "because the terms were fair",
            "so that work could start",
            "under the terms of sale",
        ],
    ),
];
/// Whole sentences for gaps too short for the grammar, by their number of units from two on.
pub(super) static SHORT_SENTENCES: [[Long; 4]; 4] = [
    phrases("", ["Done.", "Good.", "Right.", "True."]),
    phrases(
        "",
        [
            "Stock held.",
            "Orders came.",
            "Work started.",
            "Terms agreed.",
        ],
    ),
    phrases(
        "",
        [
            "All went well.",
            "Sales were good.",
            "Nothing else changed.",
            "Trade stayed high.",
        ],
    ),
    phrases(
        "",
        [
            "The terms are good.",
            "The price was fair.",
            "The work went well.",
            "The road was clear.",
        ],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::filler::{SHORTEST, units_of};

    #[test]
    fn adjuncts_and_short_sentences_have_the_units_of_their_row() {
        for (row, adjuncts) in ADJUNCTS.iter().enumerate() {
            for adjunct in adjuncts {
                assert_eq!(
                    adjunct.as_str().matches(' ').count(),
                    row,
                    "{}",
                    adjunct.as_str()
                );
                assert_eq!(
                    units_of(adjunct.as_str()),
                    row as u64,
                    "{}",
                    adjunct.as_str()
                );
            }
        }
        for (row, sentences) in SHORT_SENTENCES.iter().enumerate() {
            for sentence in sentences {
                assert_eq!(
                    units_of(sentence.as_str()),
                    row as u64 + SHORTEST,
                    "{}",
                    sentence.as_str()
                );
            }
        }
    }

    #[test]
    fn words_are_short_and_no_phrase_is_there_twice() {
        let heads = SUBJECTS
            .iter()
            .chain(&VERBS)
            .chain(&OBJECTS)
            .map(Short::as_str);
        let adjuncts = ADJUNCTS[1..]
            .iter()
            .flatten()
            .chain(SHORT_SENTENCES.iter().flatten());
        let mut phrases: Vec<&str> = heads.chain(adjuncts.map(Long::as_str)).collect();
        for word in phrases.iter().flat_map(|phrase| phrase.split(' ')) {
            assert!(word.trim_end_matches('.').len() <= 9, "{word}");
        }
        let all = phrases.len();
        phrases.sort_unstable();
        phrases.dedup();
        assert_eq!(phrases.len(), all);
    }

    #[test]
    fn a_phrase_is_put_where_it_belongs_and_tells_where_it_ends() {
        let mut text = [b'-'; 64];
        let end = VERBS[0].put(&mut text, 3);
        assert_eq!(&text[..end], b"--- reviewed");
        assert_eq!(Long::NOTHING.put(&mut text, end), end);
    }
}
