#include "runtime/device/onednn/library.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "base/processor.h"
#include "base/shared_library.h"
#include "base/user_folder.h"

namespace dovetail::runtime::onednn {

namespace {

using Status = int;  // dnnl_status_t; 0: success
using Dims = std::array<std::int64_t, 12>;

constexpr int kCpu = 1, kDefaultStream = 1, kFloat32 = 3, kAnyTag = 1;
constexpr int kInference = 96, kDirect = 1;
constexpr int kMaximum = 511, kAverageOfPads = 767, kAverage = 1023;
constexpr int kAdd = 131056;
constexpr int kQueryName = 8, kQuerySource = 129, kQueryWeights = 131, kQueryDestination = 133;
constexpr Status kOutOfMemory = 1, kUnimplemented = 3;

// Values that differ between the versions (dnnl_alg_kind_t).
struct Numbers {
  int relu, clip;
};
constexpr Numbers kNumbersOf2{31, 255}, kNumbersOf3{32, 46};

// In version 2 the caller provides the memory of descriptors. Sizes on x86-64, rounded up generously for operations:
// dnnl_memory_desc_t has 696 bytes, the largest dnnl_..._desc_t 5,976.
constexpr std::size_t kLayoutBytes2 = 696, kOperationBytes2 = 16384;
struct alignas(64) Operation2 {
  std::array<std::byte, kOperationBytes2> bytes{};
};
struct alignas(8) Layout2 {
  std::array<std::byte, kLayoutBytes2> bytes{};
};

struct Version {
  int major, minor, patch;
};

// The functions of dnnl.h that are used, with its signatures. Objects are void*: handles in both versions, except for
// the memory descriptors of version 2, which are also passed by address.
struct Functions {
  const Version* (*version)();
  Status (*create_engine)(void**, int kind, std::size_t index);
  Status (*destroy_engine)(void*);
  Status (*create_stream)(void**, void* engine, unsigned flags);
  Status (*destroy_stream)(void*);
  Status (*wait)(void* stream);
  Status (*create_memory)(void**, const void* layout, void* engine, void* bytes);
  Status (*destroy_memory)(void*);
  Status (*set_bytes)(void* memory, void* bytes);
  std::size_t (*layout_bytes)(const void*);
  int (*equal_layouts)(const void*, const void*);
  Status (*create_attributes)(void**);
  Status (*destroy_attributes)(void*);
  Status (*set_post)(void* attributes, const void* post);
  Status (*create_post)(void**);
  Status (*destroy_post)(void*);
  const void* (*query_layout)(const void* description, int what, int index);
  Status (*query)(const void* description, int what, int index, void* result);
  Status (*destroy_description)(void*);
  Status (*create_primitive)(void**, const void* description);
  Status (*destroy_primitive)(void*);
  Status (*execute)(const void* primitive, void* stream, int count, const Library::Argument*);
  Status (*reorder)(void** description, const void* from, void* from_engine, const void* to, void* to_engine,
                    const void* attributes);
  void (*set_threads)(int);  // for OpenMP; null: the library uses other threads
};

struct Functions2 {
  Status (*strided)(void* layout, int rank, const std::int64_t* dims, int type, const std::int64_t* strides);
  Status (*tagged)(void* layout, int rank, const std::int64_t* dims, int type, int tag);
  Status (*describe)(void** description, const void* operation, const void* attributes, void* engine, const void* hint);
  Status (*convolution)(void* operation, int propagation, int algorithm, const void* x, const void* weights,
                        const void* bias, const void* y, const std::int64_t* strides, const std::int64_t* dilations,
                        const std::int64_t* pad_begin, const std::int64_t* pad_end);
  Status (*product)(void* operation, const void* a, const void* b, const void* bias, const void* y);
  Status (*pool)(void* operation, int propagation, int algorithm, const void* x, const void* y,
                 const std::int64_t* strides, const std::int64_t* kernel, const std::int64_t* dilations,
                 const std::int64_t* pad_begin, const std::int64_t* pad_end);
  Status (*sum)(void* operation, int algorithm, const void* a, const void* b, const void* y);
  Status (*concatenation)(void** description, const void* y, int count, int axis, const void* layouts,
                          const void* attributes, void* engine);
  Status (*append_eltwise)(void* post, float scale, int algorithm, float alpha, float beta);
};

struct Functions3 {
  Status (*strided)(void** layout, int rank, const std::int64_t* dims, int type, const std::int64_t* strides);
  Status (*tagged)(void** layout, int rank, const std::int64_t* dims, int type, int tag);
  Status (*clone_layout)(void**, const void*);
  Status (*destroy_layout)(void*);
  Status (*convolution)(void** description, void* engine, int propagation, int algorithm, const void* x,
                        const void* weights, const void* bias, const void* y, const std::int64_t* strides,
                        const std::int64_t* dilations, const std::int64_t* pad_begin, const std::int64_t* pad_end,
                        const void* attributes);
  Status (*product)(void** description, void* engine, const void* a, const void* b, const void* bias, const void* y,
                    const void* attributes);
  Status (*pool)(void** description, void* engine, int propagation, int algorithm, const void* x, const void* y,
                 const std::int64_t* strides, const std::int64_t* kernel, const std::int64_t* dilations,
                 const std::int64_t* pad_begin, const std::int64_t* pad_end, const void* attributes);
  Status (*sum)(void** description, void* engine, int algorithm, const void* a, const void* b, const void* y,
                const void* attributes);
  Status (*concatenation)(void** description, void* engine, const void* y, int count, int axis,
                          const void* const* layouts, const void* attributes);
  Status (*append_eltwise)(void* post, int algorithm, float alpha, float beta);
};

// Binds functions by name; `missing` is the first missing one.
struct Binder {
  const SharedLibrary& library;
  std::string missing = {};
  template <typename Function>
  void operator()(Function& function, const char* name) {
    function = reinterpret_cast<Function>(library.find(name));
    if (function == nullptr && missing.empty()) missing = name;
  }
};

std::string bind_common(const SharedLibrary& library, Functions& f) {
  Binder bind{library};
  bind(f.version, "dnnl_version");
  bind(f.create_engine, "dnnl_engine_create");
  bind(f.destroy_engine, "dnnl_engine_destroy");
  bind(f.create_stream, "dnnl_stream_create");
  bind(f.destroy_stream, "dnnl_stream_destroy");
  bind(f.wait, "dnnl_stream_wait");
  bind(f.create_memory, "dnnl_memory_create");
  bind(f.destroy_memory, "dnnl_memory_destroy");
  bind(f.set_bytes, "dnnl_memory_set_data_handle");
  bind(f.layout_bytes, "dnnl_memory_desc_get_size");
  bind(f.equal_layouts, "dnnl_memory_desc_equal");
  bind(f.create_attributes, "dnnl_primitive_attr_create");
  bind(f.destroy_attributes, "dnnl_primitive_attr_destroy");
  bind(f.set_post, "dnnl_primitive_attr_set_post_ops");
  bind(f.create_post, "dnnl_post_ops_create");
  bind(f.destroy_post, "dnnl_post_ops_destroy");
  bind(f.query_layout, "dnnl_primitive_desc_query_md");
  bind(f.query, "dnnl_primitive_desc_query");
  bind(f.destroy_description, "dnnl_primitive_desc_destroy");
  bind(f.create_primitive, "dnnl_primitive_create");
  bind(f.destroy_primitive, "dnnl_primitive_destroy");
  bind(f.execute, "dnnl_primitive_execute");
  bind(f.reorder, "dnnl_reorder_primitive_desc_create");
  f.set_threads = reinterpret_cast<void (*)(int)>(library.find("omp_set_num_threads"));
  return bind.missing;
}

std::string bind_version(const SharedLibrary& library, Functions2& f) {
  Binder bind{library};
  bind(f.strided, "dnnl_memory_desc_init_by_strides");
  bind(f.tagged, "dnnl_memory_desc_init_by_tag");
  bind(f.describe, "dnnl_primitive_desc_create");
  bind(f.convolution, "dnnl_dilated_convolution_forward_desc_init");
  bind(f.product, "dnnl_matmul_desc_init");
  bind(f.pool, "dnnl_pooling_v2_forward_desc_init");
  bind(f.sum, "dnnl_binary_desc_init");
  bind(f.concatenation, "dnnl_concat_primitive_desc_create");
  bind(f.append_eltwise, "dnnl_post_ops_append_eltwise");
  return bind.missing;
}

std::string bind_version(const SharedLibrary& library, Functions3& f) {
  Binder bind{library};
  bind(f.strided, "dnnl_memory_desc_create_with_strides");
  bind(f.tagged, "dnnl_memory_desc_create_with_tag");
  bind(f.clone_layout, "dnnl_memory_desc_clone");
  bind(f.destroy_layout, "dnnl_memory_desc_destroy");
  bind(f.convolution, "dnnl_convolution_forward_primitive_desc_create");
  bind(f.product, "dnnl_matmul_primitive_desc_create");
  bind(f.pool, "dnnl_pooling_forward_primitive_desc_create");
  bind(f.sum, "dnnl_binary_primitive_desc_create");
  bind(f.concatenation, "dnnl_concat_primitive_desc_create");
  bind(f.append_eltwise, "dnnl_post_ops_append_eltwise");
  return bind.missing;
}

Dims dims_of(const Shape& shape) {
  Dims dims{};
  std::copy_n(shape.begin(), std::min(shape.size(), dims.size()), dims.begin());
  return dims;
}
// The library counts dilations from 0.
Dims dilations_of(const Shape& dilations) {
  Dims dims = dims_of(dilations);
  for (std::size_t i = 0; i < std::min(dilations.size(), dims.size()); ++i) --dims[i];
  return dims;
}

int number_of(Pool kind) {
  switch (kind) {
    case Pool::maximum: return kMaximum;
    case Pool::average: return kAverage;
    case Pool::average_of_pads: return kAverageOfPads;
  }
  return kMaximum;
}

// Code common to both versions; their differences are in the two classes below.
class LoadedLibrary : public Library {
 public:
  LoadedLibrary(const Functions& functions, Numbers numbers, std::string path)
      : f_(functions), numbers_(numbers), path_(std::move(path)) {}

