use crate::{Scenario, SourceFiles, brick_ring, find, pyramids, scenarios, to_canonical_json};
use sim_engine_protocol::{Body, Gates, Scene, Shape};

const DT: f64 = 1.0 / 240.0;

fn make(name: &str, size: u64) -> Scene {
    find(name).unwrap().generate(size, 7, DT).unwrap()
}

/// Scenarios of rigid bodies that need nothing but their generator.
fn generated() -> impl Iterator<Item = &'static Scenario> {
    scenarios().iter().filter(|s| s.source.is_none() && s.continuum.is_none())
}

fn near(a: f64, b: f64, slack: f64) {
    assert!((a - b).abs() <= slack, "{a} is not {b}");
}

fn balls(scene: &Scene) -> Vec<&Body> {
    scene.bodies.iter().filter(|b| b.name.as_deref() == Some("ball")).collect()
}

#[test]
fn every_folder_is_a_scenario_of_exact_size() {
    let names: Vec<_> = scenarios().iter().map(|s| s.name).collect();
    let expected = [
        "box_pile",
        "box_stack",
        "brick_ring",
        "capsule_pile",
        "elastic_cube",
        "free_chain",
        "free_fall",
        "hinge_field",
        "mixed_pile",
        "pendulum",
        "pyramids",
        "robot_go1",
        "robot_t1",
        "roll",
        "sand_column",
        "slide",
        "sphere_pile",
    ];
    assert_eq!(names, expected);
    assert!(scenarios().iter().all(|s| s.default_timestep() > 0.0 && !s.interest.is_empty()));
    for scenario in generated() {
        for size in [scenario.min_size, 200, 467, 468, 1000] {
            let scene = scenario.generate(size, 7, DT).unwrap();
            assert_eq!(scene.dynamic_count() as u64, size, "{}", scenario.name);
        }
        let problem = scenario.generate(0, 7, DT).unwrap_err().to_string();
        assert!(problem.starts_with("size = 0"), "{problem}");
        assert!(scenario.generate(300, 7, f64::NAN).unwrap_err().to_string().contains("timestep"));
    }
    assert_eq!(find("free_fall").unwrap().gates, Gates::default());
    assert_eq!(find("brick_ring").unwrap().gates.floor_penetration_m, 0.5);
    assert_eq!(find("pyramids").unwrap().gates.floor_penetration_m, 0.5);
    assert!(find("nothing").is_none());
}

/// Golden digests: a generator that changes by accident changes every result; one that changes
/// on purpose changes this line.
#[test]
fn same_arguments_same_bytes() {
    let mut all = blake3::Hasher::new();
    for scenario in generated() {
        let text = to_canonical_json(&scenario.generate(500, 7, DT).unwrap());
        assert_eq!(text, to_canonical_json(&scenario.generate(500, 7, DT).unwrap()));
        all.update(text.as_bytes());
    }
    assert_eq!(all.finalize().to_hex().as_str(), GOLDEN);
    let other = find("box_pile").unwrap().generate(500, 8, DT).unwrap();
    assert_ne!(other, make("box_pile", 500));
}

const GOLDEN: &str = "8b75a8bbbeec7a4e6c4d91ee34831cac8f434d52902f3984c6eb0a572710a56c";

#[test]
fn nothing_overlaps_or_sticks_in_the_floor_at_the_start() {
    for scenario in generated() {
        for size in [300, 1000] {
            let scene = make(scenario.name, size);
            let bodies: Vec<_> = scene.dynamic_bodies().map(|(_, b)| b).collect();
            for (i, a) in bodies.iter().enumerate() {
                assert!(a.shape.lowest_point(&a.pose()) >= -1e-12, "{}", scenario.name);
                for b in &bodies[..i] {
                    let gap = separation(a, b);
                    assert!(gap >= -1e-9, "{} {size}: {gap} m at {:?}", scenario.name, a.position);
                }
            }
        }
    }
}

/// A lower bound on the distance of two bodies: exact for upright boxes and spheres, through
/// bounding spheres for the rest.
fn separation(a: &Body, b: &Body) -> f64 {
    let d: [f64; 3] = std::array::from_fn(|i| b.position[i] - a.position[i]);
    let apart = d.iter().map(|x| x * x).sum::<f64>().sqrt();
    let (Shape::Box { half_extents: g }, Shape::Box { half_extents: h }) = (a.shape, b.shape)
    else {
        return apart - bound(a) - bound(b);
    };
    if apart >= bound(a) + bound(b) {
        return apart - bound(a) - bound(b);
    }
    // Separating axes of two boxes that are turned about z only.
    let axes = |q: [f64; 4]| {
        let (c, s) = (1.0 - 2.0 * q[3] * q[3], 2.0 * q[0] * q[3]);
        [[c, s], [-s, c]]
    };
    let (u, v) = (axes(a.orientation), axes(b.orientation));
    let reach = |set: &[[f64; 2]; 2], half: &[f64; 3], n: &[f64; 2]| -> f64 {
        (0..2).map(|i| half[i] * (set[i][0] * n[0] + set[i][1] * n[1]).abs()).sum()
    };
    let flat = u
        .iter()
        .chain(&v)
        .map(|n| (d[0] * n[0] + d[1] * n[1]).abs() - reach(&u, &g, n) - reach(&v, &h, n));
    flat.fold(d[2].abs() - g[2] - h[2], f64::max)
}

