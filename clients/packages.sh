# Functions that install packages for tests, each once; sourced by the scripts of this folder. They install into the folder $1 of
# the script, else $WORKGRAPH_CLIENTS, else target/clients, whose path is then in `to`. Doing it again changes nothing.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
to=${1:-${WORKGRAPH_CLIENTS:-$here/target/clients}}
mkdir -p "$to"
to=$(cd "$to" && pwd)

# Installs packages from PyPI into an environment of their own: python_packages NAME PACKAGE==VERSION...
python_packages() {
  local python=$to/$1/bin/python
  shift
  [ -x "$python" ] || python3 -m venv "${python%/bin/python}"
  "$python" -c 'import importlib.metadata as m, sys; assert all(m.version(p) == v for p, v in (a.split("==") for a in sys.argv[1:]))' \
    "$@" 2>/dev/null || "$python" -m pip install --quiet --disable-pip-version-check "$@"
}

# Installs packages from npm into a folder: node_packages NAME PACKAGE@VERSION...
node_packages() {
  local folder=$to/$1 missing=() package
  shift
  mkdir -p "$folder"
  [ -f "$folder/package.json" ] || echo '{"name": "workgraph-tests", "private": true}' > "$folder/package.json"
  for package in "$@"; do
    [ "$(node -p "JSON.parse(fs.readFileSync('$folder/node_modules/${package%@*}/package.json')).version" 2>/dev/null)" = "${package##*@}" ] ||
      missing+=("$package")
  done
  [ ${#missing[@]} = 0 ] ||
    (cd "$folder" && npm install --no-fund --no-audit --ignore-scripts --loglevel=error "${missing[@]}")
}
