package phasestest

import (
	"maps"
	"slices"
	"strings"
)

// StoreIn has a resource stored in another version from now on.
func (a *API) StoreIn(resource, version string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stored == nil {
		a.stored = map[string]string{}
	}
	a.stored[resource] = version
}

// Refuse has an object not written as it is, with a status.
func (a *API) Refuse(path string, status int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.refused == nil {
		a.refused = map[string]int{}
	}
	a.refused[path] = status
}

// WrittenAgain are the objects that were written as they are, in order.
func (a *API) WrittenAgain() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.again)
}

// discovery answers what there is, in the form without aggregation.
func (a *API) discovery(path string) any {
	groups := map[string][]any{}
	for name, k := range kinds {
		groups[k.gv] = append(groups[k.gv], object{"name": name, "singularName": "", "namespaced": k.namespaced,
			"kind": k.kind, "verbs": []any{"get", "list", "create", "patch"},
			"storageVersionHash": name + a.stored[name]})
	}
	switch path {
	case "/api":
		return object{"kind": "APIVersions", "versions": []any{"v1"}}
	case "/apis":
		var list []any
		for gv := range maps.Keys(groups) {
			if group, version, ok := strings.Cut(gv, "/"); ok {
				v := object{"groupVersion": gv, "version": version}
				list = append(list, object{"name": group, "versions": []any{v}, "preferredVersion": v})
			}
		}
		return object{"kind": "APIGroupList", "apiVersion": "v1", "groups": list}
	}
	gv := strings.TrimPrefix(strings.TrimPrefix(path, "/apis/"), "/api/")
	if list, ok := groups[gv]; ok {
		return object{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": gv, "resources": list}
	}
	return nil
}
