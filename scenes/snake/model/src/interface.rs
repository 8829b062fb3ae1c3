//! Whether description, semantics, both scenes and the controller agree with the specification: on every
//! name, order, limit and sign. One [`Agreement`] a value; what reads the files is not what writes them.

use crate::controller::Interface;
use crate::description;
use crate::mjcf::{Scene, mjcf};
use crate::spec::Spec;
use roxmltree::{Document, Node};
use std::fmt;

/// What is made of a specification.
#[derive(Clone, Debug, PartialEq)]
pub struct Made {
    /// Robot description.
    pub urdf: String,
    /// Planning semantics.
    pub srdf: String,
    /// Scene without an obstacle.
    pub locomotion: String,
    /// Scene with the obstacle.
    pub obstacle_course: String,
    /// What the controller drives and reads.
    pub controller: Interface,
}

impl Made {
    /// Everything that a specification makes.
    pub fn new(spec: &Spec) -> Self {
        Self {
            urdf: description::urdf(spec),
            srdf: description::srdf(spec),
            locomotion: mjcf(spec, Scene::Locomotion),
            obstacle_course: mjcf(spec, Scene::ObstacleCourse),
            controller: Interface::new(spec),
        }
    }
}

/// A value in a file beside that of the specification.
#[derive(Clone, Debug, PartialEq)]
pub struct Agreement {
    /// Where it is: the file and the place in it.
    pub place: String,
    /// What the specification says.
    pub expected: String,
    /// What the file says; empty where it has no such thing.
    pub found: String,
    /// Whether they agree.
    pub agrees: bool,
}

impl Agreement {
    /// Whether file and specification agree.
    pub fn holds(&self) -> bool {
        self.agrees
    }
}

impl fmt::Display for Agreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, expected, found, .. } = self;
        let found = if found.is_empty() { "nothing" } else { found };
        write!(f, "{place} is {found}, the specification says {expected}")
    }
}

/// All agreements as CSV.
pub fn csv(checks: &[Agreement]) -> String {
    let mut out = "place,expected,found,agrees\n".to_owned();
    for c in checks {
        // Lists are separated by blanks; no value holds a comma.
        out.push_str(&format!("{},{},{},{}\n", c.place, c.expected, c.found, c.agrees));
    }
    out
}

/// Numbers that are farther apart than this differ: metres, radians, kilograms.
const TOLERANCE: f64 = 1e-12;

/// Compares everything. The error says which file is no XML.
pub fn check(spec: &Spec, made: &Made) -> Result<Vec<Agreement>, String> {
    let mut list = List(Vec::new());
    let parse = |what: &str, text: &'_ str| -> Result<(), String> {
        Document::parse(text).map(|_| ()).map_err(|e| format!("{what}: {e}"))
    };
    parse("URDF", &made.urdf)?;
    parse("SRDF", &made.srdf)?;
    parse("locomotion", &made.locomotion)?;
    parse("obstacle_course", &made.obstacle_course)?;
    if let Ok(document) = Document::parse(&made.urdf) {
        urdf(&mut list, spec, &document);
    }
    if let Ok(document) = Document::parse(&made.srdf) {
        srdf(&mut list, spec, &document);
    }
    for (scene, text) in
        [(Scene::Locomotion, &made.locomotion), (Scene::ObstacleCourse, &made.obstacle_course)]
    {
        if let Ok(document) = Document::parse(text) {
            scene_file(&mut list, spec, scene, &document);
        }
    }
    controller(&mut list, spec, &made.controller);
    Ok(list.0)
}

struct List(Vec<Agreement>);

impl List {
    fn text(&mut self, place: String, expected: &str, found: Option<&str>) {
        let found = found.unwrap_or_default().to_owned();
        let agrees = found == expected;
        self.0.push(Agreement { place, expected: expected.to_owned(), found, agrees });
    }

    fn texts(&mut self, place: &str, expected: &[String], found: &[&str]) {
        self.text(place.to_owned(), &expected.join(" "), Some(&found.join(" ")));
    }

