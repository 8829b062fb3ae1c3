//! Where a case is looked at from: one camera for all engines that ran it.
//!
//! The direction is always the same. The distance is the least from which the picture holds what is in
//! the *region*: all bodies of the start state, and in every frame of every engine the bodies but the
//! outermost fiftieth on each side of each axis (all of them below 50), out to four times the size of
//! the start state. So a few strays, or an engine that blows up, do not shrink the rest to dots.
//!
//! Where the bodies leave that together, as a vehicle does, the camera goes with them: its place and the
//! region are then those relative to the *middle* of the bodies, on the ground, in each frame.

use crate::solid::Solid;
use crate::vector::{Place, V, add, cross, dot, scale, sub, unit};

/// From the region towards the eye: in front, to the right, 28 degrees up.
const TOWARDS: V = [0.45, -0.76, 0.47];
/// Tangent of half the vertical field of view, which is 30 degrees.
pub(crate) const TAN: f32 = 0.267_949_2;
/// Part of the picture's width and height that the bodies may fill.
const FILL: f32 = 0.92;
/// How far beyond the start state the region may reach, in sizes of the start state.
const GROWTH: f32 = 4.0;
/// Share of bodies that may lie outside on each side of each axis, as a divisor.
const TRIM: usize = 50;

/// Bodies that go together stay within this many sizes of the start state from each other.
const TOGETHER: f32 = 2.0;
/// Farther than this many sizes of the start state nothing goes; it blew up.
const FARTHEST: f32 = 1.0e4;

/// The poses of all bodies of a frame: position x, y, z (m) and orientation w, x, y, z.
pub(crate) type Frame = [[f32; 7]];

/// Where the bodies are on the ground: medians of x and of y of all that have a place, m, so that a few that
/// are thrown away draw no camera after them. `None` where none has.
pub(crate) fn middle(frame: &Frame) -> Option<[f32; 2]> {
    let there = || frame.iter().filter(|p| Place::of(**p).is_some());
    let median = |k: usize| {
        let mut list: Vec<f32> = there().map(|p| p[k]).collect();
        list.sort_unstable_by(f32::total_cmp);
        let upper = *list.get(list.len() / 2)?;
        let lower = list[(list.len() - 1) / 2];
        Some(0.5 * (lower + upper))
    };
    Some([median(0)?, median(1)?])
}

/// Extent on the ground of all bodies whose pose is finite, m.
fn extent(frame: &Frame) -> f32 {
    let side = |k: usize| {
        let list = || frame.iter().map(|p| p[k]).filter(|x| x.is_finite());
        list().fold(f32::MIN, f32::max) - list().fold(f32::MAX, f32::min)
    };
    side(0).max(side(1)).max(0.0)
}

/// Whether the bodies of a capture leave the largest region, and do so together. `size` is that of the
/// start state, m.
pub(crate) fn travels(frames: &[Vec<[f32; 7]>], size: f32) -> bool {
    let Some(start) = frames.first().and_then(|f| middle(f)) else { return false };
    frames.iter().filter_map(|f| Some((middle(f)?, f))).any(|([x, y], frame)| {
        let far = (x - start[0]).abs().max((y - start[1]).abs());
        far > GROWTH * size && far < FARTHEST * size && extent(frame) < TOGETHER * size
    })
}

/// Largest side of what the moving solids of a frame take up, m; zero where there are none.
pub(crate) fn size(solids: &[Solid], places: &[Option<Place>]) -> f32 {
    let mut all = Region::none();
    moving(solids, places).for_each(|(p, reach)| all.take(p, reach));
    if all.is_none() { 0.0 } else { all.size() }
}

/// An axis-aligned box in the world, m.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Region {
    pub(crate) low: V,
    pub(crate) high: V,
}

impl Region {
    fn none() -> Self {
        Self { low: [f32::MAX; 3], high: [f32::MIN; 3] }
    }

    fn is_none(&self) -> bool {
        self.low[0] > self.high[0]
    }

    fn take(&mut self, p: V, reach: f32) {
        self.join(&Self { low: p.map(|x| x - reach), high: p.map(|x| x + reach) });
    }

    fn join(&mut self, other: &Self) {
        for k in 0..3 {
            self.low[k] = self.low[k].min(other.low[k]);
            self.high[k] = self.high[k].max(other.high[k]);
        }
    }

    /// Length of its largest side, m.
    pub(crate) fn size(&self) -> f32 {
        (0..3).map(|k| self.high[k] - self.low[k]).fold(0.0, f32::max)
    }

