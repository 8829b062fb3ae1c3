use super::*;
use crate::spec::tests::spec;

/// S04 to S06, S09, S10: what is made of the specification agrees with it, on every value.
#[test]
fn everything_that_is_made_agrees() {
    let spec = spec();
    let checks = check(&spec, &Made::new(&spec)).expect("XML");
    let wrong: Vec<String> =
        checks.iter().filter(|c| !c.holds()).map(ToString::to_string).collect();
    assert_eq!(wrong, Vec::<String>::new());
    // The published interface suite has 186; here each value of each file counts.
    assert!(checks.len() > 186, "{}", checks.len());
    let mut places: Vec<&str> = checks.iter().map(|c| c.place.as_str()).collect();
    places.sort_unstable();
    places.dedup();
    assert_eq!(places.len(), checks.len(), "each place once");
    assert_eq!(csv(&checks).lines().count(), checks.len() + 1);
}

/// Where a change of one thing alone is seen.
fn seen(change: impl FnOnce(&mut Made)) -> Vec<String> {
    let spec = spec();
    let mut made = Made::new(&spec);
    let before = made.clone();
    change(&mut made);
    assert_ne!(made, before, "nothing was changed");
    check(&spec, &made).expect("XML").into_iter().filter(|c| !c.holds()).map(|c| c.place).collect()
}

/// S04: each kind of value, changed in one file alone, is seen there.
#[test]
fn a_change_of_one_alone_is_seen() {
    type Part = fn(&mut Made) -> &mut String;
    let (u, s): (Part, Part) = (|m| &mut m.urdf, |m| &mut m.srdf);
    let (l, o): (Part, Part) = (|m| &mut m.locomotion, |m| &mut m.obstacle_course);
    for (part, from, to, place) in [
        (u, "robot name=\"robot_snake\"", "robot name=\"snake\"", "urdf robot"),
        (u, "link name=\"link_03\"", "link name=\"link_3\"", "urdf order of links"),
        (u, "joint name=\"joint_02\"", "joint name=\"joint_2\"", "urdf order of joints"),
        (u, "mass value=\"0.16\"", "mass value=\"0.161\"", "urdf link_00 mass"),
        (u, "ixy=\"0\"", "ixy=\"1e-9\"", "urdf link_00 ixy"),
        (u, "ixx=\"5.6", "ixx=\"5.7", "urdf link_00 ixx"),
        (u, "origin xyz=\"-0.045", "origin xyz=\"0.045", "urdf link_00 centre of mass"),
        (u, "box size=\"0.09 ", "box size=\"0.1 ", "urdf link_00 visual box"),
        (u, "type=\"revolute\"", "type=\"continuous\"", "urdf joint_01 type"),
        (u, "parent link=\"link_04\"", "parent link=\"link_03\"", "urdf joint_05 parent"),
        (u, "child link=\"link_04\"", "child link=\"link_05\"", "urdf joint_04 child"),
        (u, "xyz=\"-0.095 0 0\"", "xyz=\"0.095 0 0\"", "urdf joint_01 origin"),
        (u, "axis xyz=\"0 0 1\"", "axis xyz=\"0 0 -1\"", "urdf joint_01 axis"),
        (u, "lower=\"-0.95\"", "lower=\"-0.9\"", "urdf joint_01 lower limit"),
        (u, "upper=\"0.95\"", "upper=\"1.0\"", "urdf joint_01 upper limit"),
        (u, "effort=\"3.0\"", "effort=\"4.0\"", "urdf joint_01 effort"),
        (u, "velocity=\"4.0\"", "velocity=\"5.0\"", "urdf joint_01 velocity"),
        (s, "type=\"floating\"", "type=\"fixed\"", "srdf virtual joint type"),
        (s, "child_link=\"link_00\"", "child_link=\"link_01\"", "srdf virtual joint child"),
        (s, "group name=\"snake_body\"", "group name=\"body\"", "srdf group"),
        (s, "<joint name=\"joint_01\"/>", "", "srdf group joints"),
        (
            s,
            "name=\"joint_01\" value=\"0.0\"",
            "name=\"joint_01\" value=\"0.1\"",
            "srdf straight joint_01",
        ),
        (
            s,
            "link1=\"link_02\" link2=\"link_03\"",
            "link1=\"link_02\" link2=\"link_04\"",
            "srdf exclusion 2",
        ),
        (l, "timestep=\"0.002\"", "timestep=\"0.001\"", "locomotion timestep"),
        (l, "body name=\"link_06\"", "body name=\"link_6\"", "locomotion order of links"),
        (l, "mass=\"0.16\"", "mass=\"0.17\"", "locomotion link_00 mass"),
        (l, "diaginertia=\"5.6", "diaginertia=\"5.7", "locomotion link_00 inertia"),
        (l, "size=\"0.045 0.0275 0.0175\"", "size=\"0.045 0.0275 0.02\"", "locomotion link_00 box"),
        (l, "pos=\"-0.095 0.0 0.0\"", "pos=\"-0.09 0.0 0.0\"", "locomotion link_01 position"),
        (l, "zaxis=\"0 1 0\"", "zaxis=\"1 0 0\"", "locomotion link_00 pad axis"),
        (l, "joint name=\"joint_05\"", "joint name=\"joint_5\"", "locomotion order of joints"),
        (l, "axis=\"0 0 1\"", "axis=\"0 0 -1\"", "locomotion joint_01 axis"),
        (l, "range=\"-0.95 0.95\"", "range=\"-0.95 0.96\"", "locomotion joint_01 range"),
        (l, "ctrlrange=\"-0.95", "ctrlrange=\"-0.8", "locomotion joint_01 command range"),
        (
            l,
            "forcerange=\"-3.0 3.0\"",
            "forcerange=\"-3.0 6.0\"",
            "locomotion joint_01 torque range",
        ),
        (l, "joint=\"joint_07\"", "joint=\"joint_08\"", "locomotion order of actuators"),
        (
            l,
            "rangefinder name=\"head_range_00\"",
            "rangefinder name=\"front\"",
            "locomotion order of rays",
        ),
        (l, "cutoff=\"0.8\"", "cutoff=\"0.9\"", "locomotion head_range_m60 range"),
        (l, "pos=\"0.008 0.0 0.0\"", "pos=\"0.018 0.0 0.0\"", "locomotion head_range_m60 origin"),
        (l, "zaxis=\"1.0 0.0 0\"", "zaxis=\"-1.0 0.0 0\"", "locomotion head_range_00 direction"),
        (o, "pos=\"0.72 0.0", "pos=\"0.73 0.0", "obstacle_course obstacle position"),
        (o, "size=\"0.08 0.06\"", "size=\"0.09 0.06\"", "obstacle_course obstacle size"),
        (
            o,
            "exclude body1=\"link_04\"",
            "exclude body1=\"link_03\"",
            "obstacle_course exclusion 4",
        ),
        (o, "<freejoint name=\"world_joint\"/>", "", "obstacle_course free joint of the head"),
        (
            o,
            "geom2=\"link_03_pad\"",
            "geom2=\"link_02_pad\"",
            "obstacle_course link_03 pad in contact",
        ),
    ] {
        let found = seen(|made| {
            let text = part(made);
            assert!(text.contains(from), "{place}: {from} is not there");
            *text = text.replacen(from, to, 1);
        });
        assert!(found.iter().any(|p| p == place), "{place} is not among {found:?}");
    }
}

