/* One run of emlearn.c, for peers.py: SAMPLE is a file with the input's elements. */
#include <stdio.h>
#include <stdlib.h>

int emlearn_run(const float* input, float* output, void* arena);

static const float input[INPUTS] = {
#include SAMPLE
};
static float output[OUTPUTS];

int main(int argc, char** argv) {
  long runs = argc > 1 ? atol(argv[1]) : 1;
  int status = 0;
  for (; runs > 0; --runs) status |= emlearn_run(input, output, 0);
  for (int i = 0; i < OUTPUTS; ++i) printf("%.9g ", (double)output[i]);
  printf("\n");
  return status;
}
