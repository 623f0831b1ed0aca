//! The model: a deterministic reader. It sees a text, whoever wrote it, finds the last question in it
//! and answers from what stands before; the nearest place wins. Without a question it continues.
//!
//! Torn text (a page of one document after a page of another) is read like any other.

use memchr::memmem;

const ONE: &[u8] = b"What is the access code of section ";
const SEVERAL: &[u8] = b"What are the access codes of sections ";
const LIST: &[u8] = b"List the access codes.";
const CONTINUE: &[u8] = b"Continue the text.";
const HEADING: &[u8] = b"Section ";
/// A code is a run of letters, digits and dashes at least so long, with so many dashes, and with so many
/// digits or capitals, which compound words do not have.
const CODE_LENGTH: usize = 24;
const CODE_DASHES: usize = 4;
const CODE_MARKS: usize = 4;
/// What introduces a code of words, how many words it has at least, and within how many bytes its
/// sentence ends.
const SPOKEN: [&[u8]; 3] = [b"The access code of section ", b"Code ", b"Again "];
const SPOKEN_WORDS: usize = 8;
const SPOKEN_BYTES: usize = 200;
/// A question ends with its question mark within so many bytes.
const QUESTION_BYTES: usize = 4_096;
/// A role's mark in the chat template, such as `<|assistant|>`, opens and ends so.
const ROLE_OPENS: &[u8] = b"<|";
const ROLE_ENDS: &[u8] = b"|>\n";
/// It looks at so many sections before it answers.
const MOST_THOUGHTS: usize = 48;
/// What a continuation repeats if there is no section to repeat, in bytes.
const TAIL_BYTES: usize = 500;

enum Question {
    Sections(Vec<u32>),
    List,
    Continue,
}

/// The answer to the last question in `text`.
pub(crate) fn answer(text: &[u8]) -> String {
    match last_question(text) {
        Some((at, Question::Sections(sections))) => about_sections(&text[..at], &sections),
        Some((at, Question::List)) => codes(&text[..at]).join("\n"),
        Some((at, Question::Continue)) => continuation(&text[..at]),
        None => continuation(text),
    }
}

/// What comes to mind on the way to the answer: which sections stand before the question, the nearest last.
pub(crate) fn thoughts(text: &[u8]) -> String {
    let before = last_question(text).map_or(text, |(at, _)| &text[..at]);
    let headings = memmem::rfind_iter(before, HEADING).filter(|&at| is_heading(before, at));
    let numbers = headings.map(|at| {
        let number = before[at + HEADING.len()..].iter();
        let digits = number.take_while(|byte| byte.is_ascii_digit());
        digits.map(|&digit| char::from(digit)).collect::<String>()
    });
    let mut numbers: Vec<String> = numbers.take(MOST_THOUGHTS).collect();
    numbers.reverse();
    if numbers.is_empty() {
        return "I see no sections.\n".to_owned();
    }
    format!("I look at section {}.\n", numbers.join(", then "))
}

fn last_question(text: &[u8]) -> Option<(usize, Question)> {
    let sections = |needle: &[u8]| {
        last_where(text, needle, |after| {
            let numbers = numbers(after);
            (!numbers.is_empty()).then_some(Question::Sections(numbers))
        })
    };
    let plain =
        |needle: &[u8], question: fn() -> Question| last_where(text, needle, |_| Some(question()));
    [
        sections(ONE),
        sections(SEVERAL),
        plain(LIST, || Question::List),
        plain(CONTINUE, || Question::Continue),
    ]
    .into_iter()
    .flatten()
    .max_by_key(|(at, _)| *at)
}

/// The last place of `needle` for which `read` makes something of the text after it.
fn last_where<T>(
    text: &[u8],
    needle: &[u8],
    read: impl Fn(&[u8]) -> Option<T>,
) -> Option<(usize, T)> {
    let mut rest = text;
    loop {
        let at = memmem::rfind(rest, needle)?;
        if let Some(found) = read(&text[at + needle.len()..]) {
            return Some((at, found));
        }
        rest = &text[..at];
    }
}

/// The numbers in "3, 17 and 900?", up to the question mark.
fn numbers(text: &[u8]) -> Vec<u32> {
    let line = &text[..text.len().min(QUESTION_BYTES)];
    let Some(end) = line.iter().position(|&byte| byte == b'?' || byte == b'\n') else {
        return Vec::new();
    };
    if line[end] != b'?' {
        return Vec::new();
    }
    String::from_utf8_lossy(&line[..end])
        .split(|character: char| !character.is_ascii_digit())
        .filter_map(|number| number.parse().ok())
        .collect()
}

fn about_sections(text: &[u8], sections: &[u32]) -> String {
    let sentences: Vec<String> = sections
        .iter()
        .map(|&section| match section_text(text, section).map(codes) {
            Some(codes) if !codes.is_empty() => {
                format!(
                    "The access code of section {section} is {}.",
                    codes.join(" and ")
                )
            }
            Some(_) => format!("Section {section} has no access code."),
            None => format!("The document does not contain section {section}."),
        })
        .collect();
    sentences.join("\n")
}

