/* The C interface of Dovetail, C11 and C++. Two libraries have it: libdovetail_runtime.so.1, which runs bundles, and
 * libdovetail.so.1, which also compiles, quantizes, simulates, tunes and explores (the second part of this file). A
 * program links one of them. docs/howto/embedding-c.md leads through a program.
 *
 * Errors. A function that may fail returns a dvt_status*: null on success, else the diagnostics, which the caller frees
 * with dvt_status_free(). On failure the results that the function would have stored are null or unchanged. No function
 * throws or ends the process, with one exception: if memory runs out inside LLVM or the JSON library, that library ends
 * the process. No function prints but dvt_command().
 *
 * Ownership. `dvt_x** out` receives a handle that the caller frees with dvt_x_free(). `char** json` receives text that
 * the caller frees with dvt_free(); a null pointer omits it. Pointers that a function returns from a handle live as
 * long as that handle. Everything else that the caller passes is borrowed for the call.
 *
 * Threads. Every handle may be used from several threads at once: calls on one session run one after the other, under
 * its internal lock, and all other handles are immutable. Only freeing a handle while another thread uses it is an
 * error. A session holds what it needs of its bundle, which may be freed first.
 *
 * Versions. A struct of options begins with struct_size, which the caller sets to sizeof, and members that are zero
 * have their defaults, so `dvt_session_options options = {sizeof options};` is the default. Functions, members and
 * values of enumerations are only ever added, at the end. Symbols have versions (DVT_1.0). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <dlpack.h>

#if !defined(DLPACK_MAJOR_VERSION) || DLPACK_MAJOR_VERSION != 1
#error "dovetail.h needs dlpack.h 1.x, and another version was included before it"
#endif

#if defined(__GNUC__)
#define DVT_API __attribute__((visibility("default")))
#else
#define DVT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header. */
#define DVT_VERSION_MAJOR 1
#define DVT_VERSION_MINOR 1

/* The version of the interface of the library: (major << 16) | minor. */
DVT_API uint32_t dvt_version(void);
/* The version of the kit, for example "0.1.0". */
DVT_API const char* dvt_kit_version(void);
/* 1 if the library has the compiler's functions (libdovetail.so.1), else 0. */
DVT_API int32_t dvt_has_compiler(void);

/* Frees text and bytes that a function returned. Null is allowed, as for all functions that free. */
DVT_API void dvt_free(void* text_or_bytes);

/* ---- Status ---- */

typedef struct dvt_status dvt_status;

typedef int32_t dvt_cause;
enum {
  DVT_CAUSE_NONE = 0,     /* success */
  DVT_CAUSE_INPUT = 1,    /* a mistake in what the caller asked for */
  DVT_CAUSE_WORK = 2,     /* the request is valid, and the work failed, or was cancelled */
  DVT_CAUSE_RESOURCE = 3, /* the machine has run out: no memory, no thread, a full disk */
  DVT_CAUSE_INTERNAL = 4  /* a defect of the kit */
};

/* The greatest cause of the diagnostics; of null DVT_CAUSE_NONE. */
DVT_API dvt_cause dvt_status_cause(const dvt_status* status);
/* The number of diagnostics; of null 0. */
DVT_API size_t dvt_status_count(const dvt_status* status);
/* The fields of a diagnostic: what failed, the file, node or argument, the violated rule, and the remedy. "" if
 * `index` is not below the count. */
DVT_API const char* dvt_status_what(const dvt_status* status, size_t index);
DVT_API const char* dvt_status_where(const dvt_status* status, size_t index);
DVT_API const char* dvt_status_why(const dvt_status* status, size_t index);
DVT_API const char* dvt_status_hint(const dvt_status* status, size_t index);
/* All diagnostics as text, one paragraph each. */
DVT_API const char* dvt_status_text(const dvt_status* status);
/* [{"what", "where", "why", "hint", "cause"}], cause being "input", "work", "resource" or "internal"; of null "[]". */
DVT_API const char* dvt_status_json(const dvt_status* status);
DVT_API void dvt_status_free(dvt_status* status);

/* ---- Callbacks ---- */

typedef int32_t dvt_log_level;
enum {
  DVT_LOG_NOTE = 1,   /* an assumption or a fallback that a report states */
  DVT_LOG_WARNING = 2 /* the result may not be what was meant */
};

/* Functions of the caller, each may be null. They are called while a function of the library runs, from its thread or
 * from threads of the library, one at a time, must not throw, and must not call functions on the same handle. */
typedef struct dvt_callbacks {
  size_t struct_size;
  void* user; /* the first argument of each */
  void (*log)(void* user, dvt_log_level level, const char* message);
  /* A part of the work, for example "kernels", 12 of 60. */
  void (*progress)(void* user, const char* what, int64_t done, int64_t all);
  /* Asked every few milliseconds, and between parts of the work. Not 0: stop; the function then fails with
   * DVT_CAUSE_WORK. A kernel in machine code runs to its end first. */
  int (*cancelled)(void* user);
  /* The memory of tensors that the library returns. Both or neither are set. `release` may be called at any later time,
   * by the thread that frees the last reference to the tensor. */
  void* (*allocate)(void* user, size_t bytes, size_t alignment);
  void (*release)(void* user, void* memory, size_t bytes);
} dvt_callbacks;

/* ---- Tensors ---- */

/* Tensors are borrowed views. The library reads and writes tensors in the memory of the host (kDLCPU, kDLCUDAHost) that
 * are contiguous and row-major: strides are null, or those of such a tensor. It never copies a tensor to change its
 * layout or type: a view that does not fit is an error. Types: (u)int8 to (u)int64, float16, bfloat16, float32, float64
 * and bool, with one lane. */
typedef struct dvt_named_tensor { /* this struct never grows */
  const char* name;
  const DLTensor* tensor;
} dvt_named_tensor;

/* The name, type and shape of an input or output. */
typedef struct dvt_tensor_info {
  size_t struct_size;
  const char* name;
  DLDataType dtype;
  int32_t ndim;
  const int64_t* shape;
} dvt_tensor_info;

