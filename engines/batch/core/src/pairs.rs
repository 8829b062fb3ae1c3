//! Which geoms can touch, how, and with what constants.

use crate::model::Soft;
use crate::mujoco::{Compiled, Kind};

/// Kinds of pairs in the kernels' numbers, with MuJoCo's two types and the most points.
const KINDS: [(i32, i32, usize); 13] = [
    (0, 2, 1),
    (0, 3, 2),
    (0, 4, 1),
    (0, 5, 4),
    (0, 6, 4),
    (0, 7, 4),
    (2, 2, 1),
    (2, 3, 1),
    (2, 5, 1),
    (2, 6, 1),
    (3, 3, 2),
    (3, 6, 2),
    (6, 6, 8),
];

const TYPES: [&str; 9] =
    ["plane", "height field", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh", "SDF"];

/// Whose friction holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Mix {
    Max,
    First,
    Second,
    Own([f64; 5]),
}

/// A pair of geoms that may touch.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    pub(crate) geoms: [usize; 2],
    pub(crate) kind: usize,
    pub(crate) dim: usize,
    pub(crate) mix: Mix,
    pub(crate) soft: Soft,
    pub(crate) detect: f64,
    pub(crate) weight: f64,
    /// Damping of an elliptic cone's tangents, 1/s.
    pub(crate) slide_damping: f64,
    /// Whether its cone is elliptic.
    pub(crate) elliptic: bool,
}

impl Pair {
    /// Most contact points at once.
    pub(crate) fn most_points(&self) -> usize {
        KINDS[self.kind].2
    }

    /// Rows of a point.
    pub(crate) fn rows(&self) -> usize {
        if self.dim == 1 || self.elliptic { self.dim } else { 2 * (self.dim - 1) }
    }
}

struct Geoms {
    kind: Vec<i32>,
    body: Vec<i32>,
    condim: Vec<i32>,
    priority: Vec<i32>,
    solmix: Vec<f64>,
    solref: Vec<f64>,
    solimp: Vec<f64>,
    margin: Vec<f64>,
    gap: Vec<f64>,
    invweight: Vec<f64>,
}

/// All pairs that MuJoCo would look at, by their geoms; the error names one that has no narrow phase here.
pub(crate) fn pairs(m: &Compiled) -> Result<Vec<Pair>, String> {
    if m.option("disableflags") as i32 & (1 << 4 | 1) != 0 {
        return Ok(Vec::new());
    }
    let g = Geoms {
        kind: m.ints("geom_type"),
        body: m.ints("geom_bodyid"),
        condim: m.ints("geom_condim"),
        priority: m.ints("geom_priority"),
        solmix: m.f64s("geom_solmix"),
        solref: m.f64s("geom_solref"),
        solimp: m.f64s("geom_solimp"),
        margin: m.f64s("geom_margin"),
        gap: m.f64s("geom_gap"),
        invweight: m.f64s("body_invweight0"),
    };
    let mut found = own_pairs(m, &g)?;
    let own: Vec<[usize; 2]> = found.iter().map(|p| p.geoms).collect();
    let (weld, parent) = (m.ints("body_weldid"), m.ints("body_parentid"));
    let (contype, affinity) = (m.ints("geom_contype"), m.ints("geom_conaffinity"));
    let excluded = m.ints("exclude_signature");
    let filter_parent = m.option("disableflags") as i32 >> 10 & 1 == 0;
    for a in 0..g.kind.len() {
        for b in a + 1..g.kind.len() {
            let (ba, bb) = (g.body[a] as usize, g.body[b] as usize);
            let (wa, wb) = (weld[ba], weld[bb]);
            let masks = contype[a] & affinity[b] != 0 || contype[b] & affinity[a] != 0;
            let up = |w: i32| weld[parent[w as usize] as usize];
            let family = filter_parent && wa != 0 && wb != 0 && (wa == up(wb) || wb == up(wa));
            let (low, high) = (ba.min(bb) as i32, ba.max(bb) as i32);
            let signature = (low << 16) + high;
            if wa == wb || !masks || family || excluded.contains(&signature) {
                continue;
            }
            let geoms = if g.kind[a] > g.kind[b] { [b, a] } else { [a, b] };
            if own.contains(&geoms) || own.contains(&[geoms[1], geoms[0]]) {
                continue;
            }
            found.extend(mixed(m, &g, geoms)?);
        }
    }
    found.sort_by_key(|p| p.geoms);
    Ok(found)
}

/// The kind of a pair; none where MuJoCo has nothing for it either.
fn kind(m: &Compiled, g: &Geoms, geoms: [usize; 2]) -> Result<Option<usize>, String> {
    let (a, b) = (g.kind[geoms[0]], g.kind[geoms[1]]);
    if b <= 1 && a <= 1 {
        return Ok(None);
    }
    if let Some(k) = KINDS.iter().position(|k| (k.0, k.1) == (a, b)) {
        return Ok(Some(k));
    }
    let named = |i: usize| {
        let what = TYPES.get(g.kind[i] as usize).copied().unwrap_or("unknown");
        format!("{what} {}", m.name(Kind::Geom, i))
    };
    Err(format!("contacts between {} and {}", named(geoms[0]), named(geoms[1])))
}

