package runs

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/manager"
)

// MostSecret is how many bytes a secret has at most. OpenSSH refuses a longer password.
const MostSecret = 1 << 10

// told is a secret as one user has told it.
type told struct {
	value string
	order int  // of telling
	works bool // a run or a login that used it has succeeded
}

// answers are secrets for one run or login, and who told each.
type answers struct {
	values map[string]string
	by     map[string]string
}

// Asks are the IDs of the secrets that runs of a cluster ask for: by its own deploy.yaml, or by deploy where that is
// what counts, or where it has none.
func (r *Runner) Asks(ctx context.Context, cluster, deploy string, counts bool) ([]string, error) {
	text, path := []byte(deploy), r.File(cluster)
	if !counts {
		own, at, err := r.Own(ctx, cluster)
		if err == nil {
			text, path = own, at
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	if len(text) == 0 {
		return nil, nil
	}
	c, problems, err := config.LoadText(text, path)
	if err == nil && c == nil {
		err = problems.Err()
	}
	if err != nil {
		return nil, err
	}
	return operation.Asks(c), nil
}

// SetSecrets has the runs of a cluster know secrets of a user, by the IDs of their questions, beside those that they
// know already. An empty one is none. They stay in memory: the key of a backup until its run has it, others until a
// login fails with them, or the cluster is removed.
func (r *Runner) SetSecrets(cluster, by string, secrets map[string]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.secrets[cluster]
	if all == nil {
		all = map[string]map[string]told{}
		r.secrets[cluster] = all
	}
	for id, value := range secrets {
		if strings.TrimSpace(value) == "" {
			continue
		}
		if all[id] == nil {
			all[id] = map[string]told{}
		}
		r.tellings++
		all[id][by] = told{value: value, order: r.tellings, works: all[id][by].works && all[id][by].value == value}
	}
	if w := r.ways[cluster]; w != nil && len(secrets) > 0 {
		w.retry()
	}
}

// DropSecrets forgets the key of a backup that does not begin.
func (r *Runner) DropSecrets(cluster string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range operation.BackupSecrets() {
		delete(r.secrets[cluster], id)
	}
}

// secretsFor returns the secrets of a cluster for a run of this kind by a user. The secrets of a backup
// are returned once.
func (r *Runner) secretsFor(cluster, by string, k manager.Kind) answers {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.best(cluster, by)
	for _, id := range operation.BackupSecrets() {
		if k != manager.Backup {
			delete(out.values, id)
		}
		delete(out.by, id) // no login uses it
		delete(r.secrets[cluster], id)
	}
	return out
}

// toldFor are the secrets of a cluster for a login of the server itself, without those of a backup.
func (r *Runner) toldFor(cluster string) answers {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.best(cluster, "")
	for _, id := range operation.BackupSecrets() {
		delete(out.values, id)
		delete(out.by, id)
	}
	return out
}

// best are the secrets of the user, and of others where the user has told none: what has worked before what nobody has
// tried, and the newest first. It is called with mu held.
func (r *Runner) best(cluster, by string) answers {
	out := answers{map[string]string{}, map[string]string{}}
	for id, all := range r.secrets[cluster] {
		users := slices.SortedFunc(maps.Keys(all), func(a, b string) int {
			x, y := all[a], all[b]
			switch {
			case a == by || x.works && !y.works && b != by:
				return -1
			case b == by || y.works && !x.works:
				return 1
			}
			return y.order - x.order
		})
		if len(users) > 0 {
			out.values[id], out.by[id] = all[users[0]].value, users[0]
		}
	}
	return out
}

// used notes what became of logins with secrets that a user's run used. After a login that was refused, those of the
// user are forgotten, or all that were used if none was the user's: nobody else's are lost by a wrong one.
func (r *Runner) used(cluster, by string, a answers, f *event.Fault) {
	refused := f != nil && f.Class == event.ClassAuth && !strings.HasPrefix(f.Code, "ssh.hostkey")
	if f != nil && !refused {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	own := slices.Contains(slices.Collect(maps.Values(a.by)), by)
	for id, who := range a.by {
		t, is := r.secrets[cluster][id][who]
		switch {
		case !is || t.value != a.values[id]: // there is another one by now
		case !refused:
			t.works = true
			r.secrets[cluster][id][who] = t
		case who == by || !own:
			delete(r.secrets[cluster][id], who)
		}
	}
}
