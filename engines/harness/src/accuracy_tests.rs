use super::*;
use sim_engine_protocol::{BodyKind, SCENE_FORMAT, Shape};
use std::f64::consts::{FRAC_PI_2, PI};

fn near(a: f64, b: f64, slack: f64) {
    assert!((a - b).abs() <= slack, "{a} is not {b}");
}

fn body(shape: Shape, inertia: [f64; 3]) -> Body {
    Body {
        name: None,
        kind: BodyKind::Dynamic,
        shape,
        mass: 2.0,
        inertia,
        position: [1.0, 2.0, 3.0],
        orientation: [1.0, 0.0, 0.0, 0.0],
        linear_velocity: [0.0; 3],
        angular_velocity: [0.0; 3],
        friction: 0.5,
    }
}

fn scene(reference: Reference, gravity: [f64; 3], bodies: Vec<Body>, hinges: Vec<Hinge>) -> Scene {
    Scene {
        format: SCENE_FORMAT,
        name: "known".into(),
        gravity,
        timestep: 0.25,
        contact_free: reference == Reference::FreeFall,
        bodies,
        hinges,
        reference: Some(reference),
        robot: None,
        mpm: None,
    }
}

fn at(position: [f64; 3]) -> Motion {
    let pose = Pose { position, orientation: [1.0, 0.0, 0.0, 0.0] };
    Motion { poses: vec![pose], velocities: vec![] }
}

#[test]
fn a_stone_falls_19_62_metres_in_two_seconds() {
    let mut stone = body(Shape::Sphere { radius: 0.1 }, [0.1; 3]);
    stone.linear_velocity = [1.0, 0.0, 4.0];
    let s = scene(Reference::FreeFall, [0.0, 0.0, -9.81], vec![stone], vec![]);
    let exact = at([3.0, 2.0, 3.0 + 8.0 - 19.62]);
    let off = at([3.0, 2.5, 3.0 + 8.0 - 19.62]);
    let list = accuracy(&s, std::slice::from_ref(&exact), 8);
    assert_eq!(
        (list[0].id.as_str(), list[0].unit.as_str(), list[0].time_s),
        ("free_fall", "m", 2.0)
    );
    near(list[0].error, 0.0, 1e-12);
    // The worst of all worlds.
    near(accuracy(&s, &[exact, off], 8)[0].error, 0.5, 1e-12);
}

#[test]
fn a_pendulum_has_the_period_of_the_books() {
    // Small swings: 2π/ω; released level: K(sin 45°) = 1.8540746773 gives 1.1803405990 of that.
    for (start, factor, slack) in
        [(0.01_f64, 1.000_006_250_107, 1e-10), (FRAC_PI_2, 1.180_340_599_016, 1e-11)]
    {
        let period = 4.0 * complete((start / 2.0).sin()) / 3.0;
        near(period * 3.0 / (2.0 * PI), factor, slack);
        near(pendulum(start, 3.0, 0.0), start, 1e-13);
        near(pendulum(start, 3.0, period / 4.0), 0.0, 1e-12);
        near(pendulum(start, 3.0, period / 2.0), -start, 1e-7);
        near(pendulum(-start, 3.0, period / 8.0), -pendulum(start, 3.0, period / 8.0), 1e-13);
    }
}

/// Against θ'' = -ω²·sin θ by fourth-order Runge-Kutta with 20,000 steps.
#[test]
fn the_closed_form_solves_the_equation_of_motion() {
    let (omega, t, n) = (2.7_f64, 3.0, 20_000);
    let (mut x, mut v, h) = (2.0_f64, 0.0, t / f64::from(n));
    let f = |x: f64| -omega * omega * x.sin();
    for _ in 0..n {
        let (a1, b1) = (v, f(x));
        let (a2, b2) = (v + h / 2.0 * b1, f(x + h / 2.0 * a1));
        let (a3, b3) = (v + h / 2.0 * b2, f(x + h / 2.0 * a2));
        let (a4, b4) = (v + h * b3, f(x + h * a3));
        x += h / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4);
        v += h / 6.0 * (b1 + 2.0 * b2 + 2.0 * b3 + b4);
    }
    near(pendulum(2.0, omega, t), x, 1e-10);
}

#[test]
fn a_rod_released_level_is_where_its_angle_says() {
    // A rod along x hung by its end at the origin's height, axis y: I = 0.1 + 2·0.5² = 0.6.
    let mut rod = body(Shape::Box { half_extents: [0.5, 0.05, 0.05] }, [0.01, 0.1, 0.1]);
    rod.position = [0.5, 0.0, 2.0];
    let hinge = Hinge {
        body: 0,
        parent: None,
        anchor: [0.0, 0.0, 2.0],
        anchor_local: [-0.5, 0.0, 0.0],
        axis: [0.0, 1.0, 0.0],
    };
    let s = scene(Reference::Pendulum, [0.0, 0.0, -10.0], vec![rod], vec![hinge]);
    assert_eq!(s.validate(), Ok(()));
    let omega = (2.0 * 10.0 * 0.5 / 0.6_f64).sqrt();
    // Turned down about y by what is left of the right angle.
    let theta = pendulum(FRAC_PI_2, omega, 0.75);
    let turned = (FRAC_PI_2 - theta) / 2.0;
    let pose = Pose {
        position: [0.5 * theta.sin(), 0.0, 2.0 - 0.5 * theta.cos()],
        orientation: [turned.cos(), 0.0, turned.sin(), 0.0],
    };
    let motion = Motion { poses: vec![pose], velocities: vec![] };
    let list = accuracy(&s, &[motion], 3);
    assert_eq!((list[0].id.as_str(), list[0].unit.as_str()), ("pendulum_angle", "rad"));
    near(list[0].error, 0.0, 1e-12);
    let still = Motion { poses: vec![s.bodies[0].pose()], velocities: vec![] };
    near(accuracy(&s, &[still], 3)[0].error, (FRAC_PI_2 - theta).abs(), 1e-12);
}

