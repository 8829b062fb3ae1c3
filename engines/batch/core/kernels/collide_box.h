// Boxes against boxes and capsules, one world at a time.
#pragma once
#include "collide_mesh.h"

FN f32 part(V3<f32> v, int k) { return k == 0 ? v.x : k == 1 ? v.y : v.z; }
FN void put(V3<f32>& v, int k, f32 x) { (k == 0 ? v.x : k == 1 ? v.y : v.z) = x; }
FN f32 clip(f32 x, f32 lo, f32 hi) { return x < lo ? lo : x > hi ? hi : x; }

// Rounding scales of float32: separation against the boxes' size, the squared sine below which edges are parallel,
// and the component below which a direction does not choose a corner.
#define BOX_SLACK 1e-6f
#define BOX_PARALLEL 1e-7f
#define BOX_UNDECIDED 1e-5f

// Keeps the part of a polygon where side * coordinate <= limit.
FN int cut(int n, V3<f32>* poly, int coordinate, f32 side, f32 limit) {
    V3<f32> kept[8];
    int count = 0;
    for (int k = 0; k < n; k++) {
        V3<f32> p = poly[k], q = poly[k + 1 == n ? 0 : k + 1];
        f32 a = side * part(p, coordinate) - limit, b = side * part(q, coordinate) - limit;
        if (a <= 0.0f && count < 8) kept[count++] = p;
        if (((a < 0.0f && b > 0.0f) || (a > 0.0f && b < 0.0f)) && count < 8) kept[count++] = axpy(a / (a - b), q - p, p);
    }
    for (int k = 0; k < count; k++) poly[k] = kept[k];
    return count;
}

// The face with axis `a` of box r meets the box o that lies beyond it: the corners of o's facing face, cut to r's.
FN_BIG void box_face(const Placed& r, const Placed& o, const M3<f32>& turn, V3<f32> centre, int a, f32 outward, f32 detect, Hits& h) {
    f32 side = part(centre, a) >= 0.0f ? 1.0f : -1.0f;
    V3<f32> row = a == 0 ? turn.r0 : a == 1 ? turn.r1 : turn.r2;
    int b = 0;
    for (int k = 1; k < 3; k++)
        if (fabsf(part(row, k)) > fabsf(part(row, b))) b = k;
    f32 facing = side * part(row, b) > 0.0f ? -1.0f : 1.0f;
    int x = (a + 1) % 3, y = (a + 2) % 3, u = (b + 1) % 3, v = (b + 2) % 3;
    // In-plane coordinates first, height above r's face last.
    V3<f32> m0 = axpy(facing * o.size[b], col(turn, b), centre), du = scale(col(turn, u), o.size[u]), dv = scale(col(turn, v), o.size[v]);
    V3<f32> c = {part(m0, x), part(m0, y), side * part(m0, a) - r.size[a]};
    V3<f32> e = {part(du, x), part(du, y), side * part(du, a)}, f = {part(dv, x), part(dv, y), side * part(dv, a)};
    V3<f32> poly[8] = {c + e + f, c - e + f, c - e - f, c + e - f};
    int n = 4;
    for (int k = 0; k < 4; k++) n = cut(n, poly, k / 2, k % 2 ? -1.0f : 1.0f, r.size[k / 2 ? y : x]);
    f32 same = 1e-10f * (r.size[x] * r.size[x] + r.size[y] * r.size[y]);
    V3<f32> normal = scale(col(r.turn, a), side * outward);
    for (int k = 0, kept = 0; k < n; k++) {
        if (poly[k].z > detect) continue;
        bool twice = false;
        for (int q = 0; q < kept && !twice; q++) {
            f32 dx = poly[q].x - poly[k].x, dy = poly[q].y - poly[k].y;
            twice = dx * dx + dy * dy < same;
        }
        if (twice) continue;
        V3<f32> at = {0, 0, 0};
        put(at, x, poly[k].x);
        put(at, y, poly[k].y);
        put(at, a, side * (r.size[a] + 0.5f * poly[k].z));
        hit(h, poly[k].z, r.at + mul(r.turn, at), normal);
        poly[kept++] = poly[k];
    }
}

