/* One run of a model that BakeNN compiled, for peers.py: SAMPLE is a file with the input's elements. */
#include <stdio.h>
#include <stdlib.h>

#include "bknn_peer.h"

static const int8_t input[BKNN_PEER_INPUT_SIZE] = {
#include SAMPLE
};
static int8_t output[BKNN_PEER_OUTPUT_SIZE];
static union {
  double aligned;
  uint8_t bytes[BKNN_PEER_ARENA_SIZE + BKNN_PEER_ARENA_ALIGNMENT];
} arena;

int main(int argc, char** argv) {
  long runs = argc > 1 ? atol(argv[1]) : 1;
  uint8_t* aligned = arena.bytes;
  while ((uintptr_t)aligned % BKNN_PEER_ARENA_ALIGNMENT != 0) ++aligned;
  for (; runs > 0; --runs) bknn_peer_infer(aligned, input, output);
  for (unsigned i = 0; i < BKNN_PEER_OUTPUT_SIZE; ++i) printf("%d ", output[i]);
  printf("\n");
  return 0;
}
