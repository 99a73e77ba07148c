// Calls of the whole interface at the same time: each kind of call in two threads, and each next to all others. With
// ThreadSanitizer (./dev test --tsan) it finds data races.  usage: threads DIGITS_FOLDER matmul.s logits.npy
// EMPTY_FOLDER
#include <pthread.h>

#include "tests/c/check.h"

enum { kThreads = 4 };

static char digits[4096], folder[4096];
static dvt_model *int8_model, *float_model;
static dvt_bundle *accel, *cpu;
static dvt_session *shared_accel, *shared_cpu;
static char* matmul;
static float* images;
static int64_t* labels;
static const float* expected;

static dvt_compile_options options_for(const char* targets) {
  return (dvt_compile_options){
      .struct_size = sizeof(dvt_compile_options), .targets = targets, .hardware = "1x16x16-ext", .cpu = "baseline"};
}

// Runs some images, and compares their logits.
static void run(dvt_session* session, int begin, int end) {
  int64_t shape[] = {1, 1, 8, 8};
  for (int i = begin; i < end; ++i) {
    DLTensor image = tensor_of(images + i * kPixels, kDLFloat, 32, 4, shape);
    const dvt_named_tensor input = {"image", &image};
    dvt_tensors* outputs = NULL;
    if (OK(dvt_session_run(session, &input, 1, &outputs)))
      CHECK(memcmp(dvt_tensors_view(outputs, 0)->data, expected + i * kClasses, kClasses * sizeof(float)) == 0);
    dvt_tensors_free(outputs);
  }
}

static void run_own_session(const dvt_bundle* bundle, const char* engine, int threads) {
  const dvt_session_options options = {.struct_size = sizeof options, .engine = engine, .threads = threads};
  dvt_session* session = NULL;
  if (OK(dvt_session_create(bundle, &options, &session))) run(session, 0, 4);
  dvt_session_free(session);
}

static void own_sessions(int thread) {
  run_own_session(accel, "cycle", 1);
  run_own_session(accel, NULL, 2);
  run_own_session(cpu, NULL, 1 + thread % 2);
}

static void shared_sessions(int thread) {
  run(shared_accel, thread, thread + 4);
  run(shared_cpu, thread, thread + 4);
  int64_t shape[] = {kImages / 4, 1, 8, 8}, label_shape[] = {kImages / 4};
  DLTensor all = tensor_of(images, kDLFloat, 32, 4, shape), classes = tensor_of(labels, kDLInt, 64, 1, label_shape);
  const dvt_named_tensor samples = {"image", &all};
  char* json = NULL;
  OK(dvt_session_evaluate(shared_cpu, &samples, 1, &classes, NULL, NULL, &json));
  dvt_free(json);
  OK(dvt_session_report(shared_cpu, &json));
  dvt_free(json);
}

static void load(int thread) {
  char path[8192];
  snprintf(path, sizeof path, "%s/loaded-%d.dvt", folder, thread);
  dvt_bundle* bundle = NULL;
  char* json = NULL;
  OK(dvt_bundle_save(cpu, path));
  if (OK(dvt_bundle_load_file(path, NULL, &bundle))) run_own_session(bundle, NULL, 1);
  if (OK(dvt_bundle_describe(bundle, &json))) CHECK(strstr(json, "\"may_run\":true") != NULL);
  dvt_free(json);
  dvt_bundle_free(bundle);
}

static void compile(int thread) {
  const dvt_compile_options options = options_for(thread % 2 == 0 ? "accel,cpu" : "cpu");
  dvt_bundle* bundle = NULL;
  char* json = NULL;
  if (OK(dvt_compile(int8_model, &options, &bundle, &json))) run_own_session(bundle, "cycle", 1);
  dvt_free(json);
  if (OK(dvt_bundle_verify(bundle, &json))) CHECK(strstr(json, "\"problems\":[]") != NULL);
  dvt_free(json);
  dvt_bundle_free(bundle);
  OK(dvt_model_describe(int8_model, &json));
  dvt_free(json);
}

// A mistake in the one thread is not reported to the other.
static void fail(int thread) {
  dvt_compile_options options = options_for("accel,cpu");
  options.hardware = thread % 2 == 0 ? "nonesuch-a" : "nonesuch-b";
  dvt_bundle* bundle = NULL;
  FAILS(DVT_CAUSE_INPUT, options.hardware, dvt_compile(int8_model, &options, &bundle, NULL));
  FAILS(DVT_CAUSE_INPUT, options.hardware, dvt_bundle_load_file(options.hardware, NULL, &bundle));
  dvt_tensors* outputs = NULL;
  const dvt_named_tensor wrong = {options.hardware, NULL};
  FAILS(DVT_CAUSE_INPUT, options.hardware, dvt_session_run(shared_cpu, &wrong, 1, &outputs));
}

