package addons

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/clients"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// maxManifest bounds a manifest from the network, in bytes.
const maxManifest = 16 << 20

func fetchManifest(ctx context.Context, url string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, errors.New(resp.Status)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxManifest+1))
	if err == nil && len(data) > maxManifest {
		err = fmt.Errorf("more than %d MiB", maxManifest>>20)
	}
	return data, err
}

// Fetch gets a manifest that deploy.yaml names by URL, on this machine: the nodes need no way there.
func (r *Addons) Fetch(ctx context.Context, url string) error {
	data, err := fetchManifest(ctx, url)
	if err == nil {
		_, err = clients.ParseManifests(data)
	}
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fetched[url] = data
	return nil
}

// read reads a manifest: from the bundle, or what Fetch kept.
func (r *Addons) read(b input.Bundle, name string) ([]byte, error) {
	if config.IsURL(name) {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.fetched[name], nil
	}
	at, _ := r.AddonMember(b.Manifest(), name) // preflight has found it
	f, err := b.Open(at)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		return nil, event.NewFault(event.ClassBundle, "addon.unreadable", err, "addon", name)
	}
	return data, nil
}
