// The runtime's part of the C interface.  usage: runtime ACCEL.dvt CPU.dvt images.npy logits.npy
#define _GNU_SOURCE  // pthread_getaffinity_np
#include <pthread.h>
#include <time.h>

#include "tests/c/check.h"

static float* images;
static float* expected;
static const char* input_name;
static const char* output_name;
static int64_t image_shape[] = {1, 1, 8, 8};
static int64_t logits_shape[] = {1, 10};

static dvt_bundle* load(const char* path, dvt_trust trust) {
  dvt_load_options options = {sizeof options, trust};
  dvt_bundle* bundle = NULL;
  OK(dvt_bundle_load_file(path, &options, &bundle));
  return bundle;
}

static void names_of(const dvt_bundle* bundle) {
  dvt_tensor_info info = {sizeof info, NULL, {0, 0, 0}, 0, NULL};
  CHECK(dvt_bundle_input_count(bundle) == 1 && dvt_bundle_output_count(bundle) == 1);
  OK(dvt_bundle_output(bundle, 0, &info));
  output_name = info.name;
  CHECK(info.dtype.code == kDLFloat && info.dtype.bits == 32 && info.ndim == 2 && info.shape[1] == 10);
  OK(dvt_bundle_input(bundle, 0, &info));
  input_name = info.name;
  CHECK(info.ndim == 4 && info.shape[0] == 1 && info.shape[3] == 8);
  FAILS(DVT_CAUSE_INPUT, "1 of 1", dvt_bundle_input(bundle, 1, &info));
  info.struct_size = 8;
  FAILS(DVT_CAUSE_INPUT, "struct_size is 8", dvt_bundle_output(bundle, 0, &info));
}

// Elements that differ from the expected ones, of images [begin, end).
static int run_images(dvt_session* session, int begin, int end) {
  int different = 0;
  for (int i = begin; i < end; ++i) {
    DLTensor image = tensor_of(images + i * kPixels, kDLFloat, 32, 4, image_shape);
    const dvt_named_tensor input = {input_name, &image};
    dvt_tensors* outputs = NULL;
    if (!OK(dvt_session_run(session, &input, 1, &outputs))) return -1;
    const DLTensor* logits = dvt_tensors_find(outputs, output_name);
    CHECK(logits != NULL && logits->ndim == 2 && logits->shape[1] == 10);
    const float* values = logits->data;
    for (int c = 0; c < kClasses; ++c) different += values[c] != expected[i * kClasses + c];
    dvt_tensors_free(outputs);
  }
  return different;
}

