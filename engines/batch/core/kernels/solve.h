// The constraint solver: Newton's method on a convex cost, piecewise quadratic but for elliptic cones, with a line
// search that finds where its derivative vanishes.
#pragma once
#include "rows.h"

// Residuals of friction loss and limits at accelerations x; without references where `with` is false.
template <class F> FN void single_mul(const Model& m, const State<F>& s, Work<F>& w, Arr<F> x, Arr<F> fr, Arr<F> li, bool with) {
    for (int i = 0; i < m.nfric; i++) {
        int d = m.I[m.i_fric_dof + i];
        F v = x[d];
        fr[i] = with ? fma_(s.qvel[d], F(m.S[m.s_fric + FRIC_COUNT * i + FRIC_B]), v) : v;
    }
    for (int k = 0; k < w.nlim; k++) {
        int l = w.lim[k];
        F v = x[m.I[m.i_lim_dof + l]] * -(f32)m.I[m.i_lim_side + l];
        li[k] = with ? v + w.lc[k] : v;
    }
}

// Forces at the residuals, and the gradient.
template <class F> FN_BIG void gradient(const Model& m, const State<F>& s, Work<F>& w) {
    for (int i = 0; i < m.nv; i++) w.force[i] = F(0.0f);
    for (int i = 0; i < m.nfric; i++) {
        int d = m.I[m.i_fric_dof + i];
        F most = s.tab[m.t_floss + d], f = w.fa[i] * -m.S[m.s_fric + FRIC_COUNT * i + FRIC_D];
        w.force[d] = w.force[d] + min_(max_(f, -most), most);
    }
    for (int k = 0; k < w.nlim; k++) {
        int l = w.lim[k], d = m.I[m.i_lim_dof + l];
        F f = w.lD[k] * min_(w.la[k], F(0.0f));
        w.force[d] = fma_(f, F((f32)m.I[m.i_lim_side + l]), w.force[d]);
    }
    for (int p = 0; p < w.npoint; p++) {
        switch (m.I[m.i_pair_dim + w.pt_pair[p]]) {
            case 1: point_force<F, 1>(m, w, p, w.force); break;
            case 3: point_force<F, 3>(m, w, p, w.force); break;
            case 4: point_force<F, 4>(m, w, p, w.force); break;
            default: point_force<F, 6>(m, w, p, w.force);
        }
    }
    for (int i = 0; i < m.nv; i++) w.grad[i] = (w.Ma[i] - w.smooth[i]) - w.force[i];
}

// Whether a friction loss row is within its bounds, where it is quadratic.
template <class F> FN typename Lane<F>::Mask sticks(F x, f32 D, F most) { return lt_(abs_(x * D), most); }

template <class F> FN_BIG void hessian(const Model& m, const State<F>& s, Work<F>& w, Pattern tree, Pattern pat) {
    if (pat.cols != tree.cols)
        for (int k = 0; k < w.nfill; k++) w.H[w.fill[k]] = F(0.0f);
    tree_hessian(m, w, tree);
    for (int i = 0; i < m.nfric; i++) {
        int d = m.I[m.i_fric_dof + i];
        f32 D = m.S[m.s_fric + FRIC_COUNT * i + FRIC_D];
        F& h = w.H[tri(d) + d];
        h = h + sel_(sticks(w.fa[i], D, s.tab[m.t_floss + d]), F(D), F(0.0f));
    }
    for (int k = 0; k < w.nlim; k++) {
        int d = m.I[m.i_lim_dof + w.lim[k]];
        F& h = w.H[tri(d) + d];
        h = h + sel_(lt_(w.la[k], F(0.0f)), w.lD[k], F(0.0f));
    }
    for (int p = 0; p < w.npoint; p++) {
        if (m.I[m.i_pair_body + w.pt_pair[p]] >= 0) continue;
        switch (m.I[m.i_pair_dim + w.pt_pair[p]]) {
            case 1: point_hessian<F, 1>(m, w, p); break;
            case 3: point_hessian<F, 3>(m, w, p); break;
            case 4: point_hessian<F, 4>(m, w, p); break;
            default: point_hessian<F, 6>(m, w, p);
        }
    }
}

