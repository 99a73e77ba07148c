// A program of version 1.0: client-1.0.o is this file, compiled by `gcc -std=c11 -O1 -c` with that version's header.
// It is never compiled again: the test "c/an old object" links it with the library of today.  usage: client BUNDLE.dvt
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dovetail.h>

static void require_ok(dvt_status* status) {
  if (status == NULL) return;
  printf("%s\n%s\n", dvt_status_text(status), dvt_status_json(status));
  dvt_status_free(status);
  exit(1);
}

int main(int count, char** arguments) {
  if (count != 2 || dvt_version() < ((1u << 16) | 0u)) return 2;
  dvt_load_options load = {sizeof load, DVT_TRUST_RECORDED};
  dvt_bundle* bundle = NULL;
  require_ok(dvt_bundle_load_file(arguments[1], &load, &bundle));
  dvt_session_options options = {sizeof options, "functional", 1, NULL, 0, 0, NULL, NULL, 0};
  dvt_session* session = NULL;
  require_ok(dvt_session_create(bundle, &options, &session));
  dvt_tensor_info info = {sizeof info, NULL, {0, 0, 0}, 0, NULL};
  require_ok(dvt_bundle_input(bundle, 0, &info));
  size_t bytes = info.dtype.bits / 8u;
  int64_t shape[8];
  for (int32_t i = 0; i < info.ndim && i < 8; ++i) {
    shape[i] = info.shape[i];
    bytes *= (size_t)shape[i];
  }
  DLTensor tensor;
  memset(&tensor, 0, sizeof tensor);
  tensor.data = calloc(1, bytes);
  tensor.device.device_type = kDLCPU;
  tensor.ndim = info.ndim;
  tensor.dtype = info.dtype;
  tensor.shape = shape;
  const dvt_named_tensor input = {info.name, &tensor};
  dvt_tensors* outputs = NULL;
  require_ok(dvt_session_run(session, &input, 1, &outputs));
  printf("ran: %d outputs\n", (int)dvt_tensors_count(outputs));
  dvt_tensors_free(outputs);
  dvt_session_free(session);
  dvt_bundle_free(bundle);
  free(tensor.data);
  return 0;
}
