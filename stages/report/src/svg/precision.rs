//! A work-precision panel: error against cost, both logarithmic, a line an engine and settings, a
//! point a timestep with its label and its spread in both directions.

use super::{Frame, STYLES, Scale, at, escape, marker};
use std::fmt::Write as _;

/// Kinds of lines: the adapter's own settings are drawn through, others dashed.
pub(crate) const DASHES: usize = 4;

/// A panel.
#[derive(Clone, Debug)]
pub(crate) struct Frontier {
    /// For those who cannot see it.
    pub(crate) title: String,
    /// What the error is, with its unit.
    pub(crate) error: String,
    /// Lines.
    pub(crate) lines: Vec<Line>,
}

/// One line.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// Number of the column, for colour and shape.
    pub(crate) style: usize,
    /// 0 for the adapter's own settings.
    pub(crate) dash: usize,
    /// Points by timestep.
    pub(crate) points: Vec<Mark>,
}

/// One point.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    /// Cost: low, middle, high.
    pub(crate) cost: [f64; 3],
    /// Error: low, middle, high; all positive.
    pub(crate) error: [f64; 3],
    /// The timestep.
    pub(crate) label: String,
    /// Where the point leads.
    pub(crate) href: String,
    /// What it says.
    pub(crate) title: String,
    /// Whether every planned trial passed; the marker is hollow otherwise.
    pub(crate) complete: bool,
}

const FRAME: Frame =
    Frame { width: 440.0, height: 320.0, left: 48.0, right: 430.0, top: 22.0, bottom: 284.0 };

/// The panel as SVG, or nothing where it has no points.
pub(crate) fn frontier(p: &Frontier) -> Option<String> {
    let all = || p.lines.iter().flat_map(|l| &l.points);
    // Room for the labels beside the outermost points.
    let x = Scale::log(all().flat_map(|m| m.cost), FRAME.left + 14.0, FRAME.right - 22.0, 3.0)?;
    let y = Scale::log(all().flat_map(|m| m.error), FRAME.bottom - 8.0, FRAME.top + 8.0, 3.0)?;
    let mut out = FRAME.open(&p.title);
    FRAME.axes(&mut out, (&x, "ms of computing per simulated second"), (&y, &p.error));
    for line in &p.lines {
        draw(&mut out, line, &x, &y);
    }
    out.push_str("</svg>");
    Some(out)
}

fn draw(out: &mut String, line: &Line, x: &Scale, y: &Scale) {
    let _ = write!(out, "<g class=\"s{} d{}\">", line.style % STYLES, line.dash % DASHES);
    let mut d = String::new();
    for (i, m) in line.points.iter().enumerate() {
        let (px, py) = (at(x.at(m.cost[1])), at(y.at(m.error[1])));
        let _ = write!(d, "{}{px} {py}", if i == 0 { "M" } else { "L" });
    }
    let _ = write!(out, "<path class=\"line\" d=\"{d}\"/>");
    for m in &line.points {
        let (px, py) = (x.at(m.cost[1]), y.at(m.error[1]));
        for (low, high, path) in [
            (
                x.at(m.cost[0]),
                x.at(m.cost[2]),
                format!("M{} {}H{}", at(x.at(m.cost[0])), at(py), at(x.at(m.cost[2]))),
            ),
            (
                y.at(m.error[2]),
                y.at(m.error[0]),
                format!("M{} {}V{}", at(px), at(y.at(m.error[2])), at(y.at(m.error[0]))),
            ),
        ] {
            if high - low > 0.5 {
                let _ = write!(out, "<path class=\"whisker\" d=\"{path}\"/>");
            }
        }
        let radius = if line.dash == 0 { 4.0 } else { 3.0 };
        let hollow = if m.complete { "" } else { " class=\"hollow\"" };
        let _ = write!(
            out,
            "<a href=\"{}\"{hollow}><title>{}</title>{}</a>",
            escape(&m.href),
            escape(&m.title),
            marker(line.style, px, py, radius)
        );
        // Labels of engines beside each other go to different sides; those of other settings would
        // cover them, and stand in their titles and in the table.
        if line.dash == 0 {
            let (dx, dy, anchor) = match line.style % 2 {
                0 => (6.0, -5.0, "start"),
                _ => (-6.0, 11.0, "end"),
            };
            let _ = write!(
                out,
                "<text class=\"dt\" x=\"{}\" y=\"{}\" text-anchor=\"{anchor}\">{}</text>",
                at(px + dx),
                at(py + dy),
                escape(&m.label)
            );
        }
    }
    out.push_str("</g>");
}

/// A piece of a line with its marker, for headings.
pub(crate) fn line_key(style: usize, dash: usize) -> String {
    format!(
        "<svg class=\"linekey chart s{} d{}\" viewBox=\"0 0 28 12\" aria-hidden=\"true\">\
         <path class=\"line\" d=\"M1 6H27\"/><a>{}</a></svg>",
        style % STYLES,
        dash % DASHES,
        marker(style, 14.0, 6.0, if dash == 0 { 4.0 } else { 3.0 })
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_settings_are_labelled_and_zero_spread_has_no_whisker() {
        let mark = |cost: f64, error: f64| Mark {
            cost: [cost * 0.8, cost, cost * 1.2],
            error: [error; 3],
            label: "1/240".into(),
            href: "cases/x.html".into(),
            title: "MuJoCo <b>".into(),
            complete: true,
        };
        let points = vec![mark(1.0, 1e-3), mark(4.0, 1e-7)];
        let line = |dash| Line { style: 1, dash, points: points.clone() };
        let panel =
            Frontier { title: "t".into(), error: "m".into(), lines: vec![line(0), line(2)] };
        let svg = frontier(&panel).expect("a panel");
        assert_eq!(svg.matches("class=\"dt\"").count(), 2);
        assert_eq!(svg.matches("class=\"whisker\"").count(), 4);
        assert!(svg.contains("s1 d0") && svg.contains("s1 d2") && svg.contains("MuJoCo &lt;b&gt;"));
        assert!(svg.contains(">10⁻⁵<") || svg.contains(">10⁻⁶<"), "{svg}");
        assert!(frontier(&Frontier { lines: vec![], ..panel }).is_none());
    }
}
