package node

import (
	"context"
	_ "embed"
	"strings"

	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Account is one that a service of ours runs as, which is made when it is missing.
type Account struct {
	Name string
	Dir  string // one of root's, through which it has to pass to its files
}

// oursAlone is what stands in the record of an account that we made ourselves, and not a package.
const oursAlone = "eggo"

//go:embed account.sh
var accountLib string

// ensureAccount makes the account if it is missing, and lets it pass through its directory.
func (n *Node) ensureAccount(ctx context.Context, a *Account) error {
	if a == nil {
		return nil
	}
	out, err := n.Query(ctx, "if grep -q "+shell.Quote("^"+a.Name+":")+" /etc/passwd; then case $(stat -c %a "+
		shell.Quote(a.Dir)+" 2>/dev/null || true) in *[1357]) echo there ;; esac; fi")
	if err != nil || strings.TrimSpace(out) == "there" {
		return err
	}
	_, err = n.Change(ctx, Change{Desc: event.M("change.account", "account", a.Name),
		Script: accountLib + "account " + shell.Quote(a.Name) + " " + shell.Quote(a.Dir) + "\n"})
	return err
}

// undoAccount removes a user or group that we made; it may run twice.
func undoAccount(r Record) string {
	if r.Was != oursAlone {
		return "" // a package's goes with the package
	}
	k := shell.Quote(r.Key)
	file, tool := "/etc/passwd", "userdel"
	if r.Kind == "group" {
		file, tool = "/etc/group", "groupdel"
	}
	return "! grep -q " + shell.Quote("^"+r.Key+":") + " " + file + " || " + tool + " " + k +
		" >/dev/null 2>&1 || keep " + shell.Quote(r.Kind+" "+r.Key) + "\n"
}
