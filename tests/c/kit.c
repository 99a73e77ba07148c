// The compiler's part of the C interface.  usage: kit DIGITS_FOLDER matmul.s logits.npy EMPTY_FOLDER
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "tests/c/check.h"

static char path_text[4096];
static const char* path_of(const char* folder, const char* name) {
  snprintf(path_text, sizeof path_text, "%s/%s", folder, name);
  return path_text;
}

static int64_t all_shape[] = {kImages, 1, 8, 8};
static int64_t labels_shape[] = {kImages};
static int64_t image_shape[] = {1, 1, 8, 8};
static float* images;
static float* expected;
static int64_t* labels;

static const char* const targets = "accel,cpu";
static dvt_compile_options for_accelerator(void) {
  return (dvt_compile_options){
      .struct_size = sizeof(dvt_compile_options), .targets = targets, .hardware = "1x16x16-ext", .cpu = "baseline"};
}

static void nulls(void) {
  dvt_bundle* bundle = NULL;
  dvt_model* model = NULL;
  char* json = NULL;
  const char* null = "null pointer";
  dvt_texts none = {NULL, 0}, wrong = {NULL, 2};
  CHECK(dvt_has_compiler() == 1);
  dvt_model_free(NULL);
  FAILS(DVT_CAUSE_INPUT, null, dvt_targets(NULL));
  FAILS(DVT_CAUSE_INPUT, null, dvt_model_load_file(NULL, &model));
  FAILS(DVT_CAUSE_INPUT, null, dvt_model_load_file("x.onnx", NULL));
  FAILS(DVT_CAUSE_INPUT, "/nonesuch.onnx", dvt_model_load_file("/nonesuch.onnx", &model));
  const char* const layers[] = {"conv 3"};
  const dvt_texts layer = {layers, 1}, no_layer = {NULL, 0};
  FAILS(DVT_CAUSE_INPUT, null, dvt_model_of_layers(NULL, &model));
  FAILS(DVT_CAUSE_INPUT, null, dvt_model_of_layers(&layer, NULL));
  FAILS(DVT_CAUSE_INPUT, "there are none", dvt_model_of_layers(&no_layer, &model));
  FAILS(DVT_CAUSE_INPUT, "character 6", dvt_model_of_layers(&layer, &model));
  FAILS(DVT_CAUSE_INPUT, null, dvt_model_part(NULL, &no_layer, &no_layer, &no_layer, &model));
  FAILS(DVT_CAUSE_INPUT, null, dvt_model_load_memory(NULL, 1, NULL, &model));
  FAILS(DVT_CAUSE_INPUT, null, dvt_model_load_memory("abc", 3, NULL, NULL));
  FAILS(DVT_CAUSE_INPUT, "mine", dvt_model_load_memory("abc", 3, "mine", &model));
  FAILS(DVT_CAUSE_INPUT, null, dvt_model_describe(NULL, &json));
  FAILS(DVT_CAUSE_INPUT, null, dvt_model_save(NULL, "x.onnx"));
  FAILS(DVT_CAUSE_INPUT, null, dvt_compile(NULL, NULL, &bundle, NULL));
  FAILS(DVT_CAUSE_INPUT, null, dvt_bundle_verify(NULL, &json));
  FAILS(DVT_CAUSE_INPUT, null, dvt_session_check(NULL, NULL, 0, &json));
  FAILS(DVT_CAUSE_INPUT, null, dvt_session_energy(NULL, &json));
  FAILS(DVT_CAUSE_INPUT, null, dvt_session_evaluate(NULL, NULL, 0, NULL, NULL, NULL, NULL));
  FAILS(DVT_CAUSE_INPUT, null, dvt_quantize(NULL, NULL, 0, NULL, &model, NULL));
  FAILS(DVT_CAUSE_INPUT, null, dvt_simulate(NULL, NULL, NULL, 0, none, NULL, NULL));
  FAILS(DVT_CAUSE_INPUT, null, dvt_simulate(NULL, NULL, NULL, 0, wrong, NULL, NULL));
  FAILS(DVT_CAUSE_INPUT, null, dvt_compile_stages(NULL, NULL, none, NULL, &json));
  FAILS(DVT_CAUSE_INPUT, null, dvt_compile_stages(NULL, NULL, none, NULL, NULL));
  const dvt_program text = {.struct_size = sizeof text, .text = ".space y int8[16]\n  finish\n"};
  const dvt_simulate_options no_texts = {.struct_size = sizeof no_texts, .places = {NULL, 2}};
  FAILS(DVT_CAUSE_INPUT, null, dvt_program_assemble(NULL, NULL, NULL));
  FAILS(DVT_CAUSE_INPUT, null, dvt_program_disassemble(NULL, &json));
  FAILS(DVT_CAUSE_INPUT, null, dvt_program_disassemble(&text, NULL));
  FAILS(DVT_CAUSE_INPUT, null, dvt_program_check(NULL, NULL, 0, &json));
  FAILS(DVT_CAUSE_INPUT, null, dvt_program_check(&text, NULL, 0, NULL));
  FAILS(DVT_CAUSE_INPUT, null, dvt_program_check(&text, NULL, 1, &json));
  FAILS(DVT_CAUSE_INPUT, null, dvt_program_simulate(NULL, NULL, NULL, 0, NULL, NULL, NULL));
  FAILS(DVT_CAUSE_INPUT, null, dvt_program_simulate(&text, &no_texts, NULL, 0, NULL, NULL, NULL));
  FAILS(DVT_CAUSE_INPUT, null, dvt_bundle_programs(NULL, NULL, &json));
  const dvt_model* no_models[] = {NULL};
  FAILS(DVT_CAUSE_INPUT, "count", dvt_compare(NULL, 0, NULL, NULL, &json));
  FAILS(DVT_CAUSE_INPUT, null, dvt_compare(NULL, 1, NULL, NULL, &json));
  FAILS(DVT_CAUSE_INPUT, null, dvt_compare(no_models, 1, NULL, NULL, &json));
  FAILS(DVT_CAUSE_INPUT, null, dvt_compare(no_models, 1, NULL, NULL, NULL));
  FAILS(DVT_CAUSE_INPUT, null, dvt_records_list(NULL, NULL, &json));
  FAILS(DVT_CAUSE_INPUT, null, dvt_records_list("x.db", NULL, NULL));
  FAILS(DVT_CAUSE_INPUT, null, dvt_records_show("x.db", NULL, &json));
  FAILS(DVT_CAUSE_INPUT, null, dvt_records_merge(NULL, wrong, &json));
  FAILS(DVT_CAUSE_INPUT, null, dvt_records_merge("x.db", wrong, &json));
  FAILS(DVT_CAUSE_INPUT, "count", dvt_records_merge("x.db", none, &json));
  FAILS(DVT_CAUSE_INPUT, null, dvt_records_export("x.db", NULL, NULL));
  FAILS(DVT_CAUSE_INPUT, null, dvt_records_import("x.db", NULL, &json));
  FAILS(DVT_CAUSE_INPUT, null, dvt_what_if(no_models, 1, NULL, "tiny", NULL, &json));
  FAILS(DVT_CAUSE_INPUT, null, dvt_what_if(no_models, 1, NULL, NULL, NULL, &json));
  FAILS(DVT_CAUSE_INPUT, "count", dvt_what_if(NULL, 0, NULL, "tiny", NULL, &json));
  FAILS(DVT_CAUSE_INPUT, null, dvt_zoo(NULL));
  FAILS(DVT_CAUSE_INPUT, null, dvt_zoo_model(NULL, NULL, &model, &json));
  FAILS(DVT_CAUSE_INPUT, null, dvt_zoo_model("lenet", NULL, NULL, &json));
  FAILS(DVT_CAUSE_INPUT, null, dvt_inspect(NULL, NULL, &json));
  FAILS(DVT_CAUSE_INPUT, null, dvt_operators(NULL));
  FAILS(DVT_CAUSE_INPUT, null, dvt_doctor(NULL));
  FAILS(DVT_CAUSE_INPUT, null, dvt_isa(NULL, NULL));
  FAILS(DVT_CAUSE_INPUT, null, dvt_trace_summary(NULL, &json));
  FAILS(DVT_CAUSE_INPUT, null, dvt_trace_diff(NULL, NULL, &json));
  FAILS(DVT_CAUSE_INPUT, null, dvt_trace_diff("{}", "{}", NULL));
  dvt_loops* loops = NULL;
  dvt_tensors* outputs = NULL;
  FAILS(DVT_CAUSE_INPUT, null, dvt_primitives(NULL));
  FAILS(DVT_CAUSE_INPUT, null, dvt_loops_parse(NULL, NULL, &loops));
  FAILS(DVT_CAUSE_INPUT, null, dvt_loops_parse("program p { }", NULL, NULL));
  FAILS(DVT_CAUSE_INPUT, null, dvt_loops_apply(NULL, "", &loops));
  FAILS(DVT_CAUSE_INPUT, null, dvt_loops_describe(NULL, &json));
  FAILS(DVT_CAUSE_INPUT, null, dvt_loops_run(NULL, NULL, 0, NULL, &outputs));
  FAILS(DVT_CAUSE_INPUT, null, dvt_loops_compile(NULL, NULL, &bundle, NULL));
  FAILS(DVT_CAUSE_INPUT, null, dvt_loops_suggest(NULL, "i", &json));
  FAILS(DVT_CAUSE_INPUT, null, dvt_loops_tune(NULL, NULL, 0, NULL, &loops, NULL));
  dvt_loops_free(NULL);
  CHECK(loops == NULL && outputs == NULL);
  FAILS(DVT_CAUSE_INPUT, null, dvt_tune(NULL, NULL, NULL, NULL));
  FAILS(DVT_CAUSE_INPUT, "count", dvt_explore(NULL, 0, NULL, NULL, NULL));
  FAILS(DVT_CAUSE_INPUT, null, dvt_explore(NULL, 1, "{}", NULL, NULL));
  FAILS(DVT_CAUSE_INPUT, null, dvt_area(NULL, NULL, &json));
  FAILS(DVT_CAUSE_INPUT, null, dvt_session_trace(NULL, NULL, 0, 0, &json, NULL));
  FAILS(DVT_CAUSE_INPUT, null, dvt_page(NULL, &json));
  FAILS(DVT_CAUSE_INPUT, null, dvt_page("{}", NULL));
  dvt_tensor_info info = {.struct_size = sizeof info};
  CHECK(dvt_region_name(NULL) == NULL && dvt_region_node_count(NULL) == 0 && dvt_region_node_name(NULL, 0) == NULL);
  CHECK(dvt_region_node_operator(NULL, 0) == NULL && dvt_region_node_attributes(NULL, 0) == NULL);
  CHECK(dvt_region_node_input_count(NULL, 0) == 0 && dvt_region_node_output_count(NULL, 0) == 0);
  CHECK(dvt_region_node_input(NULL, 0, 0) == -1 && dvt_region_node_output(NULL, 0, 0) == -1);
  CHECK(dvt_region_input_count(NULL) == 0 && dvt_region_output_count(NULL) == 0 && dvt_region_input(NULL, 0) == -1);
  CHECK(dvt_region_output(NULL, 0) == -1 && dvt_region_constant(NULL, 0) == NULL);
  FAILS(DVT_CAUSE_INPUT, null, dvt_region_value(NULL, 0, &info));
  CHECK(bundle == NULL && model == NULL && json == NULL);
}

