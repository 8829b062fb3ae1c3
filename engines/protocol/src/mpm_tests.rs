use super::*;
use crate::scene::{Body, BodyKind};

/// A cube of n³ points of 0.4 m on a floor in a tank.
pub(crate) fn cube(n: u64, timestep: f64) -> Scene {
    let spacing = 0.4 / n as f64;
    let mpm = Mpm {
        material: Material::Elastic { young_modulus: 1.0e4, poisson_ratio: 0.2 },
        density: 1000.0,
        spacing,
        cell: 2.0 * spacing,
        substeps: 20,
        friction: 0.5,
        lower: [-0.8, -0.8, 0.0],
        upper: [0.8, 0.8, 1.0],
        padding: 0.4,
    };
    let body = |kind, shape, mass, position| Body {
        name: None,
        kind,
        shape,
        mass,
        inertia: if mass > 0.0 { [1.0e-6; 3] } else { [0.0; 3] },
        position,
        orientation: [1.0, 0.0, 0.0, 0.0],
        linear_velocity: [0.0; 3],
        angular_velocity: [0.0; 3],
        friction: 0.5,
    };
    let floor = Shape::Box { half_extents: [1.2, 1.2, 0.2] };
    let mut bodies = vec![body(BodyKind::Static, floor, 0.0, [0.0, 0.0, -0.2])];
    let point = Shape::Sphere { radius: spacing / 2.0 };
    for k in 0..n.pow(3) {
        let place = [k % n, k / n % n, k / n / n].map(|i| (i as f64 + 0.5) * spacing);
        let place = [place[0] - 0.2, place[1] - 0.2, place[2]];
        bodies.push(body(BodyKind::Dynamic, point, mpm.point_mass(), place));
    }
    Scene {
        format: MPM_FORMAT,
        name: "cube".into(),
        gravity: [0.0, 0.0, -9.81],
        timestep,
        contact_free: false,
        bodies,
        hinges: Vec::new(),
        reference: None,
        robot: None,
        mpm: Some(mpm),
    }
}

const DT: f64 = 1.0 / 240.0;

fn paths(scene: &Scene) -> Vec<String> {
    scene.validate().unwrap_err().into_iter().map(|e| e.path).collect()
}

/// P215: 64 kg, whatever the number of points. FACTS of the published workload: waves of 3.333 m/s, which
/// cross 0.0069 of a cell of 0.1 m in a substep, and 0.0503 of one of 13.8 mm.
#[test]
fn waves_and_masses_are_those_of_the_books() {
    for (n, courant) in [(8_u64, 0.0069), (58, 0.0503)] {
        let mpm = cube(2, DT).mpm.unwrap();
        let spacing = 0.4 / n as f64;
        let mpm = Mpm { spacing, cell: 2.0 * spacing, ..mpm };
        assert!((mpm.wave_speed() - 10.0 / 3.0).abs() < 1e-3, "{}", mpm.wave_speed());
        let acoustic = Mpm { upper: [0.8, 0.8, 0.0], ..mpm.clone() }.courant(DT, 9.81, 0.0);
        assert!((acoustic - courant).abs() < 1e-4, "{acoustic}");
        assert!((mpm.point_mass() * n.pow(3) as f64 - 64.0).abs() < 1e-9);
        // A point that fell through the tank is faster than the waves.
        assert!(mpm.courant(DT, 9.81, 0.0) > 2.0 * acoustic);
    }
}

