"""Writes vectors.csv: bounds computed by other means than the Rust code uses.

Clopper-Pearson: quantiles of the beta distribution as SciPy (Boost) inverts them, which is right to nine
digits or so for 10^8 trials, then refined by Newton's method on the sum of binomial chances, by mpmath.
Anytime: mpmath with 50 digits, from the definition; the two-sided capital by ln Gamma, the one-sided one
by integrating over the share t with tanh-sinh quadrature around the peak of the integrand.

    python3 -m venv venv && venv/bin/pip install scipy==1.17.1 mpmath==1.4.1
    venv/bin/python vectors.py > vectors.csv
"""

from mpmath import mp, mpf
from scipy.stats import beta

mp.dps = 50
MAGNITUDE, SHARE = mpf("0.1"), mpf("0.25")

CASES = [
    (k, n, c)
    for c in ("0.95", "0.999")
    for n, ks in (
        (1, (0, 1)),
        (2, (1,)),
        (10, (0, 1, 5, 9, 10)),
        (100, (0, 1, 3, 50, 99, 100)),
        (1_000, (0, 1, 10, 300, 999)),
        (10**4, (0, 2, 100, 9_990)),
        (10**6, (0, 1, 20, 1_000, 500_000, 999_999)),
        (10**8, (0, 1, 5, 30_000, 50_000_000, 10**8 - 3)),
        (10**9, (0, 1, 100, 10**6, 500_000_000)),
    )
    for k in ks
] + [(0, 1000, "0.5"), (7, 1000, "0.5"), (7, 1000, "0.8"), (3, 10**6, "0.999999999"), (0, 10**9, "0.999999999")]


def root(increasing, low, high):
    """Bisects an increasing function of ln p."""
    low, high = mp.log(low), mp.log(high)
    for _ in range(110):
        middle = (low + high) / 2
        if increasing(mp.exp(middle)) > 0:
            high = middle
        else:
            low = middle
    return mp.exp((low + high) / 2)


def two_sided(k, n, error):
    fixed = mp.log(mp.beta(MAGNITUDE + k, 1 + n - k)) if n < 10**4 else (
        mp.loggamma(MAGNITUDE + k) + mp.loggamma(1 + n - k) - mp.loggamma(MAGNITUDE + n + 1))
    fixed += mp.log(MAGNITUDE) + mp.log(error)

    def capital(p):
        return fixed - k * mp.log(p) - (n - k) * mp.log1p(-p)

    hat = mpf(k) / n
    lower = root(lambda p: -capital(p), mpf(10) ** -80, hat) if k else mpf(0)
    upper = root(capital, hat or mpf(10) ** -80, 1 - mpf(10) ** -40) if k < n else mpf(1)
    return lower, upper


def one_sided(k, n, error, near):
    if k == n:
        return mpf(1)

    def capital(p):
        # t = u^(1/SHARE) removes the singularity at t = 0; the log of the integrand is concave in t.
        def integrand(u):
            if u <= 0:
                return mpf(0) if k else mp.exp(-(n - k) * mp.log1p(-p))
            t = u ** (1 / SHARE)
            return mp.exp(k * mp.log(t) + (n - k) * (mp.log1p(-t * p) - mp.log1p(-p)))

        peak = min(mpf(k) / (n * p), mpf(1))
        width = mp.sqrt(mpf(k + 1)) / (n * p)
        points = sorted({mpf(0), mpf(1)} | {
            min(max(peak + z * width, mpf(0)), mpf(1)) ** SHARE for z in (-12, -6, -3, 0, 3, 6, 12)})
        return mp.log(mp.quad(integrand, points)) + mp.log(error)

    # A bracketing secant in ln p around the two-sided bound: the quadrature is too slow for bisection.
    low = max(mpf(k) / n, near / 5)
    high = min(near * mpf("1.65"), 1 - (1 - near) / 10)
    return mp.exp(mp.findroot(lambda l: capital(mp.exp(l)), (mp.log(low), mp.log(high)), solver="anderson", tol=1e-17))


def refined(start, k, n, error):
    """The p at which k or fewer hits have the chance `error`, from a p that is nearly it."""
    p = mpf(start)
    for _ in range(3):
        q = 1 - p
        last = mp.exp(mp.loggamma(n + 1) - mp.loggamma(k + 1) - mp.loggamma(n - k + 1)
                      + k * mp.log(p) + (n - k) * mp.log1p(-p))
        term, total, odds = mpf(1), mpf(1), q / p
        for hits in range(k, 0, -1):
            term *= odds * hits / (n - hits + 1)
            total += term
            if term < mpf(10) ** -25 * total:
                break
        p += (last * total - error) * q / ((n - k) * last)
    return p


def upper_bound(k, n, error):
    return refined(beta.isf(float(error), k + 1, n - k), k, n, error) if k < n else mpf(1)


print("hits,trials,confidence,exact_lower,exact_upper,one_sided_upper,anytime_lower,anytime_upper,anytime_one_sided")
for k, n, c in CASES:
    mp.dps = 50
    error = mpf(1 - float(c))
    lower = 1 - upper_bound(n - k, n, error / 2)
    upper = upper_bound(k, n, error / 2)
    single = upper_bound(k, n, error)
    at_lower, at_upper = two_sided(k, n, error)
    mp.dps = 30
    at_single = one_sided(k, n, error, at_upper)
    row = [repr(float(x)) for x in (lower, upper, single, at_lower, at_upper, at_single)]
    print(",".join([str(k), str(n), c] + row), flush=True)
