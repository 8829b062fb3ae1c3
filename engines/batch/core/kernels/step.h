// One step of a block of worlds.
#pragma once
#include "collide.h"
#include "solve.h"

// Positions from velocities, qvel being the new one.
template <class F> FN_BIG void advance(const Model& m, const State<F>& s) {
    const i32* I = m.I;
    f32 h = m.S[m.s_opt + OPT_DT];
    for (int j = 0; j < m.njnt; j++) {
        int type = I[m.i_jnt_type + j], q = I[m.i_jnt_qpos + j], d = I[m.i_jnt_dof + j];
        if (type == JNT_SLIDE || type == JNT_HINGE) {
            s.qpos[q] = fma_(s.qvel[d], F(h), s.qpos[q]);
            continue;
        }
        if (type == JNT_FREE) {
            for (int k = 0; k < 3; k++) s.qpos[q + k] = fma_(s.qvel[d + k], F(h), s.qpos[q + k]);
            q += 3;
            d += 3;
        }
        F length;
        V3<F> axis = unit(V3<F>{s.qvel[d], s.qvel[d + 1], s.qvel[d + 2]}, length);
        F sn, cs;
        sincos_(length * (0.5f * h), sn, cs);
        Quat<F> was = unit(Quat<F>{s.qpos[q], s.qpos[q + 1], s.qpos[q + 2], s.qpos[q + 3]});
        Quat<F> now = unit(mul(was, Quat<F>{cs, axis.x * sn, axis.y * sn, axis.z * sn}));
        s.qpos[q] = now.w;
        s.qpos[q + 1] = now.x;
        s.qpos[q + 2] = now.y;
        s.qpos[q + 3] = now.z;
    }
}

// New velocities and positions. Damping (and, of implicitfast, the servos' velocity terms) are taken at the new ones.
template <class F> FN_BIG void integrate(const Model& m, const State<F>& s, Work<F>& w) {
    f32 h = m.S[m.s_opt + OPT_DT];
    Arr<F> acc = s.qacc;
    if (m.implicit || m.damped) {
        Pattern tree = tree_pattern(m);
        for (int i = 0; i < m.nv; i++) {
            Arr<F> to = w.H.at(tri(i)), from = w.M.at(tri(i));
            for (int a = tree.adr[i]; a < tree.adr[i + 1]; a++) to[tree.cols[a]] = from[tree.cols[a]];
            F lost = m.implicit ? w.dderiv[i] : s.tab[m.t_damping + i];
            to[i] = fma_(lost, F(h), from[i]);
            w.Mv[i] = w.smooth[i] + w.force[i];
        }
        factor(m.nv, tree, w.H);
        solve(m.nv, tree, w.H, w.Mv, w.search);
        acc = w.search;
    }
    for (int i = 0; i < m.nv; i++) {
        s.warm[i] = s.qacc[i];
        s.qvel[i] = fma_(acc[i], F(h), s.qvel[i]);
    }
    advance(m, s);
}

// Everything up to the accelerations.
template <class F> FN void forward(const Model& m, const State<F>& s, Work<F>& w, typename Lane<F>::Mask valid, Tally<F>& t) {
    Pattern tree = tree_pattern(m);
    t.contacts = F(0.0f);
    t.rows = F(0.0f);
    t.overflow = Lane<F>::none();
    kinematics(m, s, w);
    bias_forces(m, s, w);
    mass_matrix(m, s, w);
    smooth_forces(m, s, w);
    for (int i = 0; i < m.nv; i++) {
        Arr<F> to = w.L.at(tri(i)), from = w.M.at(tri(i));
        for (int a = tree.adr[i]; a < tree.adr[i + 1]; a++) to[tree.cols[a]] = from[tree.cols[a]];
        to[i] = from[i];
    }
    factor(m.nv, tree, w.L);
    solve(m.nv, tree, w.L, w.smooth, w.qacc_smooth);
    collide(m, w, valid, t);
    limit_rows(m, s, w, valid, t);
    contact_rows(m, s, w);
    F iterations;
    newton(m, s, w, valid, t, iterations);
    s.info[INFO_CONTACTS] = t.contacts;
    s.info[INFO_ROWS] = t.rows + (f32)m.nfric;
    s.info[INFO_ITERATIONS] = iterations;
}

template <class F> FN void step_block(const Model& m, const State<F>& s, Work<F>& w, typename Lane<F>::Mask valid) {
    Tally<F> t;
    forward(m, s, w, valid, t);
    integrate(m, s, w);
    auto fine = Lane<F>::all();
    for (int i = 0; i < m.nq; i++) fine = and_(fine, lt_(abs_(s.qpos[i]), F(1e10f)));
    for (int i = 0; i < m.nv; i++) fine = and_(fine, and_(lt_(abs_(s.qvel[i]), F(1e10f)), lt_(abs_(s.qacc[i]), F(1e10f))));
    // Flags stay until the state is set anew. They are small whole numbers in a float.
    F was = s.info[INFO_FLAGS];
    auto broken = lt_(F(1.5f), was);
    auto over = or_(t.overflow, lt_(F(0.5f), was - sel_(broken, F(2.0f), F(0.0f))));
    broken = or_(broken, not_(fine));
    s.info[INFO_FLAGS] = sel_(over, F((f32)FLAG_OVERFLOW), F(0.0f)) + sel_(broken, F((f32)FLAG_NOT_FINITE), F(0.0f));
}
