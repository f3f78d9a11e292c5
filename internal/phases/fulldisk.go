package phases

import (
	"context"
	"errors"
	"maps"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/phases/node"
)

// fullDisks prints where the file systems are mounted that Eggo writes to and that have less than 256 KiB or 16 inodes
// left for root, for whom some of what others see as full is kept. Images that nobody can write to are always full.
const fullDisks = `for p in / /etc /opt /tmp /usr/local /var /var/lib /var/log @SENT@; do
  [ -d "$p" ] && [ -w "$p" ] || continue
  df -PB1 "$p" 2>/dev/null | awk 'NR==2 && $2-$3<262144 {print $6}'
  df -Pi "$p" 2>/dev/null | awk 'NR==2 && $2>0 && $4<16 {print $6}'
done | sort -u
`

// withFullDisks adds to a failure which file systems of its node are full: what fails on a full disk often does not say so, as a shell whose
// printf says "I/O error".
func (r *Nodes) withFullDisks(ctx context.Context, nd *node.Node, err error) error {
	var f *event.Fault
	if err == nil || ctx.Err() != nil || !errors.As(err, &f) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out, asked := nd.Query(ctx, strings.ReplaceAll(fullDisks, "@SENT@", node.Quote(r.SentDir())))
	full := strings.Fields(out)
	for i, mount := range full {
		full[i] = event.Clean(mount)
	}
	if asked == nil && len(full) > 0 {
		told := *f
		told.Args = maps.Clone(f.Args)
		if told.Args == nil {
			told.Args = map[string]string{}
		}
		told.Args[event.FullDisks] = strings.Join(full, ", ")
		told.Err = err
		return &told
	}
	return err
}