    fn holds(&self, p: V) -> bool {
        (0..3).all(|k| self.low[k] <= p[k] && p[k] <= self.high[k])
    }
}

/// The moving solids of one frame with their places.
fn moving<'a>(
    solids: &'a [Solid],
    places: &'a [Option<Place>],
) -> impl Iterator<Item = (V, f32)> + 'a {
    let all = solids.iter().zip(places).filter(|(s, _)| s.body.is_some());
    all.filter_map(|(s, p)| Some((p.as_ref()?.at, s.form.reach())))
}

/// The region of all frames of all engines of one case. `start` is the first frame, `frames` are all of
/// them; a scene in which nothing moves, or nothing is finite, is looked at around the origin.
pub(crate) fn region(
    solids: &[Solid],
    start: &[Option<Place>],
    frames: impl Iterator<Item = Vec<Option<Place>>>,
) -> Region {
    let mut first = Region::none();
    moving(solids, start).for_each(|(p, reach)| first.take(p, reach));
    if first.is_none() {
        return Region { low: [-1.0, -1.0, 0.0], high: [1.0; 3] };
    }
    let mut seen = first;
    let mut values: [Vec<f32>; 3] = Default::default();
    for places in frames {
        values.iter_mut().for_each(Vec::clear);
        let mut reach = 0.0f32;
        for (p, r) in moving(solids, &places) {
            reach = reach.max(r);
            values.iter_mut().zip(p).for_each(|(list, x)| list.push(x));
        }
        let cut = values[0].len() / TRIM;
        if values[0].is_empty() {
            continue;
        }
        // Big bodies are few; where some are cut off, their reach should not count.
        let reach = if cut > 0 { median_reach(solids) } else { reach };
        let mut middle = Region::none();
        for (k, list) in values.iter_mut().enumerate() {
            list.sort_unstable_by(f32::total_cmp);
            middle.low[k] = list[cut] - reach;
            middle.high[k] = list[list.len() - 1 - cut] + reach;
        }
        seen.join(&middle);
    }
    let room = GROWTH * first.size();
    for k in 0..3 {
        seen.low[k] = seen.low[k].max(first.low[k] - room);
        seen.high[k] = seen.high[k].min(first.high[k] + room);
    }
    seen
}

fn median_reach(solids: &[Solid]) -> f32 {
    let moving = solids.iter().filter(|s| s.body.is_some());
    let mut list: Vec<f32> = moving.map(|s| s.form.reach()).collect();
    list.sort_unstable_by(f32::total_cmp);
    list.get(list.len() / 2).copied().unwrap_or(0.0)
}

/// Eye, axes and scale of a picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Camera {
    pub(crate) eye: V,
    pub(crate) target: V,
    pub(crate) forward: V,
    pub(crate) right: V,
    pub(crate) up: V,
}

impl Camera {
    /// The camera that holds everything of `frames` that is in `region`, in a picture of `width` to
    /// `height`; the region itself where there is nothing.
    pub(crate) fn on(
        region: &Region,
        solids: &[Solid],
        frames: impl Iterator<Item = Vec<Option<Place>>>,
        width: f32,
        height: f32,
    ) -> Self {
        let back = unit(TOWARDS);
        let forward = scale(back, -1.0);
        let right = unit(cross(forward, [0.0, 0.0, 1.0]));
        let up = cross(right, forward);
        let target = scale(add(region.low, region.high), 0.5);
        let (tan_y, tan_x) = (FILL * TAN, FILL * TAN * (width / height));
        // From how far away a ball about a point is within the picture; a little less for wide balls
        // near the edge, which the margin takes.
        let needed = |p: V, reach: f32| {
            let p = sub(p, target);
            let (x, y) = (dot(p, right).abs() + reach, dot(p, up).abs() + reach);
            (x / tan_x).max(y / tan_y) - dot(p, forward)
        };
        let mut distance = 0.0f32;
        for places in frames {
            for (p, reach) in moving(solids, &places).filter(|(p, _)| region.holds(*p)) {
                distance = distance.max(needed(p, reach));
            }
        }
        if distance <= 0.0 {
            distance = needed(region.high, 0.0).max(needed(region.low, 0.0)).max(0.1);
        }
        Self { eye: add(target, scale(back, distance)), target, forward, right, up }
    }

