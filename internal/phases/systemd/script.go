package systemd

import "strings"

// StatusScript prints of each unit a line unit=NAME STATE, and of each that runs a line runs=NAME FILE with the file
// that its process executes. The names are without their ending.
func StatusScript(units ...string) string {
	return strings.ReplaceAll(`for u in @UNITS@; do
  printf 'unit=%s %s\n' "${u%.service}" "$(systemctl is-active "$u" 2>/dev/null || true)"
  pid=$(systemctl show -p MainPID --value "$u" 2>/dev/null || true)
  case $pid in ''|0|*[!0-9]*) continue ;; esac
  printf 'runs=%s %s\n' "${u%.service}" "$(readlink /proc/"$pid"/exe 2>/dev/null || true)"
done
`, "@UNITS@", strings.Join(units, " "))
}