static void nulls(void) {
  CHECK(dvt_version() == ((1u << 16) | 1u) && strlen(dvt_kit_version()) > 0);
  CHECK(dvt_status_cause(NULL) == DVT_CAUSE_NONE && dvt_status_count(NULL) == 0);
  CHECK(strcmp(dvt_status_json(NULL), "[]") == 0 && strcmp(dvt_status_what(NULL, 0), "") == 0);
  CHECK(strcmp(dvt_status_text(NULL), "") == 0 && strcmp(dvt_status_where(NULL, 1), "") == 0);
  CHECK(strcmp(dvt_status_why(NULL, 0), "") == 0 && strcmp(dvt_status_hint(NULL, 0), "") == 0);
  dvt_status_free(NULL);
  dvt_free(NULL);
  dvt_bundle_free(NULL);
  dvt_session_free(NULL);
  dvt_tensors_free(NULL);
  CHECK(dvt_tensors_count(NULL) == 0 && dvt_tensors_name(NULL, 0) == NULL && dvt_tensors_view(NULL, 0) == NULL);
  CHECK(dvt_tensors_find(NULL, "x") == NULL && dvt_bundle_input_count(NULL) == 0 && dvt_bundle_output_count(NULL) == 0);
  dvt_bundle* bundle = NULL;
  dvt_session* session = NULL;
  dvt_tensors* tensors = NULL;
  DLManagedTensorVersioned* managed = NULL;
  dvt_tensor_info info = {sizeof info, NULL, {0, 0, 0}, 0, NULL};
  char* json = NULL;
  void* bytes = NULL;
  size_t size = 0;
  const char* null = "null pointer";
  FAILS(DVT_CAUSE_INPUT, null, dvt_bundle_load_file(NULL, NULL, &bundle));
  FAILS(DVT_CAUSE_INPUT, null, dvt_bundle_load_file("x.dvt", NULL, NULL));
  FAILS(DVT_CAUSE_INPUT, null, dvt_bundle_load_memory(NULL, 3, NULL, NULL, &bundle));
  FAILS(DVT_CAUSE_INPUT, null, dvt_bundle_load_memory("abc", 3, NULL, NULL, NULL));
  FAILS(DVT_CAUSE_INPUT, "bundle in memory", dvt_bundle_load_memory(NULL, 0, NULL, NULL, &bundle));
  FAILS(DVT_CAUSE_INPUT, null, dvt_bundle_serialize(NULL, &bytes, &size));
  FAILS(DVT_CAUSE_INPUT, null, dvt_bundle_save(NULL, "x.dvt"));
  FAILS(DVT_CAUSE_INPUT, null, dvt_bundle_input(NULL, 0, &info));
  FAILS(DVT_CAUSE_INPUT, null, dvt_bundle_output(NULL, 0, &info));
  FAILS(DVT_CAUSE_INPUT, null, dvt_bundle_describe(NULL, &json));
  FAILS(DVT_CAUSE_INPUT, null, dvt_session_create(NULL, NULL, &session));
  FAILS(DVT_CAUSE_INPUT, null, dvt_session_run(NULL, NULL, 0, &tensors));
  FAILS(DVT_CAUSE_INPUT, null, dvt_session_bind_input(NULL, "x", NULL));
  FAILS(DVT_CAUSE_INPUT, null, dvt_session_bind_output(NULL, "x", NULL));
  FAILS(DVT_CAUSE_INPUT, null, dvt_session_run_bound(NULL));
  FAILS(DVT_CAUSE_INPUT, null, dvt_session_states(NULL, &tensors));
  FAILS(DVT_CAUSE_INPUT, null, dvt_session_states(NULL, NULL));
  FAILS(DVT_CAUSE_INPUT, null, dvt_session_set_states(NULL, NULL, 0));
  FAILS(DVT_CAUSE_INPUT, null, dvt_session_report(NULL, &json));
  FAILS(DVT_CAUSE_INPUT, null, dvt_session_profile(NULL, NULL, 0, 1, &json));
  FAILS(DVT_CAUSE_INPUT, null, dvt_tensors_export(NULL, 0, &managed));
  FAILS(DVT_CAUSE_INPUT, null, dvt_engines(NULL));
  FAILS(DVT_CAUSE_INPUT, null, dvt_peak(NULL));
  if (OK(dvt_peak(&json))) CHECK(strstr(json, "{\"float32\":{\"gop_per_s\":") == json);
  dvt_free(json);
  json = NULL;
  FAILS(DVT_CAUSE_INPUT, null, dvt_hardware("tiny", NULL));
  CHECK(bundle == NULL && session == NULL && tensors == NULL && managed == NULL && json == NULL);
}

static void facts(void) {
  char* json = NULL;
  if (OK(dvt_engines(&json))) CHECK(strstr(json, "functional") != NULL);
  dvt_free(json);
  if (OK(dvt_hardware(NULL, &json))) CHECK(strstr(json, "1x16x16-ext") != NULL);
  dvt_free(json);
  if (OK(dvt_hardware("tiny,clock_mhz=200", &json))) CHECK(strstr(json, "200") != NULL);
  dvt_free(json);
  FAILS(DVT_CAUSE_INPUT, "nonesuch", dvt_hardware("nonesuch", &json));
  CHECK(json == NULL);
}

