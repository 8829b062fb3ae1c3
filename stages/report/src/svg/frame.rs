//! The frame of a chart: its size, its grid and the names of its axes.

use super::{Scale, at, escape};
use std::fmt::Write as _;

/// Where a chart's plot lies within it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) left: f64,
    pub(crate) right: f64,
    pub(crate) top: f64,
    pub(crate) bottom: f64,
}

impl Frame {
    /// The start of the SVG; `title` is for those who cannot see it.
    pub(crate) fn open(&self, title: &str) -> String {
        format!(
            "<svg class=\"chart\" viewBox=\"0 0 {} {}\" role=\"group\" aria-label=\"{}\">",
            self.width,
            self.height,
            escape(title)
        )
    }

    /// Grid, ticks, axes and their names, horizontal and vertical.
    pub(crate) fn axes(
        &self,
        out: &mut String,
        (x, x_name): (&Scale, &str),
        (y, y_name): (&Scale, &str),
    ) {
        let Frame { left, right, top, bottom, .. } = *self;
        // One path for all lines of a kind, and the place of a row of labels said once: pages are small.
        let (mut ticks, mut grid) = (String::new(), String::new());
        let (major, minor) = x.ticks(34.0);
        for v in minor {
            let _ = write!(ticks, "M{} {bottom}v3", at(x.at(v)));
        }
        let _ = write!(out, "<g text-anchor=\"middle\">");
        for (v, label) in major {
            let px = at(x.at(v));
            let _ = write!(grid, "M{px} {top}V{bottom}");
            let _ = write!(out, "<text x=\"{px}\" y=\"{}\">{label}</text>", at(bottom + 14.0));
        }
        let _ = write!(out, "</g><g text-anchor=\"end\">");
        let (major, minor) = y.ticks(20.0);
        for v in minor {
            let _ = write!(ticks, "M{left} {}h-3", at(y.at(v)));
        }
        for (v, label) in major {
            let _ = write!(grid, "M{left} {}H{right}", at(y.at(v)));
            let (x, y) = (at(left - 6.0), at(y.at(v) + 3.5));
            let _ = write!(out, "<text x=\"{x}\" y=\"{y}\">{label}</text>");
        }
        let _ = write!(out, "</g><path class=\"tick\" d=\"{ticks}\"/>");
        let _ = write!(out, "<path class=\"grid\" d=\"{grid}\"/>");
        let _ = write!(
            out,
            "<path class=\"axis\" d=\"M{left} {top}V{bottom}H{right}\"/>\
             <text class=\"name\" x=\"2\" y=\"11\">{}</text>\
             <text class=\"name\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            escape(y_name),
            at(f64::midpoint(left, right)),
            at(self.height - 4.0),
            escape(x_name)
        );
    }
}
