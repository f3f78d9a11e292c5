package phases

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
)

// Whatever names a place on a node, a bundle or deploy.yaml, the place is held against one list (internal/nodepath)
// when it is loaded, again here, where both have been put together, and then on the node, where links may lead
// elsewhere.

// judgePlaces finds files that a machine would get at places where none may come from outside.
func (r *run) judgePlaces(n config.Node, f *Facts) []event.Finding {
	b := r.bundleFor(n, f)
	if b == nil {
		return nil // told already
	}
	var out []event.Finding
	for _, p := range r.members(n, b.Manifest()) {
		if fault := placeFault(p); fault != nil {
			fault.Node = n.Name
			out = append(out, event.Finding{Host: n.Name, Severity: event.Error, Fault: *fault})
		}
	}
	return out
}

// placeFault says why a file may not be put where it is to go, nil when it may.
func placeFault(p placed) *event.Fault {
	err := nodepath.Check(p.Use, p.File)
	if err == nil {
		return nil
	}
	return event.NewFault(event.ClassBundle, "place."+nodepath.Why(err), nil, "path", event.Clean(p.File), "member", event.Clean(p.Path),
		"choices", strings.Join(nodepath.Dirs(p.Use), ", "))
}

// placesLib looks at directories and units of a node. A link on the way is none of ours: what we place as links are
// files. Below a directory that everybody may write to, as /tmp is, others could have made what is there, and could
// change what we put in it.
const placesLib = `
place() { # DIR
  r=$(realpath -m "$1")
  if [ "$r" != "$1" ]; then printf 'link %s\n' "$r"; return; fi
  d=$1
  while [ "$d" != / ]; do
    if [ -e "$d" ]; then
      case $(stat -c %u "$d") in 0) ;; *) [ -O "$d" ] || { printf 'open %s\n' "$d"; return; } ;; esac
      [ -z "$(find "$d" -maxdepth 0 '(' ! -type d -o -perm /022 ! -perm -1000 ')')" ] || { printf 'open %s\n' "$d"; return; }
    fi
    d=$(dirname "$d")
  done
  echo fine
}
shadowed() { # DIR NAME: another unit of that name
  for d in /etc/systemd/system /run/systemd/system /usr/local/lib/systemd/system /usr/lib/systemd/system /lib/systemd/system; do
    if [ "$(realpath -m "$d")" != "$(realpath -m "$1")" ] && { [ -e "$d/$2" ] || [ -L "$d/$2" ]; }; then printf 'unit %s\n' "$d/$2"; return; fi
  done
  echo fine
}
`

// checkTargets refuses, right before anything is written, what may not be placed: a path that is not on the list, a
// directory that a link leads elsewhere or that somebody else may change, a unit that would hide another one. The
// faults are those of placeFault, node.outside-whitelist (a link), node.place-open and node.place-unit.
func (r *run) checkTargets(ctx context.Context, nd *node.Node, list []placed) error {
	var script strings.Builder
	var asked []string
	ask := func(what, line string) {
		if !slices.Contains(asked, what) {
			asked = append(asked, what)
			script.WriteString(line + "\n")
		}
	}
	for _, p := range list {
		if fault := placeFault(p); fault != nil {
			return fault.On(nd.Name())
		}
		dir := path.Dir(p.File)
		ask(dir, "place "+node.Quote(dir))
		if nodepath.InUnits(p.File) {
			ask(p.File, fmt.Sprintf("shadowed %s %s", node.Quote(dir), node.Quote(path.Base(p.File))))
		}
	}
	if len(asked) == 0 {
		return nil
	}
	out, err := nd.Query(ctx, placesLib+script.String())
	if err != nil {
		return err
	}
	answers := strings.Split(strings.TrimSpace(out), "\n")
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
		return event.NewFault(event.ClassFailed, cmp.Or(code, "node.place-open"), nil, "path", what, "is", event.Clean(is)).On(nd.Name())
	}
	return nil
}
