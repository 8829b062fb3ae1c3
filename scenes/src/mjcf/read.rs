//! The part of MJCF that published robots use, with its default classes resolved.
//!
//! An attribute comes from the element; else from the element's class, else from the class that the
//! nearest enclosing body gives its children, else from the unnamed class; a class inherits from
//! the one around it.

use super::kinematics::unit;
use super::{Body, Geom, Hinge, Inertial, Joint, Key, Model, Physics, Servo};
use roxmltree::{Document, Node};
use sim_engine_protocol::Shape;
use std::collections::HashMap;
use std::str::FromStr;

type Attributes = HashMap<String, String>;

/// Attributes by class and element.
#[derive(Default)]
struct Classes(HashMap<String, HashMap<String, Attributes>>);

/// Elements of a body that have no part in its motion.
const UNSEEN: [&str; 3] = ["site", "camera", "light"];

pub(super) fn model(text: &str) -> Result<Model, String> {
    let document = Document::parse(text).map_err(|e| format!("the model is no XML: {e}"))?;
    let root = document.root_element();
    let compiler = root.children().find(|n| n.has_tag_name("compiler"));
    if compiler.and_then(|c| c.attribute("angle")) != Some("radian") {
        return Err("the model's angles are not in radians".to_owned());
    }
    let mut classes = Classes::default();
    for default in root.children().filter(|n| n.has_tag_name("default")) {
        classes.read(default, "main", &HashMap::new());
    }
    let world = root.children().find(|n| n.has_tag_name("worldbody"));
    let world = world.ok_or("the model has no worldbody")?;
    let mut bodies = Vec::new();
    for body in world.children().filter(|n| n.has_tag_name("body")) {
        read_body(body, None, "main", &classes, &mut bodies)?;
    }
    let mut servos = Vec::new();
    for list in root.children().filter(|n| n.has_tag_name("actuator")) {
        for element in list.children().filter(Node::is_element) {
            servos.push(read_servo(element, &classes)?);
        }
    }
    Ok(Model { bodies, servos, keys: keys(text)?, option: option(root)? })
}

pub(super) fn keys(text: &str) -> Result<Vec<Key>, String> {
    let document = Document::parse(text).map_err(|e| format!("the keyframes are no XML: {e}"))?;
    let frames = document.root_element().children().filter(|n| n.has_tag_name("keyframe"));
    let keys = frames.flat_map(|f| f.children()).filter(|n| n.has_tag_name("key"));
    keys.map(|key| {
        let name = key.attribute("name").unwrap_or_default().to_owned();
        let qpos = list(key.attribute("qpos").unwrap_or_default(), &name)?;
        Ok(Key { name, qpos })
    })
    .collect()
}

fn option(root: Node<'_, '_>) -> Result<Physics, String> {
    let mut physics = Physics { cone: "pyramidal", impratio: 1.0, integrator: "Euler" };
    for option in root.children().filter(|n| n.has_tag_name("option")) {
        match option.attribute("cone") {
            None => {}
            Some("pyramidal") => physics.cone = "pyramidal",
            Some("elliptic") => physics.cone = "elliptic",
            Some(other) => return Err(format!("cone {other} is not understood")),
        }
        match option.attribute("integrator") {
            None => {}
            Some("Euler") => physics.integrator = "Euler",
            Some("implicitfast") => physics.integrator = "implicitfast",
            Some(other) => return Err(format!("integrator {other} is not understood")),
        }
        if let Some(text) = option.attribute("impratio") {
            physics.impratio = number(text, "impratio")?;
        }
    }
    Ok(physics)
}

impl Classes {
    fn read(&mut self, node: Node<'_, '_>, name: &str, outer: &HashMap<String, Attributes>) {
        let mut own = outer.clone();
        for element in node.children().filter(|n| n.is_element() && !n.has_tag_name("default")) {
            let entry = own.entry(element.tag_name().name().to_owned()).or_default();
            entry.extend(element.attributes().map(|a| (a.name().to_owned(), a.value().to_owned())));
        }
        for inner in node.children().filter(|n| n.has_tag_name("default")) {
            let class = inner.attribute("class").unwrap_or("main").to_owned();
            self.read(inner, &class, &own);
        }
        self.0.insert(node.attribute("class").unwrap_or(name).to_owned(), own);
    }

    /// An element's attributes with those of its class, read as an element of that name.
    fn resolve(&self, node: Node<'_, '_>, tag: &str, around: &str) -> Result<Attributes, String> {
        let class = node.attribute("class").unwrap_or(around);
        let known = self.0.get(class);
        if known.is_none() && class != "main" {
            return Err(format!("there is no class {class}"));
        }
        let mut all = known.and_then(|c| c.get(tag)).cloned().unwrap_or_default();
        if node.has_tag_name(tag) {
            all.extend(node.attributes().map(|a| (a.name().to_owned(), a.value().to_owned())));
        }
        Ok(all)
    }
}