/* A list of named tensors that the library owns. */
typedef struct dvt_tensors dvt_tensors;
DVT_API size_t dvt_tensors_count(const dvt_tensors* tensors);
/* Null if there is no such tensor. */
DVT_API const char* dvt_tensors_name(const dvt_tensors* tensors, size_t index);
DVT_API const DLTensor* dvt_tensors_view(const dvt_tensors* tensors, size_t index);
/* The tensor of that name; null if there is none. */
DVT_API const DLTensor* dvt_tensors_find(const dvt_tensors* tensors, const char* name);
/* A reference to the tensor that outlives `tensors` and all other handles; the consumer calls its deleter. No copy. */
DVT_API dvt_status* dvt_tensors_export(const dvt_tensors* tensors, size_t index, DLManagedTensorVersioned** out);
DVT_API void dvt_tensors_free(dvt_tensors* tensors);

/* ---- Bundles ---- */

/* A compiled model: code, constants, memory plan. */
typedef struct dvt_bundle dvt_bundle;

typedef int32_t dvt_trust;
enum {
  DVT_TRUST_RECORDED = 0, /* machine code may run if this user's compiler has recorded the file */
  DVT_TRUST_ALWAYS = 1,   /* machine code may run: it can do everything that the process can */
  DVT_TRUST_NEVER = 2     /* machine code never runs */
};

typedef struct dvt_load_options {
  size_t struct_size;
  dvt_trust trust;
} dvt_load_options;

/* Reads a bundle and checks it completely, its code included: whatever the file contains, the call either fails, or the
 * bundle may be described and run. A bundle with machine code that may not run loads, but makes no session.
 * `options` may be null. `name` is the bundle's name in diagnostics. */
DVT_API dvt_status* dvt_bundle_load_file(const char* path, const dvt_load_options* options, dvt_bundle** out);
DVT_API dvt_status* dvt_bundle_load_memory(const void* bytes, size_t size, const char* name,
                                           const dvt_load_options* options, dvt_bundle** out);
DVT_API void dvt_bundle_free(dvt_bundle* bundle);

/* The bytes of the bundle's file, freed with dvt_free(). */
DVT_API dvt_status* dvt_bundle_serialize(const dvt_bundle* bundle, void** bytes, size_t* size);
/* Writes the file, whose name ends in .dvt. If this process compiled the bundle and it has machine code, also records
 * the file as this user's (docs/reference/trust-and-limits.md). */
DVT_API dvt_status* dvt_bundle_save(const dvt_bundle* bundle, const char* path);

DVT_API size_t dvt_bundle_input_count(const dvt_bundle* bundle);
DVT_API size_t dvt_bundle_output_count(const dvt_bundle* bundle);
/* `info->struct_size` is set by the caller. A shape is that of the bundle's first program. */
DVT_API dvt_status* dvt_bundle_input(const dvt_bundle* bundle, size_t index, dvt_tensor_info* info);
DVT_API dvt_status* dvt_bundle_output(const dvt_bundle* bundle, size_t index, dvt_tensor_info* info);
/* {"name", "inputs", "outputs", "targets", "hardware", "steps", "machine_code", "may_run", "shapes", "states",
 * "report"}. Inputs and outputs have "name", "dtype" and "shape"; "targets" counts the steps of each target; "states"
 * has the output of each input that is a state; "shapes" lists the inputs of all programs; "report" is the compiler's.
 */
DVT_API dvt_status* dvt_bundle_describe(const dvt_bundle* bundle, char** json);

/* ---- A caller's own target ---- */

/* Nodes of the graph that a target may compile (functions dvt_region_*, in the part with the compiler). */
typedef struct dvt_region dvt_region;

/* A target of the caller's: the compiler's half offers it parts of the graph and takes its code, the runtime's half
 * runs that code. A program that only runs bundles leaves the compiler's half null. The table is copied, `user` and the
 * functions must stay valid as long as bundles and sessions that use it. Functions that return text return null on
 * success, else the reason, which must stay valid until the next call. They are called by one thread at a time. */
typedef struct dvt_target {
  size_t struct_size;
  void* user;       /* the first argument of each function */
  const char* name; /* in dvt_compile_options.targets, and in bundles */
  /* The compiler's half. What it may take, in the form of the tables of targets (compiler/partition/pattern.h), for
   * example "Relu?(Add~(MatMul(_, #), #))". */
  const char* const* patterns;
  size_t pattern_count;
  const char* (*refuse)(void* user, const dvt_region* match); /* null: every match is taken */
  double (*seconds)(void* user, const dvt_region* match);     /* an estimate; null: a nanosecond for each operation */
  /* Makes the code of a region, in pieces that are appended by `write(code, ...)`. Constants of the region belong to
   * the code; arguments and results of a run are dvt_region_input() and dvt_region_output(), in their order. */
  const char* (*generate)(void* user, const dvt_region* region,
                          void (*write)(void* code, const void* bytes, size_t size), void* code);
  /* The runtime's half. A null kernel: failed, and `why` is the reason. The code may come from a file: that its origin
   * is trusted has been checked (dvt_trust). */
  void* (*load)(void* user, const void* code, size_t size, const char** why);
  const char* (*run)(void* user, void* kernel, const DLTensor* arguments, size_t argument_count,
                     const DLTensor* results, size_t result_count);
  void (*unload)(void* user, void* kernel);
} dvt_target;

/* ---- Sessions ---- */

/* A bundle with its devices, ready to run. */
typedef struct dvt_session dvt_session;

typedef struct dvt_session_options {
  size_t struct_size;
  const char* engine; /* runs the accelerator's programs: "functional" (default), "cycle", "systemc", "rtl", "axi" */
  int32_t threads;    /* threads that run kernels, the caller's included; 0: one per processor */
  const char* memory; /* the accelerator's memory, as `--memory` takes it; null: the one that the bundle was made for */
  double clock_mhz;   /* the accelerator's clock; 0: the one that the bundle was made for */
  int64_t
      accelerators; /* accelerators that share the memory, each with its own sample; 0: as the bundle was made for */
  const dvt_callbacks* callbacks;       /* of all runs of the session; copied. May be null */
  const dvt_target* const* own_targets; /* the caller's, whose steps the bundle has; own_target_count of them */
  size_t own_target_count;
} dvt_session_options;

