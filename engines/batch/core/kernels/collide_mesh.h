// A plane against a convex mesh: the deepest vertex, and up to three more of the face that faces the plane most.
#pragma once
#include "contact.h"

// Contacts of one world's pair.
struct Hits {
    int n;
    f32 dist[8];
    V3<f32> pos[8], n_at[8];
};

// A geom in one world.
struct Placed {
    V3<f32> at;
    M3<f32> turn;
    const f32* size;
};

FN void hit(Hits& h, f32 dist, V3<f32> pos, V3<f32> n) {
    if (h.n >= 8) return;
    h.dist[h.n] = dist;
    h.pos[h.n] = pos;
    h.n_at[h.n] = n;
    h.n++;
}

FN V3<f32> mesh_vertex(const Model& m, int v) {
    const f32* p = m.S + m.s_mesh_vert + 3 * v;
    return {p[0], p[1], p[2]};
}

// Twice the area of the quadrilateral a b c d of a face: the cross product of its diagonals.
FN f32 quad_area(const Model& m, const i32* face, int vert0, int a, int b, int c, int d) {
    V3<f32> x = cross(mesh_vertex(m, vert0 + face[a]) - mesh_vertex(m, vert0 + face[c]),
                      mesh_vertex(m, vert0 + face[b]) - mesh_vertex(m, vert0 + face[d]));
    return sqrtf(dot(x, x));
}

// Four corners of a convex face, the first fixed: the others walk along the face while the area grows.
FN int widest_quad(const Model& m, const i32* face, int vert0, int count, int first, int* q) {
    for (int k = 0; k < 4; k++) q[k] = (first + k) % count;
    if (count <= 4) return count;
    f32 area = quad_area(m, face, vert0, q[0], q[1], q[2], q[3]);
    // The last corner leads: when it cannot advance, the walk ends; after it advances, the others catch up.
    for (int round = 0; round < count; round++) {
        for (int k = 3; k > 0; k--) {
            bool moved = false;
            for (;;) {
                int was = q[k];
                q[k] = (was + 1) % count;
                f32 wider = quad_area(m, face, vert0, q[0], q[1], q[2], q[3]);
                if (wider <= area) {
                    q[k] = was;
                    break;
                }
                area = wider;
                moved = true;
                if (k == 3) break;
            }
            if (k == 3 && !moved) return 4;
        }
    }
    return 4;
}

FN_BIG void plane_mesh(const Model& m, int mesh, const Placed& plane, const Placed& g, f32 detect, Hits& h) {
    const i32* I = m.I;
    V3<f32> n = col(plane.turn, 2), local = mul_t(g.turn, n);
    int vert0 = I[m.i_mesh_vertadr + mesh], count = I[m.i_mesh_vertnum + mesh], deepest = 0;
    f32 low = 1e30f;
    for (int v = 0; v < count; v++) {
        f32 along = dot(local, mesh_vertex(m, vert0 + v));
        if (along < low) {
            low = along;
            deepest = v;
        }
    }
    V3<f32> at = g.at + mul(g.turn, mesh_vertex(m, vert0 + deepest));
    f32 dist = dot(n, at - plane.at);
    if (dist > detect) return;
    hit(h, dist, axpy(-0.5f * dist, n, at), n);
    int best = -1;
    f32 against = 1.0f;
    for (int k = 0; k < I[m.i_vert_faceadr + vert0 + deepest + 1] - I[m.i_vert_faceadr + vert0 + deepest]; k++) {
        int f = I[m.i_vert_face + I[m.i_vert_faceadr + vert0 + deepest] + k];
        const f32* p = m.S + m.s_face_normal + 3 * f;
        f32 d = dot(V3<f32>{p[0], p[1], p[2]}, local);
        if (d < against) {
            against = d;
            best = f;
        }
    }
    if (best < 0) return;
    const i32* face = I + m.i_face_vert + I[m.i_face_adr + best];
    int corners = I[m.i_face_num + best], first = 0, q[4];
    while (first < corners - 1 && face[first] != deepest) first++;
    int found = widest_quad(m, face, vert0, corners, first, q);
    for (int k = 1; k < found; k++) {
        V3<f32> p = g.at + mul(g.turn, mesh_vertex(m, vert0 + face[q[k]]));
        if (dot(n, p - g.at) > 0.0f) continue;
        f32 d = dot(n, p - plane.at);
        if (d <= detect) hit(h, d, axpy(-0.5f * d, n, p), n);
    }
}
