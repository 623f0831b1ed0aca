//! Panels of the dashboards, with Grafana's macros and variables expanded as its PostgreSQL data source does.
//! (`examples/store_scale` times the same queries.)

use serde_json::Value;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

pub(crate) const DASHBOARDS: [(&str, &str); 4] = [
    (
        "isolation.json",
        include_str!("../../../dashboards/isolation.json"),
    ),
    (
        "incident.json",
        include_str!("../../../dashboards/incident.json"),
    ),
    ("fleet.json", include_str!("../../../dashboards/fleet.json")),
    (
        "endpoint.json",
        include_str!("../../../dashboards/endpoint.json"),
    ),
];

pub(crate) fn panels(dashboard: &Value) -> &Vec<Value> {
    dashboard["panels"].as_array().unwrap()
}

/// What a panel asks PostgreSQL.
pub(crate) fn sql(panel: &Value) -> Vec<&str> {
    let targets = panel["targets"].as_array().unwrap().iter();
    targets
        .filter_map(|target| target["rawSql"].as_str())
        .collect()
}

/// A chosen variable: its name and value.
pub(crate) type Variable<'a> = (&'static str, &'a str);

/// A range of time that is looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    pub(crate) from: OffsetDateTime,
    pub(crate) to: OffsetDateTime,
}

impl Range {
    /// So many seconds lie between two points of a panel that is 1,000 points wide.
    fn interval(self) -> i64 {
        let seconds = (self.to - self.from).whole_seconds();
        (seconds / 1_000 / 60 + 1) * 60
    }

    pub(crate) fn expand(self, sql: &str, variables: &[Variable<'_>]) -> String {
        let moment = |at: OffsetDateTime| format!("'{}'", at.format(&Rfc3339).unwrap());
        let (from, to) = (moment(self.from), moment(self.to));
        let interval = self.interval();
        let mut text = sql
            .replace("$__interval", &format!("{interval}s"))
            .replace("$__timeFrom()", &from)
            .replace("$__timeTo()", &to);
        while let Some((whole, column)) = call(&text, "$__timeFilter(") {
            text = text.replace(&whole, &format!("{column} BETWEEN {from} AND {to}"));
        }
        while let Some((whole, arguments)) = call(&text, "$__timeGroupAlias(") {
            let column = arguments.split(',').next().unwrap();
            let group = format!("floor(extract(epoch from {column})/{interval})*{interval}");
            text = text.replace(&whole, &format!("{group} AS \"time\""));
        }
        for (name, value) in variables {
            let quoted = format!("'{}'", value.replace('\'', "''"));
            text = text.replace(&format!("${{{name}:sqlstring}}"), &quoted);
        }
        // Any other format would let a variable's value be part of the statement.
        assert!(!text.contains('$'), "something is not expanded: {text}");
        text
    }
}

/// The first call of a macro, and what stands in its parentheses.
fn call(text: &str, start: &str) -> Option<(String, String)> {
    let begin = text.find(start)?;
    let end = begin + text[begin..].find(')')?;
    let arguments = text[begin + start.len()..end].to_owned();
    Some((text[begin..=end].to_owned(), arguments))
}
