#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "isa/codec.h"
#include "isa/nearest.h"
#include "isa/spec/instructions.h"
#include "isa/text.h"
#include "isa/text/config_line.h"
#include "isa/text/grammar.h"
#include "isa/text/operands.h"
#include "isa/text/scan.h"

namespace dovetail::isa {

namespace {

using text::Errors;
using text::Line;
using text::Operands;
using text::Word;

std::vector<std::string> all_mnemonics() {
  std::vector<std::string> mnemonics{"gemm", "finish", ".config", ".uop"};
  for (const std::string_view prefix : {"load", "store", "nop"})
    for (const std::string_view memory : text::kMemoryNames) mnemonics.push_back(fmt::format("{}.{}", prefix, memory));
  for (const spec::AluOpInfo& row : spec::kAluOps) mnemonics.push_back(fmt::format("alu.{}", row.name));
  return mnemonics;
}

std::optional<Memory> memory_named(std::string_view name) {
  const auto found = std::find(text::kMemoryNames.begin(), text::kMemoryNames.end(), name);
  if (found == text::kMemoryNames.end()) return std::nullopt;
  return static_cast<Memory>(found - text::kMemoryNames.begin());
}

void read_transfer(Operands& operands, Transfer& transfer) {
  operands.number("sram", transfer.sram_base);
  operands.number("dram", transfer.dram_base);
  operands.require(operands.numbers("size", 'x', "YxX", {&transfer.y_size, &transfer.x_size}), "size", "YxX");
  if (!operands.number("stride", transfer.x_stride)) transfer.x_stride = transfer.x_size;
  operands.numbers("pad", ',', "T,B,L,R", {&transfer.y_pad_0, &transfer.y_pad_1, &transfer.x_pad_0, &transfer.x_pad_1});
}

void read_loop(Operands& operands, UopLoop& loop) {
  operands.require(operands.numbers("uop", ':', "B:E", {&loop.uop_begin, &loop.uop_end}), "uop", "B:E");
  if (!operands.numbers("iter", 'x', "OUTxIN", {&loop.iter_out, &loop.iter_in})) loop.iter_out = loop.iter_in = 1;
  operands.numbers("dst", ',', "OUT,IN", {&loop.dst_factor_out, &loop.dst_factor_in});
  operands.numbers("src", ',', "OUT,IN", {&loop.src_factor_out, &loop.src_factor_in});
}

Gemm read_gemm(Operands& operands) {
  Gemm gemm;
  read_loop(operands, gemm);
  operands.numbers("wgt", ',', "OUT,IN", {&gemm.wgt_factor_out, &gemm.wgt_factor_in});
  operands.flag("reset", gemm.reset);
  operands.flag("overwrite", gemm.overwrite);
  return gemm;
}

Alu read_alu(Operands& operands, AluOp op) {
  Alu alu;
  alu.op = op;
  read_loop(operands, alu);
  alu.use_imm = operands.number("imm", alu.imm);
  if (!alu.use_imm) operands.number(text::word_without_use_imm(op), alu.imm);
  operands.flag("reset", alu.reset);
  return alu;
}

class Parser {
 public:
  Parser(std::string_view where, const std::optional<HardwareConfig>& expected) : errors_(where), expected_(expected) {
    assembly_.config = expected.value_or(HardwareConfig{});
  }

  void parse_line(const Line& line) {
    if (line.label) parse_label(line);
    if (line.words.empty()) return;
    const std::string_view head = line.words.front().text;
    if (head == ".config") return parse_config(line);
    if (!codec_) codec_.emplace(assembly_.config);
    if (head == ".uop") return parse_uop(line);
    parse_instruction(line);
  }

  Result<Assembly> finish() && {
    if (!errors_.empty()) return errors_.take();
    return std::move(assembly_);
  }

 private:
  void parse_label(const Line& line) {
    const auto [place, is_new] = labels_.emplace(line.label->text, line.number);
    if (!is_new)
      errors_.add(line.number, line.label->column,
                  fmt::format("the label `{}` is in line {} already", place->first, place->second),
                  "choose another name");
  }

  void parse_config(const Line& line) {
    const std::size_t column = line.words.front().column;
    if (config_line_)
      return errors_.add(line.number, column, fmt::format("a second `.config`; the first is in line {}", *config_line_),
                         "keep one of the two");
    if (codec_)
      return errors_.add(line.number, column, "`.config` follows an instruction or micro-op",
                         "move it to the beginning of the file");
    config_line_ = line.number;
    if (auto config = text::parse_config_line(line, expected_, errors_)) assembly_.config = *std::move(config);
    else config_valid_ = false;
  }

