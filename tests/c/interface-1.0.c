/* Constants and members of version 1.0, written by run.py. */
/* clang-format off */
#include <dovetail.h>

_Static_assert(DVT_CAUSE_NONE == 0, "DVT_CAUSE_NONE");
_Static_assert(DVT_CAUSE_INPUT == 1, "DVT_CAUSE_INPUT");
_Static_assert(DVT_CAUSE_WORK == 2, "DVT_CAUSE_WORK");
_Static_assert(DVT_CAUSE_RESOURCE == 3, "DVT_CAUSE_RESOURCE");
_Static_assert(DVT_CAUSE_INTERNAL == 4, "DVT_CAUSE_INTERNAL");
_Static_assert(DVT_LOG_NOTE == 1, "DVT_LOG_NOTE");
_Static_assert(DVT_LOG_WARNING == 2, "DVT_LOG_WARNING");
_Static_assert(DVT_TRUST_RECORDED == 0, "DVT_TRUST_RECORDED");
_Static_assert(DVT_TRUST_ALWAYS == 1, "DVT_TRUST_ALWAYS");
_Static_assert(DVT_TRUST_NEVER == 2, "DVT_TRUST_NEVER");
_Static_assert(DVT_LEVEL_DEFAULT == 0, "DVT_LEVEL_DEFAULT");
_Static_assert(DVT_LEVEL_NEEDED == 1, "DVT_LEVEL_NEEDED");
_Static_assert(DVT_LEVEL_EXACT == 2, "DVT_LEVEL_EXACT");
_Static_assert(DVT_LEVEL_TOLERANT == 3, "DVT_LEVEL_TOLERANT");
_Static_assert(DVT_LEVEL_FAST == 4, "DVT_LEVEL_FAST");
_Static_assert(DVT_OFFLOAD_POSSIBLE == 0, "DVT_OFFLOAD_POSSIBLE");
_Static_assert(DVT_OFFLOAD_ALWAYS == 1, "DVT_OFFLOAD_ALWAYS");
_Static_assert(DVT_OFFLOAD_COST == 2, "DVT_OFFLOAD_COST");
_Static_assert(offsetof(dvt_callbacks, struct_size) == 0, "dvt_callbacks.struct_size");
static inline void dvt_callbacks_struct_size(dvt_callbacks* of) { size_t (*p) = &of->struct_size; (void)p; }
_Static_assert(offsetof(dvt_callbacks, user) == 8, "dvt_callbacks.user");
static inline void dvt_callbacks_user(dvt_callbacks* of) { void* (*p) = &of->user; (void)p; }
_Static_assert(offsetof(dvt_callbacks, log) == 16, "dvt_callbacks.log");
static inline void dvt_callbacks_log(dvt_callbacks* of) { void (*(*p))(void* user, dvt_log_level level, const char* message) = &of->log; (void)p; }
_Static_assert(offsetof(dvt_callbacks, progress) == 24, "dvt_callbacks.progress");
static inline void dvt_callbacks_progress(dvt_callbacks* of) { void (*(*p))(void* user, const char* what, int64_t done, int64_t all) = &of->progress; (void)p; }
_Static_assert(offsetof(dvt_callbacks, cancelled) == 32, "dvt_callbacks.cancelled");
static inline void dvt_callbacks_cancelled(dvt_callbacks* of) { int (*(*p))(void* user) = &of->cancelled; (void)p; }
_Static_assert(offsetof(dvt_callbacks, allocate) == 40, "dvt_callbacks.allocate");
static inline void dvt_callbacks_allocate(dvt_callbacks* of) { void* (*(*p))(void* user, size_t bytes, size_t alignment) = &of->allocate; (void)p; }
_Static_assert(offsetof(dvt_callbacks, release) == 48, "dvt_callbacks.release");
static inline void dvt_callbacks_release(dvt_callbacks* of) { void (*(*p))(void* user, void* memory, size_t bytes) = &of->release; (void)p; }
_Static_assert(offsetof(dvt_named_tensor, name) == 0, "dvt_named_tensor.name");
static inline void dvt_named_tensor_name(dvt_named_tensor* of) { const char* (*p) = &of->name; (void)p; }
_Static_assert(offsetof(dvt_named_tensor, tensor) == 8, "dvt_named_tensor.tensor");
static inline void dvt_named_tensor_tensor(dvt_named_tensor* of) { const DLTensor* (*p) = &of->tensor; (void)p; }
_Static_assert(offsetof(dvt_tensor_info, struct_size) == 0, "dvt_tensor_info.struct_size");
static inline void dvt_tensor_info_struct_size(dvt_tensor_info* of) { size_t (*p) = &of->struct_size; (void)p; }
_Static_assert(offsetof(dvt_tensor_info, name) == 8, "dvt_tensor_info.name");
static inline void dvt_tensor_info_name(dvt_tensor_info* of) { const char* (*p) = &of->name; (void)p; }
_Static_assert(offsetof(dvt_tensor_info, dtype) == 16, "dvt_tensor_info.dtype");
static inline void dvt_tensor_info_dtype(dvt_tensor_info* of) { DLDataType (*p) = &of->dtype; (void)p; }
_Static_assert(offsetof(dvt_tensor_info, ndim) == 20, "dvt_tensor_info.ndim");
static inline void dvt_tensor_info_ndim(dvt_tensor_info* of) { int32_t (*p) = &of->ndim; (void)p; }
_Static_assert(offsetof(dvt_tensor_info, shape) == 24, "dvt_tensor_info.shape");
static inline void dvt_tensor_info_shape(dvt_tensor_info* of) { const int64_t* (*p) = &of->shape; (void)p; }
_Static_assert(offsetof(dvt_load_options, struct_size) == 0, "dvt_load_options.struct_size");
static inline void dvt_load_options_struct_size(dvt_load_options* of) { size_t (*p) = &of->struct_size; (void)p; }
_Static_assert(offsetof(dvt_load_options, trust) == 8, "dvt_load_options.trust");
static inline void dvt_load_options_trust(dvt_load_options* of) { dvt_trust (*p) = &of->trust; (void)p; }
_Static_assert(offsetof(dvt_target, struct_size) == 0, "dvt_target.struct_size");
static inline void dvt_target_struct_size(dvt_target* of) { size_t (*p) = &of->struct_size; (void)p; }
_Static_assert(offsetof(dvt_target, user) == 8, "dvt_target.user");
static inline void dvt_target_user(dvt_target* of) { void* (*p) = &of->user; (void)p; }
_Static_assert(offsetof(dvt_target, name) == 16, "dvt_target.name");
static inline void dvt_target_name(dvt_target* of) { const char* (*p) = &of->name; (void)p; }
_Static_assert(offsetof(dvt_target, patterns) == 24, "dvt_target.patterns");
static inline void dvt_target_patterns(dvt_target* of) { const char* const* (*p) = &of->patterns; (void)p; }
_Static_assert(offsetof(dvt_target, pattern_count) == 32, "dvt_target.pattern_count");
static inline void dvt_target_pattern_count(dvt_target* of) { size_t (*p) = &of->pattern_count; (void)p; }
_Static_assert(offsetof(dvt_target, refuse) == 40, "dvt_target.refuse");
static inline void dvt_target_refuse(dvt_target* of) { const char* (*(*p))(void* user, const dvt_region* match) = &of->refuse; (void)p; }
_Static_assert(offsetof(dvt_target, seconds) == 48, "dvt_target.seconds");
static inline void dvt_target_seconds(dvt_target* of) { double (*(*p))(void* user, const dvt_region* match) = &of->seconds; (void)p; }
_Static_assert(offsetof(dvt_target, generate) == 56, "dvt_target.generate");
static inline void dvt_target_generate(dvt_target* of) { const char* (*(*p))(void* user, const dvt_region* region,
                          void (*write)(void* code, const void* bytes, size_t size), void* code) = &of->generate; (void)p; }
