"""Writes rank.csv: p-values of the one-sided rank-sum test, by other means than the Rust code uses.

Counts, in whole numbers, of the pairs (a, b) with a < b or, for half of one, a = b: a polynomial in their
number for each way to share out each group of equal values. SciPy has to agree: mannwhitneyu(exact) where
no values are equal, permutation_test over all arrangements where there are few enough of them and, as it
asks for, two values in each sample. The first cases are published ones.

    python3 -m venv venv && venv/bin/pip install scipy==1.17.1
    venv/bin/python rank.py > rank.csv
"""

from collections import Counter, defaultdict
from fractions import Fraction
from math import comb
from random import Random

from scipy.stats import mannwhitneyu, permutation_test

RANDOM = Random(1947)

# p-values as printed, and where.
PUBLISHED = [
    # Hollander & Wolfe (1973), p. 69, permeability of membranes, as in the examples of R's wilcox.test.
    ((115, 88, 90, 74, 121), (80, 83, 189, 104, 145, 138, 191, 164, 73, 146), 0.1272),
    # The example of SciPy's mannwhitneyu: U = 17, two-sided p = 0.1111.
    ((20, 11, 17, 12), (19, 22, 16, 29, 24), 0.1111 / 2),
]


def draw(count, below, shift=0):
    return tuple(shift + RANDOM.randrange(below) for _ in range(count))


def apart(count, other, shift):
    """Two samples without equal values, the first lower by `shift` places before all are set apart."""
    places = RANDOM.sample(range(4 * (count + other)), count + other)
    order = sorted(range(count + other), key=lambda i: (places[i] + shift * (i >= count), i))
    values = [1_000 + 7 * order.index(i) for i in range(count + other)]
    return tuple(values[:count]), tuple(values[count:])


CASES = [(a, b) for a, b, _ in PUBLISHED] + [
    ((1,), (2,)), ((2,), (1,)), ((5,), (5,)), ((1, 2, 3), (4, 5, 6)), ((4, 5, 6), (1, 2, 3)),
    ((0, 0, 0, 0), (0, 0, 0)), ((0,), (0, 0, 1, 1)), ((3, 3, 3), (3, 3, 4)), ((0, 2**64 - 1), (2**63, 2**64 - 1)),
    ((1,), tuple(range(2, 40))), (tuple(range(100, 110)), tuple(range(110, 120))),
    (draw(5, 4), draw(6, 4, 1)), (draw(7, 3), draw(7, 3)), (draw(8, 9), draw(7, 9, 2)), (draw(4, 6, 2), draw(9, 6)),
    apart(6, 9, 5), apart(9, 4, 0), apart(12, 12, 20), apart(20, 30, 30), apart(3, 50, 60),
    (draw(20, 12), draw(20, 12, 4)), (draw(30, 5), draw(20, 5)), (draw(40, 100), draw(40, 100, 20)),
    apart(64, 64, 0), apart(64, 64, 200), (draw(64, 40), draw(64, 40, 25)), (draw(64, 2), draw(64, 3)),
    (tuple(range(64)), tuple(range(64, 128))), (draw(1, 50), draw(64, 50)), (draw(64, 9), draw(2, 9, 5)),
    (draw(128, 300), draw(128, 300, 30)), (draw(128, 300), draw(5, 300, 100)), apart(128, 128, 0),
]


def doubled_pairs(a, b):
    return sum(2 * (y > x) + (y == x) for x in a for y in b)


def exact(a, b):
    """The share of arrangements with as many pairs that favour `a`, or more."""
    # A polynomial is one whole number: coefficients of so many bits, none of which can overflow.
    bits = len(a) + len(b) + 1
    ways, passed = {0: 1}, 0
    for _, size in sorted(Counter(a + b).items()):
        after = defaultdict(int)
        for of_a, polynomial in ways.items():
            for more in range(min(size, len(a) - of_a) + 1):
                # Of this group, `size - more` belong to b: above all of a so far, equal to `more` of it.
                if passed - of_a + size - more <= len(b):
                    pairs = (size - more) * (2 * of_a + more)
                    after[of_a + more] += (polynomial * comb(size, more)) << (bits * pairs)
        ways, passed = after, passed + size
    least = doubled_pairs(a, b)
    end, mask, count = ways[len(a)] >> (bits * least), (1 << bits) - 1, 0
    while end:
        count, end = count + (end & mask), end >> bits
    return Fraction(count, comb(len(a) + len(b), len(a)))


def check(a, b, p):
    # Only the order matters; and not every number here is one that SciPy can hold.
    places = sorted(set(a + b))
    a, b = [places.index(x) for x in a], [places.index(x) for x in b]
    if len(places) == len(a + b):
        other = mannwhitneyu(a, b, alternative="less", method="exact").pvalue
    elif min(len(a), len(b)) > 1 and comb(len(a) + len(b), len(a)) <= 10_000:
        other = permutation_test((a, b), doubled_pairs, alternative="greater", n_resamples=10_000,
                                 permutation_type="independent", vectorized=False).pvalue
    else:
        return
    assert abs(other / p - 1) < 1e-9, (a, b, p, other)


print("# Rank-sum tests of sample < than, exact; written by rank.py, which says how.")
print("sample,than,p")
for a, b in CASES:
    p = float(exact(a, b))
    check(a, b, p)
    print(",".join([" ".join(map(str, a)), " ".join(map(str, b)), repr(p)]))
for a, b, printed in PUBLISHED:
    assert abs(float(exact(a, b)) - printed) < 6e-5, (a, b, printed)
