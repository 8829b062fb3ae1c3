use super::*;
use crate::spec::tests::spec;

fn reading(stamp_s: f64) -> Reading {
    Reading { stamp_s, ranges: vec![Some(-0.8); 5] }
}

/// A control step at a time, straight, with the head here, and this read.
fn step(c: &mut Controller, time_s: f64, head: Pose, reading: &Reading) -> Vec<f64> {
    c.step(&Measured { time_s, head, joints: &[0.0; 9], reading }).to_vec()
}

fn near(found: &[f64], published: [f64; 9]) {
    for (i, (a, b)) in found.iter().zip(published).enumerate() {
        // Published with six places.
        assert!((a - b).abs() < 6e-7, "joint_{:02}: {a} instead of {b}", i + 1);
    }
}

/// S02, S16: the published commands of the locomotion run come out, during the start and after it. A row
/// holds the command of the last control step before its time.
#[test]
fn the_published_commands_come_out() {
    let mut c = Controller::new(&spec(), false);
    let rows = [
        (0, [0.0, 0.068, 0.068, 0.068, 0.068, -0.068, -0.068, -0.068, -0.068]),
        (2, [0.096263, 0.204, 0.204, 0.204, -0.018881, -0.204, -0.204, -0.204, -0.058878]),
        (4, [0.189554, 0.34, 0.34, 0.282649, -0.114796, -0.34, -0.34, -0.34, 0.037741]),
        (
            7,
            [
                0.317665, 0.538479, 0.470333, 0.149796, -0.251125, -0.517286, -0.505860, -0.222978,
                0.179559,
            ],
        ),
        (
            9,
            [
                0.391345, 0.549767, 0.413172, 0.054860, -0.332891, -0.542006, -0.460268, -0.131540,
                0.267775,
            ],
        ),
        (
            24,
            [
                0.471640, 0.152229, -0.248871, -0.516421, -0.506848, -0.225290, 0.177164, 0.484548,
                0.531913,
            ],
        ),
        (
            49,
            [
                -0.506128, -0.517054, -0.250518, 0.150451, 0.470686, 0.538339, 0.317108, -0.074290,
                -0.425823,
            ],
        ),
        (
            599,
            [
                0.361122, -0.018541, -0.388254, -0.549622, -0.416050, -0.059217, 0.329394,
                0.541244, 0.462651,
            ],
        ),
    ];
    for k in 0..600 {
        let time = f64::from(k) * 0.02;
        let command = step(&mut c, time, Pose::default(), &reading(time));
        if let Some((_, published)) = rows.iter().find(|(n, _)| *n == k) {
            near(&command, *published);
        }
    }
    assert!(c.transitions().is_empty());
}

/// The published commands at full bias, with its taper, at 102.482 s of the obstacle run.
#[test]
fn the_published_bias_comes_out() {
    let mut c = Controller::new(&spec(), true);
    let far = Pose { x: 0.0, y: 5.0, yaw: 0.0 };
    let mut command = Vec::new();
    for k in (0..40).rev() {
        let time = 102.482 - f64::from(k) * 0.02;
        command = step(&mut c, time, far, &reading(time));
    }
    near(
        &command,
        [
            -0.506277, -0.391180, -0.044897, 0.345482, 0.569202, 0.504943, 0.185919, -0.217941,
            -0.491186,
        ],
    );
    assert!((c.bias() - 0.042).abs() < 1e-15, "S19: a bounded bias");
}

