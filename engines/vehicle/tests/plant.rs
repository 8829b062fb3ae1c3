//! The plant on the real library: what its loader refuses, what actions become, what it rejects.

use sim_mujoco_c::{Kind, Model};
use sim_plant_vehicle::check::{check, substeps};
use sim_plant_vehicle::plant::Plant;
use sim_vehicle::config::Config;
use sim_vehicle::mjcf::mjcf;
use sim_vehicle::telemetry as t;

const CONFIG: &str = include_str!("../../../scenes/vehicle/vehicle.toml");

fn config() -> Config {
    Config::parse(CONFIG).expect("a configuration")
}

fn model(xml: &str) -> Model {
    Model::compile(xml).expect("compiles")
}

/// Why a model is refused in which one thing is another.
fn refused(from: &str, to: &str) -> String {
    let xml = mjcf(&config());
    assert!(xml.contains(from), "{from} is not in the model");
    check(&model(&xml.replacen(from, to, 1)), &config())
        .err()
        .unwrap_or_else(|| panic!("{from} to {to} is not refused"))
}

/// V03: what the model is made of.
#[test]
fn the_model_is_that_of_the_configuration() {
    let model = model(&mjcf(&config()));
    assert_eq!(model.sizes(), [13, 12, 6, 7]);
    assert!((model.subtree_mass(0) - 1200.0).abs() < 1e-9);
    let options = model.options();
    assert_eq!((options.integrator, options.solver, options.cone), (3, 2, 1));
    assert_eq!((options.iterations, options.autoreset), (20, false));
    let layout = check(&model, &config()).expect("fits");
    assert_eq!(layout.rear_axle, [-1.35, 0.0, -0.22]);
    for i in layout.drive {
        // 1200 · 8 · 0.34/4 N·m.
        assert_eq!(model.control_range(i).map(|x| (x * 1e9).round() / 1e9), [-816.0, 816.0]);
    }
    assert_eq!(model.control_range(layout.steering[0]), [-0.6, 0.6]);
    let steer = model.joint(model.id(Kind::Joint, "front_left_steer").expect("a joint"));
    assert_eq!((steer.axis, steer.range), ([0.0, 0.0, 1.0], [-0.6, 0.6]));
}

/// V06: each mismatch of structure, by name.
#[test]
fn structure_that_does_not_fit_is_refused() {
    for (from, to, said) in [
        ("body name=\"chassis\"", "body name=\"hull\"", "no body `chassis`"),
        ("geom name=\"ground\"", "geom name=\"floor\"", "no geom `ground`"),
        ("geom name=\"chassis\"", "geom name=\"hull\"", "no geom `chassis`"),
        ("\"rear_axle_reference\"", "\"rear\"", "no site `rear_axle_reference`"),
        ("\"rear_left_wheel_body\"", "\"x\"", "no body `rear_left_wheel_body`"),
        ("\"rear_left_wheel_geom\"", "\"x\"", "no geom `rear_left_wheel_geom`"),
        ("name=\"rear_left_drive\"", "name=\"x\"", "no actuator `rear_left_drive`"),
        (
            "name=\"front_left_steer_position\"",
            "name=\"x\"",
            "no actuator `front_left_steer_position`",
        ),
        (
            "<joint name=\"rear_left_wheel\" class=\"spin\"/>",
            "<joint name=\"rear_left_wheel\" class=\"spin\"/><joint name=\"more\" axis=\"1 0 0\"/>",
            "8 joints, not 7",
        ),
        (
            "<body name=\"chassis\"",
            "<body name=\"stone\" pos=\"9 9 9\"><freejoint/><geom size=\"1\" mass=\"1\"/></body><body name=\"chassis\"",
            "2 free joints, not one",
        ),
        (
            "<joint name=\"rear_left_wheel\" class=\"spin\"/>",
            "<joint name=\"rear_left_wheel\" type=\"slide\" axis=\"0 1 0\"/>",
            "joint `rear_left_wheel` is no hinge",
        ),
        (
            "name=\"rear_left_wheel_geom\" class=\"wheel\"",
            "name=\"rear_left_wheel_geom\" class=\"wheel\" type=\"capsule\"",
            "geom `rear_left_wheel_geom` is no cylinder",
        ),
        (
            "<joint name=\"front_left_steer\" class=\"steer\"/>",
            "<joint name=\"front_left_steer\" class=\"steer\" limited=\"false\"/>",
            "joint `front_left_steer` has no limit",
        ),
        (
            "<geom name=\"rear_left_wheel_geom\" class=\"wheel\"/>\n      </body>",
            "<geom class=\"wheel\" mass=\"10\"/>\n      </body><geom name=\"rear_left_wheel_geom\" \
             class=\"wheel\" mass=\"10\"/>",
            "geom `rear_left_wheel_geom` is not on its wheel",
        ),
        (
            "<site name=\"rear_axle_reference\" pos=\"-1.35 0 -0.22\"/>",
            "<body name=\"b\" pos=\"0 0 1\"><site name=\"rear_axle_reference\"/></body>",
            "the site `rear_axle_reference` is not on the chassis",
        ),
    ] {
        let why = refused(from, to);
        assert!(why.contains(said), "{from}: {why}");
    }
}