  void parse_uop(const Line& line) {
    const auto wrong = [&](std::size_t column, std::string why) {
      errors_.add(line.number, column, std::move(why), "write .uop DST, SRC, WGT");
    };
    if (line.words.size() != 4)
      return wrong(line.words.front().column, fmt::format("{} indices, and a micro-op has 3", line.words.size() - 1));
    Uop uop;
    std::uint32_t* const members[] = {&uop.dst, &uop.src, &uop.wgt};
    for (std::size_t i = 0; i < 3; ++i) {
      const Word& word = line.words[i + 1];
      const auto value = text::parse_number(word.text);
      if (!value || *value > UINT32_MAX)
        return wrong(word.column, fmt::format("`{}` is no number of up to 32 bits", word.text));
      *members[i] = static_cast<std::uint32_t>(*value);
    }
    scratch_.clear();
    if (config_valid_) report(codec_->encode(uop, scratch_), line);
    assembly_.uops.push_back(uop);
  }

  void parse_instruction(const Line& line) {
    const Word head = line.words.front();
    const std::size_t dot = head.text.find('.');
    const std::string_view unit = head.text.substr(0, dot);
    const std::string_view what = dot == std::string_view::npos ? std::string_view{} : head.text.substr(dot + 1);
    Operands operands(line, 1, errors_);
    Instruction instruction;

    if (const auto memory = memory_named(what); memory && (unit == "load" || unit == "store" || unit == "nop")) {
      const bool is_store = unit == "store" || (unit == "nop" && *memory == Memory::out);
      Load load;
      Store store;
      Transfer& transfer = is_store ? static_cast<Transfer&>(store) : load;
      transfer.memory = *memory;
      if (unit != "nop") read_transfer(operands, transfer);
      if (unit == "store") operands.flag("saturate", store.saturate);
      if (is_store) instruction.body = store;
      else instruction.body = load;
    } else if (head.text == "gemm") {
      instruction.body = read_gemm(operands);
    } else if (head.text == "finish") {
      instruction.body = Finish{};
    } else if (const auto op = std::find_if(spec::kAluOps.begin(), spec::kAluOps.end(),
                                            [&](const auto& row) { return row.name == what; });
               unit == "alu" && op != spec::kAluOps.end()) {
      instruction.body = read_alu(operands, op->op);
    } else {
      const std::vector<std::string> mnemonics = all_mnemonics();
      const std::vector<std::string_view> views(mnemonics.begin(), mnemonics.end());
      return errors_.add(line.number, head.column, fmt::format("no instruction or directive `{}`", head.text),
                         suggestion(head.text, views));
    }

    std::apply([&](const auto&... flag) { (operands.flag(flag.spec.name, instruction.flags.*flag.member), ...); },
               spec::kFlagFields);
    operands.finish();
    scratch_.clear();
    if (config_valid_) report(codec_->encode(instruction, scratch_), line);
    assembly_.program.push_back(std::move(instruction));
  }

  // What the codec cannot encode, at the line that asks for it.
  void report(const Result<void>& encoded, const Line& line) {
    for (const Diagnostic& error : encoded.errors())
      errors_.add(line.number, line.words.front().column, fmt::format("{}: {}", error.where, error.why), error.hint);
  }

  Errors errors_;
  const std::optional<HardwareConfig>& expected_;
  Assembly assembly_;
  std::optional<std::size_t> config_line_;
  bool config_valid_ = true;
  std::optional<Codec> codec_;  // made when the first instruction or micro-op settles the configuration
  std::map<std::string_view, std::size_t> labels_;  // to their lines
  std::vector<std::byte> scratch_;
};

}  // namespace

Result<Assembly> parse_assembly(std::string_view source, std::string_view where,
                                const std::optional<HardwareConfig>& expected) {
  Parser parser(where, expected);
  std::size_t number = 1;
  for (std::size_t begin = 0; begin <= source.size(); ++number) {
    const std::size_t end = std::min(source.find('\n', begin), source.size());
    parser.parse_line(text::scan_line(source.substr(begin, end - begin), number));
    begin = end + 1;
  }
  return std::move(parser).finish();
}

}  // namespace dovetail::isa