/// The nearest section of this number, from after its heading to the next heading.
fn section_text(text: &[u8], section: u32) -> Option<&[u8]> {
    let heading = format!("Section {section}");
    let (at, ()) = last_where(text, heading.as_bytes(), |after| {
        (!after.first().is_some_and(u8::is_ascii_digit)).then_some(())
    })?;
    let body = &text[at + heading.len()..];
    Some(&body[..next_heading(body).unwrap_or(body.len())])
}

fn next_heading(text: &[u8]) -> Option<usize> {
    memmem::find_iter(text, HEADING).find(|&at| is_heading(text, at))
}

/// A heading stands at the start of a line, or where a page begins with it.
fn is_heading(text: &[u8], at: usize) -> bool {
    let at_line_start = at == 0 || text[at - 1] == b'\n';
    at_line_start && text.get(at + HEADING.len()).is_some_and(u8::is_ascii_digit)
}

/// The different strings in a text that look like codes, or are called so, in order.
fn codes(text: &[u8]) -> Vec<String> {
    let mut found = written_codes(text);
    found.extend(spoken_codes(text));
    found.sort_by_key(|(at, _)| *at);
    let mut codes: Vec<String> = Vec::new();
    for (_, code) in found {
        if !codes.contains(&code) {
            codes.push(code);
        }
    }
    codes
}

/// Runs of letters, digits and dashes that no compound word is.
fn written_codes(text: &[u8]) -> Vec<(usize, String)> {
    let in_code = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-';
    let mut at = 0;
    let mut codes = Vec::new();
    for run in text.split(|byte| !in_code(byte)) {
        let count = |test: fn(&u8) -> bool| run.iter().filter(|byte| test(byte)).count();
        if run.len() >= CODE_LENGTH
            && count(|&byte| byte == b'-') >= CODE_DASHES
            && count(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase()) >= CODE_MARKS
        {
            codes.push((at, String::from_utf8_lossy(run).into_owned()));
        }
        at += run.len() + 1;
    }
    codes
}

/// Words and names that a sentence calls a code: only the sentence tells them from prose.
fn spoken_codes(text: &[u8]) -> Vec<(usize, String)> {
    let mut codes = Vec::new();
    for introduction in SPOKEN {
        for start in memmem::find_iter(text, introduction) {
            let at = start + introduction.len();
            let rest = &text[at..text.len().min(at + SPOKEN_BYTES)];
            // "The access code of section 7 is …": the number stands between.
            let number = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let code = match rest[number..].strip_prefix(b" is ") {
                Some(code) => code,
                None => &rest[number..],
            };
            let Some(end) = code.iter().position(|&byte| byte == b'.') else {
                continue;
            };
            let code = String::from_utf8_lossy(&code[..end]);
            let is_spoken =
                |letter: char| letter.is_ascii_alphabetic() || matches!(letter, ' ' | ',');
            if code.chars().all(is_spoken) && code.split(' ').count() >= SPOKEN_WORDS {
                codes.push((at, code.into_owned()));
            }
        }
    }
    codes
}

/// What a model does with a text full of similar sections: it writes another one like the last whole one.
fn continuation(text: &[u8]) -> String {
    let text = without_closing_mark(text);
    let mut headings = memmem::rfind_iter(text, HEADING).filter(|&at| is_heading(text, at));
    let part = match (headings.next(), headings.next()) {
        (Some(last), Some(before)) => &text[before..last],
        (Some(last), None) => &text[last..],
        (None, _) => tail(text),
    };
    String::from_utf8_lossy(part).trim().to_owned()
}

/// The text before the mark that opens the assistant's turn, if it ends in one.
fn without_closing_mark(text: &[u8]) -> &[u8] {
    match memmem::rfind(text, ROLE_OPENS) {
        Some(at) if text.ends_with(ROLE_ENDS) && !text[at..].contains(&b' ') => &text[..at],
        _ => text,
    }
}

