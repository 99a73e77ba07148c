# ./dev bench: runs the benchmarks, or compares them with those of another commit (docs/results/benchmarks.md).

command_bench() {
  local filter=. against='' there='' program name status failed=0
  local -a options=()
  while (($#)); do
    case $1 in
      --against | --against-build | --rounds | --least) (($# > 1)) || fail "bench: $1 needs a value" 2 ;;&
      --against) against=$2; shift ;;
      --against-build) there=$2; shift ;;
      --rounds | --least) options+=("$1" "$2"); shift ;;
      -*) fail "bench: unknown option $1" 2 ;;
      *) filter=$1 ;;
    esac
    shift
  done
  need build bench
  build release dovetail_bench
  mkdir -p build/bench
  if [[ -n $against$there ]]; then
    [[ -n $there ]] || { build_against "$against"; there=$against_programs; }
    "$python" tools/compare_benches.py --out build/bench/against.json --filter "$filter" "${options[@]+"${options[@]}"}" build/release/bin "$there"
    return
  fi
  for program in build/release/bin/bench_*; do
    name=${program##*/bench_}
    [[ -x $program && $name =~ $filter ]] || continue
    say "bench: $name"
    status=0
    "$program" >"build/bench/$name.json.part" || status=$?
    if ((status == 0)); then
      mv "build/bench/$name.json.part" "build/bench/$name.json"
    elif ((status == 2)) && [[ $filter == . ]]; then
      say "bench: $name did not run: what it needs is not here"
    else
      say "bench: $name failed"
      failed=1
    fi
  done
  say 'bench: results are in build/bench'
  return "$failed"
}

# build_against COMMIT: the benchmarks of another commit, in its own clone that is kept; sets against_programs. How sources are compiled
# together decides what the compiler can inline, so both builds do it alike.
build_against() {
  local hash tree option
  local -a alike=()
  hash=$(git rev-parse --short=12 --verify --quiet "$1^{commit}") || fail "bench: there is no commit $1" 2
  tree=$PWD/build/against/$hash
  if [[ ! -d $tree/.git ]]; then
    git clone --quiet --no-checkout . "$tree"
    git -C "$tree" checkout --quiet --detach "$hash"
  fi
  for option in DOVETAIL_PCH DOVETAIL_UNITY; do
    alike+=("-D$option=$(sed -n "s/^$option:BOOL=//p" build/release/CMakeCache.txt)")
  done
  say "bench: building $hash in build/against"
  (cd "$tree" && cmake --preset release -DDOVETAIL_BUILD_TESTS=OFF "${alike[@]}" > configure.log 2>&1) || fail "configuring $hash failed: $tree/configure.log"
  cmake --build "$tree/build/release" --target dovetail_bench || fail "building $hash failed"
  against_programs=$tree/build/release/bin
}