fn elliptic(m: &Compiled) -> bool {
    m.option("cone") != 0.0
}

fn weight(g: &Geoms, geoms: [usize; 2]) -> f64 {
    geoms.iter().map(|i| g.invweight[2 * g.body[*i] as usize]).sum()
}

fn mixed(m: &Compiled, g: &Geoms, geoms: [usize; 2]) -> Result<Option<Pair>, String> {
    let Some(kind) = kind(m, g, geoms)? else { return Ok(None) };
    let [a, b] = geoms;
    let (pa, pb) = (g.priority[a], g.priority[b]);
    let (sa, sb) = (g.solmix[a], g.solmix[b]);
    let tiny = 1e-15;
    let (share, dim, mix) = match pa.cmp(&pb) {
        std::cmp::Ordering::Greater => (1.0, g.condim[a], Mix::First),
        std::cmp::Ordering::Less => (0.0, g.condim[b], Mix::Second),
        std::cmp::Ordering::Equal => {
            let share = match (sa < tiny, sb < tiny) {
                (true, true) => 0.5,
                (true, false) => 0.0,
                (false, true) => 1.0,
                _ => sa / (sa + sb),
            };
            (share, g.condim[a].max(g.condim[b]), Mix::Max)
        }
    };
    let blend = |v: &[f64], n: usize, k: usize| share * v[n * a + k] + (1.0 - share) * v[n * b + k];
    let (ra, rb) = (&g.solref[2 * a..2 * a + 2], &g.solref[2 * b..2 * b + 2]);
    let solref = if ra[0] > 0.0 && rb[0] > 0.0 {
        [blend(&g.solref, 2, 0), blend(&g.solref, 2, 1)]
    } else {
        [ra[0].min(rb[0]), ra[1].min(rb[1])]
    };
    let solimp = std::array::from_fn(|k| blend(&g.solimp, 5, k));
    let margin = g.margin[a] + g.margin[b];
    let soft = Soft::new(m, solref, solimp, margin).map_err(|e| {
        format!("{e} of geom {} or {}", m.name(Kind::Geom, a), m.name(Kind::Geom, b))
    })?;
    let detect = margin + g.gap[a] + g.gap[b];
    let dim = dim as usize;
    Ok(Some(Pair {
        geoms,
        kind,
        dim,
        mix,
        soft,
        detect,
        weight: weight(g, geoms),
        slide_damping: soft.damping(),
        elliptic: elliptic(m),
    }))
}

/// The pairs that the model lists.
fn own_pairs(m: &Compiled, g: &Geoms) -> Result<Vec<Pair>, String> {
    let (first, second) = (m.ints("pair_geom1"), m.ints("pair_geom2"));
    let (dim, solref, solimp) = (m.ints("pair_dim"), m.f64s("pair_solref"), m.f64s("pair_solimp"));
    let sliding = m.f64s("pair_solreffriction");
    let (margin, gap) = (m.f64s("pair_margin"), m.f64s("pair_gap"));
    let (friction, adhesion) = (m.f64s("pair_friction"), m.f64s("pair_adhesion"));
    let mut found = Vec::new();
    for i in 0..first.len() {
        let (a, b) = (first[i] as usize, second[i] as usize);
        let geoms = if g.kind[a] > g.kind[b] { [b, a] } else { [a, b] };
        let names = || format!("{} and {}", m.name(Kind::Geom, a), m.name(Kind::Geom, b));
        if adhesion[i] != 0.0 {
            return Err(format!("adhesion of the pair {}", names()));
        }
        let Some(kind) = kind(m, g, geoms)? else { continue };
        let soft = Soft::new(
            m,
            [solref[2 * i], solref[2 * i + 1]],
            std::array::from_fn(|k| solimp[5 * i + k]),
            margin[i],
        )
        .map_err(|e| format!("{e} of the pair {}", names()))?;
        // A pair may damp sliding in its own way; two zeros say that it does not.
        let slide_damping = match [sliding[2 * i], sliding[2 * i + 1]] {
            [0.0, 0.0] => soft.damping(),
            solref => soft.damped(m, solref),
        };
        found.push(Pair {
            geoms,
            kind,
            dim: dim[i] as usize,
            mix: Mix::Own(std::array::from_fn(|k| friction[5 * i + k].max(1e-5))),
            soft,
            detect: margin[i] + gap[i],
            weight: weight(g, geoms),
            slide_damping,
            elliptic: elliptic(m),
        });
    }
    Ok(found)
}
