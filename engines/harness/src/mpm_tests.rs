use crate::gates::{FinalState, judge};
use sim_engine_protocol::{
    Body, BodyKind, Counters, Gates, MPM_FORMAT, Material, Mpm, Pose, Precision, Scene, Shape,
};

const CELL: f64 = 0.1;

/// Eight points on the corners of a cube of 0.05 m, in a tank of 1.6 × 1.6 × 1 m.
pub(crate) fn scene() -> Scene {
    let mpm = Mpm {
        material: Material::Elastic { young_modulus: 1.0e4, poisson_ratio: 0.2 },
        density: 1000.0,
        spacing: CELL / 2.0,
        cell: CELL,
        substeps: 20,
        friction: 0.5,
        lower: [-0.8, -0.8, 0.0],
        upper: [0.8, 0.8, 1.0],
        padding: 0.4,
    };
    let body = |kind, shape, mass, inertia, position| Body {
        name: None,
        kind,
        shape,
        mass,
        inertia,
        position,
        orientation: [1.0, 0.0, 0.0, 0.0],
        linear_velocity: [0.0; 3],
        angular_velocity: [0.0; 3],
        friction: 0.5,
    };
    let floor = Shape::Box { half_extents: [1.2, 1.2, 0.2] };
    let mut bodies = vec![body(BodyKind::Static, floor, 0.0, [0.0; 3], [0.0, 0.0, -0.2])];
    for k in 0..8 {
        let place = [k % 2, k / 2 % 2, k / 4].map(|i| 0.1 + 0.05 * f64::from(i));
        let point = Shape::Sphere { radius: CELL / 4.0 };
        bodies.push(body(BodyKind::Dynamic, point, mpm.point_mass(), [1e-5; 3], place));
    }
    let scene = Scene {
        format: MPM_FORMAT,
        name: "points".into(),
        gravity: [0.0, 0.0, -9.81],
        timestep: 1.0 / 240.0,
        contact_free: false,
        bodies,
        hinges: Vec::new(),
        reference: None,
        robot: None,
        mpm: Some(mpm),
    };
    assert_eq!(scene.validate(), Ok(()));
    scene
}

fn counters() -> Counters {
    Counters {
        particles: Some(8),
        active_particles: Some(8),
        particle_mass_error: Some(1.0e-7),
        ..Counters::default()
    }
}

/// The gates that fail where the poses or counters of a good end are changed.
fn failed(change: impl Fn(&mut Vec<Pose>, &mut Counters)) -> Vec<(String, f64)> {
    let scene = scene();
    let mut poses: Vec<Pose> = scene.dynamic_bodies().map(|(_, b)| b.pose()).collect();
    let mut counters = counters();
    change(&mut poses, &mut counters);
    let (worlds, precision) = ([poses], Precision::Single);
    let state = FinalState { worlds: &worlds, steps: 1, precision, counters: &counters };
    let gates = judge(&scene, &Gates::default(), &state);
    assert_eq!(gates.len(), 7);
    assert!(gates.iter().all(|g| g.value.is_finite()));
    gates.into_iter().filter(|g| !g.passed).map(|g| (g.id, g.value)).collect()
}

fn only(id: &str, change: impl Fn(&mut Vec<Pose>, &mut Counters)) -> f64 {
    let list = failed(change);
    let names: Vec<&str> = list.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, [id]);
    list[0].1
}

#[test]
fn a_good_end_passes() {
    assert_eq!(failed(|_, _| ()), []);
}

/// P232.
#[test]
fn points_that_are_lost_or_made_are_counted() {
    assert_eq!(only("particle_count", |p, _| p.truncate(7)), 1.0);
    assert_eq!(only("particle_count", |p, _| p.push(p[0])), 1.0);
    assert_eq!(only("particle_count", |_, c| c.particles = Some(6)), 2.0);
    assert_eq!(only("particle_count", |_, c| c.particles = None), 8.0);
}

/// P233, P239.
#[test]
fn points_that_are_not_active_are_counted() {
    assert_eq!(only("inactive_particles", |_, c| c.active_particles = Some(7)), 1.0);
    assert_eq!(only("inactive_particles", |_, c| c.active_particles = None), 8.0);
}

/// P228.
#[test]
fn a_single_mass_that_drifts_is_found() {
    assert_eq!(failed(|_, c| c.particle_mass_error = Some(1.0e-5)), []);
    assert_eq!(only("particle_mass", |_, c| c.particle_mass_error = Some(1.1e-5)), 1.1e-5);
    only("particle_mass", |_, c| c.particle_mass_error = None);
}

/// P234.
#[test]
fn a_position_that_is_no_number_is_counted() {
    assert_eq!(only("non_finite", |p, _| p[3].position[1] = f64::NAN), 1.0);
    assert_eq!(only("non_finite", |p, _| p[3].position[2] = f64::NEG_INFINITY), 1.0);
}

/// P211, P235.
#[test]
fn padding_is_of_unit_length() {
    let value = only("quaternion_norm", |p, _| p[2].orientation = [1.01, 0.0, 0.0, 0.0]);
    assert!((value - 0.01).abs() < 1e-12);
    only("quaternion_norm", |p, _| p[2].orientation[3] = f64::NAN);
}

/// P236: a grid cell beyond the walls, and beyond the rim.
#[test]
fn points_that_leave_the_tank_are_counted() {
    for (axis, edge) in [(0, 0.8), (1, 0.8), (2, 1.0)] {
        assert_eq!(failed(|p, _| p[0].position[axis] = edge + 0.99 * CELL), []);
        assert_eq!(only("domain_escape", |p, _| p[0].position[axis] = edge + 1.01 * CELL), 1.0);
    }
    let both = |p: &mut Vec<Pose>, _: &mut Counters| {
        (p[0].position[0], p[1].position[1]) = (-0.91, -5.0);
    };
    assert_eq!(only("domain_escape", both), 2.0);
}

/// P237.
#[test]
fn the_floor_may_give_one_grid_cell() {
    assert_eq!(failed(|p, _| p[0].position[2] = -0.99 * CELL), []);
    let value = only("floor_penetration", |p, _| p[0].position[2] = -1.01 * CELL);
    assert!((value - 1.01 * CELL).abs() < 1e-12);
}
