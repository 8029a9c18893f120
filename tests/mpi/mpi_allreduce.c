/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Allreduce, every byte compared: with a result that each rank computes alone where
 * the order of operands does not matter, with the bits of rank 0 where it does.
 *
 *   mpi_allreduce [--expect ring|stragglar|native|any] [--all] [--late RANK]
 *       [--no-nonblocking] [--no-persistent] [--threads] [--device] [CASE...]
 *
 * --expect: what serves each call that may be ours. --all: floating point is, too, with
 * parameter allreduce. --late: this rank sleeps before its calls. --no-...: such calls
 * are left to the MPI. --threads: the cases under MPI_THREAD_MULTIPLE. --device: vectors
 * are in the memory of a driver of tests/accel, those of most ranks and calls.
 */
#include "mpi_allreduce.h"

#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif
#include <complex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GUARD = 64, GUARD_BYTE = 0xa5, LATE_US = 10000 };

allreduce_test_t allreduce_test = {
    .late = -1, .nonblocking = 1, .persistent = 1};

/* ---- what is reduced ---- */

#define TYPE(_type, _kind, _c)           \
    {                                    \
#_type, _type, _kind, sizeof(_c) \
    }

typedef struct int_pair {
    int value, index;
} int_pair_t;

typedef struct float_int {
    float value;
    int   index;
} float_int_t;

static const type_t types[] = {
    TYPE(MPI_INT, INTEGER, int),
    TYPE(MPI_INT8_T, INTEGER, int8_t),
    TYPE(MPI_UINT8_T, INTEGER, uint8_t),
    TYPE(MPI_INT16_T, INTEGER, int16_t),
    TYPE(MPI_UINT16_T, INTEGER, uint16_t),
    TYPE(MPI_INT32_T, INTEGER, int32_t),
    TYPE(MPI_UINT32_T, INTEGER, uint32_t),
    TYPE(MPI_INT64_T, INTEGER, int64_t),
    TYPE(MPI_UINT64_T, INTEGER, uint64_t),
    TYPE(MPI_SHORT, INTEGER, short),
    TYPE(MPI_UNSIGNED_SHORT, INTEGER, unsigned short),
    TYPE(MPI_UNSIGNED, INTEGER, unsigned),
    TYPE(MPI_LONG, INTEGER, long),
    TYPE(MPI_UNSIGNED_LONG, INTEGER, unsigned long),
    TYPE(MPI_LONG_LONG, INTEGER, long long),
    TYPE(MPI_UNSIGNED_LONG_LONG, INTEGER, unsigned long long),
    TYPE(MPI_SIGNED_CHAR, INTEGER, signed char),
    TYPE(MPI_UNSIGNED_CHAR, INTEGER, unsigned char),
    TYPE(MPI_AINT, INTEGER, MPI_Aint),
    TYPE(MPI_OFFSET, INTEGER, MPI_Offset),
    TYPE(MPI_C_BOOL, LOGICAL, _Bool),
    TYPE(MPI_BYTE, BYTES, char),
    TYPE(MPI_2INT, PAIR, int_pair_t),
    TYPE(MPI_FLOAT, REAL, float),
    TYPE(MPI_DOUBLE, REAL, double),
    TYPE(MPI_LONG_DOUBLE, REAL, long double),
#if defined(MPIX_BFLOAT16)
    TYPE(MPIX_BFLOAT16, REAL, uint16_t),
#endif
/* MPICH before 5 crashes at it. */
#if defined(MPIX_C_FLOAT16) && (defined(OPEN_MPI) || defined(MPIX_BFLOAT16))
    TYPE(MPIX_C_FLOAT16, REAL, uint16_t),
#endif
    TYPE(MPI_C_FLOAT_COMPLEX, COMPLEX, float complex),
    TYPE(MPI_C_DOUBLE_COMPLEX, COMPLEX, double complex),
    TYPE(MPI_FLOAT_INT, REAL_PAIR, float_int_t),
};