struct seen {
  int progress, notes, points, known;
  int64_t stop_at;
};
static void take_point(void* user, const char* json, int32_t known) {
  CHECK(strstr(json, "\"state\":\"measured\"") != NULL && strstr(json, "\"latency_ms\":") != NULL);
  if (known) ++((struct seen*)user)->known;
  else ++((struct seen*)user)->points;
}
static void progress(void* user, const char* what, int64_t done, int64_t all) {
  CHECK(what != NULL && done <= all);
  ++((struct seen*)user)->progress;
}
static void take_note(void* user, dvt_log_level level, const char* message) {
  CHECK(message != NULL && (level == DVT_LOG_NOTE || level == DVT_LOG_WARNING));
  ++((struct seen*)user)->notes;
}
static int cancelled(void* user) { return ((struct seen*)user)->stop_at == 0; }

static void compile(const dvt_model* model) {
  dvt_bundle* bundle = NULL;
  dvt_compile_options wrong = {.struct_size = 8};
  FAILS(DVT_CAUSE_INPUT, "struct_size", dvt_compile(model, &wrong, &bundle, NULL));
#define WRONG(part, member)                                                  \
  wrong = (dvt_compile_options){.struct_size = sizeof wrong, .targets = targets, .hardware = "tiny"}; \
  wrong.member;                                                       \
  FAILS(DVT_CAUSE_INPUT, part, dvt_compile(model, &wrong, &bundle, NULL))
  const char* const bad_place[] = {"nonesuch"};
  const char* const null_text[] = {NULL};
  WRONG("level", level = 9);
  WRONG("level", level = -1);
  WRONG("offload", offload = 3);
  WRONG("targets", targets = NULL);
  WRONG("invalid value for `targets` (nonesuch)", targets = "nonesuch");
  WRONG("nonesuch", hardware = "nonesuch");
  WRONG("nonesuch", cpu = "nonesuch");
  WRONG("accelerators", accelerators = 65);
  WRONG("place", place = ((dvt_texts){bad_place, 1}));
  WRONG("null pointer", shapes = ((dvt_texts){null_text, 1}));
  WRONG("null pointer", decide = ((dvt_texts){NULL, 1}));
  WRONG("nonesuch", with_passes = ((dvt_texts){bad_place, 1}));

  struct seen seen = {.stop_at = 0};
  dvt_callbacks calls = {sizeof calls, &seen, take_note, progress, cancelled, NULL, NULL};
  dvt_compile_options options = for_accelerator();
  options.callbacks = &calls;
  options.all_tensors = 1;
  FAILS(DVT_CAUSE_WORK, "stopped", dvt_compile(model, &options, &bundle, NULL));
  CHECK(bundle == NULL);
  seen.stop_at = -1;
  char* json = NULL;
  if (!OK(dvt_compile(model, &options, &bundle, &json))) return;
  CHECK(seen.progress > 0 && strstr(json, "\"kind\":\"compile\"") != NULL);
  dvt_free(json);
  OK(dvt_bundle_verify(bundle, &json));
  CHECK(strstr(json, "no race") != NULL && strstr(json, "\"problems\":[]") != NULL);
  dvt_free(json);

  dvt_session* session = NULL;
  dvt_session_options cycle = {.struct_size = sizeof cycle, .engine = "cycle", .memory = "bank:ddr4-2400"};
  OK(dvt_session_create(bundle, &cycle, &session));
  DLTensor image = tensor_of(images, kDLFloat, 32, 4, image_shape);
  dvt_tensor_info info = {.struct_size = sizeof info};
  OK(dvt_bundle_input(bundle, 0, &info));
  const dvt_named_tensor input = {info.name, &image};
  FAILS(DVT_CAUSE_INPUT, "nothing to report", dvt_session_energy(session, &json));
  if (OK(dvt_session_check(session, &input, 1, &json)))
    CHECK(strstr(json, "\"different\":0") != NULL && strstr(json, "\"tensors\":0,") == NULL);
  dvt_free(json);
  if (OK(dvt_session_energy(session, &json))) CHECK(strstr(json, "pj_per_mac") != NULL);
  dvt_free(json);
  if (OK(dvt_session_report(session, &json))) CHECK(strstr(json, "\"cycles\":") != NULL);
  dvt_free(json);
  dvt_session_free(session);
  dvt_bundle_free(bundle);
}

// Compiles for `options`, evaluates all images, and compares all logits with the command line's.
static void evaluate(const dvt_model* model, const dvt_compile_options* options, const char* saved) {
  dvt_bundle* bundle = NULL;
  dvt_session* session = NULL;
  dvt_tensors* outputs = NULL;
  char* json = NULL;
  if (!OK(dvt_compile(model, options, &bundle, NULL))) return;
  OK(dvt_bundle_save(bundle, saved));
  dvt_bundle_free(bundle);
  // The record that dvt_bundle_save made lets the file's machine code run.
  if (!OK(dvt_bundle_load_file(saved, NULL, &bundle)) || !OK(dvt_session_create(bundle, NULL, &session))) return;
  dvt_tensor_info info = {.struct_size = sizeof info};
  OK(dvt_bundle_input(bundle, 0, &info));
  DLTensor all = tensor_of(images, kDLFloat, 32, 4, all_shape);
  DLTensor classes = tensor_of(labels, kDLInt, 64, 1, labels_shape);
  const dvt_named_tensor samples = {info.name, &all};
  if (OK(dvt_session_evaluate(session, &samples, 1, &classes, NULL, &outputs, &json))) {
    CHECK(strstr(json, "\"samples\":360") != NULL && strstr(json, "\"accuracy\":") != NULL);
    const DLTensor* logits = dvt_tensors_view(outputs, 0);
    CHECK(logits->ndim == 2 && logits->shape[0] == kImages && logits->shape[1] == kClasses);
    CHECK(memcmp(logits->data, expected, sizeof(float) * kImages * kClasses) == 0);
  }
  dvt_free(json);
  json = NULL;
  if (outputs != NULL) {
    const dvt_named_tensor measured = {"logits", dvt_tensors_view(outputs, 0)};
    if (OK(dvt_measure("accuracy", &measured, 1, &classes, NULL, &json)))
      CHECK(strstr(json, "\"top1\":0.99722") != NULL);
    dvt_free(json);
    FAILS(DVT_CAUSE_INPUT, "there is no metric", dvt_measure("fid", &measured, 1, &classes, NULL, NULL));
    FAILS(DVT_CAUSE_INPUT, "labels", dvt_measure("iou", &measured, 1, NULL, NULL, NULL));
  }
  FAILS(DVT_CAUSE_INPUT, "nonesuch", dvt_session_evaluate(session, &samples, 1, &classes, "nonesuch", NULL, NULL));
  FAILS(DVT_CAUSE_INPUT, "no graph", dvt_session_check(session, &samples, 1, &json));
  dvt_tensors_free(outputs);
  dvt_session_free(session);
  dvt_bundle_free(bundle);
}

