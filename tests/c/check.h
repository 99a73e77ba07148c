// What the C programs of this folder share: checks that count failures, and the digits' files.
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dovetail.h>

static int failures = 0;

#define CHECK(condition)                                             \
  do {                                                               \
    if (!(condition)) {                                              \
      printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      ++failures;                                                    \
    }                                                                \
  } while (0)

// The call succeeds.
#define OK(call) check_ok(call, __FILE__, __LINE__)
static inline int check_ok(dvt_status* status, const char* file, int line) {
  const int ok = status == NULL;
  if (!ok) {
    printf("%s:%d: %s\n", file, line, dvt_status_text(status));
    ++failures;
  }
  dvt_status_free(status);
  return ok;
}

// The call fails with this cause, and its text has `part`.
#define FAILS(cause, part, call) check_fails(call, cause, part, __FILE__, __LINE__)
static inline void check_fails(dvt_status* status, dvt_cause cause, const char* part, const char* file, int line) {
  if (dvt_status_cause(status) != cause || strstr(dvt_status_text(status), part) == NULL ||
      strstr(dvt_status_json(status), "\"hint\"") == NULL || dvt_status_what(status, 0)[0] == '\0') {
    printf("%s:%d: cause %d, not %d with \"%s\": %s\n", file, line, (int)dvt_status_cause(status), (int)cause, part,
           dvt_status_text(status));
    ++failures;
  }
  dvt_status_free(status);
}

// A file's bytes; the caller frees them.
static inline unsigned char* read_bytes(const char* path, size_t* size) {
  FILE* file = fopen(path, "rb");
  if (file == NULL) {
    printf("cannot open %s\n", path);
    exit(2);
  }
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  unsigned char* bytes = malloc(*size + 1);
  if (fread(bytes, 1, *size, file) != *size) exit(2);
  fclose(file);
  return bytes;
}

// The elements of a .npy; `base` is freed.
static inline void* npy_elements(const char* path, unsigned char** base) {
  size_t size = 0;
  *base = read_bytes(path, &size);
  return *base + 10 + (size_t)((*base)[8] | (*base)[9] << 8);
}

static inline DLTensor tensor_of(void* data, DLDataTypeCode code, int bits, int32_t ndim, int64_t* shape) {
  DLTensor tensor;
  memset(&tensor, 0, sizeof tensor);
  tensor.data = data;
  tensor.device.device_type = kDLCPU;
  tensor.dtype.code = (uint8_t)code;
  tensor.dtype.bits = (uint8_t)bits;
  tensor.dtype.lanes = 1;
  tensor.ndim = ndim;
  tensor.shape = shape;
  return tensor;
}

enum { kImages = 360, kPixels = 64, kClasses = 10 };
