/* zstd on many small inputs, each with a context of its own, and one large with two workers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum { LARGE_BYTES = 32 << 20, SMALL_BYTES = 8000, SMALL_ROUNDS = 3000 };

static void make_text(char *text, size_t size) {
  unsigned state = 1;
  for (size_t i = 0; i < size; i++) {
    state = state * 1103515245 + 12345;
    text[i] = (char)('a' + (state >> 16) % ((i >> 8) % 20 + 2));
  }
}

static size_t compress(char *target, size_t capacity, const char *text, size_t size, int workers) {
  ZSTD_CCtx *context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_nbWorkers, workers);
  size_t length = ZSTD_compress2(context, target, capacity, text, size);
  ZSTD_freeCCtx(context);
  return length;
}

int main(void) {
  size_t capacity = ZSTD_compressBound(LARGE_BYTES), total = 0;
  char *text = malloc(LARGE_BYTES), *target = malloc(capacity), *back = malloc(LARGE_BYTES);
  if (text == NULL || target == NULL || back == NULL) return 1;
  make_text(text, LARGE_BYTES);
  for (int i = 0; i < SMALL_ROUNDS; i++)
    total += compress(target, capacity, text + i * 1000, SMALL_BYTES, 0);
  size_t length = compress(target, capacity, text, LARGE_BYTES, 2);
  size_t read = ZSTD_decompress(back, LARGE_BYTES, target, length);
  printf("%zu %zu %d\n", total, length, read == LARGE_BYTES && memcmp(text, back, read) == 0);
  free(text), free(target), free(back);
  return 0;
}