typedef struct op {
    const char *name;
    MPI_Op      op;
    unsigned    kinds; /* 1 << kind_t */
} op_t;

enum {
    NUMBERS = 1 << INTEGER | 1 << REAL,
    FLOATS  = 1 << REAL | 1 << COMPLEX | 1 << REAL_PAIR
};

#define OP(_op, _kinds)   \
    {                     \
#_op, _op, _kinds \
    }

static const op_t ops[] = {
    OP(MPI_SUM, NUMBERS | 1 << COMPLEX),
    OP(MPI_PROD, NUMBERS | 1 << COMPLEX),
    OP(MPI_MIN, NUMBERS),
    OP(MPI_MAX, NUMBERS),
    OP(MPI_LAND, 1 << INTEGER | 1 << LOGICAL),
    OP(MPI_LOR, 1 << INTEGER | 1 << LOGICAL),
    OP(MPI_LXOR, 1 << INTEGER | 1 << LOGICAL),
    OP(MPI_BAND, 1 << INTEGER | 1 << BYTES),
    OP(MPI_BOR, 1 << INTEGER | 1 << BYTES),
    OP(MPI_BXOR, 1 << INTEGER | 1 << BYTES),
    OP(MPI_MINLOC, 1 << PAIR | 1 << REAL_PAIR),
    OP(MPI_MAXLOC, 1 << PAIR | 1 << REAL_PAIR),
};

enum {
    N_TYPES = sizeof(types) / sizeof(types[0]),
    N_OPS   = sizeof(ops) / sizeof(ops[0])
};

static const type_t *find_type(MPI_Datatype type)
{
    const type_t *t = types;

    while (t->type != type) {
        ++t;
    }
    return t;
}

/* ---- values ---- */

/* Sums and products of these are exact in every type that rounds. */
static double exact_value(uint32_t rank, uint32_t k)
{
    static const double values[] = {1, -1, 2, -2, 1, 1, -1, 1};

    return values[draw(rank, k, 77) % 8];
}

/* Of a number that 16 bits can hold, and is not too small. */
static uint16_t half_of(MPI_Datatype type, float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
#ifdef MPIX_BFLOAT16
    if (type == MPIX_BFLOAT16) {
        return (uint16_t)(bits >> 16);
    }
#endif
    (void)type;
    return (uint16_t)((bits >> 16 & 0x8000) |
                      ((bits & 0x7fffffff) - (112u << 23)) >> 13);
}

/* Open MPI adds short integers with saturation where it has AVX: no overflow. */
static uint64_t integer_value(const type_t *t, MPI_Op op, uint64_t word)
{
    return t->size > 2      ? word
           : op == MPI_SUM  ? word % 8
           : op == MPI_PROD ? 1 + (word % 8 == 0)
                            : word;
}

static void write_pair(const type_t *t, uint64_t word, void *to)
{
    int_pair_t  pair  = {(int)(word % 5), (int)(word >> 40)};
    float_int_t fpair = {(float)(word % 5), (int)(word >> 40)};

    memcpy(to, t->kind == PAIR ? (void *)&pair : (void *)&fpair, t->size);
}

static void write_complex(const type_t *t, double real, double imaginary,
                          void *to)
{
    double complex dc = real + imaginary * I;
    float complex  fc = (float complex)dc;

    memcpy(to, t->size == sizeof(fc) ? (void *)&fc : (void *)&dc, t->size);
}

static void write_real(const type_t *t, double real, void *to)
{
    float       f    = (float)real;
    long double ld   = real;
    uint16_t    half = half_of(t->type, f);

    memset(to, 0, t->size);
    if (t->size == sizeof(ld)) {
        memcpy(to, &ld, 10); /* the rest is padding */
    } else if (t->size == sizeof(half)) {
        memcpy(to, &half, sizeof(half));
    } else {
        memcpy(to, t->size == sizeof(f) ? (void *)&f : (void *)&real, t->size);
    }
}