#[test]
fn boxes_slide_as_coulomb_says() {
    // A slope of 3:4 with g = 10: 6 along the plane, 8 on it.
    let gravity = [6.0, 0.0, -8.0];
    let shape = Shape::Box { half_extents: [0.1; 3] };
    let with = |friction, speed| {
        let linear_velocity = [speed, 0.0, 0.0];
        Body { friction, linear_velocity, ..body(shape, [0.1; 3]) }
    };
    let x = |b: &Body, t| slide(b, gravity, t)[0] - 1.0;
    near(x(&with(0.5, 0.0), 2.0), 4.0, 1e-12); // a = 6 - 4 = 2
    near(x(&with(0.75, 1.5), 2.0), 3.0, 1e-12); // at the friction angle: 1.5 m/s stays
    near(x(&with(0.75, 0.0), 2.0), 0.0, 0.0); // and rest stays
    near(x(&with(1.0, 4.0), 9.0), 4.0, 1e-12); // a = -2: stops after 2 s and 4 m
    assert!(at_friction_angle(&with(0.75, 1.0), gravity));
    assert!(!at_friction_angle(&with(0.74, 1.0), gravity));
    let s = scene(Reference::Slide, gravity, vec![with(0.75, 1.0), with(0.5, 0.0)], vec![]);
    let poses = [[3.0, 2.0, 0.0], [5.0, 2.5, 0.0]]
        .map(|position| Pose { position, orientation: [1.0, 0.0, 0.0, 0.0] });
    let list = accuracy(&s, &[Motion { poses: poses.to_vec(), velocities: vec![] }], 8);
    assert_eq!(list.iter().map(|a| a.id.as_str()).collect::<Vec<_>>(), ["slide_at", "slide_above"]);
    near(list[0].error, 0.0, 1e-12);
    near(list[1].error, 0.5, 1e-12);
}

#[test]
fn a_solid_ball_rolls_at_five_sevenths() {
    let r = 0.3;
    let ball = body(Shape::Sphere { radius: r }, [0.4 * 2.0 * r * r; 3]);
    near(roll(&ball, [7.0, 0.0, -7.0], 2.0)[0] - 1.0, 10.0, 1e-12);
    // A thin shell (2/3 m r²) at three fifths.
    let shell = body(Shape::Sphere { radius: r }, [2.0 / 3.0 * 2.0 * r * r; 3]);
    near(roll(&shell, [5.0, 0.0, -7.0], 2.0)[0] - 1.0, 6.0, 1e-12);
}

#[test]
fn a_dumbbell_has_the_momenta_of_its_parts() {
    let shape = Shape::Sphere { radius: 0.1 };
    let part = |x: f64, vy: f64| Body {
        position: [x, 0.0, 9.0],
        linear_velocity: [1.0, vy, 0.0],
        angular_velocity: [0.0, 0.0, 3.0],
        ..body(shape, [0.5; 3])
    };
    let hinge = Hinge {
        body: 1,
        parent: Some(0),
        anchor: [0.0, 0.0, 9.0],
        anchor_local: [-1.0, 0.0, 0.0],
        axis: [0.0, 0.0, 1.0],
    };
    let bodies = vec![part(-1.0, -3.0), part(1.0, 3.0)];
    let s = scene(Reference::FreeChain, [0.0; 3], bodies, vec![hinge]);
    assert_eq!(s.validate(), Ok(()));
    assert_eq!(chains(&s), [vec![0, 1]]);
    let refs: Vec<&Body> = s.bodies.iter().collect();
    let c = conserved(&refs, &[0, 1], &start(&s));
    assert_eq!(c.momentum, [4.0, 0.0, 0.0]);
    // Orbit 2·(2·1·3) = 12, spin 2·(0.5·3) = 3.
    assert_eq!(c.angular, [0.0, 0.0, 15.0]);
    // 2·(2·10)/2 + 2·(0.5·9)/2.
    near(c.energy, 24.5, 1e-12);
    let mut end = start(&s);
    assert!(accuracy(&s, std::slice::from_ref(&end), 1).iter().all(|a| a.error == 0.0));
    end.velocities[0].angular[2] = 0.0;
    let list = accuracy(&s, std::slice::from_ref(&end), 1);
    let error = |id: &str| list.iter().find(|a| a.id == id).expect("an error").error;
    near(error("momentum"), 0.0, 0.0);
    near(error("angular_momentum"), 1.5 / 15.0, 1e-12);
    near(error("energy"), 2.25 / 24.5, 1e-12);
    end.velocities.clear();
    assert_eq!(accuracy(&s, &[end], 1), []);
}

#[test]
fn what_is_missing_or_broken_has_no_error() {
    let stone = body(Shape::Sphere { radius: 0.1 }, [0.1; 3]);
    let s = scene(Reference::FreeFall, [0.0, 0.0, -9.81], vec![stone], vec![]);
    assert_eq!(accuracy(&s, &[Motion::default()], 8), []);
    assert_eq!(accuracy(&s, &[at([f64::NAN, 0.0, 0.0])], 8), []);
    assert_eq!(accuracy(&s, &[], 8), []);
    let none = Scene { reference: None, ..s };
    assert_eq!(accuracy(&none, &[at([0.0; 3])], 8), []);
}
