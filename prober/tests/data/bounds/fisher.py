"""Writes fisher.csv: p-values of Fisher's exact test, by other means than the Rust code uses.

Ratios of sums of whole binomial coefficients for up to eleven thousand trials; beyond, mpmath's ln Gamma with
50 digits. SciPy's fisher_exact has to agree. The first cases are published ones.

    python3 -m venv venv && venv/bin/pip install scipy==1.17.1 mpmath==1.4.1
    venv/bin/python fisher.py > fisher.csv
"""

from fractions import Fraction
from math import comb

from mpmath import mp, mpf
from scipy.stats import fisher_exact

mp.dps = 50

# p-values as printed, and where: hits and trials here, hits and trials there.
PUBLISHED = [
    # Fisher's tea taster (Agresti, 1990, p. 61), as in the examples of R's fisher.test.
    ((3, 4, 1, 4), 0.2429),
    # Fisher's convicts (1962), monozygotic twins of criminals and dizygotic ones, from the same place.
    ((10, 13, 2, 17), 0.0004652),
]

CASES = [case for case, _ in PUBLISHED] + [
    (0, 0, 0, 0), (0, 0, 3, 5), (3, 5, 0, 0), (0, 5, 0, 5), (5, 5, 5, 5), (0, 1, 1, 1), (1, 1, 0, 1),
    (4, 4, 0, 4), (0, 4, 4, 4), (2, 10, 2, 10), (5, 10, 2, 20), (1, 3, 40, 90), (7, 50, 1, 50),
    (1, 1_000, 0, 1_000), (5, 1_000, 0, 1_000), (5, 1_000, 0, 10_000), (0, 1_000, 9, 10_000),
    (30, 1_000, 10, 1_000), (500, 1_000, 500, 1_000), (550, 1_000, 500, 1_000), (450, 1_000, 500, 1_000),
    (999, 1_000, 990, 1_000), (1_000, 1_000, 0, 1_000), (0, 1_000, 1_000, 1_000), (60, 100, 4_000, 9_000),
    (3, 10**6, 0, 10**6), (20, 10**6, 5, 10**6), (1_200, 10**6, 1_000, 10**6), (1_000, 10**6, 1_200, 10**6),
    (500_000, 10**6, 500_000, 10**6), (502_000, 10**6, 500_000, 10**6), (520_000, 10**6, 500_000, 10**6),
    (878, 1_000, 122, 1_000), (880, 1_000, 120, 1_000),
    (10, 100, 50_000, 10**6), (999_990, 10**6, 999_950, 10**6), (400_000, 10**6, 600_000, 10**6),
    (1_000_000, 10**9, 999_000, 10**9), (30, 10**9, 5, 10**9),
]


def by_counting(k, n, l, m):
    """The tail of ways to place all hits."""
    hits = k + l
    ways = sum(comb(n, x) * comb(m, hits - x) for x in range(k, min(n, hits) + 1))
    return float(Fraction(ways, comb(n + m, hits)))


def by_gamma(k, n, l, m):
    """The chance of the table at one end of the shorter tail, then its neighbours by their ratios."""
    hits = k + l

    def ln_comb(a, b):
        return mp.loggamma(a + 1) - mp.loggamma(b + 1) - mp.loggamma(a - b + 1)

    def tail(k, n, m):
        """For k at or above the expectation."""
        chance = mp.exp(ln_comb(mpf(n), k) + ln_comb(mpf(m), hits - k) - ln_comb(mpf(n + m), hits))
        total, x = mpf(0), k
        while chance > total * mpf(10) ** -30:
            total += chance
            chance *= mpf(n - x) * (hits - x) / (mpf(x + 1) * (m - hits + x + 1))
            x += 1
        return total

    if k * (n + m) >= hits * n:
        return float(tail(k, n, m))
    # All but the tables with fewer hits here, which are those with more hits there.
    return float(1 - tail(l + 1, m, n))


print("# Fisher's exact tests of here > there; written by fisher.py, which says how.")
print("hits_here,trials_here,hits_there,trials_there,p")
for k, n, l, m in CASES:
    p = by_counting(k, n, l, m) if n + m <= 11_000 else by_gamma(k, n, l, m)
    other = fisher_exact([[k, n - k], [l, m - l]], alternative="greater").pvalue
    # SciPy is right to ten digits for a thousand trials, to six or so beyond; and rounds what is tiny to 0.
    assert abs(other - p) <= (1e-9 if n + m <= 11_000 else 1e-5) * p + 1e-300, (k, n, l, m, p, other)
    print(f"{k},{n},{l},{m},{p!r}")
for case, printed in PUBLISHED:
    assert abs(by_counting(*case) / printed - 1) < 2e-4, case
