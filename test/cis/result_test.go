package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/eggo-k8s/eggo/test/e2e/stand"
)

// printed is what kube-bench prints, cut down.
const printed = `{"Controls":[{"id":"1","version":"cis-1.10","text":"Control Plane Security Configuration",
"node_type":"master","tests":[{"section":"1.1","results":[
{"test_number":"1.1.1","test_desc":"files","status":"PASS","actual_value":"permissions=600"},
{"test_number":"1.1.12","test_desc":"owner of the data","status":"FAIL","actual_value":"root:root\n"},
{"test_number":"1.2.1","test_desc":"anonymous","status":"WARN","actual_value":""},
{"test_number":"5.1.3","test_desc":"wildcards","status":"FAIL","actual_value":""}]}],
"total_pass":1,"total_fail":1,"total_warn":1,"total_info":0}],"Totals":{"total_pass":1}}`

// record is one of a driver, of what kube-bench printed on n1.
func record(t *testing.T, driver string) *Record {
	t.Helper()
	checks, err := parse("n1", []byte(printed))
	if err != nil || len(checks) != 4 {
		t.Fatal(checks, err)
	}
	return &Record{Kubernetes: "v1.34.2", Driver: driver, Benchmark: benchmark, Checks: checks}
}

// A check that fails is shown with what was found, and is refused unless it is accepted for the driver.
func TestAFailedCheckIsRefused(t *testing.T) {
	t.Parallel()
	for driver, row := range map[string]struct{ refused, shown string }{
		stand.Binary:  {"1.1.12", `FAIL +n1 +1\.1\.12 .*NOT ACCEPTED: root:root`},
		stand.Kubeadm: {"", `FAIL +n1 +1\.1\.12 .*accepted: The pod that kubeadm makes`},
	} {
		r := record(t, driver)
		ids := ""
		for _, c := range refused(r) {
			ids += c.ID
		}
		if ids != row.refused {
			t.Errorf("%s: %q is refused", driver, ids)
		}
		var b strings.Builder
		if err := report(&b, r); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{`Kubernetes v1.34.2 by the driver ` + driver, `n1 +master +1 +2 +1 +0`, row.shown,
			`FAIL +n1 +5\.1\.3 .*accepted: Roles of Kubernetes itself have them`, `WARN +n1 +1\.2\.1 `} {
			if !regexp.MustCompile(want).MatchString(b.String()) {
				t.Errorf("%s: no %q in\n%s", driver, want, &b)
			}
		}
	}
	for _, text := range []string{"", "{}", `{"Controls":[]}`} {
		if _, err := parse("n1", []byte(text)); err == nil {
			t.Errorf("%q says nothing, and is taken", text)
		}
	}
}

// Of what a check has found the beginning is kept, and only of one that fails: it may be every role of a cluster.
func TestOfWhatWasFoundTheBeginningIsKept(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("role ", 10_000)
	checks, err := parse("n1", []byte(strings.ReplaceAll(printed, `root:root\n`, long)))
	if err != nil || len(checks[1].Value) > valueMost+len("…") || !strings.HasPrefix(checks[1].Value, "role role") {
		t.Errorf("%+v %v", checks, err)
	}
	if checks[0].Value != "" {
		t.Errorf("%q of a check that passes", checks[0].Value)
	}
}

