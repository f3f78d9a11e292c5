package phasestest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"sort"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

// object is a Kubernetes object as JSON has it.
type object = map[string]any

// kinds that the API serves: resource → group/version, kind, namespaced.
var kinds = map[string]struct {
	gv, kind   string
	namespaced bool
}{
	"namespaces": {"v1", "Namespace", false}, "nodes": {"v1", "Node", false}, "configmaps": {"v1", "ConfigMap", true},
	"secrets":         {"v1", "Secret", true},
	"serviceaccounts": {"v1", "ServiceAccount", true}, "services": {"v1", "Service", true}, "pods": {"v1", "Pod", true},
	"leases":     {"coordination.k8s.io/v1", "Lease", true},
	"daemonsets": {"apps/v1", "DaemonSet", true}, "deployments": {"apps/v1", "Deployment", true},
	"clusterroles":        {"rbac.authorization.k8s.io/v1", "ClusterRole", false},
	"clusterrolebindings": {"rbac.authorization.k8s.io/v1", "ClusterRoleBinding", false},
}

// API is a Kubernetes API in memory: discovery, get, list, create, merge patch and server-side apply with dry run,
// without defaults, admission and conflicts. What controllers do, refresh does before each request.
type API struct {
	mu      sync.Mutex
	store   map[string]object // by path, /apis/apps/v1/namespaces/x/daemonsets/y
	version int
	// era names the data of etcd: another one is an empty store.
	era     string
	refresh func(*API) (era string)
	budget  string // why no pod may be evicted
	// Writes are the requests that changed something, in order: method and path.
	writes []string
}

// Writes lists the requests that changed an object.
func (a *API) Writes() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string{}, a.writes...)
}

// Objects lists the paths of all objects.
func (a *API) Objects() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return sorted(a.store)
}

func sorted(m map[string]object) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if era := a.refresh(a); era != a.era {
		a.era, a.store = era, map[string]object{}
		a.refresh(a)
	}
	path := strings.TrimSuffix(r.URL.Path, "/")
	if path == "/readyz" {
		_, _ = io.WriteString(w, "ok")
		return
	}
	if doc := discovery(path); doc != nil {
		reply(w, http.StatusOK, doc)
		return
	}
	if pod, ok := strings.CutSuffix(path, "/eviction"); ok && r.Method == http.MethodPost {
		a.evict(w, pod)
		return
	}
	resource, name, ok := split(path)
	if !ok {
		status(w, http.StatusNotFound, "NotFound", path)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		status(w, http.StatusBadRequest, "BadRequest", err.Error())
		return
	}
	dry := r.URL.Query().Get("dryRun") != ""
	switch {
	case r.Method == http.MethodGet && name == "":
		a.list(w, path, resource, strings.TrimPrefix(r.URL.Query().Get("fieldSelector"), "spec.nodeName="))
	case r.Method == http.MethodGet:
		if o := a.store[path]; o != nil {
			reply(w, http.StatusOK, o)
			return
		}
		status(w, http.StatusNotFound, "NotFound", path)
	case r.Method == http.MethodPost:
		a.create(w, path, resource, body)
	case r.Method == http.MethodPatch:
		a.patch(w, path, resource, body, r.Header.Get("Content-Type"), dry)
	case r.Method == http.MethodDelete && dry:
		reply(w, http.StatusOK, object{"kind": "Status", "apiVersion": "v1", "status": "Success"})
	case r.Method == http.MethodDelete:
		if a.store[path] == nil {
			status(w, http.StatusNotFound, "NotFound", path)
			return
		}
		delete(a.store, path)
		reply(w, http.StatusOK, object{"kind": "Status", "apiVersion": "v1", "status": "Success"})
	default:
		status(w, http.StatusMethodNotAllowed, "MethodNotAllowed", r.Method)
	}
}

// split finds the resource in a path, and the name if it is that of one object.
func split(path string) (resource, name string, ok bool) {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	if len(parts) > 1 && parts[0] == "api" {
		parts = parts[2:]
	} else if len(parts) > 2 && parts[0] == "apis" {
		parts = parts[3:]
	} else {
		return "", "", false
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		parts = parts[2:]
	}
	if len(parts) == 0 || len(parts) > 2 {
		return "", "", false
	}
	_, ok = kinds[parts[0]]
	if len(parts) == 2 {
		name = parts[1]
	}
	return parts[0], name, ok
}

// list serves a collection, of one namespace or of all.
// AddPod puts a pod of some ReplicaSet onto a node.
func (a *API) AddPod(namespace, name, on string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.store["/api/v1/namespaces/"+namespace+"/pods/"+name] = object{"apiVersion": "v1", "kind": "Pod",
		"spec": object{"nodeName": on}, "metadata": object{
			"name": name, "namespace": namespace,
			"creationTimestamp": time.Now().Add(time.Hour).UTC().Format(time.RFC3339),
			"ownerReferences": []any{object{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "set", "uid": "u",
				"controller": true}},
		}}
}

// Budget says why no pod may be evicted; "" lets all go.
func (a *API) Budget(why string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.budget = why
}

// Object is a copy of what is at a path; nil when there is nothing.
func (a *API) Object(path string) map[string]any {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.store[path] == nil {
		return nil
	}
	return clone(a.store[path])
}

func (a *API) evict(w http.ResponseWriter, pod string) {
	switch {
	case a.store[pod] == nil:
		status(w, http.StatusNotFound, "NotFound", pod)
	case a.budget != "":
		status(w, http.StatusTooManyRequests, "TooManyRequests", a.budget)
	default:
		delete(a.store, pod)
		reply(w, http.StatusCreated, object{"kind": "Status", "apiVersion": "v1", "status": "Success"})
	}
}