/// State, lateral position, m, and yaw, rad, of the head at a control step of the published obstacle run, between
/// 49.6 and 51.4, 102.5 and 103.4, and 187.6 and 189.3 s; and the bias in the command that follows, rad.
const STEERING: [(State, f64, f64, f64); 21] = [
    (State::Slither, 0.11468, 0.05944, 0.01313),
    (State::Slither, 0.13331, 0.41033, 0.03434),
    (State::Slither, -0.00334, 0.47334, 0.02621),
    (State::Slither, -0.04434, 0.13181, 0.00360),
    (State::Slither, -0.06945, -0.21303, -0.01795),
    (State::Slither, 0.05490, -0.49275, -0.02288),
    (State::Slither, 0.09550, -0.16936, -0.00131),
    (State::Slither, 0.12278, 0.17656, 0.02035),
    (State::Slither, 0.13483, 0.51051, 0.04013),
    (State::AvoidLeft, 0.28662, 0.44864, 0.01966),
    (State::AvoidLeft, 0.23628, 0.01864, -0.00931),
    (State::AvoidLeft, 0.36843, -0.36759, -0.01762),
    (State::AvoidLeft, 0.41154, 0.11932, 0.01414),
    (State::AvoidLeft, 0.41931, 0.59228, 0.04110),
    (State::AvoidLeft, 0.27101, 0.23879, 0.00618),
    (State::AvoidLeft, 0.22880, -0.24209, -0.02486),
    (State::Recover, 0.29376, 0.07064, 0.02748),
    (State::Recover, 0.26676, -0.29132, 0.00559),
    (State::Recover, 0.26188, -0.59482, -0.01181),
    (State::Recover, 0.40203, -0.47809, 0.00421),
    (State::Recover, 0.44276, -0.13167, 0.02628),
];

/// The published biases come out of the published states, slithering, on the detour and recovering: position and
/// yaw are interpolated between rows, which is good to some 1e-4 rad.
#[test]
fn the_published_steering_comes_out() {
    let mut spec = spec();
    // The detour's line is the one number of the law that is another here.
    spec.detour.line_m = 0.34;
    let mut c = Controller::new(&spec, true);
    for (state, y, yaw, published) in STEERING {
        c.state = state;
        let found = c.steer(Pose { x: 0.0, y, yaw });
        assert!((found - published).abs() < 5e-4, "{state:?} {y} {yaw}: {found} {published}");
    }
}

/// S16, S24: whatever is asked for, commands move by at most 0.068 rad a step and stay within the limit.
#[test]
fn commands_are_bounded() {
    let mut spec = spec();
    spec.gait.amplitude_rad = 0.9;
    spec.gait.frequency_hz = 5.0;
    let mut c = Controller::new(&spec, true);
    let mut before = vec![0.0; 9];
    for k in 0..200 {
        let time = f64::from(k) * 0.02;
        let head = Pose { x: 0.0, y: if k % 40 < 20 { 9.0 } else { -9.0 }, yaw: 2.0 };
        let now = step(&mut c, time, head, &reading(time));
        for (a, b) in now.iter().zip(&before) {
            assert!((a - b).abs() <= 0.068 + 1e-12 && a.abs() <= 0.95, "{b} to {a}");
        }
        before = now;
    }
}

/// Two more seconds of a controller on a route, with what it sees and where it is.
fn on(
    c: &mut Controller,
    from: f64,
    head: Pose,
    ray: Option<(usize, f64)>,
    joints: &[f64],
) -> State {
    let mut seen = reading(from);
    if let Some((i, value)) = ray {
        seen.ranges[i] = Some(value);
    }
    c.step(&Measured { time_s: from, head, joints, reading: &seen });
    c.state()
}

