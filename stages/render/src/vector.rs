//! Vectors of three binary32 numbers and rotations. Only `+ - * /` and square roots, which IEEE 754
//! rounds the same everywhere, and no fused operation: the bits are the same on every machine.

/// A vector or a colour.
pub(crate) type V = [f32; 3];

pub(crate) fn add(a: V, b: V) -> V {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

pub(crate) fn sub(a: V, b: V) -> V {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

pub(crate) fn scale(a: V, s: f32) -> V {
    [a[0] * s, a[1] * s, a[2] * s]
}

pub(crate) fn dot(a: V, b: V) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

pub(crate) fn cross(a: V, b: V) -> V {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

pub(crate) fn unit(a: V) -> V {
    scale(a, 1.0 / dot(a, a).sqrt())
}

/// Position and rotation of a body: the rows of the matrix that takes its frame to the world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Place {
    pub(crate) at: V,
    rows: [V; 3],
}

impl Place {
    /// From position and quaternion w, x, y, z, as a capture holds them; `None` where a number is not
    /// finite or the quaternion has no direction.
    pub(crate) fn of([x, y, z, qw, qx, qy, qz]: [f32; 7]) -> Option<Self> {
        let norm = qw * qw + qx * qx + qy * qy + qz * qz;
        if ![x, y, z, norm].iter().all(|v| v.is_finite()) || norm < 1.0e-12 {
            return None;
        }
        let s = 2.0 / norm;
        let rows = [
            [1.0 - s * (qy * qy + qz * qz), s * (qx * qy - qw * qz), s * (qx * qz + qw * qy)],
            [s * (qx * qy + qw * qz), 1.0 - s * (qx * qx + qz * qz), s * (qy * qz - qw * qx)],
            [s * (qx * qz - qw * qy), s * (qy * qz + qw * qx), 1.0 - s * (qx * qx + qy * qy)],
        ];
        Some(Self { at: [x, y, z], rows })
    }

    /// The same place seen from elsewhere on the ground.
    pub(crate) fn seen_from(mut self, [x, y]: [f32; 2]) -> Self {
        self.at = [self.at[0] - x, self.at[1] - y, self.at[2]];
        self
    }

    /// The place in the world of what has the place `local` in this one's frame.
    pub(crate) fn then(&self, local: &Self) -> Self {
        let column = |k: usize| self.turn([local.rows[0][k], local.rows[1][k], local.rows[2][k]]);
        let [a, b, c] = [column(0), column(1), column(2)];
        let rows = [[a[0], b[0], c[0]], [a[1], b[1], c[1]], [a[2], b[2], c[2]]];
        Self { at: self.point(local.at), rows }
    }

    /// A vector of the body's frame in the world.
    pub(crate) fn turn(&self, v: V) -> V {
        [dot(self.rows[0], v), dot(self.rows[1], v), dot(self.rows[2], v)]
    }

    /// A world vector in the body's frame.
    pub(crate) fn turn_back(&self, v: V) -> V {
        let [a, b, c] = self.rows;
        add(add(scale(a, v[0]), scale(b, v[1])), scale(c, v[2]))
    }

    /// A point of the body's frame in the world.
    pub(crate) fn point(&self, p: V) -> V {
        add(self.at, self.turn(p))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quarter_turn_about_z_takes_x_to_y_and_back() {
        let half = 0.5f32.sqrt();
        // Twice the length: a quaternion means its direction.
        let place = Place::of([1.0, 2.0, 3.0, 2.0 * half, 0.0, 0.0, 2.0 * half]).unwrap();
        let near = |a: V, b: V| assert!(dot(sub(a, b), sub(a, b)) < 1e-12, "{a:?} {b:?}");
        near(place.turn([1.0, 0.0, 0.0]), [0.0, 1.0, 0.0]);
        near(place.turn_back([0.0, 1.0, 0.0]), [1.0, 0.0, 0.0]);
        near(place.point([1.0, 0.0, 0.5]), [1.0, 3.0, 3.5]);
        // Half a turn is twice a quarter.
        let twice = place.then(&place);
        near(twice.turn([1.0, 0.0, 0.0]), [-1.0, 0.0, 0.0]);
        near(twice.point([0.0; 3]), place.point([1.0, 2.0, 3.0]));
        assert_eq!(Place::of([f32::NAN, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]), None);
        assert_eq!(Place::of([0.0; 7]), None);
    }
}