static void quantize(const dvt_model* model, const char* saved) {
  char* json = NULL;
  dvt_model* quantized = NULL;
  if (OK(dvt_model_describe(model, &json))) CHECK(strstr(json, "\"Conv\"") != NULL);
  dvt_free(json);
  DLTensor all = tensor_of(images, kDLFloat, 32, 4, all_shape);
  const dvt_named_tensor samples = {"image", &all}, nonesuch = {"nonesuch", &all};
  dvt_quantize_options wrong = {.struct_size = sizeof wrong, .calibration = "nonesuch"};
  FAILS(DVT_CAUSE_INPUT, "nonesuch", dvt_quantize(model, &samples, 1, &wrong, &quantized, NULL));
  wrong = (dvt_quantize_options){.struct_size = sizeof wrong, .tail = 0.1};
  FAILS(DVT_CAUSE_INPUT, "tail", dvt_quantize(model, &samples, 1, &wrong, &quantized, NULL));
  FAILS(DVT_CAUSE_INPUT, "nonesuch", dvt_quantize(model, &nonesuch, 1, NULL, &quantized, NULL));
  // Structs of a program that was built with the header of version 1.0.
  wrong = (dvt_quantize_options){.struct_size = offsetof(dvt_quantize_options, weight_bits), .tail = 0.1};
  FAILS(DVT_CAUSE_INPUT, "tail", dvt_quantize(model, &samples, 1, &wrong, &quantized, NULL));
  dvt_bundle* none = NULL;
  const dvt_compile_options old = {.struct_size = offsetof(dvt_compile_options, states), .targets = "nonesuch"};
  FAILS(DVT_CAUSE_INPUT, "no target", dvt_compile(model, &old, &none, NULL));
  const dvt_program program = {.struct_size = sizeof program, .text = ".space y int8[16]\n  finish\n"};
  const dvt_simulate_options of_old = {.struct_size = offsetof(dvt_simulate_options, offset), .until = "nonesuch"};
  FAILS(DVT_CAUSE_INPUT, "nonesuch", dvt_program_simulate(&program, &of_old, NULL, 0, NULL, NULL, NULL));
  if (!OK(dvt_quantize(model, &samples, 1, NULL, &quantized, &json))) return;
  CHECK(strstr(json, "\"kind\":\"quantize\"") != NULL && strstr(json, "\"rows\":360") != NULL);
  dvt_free(json);
  OK(dvt_model_save(quantized, saved));
  dvt_bundle* bundle = NULL;
  dvt_compile_options options = for_accelerator();
  options.strict = 1;
  if (OK(dvt_compile(quantized, &options, &bundle, &json))) CHECK(strstr(json, "quantized") != NULL);
  dvt_free(json);
  dvt_bundle_free(bundle);
  dvt_model_free(quantized);
}

// The report is the same in each run, and its trace becomes a page.
static void trace_and_page(const dvt_model* model) {
  dvt_compile_options options = for_accelerator();
  dvt_bundle* bundle = NULL;
  dvt_session* session = NULL;
  char *json = NULL, *trace = NULL, *again = NULL, *html = NULL;
  if (!OK(dvt_compile(model, &options, &bundle, NULL))) return;
  DLTensor image = tensor_of(images, kDLFloat, 32, 4, image_shape);
  const dvt_named_tensor input = {"image", &image};
  OK(dvt_session_create(bundle, NULL, &session));
  FAILS(DVT_CAUSE_INPUT, "no clock", dvt_session_trace(session, &input, 1, 0, &json, &trace));
  dvt_session_free(session);
  dvt_session_options cycle = {.struct_size = sizeof cycle, .engine = "cycle"};
  OK(dvt_session_create(bundle, &cycle, &session));
  FAILS(DVT_CAUSE_INPUT, "image", dvt_session_trace(session, NULL, 0, 0, &json, &trace));
  CHECK(json == NULL && trace == NULL);
  if (OK(dvt_session_trace(session, &input, 1, 1, &json, &trace))) {
    CHECK(strstr(json, "\"kind\":\"session-trace\"") != NULL && strstr(json, "\"roofline\":") != NULL);
    CHECK(strstr(json, "\"change\":") != NULL && strstr(trace, "\"traceEvents\":[") != NULL);
    OK(dvt_session_trace(session, &input, 1, 0, &again, NULL));
    CHECK(strstr(again, "\"change\":") == NULL);
    CHECK(strncmp(strstr(json, "\"cycles\":"), strstr(again, "\"cycles\":"), 15) == 0);
    if (OK(dvt_page(trace, &html))) CHECK(strstr(html, "<!doctype html>") == html && strlen(html) > 10000);
    dvt_free(html);
    char* explained = NULL;
    if (OK(dvt_explain(json, again, &explained))) {
      CHECK(strstr(explained, "\"kind\":\"explanation\"") != NULL && strstr(explained, "res1_conv2") != NULL);
      if (OK(dvt_page(explained, &html))) CHECK(strstr(html, "res1_conv2") != NULL);
      dvt_free(html);
    }
    dvt_free(explained);
    FAILS(DVT_CAUSE_INPUT, "not the JSON of a profile", dvt_explain(json, "{}", &explained));
    CHECK(explained == NULL);
  }
  dvt_tensors* outputs = NULL;
  if (OK(dvt_session_run(session, &input, 1, &outputs)))
    CHECK(memcmp(dvt_tensors_view(outputs, 0)->data, expected, 10 * sizeof(float)) == 0);
  dvt_tensors_free(outputs);
  dvt_free(json);
  dvt_free(trace);
  dvt_free(again);
  dvt_session_free(session);
  dvt_bundle_free(bundle);
  options.targets = "cpu";
  OK(dvt_compile(model, &options, &bundle, NULL));
  OK(dvt_session_create(bundle, &cycle, &session));
  FAILS(DVT_CAUSE_INPUT, "nothing ran on the accelerator", dvt_session_trace(session, &input, 1, 0, NULL, NULL));
  dvt_session_free(session);
  dvt_bundle_free(bundle);
  static const char* const bad[][2] = {
      {"x", "JSON"}, {"{}", "missing"}, {"[]", "missing"}, {"{\"kind\":3}", "is 3"},
      {"{\"kind\":\"run\"}", "comparison, explanation"}, {"{\"kind\":\"comparison\"}", "threads"},
      {"{\"kind\":\"comparison\",\"threads\":\"x\"}", "must be number"},
      {"{\"kind\":\"explore\",\"models\":3}", "models"}, {"{\"kind\":\"quantize\",\"rows\":1}", "outputs"},
      {"{\"kind\":\"tune\",\"gains\":{\"<a>\":[]}}", "at() with array"}, {"{\"kind\":\"trace\"}", "sources"}};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i)
    FAILS(DVT_CAUSE_INPUT, bad[i][1], dvt_page(bad[i][0], &html));
  CHECK(html == NULL);
}

// A product written by hand: y[i, j] = clamp(sum of x[i, k] w[j, k] >> 6).
static const char* const product =
    "program product {\n"
    "  input x: int8[16, 32]  input w: int8[32, 32]  output y: int8[16, 32]\n"
    "  alloc acc: int32[16, 32]  alloc high: int32[16, 32]\n"
    "  for i in 16 { for j in 32 { for k in 32 { block acc { spatial r in 16 = i spatial c in 32 = j\n"
    "    reduce d in 32 = k init { acc[r, c] = 0 } acc[r, c] = acc[r, c] + int32(x[r, d]) * int32(w[c, d]) } } } }\n"
    "  for hi in 16 { for hj in 32 { block high { spatial r in 16 = hi spatial c in 32 = hj\n"
    "    high[r, c] = acc[r, c] >> 6 } } }\n"
    "  for yi in 16 { for yj in 32 { block y { spatial r in 16 = yi spatial c in 32 = yj\n"
    "    y[r, c] = int8(min(max(high[r, c], -128), 127)) } } } }\n";
static const char* const for_elements =
    "set_scope acc accel.acc\nset_scope high accel.acc\nsplit j 16 -> jb je\nsplit k 16 -> kb ke\n"
    "reorder i jb kb je ke\ndecompose_reduction acc i -> zero\ncache_read acc x accel.inp -> xc\n"
    "cache_read acc w accel.wgt -> wc\nsplit hj 16 -> hjb hje\n"
    "transform_layout x i0,i1/16,i0%1,i1%16\ntransform_layout xc i0,i1/16,i0%1,i1%16\n"
    "transform_layout w i0/16,i1/16,i0%16,i1%16\ntransform_layout wc i0/16,i1/16,i0%16,i1%16\n"
    "transform_layout acc i0,i1/16,i0%1,i1%16\ntransform_layout high i0,i1/16,i0%1,i1%16\n"
    "transform_layout y i0,i1/16,i0%1,i1%16\n"
    "split xc.1 16 -> xcb xce\nsplit wc.0 16 -> wcjb wcje\nsplit wc.1 16 -> wckb wcke\n"
    "reorder wcjb wckb wcje wcke\nsplit yj 16 -> yjb yje\n"
    "tensorize je accel.gemm\ntensorize zero.je accel.fill\ntensorize hje accel.shr_imm";

