# The variables of the environment that programs heed, and whose values may be passwords: heeded PID UNIT prints "var VARIABLE" of each that
# UNIT would not have without its own file: systemd gives it to no service, and no drop-in that stays sets it.
manager=$(systemctl show-environment 2>/dev/null || true)
# joined FILE: its lines, with those that go on in the next one
joined() { sed -e :a -e '/\\$/{N' -e 's/\\\n/ /' -e ta -e '}' "$1"; }
said() {
  if printf '%s\n' "$manager" | grep -q "^$1="; then return 0; fi
  for f in $(systemctl show -p DropInPaths --value "$2.service" 2>/dev/null || true); do
    # one that starts the program in a way of its own is covered or refused
    if [ ! -f "$f" ] || grep -q '^ *ExecStart *=' "$f"; then continue; fi
    if joined "$f" | grep -qE "^[[:space:]]*Environment[[:space:]]*=(.*[[:space:]\"'])?$1="; then return 0; fi
    for e in $(sed -n 's/^[[:space:]]*EnvironmentFile[[:space:]]*=[[:space:]]*-*//p' "$f"); do
      if grep -qsE "^[[:space:]]*$1=" "$e"; then return 0; fi
    done
  done
  return 1
}
heeded() {
  tr '\n\0' ' \n' 2>/dev/null <"/proc/$1/environ" |
    grep -E '^((HTTPS?|NO|ALL)_PROXY|(https?|no|all)_proxy|GO[A-Z0-9]+|SSL_CERT_(FILE|DIR)|TZ|KUBE_FEATURE_[A-Za-z0-9]+)=' |
    cut -d= -f1 | sort -u | while IFS= read -r v; do said "$v" "$2" || printf 'var %s\n' "$v"; done || true
}
