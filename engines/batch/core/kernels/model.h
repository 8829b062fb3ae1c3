// The model's tables, a block's state and the scratch memory of a step.
#pragma once
#include "spatial.h"

struct Model {
#define X(name) i32 name;
#include "fields.h"
#undef X
    const i32* I;  // integers
    const f32* S;  // constants shared by all worlds
};

// Constants at s_opt.
enum { OPT_DT, OPT_TOLERANCE, OPT_LS_TOLERANCE, OPT_INV_IMPRATIO, OPT_SCALE, OPT_COUNT };
// What a soft constraint's constants are: stiffness K, damping B, solimp's d0, dmax, width, midpoint, power, the
// coefficients of its two halves, and its margin.
enum { SOFT_K, SOFT_B, SOFT_D0, SOFT_DMAX, SOFT_WIDTH, SOFT_MID, SOFT_POWER, SOFT_LOW, SOFT_HIGH, SOFT_MARGIN, SOFT_COUNT };
// A limit: soft constants, the end of the range, the dof's inverse weight.
enum { LIM_RANGE = SOFT_COUNT, LIM_WEIGHT, LIM_COUNT };
// Friction loss: damping B and D.
enum { FRIC_B, FRIC_D, FRIC_COUNT };
// A pair: soft constants, the distance below which it is looked at, inverse weight, damping of an elliptic cone's
// tangents, friction of its own.
enum { PAIR_DETECT = SOFT_COUNT, PAIR_WEIGHT, PAIR_SLIDE_B, PAIR_FRICTION, PAIR_COUNT = PAIR_FRICTION + 5 };
// How a pair's friction comes about: the larger of the two, one geom's, or its own.
enum { MIX_MAX, MIX_FIRST, MIX_SECOND, MIX_OWN };
enum { JNT_FREE, JNT_BALL, JNT_SLIDE, JNT_HINGE };
enum { ACT_CTRL_LIMIT = 1, ACT_FORCE_LIMIT = 2, ACT_GAIN_AFFINE = 4, ACT_BIAS_AFFINE = 8 };
// What a world is told after a step.
// The key is a bit for each group of contacts that the world has: worlds with like keys do like work.
enum { INFO_CONTACTS, INFO_ROWS, INFO_ITERATIONS, INFO_FLAGS, INFO_KEY, INFO_STEPS, INFO_NEAR, INFO_COUNT };
// A contact that is kept to be read: its pair, distance, force along the normal.
enum { TOUCH_PAIR, TOUCH_DISTANCE, TOUCH_FORCE, TOUCH_COUNT };
// A float holds so many bits of a whole number.
#define KEY_BITS 24
enum { FLAG_OVERFLOW = 1, FLAG_NOT_FINITE = 2 };
// Basis directions of a contact at most: normal, two tangents, torsion, two rolling.
#define MOST_DIM 6

// A block's state; arrays of nq, nv, nu and so on.
template <class F> struct State {
    Arr<F> qpos, qvel, ctrl, warm, qacc, info;
    Arr<F> tab;    // per-world table
    Arr<F> touch;  // contacts to be read
};

template <class F> struct Work {
    typedef typename Lane<F>::Mask Mask;
    // bodies
    Arr<F> xpos, xquat, xmat, xipos, com, cinert, crb, cvel, cacc, cfrc;
    Arr<F> cdof, gpos, gmat;
    // matrices, lower triangle packed by rows
    Arr<F> M, L, H;
    Arr<F> K;  // contact stiffness of each body about its tree's centre
    // dofs
    Arr<F> bias, passive, actuator, smooth, qacc_smooth, Ma, force, grad, search, Mv, dderiv;
    // friction loss and limits
    Arr<F> fa, fv, la, lv, lD, lc;
    // contact points
    Arr<F> dist, pos, axes, J, D, mu, aref, ja, jv;
    Mask* lim_mask;
    Mask* pt_mask;
    i32* lim;       // limits in play
    i32* pt_pair;   // each point's pair
    i32* pt_jac;    // where its Jacobian begins
    i32* row_adr;   // pattern of H
    i32* row_cols;
    i32* fill;      // entries of H that are not the tree's
    i32* bits;      // scratch of the pattern
    i32* stiff;     // whether a body or one below it has contact stiffness
    i32 nlim, npoint, njac, nfill;
};