static void run_product(const dvt_loops* loops, const char* target, const char* engine, const dvt_named_tensor* inputs,
                        const int8_t* wanted) {
  dvt_bundle* bundle = NULL;
  dvt_session* session = NULL;
  dvt_tensors* outputs = NULL;
  char* json = NULL;
  const dvt_loops_compile_options options = {.struct_size = sizeof options, .target = target};
  const dvt_session_options with = {.struct_size = sizeof with, .engine = engine};
  if (OK(dvt_loops_compile(loops, &options, &bundle, &json))) CHECK(strstr(json, "\"kind\":\"loops\"") != NULL);
  if (strcmp(target, "accel") == 0) CHECK(strstr(json, "gemm uop=") != NULL);
  dvt_free(json);
  if (OK(dvt_session_create(bundle, &with, &session)) && OK(dvt_session_run(session, inputs, 2, &outputs)))
    CHECK(memcmp(dvt_tensors_find(outputs, "y")->data, wanted, 16 * 32) == 0);
  if (OK(dvt_session_report(session, &json)) && strcmp(engine, "cycle") == 0 && strcmp(target, "accel") == 0)
    CHECK(strstr(json, "\"cycles\":") != NULL);
  dvt_free(json);
  dvt_tensors_free(outputs);
  dvt_session_free(session);
  dvt_bundle_free(bundle);
}

static void loops(void) {
  static int8_t x[16 * 32], w[32 * 32], wanted[16 * 32];
  int64_t x_shape[] = {16, 32}, w_shape[] = {32, 32};
  for (int i = 0; i < 16 * 32; ++i) x[i] = (int8_t)(i * 37 % 251 - 125);
  for (int i = 0; i < 32 * 32; ++i) w[i] = (int8_t)(i * 91 % 253 - 126);
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 32; ++j) {
      int32_t sum = 0;
      for (int k = 0; k < 32; ++k) sum += x[i * 32 + k] * w[j * 32 + k];
      sum >>= 6;
      wanted[i * 32 + j] = (int8_t)(sum < -128 ? -128 : sum > 127 ? 127 : sum);
    }
  DLTensor left = tensor_of(x, kDLInt, 8, 2, x_shape), right = tensor_of(w, kDLInt, 8, 2, w_shape);
  const dvt_named_tensor inputs[] = {{"w", &right}, {"x", &left}}, wrong[] = {{"x", &right}, {"w", &right}};
  dvt_loops *written = NULL, *scheduled = NULL, *none = NULL;
  dvt_tensors* outputs = NULL;
  dvt_bundle* bundle = NULL;
  char* json = NULL;
  if (OK(dvt_primitives(&json))) CHECK(strstr(json, "\"split LOOP FACTOR -> OUTER INNER\"") != NULL);
  dvt_free(json);
  dvt_loops_options options = {.struct_size = 8};
  FAILS(DVT_CAUSE_INPUT, "struct_size", dvt_loops_parse(product, &options, &none));
  options = (dvt_loops_options){.struct_size = sizeof options, .hardware = "nonesuch"};
  FAILS(DVT_CAUSE_INPUT, "nonesuch", dvt_loops_parse(product, &options, &none));
  options = (dvt_loops_options){.struct_size = sizeof options, .cpu = "nonesuch"};
  FAILS(DVT_CAUSE_INPUT, "nonesuch", dvt_loops_parse(product, &options, &none));
  options = (dvt_loops_options){.struct_size = sizeof options, .name = "mine", .hardware = "1x16x16-ext",
                                .cpu = "baseline"};
  FAILS(DVT_CAUSE_INPUT, "mine:1", dvt_loops_parse("program p { for", &options, &none));
  FAILS(DVT_CAUSE_INPUT, "parallel loop i",
        dvt_loops_parse("program p { output y: int32[1] for i in 2 parallel { block b { spatial v in 2 = i y[0] = 1 "
                        "} } }", &options, &none));
  if (!OK(dvt_loops_parse(product, &options, &written))) return;
  FAILS(DVT_CAUSE_INPUT, "split nowhere 4", dvt_loops_apply(written, "split nowhere 4", &none));
  FAILS(DVT_CAUSE_INPUT, "step `split`", dvt_loops_apply(written, "split i 4\nsplit", &none));
  FAILS(DVT_CAUSE_INPUT, "buffer acc", dvt_loops_compile(written, &(dvt_loops_compile_options){.struct_size = sizeof(dvt_loops_compile_options), .target = "accel"}, &bundle, NULL));
  FAILS(DVT_CAUSE_INPUT, "nonesuch", dvt_loops_compile(written, &(dvt_loops_compile_options){.struct_size = sizeof(dvt_loops_compile_options), .target = "nonesuch"}, &bundle, NULL));
  FAILS(DVT_CAUSE_INPUT, "null pointer", dvt_loops_compile(written, NULL, &bundle, NULL));
  FAILS(DVT_CAUSE_INPUT, "missing", dvt_loops_run(written, inputs, 1, NULL, &outputs));
  FAILS(DVT_CAUSE_INPUT, "int8[32, 32]", dvt_loops_run(written, wrong, 2, NULL, &outputs));
  struct seen seen = {.stop_at = 0};
  const dvt_callbacks calls = {sizeof calls, &seen, take_note, progress, cancelled, NULL, NULL};
  dvt_loops* endless = NULL;
  if (OK(dvt_loops_parse("program endless { output y: int32[1] for i in 1000000000000 { block b { reduce r in "
                         "1000000000000 = i init { y[0] = 0 } y[0] = y[0] + 1 } } }", &options, &endless)))
    FAILS(DVT_CAUSE_WORK, "the caller asked to stop", dvt_loops_run(endless, NULL, 0, &calls, &outputs));
  dvt_loops_free(endless);
  CHECK(outputs == NULL && bundle == NULL && none == NULL);

  if (OK(dvt_loops_apply(written, for_elements, &scheduled))) {
    if (OK(dvt_loops_describe(scheduled, &json)))
      CHECK(strstr(json, "call accel.gemm(") != NULL && strstr(json, "\"layout\":\"i0/16,i1/16,i0%16,i1%16\"") != NULL &&
            strstr(json, "tensorize je accel.gemm\\n") != NULL);
    dvt_free(json);
    if (OK(dvt_loops_run(scheduled, inputs, 2, NULL, &outputs)))
      CHECK(memcmp(dvt_tensors_view(outputs, 0)->data, wanted, sizeof wanted) == 0);
    dvt_tensors_free(outputs);
    run_product(scheduled, "accel", "functional", inputs, wanted);
    run_product(scheduled, "accel", "cycle", inputs, wanted);
    FAILS(DVT_CAUSE_INPUT, "intrinsics", dvt_loops_compile(scheduled, &(dvt_loops_compile_options){.struct_size = sizeof(dvt_loops_compile_options), .target = "host"}, &bundle, NULL));
  }
  FAILS(DVT_CAUSE_INPUT, "no loop, block or buffer", dvt_loops_suggest(written, "nowhere", &json));
  if (OK(dvt_loops_suggest(written, "i", &json))) CHECK(strstr(json, "\"step\":\"split i 2\"") != NULL);
  dvt_free(json);
  FAILS(DVT_CAUSE_INPUT, "no sample step", dvt_loops_tune(scheduled, inputs, 2, NULL, &none, NULL));
  FAILS(DVT_CAUSE_INPUT, "missing", dvt_loops_tune(written, inputs, 1, NULL, &none, NULL));
  dvt_loops *sampled = NULL, *best = NULL;
  if (OK(dvt_loops_apply(written, "sample f among 2,4 = 2\nsplit i $f", &sampled)) &&
      OK(dvt_loops_tune(sampled, inputs, 2, &(dvt_loops_tune_options){.struct_size = sizeof(dvt_loops_tune_options), .trials = 2}, &best, &json)))
    CHECK(strstr(json, "\"unit\":\"ns\"") != NULL);
  dvt_free(json);
  if (best != NULL) run_product(best, "cpu", "functional", inputs, wanted);
  dvt_loops_free(sampled);
  dvt_loops_free(best);
  run_product(written, "cpu", "functional", inputs, wanted);
  run_product(written, "host", "functional", inputs, wanted);
  dvt_loops_free(scheduled);
  dvt_loops_free(written);
}

