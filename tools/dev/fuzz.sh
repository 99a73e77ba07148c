# ./dev fuzz: docs/howto/fuzzing.md.

# The targets of libFuzzer, each with its corpus: tests/fuzz/target.h.
fuzz_corpora() {
  cat <<'LIST'
arrays tests/fuzz/base/arrays.zip
assembly tests/fuzz/isa/assembly.zip
bundle tests/fuzz/bundle/bundles.zip
hardware tests/fuzz/isa/hardware.zip
import tests/fuzz/compiler/import/corpus.zip
loops tests/fuzz/loops/programs.zip
messages tests/fuzz/remote/messages.zip
program tests/fuzz/isa/programs.zip
LIST
}

command_fuzz() {
  local target=all seconds=600 name corpus known=0 failed=0
  if (($#)) && [[ ! $1 =~ ^[0-9]+$ ]]; then
    target=$1
    shift
  fi
  if (($#)); then
    seconds=$1
    [[ $seconds =~ ^[0-9]+$ ]] || fail "fuzz: $seconds is not a number of seconds" 2
  fi
  while read -r name corpus; do
    [[ $target == all || $target == "$name" ]] || continue
    known=1
    need build fuzz
    build fuzz "fuzz_$name"
    fuzz_one "$name" "$corpus" "$seconds" || failed=1
  done < <(fuzz_corpora)
  if [[ $target == all || $target == graphs ]]; then
    known=1
    need build test
    build release test_fuzz_compiler
    say 'fuzz: graphs'
    "$python" tools/fuzz_graphs.py --first "${DOVETAIL_FUZZ_FIRST:-0}" --seconds "$seconds" --keep build/fuzz/graphs build/release/bin/test_fuzz_compiler || failed=1
  fi
  ((known)) || fail "fuzz: there is no target $target; the targets are graphs $(fuzz_corpora | cut -d' ' -f1 | xargs)" 2
  ((failed == 0)) || fail 'fuzz: findings are in build/fuzz'
}

# fuzz_for SECONDS PROGRAM WORK LOG: an input that takes ten seconds or two gigabytes is a finding. One ends the process, and another looks for
# more, up to twenty. (libFuzzer's own way, -fork, spends nine tenths of the time on starting processes and merging what they found.)
fuzz_for() {
  local end=$((SECONDS + $1)) program=$2 work=$3 log=$4 findings=0 left
  while left=$((end - SECONDS)) && ((left > 0 && findings < 20)); do  # to libFuzzer 0 is not a limit
    "$program" -max_total_time="$left" -timeout=10 -rss_limit_mb=2048 -max_len=16384 -print_final_stats=1 \
      -artifact_prefix="$work/" "$work/found" >> "$log" 2>&1 || findings=$((findings + 1))
  done
}

# fuzz_one TARGET CORPUS SECONDS: the corpus is unpacked, fuzzed for a while, reduced to the smallest inputs that reach all that was reached, and
# packed again. Fails where there is a finding.
fuzz_one() {
  local program=build/fuzz/bin/fuzz_$1 corpus=$2 seconds=$3 work=build/fuzz/$1.found jobs job failed=0
  say "fuzz: $1"
  rm -rf "$work"
  mkdir -p "$work/found" "$work/corpus"
  jobs=$(( $(nproc) > 2 ? 2 : $(nproc) ))
  "$python" tools/corpus.py unpack "$corpus" "$work/found"
  "$program" --write-seeds="$work/found"
  for ((job = 0; job < ${DOVETAIL_FUZZ_JOBS:-$jobs}; ++job)); do
    fuzz_for "$seconds" "$program" "$work" "$work/job$job.log" &
  done
  wait
  sed -n 's/^stat::number_of_executed_units: *//p' "$work"/job*.log | awk -v name="$1" '{ all += $1 } END { print name ": " all + 0 " executions" }' >&2
  grep -hE '^(SUMMARY|==[0-9]+== ERROR)|^(what|written|printed|a diagnostic|an error) ' "$work"/job*.log >&2 || true
  compgen -G "$work/*-*" > /dev/null && failed=1
  "$program" -merge=1 -timeout=10 -rss_limit_mb=2048 -max_len=16384 "$work/corpus" "$work/found" 2> "$work/merge.log" || failed=1
  "$python" tools/corpus.py pack "$work/corpus" "$corpus"
  return "$failed"
}