/// V06: what takes more than one change of the model's text: names that are given up everywhere, and joints that
/// change places.
#[test]
fn names_and_places_that_do_not_fit_are_refused() {
    let stone = |joint: &str| {
        format!("<body name=\"stone\" pos=\"9 9 9\">{joint}<geom size=\"1\" mass=\"1\"/></body>")
    };
    let before = |joint: &str| format!("{}<body name=\"chassis\"", stone(joint));
    let chassis = "<body name=\"chassis\"";
    let free = "<freejoint name=\"chassis\"/>";
    let (hinge, other_free) = (before("<joint axis=\"1 0 0\"/>"), before("<freejoint/>"));
    let spin = |wheel: &str| format!("<joint name=\"{wheel}_wheel\" class=\"spin\"/>");
    let steer = |wheel: &str| format!("<joint name=\"{wheel}_steer\" class=\"steer\"/>");
    let (rl, rr, fl, fr) =
        (spin("rear_left"), spin("rear_right"), steer("front_left"), steer("front_right"));
    let cases: [(&[(&str, &str)], &str); 8] = [
        (&[("\"rear_left_wheel\"", "\"x\"")], "no joint `rear_left_wheel`"),
        (&[("\"front_left_steer\"", "\"x\"")], "no joint `front_left_steer`"),
        (&[("\"front_right_steer\"", "\"x\"")], "no joint `front_right_steer`"),
        (
            &[("\"front_right_steer_position\"", "\"x\"")],
            "no actuator `front_right_steer_position`",
        ),
        (&[(chassis, &hinge)], "the chassis' free joint does not come first"),
        (&[(free, ""), (chassis, &other_free)], "the free joint is not the chassis'"),
        (&[(&rl, "SWAP"), (&rr, &rl), ("SWAP", &rr)], "joint `rear_left_wheel` is not its wheel's"),
        (
            &[(&fl, "SWAP"), (&fr, &fl), ("SWAP", &fr)],
            "joint `front_left_steer` is not its wheel's",
        ),
    ];
    for (changes, said) in cases {
        let mut xml = mjcf(&config());
        for (from, to) in changes {
            assert!(xml.contains(from), "{from} is not in the model");
            xml = xml.replace(from, to);
        }
        let why =
            check(&model(&xml), &config()).err().unwrap_or_else(|| panic!("not refused: {said}"));
        assert!(why.contains(said), "{said}: {why}");
    }
}

/// V21: diagnostics are of every physics step. Dropped from 1 mm, semi-implicit Euler has fallen g·dt²·n(n+1)/2
/// after n steps, more than that with n = 3; the fourth of the ten steps of a control step is the first with contact.
#[test]
fn every_physics_step_is_looked_at() {
    let model = model(&mjcf(&config()));
    let mut plant = Plant::new(&model, &config(), 0.001, 0.0).expect("fits");
    let row = plant.control_step([0.0; 2]).expect("falls");
    assert_eq!(row[t::CONTACT..t::CONTACT + 4], [0.7; 4]);
    assert!((row[t::GAP] - 3.0 * 0.005).abs() < 1e-12, "{}", row[t::GAP]);
    // g·dt·n of the last step without contact, and no more.
    assert!(
        (row[t::VERTICAL_SPEED] - 9.81 * 0.005 * 3.0).abs() < 0.05,
        "{}",
        row[t::VERTICAL_SPEED]
    );
}