// A program with the session's options, its state before its end, and its trace.
static void simulate_more(const dvt_program* program, const dvt_named_tensor* input) {
  const char* const read[] = {"y", "sram:acc"};
  const char* const no_memory[] = {"sram:nonesuch"};
  dvt_session_options cycle = {.struct_size = sizeof cycle, .engine = "cycle"};
  dvt_simulate_options options = {.struct_size = sizeof options, .session = &cycle, .places = {read, 2}, .what_if = 1};
  dvt_tensors* outputs = NULL;
  char *json = NULL, *trace = NULL, *summary = NULL;
  if (OK(dvt_program_simulate(program, &options, input, 1, &outputs, &json, &trace))) {
    CHECK(strstr(json, "\"change\":") != NULL && strstr(json, "\"timing\":") != NULL);
    CHECK(dvt_tensors_find(outputs, "sram:acc")->ndim == 3 && dvt_tensors_find(outputs, "y")->shape[0] == 4);
    if (OK(dvt_trace_summary(trace, &summary))) CHECK(strstr(summary, "\"file\":\"trace\",\"launches\":1,") != NULL);
    dvt_free(summary);
    if (OK(dvt_trace_diff(trace, trace, &summary))) CHECK(strstr(summary, "\"equal\":true") != NULL);
    dvt_free(summary);
    trace[strlen(trace) / 2] = '\0';
    FAILS(DVT_CAUSE_INPUT, "JSON", dvt_trace_summary(trace, &summary));
    FAILS(DVT_CAUSE_INPUT, "dvt_trace_diff: a", dvt_trace_diff(trace, "{}", &summary));
    FAILS(DVT_CAUSE_INPUT, "trace", dvt_trace_summary("[3]", &summary));
  }
  dvt_free(json);
  dvt_free(trace);
  dvt_tensors_free(outputs);
  options.what_if = 0;
  options.until = "@40";
  if (OK(dvt_program_simulate(program, &options, input, 1, &outputs, &json, NULL)))
    CHECK(strstr(json, "\"cycle\":40") != NULL && strstr(json, "\"timing\"") == NULL);
  dvt_free(json);
  dvt_tensors_free(outputs);
  FAILS(DVT_CAUSE_INPUT, "until", dvt_program_simulate(program, &options, input, 1, NULL, NULL, &trace));
  options.until = "#1000";
  FAILS(DVT_CAUSE_INPUT, "#1000", dvt_program_simulate(program, &options, input, 1, &outputs, NULL, NULL));
  options.until = NULL;
  cycle.engine = "systemc";
  FAILS(DVT_CAUSE_INPUT, "systemc", dvt_program_simulate(program, &options, input, 1, &outputs, NULL, NULL));
  options.session = NULL;
  FAILS(DVT_CAUSE_INPUT, "no clock", dvt_program_simulate(program, &options, input, 1, &outputs, NULL, &trace));
  options.places = (dvt_texts){no_memory, 1};
  FAILS(DVT_CAUSE_INPUT, "nonesuch", dvt_program_simulate(program, &options, input, 1, &outputs, NULL, NULL));
  options.struct_size = 8;
  FAILS(DVT_CAUSE_INPUT, "struct_size", dvt_program_simulate(program, &options, input, 1, &outputs, NULL, NULL));
  CHECK(outputs == NULL && trace == NULL);
}

// Text, bytes, and text again; what the proof finds.
static void programs(const dvt_program* program, const dvt_named_tensor* input) {
  dvt_tensors *encoded = NULL, *again = NULL, *outputs = NULL;
  char *json = NULL, *map = NULL, *text = NULL;
  if (OK(dvt_program_check(program, input, 1, &json))) CHECK(strstr(json, "\"clean\":true") != NULL);
  dvt_free(json);
  if (!OK(dvt_program_assemble(program, &encoded, &map))) return;
  CHECK(strstr(map, "\"kind\":\"program map\"") != NULL && strstr(map, "\"name\":\"bias\"") != NULL);
  const DLTensor *instructions = dvt_tensors_find(encoded, "instructions"), *image = dvt_tensors_find(encoded, "image");
  CHECK(instructions->shape[1] == 16 && image->shape[0] > 0 && dvt_tensors_find(encoded, "uops") != NULL);
  dvt_program raw = {.struct_size = sizeof raw, .instructions = instructions->data, .map = map, .image = image->data};
  raw.size = (size_t)(instructions->shape[0] * instructions->shape[1]);
  raw.image_size = (size_t)image->shape[0];
  const char* const y[] = {"y"};
  const dvt_simulate_options options = {.struct_size = sizeof options, .places = {y, 1}};
  if (OK(dvt_program_simulate(&raw, &options, input, 1, &outputs, NULL, NULL)))
    CHECK(((const int8_t*)dvt_tensors_view(outputs, 0)->data)[1] == -7);
  dvt_tensors_free(outputs);
  if (OK(dvt_program_disassemble(&raw, &text))) CHECK(strstr(text, "gemm uop=") != NULL);
  const dvt_program written = {.struct_size = sizeof written, .text = text};
  for (const dvt_program* each = &raw; each != NULL; each = each == &raw ? &written : NULL) {
    if (OK(dvt_program_assemble(each, &again, NULL)))
      CHECK(memcmp(dvt_tensors_find(again, "instructions")->data, raw.instructions, raw.size) == 0);
    dvt_tensors_free(again);
  }
  dvt_free(text);
  raw.hardware = "tiny";
  FAILS(DVT_CAUSE_INPUT, "tiny is given", dvt_program_check(&raw, NULL, 0, &json));
  raw.hardware = NULL;
  raw.map = "{\"kind\":\"program map\"}";
  FAILS(DVT_CAUSE_INPUT, "map", dvt_program_check(&raw, NULL, 0, &json));
  raw.map = NULL;
  FAILS(DVT_CAUSE_INPUT, "image", dvt_program_check(&raw, NULL, 0, &json));
  raw.struct_size = offsetof(dvt_program, map);  // of a caller with the first header
  FAILS(DVT_CAUSE_INPUT, "hardware", dvt_program_check(&raw, NULL, 0, &json));
  raw.hardware = "1x16x16";
  if (OK(dvt_program_check(&raw, NULL, 0, &json))) CHECK(strstr(json, "\"kind\":\"check\"") != NULL);
  dvt_free(json);
  dvt_program stuck = {.struct_size = sizeof stuck};
  stuck.text = ".space y int8[16]\n  gemm uop=0:1 iter=1,1 dst=0,1 src=0,1 pop_prev\n";
  if (OK(dvt_program_check(&stuck, NULL, 0, &json)))
    CHECK(strstr(json, "\"clean\":false") != NULL && strstr(json, "deadlock") != NULL);
  dvt_free(json);
  stuck.map = map;
  FAILS(DVT_CAUSE_INPUT, "map", dvt_program_check(&stuck, NULL, 0, &json));
  dvt_free(map);
  dvt_tensors_free(encoded);
}

// The programs of a bundle run alone, on their own names.
static void bundle_programs(const dvt_model* model) {
  dvt_compile_options options = for_accelerator();
  dvt_bundle* bundle = NULL;
  dvt_tensors* parts = NULL;
  char* json = NULL;
  if (!OK(dvt_compile(model, &options, &bundle, NULL))) return;
  if (OK(dvt_bundle_programs(bundle, &parts, &json))) {
    CHECK(strstr(json, "\"text\":\".config ") != NULL && strstr(json, "\"inputs\":[") != NULL);
    const DLTensor* instructions = dvt_tensors_find(parts, "instructions 0");
    CHECK(instructions->ndim == 2 && dvt_tensors_find(parts, "image 0")->shape[0] > 0);
  }
  dvt_free(json);
  dvt_tensors_free(parts);
  dvt_bundle_free(bundle);
  options.targets = "cpu";
  if (!OK(dvt_compile(model, &options, &bundle, NULL))) return;
  if (OK(dvt_bundle_programs(bundle, NULL, &json))) CHECK(strcmp(json, "{\"programs\":[]}") == 0);
  dvt_free(json);
  dvt_bundle_free(bundle);
}

static void compare(const dvt_model* model) {
  dvt_compile_options compile = for_accelerator();
  const char* const hardware[] = {"1x16x16-ext", "1x8x8"};
  DLTensor image = tensor_of(images, kDLFloat, 32, 4, image_shape);
  const dvt_named_tensor input = {"image", &image}, wrong = {"picture", &image};
  struct seen seen = {.stop_at = -1};
  const dvt_callbacks calls = {sizeof calls, &seen, take_note, progress, cancelled, NULL, NULL};
  compile.callbacks = &calls;
  dvt_compare_options options = {.struct_size = sizeof options, .hardware = {hardware, 2}, .inputs = &input,
                                 .input_count = 1, .repeat = 2};
  char *json = NULL, *html = NULL;
  const dvt_model* models[] = {model, model};
  if (OK(dvt_compare(models, 2, &compile, &options, &json))) {
    CHECK(strstr(json, "\"kind\":\"comparison\"") != NULL && strstr(json, "1x8x8") != NULL && seen.progress > 0);
    if (OK(dvt_page(json, &html))) CHECK(strstr(html, "<!doctype html>") == html);
    dvt_free(html);
  }
  dvt_free(json);
  options.inputs = &wrong;
  FAILS(DVT_CAUSE_INPUT, "picture", dvt_compare(models, 1, &compile, &options, &json));
  options.input_count = 0;
  options.repeat = -1;
  FAILS(DVT_CAUSE_INPUT, "repeat", dvt_compare(models, 1, &compile, &options, &json));
  options.repeat = 0;
  const char* const nowhere[] = {"nonesuch"};
  options.hardware = (dvt_texts){nowhere, 1};
  FAILS(DVT_CAUSE_INPUT, "nonesuch", dvt_compare(models, 1, &compile, &options, &json));
  compile.targets = "nonesuch";
  FAILS(DVT_CAUSE_INPUT, "nonesuch", dvt_compare(models, 1, &compile, NULL, &json));
  compile = for_accelerator();
  seen.stop_at = 0;
  compile.callbacks = &calls;
  FAILS(DVT_CAUSE_WORK, "stopped", dvt_compare(models, 1, &compile, NULL, &json));
  CHECK(json == NULL);
}