static void options(const char* path) {
  dvt_load_options load_options = {sizeof load_options - 1, DVT_TRUST_RECORDED};
  dvt_bundle* bundle = NULL;
  FAILS(DVT_CAUSE_INPUT, "struct_size", dvt_bundle_load_file(path, &load_options, &bundle));
  load_options = (dvt_load_options){0, DVT_TRUST_RECORDED};
  FAILS(DVT_CAUSE_INPUT, "struct_size is 0", dvt_bundle_load_file(path, &load_options, &bundle));
  load_options = (dvt_load_options){sizeof load_options, 7};
  FAILS(DVT_CAUSE_INPUT, "it is 7, outside 0 to 2", dvt_bundle_load_file(path, &load_options, &bundle));
  FAILS(DVT_CAUSE_INPUT, "nonesuch.dvt", dvt_bundle_load_file("/nonesuch.dvt", NULL, &bundle));
  // A caller built with a later header: what this library does not know must be zero.
  struct {
    dvt_load_options known;
    int64_t unknown;
  } later = {{sizeof later, DVT_TRUST_NEVER}, 0};
  OK(dvt_bundle_load_file(path, &later.known, &bundle));
  dvt_bundle_free(bundle);
  later.unknown = 1;
  FAILS(DVT_CAUSE_INPUT, "is set", dvt_bundle_load_file(path, &later.known, &bundle));

  bundle = load(path, DVT_TRUST_RECORDED);
  dvt_session* session = NULL;
  dvt_session_options wrong = {.struct_size = 3};
  FAILS(DVT_CAUSE_INPUT, "struct_size is 3", dvt_session_create(bundle, &wrong, &session));
  wrong = (dvt_session_options){.struct_size = sizeof wrong, .engine = "nonesuch"};
  FAILS(DVT_CAUSE_INPUT, "nonesuch", dvt_session_create(bundle, &wrong, &session));
  wrong = (dvt_session_options){.struct_size = sizeof wrong, .threads = -1};
  FAILS(DVT_CAUSE_INPUT, "threads", dvt_session_create(bundle, &wrong, &session));
  wrong = (dvt_session_options){.struct_size = sizeof wrong, .memory = "ideal"};
  FAILS(DVT_CAUSE_INPUT, "no clock", dvt_session_create(bundle, &wrong, &session));
  wrong = (dvt_session_options){.struct_size = sizeof wrong, .engine = "cycle", .memory = "nonesuch"};
  FAILS(DVT_CAUSE_INPUT, "nonesuch", dvt_session_create(bundle, &wrong, &session));
  wrong = (dvt_session_options){.struct_size = sizeof wrong, .engine = "cycle", .clock_mhz = -1};
  FAILS(DVT_CAUSE_INPUT, "clock", dvt_session_create(bundle, &wrong, &session));
  dvt_callbacks callbacks = {.struct_size = 8};
  wrong = (dvt_session_options){.struct_size = sizeof wrong, .callbacks = &callbacks};
  FAILS(DVT_CAUSE_INPUT, "callbacks", dvt_session_create(bundle, &wrong, &session));
  callbacks = (dvt_callbacks){.struct_size = sizeof callbacks, .allocate = (void* (*)(void*, size_t, size_t))abort};
  FAILS(DVT_CAUSE_INPUT, "both or neither", dvt_session_create(bundle, &wrong, &session));
  CHECK(session == NULL);
  dvt_bundle_free(bundle);
}

static void damaged(const char* path) {
  size_t size = 0;
  unsigned char* bytes = read_bytes(path, &size);
  dvt_bundle* bundle = NULL;
  for (size_t cut = 0; cut < size; cut += 1 + cut / 7) {
    unsigned char* part = malloc(cut + 1);  // of its own size, so that a sanitizer sees reads beyond its end
    memcpy(part, bytes, cut);
    FAILS(DVT_CAUSE_INPUT, "cut.dvt", dvt_bundle_load_memory(part, cut, "cut.dvt", NULL, &bundle));
    free(part);
  }
  for (size_t at = 0; at < size; at += 1 + size / 211) {
    bytes[at] ^= 0x41;
    dvt_status* status = dvt_bundle_load_memory(bytes, size, "damaged.dvt", NULL, &bundle);
    CHECK((status == NULL) == (bundle != NULL));
    dvt_status_free(status);
    dvt_bundle_free(bundle);
    bundle = NULL;
    bytes[at] ^= 0x41;
  }
  if (OK(dvt_bundle_load_memory(bytes, size, "whole.dvt", NULL, &bundle))) {
    void* again = NULL;
    size_t again_size = 0;
    OK(dvt_bundle_serialize(bundle, &again, &again_size));
    CHECK(again_size == size && memcmp(again, bytes, size) == 0);
    dvt_free(again);
    FAILS(DVT_CAUSE_INPUT, ".dvt", dvt_bundle_save(bundle, "bundle.bin"));
    char* json = NULL;
    OK(dvt_bundle_describe(bundle, &json));
    CHECK(strstr(json, "\"targets\":{") != NULL && strstr(json, "\"machine_code\"") != NULL);
    dvt_free(json);
  }
  dvt_bundle_free(bundle);
  free(bytes);
}

