use super::*;
use crate::Snake;
use crate::controller::{Pose, Transition};
use crate::spec::tests::{TEXT, spec};
use crate::telemetry::{Diagnostics, Observed, Row, Trajectory};
use sim_protocol::{Op, Plant as _, Protocol};

const PROTOCOL: &str = include_str!("../../../protocol.toml");

fn protocol() -> Protocol<Scenario> {
    Protocol::parse::<Snake>(PROTOCOL).expect("a protocol")
}

/// A run that passes every check: a wave of known size, a straight way at a known slope.
fn passing(scenario: &Scenario) -> Ran {
    let n = (scenario.duration_s * 20.0).round() as usize;
    let rows = (0..=n).map(|k| {
        let t = k as f64 * 0.05;
        let q = |i: usize| 0.5 * (std::f64::consts::TAU * 0.7 * t + 0.75 * i as f64).sin();
        Row {
            time_s: t,
            // The head swings by more than the heading's limit; the route does not.
            head: Pose { x: 0.016 * t, y: 0.0016 * t - 0.2, yaw: 1.0 * (4.4 * t).sin() },
            state: State::Slither,
            q: (0..9).map(q).collect(),
            dq: vec![0.0; 9],
            command: vec![0.0; 9],
            ranges: vec![-0.8; 5],
        }
    });
    let obstacle = scenario.heading_window_s.is_some();
    let go = |time_s, from, to| Transition { time_s, from, to };
    let end = [0.016 * scenario.duration_s, 0.1];
    let observed = Observed {
        format: 1,
        duration_requested_s: scenario.duration_s,
        duration_simulated_s: scenario.duration_s + 1e-9,
        physics_steps: 6000,
        finite: true,
        warnings: 0,
        initial_head_xy_m: [0.0, 0.0],
        final_head_xy_m: end,
        final_body_xy_m: (0..=10).map(|i| [end[0] - 0.0945 * f64::from(i), 0.1]).collect(),
        max_abs_joint_position_rad: 0.6,
        max_abs_joint_velocity_rad_s: 3.6,
        max_abs_joint_command_rad: 0.58,
        max_abs_actuator_torque_nm: 0.5,
        joint_tracking_rmse_rad: 0.12,
        obstacle_contact_steps: 0,
        minimum_pivot_to_obstacle_surface_clearance_m: obstacle.then_some(0.1),
        maximum_penetration_m: 0.0,
        mean_pad_contact_fraction: 1.0,
        surface_xy_m: obstacle.then_some([0.64, 0.02]),
        detours: u32::from(obstacle),
        transitions: if obstacle {
            vec![
                go(9.06, State::Slither, State::AvoidLeft),
                go(102.4, State::AvoidLeft, State::Recover),
                go(117.06, State::Recover, State::Slither),
            ]
        } else {
            Vec::new()
        },
        final_state: State::Slither,
        safe_stop_steps: 0,
        safe_stop_reason: None,
        max_surrogate_force_n: 0.05,
        max_surrogate_moment_nm: 0.01,
    };
    Ran {
        trajectory: Trajectory { rows: rows.collect() },
        observed,
        diagnostics: Diagnostics::default(),
    }
}

/// Checks of a run that do not hold, by name.
fn failing(scenario: &Scenario, ran: &Ran) -> Vec<String> {
    let p = protocol();
    let found = Snake(spec()).metrics(scenario, ran);
    p.gates_of(scenario)
        .filter(|g| !found.get(g.metric.as_str()).is_some_and(|v| g.op.holds(*v, g.limit)))
        .filter_map(|g| g.check.clone())
        .collect()
}

/// The published names of all checks: 9 and 13 (S22 to S35).
#[test]
fn the_protocol_has_the_published_checks() {
    let p = protocol();
    let names = |i: usize| {
        let mut names: Vec<String> =
            p.gates_of(&p.scenarios[i]).filter_map(|g| g.check.clone()).collect();
        names.sort_unstable();
        names
    };
    let mut locomotion = [
        "finite_state",
        "joint_limits_respected",
        "joint_velocity_limits_respected",
        "command_limits_respected",
        "controller_tracking_rmse_below_0_35_rad",
        "no_safe_stop",
        "forward_progress_at_least_0_12_m",
        "net_displacement_at_least_0_12_m",
        "physical_joint_wave_rms_at_least_0_12_rad",
    ];
    let mut obstacle = [
        "finite_state",
        "joint_limits_respected",
        "joint_velocity_limits_respected",
        "command_limits_respected",
        "controller_tracking_rmse_below_0_35_rad",
        "no_safe_stop",
        "range_triggered_avoidance",
        "no_obstacle_contact",
        "forward_progress_at_least_1_30_m",
        "entire_body_cleared_obstacle_x",
        "returned_to_slither",
        "terminal_route_heading_error_below_0_20_rad",
        "final_cross_track_error_below_0_30_m",
    ];
    locomotion.sort_unstable();
    obstacle.sort_unstable();
    assert_eq!(names(0), locomotion);
    assert_eq!(names(1), obstacle);
    assert_eq!(p.scenarios[0].duration_s, 12.0);
    assert_eq!((p.scenarios[1].duration_s, p.scenarios[1].heading_window_s), (190.0, Some(60.0)));
    assert_eq!((p.protocol.repeats, p.determinism.limit), (2, 0.0));
    assert!(p.gates.iter().any(|g| g.op == Op::Below && g.limit == 0.35), "S25: less, not at most");
}