/* `options` may be null. */
DVT_API dvt_status* dvt_session_create(const dvt_bundle* bundle, const dvt_session_options* options, dvt_session** out);
DVT_API void dvt_session_free(dvt_session* session);

/* Runs on the inputs, all of which are given but states, in any order. The outputs are copies, which outlive the
 * session. In a bundle for several shapes the program for the given shapes runs. */
DVT_API dvt_status* dvt_session_run(dvt_session* session, const dvt_named_tensor* inputs, size_t count,
                                    dvt_tensors** outputs);

/* Of a bundle with states (dvt_compile_options): an input that is a state and is not given or bound has the value of
 * the session's last run, of the first one zeros. dvt_session_run does not return the outputs of states. A run that
 * fails keeps them as they were; dvt_session_profile, _trace and _check do not change them.
 * `values` receives copies of what the next run will read, by input. Since 1.1. */
DVT_API dvt_status* dvt_session_states(dvt_session* session, dvt_tensors** values);
/* Sets states, by input; those that are not given are zeros. Since 1.1. Error: no state of that name, type and shape.
 */
DVT_API dvt_status* dvt_session_set_states(dvt_session* session, const dvt_named_tensor* values, size_t count);

/* Binds a tensor to an input or output, until it is bound again or unbound with a null tensor: each
 * dvt_session_run_bound reads or writes its memory, which the caller keeps. The view is copied, its memory is not.
 * Inputs whose address is a multiple of 64 are read in place, and outputs are computed in place, unless they overlap
 * other bound memory; others are copied at each run. A run that fails leaves outputs undefined. Outputs may stay
 * unbound.
 * Error: another type or shape than the program's; an output whose extent depends on values, which only dvt_session_run
 * returns. */
DVT_API dvt_status* dvt_session_bind_input(dvt_session* session, const char* name, const DLTensor* tensor);
DVT_API dvt_status* dvt_session_bind_output(dvt_session* session, const char* name, const DLTensor* tensor);
/* Runs on the bound tensors. Measures nothing. Error: an input is not bound. */
DVT_API dvt_status* dvt_session_run_bound(dvt_session* session);
/* Stops the calls on the session that are in progress in other threads: they fail with DVT_CAUSE_WORK, and the session
 * may run again. A kernel in machine code runs to its end first. Without effect if no call is in progress. */
DVT_API void dvt_session_stop(dvt_session* session);

/* {"kind": "session-run", "engine", "threads", "seconds", "steps", "counters"} of the last dvt_session_run: steps with
 * "name", "target", "seconds", and where a simulator ran "counters" and "cycles". Error: none ran. */
DVT_API dvt_status* dvt_session_report(dvt_session* session, char** json);
/* Runs once to warm up and then `repeat` times, at least once. {"kind": "session-profile", "repeat", "engine",
 * "threads", "seconds": {"median", "low", "high"}, "steps", "counters"}: the medians of the runs, low and high being
 * the tenth and the ninetieth percentile. Steps of the CPU's kernels also have "operations", where a multiply-add is
 * two, and whether they are on an "integer" type. */
DVT_API dvt_status* dvt_session_profile(dvt_session* session, const dvt_named_tensor* inputs, size_t count,
                                        int64_t repeat, char** json);

/* ---- A machine as a driver sees it ---- */

/* A simulated machine: accelerators with the registers of docs/gen/isa.md, and their memory. A driver in C runs on it
 * as on a board, for example that of a program which `dovetail export --target accel,cpu` wrote. Since 1.1. */
typedef struct dvt_machine dvt_machine;

/* `hardware`: a name, a JSON file, or NAME,key=value,...; it also says how many accelerators there are. `options`:
 * engine (functional, cycle or rtl), memory, clock; null: the defaults. The memory has `bytes` zeros from the physical
 * address `base` on, and an access beyond it is answered with an error (DECERR). */
DVT_API dvt_status* dvt_machine_create(const char* hardware, const dvt_session_options* options, uint64_t base,
                                       uint64_t bytes, dvt_machine** out);
DVT_API void dvt_machine_free(dvt_machine* machine);
/* The number of accelerators; of null 0. */
DVT_API uint32_t dvt_machine_accelerators(const dvt_machine* machine);
/* The memory: its first byte is at the physical address `base`, and here at a multiple of 64 unless `base` is below 64.
 * Only writes of registers use it, while they run a launch. */
DVT_API void* dvt_machine_memory(dvt_machine* machine);
/* Reads and writes the register at `offset` of an accelerator, from 0. A write to CONTROL that starts a launch returns
 * when the launch has ended. Error: no such accelerator or register; or the reason why the launch failed, which STATUS
 * reports too. A launch that would never end on a board is busy for ever. */
DVT_API dvt_status* dvt_machine_read(dvt_machine* machine, uint32_t accelerator, uint32_t offset, uint32_t* value);
DVT_API dvt_status* dvt_machine_write(dvt_machine* machine, uint32_t accelerator, uint32_t offset, uint32_t value);

/* ---- Facts ---- */

/* [{"name", "description", "available", "has_clock", "missing"}]: the engines of the accelerator. Engine rtl also has
 * "models", the named configurations whose RTL model is built; without any model it is not available. */
DVT_API dvt_status* dvt_engines(char** json);
/* The peak of one core of this processor, measured with multiply-adds between registers: {"float32", "int8"}, each with
 * "gop_per_s", a multiply-add being two, and "instruction". */
DVT_API dvt_status* dvt_peak(char** json);
/* A hardware configuration, by name, JSON file or NAME,key=value,..., as JSON with all its parameters. Null: a list of
 * all named configurations. */
DVT_API dvt_status* dvt_hardware(const char* hardware, char** json);

/* ==== With the compiler: libdovetail.so.1 alone ==== */

/* Texts, for example {"batch=4", "mask=1x16"}; count 0: none. This struct never grows. */
typedef struct dvt_texts {
  const char* const* items;
  size_t count;
} dvt_texts;

