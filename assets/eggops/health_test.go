package eggops

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// healthy has the word of Argo CD for each status of kstatus.
var healthy = map[status.Status]string{
	status.CurrentStatus: "Healthy", status.InProgressStatus: "Progressing", status.FailedStatus: "Degraded",
	status.TerminatingStatus: "Progressing",
}

// kstatus, which Flux uses, and health.lua, which Argo CD uses, agree.
func TestHealthAgreesWithKstatus(t *testing.T) {
	for name, c := range map[string]struct {
		status string // YAML of metadata and status
		want   status.Status
		text   string // in the message of Argo CD
	}{
		"not seen": {"metadata: {generation: 1}\nstatus: {observedGeneration: -1}",
			status.InProgressStatus, "not seen"},
		"an older version was seen": {"metadata: {generation: 2}\nstatus: {observedGeneration: 1, conditions: " +
			"[{type: Ready, status: 'True'}]}", status.InProgressStatus, "not seen"},
		"ready": {"metadata: {generation: 1}\nstatus: {observedGeneration: 1, conditions: " +
			"[{type: Ready, status: 'True', message: all is well}]}", status.CurrentStatus, "all is well"},
		"work in progress": {"metadata: {generation: 1}\nstatus: {observedGeneration: 1, conditions: " +
			"[{type: Reconciling, status: 'True', message: join}, {type: Ready, status: 'False'}]}",
			status.InProgressStatus, "join"},
		"ready, and a change in progress": {"metadata: {generation: 1}\nstatus: {observedGeneration: 1, conditions: " +
			"[{type: Reconciling, status: 'True', reason: Progressing}, {type: Ready, status: 'True'}]}",
			status.InProgressStatus, "Progressing"},
		"not ready": {"metadata: {generation: 1}\nstatus: {observedGeneration: 1, conditions: " +
			"[{type: Ready, status: 'False', message: no machine}]}", status.InProgressStatus, "no machine"},
		"unknown": {"metadata: {generation: 1}\nstatus: {observedGeneration: 1, conditions: " +
			"[{type: Ready, status: Unknown}]}", status.InProgressStatus, ""},
		"stalled": {"metadata: {generation: 1}\nstatus: {observedGeneration: 1, conditions: " +
			"[{type: Ready, status: 'False'}, {type: Stalled, status: 'True', message: wrong password}]}",
			status.FailedStatus, "wrong password"},
		"being deleted": {"metadata: {generation: 1, deletionTimestamp: '2026-01-01T00:00:00Z'}\nstatus: " +
			"{observedGeneration: 1, conditions: [{type: DeletionBlocked, status: 'True', message: not confirmed}]}",
			status.TerminatingStatus, "not confirmed"},
	} {
		t.Run(name, func(t *testing.T) {
			var object map[string]any
			text := "apiVersion: eggo.isula.org/v1\nkind: Cluster\n" + c.status
			if err := yaml.Unmarshal([]byte(text), &object); err != nil {
				t.Fatal(err)
			}
			got, err := status.Compute(&unstructured.Unstructured{Object: integers(object)})
			if err != nil || got.Status != c.want {
				t.Errorf("kstatus: %v %v, want %s", got, err, c.want)
			}
			health, message := argo(t, object)
			if health != healthy[c.want] || !strings.Contains(message, c.text) {
				t.Errorf("Argo CD: %s %q, want %s %q", health, message, healthy[c.want], c.text)
			}
		})
	}
}

// integers makes whole numbers of an object int64, as a decoder of Kubernetes does.
func integers(m map[string]any) map[string]any {
	for k, v := range m {
		switch v := v.(type) {
		case float64:
			m[k] = int64(v)
		case map[string]any:
			integers(v)
		}
	}
	return m
}

// argo runs health.lua as Argo CD does: with the object in obj.
func argo(t *testing.T, object map[string]any) (health, message string) {
	t.Helper()
	script, err := os.ReadFile(filepath.Join("argocd", "health.lua"))
	if err != nil {
		t.Fatal(err)
	}
	l := lua.NewState()
	defer l.Close()
	l.SetGlobal("obj", value(l, object))
	if err := l.DoString(string(script)); err != nil {
		t.Fatal(err)
	}
	out, is := l.Get(-1).(*lua.LTable)
	if !is {
		t.Fatalf("health.lua returns %v", l.Get(-1))
	}
	return lua.LVAsString(out.RawGetString("status")), lua.LVAsString(out.RawGetString("message"))
}

func value(l *lua.LState, v any) lua.LValue {
	switch v := v.(type) {
	case string:
		return lua.LString(v)
	case int64:
		return lua.LNumber(v)
	case []any:
		list := l.NewTable()
		for _, e := range v {
			list.Append(value(l, e))
		}
		return list
	case map[string]any:
		table := l.NewTable()
		for k, e := range v {
			table.RawSetString(k, value(l, e))
		}
		return table
	}
	return lua.LNil
}

// The patch for argocd-cm has the script for each kind that people make.
func TestThePatchForArgoHasTheScript(t *testing.T) {
	script, err := os.ReadFile(filepath.Join("argocd", "health.lua"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join("argocd", "argocd-cm.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var patch struct {
		Data map[string]string `json:"data"`
	}
	if err := yaml.UnmarshalStrict(text, &patch); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"Cluster", "Machine", "Infrastructure", "Operation"} {
		if patch.Data["resource.customizations.health.eggo.isula.org_"+kind] != string(script) {
			t.Errorf("the script of %s is not health.lua", kind)
		}
	}
	if len(patch.Data) != 4 {
		t.Errorf("%d scripts", len(patch.Data))
	}
}

// kustomization.yaml names each manifest beside it, and no other.
func TestTheKustomizationIsComplete(t *testing.T) {
	text, err := os.ReadFile("kustomization.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var k struct {
		Resources []string `json:"resources"`
	}
	if err := yaml.Unmarshal(text, &k); err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{"kustomization.yaml": true}
	for _, r := range k.Resources {
		named[r] = true
		if _, err := os.Stat(r); err != nil {
			t.Error(err)
		}
	}
	for _, pattern := range []string{"*.yaml", "crds/*.yaml"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, f := range found {
			if !named[f] {
				t.Errorf("%s is not in kustomization.yaml", f)
			}
		}
	}
}

// No right of the operator is a wildcard, and it neither lists nor watches Secrets.
func TestRightsAreNamed(t *testing.T) {
	for _, name := range []string{"rbac.yaml", "roles.yaml", "everywhere/secrets.yaml"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if regexp.MustCompile(`\*`).Match(text) {
			t.Errorf("%s has a wildcard", name)
		}
	}
}
