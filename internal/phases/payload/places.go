package payload

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/nodepath"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/shell"
)

// CheckLinks is CheckTargets for the links that a service's start may switch: since they were made somebody may have
// changed the directories that they are in.
func (r *Payload) CheckLinks(ctx context.Context, n config.Node, nd *node.Node, svc node.Service) error {
	b := r.BundleOf(n)
	if len(svc.Binaries) == 0 || b == nil {
		return nil
	}
	return r.CheckTargets(ctx, nd, slices.DeleteFunc(r.Members(n, b.Manifest()), func(p Placed) bool {
		return !slices.ContainsFunc(svc.Binaries, func(b node.Binary) bool { return p.Executed && b.Link == p.File })
	}))
}

// PlaceFault says why a file may not be put where it is to go, nil when it may.
func PlaceFault(p Placed) *event.Fault {
	err := nodepath.Check(p.Use, p.File)
	if err == nil {
		return nil
	}
	return event.NewFault(event.ClassBundle, "place."+nodepath.Why(err), nil, "path", event.Clean(p.File), "member",
		event.Clean(p.Path),
		"choices", strings.Join(nodepath.Dirs(p.Use), ", "))
}

// placesLib looks at directories and units of a node. A link on the way is none of ours, unless the node's record says
// that an earlier version went through it: what we place as links are files. Below a directory that everybody may write
// to, as /tmp is, others could have made what is there, and could change what we put in it.
const placesLib = ClosedLib + `
# went DIR REAL: files of ours in a directory were placed through links to where it really is
went() {
  awk -F'\t' -v d="$1/" -v r="$2" '$1=="via" && $3==r && index($2,d)==1 && !index(substr($2,length(d)+1),"/") {f=1} END {exit !f}' \
    /var/lib/eggo-node/record 2>/dev/null
}
fine=' '
# above DIR: it and those above it are closed, those too that hold a link on the way; else it says which one is not
above() {
  d=$1
  while [ "$d" != / ]; do
    case $fine in *" $d "*) break ;; esac # and so are those above
    if [ -e "$d" ] && [ ! -L "$d" ] && ! closed "$d"; then printf 'open %s\n' "$d"; return 1; fi
    d=${d%/*}
    d=${d:-/}
  done
  fine="$fine$1 "
}
place() { # DIR
  real=$(realpath -m "$1")
  if [ "$real" != "$1" ]; then
    went "$1" "$real" || { printf 'link %s\n' "$real"; return; }
    above "$1" || return 0
  fi
  above "$real" || return 0
  echo fine
}
shadowed() { # DIR NAME: another unit of that name
  for d in /etc/systemd/system /run/systemd/system /usr/local/lib/systemd/system /usr/lib/systemd/system /lib/systemd/system; do
    if [ "$(realpath -m "$d")" != "$(realpath -m "$1")" ] && { [ -e "$d/$2" ] || [ -L "$d/$2" ]; }; then printf 'unit %s\n' "$d/$2"; return; fi
  done
  echo fine
}
`

// CheckTargets refuses, right before anything is written, what may not be placed: a path that is not on the list, a
// directory that a link leads elsewhere or that somebody else may change, a unit that would hide another one. The
// faults are those of placeFault, node.outside-whitelist (a link), node.place-open and node.place-unit.
func (r *Payload) CheckTargets(ctx context.Context, nd *node.Node, list []Placed) error {
	for _, p := range list {
		if fault := PlaceFault(p); fault != nil {
			return fault.On(nd.Name())
		}
	}
	faults, err := r.TargetFaults(ctx, nd, list)
	if err == nil && len(faults) > 0 {
		err = faults[0]
	}
	return err
}

// ClosedLib decides who may change what is in a directory.
const ClosedLib = `
# in_group GID: who besides root is in a group
in_group() {
  { getent group "$1" 2>/dev/null || awk -F: -v g="$1" '$3==g' /etc/group; } |
    awk -F: '{n=split($4,m,","); for (i=1;i<=n;i++) if (m[i]!="" && m[i]!="root") print m[i]}'
  { getent passwd 2>/dev/null || cat /etc/passwd; } | awk -F: -v g="$1" '$4==g && $3!=0 {print $1}'
}
# closed DIR: nobody but root can change what is in it. In a sticky one others cannot rename what is root's. A group may
# write to it when nobody is in the group, as in Debian's /usr/local (root:staff).
closed() {
  [ -d "$1" ] || return 1
  set -- "$1" $(stat -c '%u 0%a %g' "$1")
  [ "$2" = 0 ] || [ -O "$1" ] || return 1
  [ $(($3 & 022)) -ne 0 ] && [ $(($3 & 01000)) -eq 0 ] || return 0
  case $(ls -ld "$1") in ??????????+*) return 1 ;; esac # of an ACL the mask stands where the group's rights do
  [ $(($3 & 02)) -eq 0 ] && [ -z "$(in_group "$4")" ]
}
`

// TargetFaults asks the node about the directories of a list, each once, and about its units.
func (r *Payload) TargetFaults(ctx context.Context, nd *node.Node, list []Placed) ([]*event.Fault, error) {
	var script strings.Builder
	var asked []string
	ask := func(what, line string) {
		if !slices.Contains(asked, what) {
			asked = append(asked, what)
			script.WriteString(line + "\n")
		}
	}
	for _, p := range list {
		dir := path.Dir(p.File)
		ask(dir, "place "+shell.Quote(dir))
		if nodepath.InUnits(p.File) {
			ask(p.File, fmt.Sprintf("shadowed %s %s", shell.Quote(dir), shell.Quote(path.Base(p.File))))
		}
	}
	if len(asked) == 0 {
		return nil, nil
	}
	out, err := nd.Query(ctx, placesLib+script.String())
	if err != nil {
		return nil, err
	}
	answers := strings.Split(strings.TrimSpace(out), "\n")
	var faults []*event.Fault
	for i, what := range asked {
		answer := "nothing"
		if i < len(answers) {
			answer = answers[i]
		}
		kind, is, _ := strings.Cut(answer, " ")
		if kind == "fine" && is == "" {
			continue
		}
		code := map[string]string{"link": "node.outside-whitelist", "unit": "node.place-unit"}[kind]
		f := event.NewFault(event.ClassFailed, cmp.Or(code, "node.place-open"), nil, "path", what, "is",
			event.Clean(is))
		faults = append(faults, f.On(nd.Name()))
	}
	return faults, nil
}

// PluginPlace stands for the plugins that a package or the network's pods may put beside ours.
func (r *Payload) PluginPlace() Placed {
	return Placed{File: path.Join(r.CNIDir(), "plugin"), Use: nodepath.Program}
}
