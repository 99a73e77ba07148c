#include "tests/unit/simulator/reference.h"

#include <cmath>
#include <variant>

namespace dovetail::simulator::testing {

namespace {

int log2_of(std::int64_t value) {
  int log = 0;
  while ((std::int64_t{1} << log) < value) ++log;
  return log;
}

std::uint64_t little_endian(const std::byte* bytes, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = count; i-- > 0;) value = value * 256 + std::to_integer<std::uint64_t>(bytes[i]);
  return value;
}

// Modulo 2^32, as two's complement.
std::int32_t wrapped(std::int64_t value) {
  const std::int64_t low = value & 0xffffffff;
  return static_cast<std::int32_t>(low > INT32_MAX ? low - (std::int64_t{1} << 32) : low);
}

std::int32_t shifted(std::int32_t value, std::int64_t amount) {
  if (amount >= 0)
    return static_cast<std::int32_t>(
        std::floor(std::ldexp(static_cast<double>(value), -static_cast<int>(std::min<std::int64_t>(amount, 31)))));
  return wrapped(static_cast<std::int64_t>(value) * (std::int64_t{1} << std::min<std::int64_t>(-amount, 31)));
}

// long double holds 64 bits: the product of 31 and 24 bits is exact, and nearbyint rounds half to even.
std::int32_t requantized(std::int32_t acc, std::int32_t bias, std::uint32_t scale, std::int32_t zero_point) {
  const int exponent = static_cast<int>((scale >> 23) & 255);
  const long double mantissa = exponent == 0 ? 0.0L : static_cast<long double>((scale & 0x7fffff) + 0x800000);
  const long double value = std::ldexp(mantissa, exponent - 150) * (scale >> 31 != 0 ? -1 : 1);
  const long double result =
      std::nearbyint(static_cast<long double>(wrapped(std::int64_t{acc} + bias)) * value) + zero_point;
  return result > 2147483647.0L ? INT32_MAX : result < -2147483648.0L ? INT32_MIN : static_cast<std::int32_t>(result);
}

// The bits of value * 2^power as REQUANT reads scales. Rounding to 64 bits before decides nothing: the quotient of a
// power of two by 32 bits is never nearer than 2^-57 of itself to a tie of 24 bits.
std::uint32_t scale_bits(long double value, int power) {
  int exponent = 0;
  long double mantissa = std::nearbyint(std::ldexp(std::frexp(value, &exponent), 24));  // 2^23 to 2^24
  if (mantissa == 0x1p24L) mantissa = 0x1p23L, ++exponent;
  const int biased = exponent + power + 126;
  if (biased < 1) return 0;
  if (biased > 255) return 0x7fffffff;
  return static_cast<std::uint32_t>(biased) << 23 | (static_cast<std::uint32_t>(mantissa) & 0x7fffff);
}

// x * 2^24 has 56 bits, and a root in long double is never rounded up to the next integer.
long double whole_root(std::uint32_t x) { return std::floor(std::sqrt(std::ldexp(static_cast<long double>(x), 24))); }

std::size_t entry(std::int32_t index) {
  return index < -128 ? 0 : index > 127 ? 255 : static_cast<std::size_t>(index + 128);
}

}  // namespace

Reference::Reference(const isa::HardwareConfig& config)
    : config_(config),
      batch_(static_cast<std::size_t>(config.batch)),
      in_(static_cast<std::size_t>(config.block_in)),
      out_(static_cast<std::size_t>(config.block_out)),
      uop_(static_cast<std::size_t>(config.depth(isa::Memory::uop))),
      inp_(static_cast<std::size_t>(config.inp_buffer_bytes)),
      wgt_(static_cast<std::size_t>(config.wgt_buffer_bytes)),
      acc_(static_cast<std::size_t>(config.acc_buffer_bytes / 4)) {}

