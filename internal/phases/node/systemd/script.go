package systemd

import "strings"

// StatusScript prints of each unit a line unit=NAME STATE, and of each that runs a line runs=NAME FILE with the file
// that its process executes. The names are without their ending.
func StatusScript(units ...string) string {
	return strings.ReplaceAll(`systemctl show --property=ActiveState,MainPID @UNITS@ 2>/dev/null | awk -v u='@UNITS@' '
  BEGIN {c=split(u,name," "); i=1}
  /^$/ {i++}
  /^ActiveState=/ {state[i]=substr($0,13)}
  /^MainPID=/ {pid[i]=substr($0,9)}
  END {for (i=1;i<=c;i++) print name[i], state[i]=="" ? "unknown" : state[i], pid[i]+0}' | while read -r u state pid; do
  printf 'unit=%s %s\n' "${u%.service}" "$state"
  [ "$pid" = 0 ] || printf 'runs=%s %s\n' "${u%.service}" "$(readlink /proc/"$pid"/exe 2>/dev/null || true)"
done
`, "@UNITS@", strings.Join(units, " "))
}
