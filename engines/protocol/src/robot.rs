//! A robot: one floating tree of links that an MJCF model describes, for engines whose own loader
//! reads it. Beside the model stands what anyone can check and draw without a loader.

use crate::check::FieldErrors;
use crate::scene::{Pose, Shape, check_orientation, check_shape};
use serde::{Deserialize, Serialize};

/// Most links of a robot.
const MOST_LINKS: usize = 1000;

/// One articulated robot. It stands for the dynamic bodies of its scene: wherever poses are
/// listed, there is one a link, in the order of `links`, at the link's origin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Robot {
    /// Its name, such as `go1`.
    pub name: String,
    /// The whole world as MJCF that needs no other file: the floor, a plane at z = 0; the links
    /// with inertias, joints and collision primitives, every number explicit; position servos; and
    /// one keyframe, `start`, with the start coordinates and the servos' targets. The robot and the
    /// floor collide with each other (contype 1 with 2) and the robot never with itself.
    pub model: String,
    /// Where the model comes from.
    pub source: RobotSource,
    /// Height of the base when the robot stands, m. The base starts below it.
    pub standing_height: f64,
    /// All links, a parent before its children; the first is the base.
    pub links: Vec<Link>,
}

/// The published model that a recipe made a robot of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RobotSource {
    /// Package of the Python Package Index.
    pub package: String,
    /// Its version.
    pub version: String,
    /// The package's file.
    pub file: String,
    /// SHA-256 of that file, hexadecimal.
    pub sha256: String,
    /// The model within that file.
    pub model: String,
    /// SPDX identifier of the model's licence.
    pub licence: String,
    /// What the recipe changed, in words.
    pub changes: Vec<String>,
}

/// A rigid link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Its name in the model.
    pub name: String,
    /// The link it hangs on, earlier in `links`; absent for the base.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<usize>,
    /// kg.
    pub mass: f64,
    /// Its origin in the world at the start, by forward kinematics, m.
    pub position: [f64; 3],
    /// Orientation of its frame in the world at the start, unit quaternion w, x, y, z.
    pub orientation: [f64; 4],
    /// Its collision primitives; a link may have none.
    pub shapes: Vec<LinkShape>,
}

/// A collision primitive of a link.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LinkShape {
    /// The shape.
    pub shape: Shape,
    /// Its centre in the link's frame, m.
    pub position: [f64; 3],
    /// Its orientation in the link's frame, unit quaternion w, x, y, z.
    pub orientation: [f64; 4],
}

impl Link {
    /// Its start pose.
    pub fn pose(&self) -> Pose {
        Pose { position: self.position, orientation: self.orientation }
    }

    /// Height of its lowest point in the world, m; none where it has no shape.
    pub fn lowest_point(&self, pose: &Pose) -> Option<f64> {
        let low = |s: &LinkShape| s.shape.lowest_point(&pose.compose(&s.pose()));
        self.shapes.iter().map(low).reduce(f64::min)
    }
}

impl LinkShape {
    /// Its pose in the link's frame.
    pub fn pose(&self) -> Pose {
        Pose { position: self.position, orientation: self.orientation }
    }
}

impl Robot {
    /// Mass of all links, kg.
    pub fn mass(&self) -> f64 {
        self.links.iter().map(|l| l.mass).sum()
    }

    /// The base.
    pub fn base(&self) -> Option<&Link> {
        self.links.first()
    }

    pub(crate) fn check(&self, e: &mut FieldErrors) {
        e.within("robot.standing_height", self.standing_height, 1.0e-3, 100.0);
        if !self.model.trim_start().starts_with("<mujoco") {
            let start: String = self.model.chars().take(20).collect();
            e.add("robot.model", start, "must be MJCF: <mujoco …>");
        }
        let hex = self.source.sha256.bytes().all(|b| b.is_ascii_hexdigit());
        if self.source.sha256.len() != 64 || !hex {
            e.add("robot.source.sha256", &self.source.sha256, "must have 64 hexadecimal digits");
        }
        if self.links.is_empty() || self.links.len() > MOST_LINKS {
            e.add("robot.links", self.links.len(), format!("must be 1 to {MOST_LINKS}"));
        }
        for (i, link) in self.links.iter().enumerate() {
            let at = format!("robot.links[{i}]");
            e.within(&format!("{at}.mass"), link.mass, 1.0e-12, 1.0e12);
            e.vector(&format!("{at}.position"), &link.position, 1.0e6);
            check_orientation(&link.orientation, &format!("{at}.orientation"), e);
            let twice = self.links[..i].iter().any(|l| l.name == link.name);
            if link.name.is_empty() || twice {
                e.add(format!("{at}.name"), &link.name, "must be a name of its own");
            }
            match link.parent {
                None if i > 0 => e.add(format!("{at}.parent"), "absent", "only the base has none"),
                Some(p) if p >= i => {
                    e.add(format!("{at}.parent"), p, "must stand before its child");
                }
                _ => {}
            }
            for (k, s) in link.shapes.iter().enumerate() {
                let at = format!("{at}.shapes[{k}]");
                e.vector(&format!("{at}.position"), &s.position, 1.0e6);
                check_orientation(&s.orientation, &format!("{at}.orientation"), e);
                check_shape(&s.shape, &at, e);
            }
        }
    }
}