static void stages(const dvt_model* model) {
  const dvt_compile_options options = for_accelerator();
  const char *const stream[] = {"stream"}, *const wrong[] = {"nonesuch"};
  char* json = NULL;
  if (OK(dvt_compile_stages(model, &options, (dvt_texts){stream, 1}, NULL, &json)))
    CHECK(strstr(json, "[{\"stage\":\"stream\",\"text\":\"") == json);
  dvt_free(json);
  if (OK(dvt_compile_stages(model, &options, (dvt_texts){NULL, 0}, "import", &json)))
    CHECK(strstr(json, "[{\"stage\":\"import\"") == json && strstr(json, "\"stage\":\"bundle\"") == NULL);
  dvt_free(json);
  FAILS(DVT_CAUSE_INPUT, "nonesuch", dvt_compile_stages(model, &options, (dvt_texts){wrong, 1}, NULL, &json));
  FAILS(DVT_CAUSE_INPUT, "nonesuch", dvt_compile_stages(model, &options, (dvt_texts){NULL, 0}, "nonesuch", &json));
}

static void facts(const char* digits, const char* folder) {
  char* json = NULL;
  dvt_model* model = NULL;
  if (OK(dvt_zoo(&json))) CHECK(strstr(json, "\"name\":\"resnet8\"") != NULL);
  dvt_free(json);
  dvt_zoo_options options = {.struct_size = sizeof options, .int8 = 1, .samples = 1};
  if (OK(dvt_zoo_model("resnet8", &options, &model, &json)))
    CHECK(strstr(json, "\"kind\":\"zoo\"") != NULL && strstr(json, "\"file\":null") != NULL);
  dvt_free(json);
  dvt_model_free(model);
  FAILS(DVT_CAUSE_INPUT, "nonesuch", dvt_zoo_model("nonesuch", NULL, &model, &json));
  options.samples = 100000;
  FAILS(DVT_CAUSE_INPUT, "samples", dvt_zoo_model("resnet8", &options, &model, &json));
  options.int8 = 0;
  FAILS(DVT_CAUSE_INPUT, "int8", dvt_zoo_model("resnet8", &options, &model, &json));
  options.samples = 0;
  options.batch = -1;
  FAILS(DVT_CAUSE_INPUT, "batch", dvt_zoo_model("resnet8", &options, &model, &json));
  if (OK(dvt_inspect(path_of(digits, "digits_int8.onnx"), NULL, &json))) CHECK(strstr(json, "\"kind\":\"onnx\"") != NULL);
  dvt_free(json);
  FAILS(DVT_CAUSE_INPUT, "nonesuch", dvt_inspect(path_of(folder, "nonesuch"), NULL, &json));
  FAILS(DVT_CAUSE_INPUT, "nowhere", dvt_inspect(path_of(digits, "digits_int8.onnx"), "nowhere", &json));
  if (OK(dvt_operators(&json))) CHECK(strstr(json, "\"Conv\":{\"versions\":[") != NULL);
  dvt_free(json);
  if (OK(dvt_doctor(&json))) CHECK(strstr(json, "\"kind\":\"doctor\",\"engines\":[") != NULL);
  dvt_free(json);
  if (OK(dvt_isa("tiny", &json))) CHECK(strstr(json, "\"gemm\"") != NULL);
  dvt_free(json);
  FAILS(DVT_CAUSE_INPUT, "nonesuch", dvt_isa("nonesuch", &json));
}

// The database that `search` wrote.
static void records(const char* database, const char* folder) {
  char merged[4096];
  snprintf(merged, sizeof merged, "%s/merged.db", folder);
  char *json = NULL, *lines = NULL;
  if (OK(dvt_records_list(database, NULL, &json))) CHECK(strstr(json, "\"outcomes\":{\"measured\":") != NULL);
  dvt_free(json);
  if (OK(dvt_records_export(database, NULL, &lines))) CHECK(lines[0] == '{' && lines[strlen(lines) - 1] == '\n');
  if (OK(dvt_records_import(merged, lines, &json))) CHECK(strstr(json, "\"action\":\"import\"") != NULL);
  dvt_free(json);
  const char *const from[] = {database}, *const wrong[] = {"/nonesuch.db"};
  if (OK(dvt_records_merge(merged, (dvt_texts){from, 1}, &json))) CHECK(strstr(json, "\"added\":0,") != NULL);
  dvt_free(json);
  FAILS(DVT_CAUSE_INPUT, "nonesuch", dvt_records_merge(merged, (dvt_texts){wrong, 1}, &json));
  FAILS(DVT_CAUSE_INPUT, "nonesuch", dvt_records_list("/nonesuch.db", NULL, &json));
  FAILS(DVT_CAUSE_INPUT, "nonesuch", dvt_records_show(database, "nonesuch", &json));
  FAILS(DVT_CAUSE_INPUT, "lines:1", dvt_records_import(merged, "{\"task\":3}\n", &json));
  FAILS(DVT_CAUSE_INPUT, "no records", dvt_records_import(merged, "\n", &json));
  FAILS(DVT_CAUSE_INPUT, "the key may mean", dvt_records_show(database, "", &json));
  char* task = strstr(lines, "\"task\":\"") + strlen("\"task\":\"");
  *strchr(task, '"') = '\0';
  if (OK(dvt_records_show(database, task, &json))) CHECK(strstr(json, "\"candidates\":[{") != NULL);
  dvt_free(json);
  dvt_free(lines);
}

static void simulate(const char* file) {
  size_t size = 0;
  char* text = (char*)read_bytes(file, &size);
  text[size] = '\0';
  dvt_program program = {.struct_size = sizeof program, .text = text, .name = "matmul.s"};
  const char* const read[] = {"y", "bias:int32[16]"};
  const dvt_texts places = {read, 2};
  dvt_tensors* outputs = NULL;
  char* json = NULL;
  int8_t x[4 * 48];
  int64_t x_shape[] = {4, 3, 16};
  memset(x, 0, sizeof x);
  DLTensor zeros = tensor_of(x, kDLInt, 8, 3, x_shape);
  const dvt_named_tensor input = {"x", &zeros};
  dvt_session_options cycle = {.struct_size = sizeof cycle, .engine = "cycle"};
  if (OK(dvt_simulate(&program, &cycle, &input, 1, places, &outputs, &json))) {
    CHECK(strstr(json, "\"kind\":\"simulate\"") != NULL && strstr(json, "\"timing\":") != NULL);
    const DLTensor* y = dvt_tensors_find(outputs, "y");
    CHECK(y != NULL && y->ndim == 2 && y->shape[0] == 4 && y->shape[1] == 16);
    // x is zero: the result is the bias, 100 and -100 in turn, shifted right by 4.
    for (int i = 0; i < 64; ++i) CHECK(((const int8_t*)y->data)[i] == (i % 2 == 0 ? 6 : -7));
    CHECK(((const int32_t*)dvt_tensors_view(outputs, 1)->data)[1] == -100);
  }
  dvt_free(json);
  dvt_tensors_free(outputs);
  const dvt_named_tensor nonesuch = {"nonesuch", &zeros};
  FAILS(DVT_CAUSE_INPUT, "nonesuch", dvt_simulate(&program, NULL, &nonesuch, 1, places, &outputs, NULL));
  simulate_more(&program, &input);
  programs(&program, &input);
  program.text = ".config 1x16x16\n  gem uop=0\n";
  FAILS(DVT_CAUSE_INPUT, "matmul.s:2", dvt_program_check(&program, NULL, 0, &json));
  FAILS(DVT_CAUSE_INPUT, "matmul.s:2", dvt_program_assemble(&program, &outputs, &json));
  FAILS(DVT_CAUSE_INPUT, "gem", dvt_simulate(&program, NULL, NULL, 0, places, &outputs, NULL));
  program.text = ".space y int8[16]\n  gemm uop=0:1 iter=1,1 dst=0,1 src=0,1 pop_prev\n";
  const dvt_texts y = {read, 1};
  FAILS(DVT_CAUSE_WORK, "deadlock", dvt_simulate(&program, NULL, NULL, 0, y, &outputs, NULL));
  program.instructions = text;
  FAILS(DVT_CAUSE_INPUT, "both", dvt_simulate(&program, NULL, NULL, 0, y, &outputs, NULL));
  program.text = NULL;
  program.size = 13;
  FAILS(DVT_CAUSE_INPUT, "hardware", dvt_simulate(&program, NULL, NULL, 0, y, &outputs, NULL));
  program.hardware = "tiny";
  FAILS(DVT_CAUSE_INPUT, "bytes", dvt_simulate(&program, NULL, NULL, 0, y, &outputs, NULL));
  free(text);
}

