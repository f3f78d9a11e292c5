package preflight

import (
	"context"
	"fmt"
	"strings"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/facts"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// checkFiles finds files of somebody else where ours will be.
func checkFiles() Check {
	return Check{
		Name: "files", Codes: []string{"preflight.foreign-files"}, Needs: Served,
		Ask: func(ctx context.Context, in *Input, n config.Node, f *facts.Facts) []event.Finding {
			if in.othersNode(f) {
				return nil // told already
			}
			var paths []string
			if !in.Imported(n.Name) { // what is there is kept when ours takes its place
				paths = append(paths, in.Owns(n)...)
				for _, m := range in.Members(n, in.BundleFor(n, f).Manifest()) {
					paths = append(paths, m.File)
					if m.Executed {
						paths = append(paths, m.Binary().File)
					}
				}
			}
			if paths = append(paths, in.Runtimes(n)...); len(paths) == 0 {
				return nil
			}
			out, err := in.Nodes.Node(n.Name).Query(ctx, fmt.Sprintf(`for p in %s; do
  if [ -e "$p" ] || [ -L "$p" ]; then
    awk -F'\t' -v p="$p" '$1=="file" && $2==p {f=1} END {exit !f}' %s/record 2>/dev/null || printf '%%s\n' "$p"
  fi
done
`, shell.QuoteAll(paths), node.Dir))
			if err != nil {
				return as(n.Name, err)
			}
			files := strings.Fields(event.Clean(strings.ReplaceAll(out, "\n", " ")))
			if len(files) == 0 {
				return nil
			}
			return one(event.Error, n, "preflight.foreign-files", "files", strings.Join(files, ", "))
		},
	}
}