static void simulate(int thread) {
  int8_t x[4 * 48] = {0};
  int64_t shape[] = {4, 3, 16};
  DLTensor zeros = tensor_of(x, kDLInt, 8, 3, shape);
  const dvt_named_tensor input = {"x", &zeros};
  const dvt_program program = {.struct_size = sizeof program, .text = matmul, .name = "matmul.s"};
  const char* const read[] = {"y"};
  const dvt_session_options session = {.struct_size = sizeof session,
                                       .engine = thread % 2 == 0 ? "cycle" : "functional"};
  const dvt_simulate_options options = {.struct_size = sizeof options, .session = &session, .places = {read, 1}};
  dvt_tensors* outputs = NULL;
  char *json = NULL, *trace = NULL, *html = NULL;
  if (OK(dvt_program_simulate(&program, &options, &input, 1, &outputs, &json, thread % 2 == 0 ? &trace : NULL)))
    CHECK(((const int8_t*)dvt_tensors_view(outputs, 0)->data)[1] == -7);
  if (trace != NULL) OK(dvt_page(trace, &html));
  dvt_free(html);
  dvt_free(trace);
  dvt_free(json);
  dvt_tensors_free(outputs);
  if (OK(dvt_program_check(&program, &input, 1, &json))) CHECK(strstr(json, "\"clean\":true") != NULL);
  dvt_free(json);
}

static void explore(int thread) {
  char points[8192];
  snprintf(points, sizeof points, "%s/sweep-%d", folder, thread);
  const dvt_explore_options options = {.struct_size = sizeof options, .folder = points, .jobs = 2};
  const dvt_model* model = int8_model;
  char* json = NULL;
  if (OK(dvt_explore(&model, 1,
                     "{\"hardware\": \"1x16x16-ext\", \"axes\": {\"bus_bytes\": [8, 16]}, "
                     "\"objectives\": [\"latency_ms\", \"area_mm2\"]}",
                     &options, &json)))
    CHECK(strstr(json, "\"kind\":\"explore\"") != NULL);
  dvt_free(json);
}

// All threads have one database.
static void tune(int thread) {
  char database[8192];
  snprintf(database, sizeof database, "%s/records.db", folder);
  dvt_compile_options compile_options = options_for("accel");
  const dvt_tune_options options = {.struct_size = sizeof options,
                                    .records = database,
                                    .search = "random",
                                    .trials = 1,
                                    .batch = 1,
                                    .seed = 1 + (uint64_t)thread};
  char* json = NULL;
  OK(dvt_tune(int8_model, &compile_options, &options, &json));
  dvt_free(json);
  compile_options.targets = "accel,cpu";
  compile_options.records = database;
  dvt_bundle* bundle = NULL;
  OK(dvt_compile(int8_model, &compile_options, &bundle, NULL));
  dvt_bundle_free(bundle);
}

static void quantize(int thread) {
  int64_t shape[] = {8, 1, 8, 8};
  DLTensor some = tensor_of(images + thread * 8 * kPixels, kDLFloat, 32, 4, shape);
  const dvt_named_tensor samples = {"image", &some};
  dvt_model* quantized = NULL;
  char* json = NULL;
  OK(dvt_quantize(float_model, &samples, 1, NULL, &quantized, &json));
  dvt_free(json);
  dvt_model_free(quantized);
}

static void loops(int thread) {
  int32_t x[16] = {1, 2, 3};
  int64_t shape[] = {16};
  DLTensor argument = tensor_of(x, kDLInt, 32, 1, shape);
  const dvt_named_tensor input = {"x", &argument};
  dvt_loops *written = NULL, *split = NULL;
  dvt_tensors* outputs = NULL;
  dvt_bundle* bundle = NULL;
  if (!OK(dvt_loops_parse("program twice { input x: int32[16] output y: int32[16] "
                          "for i in 16 { block y { spatial r in 16 = i y[r] = x[r] + x[r] } } }",
                          NULL, &written)))
    return;
  if (OK(dvt_loops_apply(written, "split i 4", &split)) && OK(dvt_loops_run(split, &input, 1, NULL, &outputs)))
    CHECK(((const int32_t*)dvt_tensors_view(outputs, 0)->data)[2] == 6);
  const dvt_loops_compile_options options = {.struct_size = sizeof options, .target = thread % 2 == 0 ? "cpu" : "host"};
  OK(dvt_loops_compile(split, &options, &bundle, NULL));
  dvt_bundle_free(bundle);
  dvt_tensors_free(outputs);
  dvt_loops_free(split);
  dvt_loops_free(written);
}