// A space with numeric choices: the float model is quantized for each.
static void explore_numerics(const dvt_model* model, const dvt_model* float_model, const char* folder) {
  char points[4096];
  snprintf(points, sizeof points, "%s/numerics", folder);
  const char* space =
      "{\"hardware\": \"1x16x16-ext\", \"axes\": {\"scales\": [\"any\", \"power-of-two\"]}, "
      "\"objectives\": [\"accuracy\", \"latency_ms\"]}";
  const char* plain = "{\"hardware\": \"1x16x16-ext\", \"axes\": {\"bus_bytes\": [8]}}";
  DLTensor all = tensor_of(images, kDLFloat, 32, 4, all_shape);
  DLTensor classes = tensor_of(labels, kDLInt, 64, 1, labels_shape);
  const dvt_named_tensor inputs = {"image", &all}, unnamed = {NULL, &all};
  dvt_model_samples samples = {.samples = &inputs, .sample_count = 1, .labels = &classes};
  dvt_explore_options explore = {.struct_size = sizeof explore, .folder = points, .jobs = 1};
  char* json = NULL;
  FAILS(DVT_CAUSE_INPUT, "numeric choices", dvt_explore(&float_model, 1, space, &explore, &json));
  explore.samples = &samples;
  FAILS(DVT_CAUSE_INPUT, "no numeric choices", dvt_explore(&model, 1, plain, &explore, &json));
  samples.tests = &unnamed;
  samples.test_count = 1;
  FAILS(DVT_CAUSE_INPUT, "samples[0].tests", dvt_explore(&float_model, 1, space, &explore, &json));
  samples.test_count = 0;
  if (OK(dvt_explore(&float_model, 1, space, &explore, &json)))
    CHECK(strstr(json, "\"accuracy\":\"top-1, 360 samples, those of the calibration\"") != NULL);
  dvt_free(json);
}

static void search(const dvt_model* model, const dvt_model* float_model, const char* folder) {
  char database[4096], points[4096];
  snprintf(database, sizeof database, "%s/records.db", folder);
  snprintf(points, sizeof points, "%s/sweep", folder);
  dvt_compile_options compile_options = for_accelerator();
  compile_options.targets = "accel";
  dvt_tune_options options = {.struct_size = sizeof options, .trials = 2, .batch = 2};
  char* json = NULL;
  FAILS(DVT_CAUSE_INPUT, "records", dvt_tune(model, &compile_options, &options, &json));
  options.records = database;
  options.search = "nonesuch";
  FAILS(DVT_CAUSE_INPUT, "nonesuch", dvt_tune(model, &compile_options, &options, &json));
  options.search = "random";
  if (OK(dvt_tune(model, &compile_options, &options, &json))) CHECK(strstr(json, "\"kind\":\"tune\"") != NULL);
  dvt_free(json);
  dvt_bundle* bundle = NULL;
  compile_options.targets = targets;
  compile_options.records = database;
  OK(dvt_compile(model, &compile_options, &bundle, NULL));
  dvt_bundle_free(bundle);
  records(database, folder);

  const char* space =
      "{\"hardware\": \"1x16x16-ext\", \"axes\": {\"bus_bytes\": [8, 16]}, \"objectives\": [\"latency_ms\", "
      "\"area_mm2\"]}";
  struct seen seen = {.stop_at = -1};
  dvt_callbacks calls = {sizeof calls, &seen, take_note, progress, cancelled, NULL, NULL};
  dvt_explore_options explore = {.struct_size = sizeof explore, .jobs = 1, .callbacks = &calls};
  FAILS(DVT_CAUSE_INPUT, "folder", dvt_explore(&model, 1, space, &explore, &json));
  explore.folder = points;
  FAILS(DVT_CAUSE_INPUT, "space", dvt_explore(&model, 1, "{", &explore, &json));
  explore.point = take_point;
  if (OK(dvt_explore(&model, 1, space, &explore, &json)))
    CHECK(strstr(json, "\"kind\":\"explore\"") != NULL && seen.progress > 0);
  dvt_free(json);
  CHECK(seen.points == 2 && seen.known == 0);
  if (OK(dvt_explore(&model, 1, space, &explore, &json))) CHECK(strstr(json, "\"finished\":0") != NULL);
  dvt_free(json);
  CHECK(seen.points == 2 && seen.known == 2);
  explore_numerics(model, float_model, folder);
  dvt_explore_options first = explore; /* of version 1.0, which ends before `energy` */
  first.struct_size = offsetof(dvt_explore_options, energy);
  first.energy = "nonesuch";
  if (OK(dvt_explore(&model, 1, space, &first, &json))) CHECK(strstr(json, "\"finished\":0") != NULL);
  dvt_free(json);
  explore.energy = explore.technology = "cmos28";
  FAILS(DVT_CAUSE_INPUT, "another sweep", dvt_explore(&model, 1, space, &explore, &json));
  char others[4096];
  snprintf(others, sizeof others, "%s/cmos28", folder);
  explore.folder = others;
  if (OK(dvt_explore(&model, 1, space, &explore, &json))) CHECK(strstr(json, "\"technology\":\"28 nm, example") != NULL);
  dvt_free(json);
  explore.technology = "nonesuch";
  FAILS(DVT_CAUSE_INPUT, "nonesuch", dvt_explore(&model, 1, space, &explore, &json));
  explore.technology = NULL;

  if (OK(dvt_what_if(&model, 1, NULL, "1x16x16-ext", &calls, &json)))
    CHECK(strstr(json, "\"kind\":\"what-if\"") != NULL && strstr(json, "\"change\":\"bus_bytes=") != NULL);
  dvt_free(json);
  const double none = 0;
  FAILS(DVT_CAUSE_INPUT, "weights[0]", dvt_what_if(&model, 1, &none, "1x16x16-ext", NULL, &json));
  FAILS(DVT_CAUSE_INPUT, "nonesuch", dvt_what_if(&model, 1, NULL, "nonesuch", NULL, &json));
  seen.stop_at = 0;
  FAILS(DVT_CAUSE_WORK, "stopped", dvt_what_if(&model, 1, NULL, "1x16x16-ext", &calls, &json));

  if (OK(dvt_area("1x16x16-ext", NULL, &json))) CHECK(strstr(json, "\"area_mm2\":") != NULL);
  dvt_free(json);
  if (OK(dvt_area("1x16x16", "xc7", &json))) CHECK(strstr(json, "LUT") != NULL || strstr(json, "lut") != NULL);
  dvt_free(json);
  FAILS(DVT_CAUSE_INPUT, "nonesuch", dvt_area("nonesuch", NULL, &json));
  if (OK(dvt_area_in("1x16x16-ext", "cmos7", &json))) CHECK(strstr(json, "\"technology\":\"7 nm, example") != NULL);
  dvt_free(json);
  FAILS(DVT_CAUSE_INPUT, "nonesuch", dvt_area_in("1x16x16-ext", "nonesuch", &json));
  FAILS(DVT_CAUSE_INPUT, "null", dvt_area_in("1x16x16-ext", NULL, &json));
  FAILS(DVT_CAUSE_INPUT, "flow", dvt_area("tiny", "nonesuch", &json));
  if (OK(dvt_targets(&json))) CHECK(strstr(json, "\"accel\"") != NULL);
  dvt_free(json);
}

// A target of this program: it takes every Relu, and its code is the number of elements.
struct mine {
  int taken, generated, loaded, run, unloaded;
  const char* refuse;
};

static const char* refuse_none(void* user, const dvt_region* match) {
  struct mine* mine = user;
  CHECK(dvt_region_node_count(match) == 1 && strcmp(dvt_region_node_operator(match, 0), "Relu") == 0);
  CHECK(dvt_region_node_operator(match, 1) == NULL && dvt_region_node_input(match, 0, 7) == -1);
  ++mine->taken;
  return mine->refuse;
}
static double one_nanosecond(void* user, const dvt_region* match) {
  (void)user;
  return dvt_region_output_count(match) == 1 ? 1e-9 : 1;
}
static const char* generate(void* user, const dvt_region* region, void (*write)(void*, const void*, size_t),
                            void* code) {
  dvt_tensor_info info = {.struct_size = sizeof info};
  CHECK(dvt_region_input_count(region) == 1 && dvt_region_name(region) != NULL);
  CHECK(dvt_region_node_name(region, 0) != NULL && dvt_region_node_input_count(region, 0) == 1);
  CHECK(dvt_region_node_output_count(region, 0) == 1 && strcmp(dvt_region_node_attributes(region, 0), "{}") == 0);
  CHECK(dvt_region_node_output(region, 0, 0) == dvt_region_output(region, 0));
  CHECK(dvt_region_constant(region, dvt_region_input(region, 0)) == NULL);
  OK(dvt_region_value(region, dvt_region_input(region, 0), &info));
  FAILS(DVT_CAUSE_INPUT, "no value", dvt_region_value(region, 1 << 30, &info));
  int64_t elements = 1;
  for (int i = 0; i < info.ndim; ++i) elements *= info.shape[i];
  write(code, &elements, 4);  // in two pieces
  write(code, (const char*)&elements + 4, 4);
  ++((struct mine*)user)->generated;
  return NULL;
}
static void* load_kernel(void* user, const void* code, size_t size, const char** why) {
  if (size != sizeof(int64_t)) *why = "the code is not a number";
  if (size != sizeof(int64_t)) return NULL;
  ++((struct mine*)user)->loaded;
  return memcpy(malloc(size), code, size);
}
static const char* run_kernel(void* user, void* kernel, const DLTensor* arguments, size_t argument_count,
                              const DLTensor* results, size_t result_count) {
  if (argument_count != 1 || result_count != 1) return "a Relu has one argument and one result";
  const float* from = arguments[0].data;
  float* to = results[0].data;
  for (int64_t i = 0; i < *(const int64_t*)kernel; ++i) to[i] = from[i] > 0 ? from[i] : 0;
  ++((struct mine*)user)->run;
  return NULL;
}
static void unload_kernel(void* user, void* kernel) {
  ++((struct mine*)user)->unloaded;
  free(kernel);
}