/* [{"name", "description", "available", "missing"}]: the targets of the compiler. */
DVT_API dvt_status* dvt_targets(char** json);

/* ---- Models ---- */

/* An ONNX model. */
typedef struct dvt_model dvt_model;
/* Reads the outline of the file, which is read whole where the model is used. A pipe is read once, and kept. A file of
 * shapes (.csv, .yaml: docs/howto/shapes.md) becomes a model of its layers, in memory. */
DVT_API dvt_status* dvt_model_load_file(const char* path, dvt_model** out);
/* Copies the bytes. Tensors outside of the model cannot be found. `name` is the model's name in diagnostics. */
DVT_API dvt_status* dvt_model_load_memory(const void* bytes, size_t size, const char* name, dvt_model** out);
/* A model of layers by their shape, as of `dovetail run --layer`: "conv 64x56x56 -> 64 k3 s1 p1". */
DVT_API dvt_status* dvt_model_of_layers(const dvt_texts* layers, dvt_model** out);
/* A part of a model, in memory: the nodes of these names or patterns, and those between the tensors `from` and `to`.
 * Each list may be empty, but not all of them. */
DVT_API dvt_status* dvt_model_part(const dvt_model* model, const dvt_texts* only, const dvt_texts* from,
                                   const dvt_texts* to, dvt_model** out);
DVT_API void dvt_model_free(dvt_model* model);
/* {"graph", "producer", "ir_version", "opset", "inputs", "outputs", "operators", "symbols"}: inputs and outputs with
 * "name" and "type", operators with their number, and the symbolic extents. */
DVT_API dvt_status* dvt_model_describe(const dvt_model* model, char** json);
/* Copies the model's file. */
DVT_API dvt_status* dvt_model_save(const dvt_model* model, const char* path);

/* ---- Compiling ---- */

typedef int32_t dvt_level;
enum {
  DVT_LEVEL_DEFAULT = 0,  /* DVT_LEVEL_TOLERANT */
  DVT_LEVEL_NEEDED = 1,   /* -O 0: only what running needs */
  DVT_LEVEL_EXACT = 2,    /* -O 1: what keeps every bit */
  DVT_LEVEL_TOLERANT = 3, /* -O 2: what stays within the operators' tolerance */
  DVT_LEVEL_FAST = 4      /* -O 3: what trades accuracy or special values for speed */
};

typedef int32_t dvt_offload;
enum {
  DVT_OFFLOAD_POSSIBLE = 0, /* a region leaves later targets unless its borders alone cost more than it costs there */
  DVT_OFFLOAD_ALWAYS = 1,
  DVT_OFFLOAD_COST = 2 /* only if it saves more than its borders cost */
};

/* The options of `dovetail compile`, by their names there. Texts have the form of the command line. */
typedef struct dvt_compile_options {
  size_t struct_size;
  const char* targets;  /* in order of preference, as in "accel,cpu"; required */
  const char* hardware; /* the accelerator: a name, a JSON file, or NAME,key=value,...; null: "1x16x16" */
  const char* memory;   /* of the accelerator's system, like clock_mhz and accelerators; null and 0: the hardware's */
  double clock_mhz;
  int64_t accelerators;
  const char* cpu; /* processor class; null: "native" */
  const char* gpu; /* GPU architectures; null: the command's default */
  dvt_level level;
  dvt_offload offload;
  int32_t strict;             /* not 0: refuse nodes that no listed target supports */
  int32_t tf32;               /* not 0: tensor cores may round the factors of float32 products */
  int32_t check_bounds;       /* not 0: kernels check every address */
  int32_t all_tensors;        /* not 0: every operation's result is a tensor, for dvt_session_check */
  int32_t threads;            /* threads that will run the kernels, which select records; 0: one per processor */
  const char* records;        /* database of dvt_tune; null: none */
  int64_t counted_candidates; /* schedules of each layer whose cycles are counted; 0: 1 */
  int64_t loop_limit;         /* 0: the command's default */
  dvt_texts place;            /* "NODE=TARGET" */
  dvt_texts shapes;           /* "batch=1", "x=1x3x224x224"; several shapes of one name make several programs */
  dvt_texts decide;           /* "NAME=VALUE" */
  dvt_texts with_passes, without_passes;
  const dvt_callbacks* callbacks;
  const dvt_target* const* own_targets; /* the caller's, which `targets` may name; own_target_count of them */
  size_t own_target_count;
  dvt_texts states; /* "INPUT=OUTPUT", or "past.*=present.*": the output of a run is the input of the next. Since 1.1 */
} dvt_compile_options;

/* Imports and compiles. The bundle's machine code may run in this process. `json` receives what `dovetail compile
 * --json` prints (docs/schema/compile.json). */
DVT_API dvt_status* dvt_compile(const dvt_model* model, const dvt_compile_options* options, dvt_bundle** out,
                                char** json);

/* Proves the accelerator's programs free of races, deadlock and undefined reads. {"summary", "problems"}: problems as
 * in dvt_status_json(); the call succeeds where there are some. */
DVT_API dvt_status* dvt_bundle_verify(const dvt_bundle* bundle, char** json);

/* Runs, and compares every tensor with the reference, the integer graph evaluated node by node on naive loop programs.
 * {"tensors", "graph_tensors", "elements", "different", "stepped", "first"}; the call succeeds where some differ.
 * Error: the session's bundle was loaded, not compiled. */
DVT_API dvt_status* dvt_session_check(dvt_session* session, const dvt_named_tensor* inputs, size_t count, char** json);

/* The energy that the accelerator's steps of the last dvt_session_run would use on a chip, as "energy" in
 * docs/schema/run.json; null without such steps. */
DVT_API dvt_status* dvt_session_energy(dvt_session* session, char** json);

/* ---- The graph, as a caller's own target sees it ---- */

/* A region or a match: nodes in execution order, and values, which are numbers of the graph. All pointers live as long
 * as the call that received the region. A node or value that does not exist has count 0, null and -1. */
