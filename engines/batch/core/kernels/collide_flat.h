// Narrow phases taken world by world: boxes and meshes, whose paths differ too much from world to world.
#pragma once
#include "collide_box.h"
#include "collide_mesh.h"

template <class F> FN V3<f32> lane3(const V3<F>& v, int l) { return {get_(v.x, l), get_(v.y, l), get_(v.z, l)}; }

template <class F> FN_BIG void flat_pair(const Model& m, Work<F>& w, Tally<F>& t, int kind, const Ask<F>& a) {
    constexpr int W = Lane<F>::W;
    Hits hits[W];
    int most = 0;
    for (int l = 0; l < W; l++) {
        hits[l].n = 0;
        if (!bit_(a.near, l)) continue;
        Placed p, q;
        p.at = lane3(a.p1, l);
        q.at = lane3(a.p2, l);
        p.turn = {lane3(a.r1.r0, l), lane3(a.r1.r1, l), lane3(a.r1.r2, l)};
        q.turn = {lane3(a.r2.r0, l), lane3(a.r2.r1, l), lane3(a.r2.r2, l)};
        p.size = a.size1;
        q.size = a.size2;
        f32 detect = get_(a.detect, l);
        if (kind == 5) plane_mesh(m, m.I[m.i_geom_mesh + a.g2], p, q, detect, hits[l]);
        else if (kind == 11) capsule_box(p, q, detect, hits[l]);
        else box_box(p, q, detect, hits[l]);
        most = hits[l].n > most ? hits[l].n : most;
    }
    for (int k = 0; k < most; k++) {
        F dist = F(1e10f), count = F(0.0f);
        V3<F> pos = no_hint<F>(), n = no_hint<F>();
        for (int l = 0; l < W; l++) {
            if (k >= hits[l].n) continue;
            set_(dist, l, hits[l].dist[k]);
            set_(pos.x, l, hits[l].pos[k].x);
            set_(pos.y, l, hits[l].pos[k].y);
            set_(pos.z, l, hits[l].pos[k].z);
            set_(n.x, l, hits[l].n_at[k].x);
            set_(n.y, l, hits[l].n_at[k].y);
            set_(n.z, l, hits[l].n_at[k].z);
            set_(count, l, 1.0f);
        }
        add_point(m, w, t, a.pair, lt_(F(0.5f), count), dist, pos, n, no_hint<F>());
    }
}
