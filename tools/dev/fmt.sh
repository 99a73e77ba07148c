# ./dev fmt: formats all C++ of the tree.

# The release whose decisions count (Debian 12's); others break lines differently, so they only report.
clang_format_release=14

# clang_format: the program of that release, or the one there is; nothing where there is none.
clang_format() {
  local name
  for name in "clang-format-$clang_format_release" clang-format; do
    command -v "$name" && return
  done
  return 0
}

command_fmt() {
  local check=0 program release unformatted
  while (($#)); do
    case $1 in
      --check) check=1 ;;
      *) fail "fmt: unknown argument $1" 2 ;;
    esac
    shift
  done
  ((check)) || need fmt
  program=$(clang_format)
  if [[ -z $program ]]; then
    say 'fmt: skipped, there is no clang-format'
    exit 77
  fi
  release=$("$program" --version | sed -E 's/.*version ([0-9]+).*/\1/')
  if ((!check)) && [[ $release != "$clang_format_release" ]]; then
    fail "fmt: clang-format $release would format otherwise than $clang_format_release, by which the tree is formatted" 2
  fi
  if ((!check)); then
    formatted_files | xargs -0 -P "$(nproc)" -n 40 "$program" -i
    return
  fi
  unformatted=$(formatted_files | xargs -0 -P "$(nproc)" -n 40 "$program" --dry-run 2>&1 | sed -En 's/^([^ :]+):([0-9]+):.*/\1:\2/p' | sort -u -t: -k1,1)
  [[ -n $unformatted ]] || return 0
  printf 'not as ./dev fmt leaves it: %s\n' $unformatted
  if [[ $release != "$clang_format_release" ]]; then
    say "fmt: skipped, only clang-format $clang_format_release decides, and this is $release"
    exit 77
  fi
  return 1
}

# All C++ of the tree but what is generated, each name followed by a null byte.
formatted_files() { git ls-files -z --cached --others --exclude-standard -- '*.h' '*.cpp' ':!*/gen/*'; }
