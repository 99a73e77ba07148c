/* Loops over calls of the C interface, for calls.py: the seconds of one call. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <time.h>

#include <dovetail.h>

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

double seconds_of_bound(dvt_session* session, int count) {
  const double start = now();
  for (int i = 0; i < count; ++i)
    if (dvt_session_run_bound(session) != NULL) abort();
  return (now() - start) / count;
}

double seconds_of_run(dvt_session* session, const dvt_named_tensor* inputs, int inputs_count, int count) {
  const double start = now();
  for (int i = 0; i < count; ++i) {
    dvt_tensors* outputs = NULL;
    if (dvt_session_run(session, inputs, (size_t)inputs_count, &outputs) != NULL) abort();
    dvt_tensors_free(outputs);
  }
  return (now() - start) / count;
}
