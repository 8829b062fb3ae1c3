// Which pairs are near, and their narrow phase.
#pragma once
#include "collide_round.h"
#include "collide_flat.h"

// Kinds of pairs, as the host numbers them.
enum {
    PLANE_SPHERE,
    PLANE_CAPSULE,
    PLANE_ELLIPSOID,
    PLANE_CYLINDER,
    PLANE_BOX,
    PLANE_MESH,
    SPHERE_SPHERE,
    SPHERE_CAPSULE,
    SPHERE_CYLINDER,
    SPHERE_BOX,
    CAPSULE_CAPSULE,
    CAPSULE_BOX,
    BOX_BOX,
};

template <class F> FN void narrow(const Model& m, Work<F>& w, Tally<F>& t, int kind, const Ask<F>& a) {
    switch (kind) {
        case PLANE_SPHERE: plane_sphere(m, w, t, a); break;
        case PLANE_CAPSULE: plane_capsule(m, w, t, a); break;
        case PLANE_ELLIPSOID: plane_ellipsoid(m, w, t, a); break;
        case PLANE_CYLINDER: plane_cylinder(m, w, t, a); break;
        case PLANE_BOX: plane_box(m, w, t, a); break;
        case SPHERE_SPHERE: sphere_sphere(m, w, t, a); break;
        case SPHERE_CAPSULE: sphere_capsule(m, w, t, a); break;
        case SPHERE_CYLINDER: sphere_cylinder(m, w, t, a); break;
        case SPHERE_BOX: sphere_box(m, w, t, a); break;
        case CAPSULE_CAPSULE: capsule_capsule(m, w, t, a); break;
        default: flat_pair(m, w, t, kind, a);
    }
}

template <class F> FN_BIG void collide(const Model& m, Work<F>& w, typename Lane<F>::Mask valid, Tally<F>& t) {
    const i32* I = m.I;
    w.npoint = 0;
    w.njac = 0;
    for (int k = 0; k < m.npair; k++) {
        Ask<F> a;
        a.pair = k;
        a.g1 = I[m.i_pair_g1 + k];
        a.g2 = I[m.i_pair_g2 + k];
        int kind = I[m.i_pair_kind + k];
        f32 detect = m.S[m.s_pair + PAIR_COUNT * k + PAIR_DETECT];
        f32 bound2 = m.S[m.s_geom_bound + a.g2] + detect;
        a.p1 = load3(w.gpos, a.g1);
        a.p2 = load3(w.gpos, a.g2);
        V3<F> d = a.p2 - a.p1;
        if (kind <= PLANE_MESH) {
            Arr<F> r = w.gmat.at(9 * a.g1);
            a.near = le_(dot(d, V3<F>{r[2], r[5], r[8]}), F(bound2));
        } else {
            f32 reach = bound2 + m.S[m.s_geom_bound + a.g1];
            a.near = le_(dot(d, d), F(reach * reach));
        }
        a.near = and_(a.near, valid);
        if (!any_(a.near)) continue;
        t.near = t.near + sel_(a.near, F(1.0f), F(0.0f));
        a.detect = F(detect);
        a.r1 = load9(w.gmat, a.g1);
        a.r2 = load9(w.gmat, a.g2);
        a.size1 = m.S + m.s_geom_size + 3 * a.g1;
        a.size2 = m.S + m.s_geom_size + 3 * a.g2;
        narrow(m, w, t, kind, a);
    }
}