    fn numbers(&mut self, place: String, expected: &[f64], found: Option<&str>) {
        let found = found.unwrap_or_default();
        let values: Option<Vec<f64>> =
            found.split_whitespace().map(|word| word.parse().ok()).collect();
        let agrees = values.is_some_and(|v| {
            v.len() == expected.len()
                && v.iter().zip(expected).all(|(a, b)| (a - b).abs() <= TOLERANCE)
        });
        let expected: Vec<String> = expected.iter().map(|x| format!("{x:?}")).collect();
        self.0.push(Agreement {
            place,
            expected: expected.join(" "),
            found: found.to_owned(),
            agrees,
        });
    }
}

fn named<'a, 'i>(root: Node<'a, 'i>, tag: &str) -> Vec<Node<'a, 'i>> {
    root.children().filter(|n| n.has_tag_name(tag)).collect()
}

fn child<'a, 'i>(node: Option<Node<'a, 'i>>, tag: &str) -> Option<Node<'a, 'i>> {
    node?.children().find(|n| n.has_tag_name(tag))
}

fn names<'a>(nodes: &[Node<'a, '_>]) -> Vec<&'a str> {
    nodes.iter().map(|n| n.attribute("name").unwrap_or_default()).collect()
}

fn urdf(list: &mut List, spec: &Spec, document: &Document<'_>) {
    let (root, r, j) = (document.root_element(), &spec.robot, &spec.joint);
    list.text("urdf robot".into(), &r.name, root.attribute("name"));
    let (links, joints) = (named(root, "link"), named(root, "joint"));
    list.texts("urdf order of links", &spec.link_names(), &names(&links));
    list.texts("urdf order of joints", &spec.joint_names(), &names(&joints));
    let inertia = spec.link_inertia();
    for (i, name) in spec.link_names().iter().enumerate() {
        let link = links.get(i).copied();
        let inertial = child(link, "inertial");
        let at = |what: &str| format!("urdf {name} {what}");
        let value = |tag: &str, name: &str| child(inertial, tag).and_then(|n| n.attribute(name));
        list.numbers(at("mass"), &[r.link_mass_kg], value("mass", "value"));
        for (axis, moment) in ["ixx", "iyy", "izz"].iter().zip(inertia) {
            list.numbers(at(axis), &[moment], value("inertia", axis));
        }
        for axis in ["ixy", "ixz", "iyz"] {
            list.numbers(at(axis), &[0.0], value("inertia", axis));
        }
        list.numbers(at("centre of mass"), &spec.link_centre(), value("origin", "xyz"));
        for part in ["visual", "collision"] {
            let part_node = child(link, part);
            let shape = child(child(part_node, "geometry"), "box");
            let origin = child(part_node, "origin").and_then(|n| n.attribute("xyz"));
            let size = shape.and_then(|n| n.attribute("size"));
            list.numbers(at(&format!("{part} box")), &r.link_box_m, size);
            list.numbers(at(&format!("{part} origin")), &spec.link_centre(), origin);
        }
    }
    let links = spec.link_names();
    for (i, name) in spec.joint_names().iter().enumerate() {
        let joint = joints.get(i).copied();
        let at = |what: &str| format!("urdf {name} {what}");
        let value = |tag: &str, name: &str| child(joint, tag).and_then(|n| n.attribute(name));
        list.text(at("type"), "revolute", joint.and_then(|n| n.attribute("type")));
        list.text(at("parent"), &links[i], value("parent", "link"));
        list.text(at("child"), &links[i + 1], value("child", "link"));
        list.numbers(at("origin"), &[-r.pivot_pitch_m, 0.0, 0.0], value("origin", "xyz"));
        list.numbers(at("axis"), &[0.0, 0.0, 1.0], value("axis", "xyz"));
        list.numbers(at("lower limit"), &[-j.limit_rad], value("limit", "lower"));
        list.numbers(at("upper limit"), &[j.limit_rad], value("limit", "upper"));
        list.numbers(at("effort"), &[j.effort_nm], value("limit", "effort"));
        list.numbers(at("velocity"), &[j.velocity_rad_s], value("limit", "velocity"));
    }
}