// Edge i of box p against edge j of box q, along the axis that separates them; all in p's frame.
FN_BIG void box_edges(const Placed& p, const Placed& q, const M3<f32>& turn, V3<f32> centre, V3<f32> axis, int i, int j, f32 limit, Hits& h) {
    if (dot(axis, centre) < 0.0f) axis = -axis;
    V3<f32> back = mul_t(turn, axis), along = col(turn, j), w1 = {0, 0, 0}, w2 = {0, 0, 0};
    int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
    // A component near zero does not say which of two edges it is: both are tried.
    int open1 = fabsf(part(axis, i1)) < BOX_UNDECIDED ? i1 : fabsf(part(axis, i2)) < BOX_UNDECIDED ? i2 : -1;
    int open2 = fabsf(part(back, j1)) < BOX_UNDECIDED ? j1 : fabsf(part(back, j2)) < BOX_UNDECIDED ? j2 : -1;
    f32 cosine = part(along, i), sine2 = 1.0f - cosine * cosine, best = 1e30f;
    for (int k = 0; k < 4; k++) {
        if (((k & 1) && open1 < 0) || ((k & 2) && open2 < 0)) continue;
        V3<f32> c1 = {0, 0, 0}, cc = {0, 0, 0};
        put(c1, i1, part(axis, i1) >= 0.0f ? p.size[i1] : -p.size[i1]);
        put(c1, i2, part(axis, i2) >= 0.0f ? p.size[i2] : -p.size[i2]);
        put(cc, j1, part(back, j1) >= 0.0f ? -q.size[j1] : q.size[j1]);
        put(cc, j2, part(back, j2) >= 0.0f ? -q.size[j2] : q.size[j2]);
        if (k & 1) put(c1, open1, -part(c1, open1));
        if (k & 2) put(cc, open2, -part(cc, open2));
        V3<f32> c2 = mul(turn, cc) + centre, gap = c2 - c1;
        f32 g1 = part(gap, i), g2 = dot(along, gap);
        f32 s = sine2 >= TINY ? (g1 - cosine * g2) / sine2 : 0.0f;
        s = clip(s, -p.size[i], p.size[i]);
        f32 t = clip(cosine * s - g2, -q.size[j], q.size[j]);
        s = clip(g1 + cosine * t, -p.size[i], p.size[i]);
        V3<f32> a = c1, b = axpy(t, along, c2);
        put(a, i, s);
        gap = b - a;
        if (dot(gap, gap) < best) {
            best = dot(gap, gap);
            w1 = a;
            w2 = b;
        }
    }
    f32 dist = dot(w2 - w1, axis);
    if (dist > limit) return;
    hit(h, dist, p.at + mul(p.turn, scale(w1 + w2, 0.5f)), mul(p.turn, axis));
}

// The axis that separates the boxes most, faces before edges; then the contact that belongs to it.
FN_BIG void box_box(const Placed& p, const Placed& q, f32 detect, Hits& h) {
    V3<f32> c12 = mul_t(p.turn, q.at - p.at), c21 = mul_t(q.turn, p.at - q.at);
    M3<f32> t = {mul_t(q.turn, col(p.turn, 0)), mul_t(q.turn, col(p.turn, 1)), mul_t(q.turn, col(p.turn, 2))};  // p' q
    M3<f32> tt = {col(t, 0), col(t, 1), col(t, 2)};
    f32 limit = detect + BOX_SLACK * (p.size[0] + p.size[1] + p.size[2] + q.size[0] + q.size[1] + q.size[2]);
    f32 best = -1e30f;
    int face = -1, ei = -1, ej = -1;
    for (int k = 0; k < 6; k++) {
        const M3<f32>& r = k < 3 ? t : tt;
        const f32 *own = k < 3 ? p.size : q.size, *other = k < 3 ? q.size : p.size;
        int a = k % 3;
        V3<f32> row = a == 0 ? r.r0 : a == 1 ? r.r1 : r.r2;
        f32 reach = fabsf(row.x) * other[0] + fabsf(row.y) * other[1] + fabsf(row.z) * other[2];
        f32 gap = fabsf(part(k < 3 ? c12 : c21, a)) - own[a] - reach;
        if (gap > limit) return;
        if (gap > best) {
            best = gap;
            face = k;
        }
    }
    f32 of_face = best;
    V3<f32> axis = {0, 0, 0};
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
            V3<f32> d = {0, 0, 0}, qj = col(t, j);
            put(d, i1, -part(qj, i2));
            put(d, i2, part(qj, i1));
            f32 sine2 = dot(d, d);
            if (sine2 < BOX_PARALLEL) continue;
            d = scale(d, 1.0f / sqrtf(sine2));
            V3<f32> back = mul_t(t, d);
            f32 reach = p.size[i1] * fabsf(part(d, i1)) + p.size[i2] * fabsf(part(d, i2)) + q.size[j1] * fabsf(part(back, j1)) + q.size[j2] * fabsf(part(back, j2));
            f32 gap = fabsf(dot(d, c12)) - reach;
            if (gap > limit) return;
            if (gap - 1e-6f * fabsf(gap) > best && gap > of_face) {
                best = gap;
                ei = i;
                ej = j;
                axis = d;
            }
        }
    }
    if (ei >= 0) {
        // An edge axis along the best face's normal gives way to the face, which holds at several points.
        V3<f32> normal = face == 0 ? V3<f32>{1, 0, 0} : face == 1 ? V3<f32>{0, 1, 0} : face == 2 ? V3<f32>{0, 0, 1} : col(t, face - 3);
        bool yields = fabsf(dot(axis, normal)) > 0.99f && best < of_face + 0.05f * fabsf(of_face) + TINY;
        if (!yields) {
            box_edges(p, q, t, c12, axis, ei, ej, limit, h);
            return;
        }
    }
    if (face < 3) box_face(p, q, t, c12, face, 1.0f, detect, h);
    else box_face(q, p, tt, c21, face - 3, -1.0f, detect, h);
}

