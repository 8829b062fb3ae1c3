use super::*;

fn ball() -> Body {
    Body {
        name: None,
        kind: BodyKind::Dynamic,
        shape: Shape::Sphere { radius: 0.5 },
        mass: 2.0,
        inertia: [0.2; 3],
        position: [0.0, 0.0, 1.0],
        orientation: [1.0, 0.0, 0.0, 0.0],
        linear_velocity: [0.0; 3],
        angular_velocity: [0.0; 3],
        friction: 0.5,
    }
}

fn scene(bodies: Vec<Body>) -> Scene {
    Scene {
        format: SCENE_FORMAT,
        name: "test".into(),
        gravity: [0.0, 0.0, -9.81],
        timestep: 1.0 / 240.0,
        contact_free: false,
        bodies,
        hinges: vec![],
        reference: None,
        robot: None,
        mpm: None,
    }
}

fn paths(scene: &Scene) -> Vec<String> {
    scene.validate().unwrap_err().into_iter().map(|e| e.path).collect()
}

fn near(a: f64, b: f64) {
    assert!((a - b).abs() < 1e-12, "{a} is not {b}");
}

#[test]
fn a_good_scene_survives_json_to_the_last_bit() {
    let mut body = ball();
    body.position = [0.1 + 0.2, 1.0e-300f64.max(5e-7), -std::f64::consts::PI];
    let before = scene(vec![body]);
    assert_eq!(before.validate(), Ok(()));
    let text = serde_json::to_string(&before).unwrap();
    assert!(text.contains(r#""shape":{"sphere":{"radius":0.5}}"#), "{text}");
    assert_eq!(serde_json::from_str::<Scene>(&text).unwrap(), before);
}

#[test]
fn unknown_fields_are_errors_at_every_depth() {
    let good = serde_json::to_value(scene(vec![ball()])).unwrap();
    for at in ["", "/bodies/0", "/bodies/0/shape", "/bodies/0/shape/sphere"] {
        let mut bad = good.clone();
        bad.pointer_mut(at).unwrap()["surprise"] = 1.into();
        assert!(serde_json::from_value::<Scene>(bad).is_err(), "accepted at {at:?}");
    }
}

#[test]
fn the_field_is_named() {
    let bodies = |change: fn(&mut Body)| {
        let mut bad = ball();
        change(&mut bad);
        paths(&scene(vec![ball(), bad]))
    };
    assert_eq!(bodies(|b| b.mass = 0.0), ["bodies[1].mass"]);
    assert_eq!(bodies(|b| b.mass = f64::NAN), ["bodies[1].mass"]);
    assert_eq!(bodies(|b| b.position[2] = f64::INFINITY), ["bodies[1].position[2]"]);
    assert_eq!(bodies(|b| b.orientation = [1.0, 0.1, 0.0, 0.0]), ["bodies[1].orientation"]);
    assert_eq!(bodies(|b| b.inertia = [1.0, 1.0, 2.1]), ["bodies[1].inertia"]);
    assert_eq!(bodies(|b| b.inertia[0] = -1.0), ["bodies[1].inertia[0]"]);
    assert_eq!(
        bodies(|b| b.shape = Shape::Box { half_extents: [1.0, 1e300, 1.0] }),
        ["bodies[1].shape.box.half_extents[1]"]
    );
    assert_eq!(bodies(|b| b.friction = -0.1), ["bodies[1].friction"]);
    assert_eq!(bodies(|b| b.kind = BodyKind::Static), ["bodies[1].mass"]);
    assert_eq!(paths(&Scene { timestep: 0.0, ..scene(vec![ball()]) }), ["timestep"]);
    assert_eq!(paths(&scene(vec![])), ["bodies"]);
}

#[test]
fn hinges_must_fit_their_body() {
    let hinge = Hinge {
        body: 0,
        parent: None,
        anchor: [0.5, 0.0, 1.0],
        anchor_local: [0.5, 0.0, 0.0],
        axis: [0., 1., 0.],
    };
    let with = |h: Hinge| Scene { hinges: vec![h], ..scene(vec![ball()]) };
    assert_eq!(with(hinge).validate(), Ok(()));
    assert_eq!(paths(&with(Hinge { body: 1, ..hinge })), ["hinges[0].body"]);
    assert_eq!(paths(&with(Hinge { axis: [0.0, 2.0, 0.0], ..hinge })), ["hinges[0].axis"]);
    assert_eq!(paths(&with(Hinge { anchor: [0.6, 0.0, 1.0], ..hinge })), ["hinges[0].anchor"]);
    let twice = Scene { hinges: vec![hinge; 2], ..scene(vec![ball()]) };
    assert_eq!(paths(&twice), ["hinges[1].body"]);
}

#[test]
fn a_million_bad_bodies_make_a_short_list() {
    let bad = Body { mass: -1.0, ..ball() };
    let list = scene(vec![bad; 5000]).validate().unwrap_err();
    assert_eq!(list.len(), FieldErrors::MOST + 1);
    assert_eq!(list.last().unwrap().value, "4900");
}

#[test]
fn lowest_points_are_exact() {
    let half = std::f64::consts::FRAC_1_SQRT_2;
    // A quarter turn about x lays the z axis down along -y.
    let lying = Pose { position: [0.0, 0.0, 2.0], orientation: [half, half, 0.0, 0.0] };
    near(Shape::Box { half_extents: [0.1, 0.2, 0.3] }.lowest_point(&lying), 1.8);
    near(Shape::Capsule { radius: 0.1, half_length: 0.5 }.lowest_point(&lying), 1.9);
    near(Shape::Sphere { radius: 0.25 }.lowest_point(&lying), 1.75);
    // A cube turned 45 degrees about x stands on an edge, half a diagonal below its centre.
    let (c, s) = ((std::f64::consts::PI / 8.0).cos(), (std::f64::consts::PI / 8.0).sin());
    let edge = Pose { position: [0.0; 3], orientation: [c, s, 0.0, 0.0] };
    near(Shape::Box { half_extents: [1.0; 3] }.lowest_point(&edge), -2.0_f64.sqrt());
    let upright = Pose { position: [0.0; 3], orientation: [1.0, 0.0, 0.0, 0.0] };
    near(Shape::Capsule { radius: 0.1, half_length: 0.5 }.lowest_point(&upright), -0.6);
}

#[test]
fn points_move_with_their_body() {
    let half = std::f64::consts::FRAC_1_SQRT_2;
    // A quarter turn about z takes x to y.
    let pose = Pose { position: [1.0, 2.0, 3.0], orientation: [half, 0.0, 0.0, half] };
    let p = pose.transform([1.0, 0.0, 0.5]);
    near(p[0], 1.0);
    near(p[1], 3.0);
    near(p[2], 3.5);
}

#[test]
fn a_parent_is_dynamic_and_stands_before_its_child() {
    let mut child = ball();
    child.position = [1.0, 0.0, 1.0];
    let ground = Body { kind: BodyKind::Static, mass: 0.0, inertia: [0.0; 3], ..ball() };
    let hinge = |body, parent| Hinge {
        body,
        parent: Some(parent),
        anchor: [0.5, 0.0, 1.0],
        anchor_local: [-0.5, 0.0, 0.0],
        axis: [0.0, 1.0, 0.0],
    };
    let with = |h| Scene { hinges: vec![h], ..scene(vec![ball(), child.clone(), ground.clone()]) };
    assert_eq!(with(hinge(1, 0)).validate(), Ok(()));
    for parent in [1, 2, 9] {
        assert_eq!(paths(&with(hinge(1, parent))), ["hinges[0].parent"], "{parent}");
    }
}

#[test]
fn a_reference_is_refused_where_its_closed_form_does_not_hold() {
    let with = |reference| Scene { reference: Some(reference), ..scene(vec![ball()]) };
    assert_eq!(with(Reference::Roll).validate(), Ok(()));
    for wrong in [Reference::FreeFall, Reference::Pendulum, Reference::Slide, Reference::FreeChain]
    {
        assert_eq!(paths(&with(wrong)), ["reference"], "{wrong:?}");
    }
    let falling = Scene { contact_free: true, ..with(Reference::FreeFall) };
    assert_eq!(falling.validate(), Ok(()));
    let floating = Scene { gravity: [0.0; 3], ..with(Reference::FreeChain) };
    assert_eq!(floating.validate(), Ok(()));
}

#[test]
fn a_cylinder_reaches_down_as_far_as_its_rim() {
    let cylinder = Shape::Cylinder { radius: 0.3, half_length: 0.4 };
    let at = |angle: f64| Pose {
        position: [0.0, 0.0, 2.0],
        orientation: [(angle / 2.0).cos(), (angle / 2.0).sin(), 0.0, 0.0],
    };
    near(cylinder.lowest_point(&at(0.0)), 1.6);
    near(cylinder.lowest_point(&at(std::f64::consts::FRAC_PI_2)), 1.7);
    // Tilted by t, the rim is half · cos t + radius · sin t below the centre.
    near(cylinder.lowest_point(&at(0.5)), 2.0 - 0.4 * 0.5_f64.cos() - 0.3 * 0.5_f64.sin());
    near(at(0.5).upright(), 0.5_f64.cos());
}

#[test]
fn poses_compose_as_their_transforms_do() {
    let a = Pose { position: [1.0, 2.0, 3.0], orientation: [0.5, 0.5, -0.5, 0.5] };
    let b = Pose { position: [0.1, -0.2, 0.3], orientation: [0.8, 0.0, 0.6, 0.0] };
    let (both, point) = (a.compose(&b), [0.3, -0.2, 0.7]);
    let (there, again) = (a.transform(b.transform(point)), both.transform(point));
    (0..3).for_each(|i| near(there[i], again[i]));
}

/// A scene with a robot of two links.
fn robot() -> Scene {
    let link = serde_json::json!({
        "name": "base", "mass": 1.0, "position": [0.0, 0.0, 0.5],
        "orientation": [1.0, 0.0, 0.0, 0.0], "shapes": [{
            "shape": {"cylinder": {"radius": 0.1, "half_length": 0.2}},
            "position": [0.0, 0.0, 0.1], "orientation": [1.0, 0.0, 0.0, 0.0]
        }]
    });
    let mut leg = link.clone();
    (leg["name"], leg["parent"]) = ("leg".into(), 0.into());
    let mut floor = ball();
    (floor.kind, floor.mass, floor.inertia) = (BodyKind::Static, 0.0, [0.0; 3]);
    let robot = serde_json::json!({
        "name": "toy", "model": "<mujoco/>", "standing_height": 1.0, "links": [link, leg],
        "source": {"package": "toys", "version": "1", "file": "toys-1.whl",
            "sha256": "0".repeat(64), "model": "toy.xml", "licence": "MIT", "changes": []}
    });
    let robot = Some(serde_json::from_value(robot).unwrap());
    Scene { format: ROBOT_FORMAT, robot, ..scene(vec![floor]) }
}

#[test]
fn the_links_of_a_robot_are_what_moves() {
    let scene = robot();
    assert_eq!(scene.validate(), Ok(()));
    assert_eq!((scene.dynamic_count(), scene.dynamic_bodies().count()), (2, 0));
    let base = scene.robot.as_ref().unwrap().links[0].pose();
    near(scene.movers().next().unwrap().lowest_point(&base).unwrap(), 0.4);
}

#[test]
fn what_a_robot_must_not_be_is_named() {
    let with = |change: fn(&mut Scene)| {
        let mut scene = robot();
        change(&mut scene);
        paths(&scene)
    };
    assert_eq!(with(|s| s.format = SCENE_FORMAT), ["format"]);
    assert_eq!(with(|s| s.bodies.push(ball())), ["robot"]);
    assert_eq!(with(|s| s.contact_free = true), ["robot"]);
    let change = |f: fn(&mut Robot)| {
        let mut scene = robot();
        f(scene.robot.as_mut().unwrap());
        paths(&scene)
    };
    assert_eq!(change(|r| r.links.clear()), ["robot.links"]);
    assert_eq!(change(|r| r.model = "<html/>".into()), ["robot.model"]);
    assert_eq!(change(|r| r.source.sha256.truncate(63)), ["robot.source.sha256"]);
    assert_eq!(change(|r| r.links[1].parent = Some(1)), ["robot.links[1].parent"]);
    assert_eq!(change(|r| r.links[1].parent = None), ["robot.links[1].parent"]);
    assert_eq!(change(|r| r.links[1].name = "base".into()), ["robot.links[1].name"]);
    assert_eq!(
        change(|r| r.links[0].orientation = [2.0, 0.0, 0.0, 0.0]),
        ["robot.links[0].orientation"]
    );
    let shape = |r: &mut Robot| {
        r.links[0].shapes[0].shape = Shape::Cylinder { radius: -1.0, half_length: 1.0 }
    };
    assert_eq!(change(shape), ["robot.links[0].shapes[0].shape.cylinder.radius"]);
    let plain = Scene { format: ROBOT_FORMAT, ..scene(vec![ball()]) };
    assert_eq!(paths(&plain), ["format"]);
}