fn srdf(list: &mut List, spec: &Spec, document: &Document<'_>) {
    let root = document.root_element();
    let (links, joints) = (spec.link_names(), spec.joint_names());
    list.text("srdf robot".into(), &spec.robot.name, root.attribute("name"));
    let of = |tag: &str| child(Some(root), tag);
    let virtual_joint = of("virtual_joint");
    let value = |name: &str| virtual_joint.and_then(|n| n.attribute(name));
    list.text("srdf virtual joint type".into(), "floating", value("type"));
    list.text("srdf virtual joint parent".into(), "world", value("parent_frame"));
    list.text("srdf virtual joint child".into(), &links[0], value("child_link"));
    for (tag, name) in [("group", "name"), ("group_state", "group")] {
        let node = of(tag);
        list.text(format!("srdf {tag}"), &spec.robot.group, node.and_then(|n| n.attribute(name)));
        let inside = node.map(|n| named(n, "joint")).unwrap_or_default();
        list.texts(&format!("srdf {tag} joints"), &joints, &names(&inside));
    }
    list.text("srdf state".into(), "straight", of("group_state").and_then(|n| n.attribute("name")));
    let inside = of("group_state").map(|n| named(n, "joint")).unwrap_or_default();
    for (i, name) in joints.iter().enumerate() {
        let value = inside.get(i).and_then(|n| n.attribute("value"));
        list.numbers(format!("srdf straight {name}"), &[0.0], value);
    }
    let pairs = named(root, "disable_collisions");
    list.text("srdf exclusions".into(), &joints.len().to_string(), Some(&pairs.len().to_string()));
    for (i, pair) in links.windows(2).enumerate() {
        let node = pairs.get(i);
        let value = |name: &str| node.and_then(|n| n.attribute(name)).unwrap_or_default();
        let found = format!("{} {}", value("link1"), value("link2"));
        list.texts(&format!("srdf exclusion {i}"), pair, &[&found]);
    }
}

/// An attribute of a node of MJCF: its own, or that of its default class.
fn attribute<'a>(
    document: &'a Document<'_>,
    node: Option<Node<'a, '_>>,
    name: &str,
) -> Option<&'a str> {
    let node = node?;
    if let Some(own) = node.attribute(name) {
        return Some(own);
    }
    let class = node
        .attribute("class")
        .or_else(|| node.ancestors().skip(1).find_map(|n| n.attribute("childclass")))?;
    let of_class = document
        .descendants()
        .find(|n| n.has_tag_name("default") && n.attribute("class") == Some(class))?;
    of_class.children().find(|n| n.tag_name() == node.tag_name())?.attribute(name)
}

