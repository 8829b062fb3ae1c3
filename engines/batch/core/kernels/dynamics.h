// Smooth dynamics: mass matrix, bias, passive and actuator forces.
#pragma once
#include "kinematics.h"

// Velocities, and the bias forces by recursive Newton-Euler.
template <class F> FN_BIG void bias_forces(const Model& m, const State<F>& s, Work<F>& w) {
    const i32* I = m.I;
    F zero = F(0.0f);
    V3<F> g = load3(s.tab.at(m.t_gravity), 0);
    store6(w.cvel, 0, {{zero, zero, zero}, {zero, zero, zero}});
    store6(w.cacc, 0, {{zero, zero, zero}, -g});
    for (int b = 1; b < m.nbody; b++) {
        int up = I[m.i_body_parent + b];
        Motion<F> vel = load6(w.cvel, up), acc = load6(w.cacc, up);
        for (int j = I[m.i_body_jntadr + b], e = j + I[m.i_body_jntnum + b]; j < e; j++) {
            int dof = I[m.i_jnt_dof + j], type = I[m.i_jnt_type + j], n = 1;
            if (type == JNT_FREE) {
                for (int k = 0; k < 3; k++, dof++) vel = axpy(s.qvel[dof], load6(w.cdof, dof), vel);
                n = 3;
            }
            if (type == JNT_BALL) n = 3;
            // The axes of one joint are carried along with the velocity before it.
            Motion<F> before = vel;
            for (int k = 0; k < n; k++, dof++) {
                Motion<F> axis = load6(w.cdof, dof);
                acc = axpy(s.qvel[dof], cross_motion(before, axis), acc);
                vel = axpy(s.qvel[dof], axis, vel);
            }
        }
        store6(w.cvel, b, vel);
        store6(w.cacc, b, acc);
        Arr<F> in = w.cinert.at(10 * b);
        store6(w.cfrc, b, inertia_mul(in, acc) + cross_force(vel, inertia_mul(in, vel)));
    }
    for (int b = m.nbody - 1; b > 0; b--) {
        Motion<F> f = load6(w.cfrc, b);
        for (int d = I[m.i_body_dofadr + b], e = d + I[m.i_body_dofnum + b]; d < e; d++) w.bias[d] = dot(load6(w.cdof, d), f);
        int up = I[m.i_body_parent + b];
        if (up > 0) store6(w.cfrc, up, load6(w.cfrc, up) + f);
    }
}

// Joint-space mass matrix from composite inertias.
template <class F> FN_BIG void mass_matrix(const Model& m, const State<F>& s, Work<F>& w) {
    const i32* I = m.I;
    for (int k = 0; k < 10 * m.nbody; k++) w.crb[k] = w.cinert[k];
    for (int b = m.nbody - 1; b > 0; b--) {
        int up = I[m.i_body_parent + b];
        if (up > 0)
            for (int k = 0; k < 10; k++) w.crb[10 * up + k] = w.crb[10 * up + k] + w.crb[10 * b + k];
    }
    const i32* adr = I + m.i_row_adr;
    const i32* cols = I + m.i_row_cols;
    for (int i = 0; i < m.nv; i++) {
        Motion<F> axis = load6(w.cdof, i);
        Motion<F> f = inertia_mul(w.crb.at(10 * I[m.i_dof_body + i]), axis);
        Arr<F> row = w.M.at(tri(i));
        for (int k = adr[i]; k < adr[i + 1]; k++) row[cols[k]] = dot(load6(w.cdof, cols[k]), f);
        row[i] = dot(axis, f) + s.tab[m.t_armature + i];
    }
}

// Springs and dampers.
template <class F> FN void passive_forces(const Model& m, const State<F>& s, Work<F>& w) {
    for (int i = 0; i < m.nv; i++) w.passive[i] = -(s.tab[m.t_damping + i] * s.qvel[i]);
    for (int j = 0; j < m.njnt; j++) {
        f32 k = m.S[m.s_stiffness + j];
        if (k == 0.0f) continue;
        int d = m.I[m.i_jnt_dof + j], q = m.I[m.i_jnt_qpos + j];
        w.passive[d] = fma_(F(-k), s.qpos[q] - m.S[m.s_springref + q], w.passive[d]);
    }
}

// Forces of motors and servos on joints; dderiv is what they and damping take off a dof's force a unit of velocity.
template <class F> FN void actuator_forces(const Model& m, const State<F>& s, Work<F>& w) {
    for (int i = 0; i < m.nv; i++) {
        w.actuator[i] = F(0.0f);
        w.dderiv[i] = s.tab[m.t_damping + i];
    }
    for (int a = 0; a < m.nu; a++) {
        int flags = m.I[m.i_act_flags + a], d = m.I[m.i_act_dof + a], q = m.I[m.i_act_qpos + a];
        f32 gear = m.S[m.s_act_gear + a];
        const f32* limit = m.S + m.s_act_ctrl + 2 * a;
        F u = s.ctrl[a];
        if (flags & ACT_CTRL_LIMIT) u = min_(max_(u, F(limit[0])), F(limit[1]));
        F length = s.qpos[q] * gear, speed = s.qvel[d] * gear;
        Arr<F> gain = s.tab.at(m.t_gain + 3 * a), bias = s.tab.at(m.t_bias + 3 * a);
        F k = gain[0], slope = F(0.0f);
        if (flags & ACT_GAIN_AFFINE) {
            k = fma_(gain[2], speed, fma_(gain[1], length, k));
            slope = gain[2] * u;
        }
        F force = k * u;
        if (flags & ACT_BIAS_AFFINE) {
            force = force + fma_(bias[2], speed, fma_(bias[1], length, bias[0]));
            slope = slope + bias[2];
        }
        if (flags & ACT_FORCE_LIMIT) {
            limit = m.S + m.s_act_force + 2 * a;
            auto inside = and_(lt_(F(limit[0]), force), lt_(force, F(limit[1])));
            slope = sel_(inside, slope, F(0.0f));
            force = min_(max_(force, F(limit[0])), F(limit[1]));
        }
        w.actuator[d] = fma_(force, F(gear), w.actuator[d]);
        w.dderiv[d] = w.dderiv[d] - slope * (gear * gear);
    }
    for (int i = 0; i < m.nv; i++) {
        const f32* limit = m.S + m.s_dof_actfrc + 2 * i;
        if (limit[0] < limit[1]) w.actuator[i] = min_(max_(w.actuator[i], F(limit[0])), F(limit[1]));
    }
}

template <class F> FN_BIG void smooth_forces(const Model& m, const State<F>& s, Work<F>& w) {
    passive_forces(m, s, w);
    actuator_forces(m, s, w);
    for (int i = 0; i < m.nv; i++) w.smooth[i] = (w.passive[i] - w.bias[i]) + w.actuator[i];
}