  Result<void> start() {
    void* object = nullptr;
    DOVETAIL_TRY(check(f_.create_engine(&object, kCpu, 0), "its engine"));
    engine_ = Handle(object, f_.destroy_engine);
    DOVETAIL_TRY(check(f_.create_stream(&object, engine_.get(), kDefaultStream), "its stream"));
    stream_ = Handle(object, f_.destroy_stream);
    return {};
  }

  std::string version() const override {
    const Version& version = *f_.version();
    return fmt::format("{}.{}.{}", version.major, version.minor, version.patch);
  }
  const std::string& path() const override { return path_; }
  void set_threads(int threads) const override {
    if (f_.set_threads != nullptr && threads > 0) f_.set_threads(threads);
  }

  std::size_t bytes(const Layout& layout) const override { return f_.layout_bytes(layout.get()); }
  bool equal(const Layout& a, const Layout& b) const override { return f_.equal_layouts(a.get(), b.get()) != 0; }

  Result<Layout> plain(const Shape& shape, const std::vector<std::size_t>& order) const override {
    std::vector<std::size_t> axes(shape.size());
    std::iota(axes.begin(), axes.end(), 0);
    if (!order.empty()) axes = order;
    Dims strides{};
    std::int64_t stride = 1;
    for (std::size_t i = axes.size(); i-- > 0;) {
      strides[axes[i]] = stride;
      stride *= shape[axes[i]];
    }
    return strided(static_cast<int>(shape.size()), dims_of(shape).data(), strides.data());
  }