static void tensors(const char* path) {
  dvt_bundle* bundle = load(path, DVT_TRUST_RECORDED);
  dvt_session* session = NULL;
  OK(dvt_session_create(bundle, NULL, &session));
  char* json = NULL;
  FAILS(DVT_CAUSE_INPUT, "nothing to report", dvt_session_report(session, &json));
  dvt_tensors* outputs = NULL;
  DLTensor image = tensor_of(images, kDLFloat, 32, 4, image_shape);
  dvt_named_tensor inputs[] = {{input_name, &image}, {input_name, &image}};
  FAILS(DVT_CAUSE_INPUT, input_name, dvt_session_run(session, NULL, 0, &outputs));
  FAILS(DVT_CAUSE_INPUT, "twice", dvt_session_run(session, inputs, 2, &outputs));
  inputs[0].tensor = NULL;
  FAILS(DVT_CAUSE_INPUT, "null pointer", dvt_session_run(session, inputs, 1, &outputs));
  inputs[0].name = NULL;
  FAILS(DVT_CAUSE_INPUT, "null pointer", dvt_session_run(session, inputs, 1, &outputs));
  inputs[0] = (dvt_named_tensor){"nonesuch", &image};
  FAILS(DVT_CAUSE_INPUT, "nonesuch", dvt_session_run(session, inputs, 1, &outputs));
  inputs[0].name = input_name;
  FAILS(DVT_CAUSE_INPUT, "null pointer", dvt_session_run(session, inputs, 1, NULL));
  DLTensor wrong = image;
  inputs[0].tensor = &wrong;
#define WRONG(member, value, part)                                              \
  wrong = image;                                                                \
  wrong.member = value;                                                         \
  FAILS(DVT_CAUSE_INPUT, part, dvt_session_run(session, inputs, 1, &outputs))
  int64_t negative[] = {1, 1, 8, -8}, huge[] = {INT64_MAX, INT64_MAX, 8, 8}, other[] = {1, 1, 8, 4};
  int64_t transposed[] = {64, 64, 1, 8}, contiguous[] = {64, 64, 8, 1};
  WRONG(device.device_type, kDLCUDA, "device");
  WRONG(dtype.lanes, 4, "4 lanes");
  WRONG(dtype.code, 200, "type code 200");
  WRONG(dtype.bits, 64, "float64");
  WRONG(ndim, -1, "dimensions");
  WRONG(ndim, 1000000, "dimensions");
  WRONG(shape, NULL, "no shape");
  WRONG(shape, negative, "-8");
  WRONG(shape, huge, "address space");
  WRONG(shape, other, "[1, 1, 8, 4]");
  WRONG(strides, transposed, "strides");
  WRONG(data, NULL, "no data");
  WRONG(byte_offset, 1, "address");
  CHECK(outputs == NULL);
  wrong = image;
  wrong.strides = contiguous;
  OK(dvt_session_run(session, inputs, 1, &outputs));
  CHECK(dvt_tensors_count(outputs) == 1 && strcmp(dvt_tensors_name(outputs, 0), output_name) == 0);
  CHECK(dvt_tensors_find(outputs, "nonesuch") == NULL && dvt_tensors_view(outputs, 1) == NULL);

  // An exported tensor outlives everything else.
  DLManagedTensorVersioned* kept = NULL;
  FAILS(DVT_CAUSE_INPUT, "there are 1 tensors", dvt_tensors_export(outputs, 1, &kept));
  OK(dvt_tensors_export(outputs, 0, &kept));
  CHECK(kept->dl_tensor.data == dvt_tensors_view(outputs, 0)->data && kept->version.major == 1);
  if (OK(dvt_session_report(session, &json))) CHECK(strstr(json, "\"target\":\"accel\"") != NULL);
  dvt_free(json);
  OK(dvt_session_profile(session, inputs, 1, 3, &json));
  CHECK(strstr(json, "\"repeat\":3") != NULL && strstr(json, "\"median\"") != NULL);
  dvt_free(json);
  FAILS(DVT_CAUSE_INPUT, "repeat", dvt_session_profile(session, inputs, 1, 0, &json));
  dvt_bundle_free(bundle);
  CHECK(run_images(session, 0, 3) == 0);  // the session keeps what it needs of the bundle
  dvt_tensors_free(outputs);
  dvt_session_free(session);
  CHECK(memcmp(kept->dl_tensor.data, expected, kClasses * sizeof(float)) == 0);
  kept->deleter(kept);
}