DVT_API const char* dvt_region_name(const dvt_region* region);
DVT_API size_t dvt_region_node_count(const dvt_region* region);
DVT_API const char* dvt_region_node_name(const dvt_region* region, size_t node);
DVT_API const char* dvt_region_node_operator(const dvt_region* region, size_t node);   /* "Conv", "dovetail.qconv" */
DVT_API const char* dvt_region_node_attributes(const dvt_region* region, size_t node); /* {"strides": [1, 1]} */
DVT_API size_t dvt_region_node_input_count(const dvt_region* region, size_t node);
DVT_API size_t dvt_region_node_output_count(const dvt_region* region, size_t node);
DVT_API int64_t dvt_region_node_input(const dvt_region* region, size_t node, size_t index); /* -1: omitted */
DVT_API int64_t dvt_region_node_output(const dvt_region* region, size_t node, size_t index);
/* Values read from outside, without constants, and values that are read outside. */
DVT_API size_t dvt_region_input_count(const dvt_region* region);
DVT_API size_t dvt_region_output_count(const dvt_region* region);
DVT_API int64_t dvt_region_input(const dvt_region* region, size_t index);
DVT_API int64_t dvt_region_output(const dvt_region* region, size_t index);
DVT_API dvt_status* dvt_region_value(const dvt_region* region, int64_t value, dvt_tensor_info* info);
/* The elements of a constant; null: the value is none. */
DVT_API const DLTensor* dvt_region_constant(const dvt_region* region, int64_t value);

/* ---- Samples ---- */

/* Runs samples through a session: tensors whose first extent is larger than the bundle's are split into batches. With
 * `labels` (a class for each sample) the accuracy of `output` is measured; null: the only output. `outputs` may be
 * null.
 * {"samples", "runs", "seconds", "cycles", "accuracy"}. */
DVT_API dvt_status* dvt_session_evaluate(dvt_session* session, const dvt_named_tensor* samples, size_t count,
                                         const DLTensor* labels, const char* output, dvt_tensors** outputs,
                                         char** json);

/* Measures outputs against labels by a metric, in the form of `dovetail evaluate --metric` (docs/howto/own-data.md),
 * for example "iou:ignore=255". `output`: the one that is measured; null: the only one. {"name", "figures"}: figures by
 * name. */
DVT_API dvt_status* dvt_measure(const char* metric, const dvt_named_tensor* outputs, size_t count,
                                const DLTensor* labels, const char* output, char** json);

/* The options of `dovetail quantize`. */
typedef struct dvt_quantize_options {
  size_t struct_size;
  const char* calibration;  /* "min-max" (default), "percentile", "entropy" or "mse" */
  double tail;              /* for percentile: the share of values that is cut at each end; 0: 0.00001 */
  int32_t per_tensor;       /* not 0: one scale for each weight tensor, not for each channel */
  int32_t powers_of_two;    /* not 0: scales are powers of two */
  int32_t symmetric;        /* not 0: all zero points are 0 */
  int32_t equalize;         /* not 0: first equalize the ranges of neighboring layers */
  int32_t correct_biases;   /* not 0: correct each bias by the shift of the layer's mean */
  int32_t measured_samples; /* samples on which each layer is measured alone; 0: none */
  dvt_texts keep_float;     /* nodes */
  dvt_texts shapes;
  const dvt_callbacks* callbacks;
  /* "512MiB", "8GiB": works on groups of tensors, so that the process takes at most this memory; null: three quarters
   * of the machine's. */
  const char* memory_limit;
  /* Not 0: sums over the samples are kept in the user's cache until the call succeeds, and an interrupted call with
   * the same model, samples and options continues. */
  int32_t resume;
  int64_t weight_bits; /* 4: weights from -7 to 7, for hardware that loads int4; 0: 8. Since 1.1 */
} dvt_quantize_options;

/* A float model and samples of its inputs become a model in QDQ form, int8. `json` receives the report of the tensors
 * and layers (docs/schema/quantize.json). */
DVT_API dvt_status* dvt_quantize(const dvt_model* model, const dvt_named_tensor* samples, size_t count,
                                 const dvt_quantize_options* options, dvt_model** out, char** json);

/* ---- Programs of the accelerator ---- */

/* A program: assembly text, or raw instructions. One of text and instructions is set. */
typedef struct dvt_program {
  size_t struct_size;
  const char* text;
  const void* instructions;
  size_t size;          /* of the instructions, in bytes */
  const char* name;     /* in diagnostics; null: "program" */
  const char* hardware; /* needed by raw instructions; of text: must equal its .config */
  dvt_texts launches;   /* "BEGIN:COUNT"; none: the text's .launch or the map's launches, or one launch of all */
  const char* map;      /* of raw instructions: the JSON of dvt_program_assemble, which also names the hardware */
  const void* image;    /* of raw instructions: the memory that they begin with, at the map's image; null: none */
  size_t image_size;    /* in bytes */
} dvt_program;

/* Assembles text. `outputs` receives uint8 tensors: "instructions" and "uops", the micro-ops of .uop lines, a row each,
 * and "image", the memory that the text defines. `json` receives what `dovetail asm --map` writes: {"kind": "program
 * map", "hardware", "instructions", "launches", "image": {"base", "bytes"}, "symbols", "source"}. Raw instructions are
 * decoded, and come back with their map and image. `outputs` and `json` may be null. */
DVT_API dvt_status* dvt_program_assemble(const dvt_program* program, dvt_tensors** outputs, char** json);
/* The instructions as assembly text. */
DVT_API dvt_status* dvt_program_disassemble(const dvt_program* program, char** text);
/* Proves the program free of races, deadlock, leftover tokens and undefined reads. `inputs` as for
 * dvt_program_simulate: micro-ops that are placed there are known to the proof. `json` receives what `dovetail check
 * --json` prints (docs/schema/check.json); the call succeeds where there are findings. */
DVT_API dvt_status* dvt_program_check(const dvt_program* program, const dvt_named_tensor* inputs, size_t count,
                                      char** json);