fn scene_file(list: &mut List, spec: &Spec, scene: Scene, document: &Document<'_>) {
    let file = scene.name();
    let (links, joints) = (spec.link_names(), spec.joint_names());
    let (root, r, j) = (document.root_element(), &spec.robot, &spec.joint);
    let value = |node: Option<_>, name: &str| attribute(document, node, name);
    let option = child(Some(root), "option");
    let timestep = value(option, "timestep");
    list.numbers(format!("{file} timestep"), &[spec.simulation.timestep_s], timestep);
    list.numbers(
        format!("{file} viscosity"),
        &[spec.floor.viscosity_pa_s],
        value(option, "viscosity"),
    );

    let bodies: Vec<Node<'_, '_>> =
        document.descendants().filter(|n| n.has_tag_name("body")).collect();
    list.texts(&format!("{file} order of links"), &links, &names(&bodies));
    let half = r.link_box_m.map(|edge| 0.5 * edge);
    let inertia = spec.link_inertia();
    for (i, name) in links.iter().enumerate() {
        let body = bodies.get(i).copied();
        let at = |what: &str| format!("{file} {name} {what}");
        let parent = body.and_then(|n| n.parent()).map(|n| n.attribute("name").unwrap_or("world"));
        list.text(at("parent"), if i == 0 { "world" } else { &links[i - 1] }, parent);
        let position =
            if i == 0 { [0.0, 0.0, spec.height()] } else { [-r.pivot_pitch_m, 0.0, 0.0] };
        list.numbers(at("position"), &position, value(body, "pos"));
        let inertial = child(body, "inertial");
        list.numbers(at("mass"), &[r.link_mass_kg], value(inertial, "mass"));
        list.numbers(at("inertia"), &inertia, value(inertial, "diaginertia"));
        list.numbers(at("centre of mass"), &spec.link_centre(), value(inertial, "pos"));
        let shape = |suffix: &str| {
            let wanted = format!("{name}_{suffix}");
            body?
                .children()
                .find(|n| n.has_tag_name("geom") && n.attribute("name") == Some(&wanted))
        };
        list.text(at("box type"), "box", value(shape("box"), "type"));
        list.numbers(at("box"), &half, value(shape("box"), "size"));
        list.numbers(at("box position"), &spec.link_centre(), value(shape("box"), "pos"));
        let pad = [spec.floor.pad_radius_m, 0.5 * spec.floor.pad_width_m];
        list.numbers(at("pad"), &pad, value(shape("pad"), "size"));
        list.numbers(at("pad axis"), &[0.0, 1.0, 0.0], value(shape("pad"), "zaxis"));
    }
    let free = child(bodies.first().copied(), "freejoint").map_or("0", |_| "1");
    list.text(format!("{file} free joint of the head"), "1", Some(free));
    let hinges: Vec<Node<'_, '_>> = document
        .descendants()
        .filter(|n| n.has_tag_name("joint") && n.has_attribute("name"))
        .collect();
    list.texts(&format!("{file} order of joints"), &joints, &names(&hinges));
    let actuators = child(Some(root), "actuator").map(|n| named(n, "position")).unwrap_or_default();
    let driven: Vec<&str> =
        actuators.iter().map(|n| n.attribute("joint").unwrap_or_default()).collect();
    list.texts(&format!("{file} order of actuators"), &joints, &driven);
    for (i, name) in joints.iter().enumerate() {
        let at = |what: &str| format!("{file} {name} {what}");
        let (hinge, actuator) = (hinges.get(i).copied(), actuators.get(i).copied());
        let on = hinge.and_then(|n| n.parent()).and_then(|n| n.attribute("name"));
        list.text(at("link"), &links[i + 1], on);
        list.text(at("type"), "hinge", value(hinge, "type"));
        list.numbers(at("axis"), &[0.0, 0.0, 1.0], value(hinge, "axis"));
        list.numbers(at("range"), &[-j.limit_rad, j.limit_rad], value(hinge, "range"));
        list.text(
            at("actuator"),
            &format!("{name}_position"),
            actuator.and_then(|n| n.attribute("name")),
        );
        list.numbers(
            at("command range"),
            &[-j.limit_rad, j.limit_rad],
            value(actuator, "ctrlrange"),
        );
        list.numbers(
            at("torque range"),
            &[-j.effort_nm, j.effort_nm],
            value(actuator, "forcerange"),
        );
        list.numbers(at("stiffness"), &[spec.servo.stiffness_nm_rad], value(actuator, "kp"));
    }
    rays(list, spec, file, document);
    contacts(list, spec, scene, document);
}

fn rays(list: &mut List, spec: &Spec, file: &str, document: &Document<'_>) {
    let root = document.root_element();
    let sensors = child(Some(root), "sensor").map(|n| named(n, "rangefinder")).unwrap_or_default();
    let wanted: Vec<String> = spec.ray_names().cloned().collect();
    list.texts(&format!("{file} order of rays"), &wanted, &names(&sensors));
    for (i, ray) in spec.rays.iter().enumerate() {
        let at = |what: &str| format!("{file} {} {what}", ray.name);
        let sensor = sensors.get(i).copied();
        let value = |name: &str| sensor.and_then(|n| n.attribute(name));
        list.numbers(at("range"), &[spec.perception.range_m], value("cutoff"));
        let site = value("site").and_then(|name| {
            document
                .descendants()
                .find(|n| n.has_tag_name("site") && n.attribute("name") == Some(name))
        });
        let on = site.and_then(|n| n.parent()).and_then(|n| n.attribute("name"));
        list.text(at("link"), &spec.link_names()[0], on);
        let origin = site.and_then(|n| n.attribute("pos"));
        list.numbers(at("origin"), &spec.perception.origin_m, origin);
        let (s, c) = ray.angle_deg.to_radians().sin_cos();
        list.numbers(at("direction"), &[c, s, 0.0], site.and_then(|n| n.attribute("zaxis")));
    }
}