// What is written down of each driver is read again, and comes to one table.
func TestTheTableOfBothDrivers(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "records") // not there yet
	if none, err := records(dir, "v1.34.2"); err != nil || none != nil {
		t.Error(none, err)
	}
	for _, driver := range []string{stand.Kubeadm, stand.Binary} {
		if err := record(t, driver).save(dir); err != nil {
			t.Fatal(err)
		}
	}
	list, err := records(dir, "v1.34.2")
	if err != nil || len(list) != 2 {
		t.Fatal(list, err)
	}
	const want = `| driver | checks of | pass | fail | need a manual check |
|---|---|--:|--:|--:|
| binary v1.34.2 | n1: master | 1 | 2 | 1 |
| kubeadm v1.34.2 | n1: master | 1 | 2 | 1 |

| check | what it wants | driver | why it is accepted |
|---|---|---|---|
| 1.1.12 | owner of the data | binary | **not accepted**: root:root |
`
	got := table(list, english())
	if !strings.HasPrefix(got, want) {
		t.Error(got)
	}
	for _, row := range []string{"| 1.1.12 | data of etcd belong to `etcd:etcd` | kubeadm | The pod that",
		"| 5.1.3 | no wildcards in roles | binary, kubeadm | Roles of Kubernetes itself have them |"} {
		if !strings.Contains(got, "\n"+row) {
			t.Errorf("no %q in\n%s", row, got)
		}
	}
	if zh := table(list, chinese()); !strings.Contains(zh, "| binary, kubeadm | Kubernetes 自带的角色") {
		t.Error(zh)
	}
	if err := os.WriteFile(recordFile(dir, stand.Binary, "v1.34.2"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := records(dir, "v1.34.2"); err == nil {
		t.Error("a record that is cut off is taken")
	}
}

// Without a record the pages are left alone.
func TestNoRecordNoTable(t *testing.T) {
	t.Parallel()
	if err := tables(t.TempDir(), t.TempDir(), "v1.34.2"); err == nil || !strings.Contains(err.Error(), "no record") {
		t.Error(err)
	}
}

// What is accepted is what both pages say, and is little for each driver.
func TestAcceptedChecksAreDocumented(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"security.md", filepath.Join("zh", "security.md")} {
		page, err := os.ReadFile(filepath.Join("..", "..", "docs", file))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stand.InPage(string(page), program, "x"); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		for _, a := range all() {
			if !strings.Contains(string(page), "\n| "+a.id+" |") {
				t.Errorf("%s has no row for %s", file, a.id)
			}
		}
	}
	if n := len(all()); n > 5 {
		t.Errorf("%d checks are accepted", n)
	}
}

// On a node of each driver kube-bench finds the files that start the components: those of static pods, or units.
func TestTheFilesOfBothDriversAreFound(t *testing.T) {
	t.Parallel()
	type part struct{ Confs, Svc, Datadirs []string }
	var c struct {
		Master struct{ APIServer, Scheduler, ControllerManager, Etcd part }
		Etcd   struct{ Etcd part }
		Node   struct{ Kubelet, Proxy part }
	}
	if err := yaml.Unmarshal(config, &c); err != nil {
		t.Fatal(err)
	}
	const manifests, units = "/etc/kubernetes/manifests/", "/etc/systemd/system/"
	nodes := map[string][]string{
		stand.Binary: {units + "kube-apiserver.service", units + "kube-scheduler.service",
			units + "kube-controller-manager.service", "/etc/etcd/etcd.conf", "/etc/etcd/etcd.conf"},
		stand.Kubeadm: {manifests + "kube-apiserver.yaml", manifests + "kube-scheduler.yaml",
			manifests + "kube-controller-manager.yaml", manifests + "etcd.yaml", manifests + "etcd.yaml"},
	}
	for driver, files := range nodes {
		for i, p := range []part{c.Master.APIServer, c.Master.Scheduler, c.Master.ControllerManager, c.Master.Etcd,
			c.Etcd.Etcd} {
			if got := first(p.Confs, files); got != files[i] {
				t.Errorf("%s: %q, not %s", driver, got, files[i])
			}
		}
		// A node that was taken over from kubeadm still has the files of its former kubelet.
		has := append([]string{units + "kubelet.service", "/lib/systemd/system/kubelet.service",
			"/etc/kubernetes/kubelet.yaml", "/var/lib/kubelet/config.yaml"}, files...)
		if got := first(c.Node.Kubelet.Confs, has); got != "/etc/kubernetes/kubelet.yaml" {
			t.Errorf("%s: the kubelet's configuration is %q", driver, got)
		}
		if got := first(c.Node.Kubelet.Svc, has); got != units+"kubelet.service" {
			t.Errorf("%s: the kubelet's unit is %q", driver, got)
		}
	}
	for _, dir := range []string{"/var/lib/etcd/default.etcd", "/var/lib/etcd"} {
		if !slices.Contains(c.Etcd.Etcd.Datadirs, dir) {
			t.Errorf("data of etcd are not looked for in %s", dir)
		}
	}
}

// first is the one that kube-bench takes: the first of its list that the node has.
func first(list, has []string) string {
	for _, f := range list {
		if slices.Contains(has, f) {
			return f
		}
	}
	return ""
}
