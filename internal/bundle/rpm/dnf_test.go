package rpm

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// driver asks dnf's own resolver, with nothing installed, what it would install for each set of roots.
const driver = `
import json, sys, tempfile
import dnf, dnf.exceptions
jobs = json.load(sys.stdin)
out = []
for job in jobs:
    base = dnf.Base()
    base.conf.cachedir = tempfile.mkdtemp(dir=job["tmp"])
    base.conf.installroot = job["root"]
    base.conf.persistdir = job["tmp"] + "/persist"
    base.conf.substitutions["arch"] = job["arch"]
    base.conf.substitutions["basearch"] = job["arch"]
    base.conf.substitutions["releasever"] = "1"
    base.conf.ignorearch = True
    base.conf.install_weak_deps = False
    base.conf.plugins = False
    for i, r in enumerate(job["repos"]):
        repo = base.repos.add_new_repo("r%d" % i, base.conf, baseurl=["file://" + r["dir"]], priority=r["priority"])
        repo.gpgcheck = False
    base.fill_sack(load_system_repo=False)
    answers = []
    for roots in job["roots"]:
        base.reset(goal=True)
        try:
            for r in roots:
                base.install(r)
            base.resolve()
            answers.append({"files": sorted(str(p.name) + "-" + str(p.evr) + "." + str(p.arch) for p in base.transaction.install_set)})
        except dnf.exceptions.Error as e:
            answers.append({"error": str(e)})
    out.append(answers)
    base.close()
json.dump(out, sys.stdout)
`

type dnfRepo struct {
	Dir      string `json:"dir"`
	Priority int    `json:"priority"`
}

type dnfJob struct {
	Arch  string     `json:"arch"`
	Tmp   string     `json:"tmp"`
	Root  string     `json:"root"`
	Repos []dnfRepo  `json:"repos"`
	Roots [][]string `json:"roots"`
}

type dnfAnswer struct {
	Files []string `json:"files"`
	Error string   `json:"error"`
}

// python that has dnf's module, or a skip.
func needDnf(t *testing.T) string {
	t.Helper()
	py, err := exec.LookPath("python3")
	if err == nil {
		// The distribution's, not another one that the path may begin with.
		if _, err := os.Stat("/usr/bin/python3"); err == nil {
			py = "/usr/bin/python3"
		}
		err = exec.Command(py, "-c", "import dnf").Run()
	}
	if err != nil {
		t.Skip("needs dnf with its Python module")
	}
	return py
}

func askDnf(t *testing.T, py string, jobs []dnfJob) [][]dnfAnswer {
	t.Helper()
	in, err := json.Marshal(jobs)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(py, "-c", driver)
	cmd.Stdin = strings.NewReader(string(in))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	data, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	var out [][]dnfAnswer
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	return out
}

// graph makes a random repository: versions, requirements with versions, alternatives, virtual capabilities, files,
// rich dependencies, now and then an obsolete or a conflict.
func graph(r *rand.Rand, n int, hard bool) []string {
	name := func() string { return fmt.Sprintf("p%02d", r.Intn(n)) }
	virtual := func() string { return fmt.Sprintf("virt%d", r.Intn(n/6+1)) }
	file := func() string { return fmt.Sprintf("/opt/f%d", r.Intn(n/6+1)) }
	dep := func() string {
		switch r.Intn(20) {
		case 0, 1, 2, 3, 4, 5, 6:
			return virtual()
		case 7:
			return virtual() + " >= 2"
		case 8:
			return name() + " >= 2"
		case 9:
			return name() + " < 3"
		case 10, 11:
			return file()
		}
		return name()
	}
	rich := func() string {
		a, b, c := dep(), dep(), dep()
		return []string{
			"(" + a + " or " + b + ")", "(" + a + " or " + b + " or " + c + ")", "(" + a + " and " + b + ")",
			"(" + a + " if " + b + ")",
			"(" + a + " if " + b + " else " + c + ")", "(" + virtual() + " with " + virtual() + ")",
			"(" + virtual() + " without " + virtual() + ")",
			"((" + a + " or " + b + ") and " + c + ")", "(" + a + " or (" + b + " and " + c + "))",
			"(" + a + " unless " + b + ")",
		}[r.Intn(10)]
	}
	var lines []string
	for i := range n {
		for v := range 1 + r.Intn(3)*r.Intn(2) {
			l := fmt.Sprintf("p%02d %d-1 noarch", i, v+1)
			if r.Intn(2) == 0 {
				l = fmt.Sprintf("p%02d %d-1 aarch64", i, v+1)
			}
			add := func(kind, what string) { l += "; " + kind + "=" + what }
			for range r.Intn(3) {
				add("provides", virtual()+[]string{"", " = 1", " = 2", " = 3", " = 2:1"}[r.Intn(5)])
			}
			for range r.Intn(4) {
				add("requires", dep())
			}
			if r.Intn(4) == 0 {
				add("requires", rich())
			}
			if r.Intn(6) == 0 {
				add("file", file())
			}
			if hard && r.Intn(12) == 0 {
				add("obsoletes", name()+[]string{"", " < 2", " < 3"}[r.Intn(3)])
			}
			if hard && r.Intn(12) == 0 {
				add("conflicts", dep())
			}
			if hard && r.Intn(8) == 0 {
				add("recommends", dep())
			}
			if hard && r.Intn(12) == 0 {
				add("supplements", dep())
			}
			lines = append(lines, l)
		}
	}
	return lines
}

