# ./dev gen: writes the generated files, or compares them.

# The generated files: <path> <arguments of the CLI that prints it>, or <path> <tool that prints it> with its arguments, PROGRAM
# the CLI, one a line. ./dev gen writes them; the test "tools/generated files" compares them.
generated_files() {
  cat <<'LIST'
docs/gen/isa.md isa --format markdown
docs/gen/operators.md operators --format markdown
docs/gen/passes.md operators --format passes
docs/schema/gen/hardware.json isa --format schema
hw/gen/dovetail_isa_pkg.sv isa --format sv
hw/gen/dovetail_soc_pkg.sv soc map --format sv
python/dovetail/_primitives.py tools/python_primitives.py
python/dovetail/_prototypes.py tools/python_prototypes.py
docs/reference/python.md tools/python_reference.py
docs/gen/stages.svg tools/draw_figures.py stages
docs/gen/accelerator.svg tools/draw_figures.py accelerator
docs/gen/layer.svg tools/draw_figures.py layer --dovetail PROGRAM
docs/gen/folders.svg tools/draw_figures.py folders
docs/gen/results-cpu.md tools/result_pages.py cpu
docs/gen/results-models.md tools/result_pages.py models
docs/gen/results-gpu.md tools/result_pages.py gpu
docs/gen/results-extensions.md tools/result_pages.py extensions
docs/gen/results-peers.md tools/result_pages.py peers
docs/gen/results-real.md tools/result_pages.py real
docs/gen/results-boards.md tools/result_pages.py boards
docs/gen/results-clocks.md tools/clock_page.py
LIST
}

# generate CLI ROOT: writes all of them below ROOT.
generate() {
  local cli=$1 root=$2 path arguments
  while read -r path arguments; do
    mkdir -p "$root/$(dirname "$path")"
    # shellcheck disable=SC2086  # the arguments are words
    if [[ $arguments == tools/* ]]; then
      "$python" ${arguments/PROGRAM/$cli} >"$root/$path" || fail "gen: $arguments failed"
    else
      "$cli" $arguments >"$root/$path" || fail "gen: dovetail $arguments failed"
    fi
  done < <(generated_files)
}

# --check CLI builds nothing and leaves with 77, "skipped", where there is no CLI.
command_gen() {
  if [[ ${1:-} == --list ]]; then
    generated_files
    return
  fi
  if [[ ${1:-} != --check ]]; then
    need build
    build release dovetail
    generate "$PWD/build/release/bin/dovetail" .
    return
  fi
  local cli=${2:-build/release/bin/dovetail} fresh path rest stale=0
  if [[ ! -x $cli ]]; then
    say "gen: skipped, there is no $cli"
    exit 77
  fi
  fresh=$(mktemp -d)
  # shellcheck disable=SC2064  # the value of now
  trap "rm -rf '$fresh'" EXIT
  generate "$cli" "$fresh"
  while read -r path rest; do
    diff -u --label "$path" --label "$path (generated now)" "$([[ -e $path ]] && printf '%s' "$path" || printf /dev/null)" \
      "$fresh/$path" || stale=1
  done < <(generated_files)
  ((stale == 0)) || fail 'gen: generated files are out of date; run ./dev gen'
}