void Reference::run(std::span<const isa::Instruction> program, Dram& dram) {
  for (const isa::Instruction& instruction : program) {
    if (const auto* body = std::get_if<isa::Load>(&instruction.body)) load(*body, dram);
    if (const auto* body = std::get_if<isa::Store>(&instruction.body)) store(*body, dram);
    if (const auto* body = std::get_if<isa::Gemm>(&instruction.body)) gemm(*body);
    if (const auto* body = std::get_if<isa::Alu>(&instruction.body)) alu(*body);
    if (const auto* body = std::get_if<isa::Window>(&instruction.body)) window(*body);
    if (const auto* body = std::get_if<isa::GemmQ>(&instruction.body)) gemmq(*body);
  }
}

void Reference::put(isa::Memory memory, std::size_t index, const std::byte* element) {
  const auto byte = [&](std::size_t i) { return element == nullptr ? 0 : static_cast<std::int8_t>(element[i]); };
  switch (memory) {
    case isa::Memory::uop: {
      const bool wide = config_.uop_bytes() == 8;
      const int dst = wide ? 21 : log2_of(config_.depth(isa::Memory::acc));
      const int src = wide ? 21 : std::max(dst, log2_of(config_.depth(isa::Memory::inp)));
      const int wgt = wide ? 21 : log2_of(config_.depth(isa::Memory::wgt));
      const std::uint64_t bits = element == nullptr ? 0 : little_endian(element, wide ? 8 : 4);
      const auto field = [&](int at, int width) {
        return static_cast<std::uint32_t>(bits >> at & ((std::uint64_t{1} << width) - 1));
      };
      uop_[index] = {.dst = field(0, dst), .src = field(dst, src), .wgt = field(dst + src, wgt)};
      return;
    }
    case isa::Memory::wgt:
      for (std::size_t i = 0; i < out_ * in_; ++i) wgt_[index * out_ * in_ + i] = static_cast<std::int8_t>(byte(i));
      return;
    case isa::Memory::wgt4:
      for (std::size_t i = 0; i < out_ * in_; ++i) {
        const int nibble = (byte(i / 2) >> (i % 2 == 0 ? 0 : 4)) & 15;
        wgt_[index * out_ * in_ + i] = static_cast<std::int8_t>(nibble < 8 ? nibble : nibble - 16);
      }
      return;
    case isa::Memory::inp:
      for (std::size_t i = 0; i < batch_ * in_; ++i) inp_[index * batch_ * in_ + i] = static_cast<std::int8_t>(byte(i));
      return;
    case isa::Memory::acc:
      requantized_.erase(index);
      for (std::size_t i = 0; i < batch_ * out_; ++i)
        acc_[index * batch_ * out_ + i] =
            element == nullptr ? 0 : wrapped(static_cast<std::int64_t>(little_endian(element + 4 * i, 4)));
      return;
    case isa::Memory::acc8:
      requantized_.erase(index);
      for (std::size_t i = 0; i < batch_ * out_; ++i) acc_[index * batch_ * out_ + i] = byte(i);
      return;
    case isa::Memory::tab:
      for (std::size_t i = 0; i < table_.size(); ++i)
        table_[i] = static_cast<std::int16_t>(little_endian(element + 2 * i, 2));
      return;
    case isa::Memory::out: return;
  }
}

void Reference::load(const isa::Load& load, const Dram& dram) {
  if (load.x_size == 0) return;
  const auto size = static_cast<std::size_t>(config_.element_bytes(load.memory));
  std::size_t at = load.sram_base;
  for (std::size_t row = 0; row < load.y_pad_0 + load.y_size + load.y_pad_1; ++row)
    for (std::size_t column = 0; column < load.x_pad_0 + load.x_size + load.x_pad_1; ++column) {
      const bool inside = row >= load.y_pad_0 && row < load.y_pad_0 + load.y_size && column >= load.x_pad_0 &&
                          column < load.x_pad_0 + load.x_size;
      const std::size_t element = load.dram_base + (row - load.y_pad_0) * load.x_stride + (column - load.x_pad_0);
      put(load.memory, at++, inside ? dram.bytes.data() + (element * size - dram.base) : nullptr);
    }
}