_Static_assert(offsetof(dvt_target, load) == 64, "dvt_target.load");
static inline void dvt_target_load(dvt_target* of) { void* (*(*p))(void* user, const void* code, size_t size, const char** why) = &of->load; (void)p; }
_Static_assert(offsetof(dvt_target, run) == 72, "dvt_target.run");
static inline void dvt_target_run(dvt_target* of) { const char* (*(*p))(void* user, void* kernel, const DLTensor* arguments, size_t argument_count,
                     const DLTensor* results, size_t result_count) = &of->run; (void)p; }
_Static_assert(offsetof(dvt_target, unload) == 80, "dvt_target.unload");
static inline void dvt_target_unload(dvt_target* of) { void (*(*p))(void* user, void* kernel) = &of->unload; (void)p; }
_Static_assert(offsetof(dvt_session_options, struct_size) == 0, "dvt_session_options.struct_size");
static inline void dvt_session_options_struct_size(dvt_session_options* of) { size_t (*p) = &of->struct_size; (void)p; }
_Static_assert(offsetof(dvt_session_options, engine) == 8, "dvt_session_options.engine");
static inline void dvt_session_options_engine(dvt_session_options* of) { const char* (*p) = &of->engine; (void)p; }
_Static_assert(offsetof(dvt_session_options, threads) == 16, "dvt_session_options.threads");
static inline void dvt_session_options_threads(dvt_session_options* of) { int32_t (*p) = &of->threads; (void)p; }
_Static_assert(offsetof(dvt_session_options, memory) == 24, "dvt_session_options.memory");
static inline void dvt_session_options_memory(dvt_session_options* of) { const char* (*p) = &of->memory; (void)p; }
_Static_assert(offsetof(dvt_session_options, clock_mhz) == 32, "dvt_session_options.clock_mhz");
static inline void dvt_session_options_clock_mhz(dvt_session_options* of) { double (*p) = &of->clock_mhz; (void)p; }
_Static_assert(offsetof(dvt_session_options, accelerators) == 40, "dvt_session_options.accelerators");
static inline void dvt_session_options_accelerators(dvt_session_options* of) { int64_t
      (*p) = &of->accelerators; (void)p; }