static void facts(int thread) {
  (void)thread;
  char* json = NULL;
  dvt_model* model = NULL;
  dvt_status* (*const all[])(char**) = {dvt_engines, dvt_targets,    dvt_operators, dvt_doctor,
                                        dvt_zoo,     dvt_primitives, dvt_peak};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i)
    if (OK(all[i](&json))) dvt_free(json);
  if (OK(dvt_hardware(NULL, &json))) dvt_free(json);
  if (OK(dvt_hardware("1x16x16-ext,bus_bytes=16", &json))) dvt_free(json);
  if (OK(dvt_area("1x16x16-ext", NULL, &json))) dvt_free(json);
  if (OK(dvt_isa("tiny", &json))) dvt_free(json);
  if (OK(dvt_zoo_model("resnet8", NULL, &model, &json))) dvt_free(json);
  dvt_model_free(model);
  char path[8192];
  snprintf(path, sizeof path, "%s/digits_int8.onnx", digits);
  if (OK(dvt_inspect(path, NULL, &json))) dvt_free(json);
}

static void compare(int thread) {
  (void)thread;
  const dvt_compile_options compile_options = options_for("accel,cpu");
  const dvt_compare_options options = {.struct_size = sizeof options, .repeat = 1};
  const dvt_model* model = int8_model;
  char *json = NULL, *html = NULL;
  if (OK(dvt_compare(&model, 1, &compile_options, &options, &json))) OK(dvt_page(json, &html));
  dvt_free(html);
  dvt_free(json);
}

static void (*const jobs[])(int thread) = {own_sessions,    compile,  simulate, explore, load, tune,
                                           shared_sessions, quantize, loops,    facts,   fail, compare};
enum { kJobs = sizeof jobs / sizeof jobs[0] };
_Static_assert(kJobs % 5 != 0 && kJobs % 2 == 0, "the order of threads 2 and 3 has all jobs");

static pthread_barrier_t together;
struct thread {
  pthread_t id;
  int number;
};

// What the jobs share. Two threads make it at once, so that the library's tables are filled by several threads too.
static void prepare(int thread) {
  char path[8192];
  dvt_compile_options options = options_for(thread == 0 ? "accel,cpu" : "cpu");
  snprintf(path, sizeof path, "%s/%s", digits, thread < 2 ? "digits_int8.onnx" : "digits_float.onnx");
  dvt_model* model = NULL;
  OK(dvt_model_load_file(path, &model));
  if (thread < 2) {
    OK(dvt_compile(model, &options, thread == 0 ? &accel : &cpu, NULL));
    OK(dvt_session_create(thread == 0 ? accel : cpu, NULL, thread == 0 ? &shared_accel : &shared_cpu));
  }
  if (thread == 0) int8_model = model;
  else if (thread == 2) float_model = model;
  else dvt_model_free(model);
}

// Threads 0 and 1 do the same job at once, and 2 and 3 another one: each job meets itself and others.
static void* work(void* argument) {
  const int number = ((struct thread*)argument)->number;
  prepare(number);
  for (int job = 0; job < kJobs; ++job) {
    pthread_barrier_wait(&together);
    jobs[number < 2 ? job : (5 * job + kJobs / 2) % kJobs](number);
  }
  return NULL;
}

int main(int count, char** arguments) {
  if (count != 5) return 2;
  snprintf(digits, sizeof digits, "%s", arguments[1]);
  snprintf(folder, sizeof folder, "%s", arguments[4]);
  char path[8192];
  unsigned char *images_file = NULL, *labels_file = NULL, *logits_file = NULL;
  snprintf(path, sizeof path, "%s/test_images.npy", digits);
  images = npy_elements(path, &images_file);
  snprintf(path, sizeof path, "%s/test_labels.npy", digits);
  labels = npy_elements(path, &labels_file);
  expected = npy_elements(arguments[3], &logits_file);
  size_t size = 0;
  matmul = (char*)read_bytes(arguments[2], &size);
  matmul[size] = '\0';

  pthread_barrier_init(&together, NULL, kThreads);
  struct thread threads[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    threads[i].number = i;
    pthread_create(&threads[i].id, NULL, work, &threads[i]);
  }
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i].id, NULL);

  dvt_session_free(shared_accel);
  dvt_session_free(shared_cpu);
  dvt_bundle_free(accel);
  dvt_bundle_free(cpu);
  dvt_model_free(int8_model);
  dvt_model_free(float_model);
  free(matmul);
  free(images_file);
  free(labels_file);
  free(logits_file);
  printf(failures == 0 ? "all checks hold\n" : "%d checks failed\n", failures);
  return failures != 0;
}
