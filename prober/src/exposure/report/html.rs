//! The report as one page: no script, nothing from elsewhere, light and dark, made to be printed.

use super::text::{categories, count, length_facts, told};
use super::{Conclusion, Report};
use crate::round::grouped;
use std::fmt::Write as _;

const STYLE: &str = include_str!("style.css");

/// Text where tags may stand, and in attributes.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

pub(super) fn write(report: &Report) -> String {
    let mut page = Page(String::new());
    let title = escaped(&report.incident.title);
    let class = match report.conclusion {
        Conclusion::Exposed => "exposed",
        Conclusion::Inconclusive => "inconclusive",
        Conclusion::NotExposed => "clear",
    };
    page.raw(&format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>Exposure: {title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <header>\n<p class=\"kind\">Exposure report, made {}</p>\n<h1>{title}</h1>\n\
         <p class=\"conclusion {class}\" role=\"status\">{}</p>\n",
        report.made_at,
        escaped(&report.sentence())
    ));
    page.items("ul", &report.reasons);
    page.raw("</header>\n");
    page.section("What to do", |page| page.items("ol", &report.next_steps));
    page.section("What this does not say", |page| {
        page.items("ul", &report.limits)
    });
    found(report, &mut page);
    senders(report, &mut page);
    incident(report, &mut page);
    read(report, &mut page);
    page.raw("</main>\n</body>\n</html>");
    page.0
}

struct Page(String);

impl Page {
    fn raw(&mut self, html: &str) {
        self.0.push_str(html);
    }

    fn section(&mut self, heading: &str, inner: impl FnOnce(&mut Self)) {
        let _ = write!(self.0, "<section>\n<h2>{}</h2>\n", escaped(heading));
        inner(self);
        self.raw("</section>\n");
    }

    fn heading(&mut self, text: &str) {
        let _ = writeln!(self.0, "<h3>{}</h3>", escaped(text));
    }

    fn items(&mut self, list: &str, items: &[String]) {
        if items.is_empty() {
            return;
        }
        let _ = writeln!(self.0, "<{list}>");
        for item in items {
            let _ = writeln!(self.0, "<li>{}</li>", escaped(item));
        }
        let _ = writeln!(self.0, "</{list}>");
    }

    /// A table; the columns from `numbers` on hold numbers. The first one names its row.
    fn table(
        &mut self,
        caption: &str,
        columns: &[&str],
        numbers: usize,
        rows: impl Iterator<Item = Vec<String>>,
    ) {
        let _ = write!(
            self.0,
            "<div class=\"table\">\n<table>\n<caption>{}</caption>\n<thead><tr>",
            escaped(caption)
        );
        let class = |column: usize| {
            if column >= numbers {
                " class=\"number\""
            } else {
                ""
            }
        };
        for (column, name) in columns.iter().enumerate() {
            let _ = write!(
                self.0,
                "<th scope=\"col\"{}>{}</th>",
                class(column),
                escaped(name)
            );
        }
        self.raw("</tr></thead>\n<tbody>\n");
        for row in rows {
            self.raw("<tr>");
            for (column, value) in row.iter().enumerate() {
                let value = escaped(value);
                let _ = match column {
                    0 => write!(self.0, "<th scope=\"row\">{value}</th>"),
                    _ => write!(self.0, "<td{}>{value}</td>", class(column)),
                };
            }
            self.raw("</tr>\n");
        }
        self.raw("</tbody>\n</table>\n</div>\n");
    }
}

fn found(report: &Report, page: &mut Page) {
    if report.exposed.requests == 0 && report.possible.requests == 0 {
        return;
    }
    let limit = report.incident.limit_tokens;
    page.section("What was found", |page| {
        if report.exposed.requests > 0 {
            page.heading("Exposed requests");
            page.items("ul", &length_facts(&report.exposed, limit));
            let rows = report.days.iter().map(|day| {
                vec![
                    day.day.clone(),
                    grouped(day.requests),
                    grouped(day.input_tokens),
                ]
            });
            page.table(
                "By the day, UTC",
                &["Day", "Requests", "Prompt tokens"],
                1,
                rows,
            );
        }
        if report.possible.requests > 0 {
            page.heading("Requests that may be of the incident");
            page.items("ul", &length_facts(&report.possible, limit));
            let rows = report
                .doubts
                .iter()
                .map(|doubt| vec![doubt.meaning.to_owned(), grouped(doubt.requests)]);
            page.table("Why they are not certain", &["Reason", "Requests"], 1, rows);
        }
    });
}