static void write_value(const type_t *t, MPI_Op op, uint32_t rank, uint32_t k,
                        void *to)
{
    uint64_t word    = pattern_word(pattern_key(rank, 0, 5), k);
    uint64_t integer = integer_value(t, op, word);

    switch (t->kind) {
    case INTEGER:
    case BYTES:
        memcpy(to, &integer, t->size);
        break;
    case LOGICAL:
        *(char *)to = word % 2;
        break;
    case PAIR:
    case REAL_PAIR:
        write_pair(t, word, to);
        break;
    case COMPLEX:
        write_complex(t, exact_value(rank, k), exact_value(rank + 99, k), to);
        break;
    case REAL:
        write_real(t, exact_value(rank, k), to);
        break;
    }
}

static void write_vector(const plan_t *p, uint32_t rank, char *to)
{
    for (int k = 0; k < p->count; ++k) {
        write_value(p->type, p->op, rank, (uint32_t)k + p->round * 1000003u,
                    to + (size_t)k * p->type->size);
    }
}

/* ---- buffers with guards ---- */

/* device: -1: on the host. *device_p is where it is on a device, or 0. */
static char *make_buffer_on(int device, size_t len, uint64_t *device_p)
{
    unsigned char *buffer;

    *device_p = 0;
    if (device >= 0) {
        device_alloc(len + 2 * GUARD, device, device_p, &buffer);
    } else {
        buffer = malloc(len + 2 * GUARD);
    }
    if (buffer == NULL) {
        fail("no memory for %zu bytes", len);
    }
    memset(buffer, GUARD_BYTE, len + 2 * GUARD);
    return (char *)buffer + GUARD;
}

static char *make_buffer(size_t len)
{
    uint64_t device;

    return make_buffer_on(-1, len, &device);
}

static void free_buffer_on(uint64_t device, char *buffer, size_t len)
{
    for (int k = 0; k < GUARD; ++k) {
        if ((unsigned char)buffer[-1 - k] != GUARD_BYTE ||
            (unsigned char)buffer[len + k] != GUARD_BYTE) {
            fail("a byte beside a buffer of %zu has been written", len);
        }
    }
    if (device != 0) {
        device_free(device);
    } else {
        free(buffer - GUARD);
    }
}

static void free_buffer(char *buffer, size_t len)
{
    free_buffer_on(0, buffer, len);
}

/* What the MPI is given. */
static void *address_of(uint64_t device, char *buffer)
{
    return device != 0 ? (void *)(uintptr_t)(device + GUARD) : buffer;
}

/* ---- a call ---- */

/* All ranks of the communicator, one after another; no rank asks another one. */
static void compute(const plan_t *p, char *result)
{
    size_t len  = (size_t)p->count * p->type->size;
    char  *next = make_buffer(len);
    int    n;

    MPI_Comm_size(p->comm, &n);
    write_vector(p, 0, result);
    for (int r = 1; r < n; ++r) {
        write_vector(p, (uint32_t)r, next);
        must(MPI_Reduce_local(next, result, p->count, p->type->type, p->op),
             "MPI_Reduce_local");
    }
    free_buffer(next, len);
}

static void compare(const plan_t *p, const char *got, const char *want)
{
    size_t len = (size_t)p->count * p->type->size;

    if (memcmp(got, want, len) == 0) {
        return;
    }
    for (size_t k = 0; k < len; ++k) {
        if (got[k] != want[k]) {
            fail("%s of %d %s%s: byte %zu is %02x instead of %02x", p->op_name,
                 p->count, p->type->name, p->in_place ? ", in place" : "", k,
                 (unsigned char)got[k], (unsigned char)want[k]);
        }
    }
}

/* A product's zero has a sign that depends on the order: -0 + 0 is 0. */
static void drop_zero_signs(const plan_t *p, char *vector)
{
    for (int k = 0; k < 2 * p->count && p->type->kind == COMPLEX; ++k) {
        if (p->type->size == sizeof(float complex)) {
            ((float *)vector)[k] += 0.0f;
        } else {
            ((double *)vector)[k] += 0.0;
        }
    }
}

static unsigned late_us = LATE_US;