// First and second derivative of the cost along the search direction.
template <class F> FN_BIG void slope(const Model& m, const State<F>& s, Work<F>& w, F g0, F h0, F alpha, F& d1, F& d2) {
    F zero = F(0.0f);
    d1 = fma_(alpha, h0, g0);
    d2 = h0;
    for (int i = 0; i < m.nfric; i++) {
        F most = s.tab[m.t_floss + m.I[m.i_fric_dof + i]], v = w.fv[i];
        f32 D = m.S[m.s_fric + FRIC_COUNT * i + FRIC_D];
        F f = fma_(alpha, v, w.fa[i]) * D;
        d2 = fma_(sel_(lt_(abs_(f), most), F(D), zero), v * v, d2);
        d1 = fma_(min_(max_(f, -most), most), v, d1);
    }
    for (int k = 0; k < w.nlim; k++) {
        F v = w.lv[k], x = fma_(alpha, v, w.la[k]), Dv = w.lD[k] * v;
        d2 = fma_(sel_(lt_(x, zero), Dv, zero), v, d2);
        d1 = fma_(min_(x, zero), Dv, d1);
    }
    for (int p = 0; p < w.npoint; p++) {
        int dim = m.I[m.i_pair_dim + w.pt_pair[p]];
        Arr<F> a = w.ja.at(MOST_DIM * p), v = w.jv.at(MOST_DIM * p);
        F D = w.D[p], v0 = v[0], x0 = fma_(alpha, v0, a[0]), s1 = zero, s2 = zero;
        if (dim == 1) {
            s1 = min_(x0, zero) * v0;
            s2 = sel_(lt_(x0, zero), v0 * v0, zero);
        }
        if (dim > 1 && m.elliptic) cone_slope(dim, alpha, F(w.mu[MOST_DIM * p]), a, v, s1, s2);
        for (int k = 1; k < dim && !m.elliptic; k++) {
            F vk = v[k], xk = fma_(alpha, vk, a[k]);
            F xp = x0 + xk, xm = x0 - xk, vp = v0 + vk, vm = v0 - vk;
            s1 = fma_(min_(xp, zero), vp, fma_(min_(xm, zero), vm, s1));
            s2 = s2 + sel_(lt_(xp, zero), vp * vp, zero) + sel_(lt_(xm, zero), vm * vm, zero);
        }
        d1 = fma_(D, s1, d1);
        d2 = fma_(D, s2, d2);
    }
}

// The step along the search direction that takes the derivative to zero, by Newton's method within a bracket.
template <class F> FN F line_search(const Model& m, const State<F>& s, Work<F>& w, typename Lane<F>::Mask run, F g0, F h0, F start) {
    typedef typename Lane<F>::Mask Mask;
    F lo = F(0.0f), hi = F(0.0f), alpha = F(1.0f), best = F(1.0f);
    F enough = max_(abs_(start) * m.S[m.s_opt + OPT_LS_TOLERANCE], F(1e-30f));
    Mask bounded = Lane<F>::none(), open = run;
    for (int it = 0; it < m.ls_iterations; it++) {
        F d1, d2;
        slope(m, s, w, g0, h0, alpha, d1, d2);
        best = sel_(open, alpha, best);
        open = and_(open, lt_(enough, abs_(d1)));
        if (!any_(open)) break;
        Mask rising = lt_(F(0.0f), d1);
        hi = sel_(and_(open, rising), alpha, hi);
        bounded = or_(bounded, and_(open, rising));
        lo = sel_(and_(open, not_(rising)), alpha, lo);
        F next = alpha - d1 / d2;
        // Newton's step leaves the bracket: halve it.
        Mask out = and_(bounded, not_(and_(lt_(lo, next), lt_(next, hi))));
        next = sel_(out, (lo + hi) * 0.5f, next);
        alpha = sel_(open, next, alpha);
    }
    return best;
}

