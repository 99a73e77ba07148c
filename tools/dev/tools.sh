# ./dev tools: the tools for the hardware that come from PyPI (tools/python_tools.txt), in build/python-tools.

python_tools=$PWD/build/python-tools

# Makes the environment where it is missing or older than its list; status 1 says why it cannot.
make_python_tools() {
  cmp -s tools/python_tools.txt "$python_tools/installed.txt" && return
  say "dev: fetching the tools of tools/python_tools.txt from PyPI into build/python-tools"
  rm -rf "$python_tools"
  mkdir -p build
  "$python" -m venv "$python_tools" > build/python-tools.log 2>&1 ||
    { say "dev: $python cannot make a virtual environment; apt-get install python3-venv"; return 1; }
  "$python_tools/bin/pip" install -q --disable-pip-version-check -r tools/python_tools.txt >> build/python-tools.log 2>&1 ||
    { say 'dev: PyPI does not give the tools; is there a network? The output is in build/python-tools.log'; return 1; }
  cp tools/python_tools.txt "$python_tools/installed.txt"
}

# Lets tests find what is there. Last on the PATH: what the machine itself has comes first.
use_python_tools() {
  [[ -x $python_tools/bin/python ]] || return 0
  export PATH=$PATH:$python_tools/bin
  export DOVETAIL_PYTHON_TOOLS=$python_tools/bin/python
  local picorv32
  for picorv32 in "$python_tools"/lib/python3*/site-packages/pythondata_cpu_picorv32/verilog/picorv32.v; do
    [[ ! -f $picorv32 ]] || export DOVETAIL_PICORV32=${DOVETAIL_PICORV32:-$picorv32}
  done
}

command_tools() {
  (($# == 0)) || fail "tools: unknown argument $1" 2
  need rtl
  make_python_tools || exit 2
  use_python_tools
  say "dev: the tools are in build/python-tools/bin; to let \`dovetail\` find them:"
  say "  export PATH=\$PATH:$python_tools/bin DOVETAIL_PICORV32=${DOVETAIL_PICORV32:-}"
}