void come_late(void)
{
    if (allreduce_test.late == test.rank) {
        usleep(late_us);
    }
}

void vectors_fill(vectors_t *v)
{
    const plan_t *p = &v->plan;

    write_vector(p, (uint32_t)v->rank, v->send);
    if (p->in_place) {
        write_vector(p, (uint32_t)v->rank, v->recv);
    }
    compute(p, v->want);
    drop_zero_signs(p, v->want);
    v->source = p->in_place ? MPI_IN_PLACE
                            : address_of(v->send_device, v->send);
    v->target = address_of(v->recv_device, v->recv);
}

/* Both on one device, one of them, on two, or none. */
static void find_devices(int *send, int *recv)
{
    static uint32_t n;
    uint32_t        which = draw((uint32_t)test.rank, ++n, 3) % 6;

    *send = !test.device || which >= 4 ? -1 : which == 3;
    *recv = !test.device || which == 5 ? -1 : 0;
}

void vectors_make(vectors_t *v, const plan_t *p)
{
    size_t len = (size_t)p->count * p->type->size;
    int    send, recv;

    find_devices(&send, &recv);
    *v      = (vectors_t){.plan = *p, .want = make_buffer(len)};
    v->send = make_buffer_on(send, len, &v->send_device);
    v->recv = make_buffer_on(recv, len, &v->recv_device);
    MPI_Comm_rank(p->comm, &v->rank);
    vectors_fill(v);
}

void vectors_check(vectors_t *v)
{
    const plan_t *p = &v->plan;

    drop_zero_signs(p, v->recv);
    compare(p, v->recv, v->want);
    write_vector(p, (uint32_t)v->rank, v->want);
    compare(p, v->send, v->want); /* nobody has written there */
}

void vectors_free(vectors_t *v)
{
    size_t len = (size_t)v->plan.count * v->plan.type->size;

    free_buffer_on(v->send_device, v->send, len);
    free_buffer_on(v->recv_device, v->recv, len);
    free_buffer(v->want, len);
}

void call(const plan_t *p)
{
    vectors_t v;

    vectors_make(&v, p);
    come_late();
    must(MPI_Allreduce(v.source, v.target, p->count, p->type->type, p->op,
                       p->comm),
         "MPI_Allreduce");
    vectors_check(&v);
    vectors_free(&v);
}

/* Such calls on MPI_COMM_WORLD: were they all ours? */
void expect_served(uint64_t before, uint64_t n)
{
    uint64_t served = pvars_calls_served() - before;

    if (test.expect == EXPECT_SERVED && served != n) {
        fail("%llu of %llu calls were served by %s", (unsigned long long)served,
             (unsigned long long)n, test.algorithm);
    }
    if (test.expect == EXPECT_HOST && served != 0) {
        fail("%llu calls were not left to the MPI", (unsigned long long)served);
    }
}

static int is_short_real(const type_t *type)
{
    return type->kind == REAL && type->size == sizeof(uint16_t);
}

/* MPICH 5.0.1 only adds bfloat16; and on a device these are for an MPI that knows of it. */
static int is_mistaken(const plan_t *p)
{
    return p->op != MPI_SUM && is_short_real(p->type) &&
           (test.device || strcmp(p->type->name, "MPIX_BFLOAT16") == 0);
}

/* What a device does not reduce is the MPI's where there are devices. */
static int may_be_on_device(const type_t *type, MPI_Op op)
{
    return (op == MPI_SUM || op == MPI_MIN || op == MPI_MAX) &&
           (type->kind == INTEGER || type->kind == REAL) &&
           type->type != MPI_LONG_DOUBLE;
}

static int may_be_ours(const plan_t *p)
{
    return p->count > 0 &&
           (allreduce_test.all || !(FLOATS >> p->type->kind & 1)) &&
           (p->op == MPI_SUM || !is_short_real(p->type)) &&
           (!test.device || may_be_on_device(p->type, p->op));
}

void check_call(const plan_t *p)
{
    uint64_t before = pvars_calls_served();

    call(p);
    expect_served(before, may_be_ours(p) ? 1 : 0);
}

