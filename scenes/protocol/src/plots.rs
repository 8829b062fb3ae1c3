//! Curves of a protocol's runs, `plots.json`: what a page shows beside the checks.

use serde::{Deserialize, Serialize};

/// Format of the file.
pub const FORMAT: u32 = 1;

/// Points of a curve that are kept; a page holds dozens of curves.
pub const MOST_POINTS: usize = 240;

/// The file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plots {
    /// [`FORMAT`].
    pub format: u32,
    /// By scenario, in the order of the protocol.
    pub scenarios: Vec<ScenarioPlots>,
}

/// The curves of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScenarioPlots {
    /// Its name.
    pub scenario: String,
    /// Its plots.
    pub plots: Vec<Plot>,
}

/// One plot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plot {
    /// What is shown.
    pub title: String,
    /// Name of the horizontal axis, with its unit.
    pub x: String,
    /// Name of the vertical axis, with its unit.
    pub y: String,
    /// Whether both axes have one scale, as a map has.
    #[serde(default)]
    pub equal: bool,
    /// A limit on what is shown, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<f64>,
    /// Round things that lie there: centre and radius, in the axes' units.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub circles: Vec<[f64; 3]>,
    /// One curve a candidate, of its first repeat.
    pub curves: Vec<Curve>,
}

/// One curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// Physics step of the candidate, s.
    pub timestep_s: f64,
    /// Points in the order of time. Where there were more than fit, the least and the greatest value of
    /// each stretch are kept, so that no extreme is lost.
    pub points: Vec<[f64; 2]>,
}

/// Seven digits, for a line that a screen shows.
fn short(points: impl IntoIterator<Item = [f64; 2]>) -> Vec<[f64; 2]> {
    let digits = |x: f64| format!("{x:.6e}").parse().unwrap_or(x);
    points.into_iter().map(|p| p.map(digits)).collect()
}

/// At most `most` of the points, the least and the greatest value of each stretch; the ends stay.
pub fn thin(points: &[[f64; 2]], most: usize) -> Vec<[f64; 2]> {
    if points.len() <= most {
        return short(points.iter().copied());
    }
    let (first, inner, last) = (points[0], &points[1..points.len() - 1], points[points.len() - 1]);
    let stretch = inner.len().div_ceil((most - 2) / 2);
    let mut out = vec![first];
    for part in inner.chunks(stretch) {
        let order = |a: &&[f64; 2], b: &&[f64; 2]| a[1].total_cmp(&b[1]);
        let ends = part.iter().min_by(order).zip(part.iter().max_by(order));
        let Some((least, greatest)) = ends else { continue };
        if least[0] <= greatest[0] {
            out.extend([*least, *greatest]);
        } else {
            out.extend([*greatest, *least]);
        }
    }
    out.push(last);
    out.dedup();
    short(out)
}

/// At most `most` of the points of a path, evenly; the ends stay.
pub fn thin_path(points: &[[f64; 2]], most: usize) -> Vec<[f64; 2]> {
    if points.len() <= most {
        return short(points.iter().copied());
    }
    let last = points.len() - 1;
    short((0..most).map(|i| points[i * last / (most - 1)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_ends_and_extremes() {
        let mut points: Vec<[f64; 2]> = (0..1201).map(|i| [f64::from(i), 0.0]).collect();
        points[377][1] = -3.0;
        points[378][1] = 5.0;
        let thin = thin(&points, 240);
        assert!(thin.len() <= 240, "{}", thin.len());
        assert_eq!((thin[0], thin[thin.len() - 1]), ([0.0, 0.0], [1200.0, 0.0]));
        assert!(thin.contains(&[377.0, -3.0]) && thin.contains(&[378.0, 5.0]));
        assert!(thin.windows(2).all(|w| w[0][0] < w[1][0]), "in the order of time");
        let path = thin_path(&points, 100);
        assert_eq!((path.len(), path[0], path[99]), (100, [0.0, 0.0], [1200.0, 0.0]));
        assert_eq!(super::thin(&points[..3], 240), points[..3]);
    }
}