/// S03, S29, S33: a ray below 0.55 m starts the detour, the whole body past it ends it, the route ends the
/// recovery.
#[test]
fn the_states_follow_the_rays_and_the_body() {
    let mut c = Controller::new(&spec(), true);
    let still = [0.0; 9];
    let at = |x: f64, y: f64| Pose { x, y, yaw: 0.0 };
    assert_eq!(on(&mut c, 0.00, at(0.0, 0.0), Some((2, 0.55)), &still), State::Slither);
    assert_eq!(on(&mut c, 0.02, at(0.1, 0.0), Some((2, 0.5499)), &still), State::AvoidLeft);
    let [x, y] = c.surface().expect("a surface");
    // Head, origin of the rays, range.
    assert!((x - (0.1 + 0.008 + 0.5499)).abs() < 1e-12 && y.abs() < 1e-12, "{x} {y}");
    // The detour's line is to the left: a negative bias turns left.
    assert!(c.bias() < 0.0);
    // The head alone is not the body: its last pivot is 0.855 m behind it.
    let past = x + spec().detour.passed_m;
    assert_eq!(on(&mut c, 0.04, at(past + 0.8, 0.3), None, &still), State::AvoidLeft);
    assert_eq!(on(&mut c, 0.06, at(past + 0.86, 0.3), None, &still), State::Recover);
    assert!(c.bias() > 0.0, "back to the right");
    assert_eq!(on(&mut c, 0.08, at(past + 0.9, 0.13), None, &still), State::Recover);
    assert_eq!(on(&mut c, 0.10, at(past + 0.9, 0.11), None, &still), State::Slither);
    assert_eq!(c.detours(), 1);
    let names: Vec<(State, State)> = c.transitions().iter().map(|t| (t.from, t.to)).collect();
    assert_eq!(
        names,
        [
            (State::Slither, State::AvoidLeft),
            (State::AvoidLeft, State::Recover),
            (State::Recover, State::Slither)
        ]
    );
    // The same on the left ray, of a controller without a route: nothing.
    let mut free = Controller::new(&spec(), false);
    assert_eq!(on(&mut free, 0.0, at(0.0, 0.0), Some((4, 0.2)), &still), State::Slither);
    assert_eq!(free.bias(), 0.0);
}

/// A surface that an oblique ray meets is where that ray ends.
#[test]
fn an_oblique_ray_says_where_the_surface_is() {
    let mut c = Controller::new(&spec(), true);
    let head = Pose { x: 0.2, y: -0.1, yaw: 0.4 };
    on(&mut c, 0.0, head, Some((0, 0.5)), &[0.0; 9]);
    let [x, y] = c.surface().expect("a surface");
    let angle = 0.4 - 60f64.to_radians();
    assert!((x - (0.2 + 0.008 * 0.4f64.cos() + 0.5 * angle.cos())).abs() < 1e-12);
    assert!((y - (-0.1 + 0.008 * 0.4f64.sin() + 0.5 * angle.sin())).abs() < 1e-12);
}

/// S13: what is invalid or stale stops at once, at the measured angles, and stays so until a reset.
#[test]
fn invalid_or_stale_perception_is_a_bounded_latched_stop() {
    let good = || reading(1.0);
    let with = |i: usize, value: Option<f64>| {
        let mut r = good();
        r.ranges[i] = value;
        r
    };
    let short = Reading { ranges: vec![Some(-0.8); 4], ..good() };
    let cases = [
        (with(0, Some(f64::NAN)), "head_range_m60 reads NaN m"),
        (with(1, Some(f64::INFINITY)), "head_range_m30 reads inf m"),
        (with(2, None), "head_range_00 gave no value"),
        (with(3, Some(0.81)), "head_range_p30 reads 0.81 m"),
        (with(4, Some(-0.5)), "head_range_p60 reads -0.5 m"),
        (short, "4 rays were read"),
        (reading(0.75), "the rays' reading is 0.25"),
        (reading(1.1), "the rays' reading is -0.1"),
        (reading(f64::NAN), "the rays' reading is NaN"),
    ];
    let measured = [0.3, -0.2, 0.1, 0.97, -1.2, f64::NAN, 0.0, 0.05, -0.05];
    for (bad, said) in cases {
        let mut c = Controller::new(&spec(), true);
        for k in 0..50 {
            let time = f64::from(k) * 0.02;
            step(&mut c, time, Pose::default(), &reading(time));
        }
        let sent = c.command().to_vec();
        let joints: Vec<f64> = measured.iter().map(|q| if q.is_nan() { 0.4 } else { *q }).collect();
        let now = Measured { time_s: 1.0, head: Pose::default(), joints: &joints, reading: &bad };
        let frozen = c.step(&now).to_vec();
        assert_eq!(c.state(), State::SafeStop, "{said}");
        assert!(c.stopped().is_some_and(|why| why.contains(said)), "{:?} {said}", c.stopped());
        assert_eq!(frozen, [0.3, -0.2, 0.1, 0.95, -0.95, 0.4, 0.0, 0.05, -0.05], "within limits");
        assert_eq!(c.bias(), 0.0, "nothing steers");
        // Latched: good readings and other angles move nothing.
        for k in 51..60 {
            let time = f64::from(k) * 0.02;
            assert_eq!(step(&mut c, time, Pose::default(), &reading(time)), frozen);
        }
        assert_eq!(c.state(), State::SafeStop);
        // An angle that is no number leaves that joint where it was sent.
        let mut c2 = Controller::new(&spec(), true);
        for k in 0..50 {
            let time = f64::from(k) * 0.02;
            step(&mut c2, time, Pose::default(), &reading(time));
        }
        let now =
            Measured { time_s: 1.0, head: Pose::default(), joints: &measured, reading: &good() };
        assert_eq!(c2.step(&now)[5], sent[5]);
        assert_eq!(c2.stopped(), Some("joint_06 is at NaN"));
        // An explicit reset, and only that, goes on; from where it stood, at the limited rate.
        c.reset(1.2);
        assert_eq!((c.state(), c.stopped()), (State::Slither, None));
        let next = step(&mut c, 1.2, Pose::default(), &reading(1.2));
        for (a, b) in next.iter().zip(&frozen) {
            assert!((a - b).abs() <= 0.068 + 1e-12, "{b} to {a}");
        }
    }
}