/// V07: each mismatch of a number, with both.
#[test]
fn numbers_that_do_not_fit_are_refused() {
    for (from, to, said) in [
        ("range=\"-0.6 0.6\"", "range=\"-0.6 0.61\"", "largest angle of joint `front_left_steer`"),
        ("range=\"-0.6 0.6\"", "range=\"-0.59 0.6\"", "least angle of joint `front_left_steer`"),
        ("axis=\"0 0 1\"", "axis=\"0 0.001 1\"", "joint `front_left_steer` turns about"),
        (
            "\"hinge\" axis=\"0 1 0\"",
            "\"hinge\" axis=\"0 -1 0\"",
            "joint `front_left_wheel` turns about",
        ),
        ("mass=\"1120.0\"", "mass=\"1120.001\"", "the mass of the vehicle is 1200.001"),
        ("pos=\"-1.35 0.8 -0.22\"", "pos=\"-1.36 0.8 -0.22\"", "the wheelbase is"),
        ("pos=\"1.35 0.8 -0.22\"", "pos=\"1.35 0.81 -0.22\"", "the front track width is"),
        ("pos=\"-1.35 0.8 -0.22\"", "pos=\"-1.35 0.81 -0.22\"", "the rear track width is"),
        ("size=\"0.34 0.1\"", "size=\"0.35 0.1\"", "the radius of `front_left_wheel_geom` is 0.35"),
        (
            "joint=\"front_left_wheel\" ctrlrange=\"-816.0000000000001 816.0000000000001\"",
            "joint=\"front_left_wheel\" ctrlrange=\"-816 817\"",
            "the largest torque of `front_left_drive` is 817",
        ),
        (
            "joint=\"front_left_wheel\" ctrlrange=\"-816.0000000000001 816.0000000000001\"",
            "joint=\"front_left_wheel\" ctrlrange=\"-817 816\"",
            "the least torque of `front_left_drive` is -817",
        ),
        ("timestep=\"0.005\"", "timestep=\"0.003\"", "a control step of 0.05 s is no whole number"),
    ] {
        let why = refused(from, to);
        assert!(why.contains(said), "{from}: {why}");
    }
    assert_eq!(substeps(0.05, 0.002), Ok(25));
    assert!(substeps(0.05, 0.003).is_err() && substeps(0.05, 0.1).is_err());
}

/// V11, V12: angle and rate; V16, V17: a control step is a whole number of substeps.
#[test]
fn actions_are_clipped_and_steering_has_a_rate() {
    let (config, model) = (config(), model(&mjcf(&config())));
    let mut plant = Plant::new(&model, &config, 0.0, 0.0).expect("a plant");
    assert_eq!(plant.substeps(), 10);
    let row = plant.control_step([2.0, 10.0]).expect("a row");
    assert_eq!(row[t::APPLIED_STEERING], 0.6);
    assert_eq!(row[t::APPLIED_ACCELERATION], 4.0);
    assert_eq!(row[t::SATURATED], 2.0);
    assert!((row[t::STEERING_TARGET] - 0.06).abs() < 1e-15);
    assert!((row[t::TIME] - 0.05).abs() < 1e-12);
    let row = plant.control_step([-2.0, -20.0]).expect("a row");
    assert_eq!(row[t::APPLIED_ACCELERATION], -8.0);
    assert!(row[t::STEERING_TARGET].abs() < 1e-15);
    let row = plant.control_step([0.1, 0.0]).expect("a row");
    assert_eq!(row[t::SATURATED], 0.0);
}