_Static_assert(offsetof(dvt_session_options, callbacks) == 48, "dvt_session_options.callbacks");
static inline void dvt_session_options_callbacks(dvt_session_options* of) { const dvt_callbacks* (*p) = &of->callbacks; (void)p; }
_Static_assert(offsetof(dvt_session_options, own_targets) == 56, "dvt_session_options.own_targets");
static inline void dvt_session_options_own_targets(dvt_session_options* of) { const dvt_target* const* (*p) = &of->own_targets; (void)p; }
_Static_assert(offsetof(dvt_session_options, own_target_count) == 64, "dvt_session_options.own_target_count");
static inline void dvt_session_options_own_target_count(dvt_session_options* of) { size_t (*p) = &of->own_target_count; (void)p; }
_Static_assert(offsetof(dvt_texts, items) == 0, "dvt_texts.items");
static inline void dvt_texts_items(dvt_texts* of) { const char* const* (*p) = &of->items; (void)p; }
_Static_assert(offsetof(dvt_texts, count) == 8, "dvt_texts.count");
static inline void dvt_texts_count(dvt_texts* of) { size_t (*p) = &of->count; (void)p; }
_Static_assert(offsetof(dvt_compile_options, struct_size) == 0, "dvt_compile_options.struct_size");
static inline void dvt_compile_options_struct_size(dvt_compile_options* of) { size_t (*p) = &of->struct_size; (void)p; }
_Static_assert(offsetof(dvt_compile_options, targets) == 8, "dvt_compile_options.targets");
static inline void dvt_compile_options_targets(dvt_compile_options* of) { const char* (*p) = &of->targets; (void)p; }
_Static_assert(offsetof(dvt_compile_options, hardware) == 16, "dvt_compile_options.hardware");
static inline void dvt_compile_options_hardware(dvt_compile_options* of) { const char* (*p) = &of->hardware; (void)p; }
_Static_assert(offsetof(dvt_compile_options, memory) == 24, "dvt_compile_options.memory");
static inline void dvt_compile_options_memory(dvt_compile_options* of) { const char* (*p) = &of->memory; (void)p; }
_Static_assert(offsetof(dvt_compile_options, clock_mhz) == 32, "dvt_compile_options.clock_mhz");
static inline void dvt_compile_options_clock_mhz(dvt_compile_options* of) { double (*p) = &of->clock_mhz; (void)p; }
_Static_assert(offsetof(dvt_compile_options, accelerators) == 40, "dvt_compile_options.accelerators");
static inline void dvt_compile_options_accelerators(dvt_compile_options* of) { int64_t (*p) = &of->accelerators; (void)p; }
_Static_assert(offsetof(dvt_compile_options, cpu) == 48, "dvt_compile_options.cpu");
static inline void dvt_compile_options_cpu(dvt_compile_options* of) { const char* (*p) = &of->cpu; (void)p; }
_Static_assert(offsetof(dvt_compile_options, gpu) == 56, "dvt_compile_options.gpu");
static inline void dvt_compile_options_gpu(dvt_compile_options* of) { const char* (*p) = &of->gpu; (void)p; }
_Static_assert(offsetof(dvt_compile_options, level) == 64, "dvt_compile_options.level");
static inline void dvt_compile_options_level(dvt_compile_options* of) { dvt_level (*p) = &of->level; (void)p; }
_Static_assert(offsetof(dvt_compile_options, offload) == 68, "dvt_compile_options.offload");
static inline void dvt_compile_options_offload(dvt_compile_options* of) { dvt_offload (*p) = &of->offload; (void)p; }
_Static_assert(offsetof(dvt_compile_options, strict) == 72, "dvt_compile_options.strict");
static inline void dvt_compile_options_strict(dvt_compile_options* of) { int32_t (*p) = &of->strict; (void)p; }
_Static_assert(offsetof(dvt_compile_options, tf32) == 76, "dvt_compile_options.tf32");
static inline void dvt_compile_options_tf32(dvt_compile_options* of) { int32_t (*p) = &of->tf32; (void)p; }
_Static_assert(offsetof(dvt_compile_options, check_bounds) == 80, "dvt_compile_options.check_bounds");
static inline void dvt_compile_options_check_bounds(dvt_compile_options* of) { int32_t (*p) = &of->check_bounds; (void)p; }
_Static_assert(offsetof(dvt_compile_options, all_tensors) == 84, "dvt_compile_options.all_tensors");
static inline void dvt_compile_options_all_tensors(dvt_compile_options* of) { int32_t (*p) = &of->all_tensors; (void)p; }
_Static_assert(offsetof(dvt_compile_options, threads) == 88, "dvt_compile_options.threads");
static inline void dvt_compile_options_threads(dvt_compile_options* of) { int32_t (*p) = &of->threads; (void)p; }
_Static_assert(offsetof(dvt_compile_options, records) == 96, "dvt_compile_options.records");
static inline void dvt_compile_options_records(dvt_compile_options* of) { const char* (*p) = &of->records; (void)p; }
_Static_assert(offsetof(dvt_compile_options, counted_candidates) == 104, "dvt_compile_options.counted_candidates");
static inline void dvt_compile_options_counted_candidates(dvt_compile_options* of) { int64_t (*p) = &of->counted_candidates; (void)p; }
_Static_assert(offsetof(dvt_compile_options, loop_limit) == 112, "dvt_compile_options.loop_limit");
static inline void dvt_compile_options_loop_limit(dvt_compile_options* of) { int64_t (*p) = &of->loop_limit; (void)p; }
_Static_assert(offsetof(dvt_compile_options, place) == 120, "dvt_compile_options.place");
static inline void dvt_compile_options_place(dvt_compile_options* of) { dvt_texts (*p) = &of->place; (void)p; }
_Static_assert(offsetof(dvt_compile_options, shapes) == 136, "dvt_compile_options.shapes");
static inline void dvt_compile_options_shapes(dvt_compile_options* of) { dvt_texts (*p) = &of->shapes; (void)p; }
_Static_assert(offsetof(dvt_compile_options, decide) == 152, "dvt_compile_options.decide");
static inline void dvt_compile_options_decide(dvt_compile_options* of) { dvt_texts (*p) = &of->decide; (void)p; }
_Static_assert(offsetof(dvt_compile_options, without_passes) == 184, "dvt_compile_options.without_passes");
static inline void dvt_compile_options_without_passes(dvt_compile_options* of) { dvt_texts with_passes, (*p) = &of->without_passes; (void)p; }
_Static_assert(offsetof(dvt_compile_options, callbacks) == 200, "dvt_compile_options.callbacks");
static inline void dvt_compile_options_callbacks(dvt_compile_options* of) { const dvt_callbacks* (*p) = &of->callbacks; (void)p; }
_Static_assert(offsetof(dvt_compile_options, own_targets) == 208, "dvt_compile_options.own_targets");
static inline void dvt_compile_options_own_targets(dvt_compile_options* of) { const dvt_target* const* (*p) = &of->own_targets; (void)p; }
_Static_assert(offsetof(dvt_compile_options, own_target_count) == 216, "dvt_compile_options.own_target_count");
static inline void dvt_compile_options_own_target_count(dvt_compile_options* of) { size_t (*p) = &of->own_target_count; (void)p; }
_Static_assert(offsetof(dvt_quantize_options, struct_size) == 0, "dvt_quantize_options.struct_size");
static inline void dvt_quantize_options_struct_size(dvt_quantize_options* of) { size_t (*p) = &of->struct_size; (void)p; }
_Static_assert(offsetof(dvt_quantize_options, calibration) == 8, "dvt_quantize_options.calibration");
static inline void dvt_quantize_options_calibration(dvt_quantize_options* of) { const char* (*p) = &of->calibration; (void)p; }
_Static_assert(offsetof(dvt_quantize_options, tail) == 16, "dvt_quantize_options.tail");
static inline void dvt_quantize_options_tail(dvt_quantize_options* of) { double (*p) = &of->tail; (void)p; }
_Static_assert(offsetof(dvt_quantize_options, per_tensor) == 24, "dvt_quantize_options.per_tensor");
static inline void dvt_quantize_options_per_tensor(dvt_quantize_options* of) { int32_t (*p) = &of->per_tensor; (void)p; }
_Static_assert(offsetof(dvt_quantize_options, powers_of_two) == 28, "dvt_quantize_options.powers_of_two");
static inline void dvt_quantize_options_powers_of_two(dvt_quantize_options* of) { int32_t (*p) = &of->powers_of_two; (void)p; }
_Static_assert(offsetof(dvt_quantize_options, symmetric) == 32, "dvt_quantize_options.symmetric");
static inline void dvt_quantize_options_symmetric(dvt_quantize_options* of) { int32_t (*p) = &of->symmetric; (void)p; }
_Static_assert(offsetof(dvt_quantize_options, equalize) == 36, "dvt_quantize_options.equalize");
static inline void dvt_quantize_options_equalize(dvt_quantize_options* of) { int32_t (*p) = &of->equalize; (void)p; }
_Static_assert(offsetof(dvt_quantize_options, correct_biases) == 40, "dvt_quantize_options.correct_biases");
static inline void dvt_quantize_options_correct_biases(dvt_quantize_options* of) { int32_t (*p) = &of->correct_biases; (void)p; }
_Static_assert(offsetof(dvt_quantize_options, measured_samples) == 44, "dvt_quantize_options.measured_samples");
static inline void dvt_quantize_options_measured_samples(dvt_quantize_options* of) { int32_t (*p) = &of->measured_samples; (void)p; }
_Static_assert(offsetof(dvt_quantize_options, keep_float) == 48, "dvt_quantize_options.keep_float");
static inline void dvt_quantize_options_keep_float(dvt_quantize_options* of) { dvt_texts (*p) = &of->keep_float; (void)p; }
_Static_assert(offsetof(dvt_quantize_options, shapes) == 64, "dvt_quantize_options.shapes");
static inline void dvt_quantize_options_shapes(dvt_quantize_options* of) { dvt_texts (*p) = &of->shapes; (void)p; }
_Static_assert(offsetof(dvt_quantize_options, callbacks) == 80, "dvt_quantize_options.callbacks");
static inline void dvt_quantize_options_callbacks(dvt_quantize_options* of) { const dvt_callbacks* (*p) = &of->callbacks; (void)p; }
_Static_assert(offsetof(dvt_quantize_options, memory_limit) == 88, "dvt_quantize_options.memory_limit");
static inline void dvt_quantize_options_memory_limit(dvt_quantize_options* of) { const char* (*p) = &of->memory_limit; (void)p; }
_Static_assert(offsetof(dvt_quantize_options, resume) == 96, "dvt_quantize_options.resume");
static inline void dvt_quantize_options_resume(dvt_quantize_options* of) { int32_t (*p) = &of->resume; (void)p; }
_Static_assert(offsetof(dvt_program, struct_size) == 0, "dvt_program.struct_size");
static inline void dvt_program_struct_size(dvt_program* of) { size_t (*p) = &of->struct_size; (void)p; }
_Static_assert(offsetof(dvt_program, text) == 8, "dvt_program.text");
static inline void dvt_program_text(dvt_program* of) { const char* (*p) = &of->text; (void)p; }
_Static_assert(offsetof(dvt_program, instructions) == 16, "dvt_program.instructions");
static inline void dvt_program_instructions(dvt_program* of) { const void* (*p) = &of->instructions; (void)p; }
_Static_assert(offsetof(dvt_program, size) == 24, "dvt_program.size");
static inline void dvt_program_size(dvt_program* of) { size_t (*p) = &of->size; (void)p; }
_Static_assert(offsetof(dvt_program, name) == 32, "dvt_program.name");
static inline void dvt_program_name(dvt_program* of) { const char* (*p) = &of->name; (void)p; }
_Static_assert(offsetof(dvt_program, hardware) == 40, "dvt_program.hardware");
static inline void dvt_program_hardware(dvt_program* of) { const char* (*p) = &of->hardware; (void)p; }
_Static_assert(offsetof(dvt_program, launches) == 48, "dvt_program.launches");
static inline void dvt_program_launches(dvt_program* of) { dvt_texts (*p) = &of->launches; (void)p; }
_Static_assert(offsetof(dvt_program, map) == 64, "dvt_program.map");
static inline void dvt_program_map(dvt_program* of) { const char* (*p) = &of->map; (void)p; }
_Static_assert(offsetof(dvt_program, image) == 72, "dvt_program.image");
static inline void dvt_program_image(dvt_program* of) { const void* (*p) = &of->image; (void)p; }
_Static_assert(offsetof(dvt_program, image_size) == 80, "dvt_program.image_size");
static inline void dvt_program_image_size(dvt_program* of) { size_t (*p) = &of->image_size; (void)p; }
_Static_assert(offsetof(dvt_simulate_options, struct_size) == 0, "dvt_simulate_options.struct_size");
static inline void dvt_simulate_options_struct_size(dvt_simulate_options* of) { size_t (*p) = &of->struct_size; (void)p; }
_Static_assert(offsetof(dvt_simulate_options, session) == 8, "dvt_simulate_options.session");
static inline void dvt_simulate_options_session(dvt_simulate_options* of) { const dvt_session_options* (*p) = &of->session; (void)p; }
_Static_assert(offsetof(dvt_simulate_options, places) == 16, "dvt_simulate_options.places");
static inline void dvt_simulate_options_places(dvt_simulate_options* of) { dvt_texts (*p) = &of->places; (void)p; }
_Static_assert(offsetof(dvt_simulate_options, until) == 32, "dvt_simulate_options.until");
static inline void dvt_simulate_options_until(dvt_simulate_options* of) { const char* (*p) = &of->until; (void)p; }
_Static_assert(offsetof(dvt_simulate_options, what_if) == 40, "dvt_simulate_options.what_if");
static inline void dvt_simulate_options_what_if(dvt_simulate_options* of) { int32_t (*p) = &of->what_if; (void)p; }
_Static_assert(offsetof(dvt_loops_options, struct_size) == 0, "dvt_loops_options.struct_size");
static inline void dvt_loops_options_struct_size(dvt_loops_options* of) { size_t (*p) = &of->struct_size; (void)p; }
_Static_assert(offsetof(dvt_loops_options, name) == 8, "dvt_loops_options.name");
static inline void dvt_loops_options_name(dvt_loops_options* of) { const char* (*p) = &of->name; (void)p; }
_Static_assert(offsetof(dvt_loops_options, hardware) == 16, "dvt_loops_options.hardware");
static inline void dvt_loops_options_hardware(dvt_loops_options* of) { const char* (*p) = &of->hardware; (void)p; }
_Static_assert(offsetof(dvt_loops_options, cpu) == 24, "dvt_loops_options.cpu");
static inline void dvt_loops_options_cpu(dvt_loops_options* of) { const char* (*p) = &of->cpu; (void)p; }
_Static_assert(offsetof(dvt_loops_compile_options, struct_size) == 0, "dvt_loops_compile_options.struct_size");
static inline void dvt_loops_compile_options_struct_size(dvt_loops_compile_options* of) { size_t (*p) = &of->struct_size; (void)p; }
_Static_assert(offsetof(dvt_loops_compile_options, target) == 8, "dvt_loops_compile_options.target");
static inline void dvt_loops_compile_options_target(dvt_loops_compile_options* of) { const char* (*p) = &of->target; (void)p; }
_Static_assert(offsetof(dvt_loops_compile_options, check_bounds) == 16, "dvt_loops_compile_options.check_bounds");
static inline void dvt_loops_compile_options_check_bounds(dvt_loops_compile_options* of) { int32_t (*p) = &of->check_bounds; (void)p; }
_Static_assert(offsetof(dvt_loops_compile_options, callbacks) == 24, "dvt_loops_compile_options.callbacks");
static inline void dvt_loops_compile_options_callbacks(dvt_loops_compile_options* of) { const dvt_callbacks* (*p) = &of->callbacks; (void)p; }
_Static_assert(offsetof(dvt_tune_options, struct_size) == 0, "dvt_tune_options.struct_size");
static inline void dvt_tune_options_struct_size(dvt_tune_options* of) { size_t (*p) = &of->struct_size; (void)p; }
_Static_assert(offsetof(dvt_tune_options, records) == 8, "dvt_tune_options.records");
static inline void dvt_tune_options_records(dvt_tune_options* of) { const char* (*p) = &of->records; (void)p; }
_Static_assert(offsetof(dvt_tune_options, search) == 16, "dvt_tune_options.search");
static inline void dvt_tune_options_search(dvt_tune_options* of) { const char* (*p) = &of->search; (void)p; }
_Static_assert(offsetof(dvt_tune_options, trials) == 24, "dvt_tune_options.trials");
static inline void dvt_tune_options_trials(dvt_tune_options* of) { int64_t (*p) = &of->trials; (void)p; }
_Static_assert(offsetof(dvt_tune_options, early_stop) == 32, "dvt_tune_options.early_stop");
static inline void dvt_tune_options_early_stop(dvt_tune_options* of) { int64_t (*p) = &of->early_stop; (void)p; }
_Static_assert(offsetof(dvt_tune_options, batch) == 40, "dvt_tune_options.batch");
static inline void dvt_tune_options_batch(dvt_tune_options* of) { int64_t (*p) = &of->batch; (void)p; }
_Static_assert(offsetof(dvt_tune_options, seed) == 48, "dvt_tune_options.seed");
static inline void dvt_tune_options_seed(dvt_tune_options* of) { uint64_t (*p) = &of->seed; (void)p; }
_Static_assert(offsetof(dvt_tune_options, seconds) == 56, "dvt_tune_options.seconds");
static inline void dvt_tune_options_seconds(dvt_tune_options* of) { double (*p) = &of->seconds; (void)p; }
_Static_assert(offsetof(dvt_model_samples, samples) == 0, "dvt_model_samples.samples");
static inline void dvt_model_samples_samples(dvt_model_samples* of) { const dvt_named_tensor* (*p) = &of->samples; (void)p; }
_Static_assert(offsetof(dvt_model_samples, sample_count) == 8, "dvt_model_samples.sample_count");
static inline void dvt_model_samples_sample_count(dvt_model_samples* of) { size_t (*p) = &of->sample_count; (void)p; }
_Static_assert(offsetof(dvt_model_samples, tests) == 16, "dvt_model_samples.tests");
static inline void dvt_model_samples_tests(dvt_model_samples* of) { const dvt_named_tensor* (*p) = &of->tests; (void)p; }
_Static_assert(offsetof(dvt_model_samples, test_count) == 24, "dvt_model_samples.test_count");
static inline void dvt_model_samples_test_count(dvt_model_samples* of) { size_t (*p) = &of->test_count; (void)p; }
_Static_assert(offsetof(dvt_model_samples, labels) == 32, "dvt_model_samples.labels");
static inline void dvt_model_samples_labels(dvt_model_samples* of) { const DLTensor* (*p) = &of->labels; (void)p; }
_Static_assert(offsetof(dvt_explore_options, struct_size) == 0, "dvt_explore_options.struct_size");
static inline void dvt_explore_options_struct_size(dvt_explore_options* of) { size_t (*p) = &of->struct_size; (void)p; }
_Static_assert(offsetof(dvt_explore_options, folder) == 8, "dvt_explore_options.folder");
static inline void dvt_explore_options_folder(dvt_explore_options* of) { const char* (*p) = &of->folder; (void)p; }
_Static_assert(offsetof(dvt_explore_options, strategy) == 16, "dvt_explore_options.strategy");
static inline void dvt_explore_options_strategy(dvt_explore_options* of) { const char* (*p) = &of->strategy; (void)p; }
_Static_assert(offsetof(dvt_explore_options, points) == 24, "dvt_explore_options.points");
static inline void dvt_explore_options_points(dvt_explore_options* of) { uint64_t (*p) = &of->points; (void)p; }
_Static_assert(offsetof(dvt_explore_options, seed) == 32, "dvt_explore_options.seed");
static inline void dvt_explore_options_seed(dvt_explore_options* of) { uint64_t (*p) = &of->seed; (void)p; }
_Static_assert(offsetof(dvt_explore_options, batch) == 40, "dvt_explore_options.batch");
static inline void dvt_explore_options_batch(dvt_explore_options* of) { uint64_t (*p) = &of->batch; (void)p; }
_Static_assert(offsetof(dvt_explore_options, jobs) == 48, "dvt_explore_options.jobs");
static inline void dvt_explore_options_jobs(dvt_explore_options* of) { int32_t (*p) = &of->jobs; (void)p; }
_Static_assert(offsetof(dvt_explore_options, no_prune) == 52, "dvt_explore_options.no_prune");
static inline void dvt_explore_options_no_prune(dvt_explore_options* of) { int32_t (*p) = &of->no_prune; (void)p; }
_Static_assert(offsetof(dvt_explore_options, no_check) == 56, "dvt_explore_options.no_check");
static inline void dvt_explore_options_no_check(dvt_explore_options* of) { int32_t (*p) = &of->no_check; (void)p; }
_Static_assert(offsetof(dvt_explore_options, weights) == 64, "dvt_explore_options.weights");
static inline void dvt_explore_options_weights(dvt_explore_options* of) { const double* (*p) = &of->weights; (void)p; }
_Static_assert(offsetof(dvt_explore_options, callbacks) == 72, "dvt_explore_options.callbacks");
static inline void dvt_explore_options_callbacks(dvt_explore_options* of) { const dvt_callbacks* (*p) = &of->callbacks; (void)p; }
_Static_assert(offsetof(dvt_explore_options, point) == 80, "dvt_explore_options.point");
static inline void dvt_explore_options_point(dvt_explore_options* of) { void (*(*p))(void* user, const char* json, int32_t known) = &of->point; (void)p; }
_Static_assert(offsetof(dvt_explore_options, samples) == 88, "dvt_explore_options.samples");
static inline void dvt_explore_options_samples(dvt_explore_options* of) { const dvt_model_samples* (*p) = &of->samples; (void)p; }
_Static_assert(offsetof(dvt_compare_options, struct_size) == 0, "dvt_compare_options.struct_size");
static inline void dvt_compare_options_struct_size(dvt_compare_options* of) { size_t (*p) = &of->struct_size; (void)p; }
_Static_assert(offsetof(dvt_compare_options, hardware) == 8, "dvt_compare_options.hardware");
static inline void dvt_compare_options_hardware(dvt_compare_options* of) { dvt_texts (*p) = &of->hardware; (void)p; }
_Static_assert(offsetof(dvt_compare_options, inputs) == 24, "dvt_compare_options.inputs");
static inline void dvt_compare_options_inputs(dvt_compare_options* of) { const dvt_named_tensor* (*p) = &of->inputs; (void)p; }
_Static_assert(offsetof(dvt_compare_options, input_count) == 32, "dvt_compare_options.input_count");
static inline void dvt_compare_options_input_count(dvt_compare_options* of) { size_t (*p) = &of->input_count; (void)p; }
_Static_assert(offsetof(dvt_compare_options, seed) == 40, "dvt_compare_options.seed");
static inline void dvt_compare_options_seed(dvt_compare_options* of) { uint64_t (*p) = &of->seed; (void)p; }
_Static_assert(offsetof(dvt_compare_options, repeat) == 48, "dvt_compare_options.repeat");
static inline void dvt_compare_options_repeat(dvt_compare_options* of) { int64_t (*p) = &of->repeat; (void)p; }
_Static_assert(offsetof(dvt_zoo_options, struct_size) == 0, "dvt_zoo_options.struct_size");
static inline void dvt_zoo_options_struct_size(dvt_zoo_options* of) { size_t (*p) = &of->struct_size; (void)p; }
_Static_assert(offsetof(dvt_zoo_options, sequence) == 24, "dvt_zoo_options.sequence");
static inline void dvt_zoo_options_sequence(dvt_zoo_options* of) { int64_t batch, image, (*p) = &of->sequence; (void)p; }
_Static_assert(offsetof(dvt_zoo_options, seed) == 32, "dvt_zoo_options.seed");
static inline void dvt_zoo_options_seed(dvt_zoo_options* of) { uint64_t (*p) = &of->seed; (void)p; }
_Static_assert(offsetof(dvt_zoo_options, int8) == 40, "dvt_zoo_options.int8");
static inline void dvt_zoo_options_int8(dvt_zoo_options* of) { int32_t (*p) = &of->int8; (void)p; }
_Static_assert(offsetof(dvt_zoo_options, calibration) == 48, "dvt_zoo_options.calibration");
static inline void dvt_zoo_options_calibration(dvt_zoo_options* of) { const char* (*p) = &of->calibration; (void)p; }
_Static_assert(offsetof(dvt_zoo_options, samples) == 56, "dvt_zoo_options.samples");
static inline void dvt_zoo_options_samples(dvt_zoo_options* of) { int64_t (*p) = &of->samples; (void)p; }
_Static_assert(offsetof(dvt_zoo_options, callbacks) == 64, "dvt_zoo_options.callbacks");
static inline void dvt_zoo_options_callbacks(dvt_zoo_options* of) { const dvt_callbacks* (*p) = &of->callbacks; (void)p; }
