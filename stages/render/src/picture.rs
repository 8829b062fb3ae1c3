//! Pictures: exact ray casting of every solid inside its bounds on the screen, with a depth buffer,
//! shadows on the ground, and four rays a pixel. Only the operations that [`crate::vector`] allows,
//! so a picture has the same bits on every machine and with any number of threads.

use crate::camera::{Camera, TAN};
use crate::palette;
use crate::solid::Solid;
use crate::vector::{Place, V, add, dot, scale, sub};
use std::collections::BTreeSet;

/// Rays a pixel along each axis.
const FINE: usize = 2;
/// Towards the light; its length is one.
const SUN: V = [0.36, -0.48, 0.8];
/// Nearer than this to the eye nothing is drawn, m.
const NEAR: f32 = 1.0e-3;
/// Light without the sun, and what the sun adds.
const LIGHT: (f32, f32) = (0.42, 0.62);
/// What a shadow leaves of the ground's colour.
const SHADE: f32 = 0.62;

/// One ray's colour and depth.
#[derive(Clone, Copy)]
struct Ray {
    color: [u8; 3],
    /// On ground that looks up, where shadows fall.
    ground: bool,
    depth: f32,
}

/// Everything that does not change between the frames of a case.
pub(crate) struct Stage {
    camera: Camera,
    width: usize,
    height: usize,
    /// Rays of the empty stage, row by row, `FINE` times finer than the picture.
    empty: Vec<Ray>,
}

/// What a solid looks like from the camera.
struct Seen {
    place: Place,
    /// The eye and the axes of the camera in the solid's frame.
    eye: V,
    forward: V,
    right: V,
    up: V,
    /// Rays that can meet it: left, top, right, bottom.
    bounds: [usize; 4],
}

impl Stage {
    /// The ground and everything else that never moves. `cell` is the side of the ground's squares, m.
    pub(crate) fn new(
        camera: Camera,
        width: usize,
        height: usize,
        solids: &[Solid],
        places: &[Option<Place>],
        cell: f32,
    ) -> Self {
        let mut stage = Self { camera, width, height, empty: Vec::new() };
        let (w, h) = stage.fine();
        let (low, high) = palette::SKY;
        for y in 0..h {
            let s = (y as f32 + 0.5) / h as f32;
            let color = to_bytes(add(scale(high, 1.0 - s), scale(low, s)));
            let ray = Ray { color, ground: false, depth: f32::MAX };
            stage.empty.extend(std::iter::repeat_n(ray, w));
        }
        let mut rays = std::mem::take(&mut stage.empty);
        for (solid, place) in solids.iter().zip(places).filter(|(s, _)| s.body.is_none()) {
            let Some(place) = place else { continue };
            stage.draw(&mut rays, solid, place, &mut |point, normal| {
                let square = |x: f32| (x / cell).floor();
                let odd = (square(point[0]) + square(point[1])).rem_euclid(2.0) >= 1.0;
                let color = if odd { palette::GROUND.0 } else { palette::GROUND.1 };
                (lit(color, normal), normal[2] > 0.5)
            });
        }
        stage.empty = rays;
        stage
    }

    fn fine(&self) -> (usize, usize) {
        (self.width * FINE, self.height * FINE)
    }

    /// One frame as rows of red, green, blue, alpha; `bar` is the part of the time that has passed,
    /// drawn along the lower edge in the engine's hue. Also tells how many moving bodies were drawn: all
    /// but those whose pose is not finite, and links without a shape.
    pub(crate) fn frame(
        &self,
        solids: &[Solid],
        places: &[Option<Place>],
        style: usize,
        bar: f32,
    ) -> (Vec<u8>, usize) {
        let mut rays = self.empty.clone();
        let moving = || {
            let all = solids.iter().zip(places);
            all.filter_map(|(s, p)| Some((s.body?, s, p.as_ref()?)))
        };
        let mut drawn = BTreeSet::new();
        for (body, solid, place) in moving() {
            self.shadow(&mut rays, solid, place);
            drawn.insert(body);
        }
        for (body, solid, place) in moving() {
            let color = palette::body(style, body);
            self.draw(&mut rays, solid, place, &mut |_, normal| (lit(color, normal), false));
        }
        let mut picture = self.shrink(&rays);
        let filled = (self.width as f32 * bar + 0.5) as usize;
        let hue = to_bytes(palette::rgb_of(style));
        for row in picture.rchunks_mut(self.width * 4).take(3) {
            for pixel in row.chunks_mut(4).take(filled) {
                pixel[..3].copy_from_slice(&hue);
            }
        }
        (picture, drawn.len())
    }

    /// Averages the rays of each pixel.
    fn shrink(&self, rays: &[Ray]) -> Vec<u8> {
        let w = self.width * FINE;
        let mut out = Vec::with_capacity(self.width * self.height * 4);
        for y in 0..self.height {
            for x in 0..self.width {
                let mut sum = [0u32; 3];
                for k in 0..FINE * FINE {
                    let ray = rays[(y * FINE + k / FINE) * w + x * FINE + k % FINE];
                    for (s, c) in sum.iter_mut().zip(ray.color) {
                        *s += u32::from(c);
                    }
                }
                let n = (FINE * FINE) as u32;
                out.extend(sum.map(|s| ((s + n / 2) / n) as u8));
                out.push(255);
            }
        }
        out
    }

