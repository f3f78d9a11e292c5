package host

import (
	"context"
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/remote"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// asker asks a front end, each secret once, and keeps the answers for the run's process.
type asker struct {
	ask    backend.Asker
	getenv func(string) string

	one  sync.Mutex // one secret at a time
	mu   sync.Mutex
	kept map[string]string
	keys *backend.KeyRound

	opened, refused int // machines that the answers led to, and those that did not take them
}

// asking asks a front end, beginning with the answers that were given about a cluster before.
func (h *Host) asking(ask backend.Asker, cluster string) *asker {
	a := &asker{ask: ask, getenv: h.Getenv, kept: map[string]string{}}
	maps.Copy(a.kept, h.answered(cluster))
	a.keys = &backend.KeyRound{Ask: func(ctx context.Context, keys []backend.HostKey) ([]bool, error) {
		a.one.Lock()
		defer a.one.Unlock()
		return ask.HostKeys(ctx, keys, KnownHosts)
	}}
	return a
}

// Stored is a secret that stands in the environment or in a file. asked: it has to be asked for.
func Stored(q operation.SecretQuestion, getenv func(string) string) (value string, asked bool, err error) {
	kind, rest, _ := strings.Cut(q.From, ":")
	switch kind {
	case "", "prompt":
		return "", true, nil
	case "env":
		if v := getenv(rest); !config.Blank(v) {
			return v, false, nil
		}
		return "", false, fmt.Errorf("%s is not set or empty", rest)
	case "file":
		data, err := os.ReadFile(rest)
		if err == nil && config.Blank(string(data)) {
			err = fmt.Errorf("%s is empty", rest)
		}
		return strings.TrimRight(string(data), "\r\n"), false, err
	}
	return "", false, fmt.Errorf("unknown source %q", kind)
}

// Secret implements operation.Asker.
func (a *asker) Secret(ctx context.Context, q operation.SecretQuestion) (string, error) {
	if v, asked, err := Stored(q, a.getenv); !asked {
		return v, err
	}
	a.one.Lock()
	defer a.one.Unlock()
	a.mu.Lock()
	v, ok := a.kept[q.ID]
	a.mu.Unlock()
	if ok {
		return v, nil
	}
	v, err := a.ask.Secret(ctx, q.What)
	if err != nil || config.Blank(v) { // an empty answer is asked for again
		return "", err
	}
	a.mu.Lock()
	a.kept[q.ID] = v
	a.mu.Unlock()
	return v, nil
}

// LoggedIn implements operation.Logins: it takes what came of logging in to a machine.
func (a *asker) LoggedIn(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case err == nil:
		a.opened++
	case event.AsFault(err).Class == event.ClassAuth:
		a.refused++
	}
}

// HostKey implements operation.Asker.
func (a *asker) HostKey(ctx context.Context, q remote.HostKeyQuestion) (bool, error) {
	return a.keys.HostKey(ctx, backend.HostKey(q))
}

// Signer implements operation.Asker.
func (a *asker) Signer(ctx context.Context, q operation.SignerQuestion) (bool, error) {
	a.one.Lock()
	defer a.one.Unlock()
	return a.ask.Signer(ctx, backend.Signer(q))
}

// Expect implements operation.Progress.
func (a *asker) Expect(n int) {
	a.keys.Expect(n)
	a.ask.Doing(event.M("launch.greet", "done", "0", "total", strconv.Itoa(n)))
}

// Met implements operation.Progress.
func (a *asker) Met(ctx context.Context, n int) {
	done := a.keys.Met(ctx)
	a.ask.Doing(event.M("launch.greet", "done", strconv.Itoa(done), "total", strconv.Itoa(n)))
}

func (a *asker) answers() map[string]string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.kept
}

// KnownHosts is what a known_hosts file says of keys.
func KnownHosts(file string, keys []backend.HostKey) ([]backend.KeyCheck, error) {
	var asked []remote.HostKeyQuestion
	for _, k := range keys {
		asked = append(asked, remote.HostKeyQuestion{Node: k.Node, Addr: k.Addr, Type: k.Type,
			Fingerprint: k.Fingerprint})
	}
	matches, err := remote.CompareKeys(file, asked)
	var out []backend.KeyCheck
	for _, m := range matches {
		out = append(out, map[remote.KeyMatch]backend.KeyCheck{remote.KeyListed: backend.KeyVerified,
			remote.KeyDiffers: backend.KeyDiffers}[m])
	}
	return out, err
}
