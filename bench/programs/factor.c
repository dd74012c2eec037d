/*
 * factor: the pattern of cfrac (Barrett, used by Zorn, Grunwald and most allocator papers since).
 *
 * Factors integers with reference-counted bignums that are never changed in place: each sum,
 * product and remainder is a new block of 12 to 60 bytes, and nearly all die at once. The method
 * is Pollard's rho with products of differences; as cfrac keeps its relations, every eighth value
 * is kept for a while. One thread. Shows the plain malloc and free path on tiny short-lived blocks.
 *
 *   factor [times 7] [kept values 4096]
 *
 * Prints the calls per second; each factor found must be the known one.
 */
#include "common.h"

/* A natural number: digits of 32 bits, least significant first, no leading zero digits. */
struct number {
    uint32_t references, length;
    uint32_t digits[];
};

static uint64_t operations;

static struct number *make(uint32_t length)
{
    struct number *n = allocate(sizeof *n + length * sizeof n->digits[0]);
    n->references = 1;
    n->length = length;
    operations++;
    return n;
}

static struct number *share(struct number *n)
{
    n->references++;
    return n;
}

static void release(struct number *n)
{
    if (n && --n->references == 0) {
        free(n);
        operations++;
    }
}

static struct number *trim(struct number *n)
{
    while (n->length && n->digits[n->length - 1] == 0)
        n->length--;
    return n;
}

static struct number *from_integer(uint64_t value)
{
    struct number *n = make(2);
    n->digits[0] = (uint32_t)value;
    n->digits[1] = (uint32_t)(value >> 32);
    return trim(n);
}

static int compare(const struct number *a, const struct number *b)
{
    if (a->length != b->length)
        return a->length < b->length ? -1 : 1;
    for (uint32_t i = a->length; i-- > 0;)
        if (a->digits[i] != b->digits[i])
            return a->digits[i] < b->digits[i] ? -1 : 1;
    return 0;
}

static struct number *add(const struct number *a, const struct number *b)
{
    if (a->length < b->length) {
        const struct number *swapped = a;
        a = b;
        b = swapped;
    }
    struct number *sum = make(a->length + 1);
    uint64_t carry = 0;
    for (uint32_t i = 0; i < a->length; i++) {
        carry += (uint64_t)a->digits[i] + (i < b->length ? b->digits[i] : 0);
        sum->digits[i] = (uint32_t)carry;
        carry >>= 32;
    }
    sum->digits[a->length] = (uint32_t)carry;
    return trim(sum);
}

/* a - b, where a >= b. */
static struct number *subtract(const struct number *a, const struct number *b)
{
    struct number *difference = make(a->length);
    uint64_t borrow = 0;
    for (uint32_t i = 0; i < a->length; i++) {
        uint64_t d = (uint64_t)a->digits[i] - (i < b->length ? b->digits[i] : 0) - borrow;
        difference->digits[i] = (uint32_t)d;
        borrow = d >> 63;
    }
    return trim(difference);
}

static struct number *multiply(const struct number *a, const struct number *b)
{
    struct number *product = make(a->length + b->length);
    memset(product->digits, 0, product->length * sizeof product->digits[0]);
    for (uint32_t i = 0; i < a->length; i++) {
        uint64_t carry = 0;
        for (uint32_t j = 0; j < b->length; j++) {
            carry += (uint64_t)a->digits[i] * b->digits[j] + product->digits[i + j];
            product->digits[i + j] = (uint32_t)carry;
            carry >>= 32;
        }
        product->digits[i + b->length] = (uint32_t)carry;
    }
    return trim(product);
}

/* a << bits with one more digit than a, leading zeros kept; bits < 32. */
static struct number *shifted(const struct number *a, int bits)
{
    struct number *n = make(a->length + 1);
    uint64_t carry = 0;
    for (uint32_t i = 0; i < a->length; i++) {
        carry |= (uint64_t)a->digits[i] << bits;
        n->digits[i] = (uint32_t)carry;
        carry >>= 32;
    }
    n->digits[a->length] = (uint32_t)carry;
    return n;
}

/* Subtracts q * b from the digits at a; gives 1 if that was too much. */
static int subtract_multiple(uint32_t *a, const struct number *b, uint32_t length, uint64_t q)
{
    uint64_t carry = 0, borrow = 0;
    for (uint32_t i = 0; i <= length; i++) {
        carry += i < length ? q * b->digits[i] : 0;
        uint64_t d = (uint64_t)a[i] - (uint32_t)carry - borrow;
        a[i] = (uint32_t)d;
        borrow = d >> 63;
        carry >>= 32;
    }
    return borrow != 0;
}

