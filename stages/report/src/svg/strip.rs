//! Values on one horizontal logarithmic line: inside table rows, and for the samples of a case.

use super::{STYLES, Scale, at, escape, marker};
use std::fmt::Write as _;

/// One value with its spread.
#[derive(Clone, Debug)]
pub(crate) struct Dot {
    pub(crate) style: usize,
    pub(crate) low: f64,
    pub(crate) middle: f64,
    pub(crate) high: f64,
    pub(crate) complete: bool,
}

const WIDTH: f64 = 280.0;

/// The scale that all strips of one table share.
pub(crate) fn axis(values: impl Iterator<Item = f64>) -> Option<(Scale, String)> {
    let scale = Scale::log(values, 6.0, WIDTH - 6.0, 3.0)?;
    let mut out = format!("<svg class=\"strip\" viewBox=\"0 0 {WIDTH} 14\" aria-hidden=\"true\">");
    for (v, label) in scale.ticks(34.0).0 {
        let _ = write!(
            out,
            "<text x=\"{}\" y=\"11\" text-anchor=\"middle\">{label}</text>",
            at(scale.at(v))
        );
    }
    out.push_str("</svg>");
    Some((scale, out))
}

/// Height of a row, so that the grid runs on from row to row.
const TALL: f64 = 36.0;

/// One row's dots.
pub(crate) fn strip(scale: &Scale, dots: &[Dot]) -> String {
    let mut out =
        format!("<svg class=\"strip row\" viewBox=\"0 0 {WIDTH} {TALL}\" aria-hidden=\"true\">");
    let mut d = String::new();
    for (v, _) in scale.ticks(34.0).0 {
        let _ = write!(d, "M{} 0v{TALL}", at(scale.at(v)));
    }
    let _ = write!(out, "<path class=\"grid\" d=\"{d}\"/>");
    for dot in dots {
        let hollow = if dot.complete { "" } else { " hollow" };
        let _ = write!(out, "<g class=\"s{}{hollow}\">", dot.style % STYLES);
        let (left, right) = (scale.at(dot.low), scale.at(dot.high));
        if right - left > 1.0 {
            let _ = write!(out, "<path class=\"whisker\" d=\"M{} 18H{}\"/>", at(left), at(right));
        }
        let _ = write!(out, "{}</g>", marker(dot.style, scale.at(dot.middle), TALL / 2.0, 3.4));
    }
    out.push_str("</svg>");
    out
}

/// The samples of one column.
#[derive(Clone, Debug)]
pub(crate) struct SampleLine {
    pub(crate) style: usize,
    pub(crate) name: String,
    pub(crate) samples: Vec<Sample>,
}

/// One sample.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) value: f64,
    pub(crate) href: String,
    pub(crate) title: String,
}

/// Every single sample of some columns, one line a column.
pub(crate) fn samples(title: &str, lines: &[SampleLine]) -> Option<String> {
    const ROW: f64 = 26.0;
    let height = 26.0 + ROW * lines.len() as f64;
    let scale = Scale::log(
        lines.iter().flat_map(|l| l.samples.iter().map(|s| s.value)),
        110.0,
        510.0,
        1.3,
    )?;
    let mut out = format!(
        "<svg class=\"chart wide\" viewBox=\"0 0 520 {}\" role=\"group\" aria-label=\"{}\">",
        at(height),
        escape(title)
    );
    let bottom = height - 20.0;
    for (v, label) in scale.ticks(38.0).0 {
        let x = at(scale.at(v));
        let _ = write!(
            out,
            "<path class=\"grid\" d=\"M{x} 2V{}\"/>\
             <text x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{label}</text>",
            at(bottom),
            at(bottom + 14.0)
        );
    }
    for (i, SampleLine { style, name, samples }) in lines.iter().enumerate() {
        let y = 4.0 + ROW * (i as f64 + 0.5);
        let name = escape(&shortened(name));
        let _ = write!(
            out,
            "<g class=\"s{}\"><text class=\"name\" x=\"0\" y=\"{}\">{name}</text>",
            style % STYLES,
            at(y + 4.0)
        );
        for Sample { value, href, title } in samples {
            let _ = write!(
                out,
                "<a class=\"sample\" href=\"{}\"><title>{}</title>{}</a>",
                escape(href),
                escape(title),
                marker(*style, scale.at(*value), y, 4.0)
            );
        }
        out.push_str("</g>");
    }
    out.push_str("</svg>");
    Some(out)
}

fn shortened(name: &str) -> String {
    if name.chars().count() <= 18 {
        return name.to_owned();
    }
    name.chars().take(17).chain(['\u{2026}']).collect()
}