static void own_target(const dvt_model* model, const char* saved) {
  struct mine mine = {0};
  const char* const patterns[] = {"Relu(_)"};
  dvt_target table = {.struct_size = sizeof table, .user = &mine, .name = "mine", .patterns = patterns,
                      .pattern_count = 1, .refuse = refuse_none, .seconds = one_nanosecond, .generate = generate,
                      .load = load_kernel, .run = run_kernel, .unload = unload_kernel};
  const dvt_target* tables[] = {&table};
  dvt_compile_options options = {.struct_size = sizeof options, .targets = "mine,cpu", .cpu = "baseline",
                                 .own_targets = tables, .own_target_count = 1};
  dvt_bundle* bundle = NULL;
  table.name = "cpu";
  FAILS(DVT_CAUSE_INPUT, "another target", dvt_compile(model, &options, &bundle, NULL));
  table.name = "mine";
  options.targets = "yours,cpu";
  FAILS(DVT_CAUSE_INPUT, "yours", dvt_compile(model, &options, &bundle, NULL));
  options.targets = "mine,cpu";
  const char* const malformed[] = {"Relu("};
  table.patterns = malformed;
  FAILS(DVT_CAUSE_INPUT, "pattern", dvt_compile(model, &options, &bundle, NULL));
  table.patterns = patterns;
  mine.refuse = "not today";
  char* json = NULL;
  if (OK(dvt_compile(model, &options, &bundle, &json))) CHECK(mine.generated == 0 && strstr(json, "not today") != NULL);
  dvt_free(json);
  dvt_bundle_free(bundle);
  mine.refuse = NULL;
  if (!OK(dvt_compile(model, &options, &bundle, NULL))) return;
  CHECK(mine.generated > 0 && mine.generated <= mine.taken);
  OK(dvt_bundle_save(bundle, saved));

  DLTensor image = tensor_of(images, kDLFloat, 32, 4, image_shape);
  const dvt_named_tensor input = {"image", &image};
  dvt_session_options with = {.struct_size = sizeof with, .own_targets = tables, .own_target_count = 1};
  dvt_session* session = NULL;
  FAILS(DVT_CAUSE_INPUT, "mine", dvt_session_create(bundle, NULL, &session));
  if (OK(dvt_session_create(bundle, &with, &session))) {
    CHECK(mine.loaded == mine.generated);
    if (OK(dvt_session_check(session, &input, 1, &json))) CHECK(strstr(json, "\"different\":0") != NULL);
    dvt_free(json);
    CHECK(mine.run == mine.generated);
  }
  dvt_session_free(session);
  dvt_bundle_free(bundle);
  CHECK(mine.unloaded == mine.loaded);

  // Its code in a file is trusted like machine code.
  dvt_load_options load = {sizeof load, DVT_TRUST_NEVER};
  OK(dvt_bundle_load_file(saved, &load, &bundle));
  FAILS(DVT_CAUSE_INPUT, "machine code in the steps of cpu, mine", dvt_session_create(bundle, &with, &session));
  dvt_bundle_free(bundle);
  OK(dvt_bundle_load_file(saved, NULL, &bundle));
  if (OK(dvt_session_create(bundle, &with, &session))) {
    dvt_tensors* outputs = NULL;
    OK(dvt_session_run(session, &input, 1, &outputs));
    CHECK(dvt_tensors_count(outputs) == 1 && mine.run == 2 * mine.generated);
    dvt_tensors_free(outputs);
  }
  dvt_session_free(session);
  dvt_bundle_free(bundle);
  table.run = NULL;
  OK(dvt_bundle_load_file(saved, NULL, &bundle));
  FAILS(DVT_CAUSE_INPUT, "run", dvt_session_create(bundle, &with, &session));
  dvt_bundle_free(bundle);
}

// What a command prints goes to the descriptor `to`, which is closed; its exit code.
static int32_t command_to(int to, int32_t count, const char* const* arguments) {
  fflush(stdout);
  const int kept = dup(1);
  dup2(to, 1);
  close(to);
  const int32_t code = dvt_command(count, arguments);
  dup2(kept, 1);
  close(kept);
  return code;
}

static int32_t command(const char* file, int32_t count, const char* const* arguments) {
  return command_to(open(file, O_WRONLY | O_CREAT | O_TRUNC, 0600), count, arguments);
}

static void on_signal(int number) { (void)number; }

static void commands(const char* digits, const char* folder) {
  char file[4096], model[4096];
  snprintf(file, sizeof file, "%s/command.txt", folder);
  snprintf(model, sizeof model, "%s/digits_int8.onnx", digits);
  struct sigaction mine = {.sa_handler = on_signal}, now;
  sigaction(SIGINT, &mine, NULL);
  sigaction(SIGPIPE, &mine, NULL);
  const char* const run[] = {"dovetail", "run", model, "--target", "accel", "--hw", "1x16x16-ext", "--check", "--json"};
  const char* const text[] = {"dovetail", "inspect", model, "--color", "never"};
  const char* const wrong[] = {"dovetail", "inspekt"};
  const char* const full[] = {"dovetail", "isa", "--format", "markdown"};
  CHECK(command(file, 9, run) == 0);
  size_t size = 0;
  unsigned char* printed = read_bytes(file, &size);
  CHECK(size > 1000 && printed[0] == '{' && printed[size - 2] == '}');
  free(printed);
  CHECK(command(file, 5, text) == 0);  // the text is not dropped, as a report next to JSON is
  printed = read_bytes(file, &size);
  CHECK(size > 100 && memcmp(printed, "file ", 5) == 0);
  free(printed);
  CHECK(command(file, 2, wrong) == 2);
  CHECK(command(file, 0, NULL) == 2);
  CHECK(command("/dev/full", 4, full) == 1);
  CHECK(command(file, 4, full) == 0);  // and the failure before it is forgotten

  int ends[2];
  CHECK(pipe(ends) == 0);
  close(ends[0]);
  CHECK(command_to(ends[1], 4, full) == 128 + SIGPIPE);
  sigaction(SIGINT, NULL, &now);
  CHECK(now.sa_handler == on_signal);
  sigaction(SIGPIPE, NULL, &now);
  CHECK(now.sa_handler == on_signal);
  signal(SIGINT, SIG_DFL);
  signal(SIGPIPE, SIG_DFL);
}

int main(int count, char** arguments) {
  if (count != 5) return 2;
  const char *digits = arguments[1], *folder = arguments[4];
  unsigned char *images_file = NULL, *labels_file = NULL, *logits_file = NULL;
  images = npy_elements(path_of(digits, "test_images.npy"), &images_file);
  labels = npy_elements(path_of(digits, "test_labels.npy"), &labels_file);
  expected = npy_elements(arguments[3], &logits_file);
  nulls();
  dvt_model *model = NULL, *from_memory = NULL, *float_model = NULL;
  OK(dvt_model_load_file(path_of(digits, "digits_int8.onnx"), &model));
  OK(dvt_model_load_file(path_of(digits, "digits_float.onnx"), &float_model));
  size_t size = 0;
  unsigned char* bytes = read_bytes(path_of(digits, "digits_int8.onnx"), &size);
  OK(dvt_model_load_memory(bytes, size, "digits", &from_memory));
  dvt_model* cut = NULL;
  FAILS(DVT_CAUSE_INPUT, "cut", dvt_model_load_memory(bytes, size / 2, "cut", &cut));
  free(bytes);

  compile(model);
  dvt_compile_options options = for_accelerator();
  char saved[4096];
  snprintf(saved, sizeof saved, "%s/accel.dvt", folder);
  evaluate(from_memory, &options, saved);
  options.targets = "cpu";
  snprintf(saved, sizeof saved, "%s/cpu.dvt", folder);
  evaluate(model, &options, saved);
  snprintf(saved, sizeof saved, "%s/quantized.onnx", folder);
  quantize(float_model, saved);
  snprintf(saved, sizeof saved, "%s/own.dvt", folder);
  own_target(float_model, saved);
  trace_and_page(model);
  loops();
  bundle_programs(model);
  compare(model);
  stages(model);
  facts(digits, folder);
  simulate(arguments[2]);
  search(model, float_model, folder);
  commands(digits, folder);

  dvt_model_free(model);
  dvt_model_free(from_memory);
  dvt_model_free(float_model);
  free(images_file);
  free(labels_file);
  free(logits_file);
  printf(failures == 0 ? "all checks hold\n" : "%d checks failed\n", failures);
  return failures != 0;
}
