package build

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/assets"
	"github.com/eggo-k8s/eggo/internal/bundle/fetch"
	"github.com/eggo-k8s/eggo/internal/bundle/spec"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// DefaultSystem is what a bundle is for when nothing else is said.
const DefaultSystem = "debian-12"

// SpecText is the text of the default spec for an operating system of assets.Systems. The fault is "usage.os".
func SpecText(system string) ([]byte, error) {
	text, err := assets.BundleSpec(system)
	if err != nil {
		return nil, event.NewFault(event.ClassUsage, "usage.os", nil, "os", system, "systems",
			strings.Join(assets.Systems(), ", "))
	}
	return text, nil
}

// DefaultSpec is the default spec for an operating system.
func DefaultSpec(system string) (*spec.Spec, error) {
	text, err := SpecText(system)
	if err != nil {
		return nil, err
	}
	return spec.Parse(text)
}

// Preset adds a preset's public mirrors to one's own; "" adds none. The fault is "usage.mirror-preset".
func Preset(own *fetch.Mirrors, name string) (*fetch.Mirrors, error) {
	if name == "" {
		return own, nil
	}
	text, err := assets.MirrorPreset(name)
	if err != nil {
		return nil, event.NewFault(event.ClassUsage, "usage.mirror-preset", nil, "preset", event.Clean(name),
			"presets", strings.Join(assets.MirrorPresets(), ", "))
	}
	return own.WithPublic(fetch.PairLines(text))
}

// Epoch is the time of every member as SOURCE_DATE_EPOCH says, zero if it is not set. The fault is "usage.epoch".
func Epoch(getenv func(string) string) (time.Time, error) {
	v := getenv("SOURCE_DATE_EPOCH")
	if v == "" {
		return time.Time{}, nil
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < 0 {
		return time.Time{}, event.NewFault(event.ClassUsage, "usage.epoch", nil, "value", v)
	}
	return time.Unix(n, 0), nil
}

// Servers are some that a build fetches from: those of the spec's binaries, as the mirrors have them, and of their
// checksum files, which come from the source. Each is a URL without a path.
func Servers(s *spec.Spec, arches []string, m *fetch.Mirrors) []string {
	var out []string
	seen := map[string]bool{}
	add := func(address string) {
		u, err := url.Parse(address)
		if err != nil || u.Host == "" || seen[u.Host] {
			return
		}
		seen[u.Host] = true
		out = append(out, u.Scheme+"://"+u.Host)
	}
	for _, arch := range arches {
		for _, b := range s.For(arch).Binaries {
			add(m.URL(b.Checksum, false))
			add(m.URL(b.URL, b.Checksum != "" || b.SHA256 != ""))
		}
	}
	return out
}

// Reach asks servers whether they are there, all at once: nil as soon as one has answered, whatever it says. Nothing is
// followed to another server. The fault is "build.no-network".
func Reach(ctx context.Context, rt http.RoundTripper, servers []string) error {
	ctx, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	answers := make(chan error, len(servers))
	for _, server := range servers {
		go func() { answers <- reach(ctx, rt, server) }()
	}
	var last error
	for range servers {
		if last = <-answers; last == nil {
			return nil
		}
	}
	var hosts []string
	for _, s := range servers {
		_, host, _ := strings.Cut(s, "://")
		hosts = append(hosts, host)
	}
	return event.NewFault(event.ClassFailed, "build.no-network", last, "hosts", strings.Join(hosts, ", "))
}

// reachTime is how long a server has to answer.
const reachTime = 8 * time.Second

func reach(ctx context.Context, rt http.RoundTripper, server string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, server+"/", nil)
	if err != nil {
		return err
	}
	res, err := rt.RoundTrip(req) // a redirect is an answer
	if err != nil {
		return err
	}
	_ = res.Body.Close()
	if res.StatusCode >= http.StatusInternalServerError { // of a proxy that has no network itself
		return errors.New(res.Status)
	}
	return nil
}