fn bound(body: &Body) -> f64 {
    match body.shape {
        Shape::Box { half_extents: h } => h.iter().map(|x| x * x).sum::<f64>().sqrt(),
        Shape::Sphere { radius } => radius,
        Shape::Capsule { radius, half_length } => radius + half_length,
        Shape::Cylinder { radius, half_length } => radius.hypot(half_length),
    }
}

#[test]
fn the_published_rings_have_their_bricks() {
    assert_eq!(brick_ring::bricks(80.0, 40), 110_440);
    assert_eq!(brick_ring::bricks(40.0, 20), 28_112);
}

#[test]
fn size_110_000_is_the_ring_of_40_courses() {
    assert_eq!(brick_ring::courses(110_000), 40);
    let radius = brick_ring::solve_radius(109_999, 40);
    near(radius, 80.0, 0.5);
    let scene = make("brick_ring", 110_000);
    assert_eq!(scene.dynamic_count(), 110_000);
    let [ball] = balls(&scene)[..] else { panic!("one ball") };
    assert_eq!(ball.shape, Shape::Sphere { radius: 8.0 });
    near(ball.mass, 21_447.0, 0.5);
    near(ball.mass / 0.25, 85_786.0, 2.0);
    near(ball.position[1], -(radius + 5.2 + 8.0 + 2.0), 1e-9);
    rolls(ball);
    let bricks: Vec<_> =
        scene.dynamic_bodies().map(|(_, b)| b).filter(|b| b.mass == 0.25).collect();
    assert_eq!(bricks.len(), 109_999);
    assert!(bricks.iter().all(|b| b.friction == 0.5));
    near(bricks.last().unwrap().position[2], 0.25 + 0.5 * 39.0, 1e-12);
}

#[test]
fn small_rings_taper_from_ten_to_one() {
    for size in [300, 1000, 3000] {
        let scene = make("brick_ring", size);
        let top = 0.25 + 0.5 * (brick_ring::courses(size) - 1) as f64;
        let at = |z: f64| {
            let mut list: Vec<_> = scene
                .bodies
                .iter()
                .filter(|b| b.mass == 0.25 && b.position[2] == z)
                .map(|b| (b.position[0].hypot(b.position[1]) * 100.0).round() as i64)
                .collect();
            list.sort_unstable();
            list.dedup();
            list.len()
        };
        assert_eq!((at(0.25), at(top)), (10, 1), "{size}");
    }
}

#[test]
fn size_505_922_is_the_field_of_16_by_68() {
    assert_eq!(pyramids::grid(505_922), (30, 16, 68, 505_920));
    let scene = make("pyramids", 505_922);
    assert_eq!(scene.dynamic_count(), 505_922);
    let balls = balls(&scene);
    assert_eq!(balls.len(), 2);
    for (ball, column) in balls.iter().zip([6.0, 9.0]) {
        near(ball.mass, 16_486.0, 0.5);
        near(ball.position[0], (column - 7.5) * 32.0, 1e-12);
        near(ball.position[1], -(167.5 + 30.0 / 7.0 + 12.0), 1e-9);
        rolls(ball);
    }
}

#[test]
fn other_fields_add_walls_and_shrink_the_base_only_below_one() {
    assert_eq!(pyramids::grid(467), (30, 1, 1, 465));
    assert_eq!(pyramids::grid(468), (30, 1, 2, 466));
    assert_eq!(pyramids::grid(437), (29, 1, 1, 435));
    assert_eq!(pyramids::grid(5), (2, 1, 1, 3));
    let scene = make("pyramids", 300);
    let [a, b] = balls(&scene)[..] else { panic!("two balls") };
    assert!(separation(a, b) > 0.0);
}

/// The point of the ball that touches the floor stands still: v + ω × (0, 0, -r) = 0.
fn rolls(ball: &Body) {
    let Shape::Sphere { radius: r } = ball.shape else { panic!("a ball") };
    let (v, w) = (ball.linear_velocity, ball.angular_velocity);
    assert_eq!(v, [0.0, 30.0, 0.0]);
    near(v[0] - w[1] * r, 0.0, 1e-12);
    near(v[1] + w[0] * r, 0.0, 1e-12);
    near(ball.position[2], r, 0.0);
}

