// The list of contact points of a block: a point is there when any of the block's worlds has it; its mask says which.
#pragma once
#include "factor.h"

// Rows and contacts that the worlds have so far, and who ran out of rows.
template <class F> struct Tally {
    typedef typename Lane<F>::Mask Mask;
    F contacts, rows, near;
    Mask overflow;
    Mask seen[KEY_BITS];  // groups of contacts, by the body that moves or by the pair
};

FN int rows_of(const Model& m, int dim) { return dim == 1 || m.elliptic ? dim : 2 * (dim - 1); }

// Adds a contact point: n points from the pair's first geom to its second, `hint` is what the first tangent follows.
template <class F>
FN void add_point(const Model& m, Work<F>& w, Tally<F>& t, int pair, typename Lane<F>::Mask mask, F dist, V3<F> pos, V3<F> n, V3<F> hint) {
    const f32* soft = m.S + m.s_pair + PAIR_COUNT * pair;
    int dim = m.I[m.i_pair_dim + pair];
    f32 rows = (f32)rows_of(m, dim);
    mask = and_(mask, lt_(dist, F(soft[SOFT_MARGIN])));
    if (!any_(mask)) return;
    auto fits = le_(t.rows + rows, F((f32)m.row_cap));
    t.overflow = or_(t.overflow, and_(mask, not_(fits)));
    mask = and_(mask, fits);
    if (!any_(mask)) return;
    if (w.npoint >= m.most_points) {  // cannot happen with the capacity the host computes
        t.overflow = or_(t.overflow, mask);
        return;
    }
    int p = w.npoint++;
    t.rows = t.rows + sel_(mask, F(rows), F(0.0f));
    t.contacts = t.contacts + sel_(mask, F(1.0f), F(0.0f));
    int body = m.I[m.i_pair_body + pair];
    int group = body >= 0 ? KEY_BITS - 1 - body % (KEY_BITS * 3 / 4) : pair % (KEY_BITS / 4);
    t.seen[group] = or_(t.seen[group], mask);
    V3<F> zero = {F(0.0f), F(0.0f), F(0.0f)};
    V3<F> t1, t2;
    n = sel3(mask, n, V3<F>{F(1.0f), F(0.0f), F(0.0f)});
    frame(n, sel3(mask, hint, zero), t1, t2);
    w.pt_pair[p] = pair;
    w.pt_mask[p] = mask;
    w.dist[p] = sel_(mask, dist, F(0.0f));
    store3(w.pos, p, sel3(mask, pos, zero));
    store3(w.axes, 3 * p, n);
    store3(w.axes, 3 * p + 1, t1);
    store3(w.axes, 3 * p + 2, t2);
    w.pt_jac[p] = w.njac;
    w.njac += dim * m.I[m.i_pair_supnum + pair];
}

// What a narrow phase is given.
template <class F> struct Ask {
    typedef typename Lane<F>::Mask Mask;
    int pair, g1, g2;
    Mask near;
    F detect;
    V3<F> p1, p2;
    M3<F> r1, r2;
    const f32 *size1, *size2;
};
