//! Material points: one cube of material in one tank, resolved into ever more points.

use crate::build::{Builder, inertia};
use serde::Deserialize;
use sim_engine_protocol::{Body, BodyKind, Material, Mpm, Shape, even_cube};

/// Edge of the cube of material, m: 0.064 m³ (P215).
const EDGE: f64 = 0.4;
/// kg/m³, hence 64 kg.
const DENSITY: f64 = 1000.0;
/// P222.
const SUBSTEPS: u32 = 20;
/// P241.
const FRICTION: f64 = 0.5;
/// Half of the inside width of the tank, m. Sand that spreads from a column of this shape comes to rest
/// before it or piles up against it.
const HALF_WIDTH: f64 = 0.8;
/// Height of the tank's walls, m.
const HEIGHT: f64 = 1.0;
/// Of floor and walls, m: four cells of the coarsest grid.
const THICKNESS: f64 = 0.4;
/// m/s².
const GRAVITY: f64 = 9.81;

/// What a scenario of material points says in its scene.toml.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Continuum {
    /// The constitutive law that is asked for.
    pub material: Material,
    /// Height of the material's lower face above the floor at the start, m.
    pub height: f64,
}

impl Continuum {
    /// The material resolved into `size` points; the error says why that many do not fit (P216).
    pub(crate) fn block(&self, size: u64) -> Result<(Mpm, u64), String> {
        let Some(n) = even_cube(size) else {
            return Err(format!(
                "size {size} is not the cube of an even number, such as {}",
                nearest(size)
            ));
        };
        let spacing = EDGE / n as f64;
        let mpm = Mpm {
            material: self.material,
            density: DENSITY,
            spacing,
            cell: 2.0 * spacing,
            substeps: SUBSTEPS,
            friction: FRICTION,
            lower: [-HALF_WIDTH, -HALF_WIDTH, 0.0],
            upper: [HALF_WIDTH, HALF_WIDTH, HEIGHT],
            padding: THICKNESS,
        };
        Ok((mpm, n))
    }

    /// Whether there is a scene of `size` points with a timestep of `dt` seconds.
    pub(crate) fn check(&self, size: u64, dt: f64) -> Result<(), String> {
        let (mpm, _) = self.block(size)?;
        mpm.check_courant(dt, GRAVITY, 0.0)
    }
}

/// The size that fits and is nearest, of those that are not smaller if there are two.
fn nearest(size: u64) -> u64 {
    let mut sizes = (8..=58_u64).step_by(2).map(|n| n.pow(3));
    let first = sizes.next().unwrap_or(size);
    sizes.fold(first, |best, s| if s.abs_diff(size) <= best.abs_diff(size) { s } else { best })
}

impl Builder<'_> {
    /// The tank, and in it the scenario's material as `size` points at rest.
    pub(crate) fn continuum(&mut self, size: u64) {
        let Some(continuum) = self.material() else {
            return self.fail("its scene.toml has no [mpm]".to_owned());
        };
        let (height, made) = (continuum.height, continuum.block(size));
        let (mpm, n) = match made {
            Ok(made) => made,
            Err(problem) => return self.fail(problem),
        };
        self.tank();
        let shape = Shape::Sphere { radius: mpm.spacing / 2.0 };
        let mass = mpm.point_mass();
        let moments = inertia(&shape, mass);
        let along = |i: u64| (i as f64 + 0.5) * mpm.spacing;
        for k in 0..size {
            let [x, y, z] = [k % n, k / n % n, k / (n * n)].map(along);
            let place = [x - EDGE / 2.0, y - EDGE / 2.0, z + height];
            self.push(body("", BodyKind::Dynamic, shape, mass, moments, place));
        }
        self.resolve(mpm);
    }

    /// A floor and four walls, the same for every engine (P213).
    fn tank(&mut self) {
        let (inside, half) = (HALF_WIDTH, THICKNESS / 2.0);
        let outside = inside + THICKNESS;
        let (middle, up) = (inside + half, HEIGHT / 2.0);
        for (name, half_extents, place) in [
            ("floor", [outside, outside, half], [0.0, 0.0, -half]),
            ("wall", [half, outside, up], [middle, 0.0, up]),
            ("wall", [half, outside, up], [-middle, 0.0, up]),
            ("wall", [inside, half, up], [0.0, middle, up]),
            ("wall", [inside, half, up], [0.0, -middle, up]),
        ] {
            let shape = Shape::Box { half_extents };
            self.push(body(name, BodyKind::Static, shape, 0.0, [0.0; 3], place));
        }
    }
}

fn body(
    name: &str,
    kind: BodyKind,
    shape: Shape,
    mass: f64,
    inertia: [f64; 3],
    position: [f64; 3],
) -> Body {
    Body {
        name: Some(name.to_owned()).filter(|n| !n.is_empty()),
        kind,
        shape,
        mass,
        inertia,
        position,
        orientation: [1.0, 0.0, 0.0, 0.0],
        linear_velocity: [0.0; 3],
        angular_velocity: [0.0; 3],
        friction: FRICTION,
    }
}

#[cfg(test)]
mod tests {
    use super::nearest;
    use crate::{Scenario, find, to_canonical_json};
    use sim_engine_protocol::{Material, Scene, Shape};

    const DT: f64 = 1.0 / 240.0;
    const NAMES: [&str; 2] = ["elastic_cube", "sand_column"];