plan_t sum(MPI_Datatype type, int count, int in_place)
{
    static uint32_t round;

    return (plan_t){MPI_COMM_WORLD, find_type(type), MPI_SUM,    "MPI_SUM",
                    count,          in_place,        ++round % 8};
}

/* ---- cases ---- */

static void case_types(void)
{
    for (int t = 0; t < N_TYPES; ++t) {
        for (int o = 0; o < N_OPS; ++o) {
            plan_t p = sum(types[t].type, 1003, (t + o) % 2);

            p.op      = ops[o].op;
            p.op_name = ops[o].name;
            if ((ops[o].kinds >> types[t].kind & 1) && !is_mistaken(&p)) {
                check_call(&p);
            }
        }
    }
}

static void case_sizes(void)
{
    const int n        = test.size;
    const int counts[] = {0, 1, 2, n - 2, n - 1, n, n + 1, 1000, 4097, 100003};

    for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]); ++k) {
        for (int in_place = 0; in_place <= 1; ++in_place) {
            plan_t p[] = {sum(MPI_INT64_T, counts[k], in_place),
                          sum(MPI_INT8_T, counts[k], in_place),
                          sum(MPI_2INT, counts[k], in_place)};

            p[2].op      = MPI_MINLOC;
            p[2].op_name = "MPI_MINLOC";
            for (int j = 0; j < 3; ++j) {
                check_call(&p[j]);
                check_call(&p[j]); /* with the plan of the one before */
            }
        }
    }
}

static void case_large(void)
{
    plan_t p = sum(MPI_INT, 2500001, 0);

    check_call(&p);
    p = sum(MPI_DOUBLE, 1000001, 1);
    check_call(&p);
}

/* Values whose sums depend on the order, and on which operand is on the left. */
static double odd_value(uint32_t rank, uint32_t k)
{
    static const uint64_t odd[] = {0x7ff8000000000000, 0xfff8000000000abc,
                                   0x7ff0000000000000, /* NaN, inf */
                                   0xfff0000000000000, 0x8000000000000000,
                                   0x0000000000000000, /* -0 */
                                   0x0000000000000001, 0x800fffffffffffff,
                                   0x0010000000000000}; /* denormal */
    uint64_t              word  = pattern_word(pattern_key(rank, 1, 6), k);
    double                value;

    if (word % 4 == 0) {
        word = odd[(word >> 8) % 9] + (word % 8 == 0 ? rank : 0);
    } else {
        word = (word & 0x800fffffffffffff) | (uint64_t)(900 + word % 247) << 52;
    }
    memcpy(&value, &word, sizeof(value));
    return value;
}