static void add_back(uint32_t *a, const struct number *b, uint32_t length)
{
    uint64_t carry = 0;
    for (uint32_t i = 0; i <= length; i++) {
        carry += (uint64_t)a[i] + (i < length ? b->digits[i] : 0);
        a[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

/* a mod b for b > 0: long division as in Knuth, volume 2, 4.3.1, algorithm D. */
static struct number *remainder_of(struct number *a, const struct number *b)
{
    if (compare(a, b) < 0)
        return share(a);
    uint32_t length = b->length;
    int bits = __builtin_clz(b->digits[length - 1]);
    struct number *rest = shifted(a, bits), *divisor = shifted(b, bits);
    uint32_t top = divisor->digits[length - 1];
    for (uint32_t j = a->length - length + 1; j-- > 0;) {
        uint32_t *window = rest->digits + j;
        uint64_t head = (uint64_t)window[length] << 32 | window[length - 1];
        uint64_t q = head / top;
        if (q > UINT32_MAX)
            q = UINT32_MAX;
        if (subtract_multiple(window, divisor, length, q))
            do
                add_back(window, divisor, length);
            while (window[length] != 0);
    }
    release(divisor);
    for (uint32_t i = 0; i < length && bits; i++)
        rest->digits[i] = rest->digits[i] >> bits | rest->digits[i + 1] << (32 - bits);
    rest->length = length;
    return trim(rest);
}

static struct number *common_divisor(struct number *a, struct number *b)
{
    a = share(a);
    b = share(b);
    while (b->length) {
        struct number *rest = remainder_of(a, b);
        release(a);
        a = b;
        b = rest;
    }
    release(b);
    return a;
}

/* (a * b) mod n and (x * x + c) mod n; both leave their arguments alone. */
static struct number *multiply_modulo(struct number *a, struct number *b, struct number *n)
{
    struct number *product = multiply(a, b), *result = remainder_of(product, n);
    release(product);
    return result;
}

static struct number *next_value(struct number *x, struct number *c, struct number *n)
{
    struct number *square = multiply(x, x), *sum = add(square, c), *next = remainder_of(sum, n);
    release(square);
    release(sum);
    return next;
}

static struct number *distance(struct number *a, struct number *b)
{
    return compare(a, b) < 0 ? subtract(b, a) : subtract(a, b);
}

struct history {
    struct number **kept;
    size_t count, added;
};

static void keep(struct history *history, struct number *x)
{
    struct number **slot = &history->kept[history->added++ % history->count];
    release(*slot);
    *slot = share(x);
}

/* Pollard's rho in Brent's form: a factor of n, or n itself if the constant c was a bad one. */
static struct number *find_factor(struct number *n, struct number *c, struct history *history)
{
    enum { CHECK_EVERY = 128 };
    struct number *x = from_integer(2), *saved = share(x), *product = from_integer(1);
    struct number *divisor = from_integer(1);
    for (uint64_t i = 1, next_power = 1; divisor->length == 1 && divisor->digits[0] == 1; i++) {
        struct number *next = next_value(x, c, n);
        release(x);
        x = next;
        if (i % 8 == 0)
            keep(history, x);
        struct number *difference = distance(x, saved);
        struct number *grown = multiply_modulo(product, difference, n);
        release(difference);
        release(product);
        product = grown;
        if (i % CHECK_EVERY == 0) {
            release(divisor);
            divisor = common_divisor(product, n);
        }
        if (i == next_power) {
            next_power *= 2;
            release(saved);
            saved = share(x);
        }
    }
    release(x);
    release(saved);
    release(product);
    return divisor;
}

/* Factors prime * (2^127 - 1) and checks that the prime is what comes out. */
static uint64_t factor_product(uint64_t prime, struct history *history)
{
    struct number *p = from_integer(prime), *c = from_integer(1), *cofactor = make(4);
    memset(cofactor->digits, 0xff, 4 * sizeof cofactor->digits[0]);
    cofactor->digits[3] = 0x7fffffff;
    struct number *n = multiply(p, cofactor), *found = find_factor(n, c, history);
    if (compare(found, p) != 0)
        fail("factor: found a wrong factor of %llu * (2^127 - 1)", (unsigned long long)prime);
    release(found);
    release(n);
    release(cofactor);
    release(c);
    release(p);
    return prime;
}

int main(int argc, char **argv)
{
    static const uint64_t primes[] = {2147483647, 4294967291, 10000000019, 68718952447};
    size_t times = argument(argc, argv, 1, 7);
    struct history history = {.count = argument(argc, argv, 2, 4096)};
    uint64_t check = 0, start_ns = now_ns();
    history.kept = calloc(history.count, sizeof *history.kept);
    if (!history.kept)
        fail("factor: calloc returned null");
    for (size_t i = 0; i < times; i++)
        for (size_t p = 0; p < sizeof primes / sizeof primes[0]; p++)
            check += factor_product(primes[p], &history) * history.added;
    for (size_t i = 0; i < history.count; i++)
        release(history.kept[i]);
    free(history.kept);
    report("factor", operations, start_ns, check);
    return 0;
}