void Reference::store(const isa::Store& store, Dram& dram) const {
  const std::size_t lanes = batch_ * out_;
  for (std::size_t y = 0; y < store.y_size; ++y)
    for (std::size_t x = 0; x < store.x_size; ++x)
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        const std::size_t element = store.sram_base + y * store.x_size + x;
        std::int32_t value =
            requantized_.contains(element) ? requantized_.at(element)[lane] : acc_[element * lanes + lane];
        if (store.saturate) value = value > 127 ? 127 : value < -128 ? -128 : value;
        dram.bytes[(store.dram_base + y * store.x_stride + x) * lanes + lane - dram.base] =
            static_cast<std::byte>(value & 255);
      }
}

void Reference::gemm(const isa::Gemm& gemm) {
  for (std::size_t y = 0; y < gemm.iter_out; ++y)
    for (std::size_t x = 0; x < gemm.iter_in; ++x)
      for (std::size_t k = gemm.uop_begin; k < gemm.uop_end; ++k) {
        const std::size_t dst = uop_[k].dst + y * gemm.dst_factor_out + x * gemm.dst_factor_in;
        const std::size_t src = uop_[k].src + y * gemm.src_factor_out + x * gemm.src_factor_in;
        const std::size_t wgt = uop_[k].wgt + y * gemm.wgt_factor_out + x * gemm.wgt_factor_in;
        requantized_.erase(dst);
        for (std::size_t b = 0; b < batch_; ++b)
          for (std::size_t o = 0; o < out_; ++o) {
            std::int32_t& lane = acc_[(dst * batch_ + b) * out_ + o];
            std::int64_t sum = gemm.reset || gemm.overwrite ? 0 : lane;
            if (!gemm.reset)
              for (std::size_t i = 0; i < in_; ++i)
                sum += inp_[(src * batch_ + b) * in_ + i] * wgt_[(wgt * out_ + o) * in_ + i];
            lane = wrapped(sum);
          }
      }
}

// Looks up the element of each tap by the number of steps since its push, instead of moving a window.
void Reference::window(const isa::Window& window) {
  const std::size_t push_only = config_.encoding() == isa::Encoding::wide
                                    ? (std::size_t{1} << 21) - 1
                                    : static_cast<std::size_t>(config_.depth(isa::Memory::wgt)) - 1;
  std::vector<std::size_t> pushed;
  for (std::size_t y = 0; y < window.iter_out; ++y)
    for (std::size_t x = 0; x < window.iter_in; ++x)
      for (std::size_t k = window.uop_begin; k < window.uop_end; ++k) {
        pushed.push_back(uop_[k].src + y * window.src_factor_out + x * window.src_factor_in);
        if (uop_[k].wgt == push_only) continue;
        const std::size_t dst = uop_[k].dst + y * window.dst_factor_out + x * window.dst_factor_in;
        const std::size_t wgt = uop_[k].wgt + y * window.wgt_factor_out + x * window.wgt_factor_in;
        for (std::size_t b = 0; b < batch_; ++b)
          for (std::size_t o = 0; o < out_; ++o) {
            std::int32_t& lane = acc_[(dst * batch_ + b) * out_ + o];
            std::int64_t sum = window.overwrite ? 0 : lane;
            for (std::size_t t = 0; t < in_ && t < pushed.size(); ++t)
              sum += inp_[(pushed[pushed.size() - 1 - t] * batch_ + b) * in_ + o] * wgt_[(wgt * out_ + o) * in_ + t];
            lane = wrapped(sum);
          }
        requantized_.erase(dst);
        if (window.requant) requantize(uop_[window.uop_end], dst);
      }
}

void Reference::gemmq(const isa::GemmQ& gemmq) {
  isa::Gemm products;
  static_cast<isa::ProductLoop&>(products) = gemmq;
  gemm(products);
  for (std::size_t y = 0; y < gemmq.iter_out; ++y)
    for (std::size_t x = 0; x < gemmq.iter_in; ++x)
      for (std::size_t k = gemmq.uop_begin; k < gemmq.uop_end; ++k)
        requantize(uop_[gemmq.uop_end], uop_[k].dst + y * gemmq.dst_factor_out + x * gemmq.dst_factor_in);
}

