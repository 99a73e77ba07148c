#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "isa/codec.h"
#include "isa/nearest.h"
#include "isa/spec/alu_ops.h"
#include "isa/spec/instructions.h"
#include "isa/spec/memories.h"
#include "isa/text.h"
#include "isa/text/config_line.h"
#include "isa/text/expand.h"
#include "isa/text/expression.h"
#include "isa/text/grammar.h"
#include "isa/text/image.h"
#include "isa/text/operands.h"
#include "isa/text/scan.h"
#include "isa/text/symbols.h"

namespace dovetail::isa {

namespace {

using text::Errors;
using text::Line;
using text::Operands;
using text::Word;

std::vector<std::string> all_mnemonics() {
  std::vector<std::string> mnemonics{"gemm", "gemmq",  "window", "finish",  ".config", ".uop",   ".data", ".space",
                                     ".org", ".align", ".equ",   ".launch", ".repeat", ".macro", ".endr", ".endm"};
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

// NOPs and erroneous lines may name an id that is not a memory.
std::uint64_t element_bytes(const HardwareConfig& config, Memory memory) {
  return spec::is_memory(memory) ? static_cast<std::uint64_t>(config.element_bytes(memory)) : 1;
}

void read_transfer(Operands& operands, const HardwareConfig& config, Transfer& transfer) {
  operands.number("sram", transfer.sram_base);
  operands.place("dram", element_bytes(config, transfer.memory), transfer.dram_base);
  operands.require(operands.numbers("size", 'x', "YxX", {&transfer.y_size, &transfer.x_size}), "size", "YxX");
  if (!operands.number("stride", transfer.x_stride)) transfer.x_stride = transfer.x_size;
  operands.numbers("pad", ',', "T,B,L,R", {&transfer.y_pad_0, &transfer.y_pad_1, &transfer.x_pad_0, &transfer.x_pad_1});
  operands.flag("offset", transfer.offset);
}

void read_loop(Operands& operands, UopLoop& loop) {
  operands.require(operands.numbers("uop", ':', "B:E", {&loop.uop_begin, &loop.uop_end}), "uop", "B:E");
  if (!operands.numbers("iter", 'x', "OUTxIN", {&loop.iter_out, &loop.iter_in})) loop.iter_out = loop.iter_in = 1;
  operands.numbers("dst", ',', "OUT,IN", {&loop.dst_factor_out, &loop.dst_factor_in});
  operands.numbers("src", ',', "OUT,IN", {&loop.src_factor_out, &loop.src_factor_in});
}

void read_products(Operands& operands, ProductLoop& loop) {
  read_loop(operands, loop);
  operands.numbers("wgt", ',', "OUT,IN", {&loop.wgt_factor_out, &loop.wgt_factor_in});
  operands.flag("overwrite", loop.overwrite);
}

Gemm read_gemm(Operands& operands) {
  Gemm gemm;
  read_products(operands, gemm);
  operands.flag("reset", gemm.reset);
  return gemm;
}

GemmQ read_gemmq(Operands& operands) {
  GemmQ gemmq;
  read_products(operands, gemmq);
  return gemmq;
}

Window read_window(Operands& operands) {
  Window window;
  read_products(operands, window);
  operands.flag("requant", window.requant);
  return window;
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

bool is_mnemonic(std::string_view word) {
  const std::vector<std::string> all = all_mnemonics();
  return std::find(all.begin(), all.end(), word) != all.end();
}

class Parser {
 public:
  Parser(std::string_view where, const std::optional<HardwareConfig>& expected, const ReadData& read_data)
      : errors_(where), expected_(expected), image_(symbols_, errors_, read_data) {
    assembly_.config = expected.value_or(HardwareConfig{});
  }

  Result<Assembly> run(std::string_view source) && {
    text::Expander expander(
        symbols_, errors_, [this](const Line& line) { parse_line(line); }, is_mnemonic);
    expander.run(source);
    settle_labels();
    image_.close();
    for (Waiting& waiting : waiting_) {
      text::scan_line(waiting.text, waiting.place, line_);
      if (auto instruction = parse_instruction(line_, false))
        assembly_.program[waiting.index] = *std::move(instruction);
    }
    if (!errors_.empty()) return errors_.take();
    finish_launches();
    assembly_.uops = std::move(image_).uops();
    assembly_.image = std::move(image_).items();
    assembly_.symbols = symbols_.take();
    return std::move(assembly_);
  }

 private:
  // An instruction that uses a name that is not defined yet.
  struct Waiting {
    std::size_t index;
    std::string text;
    text::Place place;
  };

  void parse_line(const Line& line) {
    if (line.label) parse_label(line);
    if (line.words.empty()) return;
    if (line.open_quote)
      return errors_.add(line, line.words.back().column, "a quotation mark is not closed", "close it in this line");
    const std::string_view head = line.words.front().text;
    if (head == ".config") return parse_config(line);
    if (!codec_) codec_.emplace(assembly_.config);
    if (head.front() == '.') {
      if (text::ImageBuilder::knows(head)) return image_.take(line, *codec_, labels_);
      if (head == ".equ") return parse_constant(line);
      if (head == ".launch") return parse_launch(line);
    }
    settle_labels();
    image_.close();
    auto instruction = parse_instruction(line, true);
    if (operands_.waits()) waiting_.push_back({assembly_.program.size(), std::string(line.text), line.place});
    const text::Expansion* outermost = line.place.within;
    while (outermost != nullptr && outermost->parent != nullptr) outermost = outermost->parent;
    assembly_.lines.push_back({static_cast<std::uint32_t>(line.place.line),
                               outermost == nullptr ? 0 : static_cast<std::uint32_t>(outermost->line)});
    assembly_.program.push_back(instruction ? *std::move(instruction) : Instruction{{}, Finish{}});
  }

  // The label marks the next item: an instruction, or an address in the image.
  void parse_label(const Line& line) {
    const std::string_view name = line.label->text;
    if (const Symbol* earlier = symbols_.find(name))
      return errors_.add(line, line.label->column,
                         fmt::format("the label `{}` is already in line {}", name, earlier->line),
                         "choose another name; in a macro, `\\@` is another number at each use");
    if (symbols_.is_predefined(name))
      return errors_.add(line, line.label->column, fmt::format("`{}` belongs to the configuration", name),
                         "choose another name");
    symbols_.define({std::string(name), SymbolKind::instruction, 0, 0, DType::uint8, {}, line.place.line, false});
    labels_.emplace_back(name);
  }
  void settle_labels() {
    for (const std::string& name : labels_) {
      Symbol& symbol = *symbols_.find(name);
      symbol.value = assembly_.program.size();
      symbol.is_closed = true;
    }
    labels_.clear();
  }

  void parse_config(const Line& line) {
    const std::size_t column = line.words.front().column;
    if (config_line_)
      return errors_.add(line, column, fmt::format("a second `.config`; the first is in line {}", *config_line_),
                         "keep one of the two");
    if (codec_ || symbols_.used_config())
      return errors_.add(line, column, "`.config` follows a line that depends on it",
                         "move it to the beginning of the file");
    config_line_ = line.place.line;
    if (auto config = text::parse_config_line(line, expected_, errors_)) assembly_.config = *std::move(config);
    else config_valid_ = false;
  }

  void parse_constant(const Line& line) {
    if (line.words.size() > 1) symbols_.spoil(line.words[1].text);
    if (line.words.size() != 3)
      return errors_.add(line, line.words.front().column, ".equ needs a name and a value",
                         "write .equ NAME VALUE; blanks end an expression outside of brackets");
    if (!text::is_free_name(line.words[1], line, symbols_, errors_)) return;
    text::ExpressionFault fault;
    const auto value = text::evaluate(line.words[2], symbols_, fault);
    if (!value) return text::report(std::move(fault), line, true, errors_);
    symbols_.define({std::string(line.words[1].text),
                     value->is_address ? SymbolKind::address : SymbolKind::constant,
                     static_cast<std::uint64_t>(value->number),
                     0,
                     DType::uint8,
                     {0},
                     line.place.line,
                     true});
  }

  void parse_launch(const Line& line) {
    if (line.words.size() > 1)
      return errors_.add(line, line.words[1].column, ".launch accepts no operands",
                         "a launch continues to the next .launch or the end");
    launches_.push_back(assembly_.program.size());
  }
  void finish_launches() {
    if (launches_.empty()) return;
    // The instructions before the first `.launch` form a launch, too.
    if (launches_.front() > 0) assembly_.launches.push_back({0, launches_.front()});
    for (std::size_t i = 0; i < launches_.size(); ++i) {
      const std::size_t begin = launches_[i];
      const std::size_t end = i + 1 < launches_.size() ? launches_[i + 1] : assembly_.program.size();
      assembly_.launches.push_back({begin, end - begin});
    }
  }

  // nullopt: the line has errors, or uses a name that is not defined yet.
  std::optional<Instruction> parse_instruction(const Line& line, bool may_wait) {
    const std::size_t errors_before = errors_.count();
    const Word head = line.words.front();
    const std::size_t dot = head.text.find('.');
    const std::string_view unit = head.text.substr(0, dot);
    const std::string_view what = dot == std::string_view::npos ? std::string_view{} : head.text.substr(dot + 1);
    operands_.begin(line, 1, may_wait);
    Instruction instruction;

    if (const auto memory = memory_named(what); memory && (unit == "load" || unit == "store" || unit == "nop")) {
      const bool is_store = unit == "store" || (unit == "nop" && *memory == Memory::out);
      Load load;
      Store store;
      Transfer& transfer = is_store ? static_cast<Transfer&>(store) : load;
      transfer.memory = *memory;
      if (unit != "nop") read_transfer(operands_, assembly_.config, transfer);
      if (unit == "store") operands_.flag("saturate", store.saturate);
      if (is_store) instruction.body = store;
      else instruction.body = load;
    } else if (head.text == "gemm") {
      instruction.body = read_gemm(operands_);
    } else if (head.text == "gemmq") {
      instruction.body = read_gemmq(operands_);
    } else if (head.text == "window") {
      instruction.body = read_window(operands_);
    } else if (head.text == "finish") {
      instruction.body = Finish{};
    } else if (const auto op = std::find_if(spec::kAluOps.begin(), spec::kAluOps.end(),
                                            [&](const auto& row) { return row.name == what; });
               unit == "alu" && op != spec::kAluOps.end()) {
      instruction.body = read_alu(operands_, op->op);
    } else {
      const std::vector<std::string> mnemonics = all_mnemonics();
      const std::vector<std::string_view> views(mnemonics.begin(), mnemonics.end());
      errors_.add(line, head.column, fmt::format("there is no instruction, directive or macro `{}`", head.text),
                  suggestion(head.text, views));
      return std::nullopt;
    }

    std::apply([&](const auto&... flag) { (operands_.flag(flag.spec.name, instruction.flags.*flag.member), ...); },
               spec::kFlagFields);
    operands_.finish();
    if (operands_.waits()) {  // parsed again when all names are known, including its errors
      errors_.roll_back(errors_before);
      return std::nullopt;
    }
    scratch_.clear();
    if (config_valid_) report(codec_->encode(instruction, scratch_), line);
    return instruction;
  }

  // Encoding errors, reported at the line of the instruction.
  void report(const Result<void>& encoded, const Line& line) {
    for (const Diagnostic& error : encoded.errors())
      errors_.add(line, line.words.front().column, fmt::format("{}: {}", error.where, error.why), error.hint);
  }

  Errors errors_;
  const std::optional<HardwareConfig>& expected_;
  Assembly assembly_;
  text::Symbols symbols_{assembly_.config};
  text::ImageBuilder image_;
  Operands operands_{symbols_, errors_};
  std::optional<std::size_t> config_line_;
  bool config_valid_ = true;
  std::optional<Codec> codec_;       // made at the first line that depends on the configuration
  std::vector<std::string> labels_;  // labels whose item has not been parsed yet
  std::vector<std::size_t> launches_;
  std::vector<Waiting> waiting_;
  Line line_;
  std::vector<std::byte> scratch_;
};

}  // namespace

Result<Assembly> parse_assembly(std::string_view source, std::string_view where,
                                const std::optional<HardwareConfig>& expected, const ReadData& read_data) {
  return Parser(where, expected, read_data).run(source);
}

}  // namespace dovetail::isa