/// V08, V10, V13: forward is +x, left is +y, positive steering turns left; Newton's second law at the
/// start, less what turns the wheels: m·a = 4·(m·a₀·r/4)/r · 1/(1 + 4·J/(m·r²)).
#[test]
fn it_drives_forward_and_turns_left() {
    let (config, model) = (config(), model(&mjcf(&config())));
    let mut plant = Plant::new(&model, &config, 0.0, 0.0).expect("a plant");
    for _ in 0..20 {
        plant.control_step([0.0, 0.0]).expect("rests");
    }
    let before = plant.speed();
    for _ in 0..20 {
        plant.control_step([0.0, 2.0]).expect("drives");
    }
    // A cylinder of 20 kg, r 0.34 m: J = m·r²/2, and 0.2 kg·m² of armature; damping of 0.2 N·m·s/rad.
    let inertia = 0.5 * 20.0 * 0.34f64.powi(2) + 0.2;
    let law = 2.0 / (1.0 + 4.0 * inertia / (1200.0 * 0.34f64.powi(2)));
    let found = plant.speed() - before;
    assert!((found - law).abs() < 0.01, "{found} m/s after a second, {law} by the law");
    let mut row = [0.0; t::COLUMNS];
    for _ in 0..40 {
        row = plant.control_step([0.2, 0.0]).expect("turns");
    }
    assert!(row[t::YAW] > 0.05 && row[t::POSITION + 1] > 0.0, "{row:?}");
}

/// V14, V15: a brake stops the vehicle and does not drive it backwards.
#[test]
fn a_brake_stops_and_does_not_reverse() {
    let (config, model) = (config(), model(&mjcf(&config())));
    let mut plant = Plant::new(&model, &config, 0.0, 0.0).expect("a plant");
    for _ in 0..40 {
        plant.control_step([0.0, 2.0]).expect("drives");
    }
    let mut least = f64::INFINITY;
    for _ in 0..100 {
        least = least.min(plant.control_step([0.0, -8.0]).expect("brakes")[t::VELOCITY]);
    }
    assert!(plant.speed().abs() < 0.1 && least > -0.1, "{} {least}", plant.speed());
}

/// V18: what is not finite is rejected, in the action and in the state.
#[test]
fn what_is_not_finite_is_rejected() {
    let (config, model) = (config(), model(&mjcf(&config())));
    let mut plant = Plant::new(&model, &config, 0.0, 0.0).expect("a plant");
    for action in [[f64::NAN, 0.0], [0.0, f64::INFINITY]] {
        let why = plant.control_step(action).expect_err("rejected");
        assert!(why.contains("is not two finite numbers"), "{why}");
    }
    // Wheels inside the ground by a metre are thrown out faster than a state can hold.
    let wild = mjcf(&config).replace("timestep=\"0.005\"", "timestep=\"0.05\"");
    let wild = wild.replace("solref=\"0.03 1\"", "solref=\"-1e300 -1e300\"");
    let model = Model::compile(&wild).expect("compiles");
    let mut plant = Plant::new(&model, &config, -0.3, 0.0).expect("a plant");
    let ended = (0..50).find_map(|_| plant.control_step([0.0, 0.0]).err());
    let why = ended.expect("rejected");
    assert!(why.contains("is NaN") || why.contains("is inf") || why.contains("warned"), "{why}");
}

/// V21, V22 and the facts of a vehicle at rest: each wheel carries a quarter of the weight.
#[test]
fn a_vehicle_at_rest_weighs_what_it_does() {
    let (config, model) = (config(), model(&mjcf(&config())));
    let mut plant = Plant::new(&model, &config, 0.0, 0.0).expect("a plant");
    let mut row = plant.first_row();
    assert_eq!(row[t::TIME], 0.0);
    assert!((row[t::POSITION] + 1.35).abs() < 1e-12);
    for _ in 0..60 {
        row = plant.control_step([0.0, 0.0]).expect("rests");
    }
    for i in 0..4 {
        assert_eq!(row[t::CONTACT + i], 1.0);
        assert!((row[t::LOAD + i] - 1200.0 * 9.81 / 4.0).abs() < 1e-6, "{}", row[t::LOAD + i]);
    }
    assert_eq!((row[t::UNEXPECTED], row[t::WARNINGS], row[t::GAP]), (0.0, 0.0, 0.0));
}