// Rows of the parameters: bias, scale, and at the end of the first row zero point, least and most.
void Reference::requantize(const isa::Uop& parameters, std::size_t dst) {
  const std::int8_t* rows = wgt_.data() + parameters.wgt * out_ * in_;
  const auto word = [&](std::size_t at) {
    return static_cast<std::uint32_t>(little_endian(reinterpret_cast<const std::byte*>(rows) + at, 4));
  };
  std::vector<std::int32_t> lanes;
  for (std::size_t lane = 0; lane < batch_ * out_; ++lane) {
    const std::size_t row = lane % out_ * in_;
    std::int32_t value =
        requantized(acc_[dst * batch_ * out_ + lane], wrapped(word(row)), word(row + 4), rows[in_ - 3]);
    if (value < rows[in_ - 2]) value = rows[in_ - 2];
    if (value > rows[in_ - 1]) value = rows[in_ - 1];
    const bool looks_up = config_.table && parameters.dst % 2 == 1;
    lanes.push_back(looks_up ? static_cast<std::int8_t>(table_[entry(value)] & 255) : value);
  }
  requantized_[dst] = lanes;
}

void Reference::alu(const isa::Alu& alu) {
  const std::size_t lanes = batch_ * out_;
  for (std::size_t y = 0; y < alu.iter_out; ++y)
    for (std::size_t x = 0; x < alu.iter_in; ++x)
      for (std::size_t k = alu.uop_begin; k < alu.uop_end; ++k) {
        const std::size_t dst = uop_[k].dst + y * alu.dst_factor_out + x * alu.dst_factor_in;
        const std::size_t src = uop_[k].src + y * alu.src_factor_out + x * alu.src_factor_in;
        requantized_.erase(dst);
        std::vector<std::int64_t> sums(batch_, 0), maxima(batch_, INT32_MIN);
        std::vector<std::uint32_t> firsts(batch_, 0);
        for (std::size_t lane = lanes; lane-- > 0;) {
          const std::int32_t value = acc_[dst * lanes + lane];
          sums[lane / out_] += value;
          maxima[lane / out_] = std::max<std::int64_t>(maxima[lane / out_], value);
          firsts[lane / out_] = static_cast<std::uint32_t>(value);
        }
        const bool has_source = alu.op < isa::AluOp::rmax;
        for (std::size_t lane = 0; lane < lanes; ++lane) {
          std::int32_t& value = acc_[dst * lanes + lane];
          const std::int64_t other = alu.use_imm || !has_source ? alu.imm : acc_[src * lanes + lane];
          const std::uint32_t first = firsts[lane / out_];
          switch (alu.op) {
            case isa::AluOp::min: value = static_cast<std::int32_t>(value < other ? value : other); break;
            case isa::AluOp::max: value = static_cast<std::int32_t>(value > other ? value : other); break;
            case isa::AluOp::add: value = wrapped(value + other); break;
            case isa::AluOp::shr: value = shifted(value, other); break;
            case isa::AluOp::mul: value = wrapped(value * other); break;
            case isa::AluOp::requant:
              value = requantized(value, acc_[(src + 1) * lanes + lane], static_cast<std::uint32_t>(other & 0xffffffff),
                                  alu.imm);
              break;
            case isa::AluOp::table: value = table_[entry(wrapped(value + other))]; break;
            case isa::AluOp::tableu: value = table_[entry(wrapped(value + other))] & 65535; break;
            case isa::AluOp::requant8:
              value = requantized(value, acc_[(src + 1) * lanes + lane], static_cast<std::uint32_t>(other & 0xffffffff),
                                  alu.imm);
              value = value > 127 ? 127 : value < -128 ? -128 : value;
              break;
            case isa::AluOp::sqadd: value = wrapped(value + wrapped(other * other)); break;
            case isa::AluOp::rmax: value = static_cast<std::int32_t>(maxima[lane / out_]); break;
            case isa::AluOp::radd: value = wrapped(sums[lane / out_]); break;
            case isa::AluOp::recip:
              value = first == 0 ? 0 : wrapped(scale_bits(1.0L / static_cast<long double>(first), alu.imm));
              break;
            case isa::AluOp::rsqrt:
              value = first == 0 ? 0 : wrapped(scale_bits(1.0L / whole_root(first), alu.imm + 12));
              break;
          }
        }
      }
}

}  // namespace dovetail::simulator::testing