/// The last bit of the last turn, in whole characters.
fn tail(text: &[u8]) -> &[u8] {
    let bit = &text[text.len().saturating_sub(TAIL_BYTES)..];
    let bit = match memmem::rfind(bit, ROLE_ENDS) {
        Some(at) => &bit[at + ROLE_ENDS.len()..],
        None => bit,
    };
    let torn = bit.iter().take_while(|&&byte| byte & 0xc0 == 0x80).count();
    &bit[torn..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CODE_1: &str = "0K7Q2-M9XVR-T4HBN-C8WJD-E5GFPS";
    const CODE_2: &str = "0f3a6b1c-77d2-4a10-9c3e-5b2d8e6f9a01";

    fn document() -> String {
        format!(
            "5817304926 is the file number.\n\nSection 1\n\nThe access code of section 1 is {CODE_1}. The board agreed.\n\n\
             Section 12\n\nCode {CODE_2}. Again {CODE_2}."
        )
    }

    fn ask(text: &str) -> String {
        answer(text.as_bytes())
    }

    #[test]
    fn a_section_is_answered_with_its_codes() {
        let question = |question| ask(&format!("{}\n\n{question}", document()));
        assert_eq!(
            question("What is the access code of section 1?"),
            format!("The access code of section 1 is {CODE_1}.")
        );
        assert_eq!(
            question("What is the access code of section 12?"),
            format!("The access code of section 12 is {CODE_2}.")
        );
        assert_eq!(
            question("What is the access code of section 2?"),
            "The document does not contain section 2."
        );
        let both = question("What are the access codes of sections 1 and 12?");
        assert_eq!(both.lines().count(), 2);
        assert_eq!(
            question("List the access codes."),
            format!("{CODE_1}\n{CODE_2}")
        );
    }

    #[test]
    fn a_code_of_words_or_names_is_known_by_its_sentence() {
        let words = "acorn bagel cactus daisy eagle fabric gallon hazel igloo jaguar kernel";
        let names = "Babab Dafuh, Kadol Tavik, Munos Rapiv, Yuyuy Wosit";
        let text = format!(
            "Section 1\n\nThe access code of section 1 is {words}. The board agreed with all of it in the end.\n\n\
             Section 2\n\nCode {names}. Again {names}."
        );
        assert_eq!(
            ask(&format!("{text}\n\nWhat is the access code of section 1?")),
            format!("The access code of section 1 is {words}.")
        );
        assert_eq!(
            ask(&format!("{text}\n\nWhat is the access code of section 2?")),
            format!("The access code of section 2 is {names}.")
        );
    }

    #[test]
    fn thoughts_name_the_sections_before_the_question() {
        let text = format!("{}\n\nList the access codes.", document());
        assert_eq!(thoughts(text.as_bytes()), "I look at section 1, then 12.\n");
        assert_eq!(thoughts(b"Hello."), "I see no sections.\n");
    }

    #[test]
    fn the_last_question_counts_and_the_nearest_section_before_it() {
        let text = format!(
            "{}\n\nWhat is the access code of section 1?\nSection 1\n\nCode {CODE_2}.\n\nWhat is the access code of section 1?",
            document()
        );
        assert_eq!(
            ask(&text),
            format!("The access code of section 1 is {CODE_2}.")
        );
    }

    #[test]
    fn without_a_question_the_last_whole_section_is_written_again() {
        assert!(ask(&document()).starts_with("Section 1\n"));
        let torn = format!(
            "{}7 Again {CODE_1}.\n\nSection 40\n\nCode {CODE_2}.\n\nSection 41\n\nCo",
            document()
        );
        assert_eq!(ask(&torn), format!("Section 40\n\nCode {CODE_2}."));
        assert_eq!(ask("Only words."), "Only words.");
        let chat = "<|user|>\nHello there.\n<|assistant|>\n";
        assert_eq!(ask(chat), "Hello there.");
        let section = format!("<|user|>\nSection 1\n\nCode {CODE_1}.\n<|assistant|>\n");
        assert_eq!(ask(&section), format!("Section 1\n\nCode {CODE_1}."));
        // 500 bytes back is in the middle of a character.
        assert_eq!(
            ask(&format!("{}x", "é".repeat(400))),
            format!("{}x", "é".repeat(249))
        );
        assert_eq!(ask(""), "");
    }

    #[test]
    fn a_code_may_lack_digits_and_a_compound_word_is_none() {
        let code = "ABCDE-FGHJK-MNPQR-STVWX-YZABCD";
        let text = format!("{code}, state-of-the-art-and-then-some, K7Q2M-9XVRT");
        assert_eq!(ask(&format!("{text}\nList the access codes.")), code);
        let lone = "Section 1\n\nNo code.\n\nWhat is the access code of section 1?";
        assert_eq!(ask(lone), "Section 1 has no access code.");
    }

    #[test]
    fn a_question_about_many_sections_is_read_whole() {
        let sections: Vec<String> = (100..300).map(|section| section.to_string()).collect();
        let text = format!(
            "x\nWhat are the access codes of sections {}?",
            sections.join(", ")
        );
        assert_eq!(ask(&text).lines().count(), 200);
    }

    proptest! {
        #[test]
        fn any_text_however_torn_has_an_answer(
            pieces in proptest::collection::vec((0usize..300, 0usize..300), 0..8),
        ) {
            let whole = format!("{}\n\nWhat is the access code of section 12?", document());
            let mut torn = Vec::new();
            for (one, other) in pieces {
                let (one, other) = (one.min(whole.len()), other.min(whole.len()));
                torn.extend_from_slice(&whole.as_bytes()[one.min(other)..one.max(other)]);
            }
            let answered = answer(&torn);
            for found in codes(answered.as_bytes()) {
                prop_assert!(memmem::find(&torn, found.as_bytes()).is_some(), "invented");
            }
        }
    }

    #[test]
    fn a_torn_question_is_none() {
        let text = format!("{}\n\nWhat is the access code of section 1", document());
        assert!(ask(&text).starts_with("Section 1\n"));
    }
}