#[test]
fn hinged_rods_hang_from_their_anchor() {
    let scene = make("hinge_field", 100);
    assert_eq!(scene.hinges.len(), 100);
    assert!(scene.hinges.iter().any(|h| h.axis[0] == 1.0));
    assert!(scene.hinges.iter().any(|h| h.axis[1] == 1.0));
    for hinge in &scene.hinges {
        let body = &scene.bodies[hinge.body];
        let top = body.pose().transform(hinge.anchor_local);
        (0..3).for_each(|i| near(top[i], hinge.anchor[i], 1e-12));
        assert!(body.position[2] < hinge.anchor[2]);
    }
}

#[test]
fn free_fall_stays_above_the_floor_for_its_horizon() {
    let scenario = find("free_fall").unwrap();
    let t = scenario.steps as f64 * scenario.default_timestep();
    assert!(make("free_fall", 100).contact_free);
    assert!(50.0 - 9.81 * t * t / 2.0 > 1.0);
}

#[test]
fn slopes_are_tilted_gravity_and_pairs_share_one_friction() {
    let slope = f64::tan(std::f64::consts::PI / 9.0);
    for name in ["slide", "roll"] {
        let scene = make(name, 40);
        near(scene.gravity[0] / -scene.gravity[2], slope, 1e-12);
        near(scene.gravity.iter().map(|g| g * g).sum::<f64>().sqrt(), 9.81, 1e-12);
        let slabs: Vec<_> = scene.bodies.iter().filter(|b| !b.is_dynamic()).collect();
        let bodies: Vec<_> = scene.dynamic_bodies().map(|(_, b)| b).collect();
        for (slab, body) in slabs.iter().zip(&bodies) {
            assert_eq!((slab.friction, slab.position[1]), (body.friction, body.position[1]));
            near(body.shape.lowest_point(&body.pose()), 0.0, 1e-12);
            // The farthest that a body without friction gets in two seconds stays on its slab.
            let farthest = 2.0 * scene.gravity[0] + body.linear_velocity[0] * 2.0;
            assert!(farthest < 18.0, "{farthest}");
        }
    }
    let sliding = make("slide", 2);
    near(sliding.bodies[1].friction, slope, 1e-12);
    assert!(make("roll", 2).bodies[1].friction > 2.0 / 7.0 * slope);
}

#[test]
fn chains_start_with_velocities_that_their_hinges_allow() {
    let scene = make("free_chain", 10);
    assert_eq!(scene.hinges.len(), 7);
    for hinge in &scene.hinges {
        let parent = &scene.bodies[hinge.parent.unwrap()];
        let child = &scene.bodies[hinge.body];
        // Both say the same velocity of the hinge's point, and turn apart about the axis only.
        let point = |b: &Body| -> [f64; 3] {
            let (w, v) = (b.angular_velocity, b.linear_velocity);
            let r: [f64; 3] = std::array::from_fn(|i| hinge.anchor[i] - b.position[i]);
            [
                v[0] + w[1] * r[2] - w[2] * r[1],
                v[1] + w[2] * r[0] - w[0] * r[2],
                v[2] + w[0] * r[1] - w[1] * r[0],
            ]
        };
        let (a, b) = (point(parent), point(child));
        (0..3).for_each(|i| near(a[i], b[i], 1e-12));
        for i in (0..3).filter(|i| hinge.axis[*i] == 0.0) {
            near(parent.angular_velocity[i], child.angular_velocity[i], 1e-12);
        }
    }
}

#[test]
fn robots_say_what_their_source_lacks() {
    for (name, height) in [("robot_go1", (0.22, 0.5)), ("robot_t1", (0.55, 0.75))] {
        let robot = find(name).unwrap();
        assert_eq!((robot.min_size, robot.max_size, robot.steps), (1, 1, 480));
        let gates = robot.gates;
        assert_eq!(
            (gates.base_height_min_m, gates.base_height_max_m),
            (Some(height.0), Some(height.1))
        );
        assert_eq!((gates.base_drift_m, gates.base_upright), (Some(1.0), Some(0.9)));
        let pin = robot.source.as_ref().unwrap();
        assert_eq!((pin.sha256.len(), pin.file.ends_with(".whl")), (64, true));
        let licence = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(name).join("LICENSE");
        assert!(std::fs::read_to_string(licence).unwrap().len() > 1000);
        let problem = robot.generate(1, 7, DT).unwrap_err().to_string();
        assert_eq!(problem, format!("{name}: its source model was not given"));
        let wrong = SourceFiles { model: "<html/>".into(), keys: Some("<mujoco/>".into()) };
        let problem = robot.generate_from(1, 7, DT, Some(&wrong)).unwrap_err().to_string();
        assert_eq!(problem, format!("{name}: the model's angles are not in radians"));
    }
}