// A sphere against a box, as the whole-block routine does it.
FN void ball_box(V3<f32> at, f32 r, const Placed& box, f32 detect, Hits& h) {
    V3<f32> c = mul_t(box.turn, at - box.at), near, n, pos;
    for (int k = 0; k < 3; k++) put(near, k, clip(part(c, k), -box.size[k], box.size[k]));
    V3<f32> d = near - c;
    f32 length = sqrtf(dot(d, d)), dist;
    if (length > TINY) {
        n = scale(d, 1.0f / length);
        dist = length - r;
        pos = axpy(r * 0.5f, n, scale(near + c, 0.5f));
    } else {
        f32 best = (box.size[0] + box.size[1] + box.size[2]) * 2.0f;
        n = {0, 0, 0};
        for (int k = 0; k < 6; k++) {
            f32 sign = k % 2 ? 1.0f : -1.0f, gap = fabsf(sign * box.size[k / 2] - part(c, k / 2));
            if (gap >= best) continue;
            best = gap;
            n = {0, 0, 0};
            put(n, k / 2, -sign);
        }
        dist = -best - r;
        pos = axpy((r - best) * 0.5f, n, c);
    }
    if (dist <= detect) hit(h, dist, box.at + mul(box.turn, pos), mul(box.turn, n));
}

// Where the segment centre + x * half, |x| <= 1, is nearest to the box.
struct Nearest {
    f32 x;       // on the segment
    f32 on_box;  // on the edge, -1 to 1
    int kind;    // 0: an end over a face; 1: an edge's inside; 2: a corner
    int face;    // axis of that face, -1 where the end is inside the box
    int corner, edge;
};

FN Nearest nearest_on_box(V3<f32> centre, V3<f32> half, f32 length, const f32* size) {
    Nearest r = {0, 0, -1, -1, 0, 0};
    f32 best = 1e30f;
    for (int s = -1; s <= 1; s += 2) {
        V3<f32> end = axpy((f32)s, half, centre), on = end;
        int out = 0, axis = -1;
        for (int k = 0; k < 3; k++) {
            if (fabsf(part(end, k)) <= size[k]) continue;
            put(on, k, part(end, k) < 0.0f ? -size[k] : size[k]);
            out++;
            axis = k;
        }
        V3<f32> d = on - end;
        if (out > 1 || dot(d, d) >= best) continue;
        best = dot(d, d);
        r = {(f32)s, 0, 0, axis, 0, 0};
    }
    for (int corner = 0; corner < 8; corner++) {
        for (int j = 0; j < 3; j++) {
            if (corner >> j & 1) continue;
            V3<f32> at = {corner & 1 ? size[0] : -size[0], corner & 2 ? size[1] : -size[1], corner & 4 ? size[2] : -size[2]};
            put(at, j, 0.0f);
            V3<f32> d = at - centre;
            f32 u = -size[j] * part(d, j), v = dot(half, d), aa = size[j] * size[j], ab = -size[j] * part(half, j), bb = length * length;
            f32 det = aa * bb - ab * ab;
            if (fabsf(det) < TINY) continue;
            f32 e = (bb * u - ab * v) / det, x = (aa * v - ab * u) / det;
            if (fabsf(e) > 1.0f) {
                e = e < 0.0f ? -1.0f : 1.0f;
                x = (v - ab * e) / bb;
            }
            if (fabsf(x) > 1.0f) {
                x = x < 0.0f ? -1.0f : 1.0f;
                e = clip((u - ab * x) / aa, -1.0f, 1.0f);
            }
            d = axpy(-x, half, d);
            put(d, j, part(d, j) + size[j] * e);
            if (dot(d, d) >= best - TINY) continue;
            best = dot(d, d);
            r = {x, e, fabsf(e) < 1.0f ? 1 : 2, -1, corner + (e >= 1.0f ? 1 << j : 0), j};
        }
    }
    return r;
}

