//! Colours: a hue an engine, a shade a body, one ground for all.

use crate::vector::V;

/// The hue of each known engine, in the order of the engines' columns in reports: that of the
/// report's style in its dark scheme.
const HUES: [u32; 8] =
    [0x62_b3f2, 0xf0_9a5b, 0x4f_c9a2, 0xe5_8cbf, 0xd9_bd4a, 0x9f_d3ef, 0xb4_9ee8, 0xb8_b6ae];

/// Engines by name, in the order of their columns.
const ENGINES: &[&str] = include!(concat!(env!("OUT_DIR"), "/engines.rs"));

/// Behind everything: bottom and top of the picture.
pub(crate) const SKY: (V, V) = ([0.185, 0.205, 0.235], [0.115, 0.125, 0.145]);
/// Bodies that never move: the two squares of their pattern.
pub(crate) const GROUND: (V, V) = ([0.335, 0.352, 0.378], [0.300, 0.316, 0.341]);

/// Red, green, blue from 0 to 1.
fn rgb(hex: u32) -> V {
    [16, 8, 0].map(|shift| ((hex >> shift) & 255) as f32 / 255.0)
}

/// The place of an engine among the known ones; further ones share the last hue.
pub(crate) fn style(engine: &str) -> usize {
    ENGINES.iter().position(|e| *e == engine).unwrap_or(HUES.len() - 1) % HUES.len()
}

/// The hue of a style.
pub(crate) fn rgb_of(style: usize) -> V {
    rgb(HUES[style % HUES.len()])
}

/// The colour of a body: the hue of its engine, lighter or darker by its place in the scene, so that
/// neighbours can be told apart and the same body has the same shade in every engine.
pub(crate) fn body(style: usize, index: usize) -> V {
    // A Weyl sequence: neighbours in the scene get shades far from each other.
    let step = (index as u32).wrapping_mul(0x9e37_79b9) >> 8;
    let shade = 0.74 + 0.36 * (step as f32 / 16_777_216.0);
    rgb_of(style).map(|c| c * shade)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_have_the_hues_of_their_columns() {
        assert_eq!((style("mujoco"), style("rapier"), style("no such engine")), (0, 1, 7));
        let shades: Vec<V> = (0..50).map(|i| body(1, i)).collect();
        for pair in shades.windows(2) {
            assert!((pair[0][0] - pair[1][0]).abs() > 0.02, "{pair:?}");
        }
        assert!(shades.iter().all(|c| c[0] > c[1] && c[1] > c[2]), "still the hue");
    }

    /// The style sheet has the same colours.
    #[test]
    fn hues_are_those_of_the_style_sheet() {
        let css = include_str!("../../../templates/style.css");
        for (i, hue) in HUES.iter().enumerate() {
            assert!(css.contains(&format!("--c{i}: #{hue:06x}")), "c{i}");
        }
    }
}