static void same_bits(MPI_Op op, int in_place, int count)
{
    size_t   len    = (size_t)count * sizeof(double);
    int      device = test.device ? 0 : -1;
    uint64_t before = pvars_calls_served(), of_send, of_recv;
    double  *send   = (double *)make_buffer_on(device, len, &of_send),
           *recv    = (double *)make_buffer_on(device, len, &of_recv),
           *first   = (double *)make_buffer(len);
    int ours        = allreduce_test.all &&
               (!test.device || may_be_on_device(find_type(MPI_DOUBLE), op));

    for (int k = 0; k < count; ++k) {
        send[k] = odd_value((uint32_t)test.rank, (uint32_t)k);
    }
    memcpy(recv, send, len);
    come_late();
    must(MPI_Allreduce(in_place ? MPI_IN_PLACE
                                : address_of(of_send, (char *)send),
                       address_of(of_recv, (char *)recv), count, MPI_DOUBLE, op,
                       MPI_COMM_WORLD),
         "MPI_Allreduce");
    expect_served(before, ours);
    memcpy(first, recv, len);
    MPI_Bcast(first, count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (ours && test.expect == EXPECT_SERVED && memcmp(first, recv, len) != 0) {
        fail("other bits than those of rank 0");
    }
    free_buffer_on(of_send, (char *)send, len);
    free_buffer_on(of_recv, (char *)recv, len);
    free_buffer((char *)first, len);
}

static void case_bits(void)
{
    const MPI_Op op[] = {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX};

    for (int k = 0; k < 4; ++k) {
        same_bits(op[k], 0, 30011);
        same_bits(op[k], 1, 30011);
    }
}

static void case_comms(void)
{
    MPI_Comm comm;
    plan_t   p;

    for (int k = 0; k < 3; ++k) {
        must(MPI_Comm_dup(MPI_COMM_WORLD, &comm), "MPI_Comm_dup");
        p      = sum(MPI_INT, 5000 + k, k % 2);
        p.comm = comm;
        check_call(&p);
        MPI_Comm_free(&comm);
    }
    must(MPI_Comm_split(MPI_COMM_WORLD, test.rank % 2, -test.rank, &comm),
         "MPI_Comm_split");
    for (int k = 0; k < 4; ++k) {
        p      = sum(MPI_INT, 700 * k, k % 2);
        p.comm = comm;
        call(&p);
    }
    MPI_Comm_free(&comm);
    if (!test.device) { /* one rank is for the MPI alone */
        p      = sum(MPI_INT, 1000, 0);
        p.comm = MPI_COMM_SELF;
        call(&p);
    }
}

/* ---- among others ---- */

enum { BLOCK = 2000 };

static int word_of(int src, int dst, int k)
{
    return (int)draw((uint32_t)src, (uint32_t)dst, (uint32_t)k);
}

void exchange_init(exchange_t *x)
{
    x->counts = malloc(2 * (size_t)test.size * sizeof(int));
    x->displs = x->counts + test.size;
    x->send   = malloc(2 * (size_t)test.size * BLOCK * sizeof(int));
    x->recv   = x->send + (size_t)test.size * BLOCK;
    for (int r = 0; r < test.size; ++r) {
        x->counts[r] = BLOCK;
        x->displs[r] = r * BLOCK;
        for (int k = 0; k < BLOCK; ++k) {
            x->send[r * BLOCK + k] = word_of(test.rank, r, k);
            x->recv[r * BLOCK + k] = 0;
        }
    }
}

void exchange_fini(exchange_t *x)
{
    for (int r = 0; r < test.size; ++r) {
        for (int k = 0; k < BLOCK; ++k) {
            if (x->recv[r * BLOCK + k] != word_of(r, test.rank, k)) {
                fail("word %d of an alltoallv from rank %d is wrong", k, r);
            }
        }
    }
    free(x->counts);
    free(x->send);
}

static void case_mixed(void)
{
    for (int k = 0; k < 6; ++k) {
        exchange_t  x, y;
        plan_t      p    = sum(MPI_INT64_T, 3000 + 100 * k, k % 2);
        int         word = test.rank == 0 ? 4711 + k : 0;
        MPI_Request request;

        exchange_init(&x);
        exchange_init(&y);
        MPI_Ialltoallv(x.send, x.counts, x.displs, MPI_INT, x.recv, x.counts,
                       x.displs, MPI_INT, MPI_COMM_WORLD, &x.request);
        MPI_Ibcast(&word, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
        check_call(&p);
        MPI_Alltoallv(y.send, y.counts, y.displs, MPI_INT, y.recv, y.counts,
                      y.displs, MPI_INT, MPI_COMM_WORLD);
        check_call(&p);
        MPI_Wait(&x.request, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        check_call(&p);
        if (word != 4711 + k) {
            fail("MPI_Ibcast brought %d", word);
        }
        exchange_fini(&x);
        exchange_fini(&y);
    }
}

/* ---- operations of the program, and types that are the MPI's ---- */

/* Associative; the result is the left one. */
static void take_left(void *in, void *inout, int *len, MPI_Datatype *type)
{
    (void)type;
    memcpy(inout, in, (size_t)*len * sizeof(int));
}

void add_ints(void *in, void *inout, int *len, MPI_Datatype *type)
{
    int n = *len;

    if (*type != MPI_INT) {
        n *= 3; /* triples */
    }
    for (int k = 0; k < n; ++k) {
        ((int *)inout)[k] += ((int *)in)[k];
    }
}

static void case_program_ops(void)
{
    uint64_t     before = pvars_calls_served();
    MPI_Op       left, add;
    MPI_Datatype triple;
    enum { COUNT = 3000 };
    static int in[COUNT], out[COUNT];

    MPI_Op_create(take_left, 0, &left);
    MPI_Op_create(add_ints, 1, &add);
    MPI_Type_contiguous(3, MPI_INT, &triple);
    MPI_Type_commit(&triple);
    for (int k = 0; k < COUNT; ++k) {
        in[k] = word_of(test.rank, 0, k) & 0xffff;
    }
    must(MPI_Allreduce(in, out, COUNT, MPI_INT, left, MPI_COMM_WORLD), "left");
    for (int k = 0; k < COUNT; ++k) {
        if (out[k] != (word_of(0, 0, k) & 0xffff)) {
            fail("the order of an operation that does not commute was changed");
        }
    }
    must(MPI_Allreduce(in, out, COUNT / 3, triple, add, MPI_COMM_WORLD), "add");
    expect_served(before, 0);
    for (int round = 0; round < 2; ++round) {
        for (int k = 0; k < COUNT; ++k) {
            int want = 0;

            for (int r = 0; r < test.size; ++r) {
                want += word_of(r, 0, k) & 0xffff;
            }
            if (out[k] != want) {
                fail("element %d is %d instead of %d", k, out[k], want);
            }
        }
        if (round == 0) {
            must(MPI_Allreduce(in, out, COUNT, MPI_INT, add, MPI_COMM_WORLD),
                 "add");
            expect_served(before, allreduce_test.all && !test.device);
        }
    }
    MPI_Op_free(&left);
    MPI_Op_free(&add);
    MPI_Type_free(&triple);
}

static void case_gaps(void)
{
    uint64_t before = pvars_calls_served();
    enum { COUNT = 1000 };
    static struct {
        double value;
        int    index;
    } in[COUNT], out[COUNT];

    for (int k = 0; k < COUNT; ++k) {
        in[k].value = (test.rank + k) % test.size;
        in[k].index = test.rank;
    }
    must(MPI_Allreduce(in, out, COUNT, MPI_DOUBLE_INT, MPI_MAXLOC,
                       MPI_COMM_WORLD),
         "MPI_MAXLOC");
    expect_served(before, 0);
    for (int k = 0; k < COUNT; ++k) {
        if (out[k].value != test.size - 1 ||
            (out[k].index + k) % test.size != test.size - 1) {
            fail("element %d is wrong", k);
        }
    }
}

/* As in a program: many calls of one size, one rank late. Something else on these cores may
 * make another one late for a while: most of the calls decide. */
static void case_many(void)
{
    enum { CALLS = 60, FIRST = 20 };
    uint64_t before = 0, served;
    plan_t   p;

    late_us = 120000; /* to stand out on busy cores as well */
    for (int k = 0; k < CALLS; ++k) {
        if (k == FIRST) {
            before = pvars_calls_served();
        }
        p = sum(MPI_INT, 20000, 0);
        call(&p);
    }
    served = pvars_calls_served() - before;
    if (test.expect == EXPECT_SERVED && 2 * served < CALLS - FIRST) {
        fail("%d of the last %d calls were served by %s", (int)served,
             CALLS - FIRST, test.algorithm);
    }
}

static const test_case_t cases[] = {
    {"types", case_types},     {"sizes", case_sizes}, {"large", case_large},
    {"bits", case_bits},       {"comms", case_comms}, {"mixed", case_mixed},
    {"ops", case_program_ops}, {"gaps", case_gaps},
};
enum { N_CASES = sizeof(cases) / sizeof(cases[0]) };
static const test_case_t many = {"many", case_many}; /* only by name */

static const struct {
    const char *name;
    int        *on;
    int         value;
} switches[] = {
    {"--all", &allreduce_test.all, 1},
    {"--no-nonblocking", &allreduce_test.nonblocking, 0},
    {"--no-persistent", &allreduce_test.persistent, 0},
    {"--threads", &allreduce_test.threads, 1},
    {"--device", &test.device, 1},
};

/* False: it is none. */
static int read_switch(const char *word)
{
    for (size_t k = 0; k < sizeof(switches) / sizeof(switches[0]); ++k) {
        if (strcmp(word, switches[k].name) == 0) {
            *switches[k].on = switches[k].value;
            return 1;
        }
    }
    return 0;
}

static void run(const test_case_t *c)
{
    test.name = c->name;
    if (c->run == NULL) {
        if (test.rank == 0) {
            printf("left out: %s\n", c->name);
        }
        return;
    }
    limit_time(100);
    c->run();
    MPI_Barrier(MPI_COMM_WORLD);
}

static int is_named(int argc, char **argv, const char *name)
{
    for (int k = 0; k < argc; ++k) {
        if (strcmp(argv[k], name) == 0) {
            return 1;
        }
    }
    return 0;
}

static int is_in(const test_case_t *c, size_t n, const char *name)
{
    for (; n > 0; ++c, --n) {
        if (strcmp(c->name, name) == 0) {
            return 1;
        }
    }
    return 0;
}

static int is_case(const char *name)
{
    return allreduce_test.threads
               ? is_in(threaded_cases, n_threaded_cases, name)
               : is_in(cases, N_CASES, name) ||
                     is_in(later_cases, n_later_cases, name) ||
                     is_in(&many, 1, name);
}

static void check_names(int argc, char **argv)
{
    for (int k = 0; k < argc; ++k) {
        if (!is_case(argv[k])) {
            fail("there is no case \"%s\"%s", argv[k],
                 allreduce_test.threads ? " with --threads" : "");
        }
    }
}

/* Those with a name in argv; without any all. */
static void run_all(const test_case_t *c, size_t n, int argc, char **argv)
{
    for (; n > 0; ++c, --n) {
        if (argc == 0 || is_named(argc, argv, c->name)) {
            run(c);
        }
    }
}

static void read_expect(const char *word)
{
    test.expect    = strcmp(word, "any") == 0      ? EXPECT_ANY
                     : strcmp(word, "native") == 0 ? EXPECT_HOST
                                                   : EXPECT_SERVED;
    test.algorithm = test.expect == EXPECT_SERVED ? word : "ring";
}

static void run_families(int argc, char **argv)
{
    if (allreduce_test.threads) {
        run_all(threaded_cases, n_threaded_cases, argc, argv);
        return;
    }
    run_all(cases, N_CASES, argc, argv);
    run_all(later_cases, n_later_cases, argc, argv);
    if (is_named(argc, argv, many.name)) {
        run(&many);
    }
}

int main(int argc, char **argv)
{
    int k    = 1, provided;
    int want = is_named(argc, argv, "--threads") ? MPI_THREAD_MULTIPLE
                                                 : MPI_THREAD_SINGLE;

    MPI_Init_thread(&argc, &argv, want, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &test.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &test.size);
    test.program = "mpi_allreduce";
    read_expect("any");
    for (; k < argc && argv[k][0] == '-'; ++k) {
        if (read_switch(argv[k])) {
            continue;
        }
        if (strcmp(argv[k], "--late") == 0 && k + 1 < argc) {
            allreduce_test.late = atoi(argv[++k]);
        } else if (strcmp(argv[k], "--expect") == 0 && k + 1 < argc) {
            read_expect(argv[++k]);
        } else {
            fail("unknown option %s", argv[k]);
        }
    }
    if (provided < want) {
        fail("the MPI does not provide MPI_THREAD_MULTIPLE");
    }
    if (test.device) {
        device_open();
    }
    check_names(argc - k, argv + k);
    pvars_init();
    run_families(argc - k, argv + k);
    limit_time(0);
    pvars_fini();
    MPI_Finalize();
    return 0;
}