    /// The same camera, moved along the ground.
    pub(crate) fn moved(mut self, by: [f32; 2]) -> Self {
        let by = [by[0], by[1], 0.0];
        self.eye = add(self.eye, by);
        self.target = add(self.target, by);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solid::{Form, HERE};

    fn balls(places: &[V]) -> (Vec<Solid>, Vec<Option<Place>>) {
        let pose = |p: &V| Place::of([p[0], p[1], p[2], 1.0, 0.0, 0.0, 0.0]);
        let solid = |(i, _)| Solid { form: Form::Sphere(0.5), body: Some(i), local: HERE };
        (places.iter().enumerate().map(solid).collect(), places.iter().map(pose).collect())
    }

    #[test]
    fn the_region_follows_the_bulk_and_not_a_stray() {
        let row: Vec<V> = (0..60).map(|i| [i as f32, 0.0, 0.0]).collect();
        let (solids, start) = balls(&row);
        let mut later = start.clone();
        later[7] = Place::of([0.0, 0.0, 900.0, 1.0, 0.0, 0.0, 0.0]);
        let frames = [start.clone(), later];
        let found = region(&solids, &start, frames.into_iter());
        assert_eq!((found.low, found.high), ([-0.5; 3], [59.5, 0.5, 0.5]));
        let sunk: Vec<_> =
            row.iter().map(|p| Place::of([p[0], p[1], -9.0, 1.0, 0.0, 0.0, 0.0])).collect();
        let found = region(&solids, &start, [sunk].into_iter());
        assert_eq!(found.low[2], -9.5);
        // One that blows up moves it by a bounded amount.
        let gone: Vec<_> =
            row.iter().map(|p| Place::of([p[0], 1.0e9, p[2], 1.0, 0.0, 0.0, 0.0])).collect();
        let found = region(&solids, &start, [gone].into_iter());
        assert_eq!(found.high[1], 0.5 + 4.0 * 60.0);
        // Nothing finite, nothing moving: still a picture.
        assert_eq!(region(&solids, &[None; 60], [].into_iter()).high, [1.0; 3]);
    }

    #[test]
    fn what_leaves_together_is_followed_and_what_blows_up_is_not() {
        let at = |x: f32, apart: f32| {
            vec![[x, 0.0, 0.5, 1.0, 0.0, 0.0, 0.0], [x + apart, 1.0, 0.5, 1.0, 0.0, 0.0, 0.0]]
        };
        assert!(travels(&[at(0.0, 2.0), at(13.0, 2.0)], 3.0), "a vehicle");
        assert!(!travels(&[at(0.0, 2.0), at(11.0, 2.0)], 3.0), "still within the region");
        assert!(!travels(&[at(0.0, 2.0), at(13.0, 30.0)], 3.0), "what falls apart");
        assert!(!travels(&[at(0.0, 2.0), at(1.0e9, 2.0)], 3.0), "what blows up");
        assert!(!travels(&[at(0.0, 2.0), at(f32::NAN, 2.0)], 3.0));
        assert!(!travels(&[], 3.0));
        let mut thrown = at(4.0, 2.0);
        thrown.push([1.0e6, -1.0e6, 9.0, 1.0, 0.0, 0.0, 0.0]);
        assert_eq!(middle(&thrown), Some([6.0, 0.0]), "one that is thrown away");
        let mut frame = at(4.0, 2.0);
        assert_eq!(middle(&frame), Some([5.0, 0.5]));
        frame[1] = [f32::NAN; 7];
        assert_eq!(middle(&frame), Some([4.0, 0.0]));
        assert_eq!(middle(&[]), None);
    }

    #[test]
    fn the_camera_holds_every_body_and_one_touches_the_margin() {
        let places: Vec<V> = (0..60)
            .map(|i| [(i % 5) as f32 * 2.0, (i / 5 % 4) as f32, (i / 20) as f32 * 1.5])
            .collect();
        let (solids, start) = balls(&places);
        let region = region(&solids, &start, std::iter::empty());
        let camera = Camera::on(&region, &solids, [start].into_iter(), 640.0, 400.0);
        let mut worst = 0.0f32;
        for place in &places {
            let p = sub(*place, camera.eye);
            let depth = dot(p, camera.forward);
            assert!(depth > 0.0);
            let (x, y) = (dot(p, camera.right).abs() + 0.5, dot(p, camera.up).abs() + 0.5);
            worst = worst.max(x / depth / TAN / 1.6).max(y / depth / TAN);
        }
        assert!((worst - FILL).abs() < 1e-4, "{worst}");
        assert!(camera.eye[2] > 1.0 && camera.eye[1] < 0.0, "in front and above");
        // Without anything to hold: still a camera.
        let camera = Camera::on(&region, &[], [].into_iter(), 640.0, 400.0);
        assert!(camera.eye.iter().all(|x| x.is_finite()));
    }
}