/// S22 to S35: every check fails on a run that violates it, and on that alone.
#[test]
fn each_check_fails_where_it_is_violated() {
    let p = protocol();
    type Change = fn(&mut Ran);
    let (l, o) = (&p.scenarios[0], &p.scenarios[1]);
    let both: [(Change, &str); 7] = [
        (|r| r.observed.finite = false, "finite_state"),
        (|r| r.observed.duration_simulated_s -= 0.002, "finite_state"),
        (|r| r.observed.max_abs_joint_position_rad = 0.9501, "joint_limits_respected"),
        (|r| r.observed.max_abs_joint_velocity_rad_s = 4.058, "joint_velocity_limits_respected"),
        (|r| r.observed.max_abs_joint_command_rad = 0.951, "command_limits_respected"),
        (|r| r.observed.joint_tracking_rmse_rad = 0.35, "controller_tracking_rmse_below_0_35_rad"),
        (|r| r.observed.safe_stop_steps = 1, "no_safe_stop"),
    ];
    let locomotion: [(Change, &str); 3] = [
        (|r| r.observed.final_head_xy_m = [0.119, 0.1], "forward_progress_at_least_0_12_m"),
        (|r| r.observed.final_head_xy_m = [0.08, 0.08], "net_displacement_at_least_0_12_m"),
        (
            |r| r.trajectory.rows.iter_mut().for_each(|row| row.q[6] *= 0.3),
            "physical_joint_wave_rms_at_least_0_12_rad",
        ),
    ];
    let obstacle: [(Change, &str); 12] = [
        (|r| r.observed.surface_xy_m = None, "range_triggered_avoidance"),
        (|r| r.observed.transitions.clear(), "range_triggered_avoidance"),
        (|r| r.observed.obstacle_contact_steps = 1, "no_obstacle_contact"),
        (|r| r.observed.final_head_xy_m[0] = 1.299, "forward_progress_at_least_1_30_m"),
        (|r| r.observed.final_body_xy_m[10][0] = 0.799, "entire_body_cleared_obstacle_x"),
        (|r| r.observed.final_body_xy_m[4][0] = 0.5, "entire_body_cleared_obstacle_x"),
        (|r| r.observed.final_state = State::Recover, "returned_to_slither"),
        (|r| r.observed.detours = 0, "returned_to_slither"),
        (|r| slope(r, 0.21), "terminal_route_heading_error_below_0_20_rad"),
        (|r| slope(r, -0.21), "terminal_route_heading_error_below_0_20_rad"),
        (|r| r.observed.final_head_xy_m[1] = 0.3, "final_cross_track_error_below_0_30_m"),
        (|r| r.observed.final_head_xy_m[1] = -0.31, "final_cross_track_error_below_0_30_m"),
    ];
    for (scenario, own) in [(l, &locomotion[..]), (o, &obstacle[..])] {
        assert_eq!(failing(scenario, &passing(scenario)), Vec::<String>::new());
        for (change, check) in both.iter().chain(own) {
            let mut ran = passing(scenario);
            change(&mut ran);
            let found = failing(scenario, &ran);
            assert!(found.iter().any(|c| c == check), "{}: {check}: {found:?}", scenario.name);
            // A net displacement that is too short is no progress either.
            let also = usize::from(*check == "net_displacement_at_least_0_12_m");
            assert_eq!(found.len(), 1 + also, "{check}: {found:?}");
        }
    }
}

/// Bends the way of the last 60 s to an angle.
fn slope(ran: &mut Ran, angle: f64) {
    for row in &mut ran.trajectory.rows {
        row.head.y = row.head.x * angle.tan();
    }
}

/// S35, S36: the heading is that of the way over the last 60 s, whatever the head's yaw does and whatever
/// was before.
#[test]
fn the_heading_is_that_of_the_way() {
    let p = protocol();
    let scenario = &p.scenarios[1];
    let spec = spec();
    let mut ran = passing(scenario);
    let heading =
        |ran: &Ran| metrics(&Run { ran, scenario, spec: &spec })["terminal_route_heading_rad"];
    assert!((heading(&ran) - 0.1f64.atan()).abs() < 1e-9);
    for row in &mut ran.trajectory.rows {
        row.head.yaw = 1.5;
        if row.time_s < 129.9 {
            row.head.y = 3.0;
        }
    }
    assert!((heading(&ran) - 0.1f64.atan()).abs() < 1e-9);
    // The row at the window's first moment counts.
    let first = ran.trajectory.rows.iter().position(|r| r.time_s > 129.99).expect("a row");
    ran.trajectory.rows[first].head.y += 1.0;
    assert!((heading(&ran) - 0.1f64.atan()).abs() > 1e-6);
}