typedef struct dvt_simulate_options {
  size_t struct_size;
  const dvt_session_options* session; /* engine, memory, clock, accelerators, callbacks; null: the defaults */
  /* What is read after the run, "y" or "0x2000:int8[4,16]"; with engines functional and cycle also on-chip memories,
   * "sram:acc" (acc, out, inp, wgt, uop). */
  dvt_texts places;
  /* Stop before this instruction, "#12", ":LINE", a label, "acc[0..7]" or another place of `dovetail debug`, or with
   * engine cycle at "@300"; null: run to the end. Engines functional and cycle. */
  const char* until;
  int32_t what_if; /* not 0: also time the same instructions on other hardware; engines with a clock */
  uint64_t offset; /* the register OFFSET, in bytes; not 0: hardware with the extension `offset`. Since 1.1 */
} dvt_simulate_options;

/* Simulates on an engine. `inputs`: tensors that are placed at the names of the text or map, "0x2000", or "x+64".
 * `outputs` receives the places, under their texts. `json` receives what `dovetail simulate --json` prints
 * (docs/schema/simulate.json); `trace` the file that its --trace writes. Error: `trace` is not null, and the engine has
 * no clock or `until` is set. `options`, `outputs`, `json` and `trace` may be null. */
DVT_API dvt_status* dvt_program_simulate(const dvt_program* program, const dvt_simulate_options* options,
                                         const dvt_named_tensor* inputs, size_t count, dvt_tensors** outputs,
                                         char** json, char** trace);

/* The accelerator's programs of a bundle: `json` receives {"programs": [{"name", "text", "map"}]}, the step, its
 * assembly with the names of layers, and the map; `outputs`, which may be null, the tensors "instructions N" and "image
 * N" of program N, from 0. They make a dvt_program, in whose image the model's tensors are zeros. */
DVT_API dvt_status* dvt_bundle_programs(const dvt_bundle* bundle, dvt_tensors** outputs, char** json);

/* dvt_program_simulate with the options session and places alone, and without a trace. */
DVT_API dvt_status* dvt_simulate(const dvt_program* program, const dvt_session_options* options,
                                 const dvt_named_tensor* inputs, size_t count, dvt_texts places, dvt_tensors** outputs,
                                 char** json);

/* ---- Loop programs ---- */

/* A loop program (docs/reference/loop-programs.md) with the steps of its schedule so far. Immutable. Tensors always
 * have the shapes of the text that was parsed, whatever layouts steps give to them. */
typedef struct dvt_loops dvt_loops;

/* The primitives of schedules: [{"name", "form"}], for example {"split", "split LOOP FACTOR -> OUTER INNER"}. */
DVT_API dvt_status* dvt_primitives(char** json);

typedef struct dvt_loops_options {
  size_t struct_size;
  const char* name;     /* in diagnostics; null: "loop program" */
  const char* hardware; /* the accelerator whose intrinsics the program may use; null: "1x16x16" */
  const char* cpu;      /* the processor class whose intrinsics the program may use; null: "native" */
  const char* sizes;    /* values of sizes that the text declares, "n=128,m=64"; null: those of the text. Since 1.1 */
} dvt_loops_options;

/* Reads and verifies a program. Blocks may leave out reads and writes. `options` may be null. */
DVT_API dvt_status* dvt_loops_parse(const char* text, const dvt_loops_options* options, dvt_loops** out);
DVT_API void dvt_loops_free(dvt_loops* loops);

/* Makes a program with more steps: lines of a trace (docs/reference/schedules.md), for example
 * "split sum.i 16 -> io ii\nreorder io sum.j ii". Error: a step is refused, and the diagnostic names it and its loop,
 * block or buffer. `loops` stays as it is. */
DVT_API dvt_status* dvt_loops_apply(const dvt_loops* loops, const char* steps, dvt_loops** out);

/* {"name", "text", "trace", "hardware", "cpu", "parameters", "buffers", "loops", "blocks", "decisions", "intrinsics"}:
 * the program as text, and the names that steps may use. Parameters have "role" and "layout", an index map ("": that of
 * the text); loops have "extent", "kind", and the loops that they are "inside", outermost first. */
DVT_API dvt_status* dvt_loops_describe(const dvt_loops* loops, char** json);

/* Interprets the program. `inputs`: its inputs and constants, in any order. `callbacks` may be null. */
DVT_API dvt_status* dvt_loops_run(const dvt_loops* loops, const dvt_named_tensor* inputs, size_t count,
                                  const dvt_callbacks* callbacks, dvt_tensors** outputs);

typedef struct dvt_loops_compile_options {
  size_t struct_size;
  const char* target;   /* "accel", "cpu" or "host", which interprets; required */
  int32_t check_bounds; /* not 0: the CPU's kernel checks every address */
  const dvt_callbacks* callbacks;
} dvt_loops_compile_options;

/* Compiles the program to a bundle, whose inputs and outputs are the program's. For the accelerator each block must be
 * a copy of whole elements or an intrinsic (docs/howto/schedule-by-hand.md). `json` receives {"kind": "loops",
 * "target", "dumps", "kernels"}: dumps of the accelerator are "places", the places of buffers on chip, "symbolic",
 * "micro-ops", "order" and "stream", the instructions; kernels of the CPU have "symbol", "code_bytes" and "notes". */
DVT_API dvt_status* dvt_loops_compile(const dvt_loops* loops, const dvt_loops_compile_options* options,
                                      dvt_bundle** out, char** json);

/* The steps that the program accepts at a loop, a block or a buffer, tried with a few values for each argument:
 * [{"step", "counts"}], the counts of the program after each. Since 1.1. Error: the program has nothing of that name.
 */
DVT_API dvt_status* dvt_loops_suggest(const dvt_loops* loops, const char* name, char** json);

/* Since 1.1. */
typedef struct dvt_loops_tune_options {
  size_t struct_size;
  const char* target; /* "cpu": by measured time; "accel": by cycles. Null: "cpu" */
  const char* search; /* null: "guided" */
  int64_t trials;     /* candidates that are measured; 0: 64 */
  uint64_t seed;      /* of the search; 0: 1 */
  int32_t threads;    /* that run kernels of the CPU; 0: 1 */
  const dvt_callbacks* callbacks;
} dvt_loops_tune_options;

