package addon

import (
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle/kubeapi"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Review is what of an addon would fail on nodes without a network, or with the version of Kubernetes.
type Review struct {
	Unserved []kubeapi.Unserved
	Warnings []event.Msg
}

// Review compares the content of the addon of that name with the version of Kubernetes, and with the names of the
// images that are carried.
func (c *Content) Review(name, version string, have []string) Review {
	out := Review{Unserved: kubeapi.Load().Check(version, c.Objects, nil)}
	told := map[string]bool{}
	warn := func(key string, kv ...string) {
		if id := key + strings.Join(kv, "\x00"); !told[id] {
			told[id] = true
			out.Warnings = append(out.Warnings, event.M(key, append([]string{"addon", name}, kv...)...))
		}
	}
	for _, f := range Missing(c.Images, have) {
		if f.Guess {
			warn("build.warn.guess", "image", f.Name)
		}
	}
	for _, p := range c.Pulls {
		key, image := "build.warn.pull", p.Image
		if p.Default {
			key = "build.warn.pull-latest"
		}
		if image == "" {
			image = p.Path
		}
		warn(key, "object", event.Clean(p.Kind+" "+p.Object), "image", event.Clean(image))
	}
	return out
}

// Add puts the content of another file of the addon to this one's.
func (c *Content) Add(more *Content) {
	c.Images, c.Pulls, c.Kept = append(c.Images, more.Images...), append(c.Pulls, more.Pulls...),
		append(c.Kept, more.Kept...)
	c.Objects = append(c.Objects, more.Objects...)
	if c.Defined == nil {
		c.Defined = map[string]bool{}
	}
	for kind, namespaced := range more.Defined {
		c.Defined[kind] = namespaced
	}
}

// Unscoped are the custom objects without a namespace whose kind neither the addon nor defined knows, and Scopes the
// kinds of those that defined knows.
func (c *Content) Unscoped(defined map[string]bool) (unknown []string, scopes map[string]bool) {
	scopes = map[string]bool{}
	api := kubeapi.Load()
	for _, o := range c.Objects {
		kind := kubeapi.Group(o.APIVersion) + "/" + o.Kind
		_, own := c.Defined[kind]
		_, builtin := api.Namespaced(o.APIVersion, o.Kind)
		namespaced, known := defined[kind]
		switch {
		case own, builtin, strings.Contains(o.Name, "/"):
		case known:
			scopes[kind] = namespaced
		default:
			unknown = append(unknown, o.Kind+" "+o.Name)
		}
	}
	return unknown, scopes
}

// Named are some names for a message.
func Named(names []string) string { return event.Clean(shown(names)) }