/// S28: the wave is the least of all joints, about its mean, after the first second.
#[test]
fn the_wave_is_that_of_the_weakest_joint() {
    let p = protocol();
    let (scenario, spec) = (&p.scenarios[0], spec());
    let mut ran = passing(scenario);
    let wave =
        |ran: &Ran| metrics(&Run { ran, scenario, spec: &spec })["physical_joint_wave_rms_rad"];
    // A sine's root mean square.
    assert!((wave(&ran) - 0.5 / 2f64.sqrt()).abs() < 6e-3, "{}", wave(&ran));
    for row in &mut ran.trajectory.rows {
        row.q[3] = 0.5 + 0.2 * row.q[3];
        if row.time_s < 1.0 {
            row.q.fill(9.0);
        }
    }
    assert!((wave(&ran) - 0.1 / 2f64.sqrt()).abs() < 2e-3, "{}", wave(&ran));
}

/// Repeats are equal only where all of it is equal.
#[test]
fn repeats_differ_where_anything_differs() {
    let p = protocol();
    let ran = passing(&p.scenarios[1]);
    assert_eq!(ran.apart(&ran.clone()), 0.0);
    let mut other = ran.clone();
    other.trajectory.rows[100].head.x += 1e-15;
    assert!(ran.apart(&other) > 0.0);
    let mut other = ran.clone();
    other.observed.max_abs_joint_velocity_rad_s += 1e-15;
    assert_eq!(ran.apart(&other), f64::INFINITY);
    let mut other = ran.clone();
    other.trajectory.rows[100].state = State::Recover;
    assert_eq!(ran.apart(&other), f64::INFINITY);
    let mut other = ran.clone();
    other.trajectory.rows.pop();
    assert_eq!(ran.apart(&other), f64::INFINITY);
}

/// What is written reads back to the same; what is broken is named by its line.
#[test]
fn a_trajectory_reads_back() {
    let (p, spec) = (protocol(), spec());
    let ran = passing(&p.scenarios[0]);
    let csv = ran.trajectory.to_csv(&spec);
    assert_eq!(Trajectory::from_csv(&csv).expect("reads"), ran.trajectory);
    assert!(csv.starts_with("time_s,head_x_m,head_y_m,head_yaw_rad,state,q_joint_01_rad,"));
    assert!(csv.lines().next().is_some_and(|l| l.ends_with(",range_head_range_p60_m")));
    assert_eq!(csv.lines().next().map(|l| l.split(',').count()), Some(5 + 27 + 5));
    for (from, to, said) in [
        ("time_s", "time", "line 1 is not the header"),
        ("slither", "sleep", "line 2: `sleep` is no state"),
        ("-0.8", "x", "line 2: `x` is no number"),
        ("slither,", "slither,1.0,", "line 2: 38 values instead of 37"),
    ] {
        let error = Trajectory::from_csv(&csv.replacen(from, to, 1)).expect_err(from);
        assert!(error.contains(said), "{from}: {error}");
    }
}

/// The receipt has the published keys, the surrogate and what does not transfer (S21).
#[test]
fn the_receipt_has_the_published_keys() {
    let (p, snake) = (protocol(), Snake::parse(TEXT).expect("a snake"));
    for scenario in &p.scenarios {
        let ran = passing(scenario);
        let checks: Vec<(String, bool)> =
            p.gates_of(scenario).filter_map(|g| Some((g.check.clone()?, true))).collect();
        let outcome = sim_protocol::Outcome {
            scenario,
            ran: &ran,
            version: "3.17.0",
            timestep_s: 0.002,
            checks: &checks,
        };
        let receipt = snake.receipt(&outcome).expect("a receipt");
        for key in [
            "scenario",
            "model",
            "seed",
            "duration_requested_s",
            "duration_simulated_s",
            "physics_timestep_s",
            "controller_rate_hz",
            "dependencies",
            "initial_head_xy_m",
            "final_head_xy_m",
            "displacement_xy_m",
            "forward_progress_m",
            "net_displacement_m",
            "max_abs_joint_position_rad",
            "max_abs_joint_velocity_rad_s",
            "max_abs_joint_command_rad",
            "joint_tracking_rmse_rad",
            "obstacle_contact_steps",
            "minimum_pivot_to_obstacle_surface_clearance_m",
            "sensor_triggered_avoidance",
            "terminal_route_heading_rad",
            "sensor_estimated_obstacle_surface_xy_m",
            "detour_completed",
            "state_transitions",
            "checks",
            "passed",
            "modeled_assumptions",
        ] {
            assert!(receipt.get(key).is_some(), "{key}");
        }
        assert_eq!(receipt["seed"], 42);
        assert_eq!(receipt["passed"], true);
        let said = receipt["modeled_assumptions"].to_string();
        assert!(said.contains("propulsion surrogate") && said.contains("transfers to hardware"));
        assert_eq!(receipt["checks"].as_object().map(serde_json::Map::len), Some(checks.len()));
        let transitions = receipt["state_transitions"].as_array().map(Vec::len);
        assert_eq!(transitions, Some(if scenario.heading_window_s.is_some() { 3 } else { 0 }));
    }
}