static void bound(const char* path, const char* engine) {
  dvt_bundle* bundle = load(path, DVT_TRUST_ALWAYS);
  dvt_session* session = NULL;
  dvt_session_options options = {.struct_size = sizeof options, .engine = engine, .threads = 2};
  OK(dvt_session_create(bundle, &options, &session));
  _Alignas(64) unsigned char memory[kPixels * sizeof(float) + 64];
  float logits[kClasses];
  DLTensor output = tensor_of(logits, kDLFloat, 32, 2, logits_shape);
  FAILS(DVT_CAUSE_INPUT, "not bound", dvt_session_run_bound(session));
  FAILS(DVT_CAUSE_INPUT, output_name, dvt_session_bind_output(session, "nonesuch", &output));
  FAILS(DVT_CAUSE_INPUT, "[1, 10]", dvt_session_bind_input(session, input_name, &output));
  OK(dvt_session_bind_output(session, output_name, &output));
  int different = 0;
  for (int shift = 0; shift < 2; ++shift) {  // an address that suits kernels, and one that does not
    DLTensor image = tensor_of(memory, kDLFloat, 32, 4, image_shape);
    image.byte_offset = shift == 0 ? 0 : 4;
    OK(dvt_session_bind_input(session, input_name, &image));
    for (int i = 0; i < kImages; ++i) {
      memcpy(memory + image.byte_offset, images + i * kPixels, kPixels * sizeof(float));
      if (!OK(dvt_session_run_bound(session))) break;
      for (int c = 0; c < kClasses; ++c) different += logits[c] != expected[i * kClasses + c];
    }
  }
  CHECK(different == 0);
  CHECK(run_images(session, 0, 3) == 0);  // the two ways to run do not disturb each other
  OK(dvt_session_bind_output(session, output_name, NULL));
  OK(dvt_session_run_bound(session));
  OK(dvt_session_bind_input(session, input_name, NULL));
  FAILS(DVT_CAUSE_INPUT, "not bound", dvt_session_run_bound(session));
  // A bundle without states.
  dvt_tensors* states = NULL;
  OK(dvt_session_states(session, &states));
  CHECK(dvt_tensors_count(states) == 0);
  dvt_tensors_free(states);
  OK(dvt_session_set_states(session, NULL, 0));
  const dvt_named_tensor none = {output_name, &output};
  FAILS(DVT_CAUSE_INPUT, "the bundle has no states", dvt_session_set_states(session, &none, 1));
  dvt_session_free(session);
  dvt_bundle_free(bundle);
}

static void trust(const char* path) {
  dvt_bundle* bundle = load(path, DVT_TRUST_NEVER);
  dvt_session* session = NULL;
  FAILS(DVT_CAUSE_INPUT, "machine code", dvt_session_create(bundle, NULL, &session));
  char* json = NULL;
  OK(dvt_bundle_describe(bundle, &json));
  CHECK(strstr(json, "\"machine_code\":[\"cpu\"]") != NULL && strstr(json, "\"may_run\":false") != NULL);
  dvt_free(json);
  dvt_bundle_free(bundle);
}

struct seen {
  int asked, stop, progress;
  size_t allocated, released;
};
static int cancelled(void* user) { return ++((struct seen*)user)->asked > 5 && ((struct seen*)user)->stop; }
static void progress(void* user, const char* what, int64_t done, int64_t all) {
  CHECK(what != NULL && done >= 0 && all >= 0);
  ++((struct seen*)user)->progress;
}
static void* allocate(void* user, size_t bytes, size_t alignment) {
  ((struct seen*)user)->allocated += bytes;
  return ((struct seen*)user)->stop ? NULL : aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}
static void release(void* user, void* memory, size_t bytes) {
  ((struct seen*)user)->released += bytes;
  free(memory);
}

