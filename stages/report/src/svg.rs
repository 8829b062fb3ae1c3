//! Charts as static SVG: no script, colours from the style sheet, a shape as well as a colour for
//! every engine, the exact value of each point in its `<title>`.

mod curves;
mod frame;
mod precision;
mod scale;
mod series;
mod strip;

pub(crate) use curves::{Panel, Point, Series, panel};
pub(crate) use frame::Frame;
pub(crate) use precision::{DASHES, Frontier, Line, Mark, frontier, line_key};
pub(crate) use scale::Scale;
pub(crate) use series::{Plot, plot};
pub(crate) use strip::{Dot, Sample, SampleLine, axis, samples, strip};

use std::fmt::Write as _;

/// Colours and shapes repeat after so many columns.
pub(crate) const STYLES: usize = 8;

/// Text for SVG and HTML, as content or between double quotes.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// A coordinate: one decimal is a tenth of a pixel.
pub(crate) fn at(x: f64) -> String {
    let text = format!("{x:.1}");
    match text.strip_suffix(".0") {
        Some("-0") => "0".to_owned(),
        Some(whole) => whole.to_owned(),
        None => text,
    }
}

/// The outline of a column's marker around a point; `r` is the radius of the round one, the others
/// have about the same area.
pub(crate) fn marker(style: usize, x: f64, y: f64, r: f64) -> String {
    let mut d = String::new();
    let mut polygon = |points: &[(f64, f64)]| {
        for (i, (dx, dy)) in points.iter().enumerate() {
            let _ = write!(
                d,
                "{}{} {}",
                if i == 0 { "M" } else { "L" },
                at(x + dx * r),
                at(y + dy * r)
            );
        }
        d.push('Z');
    };
    match style % STYLES {
        0 => {
            return format!("<circle cx=\"{}\" cy=\"{}\" r=\"{}\"/>", at(x), at(y), at(r));
        }
        1 => polygon(&[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]),
        2 => polygon(&[(0.0, -1.25), (1.15, 0.85), (-1.15, 0.85)]),
        3 => polygon(&[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)]),
        4 => polygon(&[(0.0, 1.25), (1.15, -0.85), (-1.15, -0.85)]),
        5 => polygon(&[
            (-0.4, -1.2),
            (0.4, -1.2),
            (0.4, -0.4),
            (1.2, -0.4),
            (1.2, 0.4),
            (0.4, 0.4),
            (0.4, 1.2),
            (-0.4, 1.2),
            (-0.4, 0.4),
            (-1.2, 0.4),
            (-1.2, -0.4),
            (-0.4, -0.4),
        ]),
        6 => {
            polygon(&[(0.6, -1.1), (1.2, 0.0), (0.6, 1.1), (-0.6, 1.1), (-1.2, 0.0), (-0.6, -1.1)])
        }
        _ => polygon(&[(-1.2, -0.6), (1.2, -0.6), (1.2, 0.6), (-1.2, 0.6)]),
    }
    format!("<path d=\"{d}\"/>")
}

/// A marker alone, for legends and headings.
pub(crate) fn key(style: usize) -> String {
    format!(
        "<svg class=\"key s{}\" viewBox=\"0 0 12 12\" aria-hidden=\"true\">{}</svg>",
        style % STYLES,
        marker(style, 6.0, 6.0, 4.0)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_short_and_text_is_inert() {
        assert_eq!(at(12.04), "12");
        assert_eq!(at(-0.04), "0");
        assert_eq!(at(3.25), "3.2");
        assert_eq!(escape("<a b='\"&>"), "&lt;a b=&#39;&quot;&amp;&gt;");
    }

    #[test]
    fn every_style_has_a_marker_of_its_own() {
        let all: std::collections::BTreeSet<String> =
            (0..STYLES).map(|s| marker(s, 0.0, 0.0, 4.0)).collect();
        assert_eq!(all.len(), STYLES);
    }
}
