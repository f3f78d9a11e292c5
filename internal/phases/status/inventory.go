package status

import (
	"context"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/payload/runtimes"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Inventory is what a cleanup takes from a machine.
type Inventory struct {
	Units, Packages []string
	Directories     []string // with the size of what is in them
	Files           int
	Images          int // of the runtime's store; they go with a purge
}

// TakeInventory reads it from the machine's record. Nothing is changed.
func TakeInventory(ctx context.Context, h node.Host, purge bool) (Inventory, error) {
	nd := node.New(h, func(event.Event) error { return nil })
	recs, err := nd.Records(ctx)
	if err != nil {
		return Inventory{}, err
	}
	var s Inventory
	var trees []string
	for _, r := range recs {
		switch r.Kind {
		case "unit":
			s.Units = append(s.Units, event.Clean(r.Key))
		case "package", "rpm":
			s.Packages = append(s.Packages, event.Clean(r.Key))
		case "file":
			s.Files++
		case "tree", "emptied":
			if purge || r.Was == "cleanup" {
				trees = append(trees, r.Key)
			}
		}
	}
	if len(trees) == 0 {
		return s, nil
	}
	out, err := nd.Query(ctx, "for p in "+shell.QuoteAll(trees)+
		"; do [ ! -e \"$p\" ] || du -sxh \"$p\" 2>/dev/null || true; done\n"+
		runtimes.CountImages(trees))
	if err != nil {
		return s, err
	}
	for line := range strings.Lines(out) {
		line = event.Clean(strings.TrimSpace(line))
		if n, ok := strings.CutPrefix(line, "images "); ok {
			if purge {
				s.Images, _ = strconv.Atoi(n)
			}
			continue
		}
		if size, path, ok := strings.Cut(line, "\t"); ok {
			s.Directories = append(s.Directories, path+" ("+size+")")
		} else if w := strings.Fields(line); len(w) == 2 {
			s.Directories = append(s.Directories, w[1]+" ("+w[0]+")")
		}
	}
	return s, nil
}
