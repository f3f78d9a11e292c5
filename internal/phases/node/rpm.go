package node

import (
	_ "embed"
	"strings"

	"github.com/eggo-k8s/eggo/internal/remote/shell"
)

// RPM is the shell prelude, after that of every change, of changes by rpm and dnf.
//
//go:embed rpm.sh
var RPM string

// undoRPMs is undoPackages for the rpm family.
func undoRPMs(names []string) string {
	all := shell.QuoteAll(names)
	return RPM + Accounts + strings.ReplaceAll(`fixrpm
rpmlock
hold=" $(held rpm -q --qf '%{NAME}.%{ARCH}\n' -f | tr '\n' ' ') " gone=
for p in $(rpmhas @); do case $hold in *" $p "*) keep "package $p (firewalld uses it)" ;; *) gone="$gone $p" ;; esac; done
rpmgone $gone
[ -n "$(rpmhas @)" ] || expel
`, "@", all)
}