  Result<Primitive> reorder(const Layout& from, const Layout& to) const override {
    void* description = nullptr;
    DOVETAIL_TRY(check(f_.reorder(&description, from.get(), engine_.get(), to.get(), engine_.get(), nullptr),
                       "a change of layout"));
    return primitive(description, "a change of layout");
  }

  Result<Handle> memory(const Layout& layout) const override {
    void* object = nullptr;
    DOVETAIL_TRY(check(f_.create_memory(&object, layout.get(), engine_.get(), nullptr), "a tensor"));
    return Handle(object, f_.destroy_memory);
  }
  void set_bytes(const Handle& memory, void* bytes) const override { f_.set_bytes(memory.get(), bytes); }
  Result<void> execute(const Primitive& primitive, std::span<const Argument> arguments) const override {
    return check(
        f_.execute(primitive.object.get(), stream_.get(), static_cast<int>(arguments.size()), arguments.data()),
        primitive.implementation);
  }
  Result<void> wait() const override { return check(f_.wait(stream_.get()), "the work in progress"); }

 protected:
  virtual Result<Layout> strided(int rank, const std::int64_t* dims, const std::int64_t* strides) const = 0;
  virtual Layout copy(const void* layout) const = 0;
  virtual Status append_eltwise(void* post, int algorithm, float alpha, float beta) const = 0;

