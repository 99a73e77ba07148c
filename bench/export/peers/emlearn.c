/* A perceptron that emlearn wrote (peer.h) as a function that no caller sees the inside of. */
#include "peer.h"

int emlearn_run(const float* input, float* output, void* arena);
int emlearn_run(const float* input, float* output, void* arena) {
  (void)arena;
  return peer_regress(input, INPUTS, output, OUTPUTS);
}