    /// Direction of a ray in axes of the camera: across and up for a depth of one.
    fn across(&self, x: usize, y: usize) -> (f32, f32) {
        let (w, h) = self.fine();
        let step = 2.0 * TAN / h as f32;
        ((x as f32 + 0.5 - w as f32 * 0.5) * step, (h as f32 * 0.5 - y as f32 - 0.5) * step)
    }

    fn draw(
        &self,
        rays: &mut [Ray],
        solid: &Solid,
        place: &Place,
        paint: &mut dyn FnMut(V, V) -> ([u8; 3], bool),
    ) {
        let Some(seen) = self.see(solid, place) else { return };
        let w = self.width * FINE;
        let [left, top, right, bottom] = seen.bounds;
        for y in top..bottom {
            let row = &mut rays[y * w..][..w];
            let base = add(seen.forward, scale(seen.up, self.across(0, y).1));
            for (x, ray) in row.iter_mut().enumerate().take(right).skip(left) {
                let d = add(base, scale(seen.right, self.across(x, y).0));
                let Some((depth, normal)) = solid.form.hit(seen.eye, d) else { continue };
                // Written so that what is not a number is not nearer either.
                if depth > NEAR && depth < ray.depth {
                    let point = seen.place.point(add(seen.eye, scale(d, depth)));
                    let (color, ground) = paint(point, seen.place.turn(normal));
                    *ray = Ray { color, ground, depth };
                }
            }
        }
    }

    /// Darkens the ground from which a solid hides the sun.
    fn shadow(&self, rays: &mut [Ray], solid: &Solid, place: &Place) {
        // Where its corners cast their shadows on z = 0; a solid below the ground casts none.
        let sun = SUN;
        let mut corners = corners(solid, place);
        if corners.iter().all(|p| p[2] < 0.0) {
            return;
        }
        for p in &mut corners {
            *p = sub(*p, scale(sun, p[2].max(0.0) / sun[2]));
        }
        let Some([left, top, right, bottom]) = self.bounds(&corners) else { return };
        let w = self.width * FINE;
        let d = place.turn_back(sun);
        for y in top..bottom {
            for x in left..right {
                let ray = &mut rays[y * w + x];
                if !ray.ground {
                    continue;
                }
                let (u, v) = self.across(x, y);
                let c = &self.camera;
                let towards = add(c.forward, add(scale(c.right, u), scale(c.up, v)));
                let point = add(c.eye, scale(towards, ray.depth));
                let o = place.turn_back(sub(point, place.at));
                // From the ground towards the sun, a little off the ground.
                if solid.form.hit(o, d).is_some_and(|(t, _)| t > 1.0e-4) {
                    ray.color = ray.color.map(|c| (f32::from(c) * SHADE + 0.5) as u8);
                    ray.ground = false;
                }
            }
        }
    }

    fn see(&self, solid: &Solid, place: &Place) -> Option<Seen> {
        let c = &self.camera;
        Some(Seen {
            place: *place,
            eye: place.turn_back(sub(c.eye, place.at)),
            forward: place.turn_back(c.forward),
            right: place.turn_back(c.right),
            up: place.turn_back(c.up),
            bounds: self.bounds(&corners(solid, place))?,
        })
    }

    /// The rays within the bounds of some points; all of them where a point is beside or behind the
    /// eye, none where all are.
    fn bounds(&self, points: &[V; 8]) -> Option<[usize; 4]> {
        let (w, h) = self.fine();
        let c = &self.camera;
        let pixels = h as f32 / (2.0 * TAN);
        let (mut low, mut high) = ([f32::MAX; 2], [f32::MIN; 2]);
        let mut behind = 0;
        for p in points {
            let d = sub(*p, c.eye);
            let depth = dot(d, c.forward);
            if depth < NEAR {
                behind += 1;
                continue;
            }
            let x = w as f32 * 0.5 + pixels * dot(d, c.right) / depth;
            let y = h as f32 * 0.5 - pixels * dot(d, c.up) / depth;
            for (k, v) in [x, y].into_iter().enumerate() {
                low[k] = low[k].min(v);
                high[k] = high[k].max(v);
            }
        }
        match behind {
            0 => {}
            8 => return None,
            _ => return Some([0, 0, w, h]),
        }
        // A ray stands in the middle of its square; one more on each side costs little. `as` keeps
        // numbers within the type, so what is far outside is no trouble.
        let from = |v: f32| (v - 1.0).max(0.0) as usize;
        let to = |v: f32, most: usize| ((v + 2.0).max(0.0) as usize).min(most);
        let found = [from(low[0]), from(low[1]), to(high[0], w), to(high[1], h)];
        (found[0] < found[2] && found[1] < found[3]).then_some(found)
    }
}

fn corners(solid: &Solid, place: &Place) -> [V; 8] {
    let h = solid.form.half_extents();
    std::array::from_fn(|k| {
        let side = |axis: usize| if k & (1 << axis) == 0 { -h[axis] } else { h[axis] };
        place.point([side(0), side(1), side(2)])
    })
}

