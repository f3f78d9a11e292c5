package config

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// Mirror of a registry.
type Mirror struct {
	Registry string // docker.io; "*" is every registry
	URL      string
}

// DefaultRegistry is the one that a mirror without a registry stands for, as in docker's settings.
const DefaultRegistry = "docker.io"

// Mirrors are those of registry-mirrors, in order.
func (c *Cluster) Mirrors() []Mirror {
	var out []Mirror
	for _, s := range c.RegistryMirrors {
		out = append(out, mirror(s))
	}
	return out
}

// mirror reads URL or REGISTRY=URL.
func mirror(s string) Mirror {
	if registry, address, ok := strings.Cut(s, "="); ok && !strings.Contains(registry, "/") {
		return Mirror{registry, address}
	}
	return Mirror{DefaultRegistry, s}
}

func isMirror(s string) bool {
	m := mirror(s)
	return isHTTPURL(m.URL) && (m.Registry == "*" || isHostPort(m.Registry))
}

// InsecureHost reports whether the registry at host, or host:port, is one of insecure-registries.
func (c *Cluster) InsecureHost(host string) bool {
	name := (&url.URL{Host: host}).Hostname()
	addr, err := netip.ParseAddr(name)
	for _, s := range c.InsecureRegistries {
		if s == host {
			return true
		}
		if p, perr := netip.ParsePrefix(s); perr == nil && err == nil && p.Contains(addr) {
			return true
		}
	}
	return false
}

// RuntimePackages are the packages that have a runtime, in one distribution or another.
func RuntimePackages(runtime string) []string {
	switch runtime {
	case "docker":
		return []string{"docker.io", "docker-ce", "docker-engine", "moby-engine", "docker"}
	case "isulad":
		return []string{"iSulad", "isulad"}
	}
	return []string{"containerd", "containerd.io"}
}

// RuntimeProgram is the program that may stand in a bundle in the place of a package of the runtime; "" where there is
// none.
func RuntimeProgram(runtime string) string {
	if runtime == "containerd" {
		return "containerd"
	}
	return ""
}

// RuntimeExtras are the programs that a runtime needs beside itself.
func RuntimeExtras(runtime string) []string {
	if runtime == "docker" {
		return []string{"cri-dockerd"} // Kubernetes speaks to docker through it since 1.24
	}
	return nil
}

// OfRuntime reports whether a program of a bundle is a container runtime's.
func OfRuntime(name string) bool {
	return slices.Contains([]string{"containerd", "containerd-shim-runc-v2", "ctr", "runc"}, name) ||
		OfOtherRuntime("", name)
}

// OfOtherRuntime reports whether a package or a program of a bundle is of Docker or iSulad alone, where that is not the
// runtime: a bundle may have several. containerd is no such one, for Docker needs it.
func OfOtherRuntime(runtime, name string) bool {
	for _, other := range []string{"docker", "isulad"} {
		if other != runtime && (slices.Contains(RuntimePackages(other), name) ||
			slices.Contains(RuntimeExtras(other), name)) {
			return true
		}
	}
	return false
}

// checkRegistries finds what the runtime cannot be told: only containerd has mirrors of other registries than
// docker.io, only docker knows networks of registries, and only containerd takes a path in a mirror.
func (l *loader) checkRegistries() {
	c := l.c
	for _, m := range c.Mirrors() {
		u, err := url.Parse(m.URL)
		if err != nil {
			continue // told already
		}
		if c.Runtime != "containerd" && m.Registry != DefaultRegistry {
			l.errAt(l.where("registry-mirrors"), "registry-mirrors", "config.mirror-registry", "value",
				m.Registry+"="+m.URL, "runtime", c.Runtime)
		} else if c.Runtime != "containerd" && strings.Trim(u.Path, "/") != "" {
			l.errAt(l.where("registry-mirrors"), "registry-mirrors", "config.mirror-path", "value", m.URL, "runtime",
				c.Runtime)
		}
	}
	for _, s := range c.InsecureRegistries {
		if _, err := netip.ParsePrefix(s); err == nil && c.Runtime != "docker" {
			l.errAt(l.where("insecure-registries"), "insecure-registries", "config.insecure-network", "value", s,
				"runtime", c.Runtime)
		}
	}
}
