# ./dev deps, and need(), by which every other command makes its packages present (packages.txt).

assume_yes=0
no_install=${DOVETAIL_NO_INSTALL:-0}

# The column of packages.txt for this system; empty where it is neither Debian nor Ubuntu, nor made from them.
package_column() {
  local id='' id_like=''
  if [[ -r /etc/os-release ]]; then
    id=$(. /etc/os-release && printf '%s' "${ID:-}")
    id_like=$(. /etc/os-release && printf '%s' "${ID_LIKE:-}")
  fi
  case " $id $id_like " in
    *' ubuntu '*) printf 3 ;;
    *' debian '*) printf 2 ;;
  esac
}

# packages_of COLUMN GROUP...: the names, one a line.
packages_of() {
  local column=$1 group debian ubuntu purpose wanted
  shift
  while read -r group debian ubuntu purpose; do
    for wanted in "$@"; do
      [[ $group == "$wanted" ]] || continue
      if [[ $column == 2 ]]; then printf '%s\n' "$debian"; else printf '%s\n' "$ubuntu"; fi
    done
  done < <(grep -Ev '^[[:space:]]*(#|$)' packages.txt) | grep -vx -e - || true
}

# missing_of PACKAGE...: those not installed.
missing_of() {
  local installed
  installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null | sed -n 's/^installed //p' || true)
  printf '%s\n' "$@" | grep -vxF -f <(printf '%s\n' "$installed") || true
}

# What apt would fetch and occupy, without doing it and without being root. (--print-uris: -s prints no sizes, and --assume-no installs
# where apt sees nothing to ask.)
apt_sizes() {
  LC_ALL=C apt-get --print-uris -o Debug::NoLocking=1 install --no-install-recommends "$@" </dev/null 2>/dev/null |
    grep -E '^(Need to get|After this operation|[0-9]+ upgraded)' || true
}

# need GROUP...: makes the packages of the groups present. Only `build` is indispensable.
need() {
  local column missing required
  column=$(package_column)
  if [[ -z $column ]]; then
    [[ $no_install == 1 ]] && return
    say 'dev: this is neither Debian nor Ubuntu. Either build the container (podman build -f Containerfile .), or install what'
    say '     packages.txt lists by hand and set DOVETAIL_NO_INSTALL=1.'
    exit 2
  fi
  local -a wanted
  mapfile -t wanted < <(packages_of "$column" "$@")
  missing=$(missing_of "${wanted[@]}")
  [[ -z $missing ]] && return
  local -a names
  mapfile -t names <<<"$missing"
  required=$(packages_of "$column" build | grep -xF -f <(printf '%s\n' "$missing") || true)

  local -a become=()
  ((EUID == 0)) || become=(sudo)
  local line="${become[*]:+${become[*]} }apt-get install --no-install-recommends ${names[*]}"
  say "dev: packages missing: ${names[*]}"
  if [[ $no_install == 1 ]]; then
    say "     install them with: $line"
    [[ -z $required ]] || fail "cannot continue without: ${required//$'\n'/ }" 2
    return
  fi
  if ((EUID != 0)) && ! command -v sudo >/dev/null; then
    fail "neither root nor sudo; have an administrator run: $line" 2
  fi
  if ! apt-get -s -o Debug::NoLocking=1 install --no-install-recommends "${names[@]}" </dev/null >/dev/null 2>&1; then
    say 'dev: fetching the package lists'
    "${become[@]}" apt-get -qq update || fail 'apt-get update failed; is there a network?' 2
  fi
  apt_sizes "${names[@]}" | sed 's/^/     /' >&2
  if ((!assume_yes)) && [[ -t 0 && -t 2 ]]; then
    local answer
    read -r -p 'Install them now? [Y/n] ' answer
    [[ -z $answer || $answer == [yY]* ]] || fail "not installed; by hand: $line" 2
  fi
  "${become[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -y install --no-install-recommends "${names[@]}" >/dev/null ||
    fail "the installation failed; by hand: $line" 2
}

# NVIDIA's run-time compiler, from its wheel, to where the kit looks for it (compiler/target/cuda/nvrtc.cpp).
fetch_nvrtc() {
  local folder="${XDG_CACHE_HOME:-$HOME/.cache}/dovetail/cuda" temporary
  command -v pip3 >/dev/null || fail 'pip3 is missing; by hand: take libnvrtc*.so* out of the wheel nvidia-cuda-nvrtc, or install a CUDA toolkit' 2
  temporary=$(mktemp -d)
  # shellcheck disable=SC2064  # the folder of now
  trap "rm -rf '$temporary'" EXIT
  pip3 download -q --disable-pip-version-check --no-deps -d "$temporary" 'nvidia-cuda-nvrtc>=13,<14' ||
    fail 'PyPI does not give nvidia-cuda-nvrtc; is there a network?' 2
  (cd "$temporary" && "$python" -m zipfile -e ./*.whl wheel)
  (umask 077 && mkdir -p "$folder/lib")
  find "$temporary/wheel" -name 'libnvrtc*.so*' -exec install -m 644 -t "$folder/lib" {} +
  [[ -n $(find "$folder/lib" -name 'libnvrtc.so*') ]] || fail 'the wheel holds no libnvrtc' 2
  say "dev: NVRTC is in $folder/lib"
}

command_deps() {
  if [[ ${1:-} == --cuda ]]; then fetch_nvrtc; else need build test rtl fmt; fi
}
