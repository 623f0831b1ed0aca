//! Metrics as Prometheus reads them.

use std::fmt::Write as _;

/// A page of metrics under way.
pub(super) struct Exposition {
    text: String,
    /// What every sample carries.
    labels: Vec<(&'static str, String)>,
    number: fn(f64) -> String,
}

impl Exposition {
    /// An empty page; numbers as Python's client writes them (`7.0`).
    pub(super) fn new(labels: &[(&'static str, &str)]) -> Self {
        let labels = labels.iter();
        Self {
            text: String::new(),
            labels: labels.map(|(name, of)| (*name, (*of).to_owned())).collect(),
            number: |value| format!("{value:?}"),
        }
    }

    /// An empty page; whole numbers without a point.
    pub(super) fn terse() -> Self {
        Self {
            number: |value| value.to_string(),
            ..Self::new(&[])
        }
    }

    /// A metric of one sample that only grows.
    pub(super) fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.family(name, "counter", help, &[(&[], value as f64)]);
    }

    /// A metric of one sample that goes up and down.
    pub(super) fn gauge(&mut self, name: &str, help: &str, value: f64) {
        self.family(name, "gauge", help, &[(&[], value)]);
    }

    /// A metric with samples that differ by labels.
    pub(super) fn family(
        &mut self,
        name: &str,
        kind: &str,
        help: &str,
        samples: &[(&[(&str, &str)], f64)],
    ) {
        // Writing to a string does not fail.
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for (own, value) in samples {
            let shared = self.labels.iter().map(|(name, of)| (*name, of.as_str()));
            let mut labels: Vec<(&str, &str)> = shared.chain(own.iter().copied()).collect();
            labels.sort_unstable();
            let labels: Vec<String> = labels
                .iter()
                .map(|(name, of)| format!("{name}=\"{}\"", escaped(of)))
                .collect();
            let value = (self.number)(*value);
            let _ = match labels.as_slice() {
                [] => writeln!(self.text, "{name} {value}"),
                labels => writeln!(self.text, "{name}{{{}}} {value}", labels.join(",")),
            };
        }
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }
}

fn escaped(label: &str) -> String {
    label
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_its_metric_s_labels_and_its_own() {
        let mut page = Exposition::new(&[("model_name", "a\"b")]);
        let samples: [(&[(&str, &str)], f64); 1] = [(&[("reason", "stop")], 2.0)];
        page.family("x_total", "counter", "All of them.", &samples);
        assert_eq!(
            page.into_text(),
            "# HELP x_total All of them.\n# TYPE x_total counter\nx_total{model_name=\"a\\\"b\",reason=\"stop\"} 2.0\n"
        );
        let mut page = Exposition::terse();
        page.counter("y", "y", 7);
        assert!(page.into_text().ends_with("y 7\n"));
    }
}
