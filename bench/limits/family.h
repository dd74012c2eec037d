/*
 * The rest of the malloc family, by way of realloc and of what the file that includes this defines:
 *
 *   void *allocate_aligned(size_t alignment, size_t size);   null with ENOMEM if there is none
 */
EXPORT void *reallocarray(void *block, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(block, bytes);
}

static int power_of_two(size_t number)
{
    return number && !(number & (number - 1));
}

EXPORT void *memalign(size_t alignment, size_t size)
{
    if (power_of_two(alignment))
        return allocate_aligned(alignment, size);
    errno = EINVAL;
    return NULL;
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

EXPORT int posix_memalign(void **result, size_t alignment, size_t size)
{
    if (!power_of_two(alignment) || alignment % sizeof(void *))
        return EINVAL;
    int before = errno;
    void *block = allocate_aligned(alignment, size);
    errno = before;
    if (!block)
        return ENOMEM;
    *result = block;
    return 0;
}

EXPORT void *valloc(size_t size)
{
    return allocate_aligned((size_t)sysconf(_SC_PAGESIZE), size);
}

EXPORT void *pvalloc(size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return allocate_aligned(page, size > PTRDIFF_MAX ? size : (size + page - 1) & -page);
}