fn lit(color: V, normal: V) -> [u8; 3] {
    let light = LIGHT.0 + LIGHT.1 * dot(normal, SUN).max(0.0);
    to_bytes(scale(color, light))
}

fn to_bytes(color: V) -> [u8; 3] {
    color.map(|c| (c.clamp(0.0, 1.0) * 255.0 + 0.5) as u8)
}

/// The side of the ground's squares for a region of this size: 1, 2 or 5 times a power of ten, about
/// an eighth of it, m.
pub(crate) fn cell(size: f32) -> f32 {
    let wanted = (size / 8.0).max(1.0e-4);
    let mut cell = 1.0e-4f32;
    for factor in [2.0, 2.5, 2.0].into_iter().cycle().take(60) {
        if cell * factor > wanted {
            break;
        }
        cell *= factor;
    }
    cell
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::camera::Region;
    use crate::solid::{Form, HERE};

    /// A ball of radius 1 over a floor, looked at from the usual side.
    fn scene(z: f32) -> (Stage, Vec<Solid>, Vec<Option<Place>>) {
        let floor = [0.0, 0.0, -0.5, 1.0, 0.0, 0.0, 0.0];
        let solids = vec![
            Solid { form: Form::Box([50.0, 50.0, 0.5]), body: None, local: floor },
            Solid { form: Form::Sphere(1.0), body: Some(0), local: HERE },
        ];
        let ball = Place::of([0.0, 0.0, z, 1.0, 0.0, 0.0, 0.0]);
        let places = vec![Place::of(floor), ball];
        let region = Region { low: [-3.0, -3.0, 0.0], high: [3.0, 3.0, 4.0] };
        let camera = Camera::on(&region, &[], [].into_iter(), 96.0, 60.0);
        (Stage::new(camera, 96, 60, &solids, &places, 1.0), solids, places)
    }

    fn pixels(picture: &[u8]) -> impl Iterator<Item = &[u8]> {
        picture.chunks(4)
    }

    #[test]
    fn a_body_covers_the_area_that_its_angle_says() {
        let (stage, solids, places) = scene(2.0);
        let (picture, drawn) = stage.frame(&solids, &places, 1, 0.0);
        assert_eq!((picture.len(), drawn), (96 * 60 * 4, 1));
        // Orange has more red than blue, nothing else here does; at half of it a pixel counts.
        let orange = pixels(&picture).filter(|p| p[0] > p[2].saturating_add(30)).count() as f32;
        // A ball of radius r at distance d covers pi r²/(d² - r²) of the plane at distance one
        // (seen straight on, as it nearly is here).
        let d = sub([0.0, 0.0, 2.0], stage.camera.eye);
        let area = std::f32::consts::PI / (dot(d, d) - 1.0);
        let expected = area * (60.0 / (2.0 * TAN)) * (60.0 / (2.0 * TAN));
        assert!((orange / expected - 1.0).abs() < 0.05, "{orange} {expected}");
    }

    #[test]
    fn what_stands_in_front_hides_and_the_sun_casts_a_shadow() {
        let (stage, solids, places) = scene(2.0);
        let (with, _) = stage.frame(&solids, &places, 1, 0.0);
        let (without, drawn) = stage.frame(&solids, &[places[0], None], 1, 0.0);
        assert_eq!(drawn, 0, "a body without a finite pose is not counted as drawn");
        let darker = |(a, b): &(&[u8], &[u8])| a[0] < b[0] && a[0] <= a[2];
        let shadow = pixels(&with).zip(pixels(&without)).filter(darker).count();
        assert!(shadow > 30, "{shadow}");
        // Below the floor it is hidden.
        let (stage, solids, places) = scene(-2.0);
        assert_eq!(
            stage.frame(&solids, &places, 1, 0.0).0,
            stage.frame(&solids, &[places[0], None], 1, 0.0).0
        );
    }

    #[test]
    fn the_bar_shows_the_time() {
        let (stage, solids, places) = scene(2.0);
        let (picture, _) = stage.frame(&solids, &places, 0, 0.25);
        let last: Vec<&[u8]> = pixels(&picture).skip(96 * 59).collect();
        let blue = last.iter().filter(|p| p[..3] == [0x62, 0xb3, 0xf2]).count();
        assert_eq!(blue, 24);
    }

    /// Golden: any change of a picture is meant, and stands in the changelog.
    #[test]
    fn a_picture_has_the_same_bits_everywhere() {
        let (stage, solids, places) = scene(1.5);
        let (picture, _) = stage.frame(&solids, &places, 0, 0.5);
        let digest = blake3::hash(&picture).to_hex();
        assert_eq!(&digest[..16], "c8ac16de7208d0f1");
    }

    #[test]
    fn squares_are_round_numbers() {
        for (size, expected) in [(8.1, 1.0), (20.0, 2.0), (41.0, 5.0), (0.9, 0.1)] {
            let found = cell(size);
            assert!((found / expected - 1.0f32).abs() < 1e-5, "{size}: {found}");
        }
    }
}