FN int tri(int i) { return i * (i + 1) / 2; }

// Hands out pieces of one allocation; with a null base it only counts.
struct Carver {
    char* base;
    long used;
    int stride;
};
template <class F> FN Arr<F> carve(Carver& c, long n) {
    Arr<F> a;
#if defined(__CUDACC__)
    a.stride = c.stride;
    a.p = (F*)c.base + c.used * c.stride;
    c.used += n;
#else
    a.p = (F*)(c.base + c.used);
    c.used += n * (long)sizeof(F);
#endif
    return a;
}

#define ROUND64(n) (((n) + 63) / 64 * 64)
#if !defined(__CUDACC__)
template <class T> FN T* carve_plain(Carver& c, long n) {
    T* p = (T*)(c.base + c.used);
    c.used += ROUND64(n * (long)sizeof(T));
    return p;
}
#endif

template <class F> FN void carve_lanes(const Model& m, Work<F>& w, Carver& c) {
    int nh = tri(m.nv);
    w.xpos = carve<F>(c, 3 * m.nbody);
    w.xquat = carve<F>(c, 4 * m.nbody);
    w.xmat = carve<F>(c, 9 * m.nbody);
    w.xipos = carve<F>(c, 3 * m.nbody);
    w.com = carve<F>(c, 4 * m.ntree);
    w.cinert = carve<F>(c, 10 * m.nbody);
    w.crb = carve<F>(c, 10 * m.nbody);
    w.cvel = carve<F>(c, 6 * m.nbody);
    w.cacc = carve<F>(c, 6 * m.nbody);
    w.cfrc = carve<F>(c, 6 * m.nbody);
    w.cdof = carve<F>(c, 6 * m.nv);
    w.gpos = carve<F>(c, 3 * m.ngeom);
    w.gmat = carve<F>(c, 9 * m.ngeom);
    w.M = carve<F>(c, nh);
    w.L = carve<F>(c, nh);
    w.H = carve<F>(c, nh);
    w.K = carve<F>(c, 21 * m.nbody);
    Arr<F>* dofs[] = {&w.bias, &w.passive, &w.actuator, &w.smooth, &w.qacc_smooth, &w.Ma, &w.force,
                      &w.grad, &w.search, &w.Mv, &w.dderiv};
    for (int k = 0; k < 11; k++) *dofs[k] = carve<F>(c, m.nv);
    w.fa = carve<F>(c, m.nfric);
    w.fv = carve<F>(c, m.nfric);
    w.la = carve<F>(c, m.nlimit);
    w.lv = carve<F>(c, m.nlimit);
    w.lD = carve<F>(c, m.nlimit);
    w.lc = carve<F>(c, m.nlimit);
    long p = m.most_points;
    w.dist = carve<F>(c, p);
    w.pos = carve<F>(c, 3 * p);
    w.axes = carve<F>(c, 9 * p);
    w.D = carve<F>(c, p);
    w.mu = carve<F>(c, MOST_DIM * p);
    w.aref = carve<F>(c, MOST_DIM * p);
    w.ja = carve<F>(c, MOST_DIM * p);
    w.jv = carve<F>(c, MOST_DIM * p);
    w.J = carve<F>(c, m.most_jac);
}

#if !defined(__CUDACC__)
template <class F> FN void carve_work(const Model& m, Work<F>& w, Carver& c) {
    carve_lanes(m, w, c);
    w.lim_mask = carve_plain<typename Lane<F>::Mask>(c, m.nlimit);
    w.pt_mask = carve_plain<typename Lane<F>::Mask>(c, m.most_points);
    w.lim = carve_plain<i32>(c, m.nlimit);
    w.pt_pair = carve_plain<i32>(c, m.most_points);
    w.pt_jac = carve_plain<i32>(c, m.most_points + 1);
    w.row_adr = carve_plain<i32>(c, m.nv + 1);
    w.row_cols = carve_plain<i32>(c, tri(m.nv));
    w.fill = carve_plain<i32>(c, tri(m.nv));
    w.stiff = carve_plain<i32>(c, m.nbody);
    w.bits = carve_plain<i32>(c, (long)m.nv * ((m.nv + 31) / 32));
}
#endif
