//! One plot of curves over a linear axis: what a run did over time, or its path.

use super::{Frame, STYLES, Scale, at};
use std::fmt::Write as _;

/// A plot.
#[derive(Clone, Debug)]
pub(crate) struct Plot<'a> {
    /// For those who cannot see it.
    pub(crate) title: &'a str,
    /// Name of the horizontal axis, with its unit.
    pub(crate) x: &'a str,
    /// Name of the vertical axis, with its unit.
    pub(crate) y: &'a str,
    /// Whether both axes have one scale.
    pub(crate) equal: bool,
    /// A limit, drawn across where it lies in reach of the curves.
    pub(crate) limit: Option<f64>,
    /// Round things: centre and radius.
    pub(crate) circles: &'a [[f64; 3]],
    /// Style and points of each curve; the first lies on top.
    pub(crate) curves: Vec<(usize, &'a [[f64; 2]])>,
}

const FRAME: Frame =
    Frame { width: 360.0, height: 230.0, left: 50.0, right: 350.0, top: 22.0, bottom: 194.0 };

/// The plot as SVG, or nothing where it has no points.
pub(crate) fn plot(p: &Plot<'_>) -> Option<String> {
    // A circle's corners make room for it.
    let corners: Vec<[f64; 2]> =
        p.circles.iter().flat_map(|[x, y, r]| [[x - r, y - r], [x + r, y + r]]).collect();
    let all = || p.curves.iter().flat_map(|(_, points)| points.iter()).chain(&corners);
    let highest = all().map(|q| q[1]).filter(|v| v.is_finite()).reduce(f64::max)?;
    // A limit far above would press the curves flat.
    let limit = p.limit.filter(|l| highest > 0.0 && *l <= 4.0 * highest && *l >= 0.0);
    let mut x = Scale::linear(all().map(|q| q[0]), FRAME.left + 2.0, FRAME.right - 2.0)?;
    let mut y = Scale::linear(all().map(|q| q[1]).chain(limit), FRAME.bottom, FRAME.top)?;
    if p.equal {
        (x, y) = Scale::equal(x, y);
    }
    let mut out = FRAME.open(p.title);
    FRAME.axes(&mut out, (&x, p.x), (&y, p.y));
    if let Some(limit) = limit {
        let level = at(y.at(limit));
        let _ = write!(
            out,
            "<path class=\"limit\" d=\"M{} {level}H{}\"><title>limit {limit}</title></path>",
            FRAME.left, FRAME.right
        );
    }
    for [cx, cy, r] in p.circles {
        let _ = write!(
            out,
            "<ellipse class=\"thing\" cx=\"{}\" cy=\"{}\" rx=\"{}\" ry=\"{}\"/>",
            at(x.at(*cx)),
            at(y.at(*cy)),
            at(x.at(cx + r) - x.at(*cx)),
            at(y.at(*cy) - y.at(cy + r))
        );
    }
    for (style, points) in p.curves.iter().rev() {
        let mut d = String::new();
        // A gap where a value is none.
        let mut open = false;
        for point in *points {
            let there = point.iter().all(|v| v.is_finite());
            if there {
                let word = if open { "L" } else { "M" };
                let _ = write!(d, "{word}{} {}", at(x.at(point[0])), at(y.at(point[1])));
            }
            open = there;
        }
        let _ = write!(
            out,
            "<g class=\"s{}\"><path class=\"line thin\" d=\"{d}\"/></g>",
            style % STYLES
        );
    }
    out.push_str("</svg>");
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_drawn_where_it_is_in_reach() {
        let points = [[0.0, 0.0], [1.0, 2.0], [2.0, 1.0]];
        let plot = |limit| {
            let curves = vec![(0, points.as_slice())];
            let p = Plot {
                title: "t",
                x: "x",
                y: "y",
                equal: false,
                limit: Some(limit),
                circles: &[],
                curves,
            };
            super::plot(&p).unwrap()
        };
        assert!(plot(3.0).contains("class=\"limit\""));
        assert!(!plot(9.0).contains("class=\"limit\""), "too far away");
        assert_eq!(plot(3.0).matches('L').count(), 2, "one line of three points");
        let none = Plot {
            title: "t",
            x: "",
            y: "",
            equal: false,
            limit: None,
            circles: &[],
            curves: vec![],
        };
        assert!(super::plot(&none).is_none());
    }
}
