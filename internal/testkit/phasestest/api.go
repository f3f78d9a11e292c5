package phasestest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"sort"
	"strconv"
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
	"replicasets": {"apps/v1", "ReplicaSet", true}, "statefulsets": {"apps/v1", "StatefulSet", true},
	"poddisruptionbudgets":            {"policy/v1", "PodDisruptionBudget", true},
	"endpoints":                       {"v1", "Endpoints", true},
	"endpointslices":                  {"discovery.k8s.io/v1", "EndpointSlice", true},
	"validatingwebhookconfigurations": {"admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", false},
	"mutatingwebhookconfigurations":   {"admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", false},
	"customresourcedefinitions":       {"apiextensions.k8s.io/v1", "CustomResourceDefinition", false},
	"clusterroles":                    {"rbac.authorization.k8s.io/v1", "ClusterRole", false},
	"clusterrolebindings":             {"rbac.authorization.k8s.io/v1", "ClusterRoleBinding", false},
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
	budget  string        // why no pod may be evicted
	denied  int           // status of every eviction; 0: they are not denied
	release func() string // of the API server that answers
	// Writes are the requests that changed something, in order: method and path.
	writes  []string
	again   []string          // objects that were written as they are
	stored  map[string]string // in which version a resource is stored, where it is not the first
	refused map[string]int    // the status by which an object is not written again
	applied map[string]object // what was applied by server-side apply
	dns     dnsTrouble
	watch   func(*API) // after each request
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
		a.era, a.store, a.applied = era, map[string]object{}, map[string]object{}
		a.refresh(a)
	}
	defer func() {
		if a.refresh(a); a.watch != nil {
			a.watch(a)
		}
	}()
	path := strings.TrimSuffix(r.URL.Path, "/")
	switch path {
	case "/readyz":
		_, _ = io.WriteString(w, "ok")
		return
	case "/version":
		reply(w, http.StatusOK, object{"gitVersion": a.release()})
		return
	case "/metrics":
		return
	}
	if doc := a.discovery(path); doc != nil {
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
		a.list(w, path, resource, r.URL.Query())
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
		delete(a.applied, path)
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

// AddReplicaSet makes the ReplicaSet that the pods of a namespace belong to: it makes those again that are evicted.
func (a *API) AddReplicaSet(namespace string, replicas int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.put(setOf(namespace), object{"apiVersion": "apps/v1", "kind": "ReplicaSet",
		"metadata": object{"name": "set", "namespace": namespace}, "spec": object{"replicas": replicas}}, true)
}

func setOf(namespace string) string {
	return "/apis/apps/v1/namespaces/" + namespace + "/replicasets/set"
}

// AddPod puts a pod of some ReplicaSet onto a node.
func (a *API) AddPod(namespace, name, on string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.addPod(namespace, name, on)
}

func (a *API) addPod(namespace, name, on string) {
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

// Merge changes what is at a path, as somebody else would.
func (a *API) Merge(path string, change map[string]any) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.store[path] == nil {
		return fmt.Errorf("nothing is at %s", path)
	}
	a.put(path, merge(clone(a.store[path]), change), true)
	return nil
}

// Add puts an object at a path.
func (a *API) Add(path string, o map[string]any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.put(path, o, true)
}

// Remove removes what is at a path.
func (a *API) Remove(path string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.store, path)
	delete(a.applied, path)
}

func (a *API) evict(w http.ResponseWriter, pod string) {
	switch {
	case a.store[pod] == nil:
		status(w, http.StatusNotFound, "NotFound", pod)
	case a.denied != 0:
		status(w, a.denied, http.StatusText(a.denied), "admission webhook denied the request")
	case a.budget != "":
		status(w, http.StatusTooManyRequests, "TooManyRequests", a.budget)
	default:
		m := meta(a.store[pod])
		delete(a.store, pod)
		namespace, _ := m["namespace"].(string)
		if on := a.free(); a.store[setOf(namespace)] != nil && on != "" {
			a.addPod(namespace, fmt.Sprint(m["name"], "-again"), on)
		}
		reply(w, http.StatusCreated, object{"kind": "Status", "apiVersion": "v1", "status": "Success"})
	}
}

// Deny has every eviction answered with a status, as a webhook does or missing rights do; 0 is none.
func (a *API) Deny(status int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.denied = status
}

// free is a node that takes pods; "" when none does.
func (a *API) free() string {
	for _, p := range sorted(a.store) {
		if name, ok := strings.CutPrefix(p, "/api/v1/nodes/"); ok {
			spec, _ := a.store[p]["spec"].(object)
			if spec["unschedulable"] != true && spec["taints"] == nil {
				return name
			}
		}
	}
	return ""
}

// owned is how many pods of a namespace's ReplicaSet there are.
func (a *API) owned(namespace string) int {
	n := 0
	for p := range a.store {
		if strings.HasPrefix(p, "/api/v1/namespaces/"+namespace+"/pods/") {
			n++
		}
	}
	return n
}

// list gives what is under a path, in pages if asked; of pods those on a node, if it is named.
func (a *API) list(w http.ResponseWriter, path, resource string, q url.Values) {
	k, on := kinds[resource], strings.TrimPrefix(q.Get("fieldSelector"), "spec.nodeName=")
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
	m := object{"resourceVersion": fmt.Sprint(a.version)}
	at, _ := strconv.Atoi(q.Get("continue"))
	items = items[min(at, len(items)):]
	if most, _ := strconv.Atoi(q.Get("limit")); most > 0 && most < len(items) {
		items, m["continue"] = items[:most], strconv.Itoa(at+most)
	}
	reply(w, http.StatusOK, object{"kind": k.kind + "List", "apiVersion": k.gv, "metadata": m, "items": items})
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
	if len(change) == 0 && !dry {
		a.again = append(a.again, path)
		if why := a.refused[path]; why != 0 {
			status(w, why, strings.ReplaceAll(http.StatusText(why), " ", ""), "refused")
			return
		}
	}
	o := clone(old)
	if apply {
		prune(o, a.applied[path], change)
	}
	if apply && !dry {
		a.applied[path] = clone(change)
	}
	o = merge(o, change)
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
	m["managedFields"] = []any{object{"manager": "somebody", "operation": "Update"}}
	if a.applied[path] != nil {
		m["managedFields"] = []any{object{"manager": "eggo", "operation": "Apply"}}
	}
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