/// The same for friction, whose numbers calibration moves, and for the obstacle where none belongs.
#[test]
fn friction_and_a_second_obstacle_are_seen() {
    let spec = spec();
    let (along, across) = (spec.floor.friction_along, spec.floor.friction_across);
    let from = format!("friction=\"{across:?} {along:?}");
    let to = format!("friction=\"{along:?} {across:?}");
    let found = seen(|m| m.obstacle_course = m.obstacle_course.replacen(&from, &to, 1));
    assert_eq!(found, ["obstacle_course link_00 friction"]);
    let found = seen(|m| m.locomotion = m.obstacle_course.clone());
    assert_eq!(found, ["locomotion obstacles"]);
}

/// S04: the controller's own tables, each changed alone.
#[test]
fn a_change_of_the_controller_alone_is_seen() {
    type Change = fn(&mut Interface);
    let changes: [(Change, &str); 8] = [
        (|c| c.joints.swap(2, 3), "controller order of joints"),
        (|c| c.signs[4] = -1.0, "controller joint_05 sign"),
        (|c| c.command_limit_rad = 1.0, "controller command limit"),
        (|c| c.velocity_limit_rad_s = 5.0, "controller velocity limit"),
        (|c| c.rays.swap(0, 4), "controller order of rays"),
        (|c| c.rays[1].1 = 30.0, "controller head_range_m30 direction"),
        (|c| c.range_m = 1.0, "controller range"),
        (|c| c.rate_hz = 100, "controller rate"),
    ];
    for (change, place) in changes {
        let found = seen(|made| change(&mut made.controller));
        assert!(found.iter().any(|p| p == place), "{place} is not among {found:?}");
    }
}

#[test]
fn a_file_that_is_no_xml_is_named() {
    let spec = spec();
    let mut made = Made::new(&spec);
    made.srdf = "<robot>".into();
    assert!(check(&spec, &made).expect_err("no XML").starts_with("SRDF: "));
}
