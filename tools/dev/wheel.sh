# ./dev wheel: the Python wheels (tools/wheels.py), which are made of the objects of build/release.

command_wheel() {
  local folder=$PWD/build/wheel/dist matrix=0
  while (($#)); do
    case $1 in
      --matrix) matrix=1 ;;
      -*) fail "wheel: unknown option $1" 2 ;;
      *) folder=$(realpath -m "$1") ;;
    esac
    shift
  done
  need build wheel
  configure release
  has_target release wheel_compiler || fail 'wheel: lld is missing, or an archive of LLVM, OpenSSL, zlib or zstd: ./dev deps' 2
  "$python" tools/wheels.py build "$folder" || fail 'wheel: the wheels were not built'
  ((!matrix)) || { "$python" tools/wheels.py matrix "$folder" && "$python" tools/wheels.py bare "$folder"; } || fail 'wheel: a check failed'
}
