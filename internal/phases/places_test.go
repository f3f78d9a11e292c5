package phases

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/nodepath"
	"github.com/eggo-k8s/eggo/internal/phases/driver"
	"github.com/eggo-k8s/eggo/internal/phases/layout"
	"github.com/eggo-k8s/eggo/internal/phases/systemd"
)

// odd are names that mean something to systemd, a shell or a terminal.
var odd = []string{
	"a b", "a%hb", "100%", "$HOME", "${X}", "$(reboot)", "`reboot`", `a"b`, "a'b", `a\b`, `a\`, "a;b", ";",
	"a\nExecStartPre=/bin/evil", "a\r", "a\tb", "a\x1b[2J",
	"-a", "@a", "!a", "+a", ":a", "|a", "#a", "名", "a\\\nb", "  ", "",
}

// systemdWords reads the words of the unit's ExecStart as systemd does: lines joined, quotes and escapes taken away, %%
// and, behind the first word, $$ made one. It fails when systemd would fill something in.
func systemdWords(t *testing.T, text string) []string {
	t.Helper()
	var line string
	found := 0
	for l := range strings.SplitSeq(strings.ReplaceAll(text, " \\\n", " "), "\n") {
		if rest, ok := strings.CutPrefix(l, "ExecStart="); ok {
			line = rest
			found++
		}
		if strings.HasPrefix(l, "ExecStartPre=/bin/evil") {
			t.Fatalf("a line of its own: %q", l)
		}
	}
	if found != 1 {
		t.Fatalf("%d lines ExecStart in\n%s", found, text)
	}
	var words []string
	for i := 0; i < len(line); {
		if line[i] == ' ' {
			i++
			continue
		}
		var w strings.Builder
		quoted := false
		for ; i < len(line) && (quoted || line[i] != ' '); i++ {
			switch c := line[i]; {
			case c == '"':
				quoted = !quoted
			case c == '\\' && strings.HasPrefix(line[i:], `\x`):
				n, err := strconv.ParseUint(line[i+2:i+4], 16, 8)
				if err != nil {
					t.Fatal(err)
				}
				w.WriteByte(byte(n))
				i += 3
			case c == '\\':
				i++
				w.WriteByte(line[i])
			case c == '%' || c == '$' && len(words) > 0:
				if i++; i >= len(line) || line[i] != c {
					t.Fatalf("systemd fills in %q", line[i-1:])
				}
				w.WriteByte(c)
			default:
				w.WriteByte(c)
			}
		}
		words = append(words, w.String())
	}
	return words
}

func TestUnitsSayWhatWasMeant(t *testing.T) {
	for _, s := range odd {
		program := "/usr/local/bin/" + s
		u := systemd.Unit{Description: s, Environment: []string{"/etc/" + s}, Program: program,
			Flags: map[string]string{"a": s, "b": "c"}}
		text := string(u.Render())
		if got := systemdWords(t, text); !slices.Equal(got, []string{program, "--a=" + s, "--b=c"}) {
			t.Errorf("%q: %q", s, got)
		}
		if n := strings.Count(text, "\n"); n != strings.Count(string(systemd.Unit{Environment: []string{"x"},
			Flags: map[string]string{"a": "", "b": ""}}.Render()), "\n") {
			t.Errorf("%q: another number of lines:\n%s", s, text)
		}
	}
}

// Nothing that this program writes below a directory of the list may come from a bundle or a list of deploy.yaml.
func TestOurFilesAreKeptFree(t *testing.T) {
	listed := func(file string) bool {
		return slices.ContainsFunc(nodepath.Dirs(nodepath.Listed),
			func(d string) bool { return strings.HasPrefix(file, d+"/") })
	}
	seen := 0
	r := componentRun(t, "")
	n := r.Cluster.Nodes[0]
	for _, c := range []driver.Component{driver.APIServer, driver.ControllerManager, driver.Scheduler, driver.Proxy,
		driver.Kubelet, driver.Etcd} {
		s, err := serviceOf(r, c, n)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range s.Files {
			if !listed(f.Path) {
				continue
			}
			seen++
			if nodepath.Check(nodepath.Listed, f.Path) == nil {
				t.Errorf("%s may come from outside", f.Path)
			}
		}
		if file := layout.UnitDir + s.Unit; nodepath.Check(nodepath.Listed, file) == nil {
			t.Errorf("%s may come from outside", file)
		}
	}
	at := r.driver.Paths()
	for _, file := range []string{at.AdminConf, at.Kubeconfig, at.Bootstrap,
		layout.UnitDir + layout.DockerdUnit, layout.UnitDir + layout.CRIDockerUnit,
		layout.UnitDir + layout.IsuladUnit} {
		if nodepath.Check(nodepath.Listed, file) == nil {
			t.Errorf("%s may come from outside", file)
		}
	}
	if seen < 20 {
		t.Errorf("only %d files were looked at", seen)
	}
}