// list gives what is under a path; of pods those on a node, if it is named.
func (a *API) list(w http.ResponseWriter, path, resource, on string) {
	k := kinds[resource]
	items := []any{}
	for _, p := range sorted(a.store) {
		if res, _, _ := split(p); res != resource || !strings.HasPrefix(p, strings.TrimSuffix(path, resource)) {
			continue
		}
		if spec, _ := a.store[p]["spec"].(object); resource == "pods" && on != "" && spec["nodeName"] != on {
			continue
		}
		items = append(items, a.store[p])
	}
	reply(w, http.StatusOK, object{"kind": k.kind + "List", "apiVersion": k.gv,
		"metadata": object{"resourceVersion": fmt.Sprint(a.version)}, "items": items})
}

func (a *API) create(w http.ResponseWriter, path, resource string, body []byte) {
	// A typed client speaks protobuf.
	typed, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	if err != nil {
		status(w, http.StatusBadRequest, "BadRequest", err.Error())
		return
	}
	o, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		status(w, http.StatusBadRequest, "BadRequest", err.Error())
		return
	}
	o = clone(o)
	name, _ := meta(o)["name"].(string)
	path += "/" + name
	if a.store[path] != nil {
		status(w, http.StatusConflict, "AlreadyExists", path)
		return
	}
	if text, ok := o["stringData"].(object); ok {
		data := object{}
		for k, v := range text {
			data[k] = base64.StdEncoding.EncodeToString([]byte(fmt.Sprint(v)))
		}
		o["data"] = data
		delete(o, "stringData")
	}
	o["kind"], o["apiVersion"] = kinds[resource].kind, kinds[resource].gv
	a.writes = append(a.writes, "POST "+path)
	reply(w, http.StatusCreated, a.put(path, o, true))
}

func (a *API) patch(w http.ResponseWriter, path, resource string, body []byte, kind string, dry bool) {
	old := a.store[path]
	apply := strings.HasPrefix(kind, "application/apply-patch")
	var change object
	if err := yaml.Unmarshal(body, &change); err != nil {
		status(w, http.StatusBadRequest, "BadRequest", err.Error())
		return
	}
	switch {
	case old == nil && !apply:
		status(w, http.StatusNotFound, "NotFound", path)
		return
	case !apply && !strings.HasPrefix(kind, "application/merge-patch"):
		status(w, http.StatusUnsupportedMediaType, "UnsupportedMediaType", kind)
		return
	case apply && change["kind"] != kinds[resource].kind:
		status(w, http.StatusBadRequest, "BadRequest", "kind")
		return
	}
	o := merge(clone(old), change)
	if same := old != nil && reflect.DeepEqual(clone(o), clone(old)); same {
		reply(w, http.StatusOK, old)
		return
	}
	if !dry {
		a.writes = append(a.writes, "PATCH "+path)
	}
	reply(w, http.StatusOK, a.put(path, o, !dry))
}

// put gives o its metadata and keeps it unless it is a dry run.
func (a *API) put(path string, o object, keep bool) object {
	o = clone(o)
	m := meta(o)
	old := a.store[path]
	gen := 1.0
	if old != nil {
		gen, _ = meta(old)["generation"].(float64)
		if !reflect.DeepEqual(old["spec"], o["spec"]) {
			gen++
		}
	}
	m["generation"], m["uid"], m["creationTimestamp"] = gen, "uid-"+path, "2026-01-01T00:00:00Z"
	m["managedFields"] = []any{object{"manager": "eggo"}}
	m["resourceVersion"] = fmt.Sprint(a.version + 1)
	if keep {
		a.version++
		a.store[path] = o
	}
	return o
}

func meta(o object) object {
	m, ok := o["metadata"].(object)
	if !ok {
		m = object{}
		o["metadata"] = m
	}
	return m
}

// merge puts change into o as a merge patch does; for server-side apply of one owner that is near enough.
func merge(o, change object) object {
	if o == nil {
		o = object{}
	}
	for k, v := range change {
		was, isMap := o[k].(object)
		switch now, ok := v.(object); {
		case v == nil:
			delete(o, k)
		case ok && isMap:
			o[k] = merge(was, now)
		default:
			o[k] = v
		}
	}
	return o
}

// clone is a deep copy in the types that JSON has.
func clone(o object) object {
	data, err := json.Marshal(o)
	if err != nil {
		panic(err) // it came from JSON
	}
	var out object
	if err := json.Unmarshal(data, &out); err != nil {
		panic(err)
	}
	if out == nil {
		out = object{}
	}
	return out
}

func reply(w http.ResponseWriter, code int, doc any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(doc)
}

func status(w http.ResponseWriter, code int, reason, message string) {
	reply(w, code, object{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason,
		"message": message, "code": code})
}

// discovery answers what there is, in the form without aggregation.
func discovery(path string) any {
	groups := map[string][]any{}
	for name, k := range kinds {
		groups[k.gv] = append(groups[k.gv], object{"name": name, "singularName": "", "namespaced": k.namespaced,
			"kind": k.kind, "verbs": []any{"get", "list", "create", "patch"}})
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

// Paths are the objects that the server keeps, each with the number of its changes.
func (a *API) Paths() map[string]string {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := map[string]string{}
	for path, o := range a.store {
		out[path] = fmt.Sprint(meta(o)["resourceVersion"], meta(o)["generation"])
	}
	return out
}