  Result<void> check(Status status, std::string_view action) const {
    if (status == 0) return {};
    Diagnostic problem{"oneDNN reports an error", std::string(action), fmt::format("the status is {}", status),
                       "use the kit's own kernels: --target cpu"};
    if (status == kUnimplemented) problem.why = fmt::format("version {} has no code for it", version());
    if (status == kOutOfMemory) {
      problem.why = "oneDNN is out of memory";
      problem.hint = "close other programs, or run fewer samples at once";
      problem.cause = Cause::resource;
    }
    return problem;
  }

  // Clamps results.
  Result<Handle> attributes(const Clamp& clamp) const {
    void* object = nullptr;
    DOVETAIL_TRY(check(f_.create_attributes(&object), "attributes"));
    Handle attributes(object, f_.destroy_attributes);
    if (!clamp.least && !clamp.most) return attributes;
    DOVETAIL_TRY(check(f_.create_post(&object), "attributes"));
    const Handle post(object, f_.destroy_post);
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const bool relu = clamp.least == 0.0 && !clamp.most;
    const auto least = static_cast<float>(clamp.least.value_or(-kInfinity)),
               most = static_cast<float>(clamp.most.value_or(kInfinity));
    DOVETAIL_TRY(
        check(append_eltwise(post.get(), relu ? numbers_.relu : numbers_.clip, relu ? 0 : least, relu ? 0 : most),
              "a clamp"));
    DOVETAIL_TRY(check(f_.set_post(attributes.get(), post.get()), "a clamp"));
    return attributes;
  }

  Result<Primitive> primitive(void* created, std::string_view action) const {
    const Handle description(created, f_.destroy_description);
    void* object = nullptr;
    DOVETAIL_TRY(check(f_.create_primitive(&object, description.get()), action));
    Primitive primitive{Handle(object, f_.destroy_primitive), std::string(action), {}, {}, {}};
    const char* name = nullptr;
    if (f_.query(description.get(), kQueryName, 0, static_cast<void*>(&name)) == 0 && name != nullptr)
      primitive.implementation = name;
    const auto layout = [&](int what) {
      const void* found = f_.query_layout(description.get(), what, 0);
      return found == nullptr ? Layout() : copy(found);
    };
    primitive.source = layout(kQuerySource);
    primitive.weights = layout(kQueryWeights);
    primitive.destination = layout(kQueryDestination);
    return primitive;
  }

  Functions f_;
  Numbers numbers_;
  std::string path_;
  Handle engine_, stream_;
};

class Library2 : public LoadedLibrary {
 public:
  Library2(const Functions& functions, const Functions2& own, std::string path)
      : LoadedLibrary(functions, kNumbersOf2, std::move(path)), g_(own) {}

