/*
 * dictionary: the benchmark by which users of Swift's Static Linux SDK found that musl's malloc
 * does not scale ("Performance penalty from the Static Linux SDK", Swift forums), in C++.
 *
 * Version 1: a dictionary from arrays of 32 integers to integers is built; then all threads look
 * up entries of it, each time with a newly made array as the key; then half of it is removed.
 * Version 2: each thread has dictionaries of its own, from strings to arrays. It builds one by
 * appending to arrays found by newly made strings, removes half of it, and drops it; then the
 * next. The work does not depend on the number of threads, it is shared out among them.
 *
 *   dictionary 1 [threads 1] [lookups 6000000] [entries 50000]
 *   dictionary 2 [threads 1] [dictionaries 60] [entries of each 5000]
 *
 * Prints the operations on dictionaries per second; what is found must be what was put in.
 */
#include "common.h"
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace {

constexpr size_t key_length = 32, appends_per_entry = 20;

using Key = std::vector<int64_t>;

struct KeyHash {
    size_t operator()(const Key &key) const
    {
        uint64_t hash = key.size();
        for (int64_t number : key)
            hash = (hash ^ static_cast<uint64_t>(number)) * UINT64_C(0x9E3779B97F4A7C15);
        return hash ^ hash >> 32;
    }
};

using Numbers = std::unordered_map<Key, int64_t, KeyHash>;
using Lists = std::unordered_map<std::string, std::vector<int64_t>>;

Key make_key(int64_t number)
{
    return Key(key_length, number);
}

/* Longer than what a string holds inside of itself. */
std::string make_name(size_t number)
{
    return "a name that is allocated, number " + std::to_string(number);
}

/* Runs body(thread) in as many threads; returns the sum of what it returns. */
template <class Body> uint64_t in_threads(size_t count, Body body)
{
    std::vector<uint64_t> sums(count);
    std::vector<std::thread> threads;
    for (size_t t = 0; t < count; t++)
        threads.emplace_back([&, t] {
            spread(t);
            sums[t] = body(t);
        });
    uint64_t sum = 0;
    for (size_t t = 0; t < count; t++) {
        threads[t].join();
        sum += sums[t];
    }
    return sum;
}

uint64_t look_up(const Numbers &numbers, size_t first, size_t lookups)
{
    uint64_t sum = 0;
    for (size_t i = first; i < first + lookups; i++) {
        int64_t wanted = static_cast<int64_t>(i % numbers.size());
        auto found = numbers.find(make_key(wanted));
        if (found == numbers.end() || found->second != wanted)
            fail("dictionary: entry %lld is lost", static_cast<long long>(wanted));
        sum += static_cast<uint64_t>(found->second);
    }
    return sum;
}

void version_one(size_t threads, size_t lookups, size_t entries)
{
    uint64_t start_ns = now_ns();
    Numbers numbers;
    for (size_t i = 0; i < entries; i++)
        numbers[make_key(static_cast<int64_t>(i))] = static_cast<int64_t>(i);
    size_t share = lookups / threads;
    uint64_t sum = in_threads(threads, [&](size_t thread) {
        return look_up(numbers, thread * share, share);
    });
    for (size_t i = 0; i < entries; i += 2)
        sum += numbers.erase(make_key(static_cast<int64_t>(i)));
    report("dictionary 1", entries + share * threads + (entries + 1) / 2, start_ns, sum);
}

uint64_t use_lists(size_t entries)
{
    Lists lists;
    uint64_t sum = 0;
    for (size_t i = 0; i < entries * appends_per_entry; i++)
        lists[make_name(i % entries)].push_back(static_cast<int64_t>(i));
    for (size_t i = 0; i < entries; i += 2) {
        auto found = lists.find(make_name(i));
        if (found == lists.end() || found->second.size() != appends_per_entry ||
            found->second.front() != static_cast<int64_t>(i))
            fail("dictionary: entry %zu is lost", i);
        sum += static_cast<uint64_t>(found->second.back());
        lists.erase(found);
    }
    return sum;
}

void version_two(size_t threads, size_t dictionaries, size_t entries)
{
    uint64_t start_ns = now_ns();
    size_t share = dictionaries / threads;
    uint64_t sum = in_threads(threads, [&](size_t) {
        uint64_t part = 0;
        for (size_t i = 0; i < share; i++)
            part += use_lists(entries);
        return part;
    });
    uint64_t operations = share * threads * (entries * appends_per_entry + 2 * ((entries + 1) / 2));
    report("dictionary 2", operations, start_ns, sum);
}

} // namespace

int main(int argc, char **argv)
{
    size_t version = argument(argc, argv, 1, 1), threads = argument(argc, argv, 2, 1);
    if (version == 1)
        version_one(threads, argument(argc, argv, 3, 6000000), argument(argc, argv, 4, 50000));
    else if (version == 2)
        version_two(threads, argument(argc, argv, 3, 60), argument(argc, argv, 4, 5000));
    else
        fail("dictionary: there are versions 1 and 2");
    return 0;
}
