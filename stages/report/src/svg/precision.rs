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
    let mut labels = Vec::new();
    for line in &p.lines {
        draw(&mut out, line, (&x, &y), &mut labels);
    }
    out.push_str("</svg>");
    Some(out)
}

fn draw(out: &mut String, line: &Line, (x, y): (&Scale, &Scale), labels: &mut Vec<Rect>) {
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
        // Labels of other settings would cover those of the adapter's own; they stand in their
        // titles and in the table.
        if line.dash == 0
            && let Some((x, y, anchor)) = place(labels, (px, py), line.style, &m.label)
        {
            let _ = write!(
                out,
                "<text class=\"dt\" x=\"{}\" y=\"{}\" text-anchor=\"{anchor}\">{}</text>",
                at(x),
                at(y),
                escape(&m.label)
            );
        }
    }
    out.push_str("</g>");
}

/// A label's rectangle: left, top, right, bottom.
type Rect = [f64; 4];

/// A place for a label beside its point where no other label is; none where all are taken. Lines
/// beside each other try different sides first.
fn place(
    taken: &mut Vec<Rect>,
    (px, py): (f64, f64),
    style: usize,
    label: &str,
) -> Option<(f64, f64, &'static str)> {
    // About what nine pixels of the page's font need.
    let width = 4.9 * label.chars().count() as f64;
    let mut sides = [(6.0, -5.0), (6.0, 12.0), (-6.0, 12.0), (-6.0, -5.0)];
    sides.rotate_left(style % 2 * 2);
    sides.into_iter().find_map(|(dx, dy)| {
        let (x, y): (f64, f64) = (px + dx, py + dy);
        let left = if dx > 0.0 { x } else { x - width };
        let rect = [left, y - 8.0, left + width, y + 1.0];
        let apart = |t: &Rect| t[2] < rect[0] || rect[2] < t[0] || t[3] < rect[1] || rect[3] < t[1];
        let inside = rect[0] > FRAME.left && rect[2] < FRAME.width && rect[3] < FRAME.bottom;
        if !inside || !taken.iter().all(apart) {
            return None;
        }
        taken.push(rect);
        Some((x, y, if dx > 0.0 { "start" } else { "end" }))
    })
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
    fn labels_do_not_cover_each_other() {
        let mut taken = Vec::new();
        let spots: Vec<_> = (0..6).map(|_| place(&mut taken, (200.0, 150.0), 0, "1/240")).collect();
        assert_eq!(spots.iter().flatten().count(), 4, "four sides, and no fifth");
        assert!(place(&mut taken, (300.0, 150.0), 1, "1/240").is_some_and(|s| s.0 < 300.0));
    }

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