  Result<Layout> any(const Shape& shape) const override {
    const auto layout = std::make_shared<Layout2>();
    DOVETAIL_TRY(
        check(g_.tagged(layout->bytes.data(), static_cast<int>(shape.size()), dims_of(shape).data(), kFloat32, kAnyTag),
              "a tensor"));
    return Layout(Handle(layout, layout->bytes.data()));
  }

  Result<Primitive> convolution(const Layout& x, const Layout& weights, const Layout& bias, const Layout& y,
                                const Windows& w, const Clamp& clamp) const override {
    return make("a convolution", clamp, [&](void* operation) {
      return g_.convolution(operation, kInference, kDirect, x.get(), weights.get(), bias.get(), y.get(),
                            dims_of(w.strides).data(), dilations_of(w.dilations).data(), dims_of(w.pad_begin).data(),
                            dims_of(w.pad_end).data());
    });
  }
  Result<Primitive> product(const Layout& a, const Layout& b, const Layout& bias, const Layout& y,
                            const Clamp& clamp) const override {
    return make("a product", clamp,
                [&](void* operation) { return g_.product(operation, a.get(), b.get(), bias.get(), y.get()); });
  }
  Result<Primitive> pool(Pool kind, const Layout& x, const Layout& y, const Windows& w,
                         const Clamp& clamp) const override {
    return make("a pool", clamp, [&](void* operation) {
      return g_.pool(operation, kInference, number_of(kind), x.get(), y.get(), dims_of(w.strides).data(),
                     dims_of(w.kernel).data(), dilations_of(w.dilations).data(), dims_of(w.pad_begin).data(),
                     dims_of(w.pad_end).data());
    });
  }
  Result<Primitive> sum(const Layout& a, const Layout& b, const Layout& y, const Clamp& clamp) const override {
    return make("a sum", clamp, [&](void* operation) { return g_.sum(operation, kAdd, a.get(), b.get(), y.get()); });
  }
  Result<Primitive> concatenation(std::span<const Layout> xs, std::size_t axis, const Clamp& clamp) const override {
    std::vector<Layout2> layouts(xs.size());
    for (std::size_t i = 0; i < xs.size(); ++i)
      std::copy_n(static_cast<const std::byte*>(xs[i].get()), kLayoutBytes2, layouts[i].bytes.begin());
    DOVETAIL_ASSIGN(const Handle made, attributes(clamp));
    void* description = nullptr;
    DOVETAIL_TRY(check(g_.concatenation(&description, nullptr, static_cast<int>(xs.size()), static_cast<int>(axis),
                                        layouts.data(), made.get(), engine_.get()),
                       "a concatenation"));
    return primitive(description, "a concatenation");
  }

 protected:
  Result<Layout> strided(int rank, const std::int64_t* dims, const std::int64_t* strides) const override {
    const auto layout = std::make_shared<Layout2>();
    DOVETAIL_TRY(check(g_.strided(layout->bytes.data(), rank, dims, kFloat32, strides), "a tensor"));
    return Layout(Handle(layout, layout->bytes.data()));
  }
  Layout copy(const void* from) const override {
    const auto layout = std::make_shared<Layout2>();
    std::copy_n(static_cast<const std::byte*>(from), kLayoutBytes2, layout->bytes.begin());
    return Layout(Handle(layout, layout->bytes.data()));
  }
  Status append_eltwise(void* post, int algorithm, float alpha, float beta) const override {
    return g_.append_eltwise(post, 1, algorithm, alpha, beta);
  }

 private:
  template <typename Begin>
  Result<Primitive> make(std::string_view action, const Clamp& clamp, const Begin& begin) const {
    Operation2 operation;
    DOVETAIL_TRY(check(begin(static_cast<void*>(&operation)), action));
    DOVETAIL_ASSIGN(const Handle made, attributes(clamp));
    void* description = nullptr;
    DOVETAIL_TRY(check(g_.describe(&description, &operation, made.get(), engine_.get(), nullptr), action));
    return primitive(description, action);
  }

  Functions2 g_;
};

class Library3 : public LoadedLibrary {
 public:
  Library3(const Functions& functions, const Functions3& own, std::string path)
      : LoadedLibrary(functions, kNumbersOf3, std::move(path)), g_(own) {}