/// P223: at 240 Hz every preset passes; longer steps on small cells do not.
#[test]
fn steps_that_are_too_long_for_the_cells_are_refused() {
    assert_eq!(cube(8, DT).validate(), Ok(()));
    let finest = Mpm { spacing: 0.4 / 58.0, cell: 0.8 / 58.0, ..cube(2, DT).mpm.unwrap() };
    assert_eq!(finest.check_courant(DT, 9.81, 0.0), Ok(()));
    let said = finest.check_courant(1.0 / 60.0, 9.81, 0.0).unwrap_err();
    assert!(said.contains("Courant number of 0.46") && said.contains("s or less"), "{said}");
    let mut long = cube(8, 0.2);
    assert_eq!(paths(&long), ["timestep"]);
    // As few substeps are as wrong as long steps, and so is a stiff material, and a fast start.
    long.timestep = DT;
    long.mpm.as_mut().unwrap().substeps = 1;
    assert_eq!(paths(&long), ["timestep"]);
    let mut stiff = cube(8, DT);
    stiff.mpm.as_mut().unwrap().material =
        Material::Elastic { young_modulus: 2.0e10, poisson_ratio: 0.2 };
    assert_eq!(paths(&stiff), ["timestep"]);
    let mut fast = cube(8, DT);
    fast.bodies[1].linear_velocity = [900.0, 0.0, 0.0];
    assert_eq!(paths(&fast), ["timestep"]);
    assert!(finest.check_courant(f64::NAN, 9.81, 0.0).is_err());
}

/// P210.
#[test]
fn every_point_is_the_materials() {
    type Change = fn(&mut Scene);
    let cases: [(&str, Change); 12] = [
        ("bodies[1].mass", |s| s.bodies[1].mass *= 1.001),
        ("bodies[2].shape", |s| s.bodies[2].shape = Shape::Sphere { radius: 0.3 }),
        ("bodies[1].orientation", |s| s.bodies[1].orientation = [0.0, 1.0, 0.0, 0.0]),
        ("bodies[1].angular_velocity", |s| s.bodies[1].angular_velocity[0] = 1.0),
        ("bodies[1].friction", |s| s.bodies[1].friction = 0.4),
        ("bodies[1].position", |s| s.bodies[1].position[0] = 0.81),
        ("bodies[0].shape", |s| s.bodies[0].shape = Shape::Sphere { radius: 1.0 }),
        ("bodies", |s| s.bodies.truncate(1)),
        ("mpm.cell", |s| s.mpm.as_mut().unwrap().cell *= 2.0),
        ("mpm.lower[2]", |s| s.mpm.as_mut().unwrap().lower[2] = -0.1),
        ("mpm.padding", |s| s.mpm.as_mut().unwrap().padding = 0.0),
        ("mpm", |s| s.contact_free = true),
    ];
    for (path, change) in cases {
        let mut scene = cube(4, DT);
        change(&mut scene);
        assert_eq!(paths(&scene), [path]);
    }
    let mut old = cube(4, DT);
    old.format = 1;
    assert_eq!(paths(&old), ["format"]);
    let mut sand = cube(4, DT);
    sand.mpm.as_mut().unwrap().material = Material::Sand {
        young_modulus: 1.0e4,
        poisson_ratio: 0.6,
        friction_angle: 2.0,
        cohesion: -1.0,
        hardening: f64::NAN,
    };
    let wrong = ["poisson_ratio", "friction_angle", "cohesion", "hardening"];
    assert_eq!(paths(&sand), wrong.map(|f| format!("mpm.material.{f}")));
}

#[test]
fn material_survives_json_and_unknown_fields_do_not() {
    let scene = cube(2, DT);
    let text = serde_json::to_string(&scene).unwrap();
    assert_eq!(serde_json::from_str::<Scene>(&text).unwrap(), scene);
    let bad = text.replace("\"substeps\":20", "\"substeps\":20,\"steps\":1");
    assert!(serde_json::from_str::<Scene>(&bad).is_err());
}

/// P216: 8³ and 58³ both fit.
#[test]
fn sizes_are_cubes_of_even_numbers() {
    assert_eq!((even_cube(512), even_cube(195_112)), (Some(8), Some(58)));
    for size in [0, 1, 27, 343, 511, 513, 1000 + 1, 195_111] {
        assert_eq!(even_cube(size), None, "{size}");
    }
    assert_eq!(even_cube(1000), Some(10));
}