/* Searches the values of the `sample` steps of the program's schedule; without steps, on the CPU, the compiler's own
 * schedules. `inputs`: as of dvt_loops_run. `out` receives the program with the best schedule, `json` the search
 * ("tuning" of docs/schema/kernel.json). `options` may be null. A cancelled search returns the best so far. Since 1.1.
 * Error: the steps have no sample, or no value of it is legal on the target. */
DVT_API dvt_status* dvt_loops_tune(const dvt_loops* loops, const dvt_named_tensor* inputs, size_t count,
                                   const dvt_loops_tune_options* options, dvt_loops** out, char** json);

/* ---- Searches ---- */

/* The options of `dovetail tune`. */
typedef struct dvt_tune_options {
  size_t struct_size;
  const char* records; /* the database, which is created if it does not exist; required */
  const char* search;  /* null: "guided" */
  int64_t trials;      /* for each task, on average; 0: 64 */
  int64_t early_stop;  /* end a task without gain in this many trials; 0: 128; -1: never */
  int64_t batch;       /* 0: 8 */
  uint64_t seed;       /* 0: 1 */
  double seconds;      /* stop after the batch in which this time ends; 0: no limit */
} dvt_tune_options;

/* Searches faster schedules for the kernels of the model, and records them for dvt_compile_options.records. Callbacks
 * are those of `compile`. A cancelled search keeps what it has recorded and reports it. `json` receives what `dovetail
 * tune --json` prints (docs/schema/tune.json). */
DVT_API dvt_status* dvt_tune(const dvt_model* model, const dvt_compile_options* compile,
                             const dvt_tune_options* options, char** json);

/* The databases of dvt_tune. `task`: a key, or its beginning; null: all tasks. The JSON is that of `dovetail records`
 * (docs/schema/records-list.json, records-show.json, records.json). Error: no database, no such task, or several. */
DVT_API dvt_status* dvt_records_list(const char* database, const char* task, char** json);
/* The candidates of a task, the best one first. */
DVT_API dvt_status* dvt_records_show(const char* database, const char* task, char** json);
/* Adds the records of the databases `from`. Creates `database` if it does not exist. */
DVT_API dvt_status* dvt_records_merge(const char* database, dvt_texts from, char** json);
/* Records as text, a line of JSON each; and adding the records of such text, all or none. */
DVT_API dvt_status* dvt_records_export(const char* database, const char* task, char** lines);
DVT_API dvt_status* dvt_records_import(const char* database, const char* lines, char** json);

/* Samples of a model's inputs, for a space with numeric choices. This struct never grows. */
typedef struct dvt_model_samples {
  const dvt_named_tensor* samples; /* calibrate the float model */
  size_t sample_count;
  const dvt_named_tensor* tests; /* measure the accuracy of each choice; test_count 0: `samples` do */
  size_t test_count;
  const DLTensor* labels; /* the classes of these; null: the accuracy is agreement with the float model */
} dvt_model_samples;

/* The options of `dovetail explore`. */
typedef struct dvt_explore_options {
  size_t struct_size;
  const char* folder;    /* existing or not: has points.db, from which a sweep continues; required */
  const char* strategy;  /* null: "exhaustive" */
  uint64_t points;       /* most points; 0: all, of other strategies than exhaustive 200 */
  uint64_t seed;         /* 0: 1 */
  uint64_t batch;        /* 0: 64 */
  int32_t jobs;          /* 0: one for each processor */
  int32_t no_prune;      /* not 0: measure points that cannot be on the front, too */
  int32_t no_check;      /* not 0: do not compare each hardware's programs with the CPU's */
  const double* weights; /* of the models; null: 1 each */
  const dvt_callbacks* callbacks;
  /* Called with each finished point, a row of "points" in docs/schema/explore.json, under the rules of the callbacks
   * and with their `user`. `known` is not 0: an earlier call finished it. */
  void (*point)(void* user, const char* json, int32_t known);
  /* One for each model, where the space has numeric choices; their quantized models are written to `folder`/models.
   * Null: the space has none. */
  const dvt_model_samples* samples;
  int32_t layers; /* not 0: each point's models have their "layers": cycles by cause, bound, bytes, energy */
  /* Since 1.1. As --energy and --technology take them: an example of the kit ("cmos28", "cmos7") or a JSON file. Null:
   * the kit's 45 nm. */
  const char* energy;
  const char* technology;
  const char* space_file; /* since 1.1: paths in the space are relative to the folder of this file; null: to the working
                             folder */
} dvt_explore_options;

/* Measures the design points of a space (JSON text, docs/howto/exploring.md) on models: latency, area, energy. `json`
 * receives what `dovetail explore --json` prints (docs/schema/explore.json). A cancelled sweep fails, keeps its points
 * in the folder, and continues from them when it is called again. */
DVT_API dvt_status* dvt_explore(const dvt_model* const* models, size_t count, const char* space,
                                const dvt_explore_options* options, char** json);

/* What one step more of each resource of a hardware gives and costs: its parameters doubled, its extensions, a memory
 * that answers at once, each compiled and timed anew, as `dovetail explore --what-if --json` prints it
 * (docs/schema/what-if.json). `weights` of the models: null: 1 each. `callbacks` may be null. */
DVT_API dvt_status* dvt_what_if(const dvt_model* const* models, size_t count, const double* weights,
                                const char* hardware, const dvt_callbacks* callbacks, char** json);

/* The chip area of a hardware configuration. `flow` null: the estimate of the model that is fitted to runs of Yosys
 * (docs/schema/area-estimate.json); "xc7:estimate" or "xcup:estimate": the same for the resources of an FPGA
 * (docs/schema/fpga-estimate.json); all of these of all accelerators together. "generic", "xc7" or "xcup": a result of
 * Yosys that the kit keeps, or else Yosys runs, for minutes where arrays are large (docs/schema/area.json): one
 * accelerator. */
DVT_API dvt_status* dvt_area(const char* hardware, const char* flow, char** json);
/* The estimate of dvt_area with the constants of another technology: "cmos28", "cmos7" or a JSON file
 * (docs/howto/own-memory-and-technology.md). Since 1.1. */