  Result<Layout> any(const Shape& shape) const override {
    void* layout = nullptr;
    DOVETAIL_TRY(check(g_.tagged(&layout, static_cast<int>(shape.size()), dims_of(shape).data(), kFloat32, kAnyTag),
                       "a tensor"));
    return owned(layout);
  }

  Result<Primitive> convolution(const Layout& x, const Layout& weights, const Layout& bias, const Layout& y,
                                const Windows& w, const Clamp& clamp) const override {
    return make("a convolution", clamp, [&](void** description, const void* with) {
      return g_.convolution(description, engine_.get(), kInference, kDirect, x.get(), weights.get(), bias.get(),
                            y.get(), dims_of(w.strides).data(), dilations_of(w.dilations).data(),
                            dims_of(w.pad_begin).data(), dims_of(w.pad_end).data(), with);
    });
  }
  Result<Primitive> product(const Layout& a, const Layout& b, const Layout& bias, const Layout& y,
                            const Clamp& clamp) const override {
    return make("a product", clamp, [&](void** description, const void* with) {
      return g_.product(description, engine_.get(), a.get(), b.get(), bias.get(), y.get(), with);
    });
  }
  Result<Primitive> pool(Pool kind, const Layout& x, const Layout& y, const Windows& w,
                         const Clamp& clamp) const override {
    return make("a pool", clamp, [&](void** description, const void* with) {
      return g_.pool(description, engine_.get(), kInference, number_of(kind), x.get(), y.get(),
                     dims_of(w.strides).data(), dims_of(w.kernel).data(), dilations_of(w.dilations).data(),
                     dims_of(w.pad_begin).data(), dims_of(w.pad_end).data(), with);
    });
  }
  Result<Primitive> sum(const Layout& a, const Layout& b, const Layout& y, const Clamp& clamp) const override {
    return make("a sum", clamp, [&](void** description, const void* with) {
      return g_.sum(description, engine_.get(), kAdd, a.get(), b.get(), y.get(), with);
    });
  }
  Result<Primitive> concatenation(std::span<const Layout> xs, std::size_t axis, const Clamp& clamp) const override {
    std::vector<const void*> layouts;
    for (const Layout& x : xs) layouts.push_back(x.get());
    return make("a concatenation", clamp, [&](void** description, const void* with) {
      return g_.concatenation(description, engine_.get(), nullptr, static_cast<int>(xs.size()), static_cast<int>(axis),
                              layouts.data(), with);
    });
  }

 protected:
  Result<Layout> strided(int rank, const std::int64_t* dims, const std::int64_t* strides) const override {
    void* layout = nullptr;
    DOVETAIL_TRY(check(g_.strided(&layout, rank, dims, kFloat32, strides), "a tensor"));
    return owned(layout);
  }
  Layout copy(const void* from) const override {
    void* layout = nullptr;
    return g_.clone_layout(&layout, from) == 0 ? owned(layout) : Layout();
  }
  Status append_eltwise(void* post, int algorithm, float alpha, float beta) const override {
    return g_.append_eltwise(post, algorithm, alpha, beta);
  }

 private:
  Layout owned(void* layout) const { return Layout(Handle(layout, g_.destroy_layout)); }

  template <typename Describe>
  Result<Primitive> make(std::string_view action, const Clamp& clamp, const Describe& describe) const {
    DOVETAIL_ASSIGN(const Handle made, attributes(clamp));
    void* description = nullptr;
    DOVETAIL_TRY(check(describe(&description, static_cast<const void*>(made.get())), action));
    return primitive(description, action);
  }

