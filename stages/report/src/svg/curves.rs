//! One panel of curves: medians as a line, quartiles as a band, both axes logarithmic.

use super::{Frame, STYLES, Scale, at, escape, marker};
use std::fmt::Write as _;

/// A panel.
#[derive(Clone, Debug)]
pub(crate) struct Panel {
    /// For those who cannot see it.
    pub(crate) title: String,
    /// Name of the horizontal axis, with its unit.
    pub(crate) x: String,
    /// Name of the vertical axis, with its unit.
    pub(crate) y: String,
    /// Curves.
    pub(crate) series: Vec<Series>,
}

/// One curve.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    /// Number of the column, for colour and shape.
    pub(crate) style: usize,
    /// Whether it is drawn dashed: device time, beside the wall time of the same column (P026).
    pub(crate) dashed: bool,
    /// Points in ascending order.
    pub(crate) points: Vec<Point>,
}

/// One point of a curve.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) low: f64,
    pub(crate) middle: f64,
    pub(crate) high: f64,
    /// Where the point leads.
    pub(crate) href: String,
    /// What it says.
    pub(crate) title: String,
    /// Whether every planned trial passed; the marker is hollow otherwise.
    pub(crate) complete: bool,
}

const FRAME: Frame =
    Frame { width: 360.0, height: 230.0, left: 44.0, right: 350.0, top: 22.0, bottom: 194.0 };

/// The panel as SVG, or nothing where it has no points.
pub(crate) fn panel(p: &Panel) -> Option<String> {
    let all = || p.series.iter().flat_map(|s| &s.points);
    let x = Scale::log(all().map(|q| q.x), FRAME.left + 4.0, FRAME.right - 4.0, 3.0)?;
    let y = Scale::log(all().flat_map(|q| [q.low, q.high]), FRAME.bottom, FRAME.top, 3.0)?;
    let mut out = FRAME.open(&p.title);
    FRAME.axes(&mut out, (&x, &p.x), (&y, &p.y));
    for s in &p.series {
        curve(&mut out, s, &x, &y);
    }
    out.push_str("</svg>");
    Some(out)
}

fn curve(out: &mut String, s: &Series, x: &Scale, y: &Scale) {
    let path = |points: &mut dyn Iterator<Item = (f64, f64)>| {
        let mut d = String::new();
        for (i, (px, py)) in points.enumerate() {
            let _ = write!(d, "{}{} {}", if i == 0 { "M" } else { "L" }, at(px), at(py));
        }
        d
    };
    let _ = write!(out, "<g class=\"s{}\">", s.style % STYLES);
    if s.points.len() > 1 {
        let upper = s.points.iter().map(|p| (x.at(p.x), y.at(p.high)));
        let lower = s.points.iter().rev().map(|p| (x.at(p.x), y.at(p.low)));
        let band = path(&mut upper.chain(lower));
        let line = path(&mut s.points.iter().map(|p| (x.at(p.x), y.at(p.middle))));
        let dashes = if s.dashed { " stroke-dasharray=\"5 3\"" } else { "" };
        let _ = write!(
            out,
            "<path class=\"band\" d=\"{band}Z\"/><path class=\"line\"{dashes} d=\"{line}\"/>"
        );
    }
    for p in &s.points {
        let (px, py) = (x.at(p.x), y.at(p.middle));
        let (top, bottom) = (at(y.at(p.high)), at(y.at(p.low)));
        if top != bottom {
            let _ = write!(out, "<path class=\"whisker\" d=\"M{} {top}V{bottom}\"/>", at(px));
        }
        let hollow = if p.complete { "" } else { " class=\"hollow\"" };
        let _ = write!(
            out,
            "<a href=\"{}\"{hollow}><title>{}</title>{}</a>",
            escape(&p.href),
            escape(&p.title),
            marker(s.style, px, py, 3.6)
        );
    }
    out.push_str("</g>");
}
