"""placeholder docstring replaced below"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from svmreduce.core.jit import njit, resolve_threads
from svmreduce.core.kernels import VECTOR, KernelRows

STRIP = 256
FAR = 1e300
TAU = 1e-12


@njit(fastmath=VECTOR)
def _extremes(v, no_up, no_low, n):
    """Best row to raise and best to lower: (index, value) of the largest v with room up, the smallest with room down."""
    high, low = -np.inf, np.inf
    high_at, low_at = 0, 0
    for s in range(0, n, STRIP):
        e = min(n, s + STRIP)
        strip_high, strip_low = -FAR, FAR
        for t in range(s, e):
            strip_high = max(strip_high, v[t] - no_up[t])
            strip_low = min(strip_low, v[t] + no_low[t])
        if strip_high > high:
            high, high_at = strip_high, s
        if strip_low < low:
            low, low_at = strip_low, s
    i = _find(v, no_up, -1.0, high, high_at, min(n, high_at + STRIP))
    return i, high, low


@njit(fastmath=VECTOR)
def _find(v, barred, sign, value, start, end):
    for t in range(start, end):
        if v[t] + sign * barred[t] == value:
            return t
    return start


@njit(fastmath=VECTOR)
def _partner(row, diagonal, diagonal_i, v, no_low, v_i, gain, n):
    best, best_at = np.float32(-1), 0
    top = np.float32(v_i)
    for s in range(0, n, STRIP):
        e = min(n, s + STRIP)
        strip = np.float32(-1)
        for t in range(s, e):
            b = np.float32(max(v_i - v[t] - no_low[t], 0.0))
            a = max(diagonal_i + diagonal[t] - np.float32(2) * row[t], np.float32(TAU))
            g = b * b / a
            gain[t - s] = g
            strip = max(strip, g)
        if strip > best:
            best = strip
            for t in range(e - s):
                if gain[t] == strip:
                    best_at = s + t
                    break
    return best_at


@njit(fastmath=VECTOR)
def _step_and_extremes(row_i, row_j, step, v, no_up, no_low, n):
    high, low = -FAR, FAR
    high_at = 0
    for s in range(0, n, STRIP):
        e = min(n, s + STRIP)
        strip_high, strip_low = -FAR, FAR
        for t in range(s, e):
            u = v[t] - step * np.float64(row_i[t] - row_j[t])
            v[t] = u
            strip_high = max(strip_high, u - no_up[t])
            strip_low = min(strip_low, u + no_low[t])
        if strip_high > high:
            high, high_at = strip_high, s
        low = min(low, strip_low)
    i = _find(v, no_up, -1.0, high, high_at, min(n, high_at + STRIP))
    return i, high, low


@njit()
def _smo(K, diagonal, beta, v, lower, upper, no_up, no_low, tol, max_iter):
    """Sequential minimal optimisation on a block whose kernel values are all at hand."""
    n = beta.size
    gain = np.empty(STRIP, np.float32)
    i, high, low = _extremes(v, no_up, no_low, n)
    iterations = 0
    while high - low > tol and iterations < max_iter:
        j = _partner(K[i], diagonal, diagonal[i], v, no_low, high, gain, n)
        a = np.float64(diagonal[i]) + np.float64(diagonal[j]) - 2.0 * np.float64(K[i, j])
        step = (v[i] - v[j]) / max(a, TAU)
        step = min(step, upper[i] - beta[i], beta[j] - lower[j])
        beta[i] += step
        beta[j] -= step
        if upper[i] - beta[i] <= 0.0:
            beta[i] = upper[i]
        if beta[j] - lower[j] <= 0.0:
            beta[j] = lower[j]
        no_up[i] = 0.0 if beta[i] < upper[i] else FAR
        no_low[i] = 0.0 if beta[i] > lower[i] else FAR
        no_up[j] = 0.0 if beta[j] < upper[j] else FAR
        no_low[j] = 0.0 if beta[j] > lower[j] else FAR
        iterations += 1
        i, high, low = _step_and_extremes(K[i], K[j], step, v, no_up, no_low, n)
    return iterations, high, low


@dataclass
class SmoResult:
    beta: np.ndarray
    intercept: float
    objective: float
    gap: float
    n_iter: int
    kernel_evals: int
    converged: bool
    log: list = None


def solve(X, target, lower, upper, kernel, *, tol=1e-3, cache_mb=1024, max_iter=10_000_000, seed=0, threads=None,
          verbose=False, start=2048, far=0.5, grow=1.0, inner=0.1):
    import time
    threads = resolve_threads(threads)
    n = X.shape[0]
    rng = np.random.default_rng(seed)
    rows = KernelRows(kernel, X, np.float32)
    diag = rows.diagonal().astype(np.float32)
    beta = np.zeros(n)
    v = target.astype(np.float64).copy()
    beta_ref = np.zeros(n)  # the beta that v of far rows knows
    cap = int(min(n, np.sqrt(cache_mb * 2**20 / 4)))
    K = np.empty((cap, cap), np.float32)
    slot_row = np.full(cap, -1, np.int64)
    w = 0
    row_slot = np.full(n, -1, np.int64)
    everything = np.arange(n)
    # initial active sample
    active_mask = np.zeros(n, bool)
    perm = rng.permutation(n)
    active_mask[perm[: max(min(n, 8192), n // 8)]] = True
    stage_tol = max(tol, inner)
    T = dict(block=0., smo=0., scan=0., full=0., other=0.)
    iters = 0; evals = 0
    movable = upper > lower
    new = perm[:min(n, start, cap)]
    rounds = 0
    t00=time.perf_counter()
    b = 0.0
    while True:
        rounds += 1
        t0 = time.perf_counter()
        # place new rows
        if new.size:
            free = np.flatnonzero(slot_row[:w] < 0)
            slots = np.concatenate([free, np.arange(w, cap)])[: new.size]
            w = max(w, slots.max() + 1)
            slot_row[slots] = new
            row_slot[new] = slots
            live = np.flatnonzero(slot_row[:w] >= 0)
            buf = np.empty((new.size, live.size), np.float32)
            rows.block(new, rows, slot_row[live], buf, threads)
            evals += buf.size
            K[np.ix_(slots, live)] = buf
            K[np.ix_(live, slots)] = buf.T
        t1 = time.perf_counter(); T['block'] += t1 - t0
        live = np.flatnonzero(slot_row[:w] >= 0)
        r = slot_row[live]
        bw = np.zeros(w); vw = np.zeros(w); lw = np.zeros(w); uw = np.zeros(w); dw = np.ones(w, np.float32)
        bw[live] = beta[r]; vw[live] = v[r]; lw[live] = lower[r]; uw[live] = upper[r]; dw[live] = diag[r]
        no_up = np.where(bw < uw, 0.0, FAR); no_low = np.where(bw > lw, 0.0, FAR)
        it, high, low = _smo(K[:w, :w], dw, bw, vw, lw, uw, no_up, no_low, stage_tol * 0.9, max_iter - iters)
        iters += it
        b = (high + low) / 2
        t2 = time.perf_counter(); T['smo'] += t2 - t1
        delta = bw[live] - beta[r]
        ch = np.flatnonzero(delta)
        changed = r[ch]
        beta[changed] = bw[live][ch]
        v[r] = vw[live]
        others = np.flatnonzero(active_mask & (row_slot < 0))
        out = np.zeros((1, others.size))
        rows.add_products(others, rows, changed, delta[ch][None, :].copy(), out, threads)
        evals += others.size * changed.size
        v[others] -= out[0]
        t3 = time.perf_counter(); T['scan'] += t3 - t2
        up = (beta < upper); lowm = (beta > lower)
        viol = np.where(up, v - b, -np.inf)
        viol = np.maximum(viol, np.where(lowm, b - v, -np.inf))
        va = np.where(active_mask, viol, -np.inf)
        gmax = np.max(np.where(up & active_mask, v, -np.inf)); gmin = np.min(np.where(lowm & active_mask, v, np.inf))
        gap = gmax - gmin
        nact = active_mask.sum()
        done = False
        fullscan = False
        if gap <= stage_tol:
            # bring the far rows up to date
            farrows = np.flatnonzero(~active_mask)
            if farrows.size:
                d = beta - beta_ref
                ch2 = np.flatnonzero(d)
                out = np.zeros((1, farrows.size))
                rows.add_products(farrows, rows, ch2, d[ch2][None, :].copy(), out, threads)
                evals += farrows.size * ch2.size
                v[farrows] -= out[0]
                fullscan = True
            beta_ref = beta.copy()
            up = (beta < upper); lowm = (beta > lower)
            gmax = np.max(np.where(up, v, -np.inf)); gmin = np.min(np.where(lowm, v, np.inf))
            gap_all = gmax - gmin
            viol = np.maximum(np.where(up, v - b, -np.inf), np.where(lowm, b - v, -np.inf))
            if gap_all <= tol:
                done = True
            nstage = stage_tol
            if gap_all <= stage_tol * 1.5: nstage = max(tol, stage_tol * 0.1)
            stage_tol = nstage
            active_mask = viol > -far
            active_mask[slot_row[live]] = True
            va = np.where(active_mask, viol, -np.inf)
        t4 = time.perf_counter(); T['full'] += t4 - t3
        # choose the next rows
        cand = np.flatnonzero((va > stage_tol * 0.4) & (row_slot < 0))
        k = int(min(cand.size, max(256, grow * live.size)))
        if k < cand.size:
            cand = cand[np.argpartition(-va[cand], k)[:k]]
        room = cap - live.size
        if cand.size > room:
            # drop the least useful
            idle = live[np.argsort(viol[slot_row[live]])]
            drop = idle[: min(cand.size - room, idle.size // 2)]
            row_slot[slot_row[drop]] = -1
            slot_row[drop] = -1
            cand = cand[: room + drop.size]
        new = cand
        t5 = time.perf_counter(); T['other'] += t5 - t4
        if verbose:
            print(f'{rounds:3d} t={t5-t00:.2f} w={live.size} it={it} changed={changed.size} active={nact} gap={gap:.4f} stage={stage_tol:.4f} '
                  f'full={fullscan} {gap_all if fullscan else 0:.4f} sv={np.count_nonzero(beta)} new={new.size}', {k: round(x, 2) for k, x in T.items()})
        if done or iters >= max_iter:
            break
    f = target - v
    objective = 0.5 * (beta @ f) - beta @ target
    gap = gmax - gmin
    return SmoResult(beta, (gmax + gmin) / 2, objective, gap, iters, evals, gap <= tol)