/// S19: what the surrogate steers by is the mean bias of a gait cycle: a swing of the head leaves nothing of it.
#[test]
fn the_mean_bias_is_that_of_a_cycle() {
    let mut c = Controller::new(&spec(), true);
    for k in 0..300 {
        let time = f64::from(k) * 0.02;
        let yaw = 0.3 + 0.3 * (TAU * 0.7 * time).sin();
        step(&mut c, time, Pose { x: 0.0, y: 0.0, yaw }, &reading(time));
        assert!(c.mean_bias().abs() <= 0.042);
    }
    // 0.056 · 0.3, the mean of what is not clipped; a cycle is 71.4 steps.
    assert!((c.mean_bias() - 0.0168).abs() < 3e-4, "{}", c.mean_bias());
    let [x, y] = c.mean_direction().expect("a direction");
    assert!((y.atan2(x) - 0.3).abs() < 5e-3, "{x} {y}");
}

/// S13: a clock that stands still, and a head that is nowhere.
#[test]
fn a_frozen_clock_stops() {
    let mut c = Controller::new(&spec(), true);
    step(&mut c, 0.0, Pose::default(), &reading(0.0));
    step(&mut c, 0.0, Pose::default(), &reading(0.0));
    assert_eq!(c.stopped(), Some("the clock says 0 s and does not advance"));
    // Readings whose clock stands still become stale, within the declared time.
    let mut c = Controller::new(&spec(), true);
    let mut stopped = None;
    for k in 0..50 {
        let time = f64::from(k) * 0.02;
        step(&mut c, time, Pose::default(), &reading(time.min(0.5)));
        if c.state() == State::SafeStop && stopped.is_none() {
            stopped = Some(time);
        }
    }
    let late = stopped.expect("stopped") - 0.5;
    assert!(late > 0.1 && late <= 0.1 + 0.02 + 1e-9, "{late} s");
    let mut c = Controller::new(&spec(), true);
    step(&mut c, 0.0, Pose { x: f64::NAN, y: 0.0, yaw: 0.0 }, &reading(0.0));
    assert_eq!(c.state(), State::SafeStop);
    assert_eq!(c.command(), [0.0; 9]);
}

/// S08, S09: a straight body lies behind its head; a joint turns what is behind it counter-clockwise.
#[test]
fn pivots_follow_the_head() {
    let spec = spec();
    let straight = pivots(&spec, Pose { x: 1.0, y: 2.0, yaw: 0.0 }, &[0.0; 9]);
    assert_eq!(straight.len(), 10);
    assert!((straight[9][0] - (1.0 - 9.0 * 0.095)).abs() < 1e-12 && straight[9][1] == 2.0);
    let mut bent = [0.0; 9];
    bent[0] = std::f64::consts::FRAC_PI_2;
    let p = pivots(&spec, Pose::default(), &bent);
    // link_01 points along +y, so its tail is below it.
    assert!((p[1][0] + 0.095).abs() < 1e-12 && (p[2][1] + 0.095).abs() < 1e-12, "{p:?}");
}