fn read_body(
    node: Node<'_, '_>,
    parent: Option<usize>,
    around: &str,
    classes: &Classes,
    bodies: &mut Vec<Body>,
) -> Result<(), String> {
    let name = node.attribute("name").ok_or("a body has no name")?.to_owned();
    let around = node.attribute("childclass").unwrap_or(around);
    let own: Attributes =
        node.attributes().map(|a| (a.name().to_owned(), a.value().to_owned())).collect();
    let (position, orientation) = place(&own, &name)?;
    let mut body =
        Body { name, parent, position, orientation, inertial: None, joint: None, geoms: vec![] };
    let index = bodies.len();
    for child in node.children().filter(Node::is_element) {
        let at = body.name.clone();
        match child.tag_name().name() {
            "inertial" => {
                let a = classes.resolve(child, "inertial", around)?;
                let (position, orientation) = place(&a, &at)?;
                let mass = number(text(&a, "mass", &at)?, "mass")?;
                let moments = array(text(&a, "diaginertia", &at)?, &at)?;
                body.inertial = Some(Inertial { position, orientation, mass, moments });
            }
            "freejoint" | "joint" if body.joint.is_some() => {
                return Err(format!("body {at} has more than one joint"));
            }
            "freejoint" => body.joint = Some(Joint::Free),
            "joint" => body.joint = Some(Joint::Hinge(read_hinge(child, around, classes)?)),
            "geom" => body.geoms.extend(read_geom(child, around, classes)?),
            "body" => {}
            unseen if UNSEEN.contains(&unseen) => {}
            other => return Err(format!("body {at} has a <{other}>, which is not understood")),
        }
    }
    let free = matches!(body.joint, Some(Joint::Free));
    if free != parent.is_none() {
        return Err(format!("body {}: the base is free, and no other body", body.name));
    }
    bodies.push(body);
    for child in node.children().filter(|n| n.has_tag_name("body")) {
        read_body(child, Some(index), around, classes, bodies)?;
    }
    Ok(())
}

fn read_hinge(node: Node<'_, '_>, around: &str, classes: &Classes) -> Result<Hinge, String> {
    let a = classes.resolve(node, "joint", around)?;
    let name = text(&a, "name", "a joint")?.to_owned();
    if a.get("type").is_some_and(|t| t != "hinge") {
        return Err(format!("joint {name} is no hinge"));
    }
    for attribute in ["ref", "springref", "stiffness", "springdamper"] {
        if a.contains_key(attribute) {
            return Err(format!("joint {name} has {attribute}, which is not understood"));
        }
    }
    let or = |key: &str, usual: f64| a.get(key).map_or(Ok(usual), |t| number(t, &name));
    let axis: [f64; 3] = a.get("axis").map_or(Ok([0.0, 0.0, 1.0]), |t| array(t, &name))?;
    let norm = axis.iter().map(|x| x * x).sum::<f64>().sqrt();
    Ok(Hinge {
        class: node.attribute("class").map(str::to_owned),
        position: a.get("pos").map_or(Ok([0.0; 3]), |t| array(t, &name))?,
        axis: axis.map(|x| x / norm),
        range: array(text(&a, "range", &name)?, &name)?,
        damping: or("damping", 0.0)?,
        armature: or("armature", 0.0)?,
        frictionloss: or("frictionloss", 0.0)?,
        torque: a.get("actuatorfrcrange").map(|t| array(t, &name)).transpose()?,
        name,
    })
}

