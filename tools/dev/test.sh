# ./dev test: builds and runs the tests (docs/explanation/architecture.md, «Tests»).

# test --require nvrtc, test --cuda: what takes a compiler or a device that not every machine has.
test_gpu() {
  local how=$1
  shift
  need build
  build release dovetail $([[ $how == compile ]] || echo test_property_compiler bench_cuda)
  "$python" tools/gpu_tests.py "$how" --jobs "$(nproc)" "$@"
}

# The names in tests/long.txt as a regular expression of CTest: the tests that the sample goes without.
long_tests() { sed -nE '/^(#|$)/!{ s/[].^$*+?()|\\[]/\\&/g; p }' tests/long.txt | paste -sd'|' | sed 's/.*/^(&)$/'; }

# run_tests PRESET REPORT [OPTIONS OF CTEST...]: runs tests and sums them up; build/PRESET/REPORT.xml keeps the results.
run_tests() {
  local preset=$1 junit=$PWD/build/$1/$2.xml how=--quiet failed=0
  shift 2
  rm -f "$junit"
  # On a terminal the progress in one line; the summary reports what failed, with its output.
  [[ -t 1 ]] && how=--progress
  ctest --test-dir "build/$preset" -j "$(nproc)" --no-tests=error "$how" "$@" --output-junit "$junit" || failed=1
  [[ -f $junit ]] || fail 'CTest did not run'
  "$python" tools/summarize_tests.py "$junit" || failed=1
  return "$failed"
}

# Work that takes a share of every core from what runs meanwhile.
busy=()
keep_busy() {
  local core
  trap end_busy EXIT
  for ((core = 0; core < $(nproc); ++core)); do
    (while :; do :; done) &
    busy+=("$!")
    disown  # no word of its end
  done
}
end_busy() {
  ((${#busy[@]} == 0)) || kill "${busy[@]}" 2>/dev/null || true
  busy=()
}

# test --tsan: the C interface, called from several threads under ThreadSanitizer.
test_threads() {
  need build test
  build tsan dovetail test_c_runtime test_c_threads
  run_tests tsan tests -R '^c/(runtime|threads)$'
}

command_test() {
  case ${1:-} in
    --require)
      [[ ${2:-} == nvrtc ]] || fail "test: --require knows nvrtc, not '${2:-}'" 2
      shift 2
      test_gpu compile "$@"
      return
      ;;
    --cuda)
      shift
      test_gpu run "$@"
      return
      ;;
  esac
  local preset=release filter='' all=0 failed=0
  while (($#)); do
    case $1 in
      --asan) preset=asan ;;
      --tsan) test_threads; return ;;
      --all) all=1 ;;
      -*) fail "test: unknown option $1" 2 ;;
      *) filter=$1 ;;
    esac
    shift
  done
  need build test rtl fmt
  [[ ${DOVETAIL_NO_INSTALL:-} == 1 ]] || make_python_tools || say 'dev: tests that need them are skipped'
  use_python_tools
  # The benchmarks are not tests, but they must build.
  local -a targets=(all) options=()
  ((!all)) || targets+=(dovetail_bench)
  build "$preset" "${targets[@]}"
  say "dev: building took $SECONDS s"
  unset DOVETAIL_TESTS
  if [[ -n $filter ]]; then
    options=(-R "$filter")
  elif ((!all)); then
    options=(-E "$(long_tests)")
    export DOVETAIL_TESTS=sample
  fi
  if ((!all)); then
    run_tests "$preset" tests "${options[@]}"
    return
  fi
  # What the tests of lower classes are a sample of follows in full.
  options+=(-LE '^classes$')
  run_tests "$preset" tests "${options[@]}" || failed=1
  local classes class
  classes=$("$python" tools/lower_classes.py "build/$preset/bin/dovetail") || fail '`dovetail doctor` failed'
  for class in $classes; do
    say "dev: the tests as on a machine of class $class"
    DOVETAIL_PROCESSOR=$class run_tests "$preset" "tests-$class" "${options[@]}" || failed=1
  done
  say 'dev: the tests while other work keeps all cores busy'
  keep_busy
  run_tests "$preset" tests-busy "${options[@]}" || failed=1
  end_busy
  return "$failed"
}