DVT_API dvt_status* dvt_area_in(const char* hardware, const char* technology, char** json);

/* ---- Comparing ---- */

/* The options of `dovetail compare`. */
typedef struct dvt_compare_options {
  size_t struct_size;
  dvt_texts hardware;             /* configurations of the accelerator, a row each; none: that of `compile` */
  const dvt_named_tensor* inputs; /* all inputs of the models; null: random values of the seed */
  size_t input_count;
  uint64_t seed;  /* 0: 1 */
  int64_t repeat; /* timed runs on this machine; 0: for about two seconds */
} dvt_compare_options;

/* Runs models on each target of `compile`, and compares latency, energy and results. Callbacks are those of `compile`.
 * A target that does not run on this machine has a row that says why. `json` receives what `dovetail compare --json`
 * prints (docs/schema/compare.json), of which dvt_page makes a page. */
DVT_API dvt_status* dvt_compare(const dvt_model* const* models, size_t count, const dvt_compile_options* compile,
                                const dvt_compare_options* options, char** json);

/* ---- Models to try, files, facts ---- */

/* The models of the zoo, as `dovetail zoo list --json` prints them (docs/schema/zoo-list.json). */
DVT_API dvt_status* dvt_zoo(char** json);

/* The options of `dovetail zoo NAME`; 0 and null: the model's standard. */
typedef struct dvt_zoo_options {
  size_t struct_size;
  int64_t batch, image, sequence; /* extents */
  uint64_t seed;                  /* of the weights; 0: 1 */
  int32_t int8;                   /* not 0: quantized in QDQ form, calibrated on seeded samples */
  const char* calibration;        /* as in dvt_quantize_options */
  int64_t samples;                /* 0: 8 */
  const dvt_callbacks* callbacks;
} dvt_zoo_options;

/* Makes a model of the zoo: its weights are pseudo-random, the same everywhere. `json` receives what `dovetail zoo NAME
 * --json` prints (docs/schema/zoo.json), "file" being null. */
DVT_API dvt_status* dvt_zoo_model(const char* name, const dvt_zoo_options* options, dvt_model** out, char** json);

/* What a file is, as `dovetail inspect --json` prints it (docs/schema/inspect.json): a bundle, model, array, hardware,
 * report, trace, database of records, program. `hardware`: for raw programs; may be null. */
DVT_API dvt_status* dvt_inspect(const char* path, const char* hardware, char** json);
/* The supported operators: versions, types, attributes, and the rows of each target (docs/schema/operators.json). */
DVT_API dvt_status* dvt_operators(char** json);
/* What this build can do on this machine: engines, targets, processor, GPU, versions, and packages that are missing
 * (docs/schema/doctor.json). */
DVT_API dvt_status* dvt_doctor(char** json);
/* The instruction set of a hardware configuration: encodings, registers, memories, timing, as `dovetail isa --format
 * json` prints it (docs/schema/isa.json). Null: "1x16x16". */
DVT_API dvt_status* dvt_isa(const char* hardware, char** json);

/* Compiles, and returns what stages of the compiler made: [{"stage", "text"}], in their order. `stages`: as `dovetail
 * compile --dump` takes them; none: "all". `stop_after`: the last stage of the whole model; null: compile to the end.
 */
DVT_API dvt_status* dvt_compile_stages(const dvt_model* model, const dvt_compile_options* options, dvt_texts stages,
                                       const char* stop_after, char** json);

/* ---- Traces and pages ---- */

/* Runs once on an engine with a clock, and reports where the accelerator's cycles went. `what_if` not 0: also times the
 * same instructions on other hardware. `json` receives {"kind": "session-trace", "file", "engine", "memory",
 * "latency", "energy", "steps",
 * "programs": [{"name", "timing"}]} with the values of docs/schema/run.json; `trace` the file that `dovetail run
 * --trace` writes. Error: the engine has no clock, or nothing runs on the accelerator. dvt_session_report then needs
 * another dvt_session_run. */
DVT_API dvt_status* dvt_session_trace(dvt_session* session, const dvt_named_tensor* inputs, size_t count,
                                      int32_t what_if, char** json, char** trace);

/* The work and waits of each unit in a trace file, as `dovetail trace --json` prints them (docs/schema/trace.json),
 * "file" being "trace". */
DVT_API dvt_status* dvt_trace_summary(const char* trace, char** json);
/* The first instruction that differs between two trace files, in its fields and in time, as `dovetail trace diff
 * --json` prints it (docs/schema/trace-diff.json), with the names "a" and "b". */
DVT_API dvt_status* dvt_trace_diff(const char* a, const char* b, char** json);

/* Why run b takes another time and energy than run a, layer by layer and by causes, as `dovetail compare --explain
 * --json` prints it (docs/schema/explanation.json), with the names "a" and "b". Each is the JSON of dvt_session_trace,
 * whose steps outside the accelerator have the time of one run, or what `dovetail profile --json` prints. */
DVT_API dvt_status* dvt_explain(const char* a, const char* b, char** json);

/* The page of a report, as the commands write it with --html: HTML that needs nothing but a browser, in light and
 * dark. `report`: the JSON of dvt_compare, dvt_explain, dvt_explore, dvt_tune or dvt_quantize, or a trace file. */
DVT_API dvt_status* dvt_page(const char* report, char** html);

/* ---- The command line ---- */

/* Runs a command as the program `dovetail` does, in this process: `arguments` are the name of the program and the
 * `count` - 1 arguments after it. Returns the exit code (docs/reference/command-line.md): 0, 1, 2, or 128 plus the
 * number of a signal, which is SIGINT or SIGTERM if it stopped the command's work, and SIGPIPE if the reader of stdout
 * has left. The one function that prints: to stdout and stderr of the process, which are flushed when it returns. Until
 * then, work that can be stopped handles SIGINT and SIGTERM, and SIGPIPE and SIGXFSZ are ignored; afterwards all have
 * their former actions. Calls run one after the other. */
DVT_API int32_t dvt_command(int32_t count, const char* const* arguments);

#ifdef __cplusplus
}
#endif
