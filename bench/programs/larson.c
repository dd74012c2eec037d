/*
 * larson: P. Larson and M. Krishnan's server test ("Memory allocation for long-running server
 * applications", ISMM 1998).
 *
 * Each worker owns an array of blocks and replaces randomly chosen ones by new ones of random
 * sizes. After a share of its work it starts a successor, hands it the array and ends, as a server
 * hands a session to another thread: most blocks are then freed by another thread than the one
 * that allocated them, and the heaps of ended threads must be found useful again. The work is
 * fixed, so time is the metric.
 *
 *   larson [threads 2] [blocks per thread 5000] [smallest 8] [largest 1000] [generations 250]
 *          [replacements per generation 200000]
 *
 * Prints the replacements' calls per second; a first and last byte of each block are checked.
 */
#include "common.h"

struct settings {
    size_t threads, blocks, smallest, largest, generations, replacements;
};

struct session {
    const struct settings *settings;
    unsigned char **blocks;
    uint32_t *sizes;
    uint64_t random, check;
    size_t generations_left;
    unsigned index;
    pthread_mutex_t lock;
    pthread_cond_t done;
    APART;
};

static void fill(struct session *session, size_t slot)
{
    const struct settings *s = session->settings;
    size_t size = random_between(&session->random, s->smallest, s->largest);
    unsigned char *block = allocate(size);
    block[0] = block[size - 1] = (unsigned char)(size ^ slot);
    session->blocks[slot] = block;
    session->sizes[slot] = (uint32_t)size;
}

static void empty(struct session *session, size_t slot)
{
    unsigned char *block = session->blocks[slot];
    size_t size = session->sizes[slot];
    unsigned char expected = (unsigned char)(size ^ slot);
    if (block[0] != expected || block[size - 1] != expected)
        fail("larson: a block was overwritten");
    session->check += size;
    free(block);
}

static void *work(void *data)
{
    struct session *session = data;
    const struct settings *s = session->settings;
    spread(session->index);
    for (size_t i = 0; i < s->replacements; i++) {
        size_t slot = random_between(&session->random, 0, s->blocks - 1);
        empty(session, slot);
        fill(session, slot);
    }
    if (--session->generations_left) {
        pthread_detach(start_thread(work, session));
        return NULL;
    }
    pthread_mutex_lock(&session->lock);
    session->settings = NULL;
    pthread_cond_signal(&session->done);
    pthread_mutex_unlock(&session->lock);
    return NULL;
}

static void open_session(struct session *session, const struct settings *s, unsigned index)
{
    session->settings = s;
    session->blocks = allocate(s->blocks * sizeof *session->blocks);
    session->sizes = allocate(s->blocks * sizeof *session->sizes);
    session->random = random_seed(index);
    session->index = index;
    session->check = 0;
    session->generations_left = s->generations;
    pthread_mutex_init(&session->lock, NULL);
    pthread_cond_init(&session->done, NULL);
    for (size_t slot = 0; slot < s->blocks; slot++)
        fill(session, slot);
}

static uint64_t close_session(struct session *session, const struct settings *s)
{
    pthread_mutex_lock(&session->lock);
    while (session->settings)
        pthread_cond_wait(&session->done, &session->lock);
    pthread_mutex_unlock(&session->lock);
    for (size_t slot = 0; slot < s->blocks; slot++)
        empty(session, slot);
    free(session->blocks);
    free(session->sizes);
    return session->check;
}

int main(int argc, char **argv)
{
    struct settings s = {
        .threads = argument(argc, argv, 1, 2),
        .blocks = argument(argc, argv, 2, 5000),
        .smallest = argument(argc, argv, 3, 8),
        .largest = argument(argc, argv, 4, 1000),
        .generations = argument(argc, argv, 5, 250),
        .replacements = argument(argc, argv, 6, 200000),
    };
    struct session *sessions = allocate(s.threads * sizeof *sessions);
    uint64_t check = 0, start_ns = now_ns();
    for (size_t t = 0; t < s.threads; t++)
        open_session(&sessions[t], &s, (unsigned)t);
    for (size_t t = 0; t < s.threads; t++)
        pthread_detach(start_thread(work, &sessions[t]));
    for (size_t t = 0; t < s.threads; t++)
        check += close_session(&sessions[t], &s);
    free(sessions);
    report("larson", 2 * s.threads * (s.blocks + s.generations * s.replacements), start_ns, check);
    return 0;
}