static void callbacks(const char* path) {
  dvt_bundle* bundle = load(path, DVT_TRUST_ALWAYS);
  struct seen seen = {0};
  dvt_callbacks calls = {sizeof calls, &seen, NULL, progress, NULL, allocate, release};
  dvt_session_options options = {.struct_size = sizeof options, .callbacks = &calls};
  dvt_session* session = NULL;
  OK(dvt_session_create(bundle, &options, &session));
  CHECK(run_images(session, 0, 4) == 0);
  CHECK(seen.allocated == 4 * kClasses * sizeof(float) && seen.released == seen.allocated);
  seen.stop = 1;  // the allocator gives nothing
  DLTensor image = tensor_of(images, kDLFloat, 32, 4, image_shape);
  const dvt_named_tensor input = {input_name, &image};
  dvt_tensors* outputs = NULL;
  FAILS(DVT_CAUSE_RESOURCE, "allocator", dvt_session_run(session, &input, 1, &outputs));
  dvt_session_free(session);

  // Stopped while it profiles, and runs again afterwards.
  seen = (struct seen){.stop = 1};
  calls.allocate = NULL;
  calls.release = NULL;
  calls.cancelled = cancelled;
  OK(dvt_session_create(bundle, &options, &session));
  char* json = NULL;
  FAILS(DVT_CAUSE_WORK, "stopped", dvt_session_profile(session, &input, 1, 1000000, &json));
  CHECK(seen.asked > 0 && seen.progress > 0 && json == NULL);
  seen.stop = 0;
  CHECK(run_images(session, 0, 3) == 0);
  dvt_session_free(session);
  dvt_bundle_free(bundle);
}

struct job {
  dvt_session* session;
  dvt_bundle* bundle;
  int begin, end, different;
};
static void* work(void* argument) {
  struct job* job = argument;
  job->different = run_images(job->session, job->begin, job->end);
  return NULL;
}

// Profiles for hours, until it is stopped.
static void* profile(void* argument) {
  struct job* job = argument;
  DLTensor image = tensor_of(images, kDLFloat, 32, 4, image_shape);
  const dvt_named_tensor input = {input_name, &image};
  char* json = NULL;
  FAILS(DVT_CAUSE_WORK, "dvt_session_stop", dvt_session_profile(job->session, &input, 1, 1000000, &json));
  CHECK(json == NULL);
  job->end = 1;
  return NULL;
}

static void stop(const char* path, const char* engine) {
  dvt_bundle* bundle = load(path, DVT_TRUST_ALWAYS);
  dvt_session_options options = {.struct_size = sizeof options, .engine = engine, .threads = 2};
  struct job job = {0};
  OK(dvt_session_create(bundle, &options, &job.session));
  dvt_session_stop(job.session);
  dvt_session_stop(NULL);
  CHECK(run_images(job.session, 0, 3) == 0);
  pthread_t running;
  pthread_create(&running, NULL, profile, &job);
  const struct timespec moment = {0, 50000000};
  nanosleep(&moment, NULL);
  dvt_session_stop(job.session);
  pthread_join(running, NULL);
  CHECK(job.end == 1 && run_images(job.session, 0, 3) == 0);
  dvt_session_free(job.session);
  dvt_bundle_free(bundle);
}

// A session does not change on which processors the program's thread may run, and may be freed after that thread ended.
static void* create(void* argument) {
  struct job* job = argument;
  cpu_set_t before, after;
  CHECK(pthread_getaffinity_np(pthread_self(), sizeof before, &before) == 0);
  const dvt_session_options options = {.struct_size = sizeof options, .threads = 2};
  OK(dvt_session_create(job->bundle, &options, &job->session));
  CHECK(pthread_getaffinity_np(pthread_self(), sizeof after, &after) == 0 && CPU_EQUAL(&before, &after));
  return NULL;
}

static void threads_of_the_program(const char* path) {
  struct job job = {.bundle = load(path, DVT_TRUST_ALWAYS)};
  pthread_t creating;
  pthread_create(&creating, NULL, create, &job);
  pthread_join(creating, NULL);
  CHECK(run_images(job.session, 0, 3) == 0);
  dvt_session_free(job.session);
  dvt_bundle_free(job.bundle);
}