fn contacts(list: &mut List, spec: &Spec, scene: Scene, document: &Document<'_>) {
    let (file, links, o) = (scene.name(), spec.link_names(), &spec.obstacle);
    let root = document.root_element();
    let contact = child(Some(root), "contact");
    let pairs = contact.map(|n| named(n, "pair")).unwrap_or_default();
    let excluded = contact.map(|n| named(n, "exclude")).unwrap_or_default();
    for (i, name) in links.iter().enumerate() {
        let value = |name: &str| pairs.get(i).and_then(|n| n.attribute(name));
        let at = |what: &str| format!("{file} {name} {what}");
        list.text(at("pad in contact"), &format!("{name}_pad"), value("geom2"));
        let friction: Option<Vec<&str>> =
            value("friction").map(|text| text.split_whitespace().take(2).collect());
        let wanted = [spec.floor.friction_across, spec.floor.friction_along];
        list.numbers(at("friction"), &wanted, friction.map(|f| f.join(" ")).as_deref());
    }
    for (i, pair) in links.windows(2).enumerate() {
        let value =
            |name: &str| excluded.get(i).and_then(|n| n.attribute(name)).unwrap_or_default();
        let found = format!("{} {}", value("body1"), value("body2"));
        list.texts(&format!("{file} exclusion {i}"), pair, &[&found]);
    }
    let obstacle = document
        .descendants()
        .find(|n| n.has_tag_name("geom") && n.attribute("name") == Some("obstacle"));
    let value = |name: &str| obstacle.and_then(|n| n.attribute(name));
    if scene == Scene::Locomotion {
        list.text(format!("{file} obstacles"), "0", Some(obstacle.map_or("0", |_| "1")));
        return;
    }
    let half = 0.5 * o.height_m;
    list.text(format!("{file} obstacle type"), "cylinder", value("type"));
    list.numbers(format!("{file} obstacle size"), &[o.radius_m, half], value("size"));
    let [x, y] = o.centre_m;
    list.numbers(format!("{file} obstacle position"), &[x, y, half], value("pos"));
}

fn controller(list: &mut List, spec: &Spec, made: &Interface) {
    let of = |names: &'_ [String]| names.join(" ");
    list.text(
        "controller order of joints".into(),
        &of(&spec.joint_names()),
        Some(&of(&made.joints)),
    );
    let wanted: Vec<String> = spec.ray_names().cloned().collect();
    let found: Vec<String> = made.rays.iter().map(|(name, _)| name.clone()).collect();
    list.text("controller order of rays".into(), &of(&wanted), Some(&of(&found)));
    let mut number = |place: String, expected: f64, found: f64| {
        list.numbers(place, &[expected], Some(&format!("{found:?}")));
    };
    for (i, joint) in spec.joint_names().iter().enumerate() {
        let sign = made.signs.get(i).copied().unwrap_or(f64::NAN);
        number(format!("controller {joint} sign"), 1.0, sign);
    }
    for (i, ray) in spec.rays.iter().enumerate() {
        let angle = made.rays.get(i).map_or(f64::NAN, |(_, angle)| *angle);
        number(format!("controller {} direction", ray.name), ray.angle_deg, angle);
    }
    number("controller command limit".into(), spec.joint.limit_rad, made.command_limit_rad);
    number(
        "controller velocity limit".into(),
        spec.joint.velocity_rad_s,
        made.velocity_limit_rad_s,
    );
    number("controller range".into(), spec.perception.range_m, made.range_m);
    number(
        "controller rate".into(),
        f64::from(spec.simulation.control_hz),
        f64::from(made.rate_hz),
    );
}

#[cfg(test)]
mod tests;