func writeRepo(t *testing.T, dir, primary string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, "repodata"), 0o755); err != nil {
		t.Fatal(err)
	}
	sum := sum256([]byte(primary))
	for name, text := range map[string]string{
		"primary.xml": primary,
		"repomd.xml": `<repomd xmlns="http://linux.duke.edu/metadata/repo"><revision>1</revision><data type="primary"><checksum type="sha256">` + sum +
			`</checksum><open-checksum type="sha256">` + sum +
			`</open-checksum><location href="repodata/primary.xml"/><timestamp>1</timestamp></data></repomd>`,
	} {
		if err := os.WriteFile(filepath.Join(dir, "repodata", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestClosureIsDnfs holds the closure against dnf's own answer in an empty root.
func TestClosureIsDnfs(t *testing.T) {
	py := needDnf(t)
	const graphs, sets = 40, 8
	var jobs []dnfJob
	var indexes []*Index
	for g := range graphs {
		r := rand.New(rand.NewSource(int64(g)))
		tmp := t.TempDir()
		job := dnfJob{Arch: "aarch64", Tmp: tmp, Root: filepath.Join(tmp, "root")}
		x := NewIndex("aarch64")
		repos := 1 + g%4/3 // each fourth has two repositories
		for i := range repos {
			l := graph(r, 60, g%2 == 1)
			dir := filepath.Join(tmp, fmt.Sprint(i))
			priority := []int{99, 50, 99}[r.Intn(3)]
			text := primaryText(t, l...)
			writeRepo(t, dir, text)
			if err := x.Add(strings.NewReader(text), dir, priority); err != nil {
				t.Fatal(err)
			}
			job.Repos = append(job.Repos, dnfRepo{dir, priority})
		}
		for range sets {
			var roots []string
			for range 1 + r.Intn(4) {
				roots = append(roots, fmt.Sprintf("p%02d", r.Intn(60)))
			}
			job.Roots = append(job.Roots, roots)
		}
		jobs, indexes = append(jobs, job), append(indexes, x)
	}
	total, refused, other, packages := 0, 0, 0, 0
	for g, answers := range askDnf(t, py, jobs) {
		for i, want := range answers {
			roots := jobs[g].Roots[i]
			got, err := indexes[g].Closure(t.Context(), roots, Options{})
			total++
			if want.Error != "" || err != nil {
				if (want.Error != "") != (err != nil) {
					t.Errorf("graph %d %v: %v; dnf: %s", g, roots, err, want.Error)
				}
				refused++
				continue
			}
			var ours []string
			for _, p := range got {
				ours = append(ours, p.String())
			}
			slices.Sort(ours)
			packages += len(ours)
			if err := standsAlone(got, indexes[g], roots); err != nil {
				t.Errorf("graph %d %v: %v", g, roots, err)
			}
			if slices.Equal(ours, want.Files) {
				continue
			}
			// Where candidates exclude each other, both find a way out, now and then not the same one.
			t.Logf("graph %d %v:\nours %v\ndnf  %v", g, roots, ours, want.Files)
			if other++; g%2 == 0 {
				t.Error("no conflicts there, and yet another answer")
			}
		}
	}
	t.Logf("%d root sets, %d that cannot be resolved, %d resolved otherwise, %d packages", total, refused, other,
		packages)
	if other > total/50 {
		t.Error("too many are resolved otherwise")
	}
	if refused > total/2 {
		t.Error("most cannot be resolved: the graphs are bad")
	}
}

// standsAlone checks an answer without the solver: every root and requirement is satisfied by the chosen, and none
// excludes another.
func standsAlone(list []*Package, x *Index, roots []string) error {
	chosen := map[*Package]bool{}
	names := map[string]bool{}
	for _, p := range list {
		if names[p.Name] {
			return fmt.Errorf("two of %s", p.Name)
		}
		chosen[p], names[p.Name] = true, true
	}
	var holds func(e *expr, but *Package) bool
	var set func(e *expr) map[*Package]bool
	set = func(e *expr) map[*Package]bool {
		out := map[*Package]bool{}
		for p := range chosen {
			in := false
			switch e.op {
			case "":
				in = p.satisfies(e.dep)
			case "with":
				in = set(e.args[0])[p] && set(e.args[1])[p]
			case "without":
				in = set(e.args[0])[p] && !set(e.args[1])[p]
			}
			if in {
				out[p] = true
			}
		}
		return out
	}
	holds = func(e *expr, but *Package) bool {
		arg := func(i int) bool { return holds(e.args[i], but) }
		switch e.op {
		case "and":
			return arg(0) && arg(1)
		case "or":
			return arg(0) || arg(1) || len(e.args) > 2 && arg(2)
		case "if":
			return arg(1) && arg(0) || !arg(1) && (len(e.args) < 3 || arg(2))
		case "unless":
			return !arg(1) && arg(0) || arg(1) && len(e.args) == 3 && arg(2)
		}
		found := set(e)
		delete(found, but)
		return len(found) > 0
	}
	for _, p := range list {
		for _, d := range p.requires {
			if e, err := x.expression(d); err != nil || !holds(e, nil) {
				return fmt.Errorf("%s: requires %s", p, d)
			}
		}
		for _, d := range p.conflicts {
			if e, err := x.expression(d); err != nil || holds(e, p) {
				return fmt.Errorf("%s: conflicts with %s", p, d)
			}
		}
		for _, d := range p.obsoletes {
			for _, q := range list {
				if q.Name == d.Name && q.Name != p.Name && d.holds(q.EVR()) {
					return fmt.Errorf("%s: obsoletes %s", p, q)
				}
			}
		}
	}
	for _, r := range roots {
		found := slices.ContainsFunc(list, func(p *Package) bool {
			return p.Name == r || slices.ContainsFunc(p.obsoletes, func(d *Dep) bool { return d.Name == r })
		})
		if !found {
			return fmt.Errorf("%s is not there", r)
		}
	}
	return nil
}

func faultOf(err error) *event.Fault {
	var f *event.Fault
	errors.As(err, &f)
	return f
}