// Accelerations under constraints, from the warm start. How many iterations each world took goes to `iterations`.
template <class F> FN_BIG void newton(const Model& m, const State<F>& s, Work<F>& w, typename Lane<F>::Mask valid, const Tally<F>& t, F& iterations) {
    typedef typename Lane<F>::Mask Mask;
    Pattern tree = tree_pattern(m), pat = tree;
    F zero = F(0.0f);
    iterations = zero;
    Mask run = and_(valid, lt_(zero, t.rows + (f32)m.nfric));
    for (int i = 0; i < m.nv; i++) s.qacc[i] = m.warmstart ? sel_(run, s.warm[i], w.qacc_smooth[i]) : w.qacc_smooth[i];
    if (!any_(run)) {
        for (int i = 0; i < m.nv; i++) w.force[i] = zero;
        return;
    }
    bool coupled = false;
    for (int p = 0; p < w.npoint; p++) coupled = coupled || m.I[m.i_pair_cross + w.pt_pair[p]];
    if (coupled) {
        contact_pattern(m, w);
        pat = {w.row_adr, w.row_cols};
    }
    PHASE(PHASE_PRODUCTS);
    sym_mul(m.nv, tree, w.M, s.qacc, w.Ma);
    single_mul(m, s, w, s.qacc, w.fa, w.la, true);
    contact_mul(m, w, s.qacc, w.ja, true);
    f32 scale = m.S[m.s_opt + OPT_SCALE], tolerance = m.S[m.s_opt + OPT_TOLERANCE];
    bool current = false;  // whether forces belong to the accelerations
    for (int it = 0; it < m.iterations; it++) {
        PHASE(PHASE_GRADIENT);
        gradient(m, s, w);
        PHASE(PHASE_NEWTON);
        F norm = zero;
        for (int i = 0; i < m.nv; i++) norm = fma_(w.grad[i], w.grad[i], norm);
        run = and_(run, le_(F(tolerance), sqrt_(norm) * scale));
        current = true;
        if (!any_(run)) break;
        iterations = iterations + sel_(run, F(1.0f), zero);
        PHASE(PHASE_HESSIAN);
        hessian(m, s, w, tree, pat);
        PHASE(PHASE_FACTOR);
        factor(m.nv, pat, w.H);
        PHASE(PHASE_SOLVE);
        solve(m.nv, pat, w.H, w.grad, w.search);
        PHASE(PHASE_NEWTON);
        F start = zero, g0 = zero, h0 = zero;
        for (int i = 0; i < m.nv; i++) {
            w.search[i] = -w.search[i];
            start = fma_(w.grad[i], w.search[i], start);
        }
        PHASE(PHASE_PRODUCTS);
        sym_mul(m.nv, tree, w.M, w.search, w.Mv);
        single_mul(m, s, w, w.search, w.fv, w.lv, false);
        contact_mul(m, w, w.search, w.jv, false);
        PHASE(PHASE_NEWTON);
        for (int i = 0; i < m.nv; i++) {
            g0 = fma_(w.search[i], w.Ma[i] - w.smooth[i], g0);
            h0 = fma_(w.search[i], w.Mv[i], h0);
        }
        current = false;
        PHASE(PHASE_LINE);
        F alpha = sel_(run, line_search(m, s, w, run, g0, h0, start), zero);
        PHASE(PHASE_NEWTON);
        for (int i = 0; i < m.nv; i++) {
            s.qacc[i] = fma_(alpha, w.search[i], s.qacc[i]);
            w.Ma[i] = fma_(alpha, w.Mv[i], w.Ma[i]);
        }
        for (int i = 0; i < m.nfric; i++) w.fa[i] = fma_(alpha, w.fv[i], w.fa[i]);
        for (int k = 0; k < w.nlim; k++) w.la[k] = fma_(alpha, w.lv[k], w.la[k]);
        for (int p = 0; p < w.npoint; p++)
            for (int k = MOST_DIM * p, e = k + m.I[m.i_pair_dim + w.pt_pair[p]]; k < e; k++) w.ja[k] = fma_(alpha, w.jv[k], w.ja[k]);
        // The decrease that this step brought: below the tolerance it was the last.
        run = and_(run, le_(F(tolerance), alpha * start * (-0.5f * scale)));
        if (!any_(run)) break;
    }
    PHASE(PHASE_GRADIENT);
    if (!current) gradient(m, s, w);
    PHASE(PHASE_NEWTON);
    // A sum of nothing may be minus zero or plus zero, depending on what else was summed in the block.
    for (int i = 0; i < m.nv; i++) s.qacc[i] = s.qacc[i] + 0.0f;
}
