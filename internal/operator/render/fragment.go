package render

import (
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// ofFields returns the keys of deploy.yaml that the fields of the objects set: spec.config has none of them.
func ofFields() []string {
	return []string{"cluster-id", "masters", "nodes", "etcds", "loadbalance", "service.cidr", "service.dnsaddr",
		"service.gateway", "dns-vip", "dns-domain", "network.podcidr", "network.plugin",
		"network.plugin-args.NetworkYamlPath", "apiserver-endpoint", "runtime", "runtime-endpoint",
		"enable-kubelet-serving", "install", "addons", "open-ports", "pacakges", "package-src", "eggo.driver",
		"eggo.bundles", "eggo.host-keys", "eggo.bastion", "eggo.machines", "eggo.nodes"}
}

// permitted reports whether spec.config may set a key, or some keys below it.
func permitted(key string) (whole, below bool) {
	fields := ofFields()
	for _, k := range config.SettableKeys() {
		free := !slices.ContainsFunc(fields, func(f string) bool { return k == f || strings.HasPrefix(k, f+".") })
		whole = whole || free && k == key
		below = below || free && strings.HasPrefix(k, key+".")
	}
	return whole, below
}

// withConfig returns the spec with the keys of spec.config, which no field sets.
func (r *renderer) withConfig() (config.Spec, config.Problems) {
	raw := r.in.Cluster.Spec.Config
	if raw == nil || len(raw.Raw) == 0 {
		return r.spec, nil
	}
	var more map[string]any
	if err := yaml.Unmarshal(raw.Raw, &more); err != nil { // JSON is YAML
		return r.spec, unreadable(err)
	}
	before := len(r.problems)
	r.check("", more)
	if len(r.problems) > before {
		return r.spec, nil
	}
	all := map[string]any{}
	if err := yaml.Unmarshal(r.spec.YAML(), &all); err != nil {
		return r.spec, unreadable(err)
	}
	overlay(all, more)
	text, err := yaml.Marshal(all)
	if err != nil {
		return r.spec, unreadable(err)
	}
	return config.Decode(text, "deploy.yaml")
}

func unreadable(err error) config.Problems {
	return config.Problems{{File: "deploy.yaml", Key: "spec.config", Code: "config.syntax", Severity: event.Error,
		Args: map[string]string{"cause": event.Clean(err.Error())}}}
}

// check adds a problem for each key of spec.config that it cannot set.
func (r *renderer) check(above string, m map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		key := strings.TrimPrefix(above+"."+name, ".")
		whole, below := permitted(key)
		inner, isMap := m[name].(map[string]any)
		switch {
		case whole:
		case below && isMap:
			r.check(key, inner)
		default:
			r.problem("operator.config-key", "spec.config."+event.Clean(key[:min(len(key), 200)]))
		}
	}
}

// overlay sets in all what more has. They share no key but those of maps.
func overlay(all, more map[string]any) {
	for key, v := range more {
		inner, isMap := v.(map[string]any)
		into, both := all[key].(map[string]any)
		if isMap && both {
			overlay(into, inner)
		} else {
			all[key] = v
		}
	}
}
