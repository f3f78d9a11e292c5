package node

import (
	"context"

	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// renameLib sets the name of the machine and the file that it has it from at boot; a file that was not there goes
// again.
const renameLib = `
rename() { # NAME FILE-NAME: "" takes the file away
  if [ -n "$1" ]; then echo "$1" >/proc/sys/kernel/hostname; fi
  if [ -z "$2" ]; then rm -f /etc/hostname; return 0; fi
  printf '%s\n' "$2" >/etc/hostname.eggo-new
  chmod 644 /etc/hostname.eggo-new
  mv -f /etc/hostname.eggo-new /etc/hostname 2>/dev/null || { cat /etc/hostname.eggo-new >/etc/hostname; rm -f /etc/hostname.eggo-new; }
}
`

// Rename gives the machine another host name; what it was called, and what its file said, is recorded.
func (n *Node) Rename(ctx context.Context, desc event.Msg, name string) error {
	q := shell.Quote(name)
	_, err := n.Change(ctx, Change{Desc: desc, Script: renameLib +
		"was=$(cat /proc/sys/kernel/hostname)\nfile=$(head -n 1 /etc/hostname 2>/dev/null || :)\n" +
		"[ ! -s $R ] || ! awk -F'\\t' '$1==\"hostname\" {f=1} END {exit !f}' $R || was=''\n" +
		"[ -z \"$was\" ] || rec hostname \"$file\" \"$was\"\nrename " + q + " " + q + "\n"})
	return err
}