fn senders(report: &Report, page: &mut Page) {
    if !report.categories.is_empty() {
        page.section("Categories of data", |page| {
            let rows = report.categories.iter().map(|one| {
                vec![
                    one.name.clone(),
                    grouped(one.requests),
                    grouped(one.senders),
                ]
            });
            let caption = "What senders of exposed requests are said to send, by the rules file";
            page.table(caption, &["Category", "Requests", "Senders"], 1, rows);
        });
    }
    if report.senders.is_empty() {
        return;
    }
    page.section("Keys and applications", |page| {
        let mut columns = vec!["Key", "Application"];
        if report.has_rules {
            columns.push("Categories");
        }
        let numbers = columns.len();
        columns.extend([
            "Exposed",
            "Possible",
            "Prompt tokens",
            "Longest",
            "Over the limit",
            "First",
            "Last",
        ]);
        let rows = report.senders.iter().map(|sender| {
            let lengths = &sender.exposed;
            let stamp = |stamp: Option<super::Stamp>| {
                stamp.map_or("–".to_owned(), |stamp| stamp.to_string())
            };
            let mut row = vec![
                told(sender.key.as_deref()).to_owned(),
                told(sender.application.as_deref()).to_owned(),
            ];
            if report.has_rules {
                row.push(categories(&sender.categories));
            }
            row.extend([
                grouped(lengths.requests),
                grouped(sender.possible_requests),
                grouped(lengths.input_tokens),
                lengths.longest_input_tokens.map_or("–".to_owned(), grouped),
                grouped(lengths.over_the_limit),
                stamp(lengths.first),
                stamp(lengths.last),
            ]);
            row
        });
        page.table(
            "Who sent them, as far as the logs tell",
            &columns,
            numbers,
            rows,
        );
        if let Some(others) = &report.other_senders {
            page.items(
                "ul",
                &[format!(
                    "Others: {} exposed. Only the first {} senders are counted apart.",
                    count(others.requests, "request", "requests"),
                    grouped(report.most_senders as u64)
                )],
            );
        }
    });
}

fn incident(report: &Report, page: &mut Page) {
    let facts = &report.incident;
    page.section("The incident", |page| {
        page.raw("<dl>\n");
        let certain = if facts.period_is_certain {
            ""
        } else {
            " (not known exactly)"
        };
        let rows = [
            ("Operator", facts.operator.clone()),
            (
                "Period",
                format!("from {} to {}{certain}", facts.from, facts.until),
            ),
            ("Reported", told(facts.reported.as_deref()).to_owned()),
            ("Model", facts.models.join(", ")),
        ];
        for (name, value) in rows {
            let _ = writeln!(page.0, "<dt>{name}</dt><dd>{}</dd>", escaped(&value));
        }
        page.raw("</dl>\n");
        for (heading, items) in [
            ("What is known", &facts.known),
            ("What is not known", &facts.unknown),
            ("Sources", &facts.sources),
        ] {
            if !items.is_empty() {
                page.heading(heading);
                page.items("ul", items);
            }
        }
    });
}

fn read(report: &Report, page: &mut Page) {
    page.section("What was read", |page| {
        let rows = report.logs.iter().map(|log| {
            let parts = [log.format.as_deref(), log.layout, log.compression];
            let parts: Vec<&str> = parts.into_iter().flatten().collect();
            vec![
                log.name.clone(),
                parts.join(", "),
                log.failure
                    .clone()
                    .unwrap_or_else(|| "to its end".to_owned()),
                grouped(log.records),
                grouped(log.unreadable),
                grouped(log.bytes),
            ]
        });
        page.table(
            "Logs",
            &["Log", "Format", "Read", "Records", "Unreadable", "Bytes"],
            3,
            rows,
        );
        let records = &report.records;
        let rows = [
            ("exposed", records.exposed),
            ("possible", records.possible),
            ("outside the period", records.outside_the_period),
            ("of another model", records.of_another_model),
            ("at another provider", records.at_another_provider),
            ("unreadable", records.unreadable),
            ("all", records.all),
        ];
        let rows = rows
            .into_iter()
            .map(|(name, number)| vec![name.to_owned(), grouped(number)]);
        page.table("Records", &["What they are", "Records"], 1, rows);
        let problems = &report.problems;
        if problems.all > 0 {
            let rows = problems
                .by_kind
                .iter()
                .map(|(what, number)| vec![what.clone(), grouped(*number)]);
            page.table("Problems, by kind", &["What", "Lines"], 1, rows);
            let rows = problems
                .places
                .iter()
                .map(|place| vec![format!("{}:{}", place.log, place.line), place.what.clone()]);
            let caption = format!(
                "Problems: the first {} of {}",
                grouped(problems.places.len() as u64),
                grouped(problems.all)
            );
            page.table(&caption, &["Place", "What"], 2, rows);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_logs_hold_is_text_on_the_page_and_never_a_tag() {
        assert_eq!(
            escaped("<script>\"&'\u{7}</script>"),
            "&lt;script&gt;&quot;&amp;&#39;\u{fffd}&lt;/script&gt;"
        );
    }
}