  Functions3 g_;
};

// Values of dnnl_cpu_isa_t and ONEDNN_MAX_CPU_ISA that are the same in versions 2 and 3; for float32 the library uses
// no others. An instruction set includes another one if its number has the other's bits.
struct Instructions {
  std::string_view name;
  int number;
};
constexpr Instructions kSse41{"SSE41", 0x1}, kAvx{"AVX", 0x3}, kAvx2{"AVX2", 0x7}, kAvx512{"AVX512_CORE", 0x27},
    kAvx512Vnni{"AVX512_CORE_VNNI", 0x67};
Instructions instructions_of(std::string_view processor) {
  if (processor == "baseline") return kSse41;
  if (processor.starts_with("avx2")) return kAvx2;
  return processor == "avx512" ? kAvx512 : kAvx512Vnni;
}

// Limits the library to the instructions allowed by DOVETAIL_PROCESSOR, which takes effect only before its first use.
Result<void> keep_to_class(const SharedLibrary& library, const std::string& path) {
  DOVETAIL_ASSIGN(const auto processor, processor_cap());
  if (!processor) return {};
  const Instructions most = instructions_of(*processor);
  Status (*set_most)(int) = nullptr;
  int (*effective)() = nullptr;
  Binder bind{library};
  bind(set_most, "dnnl_set_max_cpu_isa");
  bind(effective, "dnnl_get_effective_cpu_isa");
  std::string why = bind.missing.empty() ? "" : fmt::format("the library has no function {}", bind.missing);
  if (why.empty()) {
    // oneDNN's environment variable may request a smaller instruction set.
    const auto own = environment("ONEDNN_MAX_CPU_ISA");
    bool is_less = false;
    for (const Instructions& each : {kSse41, kAvx, kAvx2, kAvx512, kAvx512Vnni})
      is_less |= own && *own == each.name && (each.number & ~most.number) == 0;
    if (!is_less) set_most(most.number);
    if ((effective() & ~most.number) != 0)
      why = fmt::format("this process has already allowed the library more instructions than {}", most.name);
  }
  if (why.empty()) return {};
  return Diagnostic{fmt::format("cannot limit oneDNN to {}={}", kProcessorVariable, *processor), path, std::move(why),
                    "unset the variable, or use the kit's own kernels: --target cpu"};
}

Result<std::shared_ptr<const Library>> load(const std::string& path) {
  const auto unfit = [&](std::string why) {
    return Diagnostic{"cannot run with oneDNN", path, std::move(why),
                      "set DOVETAIL_ONEDNN to the path of libdnnl 2.6 or later, or unset it"};
  };
  auto opened = SharedLibrary::open(path);
  if (!opened.ok()) return unfit(opened.errors().front().why);
  SharedLibrary library = *std::move(opened);
  Functions functions{};
  if (const std::string missing = bind_common(library, functions); !missing.empty())
    return unfit(fmt::format("it has no function {}", missing));
  const int major = functions.version()->major;
  Functions2 of_2{};
  Functions3 of_3{};
  const std::string missing = major == 2 ? bind_version(library, of_2) : bind_version(library, of_3);
  if (major < 2 || !missing.empty())
    return unfit(fmt::format("version {}.{} has no function {}", major, functions.version()->minor, missing));
  DOVETAIL_TRY(keep_to_class(library, path));
  std::shared_ptr<LoadedLibrary> loaded;
  if (major == 2) loaded = std::make_shared<Library2>(functions, of_2, path);
  else loaded = std::make_shared<Library3>(functions, of_3, path);
  DOVETAIL_TRY(loaded->start());
  library.keep();  // its threads outlive this object
  return std::shared_ptr<const Library>(std::move(loaded));
}

}  // namespace

Result<std::shared_ptr<const Library>> Library::find() {
  if (const auto given = environment("DOVETAIL_ONEDNN")) return load(*given);
  std::string why;
  for (const char* name : {"libdnnl.so.3", "libdnnl.so.2", "libdnnl.so"}) {
    auto found = load(name);
    if (found.ok()) return found;
    if (why.empty()) why = found.errors().front().why;
  }
  return Diagnostic{
      "cannot run with oneDNN", "libdnnl", fmt::format("the library is not on this machine: {}", why),
      "`sudo apt-get install libdnnl-dev` installs it; or set DOVETAIL_ONEDNN to the file's path, or compile for "
      "another target: --target cpu"};
}

}  // namespace dovetail::runtime::onednn