/// A collision primitive; none for a mesh, which is there to be looked at.
fn read_geom(node: Node<'_, '_>, around: &str, classes: &Classes) -> Result<Option<Geom>, String> {
    let a = classes.resolve(node, "geom", around)?;
    let at = a.get("name").map_or("a geom", String::as_str);
    let kind = a.get("type").map_or("sphere", String::as_str);
    if kind == "mesh" {
        return Ok(None);
    }
    let size = list(text(&a, "size", at)?, at)?;
    let sized = |i: usize| size.get(i).copied().ok_or(format!("{at} of type {kind} lacks a size"));
    let (mut position, mut orientation) = place(&a, at)?;
    let mut half_length = size.get(1).copied();
    if let Some(ends) = a.get("fromto") {
        let [x1, y1, z1, x2, y2, z2] = array(ends, at)?;
        let along = [x2 - x1, y2 - y1, z2 - z1];
        let length = along.iter().map(|x| x * x).sum::<f64>().sqrt();
        position = [(x1 + x2) / 2.0, (y1 + y2) / 2.0, (z1 + z2) / 2.0];
        orientation = from_z(along.map(|x| x / length));
        half_length = Some(length / 2.0);
    }
    let half_length = half_length.ok_or(format!("{at} of type {kind} has no length"));
    let shape = match kind {
        "sphere" => Shape::Sphere { radius: sized(0)? },
        "box" => Shape::Box { half_extents: [sized(0)?, sized(1)?, sized(2)?] },
        "capsule" => Shape::Capsule { radius: sized(0)?, half_length: half_length? },
        "cylinder" => Shape::Cylinder { radius: sized(0)?, half_length: half_length? },
        other => return Err(format!("{at} is a {other}, which is not understood")),
    };
    let whole = |key: &str, usual: i64| a.get(key).map_or(Ok(usual), |t| number(t, at));
    Ok(Some(Geom {
        class: node.attribute("class").map(str::to_owned),
        shape,
        position,
        orientation,
        friction: fill(&a, "friction", [1.0, 0.005, 0.0001])?,
        condim: whole("condim", 3)?,
        priority: whole("priority", 0)?,
        solimp: fill(&a, "solimp", [0.9, 0.95, 0.001, 0.5, 2.0])?,
        margin: a.get("margin").map_or(Ok(0.0), |t| number(t, at))?,
    }))
}

/// An actuator as the position servo that its class makes of it, whichever kind it has in the
/// source: a recipe says what it keeps of that.
fn read_servo(node: Node<'_, '_>, classes: &Classes) -> Result<Servo, String> {
    let a = classes.resolve(node, "position", "main")?;
    let name = node.attribute("name").ok_or("an actuator has no name")?.to_owned();
    let joint = node.attribute("joint").ok_or(format!("actuator {name} drives no joint"))?;
    let range = |key: &str| a.get(key).map(|t| array(t, &name)).transpose();
    Ok(Servo {
        joint: joint.to_owned(),
        kp: a.get("kp").map_or(Ok(1.0), |t| number(t, &name))?,
        kv: a.get("kv").map_or(Ok(0.0), |t| number(t, &name))?,
        control: range("ctrlrange")?,
        force: range("forcerange")?,
        name,
    })
}

/// Position and unit orientation of an element.
fn place(a: &Attributes, at: &str) -> Result<([f64; 3], [f64; 4]), String> {
    for other in ["euler", "axisangle", "xyaxes", "zaxis"] {
        if a.contains_key(other) {
            return Err(format!("{at} has {other}, which is not understood: quat is"));
        }
    }
    let position = a.get("pos").map_or(Ok([0.0; 3]), |t| array(t, at))?;
    let orientation = a.get("quat").map_or(Ok([1.0, 0.0, 0.0, 0.0]), |t| array(t, at))?;
    Ok((position, unit(orientation)))
}

/// The turn that takes the z axis to a unit vector.
fn from_z([x, y, z]: [f64; 3]) -> [f64; 4] {
    // Half-way between the two axes; along −z any axis across will do.
    if z < -1.0 + 1.0e-12 { [0.0, 1.0, 0.0, 0.0] } else { unit([1.0 + z, -y, x, 0.0]) }
}

fn text<'a>(a: &'a Attributes, key: &str, at: &str) -> Result<&'a str, String> {
    a.get(key).map(String::as_str).ok_or_else(|| format!("{at} has no {key}"))
}

fn number<T: FromStr>(text: &str, at: &str) -> Result<T, String> {
    text.trim().parse().map_err(|_| format!("{at}: {text:?} is no number"))
}

fn list(text: &str, at: &str) -> Result<Vec<f64>, String> {
    text.split_whitespace().map(|word| number(word.trim_start_matches('+'), at)).collect()
}

fn array<const N: usize>(text: &str, at: &str) -> Result<[f64; N], String> {
    let found = list(text, at)?;
    found.try_into().map_err(|l: Vec<f64>| format!("{at}: {} numbers instead of {N}", l.len()))
}

/// Numbers of which the last may be left out.
fn fill<const N: usize>(a: &Attributes, key: &str, usual: [f64; N]) -> Result<[f64; N], String> {
    let mut all = usual;
    let given = a.get(key).map_or(Ok(vec![]), |t| list(t, key))?;
    if given.len() > N {
        return Err(format!("{key} has {} numbers, more than {N}", given.len()));
    }
    all[..given.len()].copy_from_slice(&given);
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mjcf::kinematics::pose;

    #[test]
    fn a_turn_takes_z_where_it_should() {
        for to in [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.6, 0.0, -0.8], [0.0, 0.0, -1.0]] {
            let there = pose([0.0; 3], from_z(to)).transform([0.0, 0.0, 1.0]);
            assert!((0..3).all(|i| (there[i] - to[i]).abs() < 1e-15), "{there:?} is not {to:?}");
        }
    }
}