#define NO_SECOND 1e30f
// How far from the nearest point along the segment, in its half lengths, a second point is worth having. It may be
// the same point again, as in MuJoCo.
FN f32 second_point(const Nearest& near, V3<f32> centre, V3<f32> half, f32 length, const f32* size) {
    int towards = (half.x > 0.0f ? 1 : 0) + (half.y > 0.0f ? 2 : 0) + (half.z > 0.0f ? 4 : 0);
    if (near.kind == 0) {
        if (near.face < 0) return NO_SECOND;
        // From the nearest end to where the segment leaves the face.
        f32 way = near.x < 0.0f ? 1.0f : -1.0f, reach = 2.0f;
        V3<f32> end = axpy(-way, half, centre);
        for (int k = 0; k < 3; k++) {
            if (k == near.face || part(half, k) == 0.0f) continue;
            for (int s = -1; s <= 1; s += 2) {
                f32 e = (s * size[k] - part(end, k)) / part(half, k) * way;
                if (e > 0.0f && e < reach) reach = e;
            }
        }
        return reach * way;
    }
    int differ = towards ^ near.corner;
    f32 big = 1e30f;
    if (near.kind == 2) {
        if (differ == 0 || differ == 7) return NO_SECOND;
        f32 way = differ == 1 || differ == 2 || differ == 4 ? 1.0f : -1.0f;
        if (way < 0.0f) differ = 7 - differ;
        int a = differ >> 1, b = (a + 1) % 3, c = (a + 2) % 3;
        f32 ha = fabsf(part(half, a)), hb = fabsf(part(half, b)), hc = fabsf(part(half, c));
        if (ha * ha > 0.5f * length * length) {  // along the edge
            f32 reach = 1.0f - way * near.x, most = 2.0f * size[a] / ha;
            return (most < reach ? most : reach) * way;
        }
        f32 reach = 1.0f + way * near.x;  // across a face
        f32 mb = hb > 0.0f ? 2.0f * size[b] / hb : big, mc = hc > 0.0f ? 2.0f * size[c] / hc : big;
        if (mb < reach) reach = mb;
        if (mc < reach) reach = mc;
        return -reach * way;
    }
    differ &= 7 - (1 << near.edge);
    if (differ != 1 && differ != 2 && differ != 4) return NO_SECOND;
    int a = near.edge, b = (a + 1) % 3, c = (a + 2) % 3;
    if (fabsf(part(half, b)) > fabsf(part(half, c))) b = c;
    c = 3 - a - b;
    bool up = differ >> c & 1;
    f32 way = up ? 1.0f : -1.0f, reach = 1.0f - way * near.x;
    f32 hc = fabsf(part(half, c)), ha = fabsf(part(half, a));
    f32 most = hc > 0.0f ? 2.0f * size[c] / hc : big;
    if (most < reach) reach = most;
    f32 left = ((towards >> a & 1) != 0) == up ? 1.0f - near.on_box : 1.0f + near.on_box;
    most = ha > 0.0f ? size[a] * left / ha : big;
    if (most < reach) reach = most;
    return reach * way;
}

FN_BIG void capsule_box(const Placed& c, const Placed& box, f32 detect, Hits& h) {
    f32 length = c.size[1];
    V3<f32> centre = mul_t(box.turn, c.at - box.at), half = scale(mul_t(box.turn, col(c.turn, 2)), length);
    Nearest near = nearest_on_box(centre, half, length, box.size);
    if (near.kind < 0) return;
    f32 second = second_point(near, centre, half, length, box.size);
    V3<f32> axis = scale(col(c.turn, 2), length);
    ball_box(axpy(near.x, axis, c.at), c.size[0], box, detect, h);
    if (second != NO_SECOND) ball_box(axpy(near.x + second, axis, c.at), c.size[0], box, detect, h);
}