    fn scenario(name: &str) -> &'static Scenario {
        find(name).unwrap()
    }

    fn make(name: &str, size: u64) -> Scene {
        scenario(name).generate(size, 7, DT).unwrap()
    }

    /// P214 to P217: one cube of 64 kg, resolved into more points.
    #[test]
    fn every_size_is_the_same_cube_of_material() {
        for (name, bottom) in [("elastic_cube", 0.2), ("sand_column", 0.0)] {
            for n in [8_u64, 16, 24] {
                let scene = make(name, n.pow(3));
                let mpm = scene.mpm.as_ref().unwrap();
                let spacing = 0.4 / n as f64;
                assert_eq!((mpm.spacing, mpm.cell, mpm.substeps), (spacing, 2.0 * spacing, 20));
                let points: Vec<_> = scene.dynamic_bodies().map(|(_, b)| b).collect();
                assert_eq!(points.len() as u64, n.pow(3));
                let mass: f64 = points.iter().map(|b| b.mass).sum();
                assert!((mass - 64.0).abs() < 1e-9, "{mass}");
                // A point reaches half a spacing beyond itself: 0.4 m from face to face.
                let ends = |axis: usize| {
                    let all = || points.iter().map(|b| b.position[axis]);
                    let low = all().fold(f64::INFINITY, f64::min) - spacing / 2.0;
                    (low, all().fold(f64::NEG_INFINITY, f64::max) + spacing / 2.0)
                };
                for (axis, low) in [(0, -0.2), (1, -0.2), (2, bottom)] {
                    let (a, b) = ends(axis);
                    assert!((a - low).abs() < 1e-12 && (b - low - 0.4).abs() < 1e-12, "{a} {b}");
                }
            }
        }
        let laws = NAMES.map(|n| make(n, 512).mpm.unwrap().material);
        assert_eq!(laws[0], Material::Elastic { young_modulus: 1.0e4, poisson_ratio: 0.2 });
        let Material::Sand { friction_angle, cohesion, hardening, .. } = laws[1] else {
            panic!("sand is no {:?}", laws[1]);
        };
        assert!((friction_angle.to_degrees() - 30.0).abs() < 1e-12);
        assert_eq!((cohesion, hardening), (0.0, 0.0));
    }

    /// P213: a floor and four walls around what the scene calls the inside of the tank.
    #[test]
    fn the_tank_encloses_its_inside() {
        let scene = make("elastic_cube", 512);
        let mpm = scene.mpm.as_ref().unwrap();
        let boxes: Vec<_> = scene
            .bodies
            .iter()
            .filter(|b| !b.is_dynamic())
            .map(|b| match b.shape {
                Shape::Box { half_extents } => (b.position, half_extents),
                other => panic!("a tank of {other:?}"),
            })
            .collect();
        assert_eq!(boxes.len(), 5);
        let holds = |point: [f64; 3]| {
            boxes.iter().any(|(c, h)| (0..3).all(|i| (point[i] - c[i]).abs() <= h[i]))
        };
        let (lower, upper) = (mpm.lower, mpm.upper);
        for k in 0..1000_u64 {
            let at = |i: u64, a: usize| lower[a] + (upper[a] - lower[a]) * (i as f64 + 0.5) / 10.0;
            let inside = [at(k % 10, 0), at(k / 10 % 10, 1), at(k / 100, 2)];
            assert!(!holds(inside), "{inside:?}");
            for (axis, by) in [(0, 0.01), (1, 0.01), (2, 0.01), (0, 0.39), (1, 0.39), (2, 0.39)] {
                let below =
                    std::array::from_fn(|i| if i == axis { lower[i] - by } else { inside[i] });
                assert!(holds(below), "{below:?}");
                let above =
                    std::array::from_fn(|i| if i == axis { upper[i] + by } else { inside[i] });
                assert!(axis == 2 || holds(above), "{above:?}");
            }
        }
    }

    /// P216, P220, P223.
    #[test]
    fn presets_fit_and_what_does_not_is_named() {
        for name in NAMES {
            let scenario = scenario(name);
            for n in (8..=58_u64).step_by(2) {
                assert_eq!(scenario.check(n.pow(3), DT), Ok(()));
            }
            let said = scenario.check(1000 + 1, DT).unwrap_err();
            assert_eq!(said, "size 1001 is not the cube of an even number, such as 1000");
            let said = scenario.check(195_112, 1.0 / 60.0).unwrap_err();
            assert!(said.contains("Courant number"), "{said}");
            assert!(scenario.generate(729, 7, DT).unwrap_err().to_string().contains("even number"));
            let said = scenario.generate(512, 7, 0.2).unwrap_err().to_string();
            assert!(said.contains("Courant number"), "{said}");
            assert!(
                scenario.generate(216, 7, DT).unwrap_err().to_string().starts_with("size = 216")
            );
        }
        assert_eq!((nearest(1), nearest(600), nearest(1_000_000)), (512, 512, 195_112));
        assert_eq!(find("box_pile").unwrap().check(3, 1.0), Ok(()));
    }

    const GOLDEN: &str = "895ca515315430ca000c69c1ce464649513fa59e130ae31a23be19c1d271e33d";

    /// Golden digest: see the one of the other scenarios.
    #[test]
    fn same_arguments_same_bytes() {
        let mut all = blake3::Hasher::new();
        for name in NAMES {
            all.update(to_canonical_json(&make(name, 512)).as_bytes());
        }
        assert_eq!(all.finalize().to_hex().as_str(), GOLDEN);
    }

    /// The largest preset.
    #[test]
    fn the_finest_cube_is_a_scene() {
        assert_eq!(make("sand_column", 195_112).dynamic_count(), 195_112);
    }
}