static void threads(const char* path) {
  dvt_bundle* bundle = load(path, DVT_TRUST_ALWAYS);
  dvt_session* sessions[2] = {NULL, NULL};
  dvt_session_options options = {.struct_size = sizeof options, .threads = 1};
  for (int i = 0; i < 2; ++i) OK(dvt_session_create(bundle, &options, &sessions[i]));
  // Two threads with a session each, and two that share one.
  struct job jobs[4] = {{sessions[0], bundle, 0, 90, 0},
                        {sessions[1], bundle, 90, 180, 0},
                        {sessions[0], bundle, 180, 270, 0},
                        {sessions[1], bundle, 270, 360, 0}};
  pthread_t running[4];
  for (int i = 0; i < 4; ++i) pthread_create(&running[i], NULL, work, &jobs[i]);
  for (int i = 0; i < 4; ++i) {
    pthread_join(running[i], NULL);
    CHECK(jobs[i].different == 0);
  }
  for (int i = 0; i < 2; ++i) dvt_session_free(sessions[i]);
  dvt_bundle_free(bundle);
}

// Registers, memory, and a launch of no instructions.
static void machine(void) {
  enum { kControl = 0x00, kStatus = 0x04, kId = 0x2c };
  dvt_session_options options = {.struct_size = sizeof options, .engine = "cycle"};
  dvt_machine* machine = NULL;
  uint32_t value = 0;
  if (!OK(dvt_machine_create("1x16x16-ext,accelerators=2", &options, 0x40000000, 8192, &machine))) return;
  CHECK(dvt_machine_accelerators(machine) == 2 && dvt_machine_accelerators(NULL) == 0);
  unsigned char* memory = dvt_machine_memory(machine);
  CHECK((uintptr_t)memory % 64 == 0 && dvt_machine_memory(NULL) == NULL);
  for (int i = 0; i < 8192; ++i) CHECK(memory[i] == 0);
  memset(memory, 1, 8192);
  OK(dvt_machine_read(machine, 1, kId, &value));
  CHECK(value == 0x4c545644);
  OK(dvt_machine_write(machine, 1, kControl, 1));
  OK(dvt_machine_read(machine, 1, kStatus, &value));
  CHECK(value == 2);
  OK(dvt_machine_read(machine, 0, kStatus, &value));
  CHECK(value == 0);
  FAILS(DVT_CAUSE_INPUT, "numbered from 0", dvt_machine_read(machine, 2, kId, &value));
  FAILS(DVT_CAUSE_INPUT, "no register there", dvt_machine_write(machine, 0, 0x800, 0));
  dvt_machine_free(machine);
  dvt_machine_free(NULL);
  const char* null = "null pointer";
  FAILS(DVT_CAUSE_INPUT, null, dvt_machine_read(NULL, 0, 0, &value));
  FAILS(DVT_CAUSE_INPUT, null, dvt_machine_write(NULL, 0, 0, 0));
  FAILS(DVT_CAUSE_INPUT, null, dvt_machine_create(NULL, NULL, 0, 0, &machine));
  FAILS(DVT_CAUSE_INPUT, null, dvt_machine_create("1x16x16", NULL, 0, 0, NULL));
  FAILS(DVT_CAUSE_INPUT, "32 bits", dvt_machine_create("1x16x16", NULL, 0xfffff000, 8192, &machine));
  options.engine = "systemc";
  FAILS(DVT_CAUSE_INPUT, "functional, cycle or rtl", dvt_machine_create("1x16x16", &options, 0, 0, &machine));
}

int main(int count, char** arguments) {
  if (count != 5) return 2;
  const char *accel = arguments[1], *cpu = arguments[2];
  unsigned char *images_file = NULL, *logits_file = NULL;
  images = npy_elements(arguments[3], &images_file);
  expected = npy_elements(arguments[4], &logits_file);
  nulls();
  facts();
  machine();
  dvt_bundle* bundle = load(accel, DVT_TRUST_RECORDED);
  names_of(bundle);
  options(accel);
  damaged(accel);
  damaged(cpu);
  tensors(accel);
  bound(accel, "functional");
  bound(cpu, NULL);
  trust(cpu);
  callbacks(accel);
  threads(accel);
  threads(cpu);
  stop(accel, "cycle");
  stop(cpu, NULL);
  threads_of_the_program(cpu);
  dvt_bundle_free(bundle);
  free(images_file);
  free(logits_file);
  printf(failures == 0 ? "all checks hold\n" : "%d checks failed\n", failures);
  return failures != 0;
}
